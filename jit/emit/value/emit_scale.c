/* The scales of a PLAN_MAP: read from their tensor in the block, once for all elements of a lane
 * that share one. On the host lanes that share one are filled from one load. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

/* Bits of the space that the scales' masks look at. */
static uint64_t masked_bits(const emit_scales *s) {
  const plan_kernel *kernel = s->e->kernel;
  uint64_t bits = 0;
  for (int i = 0; i < kernel->n_bounds && s->step->masked; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!(bound->tensors >> s->step->tensor & 1)) continue;
    if (bound->axis >= 0) bits |= plan_axes_bits(kernel, 1u << bound->axis);
    else
      bits |= bits_mask(kernel->digit[bound->top].bits)
              << llrt_layout_out_shift(&kernel->space, bound->top);
  }
  return bits;
}

emit_scales *emit_scales_begin(emitter *e, const plan_step *step) {
  emit_scales *scales = &e->scales;
  if (scales->step == step) return scales;
  memset(scales, 0, sizeof *scales);
  scales->e = e;
  scales->step = step;
  scales->map = &e->kernel->map[step->map];
  scales->masked_bits = masked_bits(scales);
  plan_value_spread(e->kernel, &e->kernel->value[step->in], &scales->value);
  emit_place_tensor(e, &scales->value, step->tensor, &scales->place);
  return scales;
}

/* Whether tile coordinates that differ by `tile` have one scale: nothing moves of its address, nor
 * of what its mask looks at. Of masked ones only a grouped product's are told apart so, which all
 * of its blocks read; elsewhere they are an edge's. */
static bool is_shared(emit_scales *s, uint64_t tile) {
  const plan_kernel *kernel = s->e->kernel;
  if (kernel->flat || (s->step->masked && !kernel->experts.used)) return tile == 0;
  return f2_apply(s->place.map.column, tile) == 0 && plan_is_unstrided(&s->place.map, tile) &&
         !(f2_apply(kernel->space.column, tile) & s->masked_bits);
}

static LLVMValueRef decode(emit_scales *s, LLVMValueRef code) {
  emitter *e = s->e;
  LLVMTypeRef type = LLVMTypeOf(code);
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  LLVMTypeRef wide = vector ? LLVMVectorType(e->i32, LLVMGetVectorSize(type)) : e->i32;
  code = LLVMBuildZExt(e->builder, code, wide, "");
  bool to_f64 = number_is_wide((llrt_dtype)s->map->from, (llrt_dtype)s->map->to);
  return emit_decode(e, (llrt_dtype)s->map->scale, to_f64, code);
}

static LLVMValueRef load(emit_scales *s, uint64_t tile) {
  int bits = s->e->kernel->tensor_bits[s->step->tensor];
  return emit_load_element(s->e, &s->place, tile, bits, s->step->masked);
}

/* Host: one load for each lane whose scale no lane before it has. */
static LLVMValueRef load_lanes(emit_scales *s, uint64_t tile, int lanes) {
  emitter *e = s->e;
  const uint64_t *columns = plan_value_columns(s->place.value, PLAN_LANE);
  LLVMValueRef loaded[EMIT_MAX_LANES] = {NULL}, mask[EMIT_MAX_LANES];
  int distinct = 0, first[EMIT_MAX_LANES];
  for (int l = 0; l < lanes; l++) {
    uint64_t at = f2_apply(columns, (uint64_t)l);
    int same = 0;
    while (same < distinct && !is_shared(s, at ^ f2_apply(columns, (uint64_t)first[same]))) same++;
    if (same == distinct) {
      first[distinct] = l;
      loaded[distinct++] = load(s, tile ^ at);
    }
    mask[l] = emit_i32(e, same);
  }
  LLVMValueRef codes = LLVMGetUndef(LLVMVectorType(LLVMTypeOf(loaded[0]), (unsigned)lanes));
  for (int i = 0; i < distinct; i++)
    codes = LLVMBuildInsertElement(e->builder, codes, loaded[i], emit_i32(e, i), "");
  return LLVMBuildShuffleVector(e->builder, codes, LLVMGetUndef(LLVMTypeOf(codes)),
                                LLVMConstVector(mask, (unsigned)lanes), "");
}

LLVMValueRef emit_scale_of(emit_scales *s, int index) {
  emitter *e = s->e;
  const uint64_t *columns = plan_value_columns(s->place.value, PLAN_REGISTER);
  uint64_t tile = f2_apply(columns, (uint64_t)index);
  if (s->known[index]) return s->known[index];
  for (int i = 0; i < index && (!s->step->masked || e->kernel->experts.used); i++)
    if (s->known[i] && is_shared(s, tile ^ f2_apply(columns, (uint64_t)i)))
      return s->known[index] = s->known[i];
  LLVMTypeRef type =
      emit_is_host(e) ? LLVMTypeOf(e->value[s->step->in][index >> s->place.value->word]) : e->i32;
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  LLVMValueRef code = vector ? load_lanes(s, tile, (int)LLVMGetVectorSize(type)) : load(s, tile);
  return s->known[index] = decode(s, code);
}

/* Where elements have one each registers would not do. */
#define MOST_AHEAD 16 /* distinct scales of a lane */
static bool are_few(emit_scales *s, int n) {
  const uint64_t *columns = plan_value_columns(s->place.value, PLAN_REGISTER);
  int distinct = 0;
  for (int i = 0; i < n && distinct <= MOST_AHEAD; i++) {
    int same = 0;
    while (same < i &&
           !is_shared(s, f2_apply(columns, (uint64_t)i) ^ f2_apply(columns, (uint64_t)same)))
      same++;
    distinct += same == i;
  }
  return distinct <= MOST_AHEAD;
}

void emit_scales_ahead(emitter *e, int at, int end) {
  const plan_step *found = NULL;
  bool barrier = false;
  for (int i = at + 1; i < end && !emit_is_host(e); i++) {
    const plan_step *step = &e->kernel->step[i];
    bool scales = step->kind == PLAN_MAP && e->kernel->map[step->map].kind == PLAN_MAP_SCALE &&
                  !step->by_value;
    barrier |= step->kind == PLAN_BARRIER;
    if (step->body > 0) return;
    if (scales && barrier && !step->masked) found = step;
  }
  if (!found) return;
  int n = 1 << plan_value_bits(&e->kernel->value[found->in], PLAN_REGISTER);
  emit_scales *s = emit_scales_begin(e, found);
  for (int i = 0; i < n && are_few(s, n); i++) emit_scale_of(s, i);
}
