/* PLAN_COPY by threads: pieces from a tensor to shared memory, under way until they are awaited. Of
 * several that hold the same the first copies: of warps by a branch, of lanes by a condition of the
 * instruction, as warps stay together. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/index.h"
#include "jit/emit/place/place.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/tile_padding.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <assert.h>

static void keep_copied_rows(emitter *e, const plan_step *step) {
  const plan_value *value = &e->kernel->value[step->in];
  plan_value spread;
  emit_place from = {0};
  plan_value_spread(e->kernel, value, &spread);
  emit_place_tensor(e, &spread, step->tensor, &from);
  if (!from.indexed) return;
  for (uint64_t index = 0; index < 1ull << plan_value_bits(value, PLAN_REGISTER); index++)
    emit_keep_values(e, &from, f2_apply(plan_value_columns(&spread, PLAN_REGISTER), index));
}

static bool kernel_gathers(const plan_kernel *kernel) {
  bool gathers = false;
  for (int i = 0; i < kernel->n_indices; i++)
    gathers |= kernel->experts.used && !kernel->index[i].uniform;
  return gathers;
}

void emit_keep_rows_of_copies(emitter *e, int at) {
  const plan_kernel *kernel = e->kernel;
  if (!kernel_gathers(kernel)) return;
  for (int i = at + 1; i <= at + kernel->step[at].body; i++)
    if (kernel->step[i].kind == PLAN_COPY && !kernel->step[i].box)
      keep_copied_rows(e, &kernel->step[i]);
}

/* i1: whether there is something to copy at `tile`, else zeros; NULL: always. */
static LLVMValueRef emit_copied(emitter *e, emit_place *from, uint64_t tile, bool masked) {
  const uint32_t ignored = e->ignored_bounds;
  e->ignored_bounds |= emit_kept_bounds(e, from, tile);
  LLVMValueRef present = masked ? emit_inside(e, from, tile) : NULL;
  e->ignored_bounds = ignored;
  const emit_index_terms *terms = emit_place_terms(e, from, tile);
  return terms && terms->valid ? emit_and(e, present, terms->valid) : present;
}

LLVMValueRef emit_pieces_before(emitter *e, const plan_step *step) {
  plan_value spread;
  emit_place from = {0};
  plan_value_spread(e->kernel, &e->kernel->value[step->in], &spread);
  emit_place_tensor(e, &spread, step->tensor, &from);
  LLVMValueRef at = LLVMBuildPtrToInt(e->builder, emit_pointer(e, &from, 0), e->i64, "");
  at = LLVMBuildTrunc(e->builder, LLVMBuildLShr(e->builder, at, emit_i64(e, 4), ""), e->i32, "");
  return LLVMBuildAnd(e->builder, LLVMBuildSub(e->builder, at, e->lane, ""),
                      emit_i32(e, EMIT_LINE_PIECES - 1), "");
}

/* The kernel's fill comes where nothing is copied: it is stored before copies that begin under a
 * condition, which does not part lanes. */
static void store_fill(emitter *e, LLVMValueRef pointer, int bytes, int bits) {
  LLVMTypeRef type = LLVMVectorType(e->i32, (unsigned)bytes / 4);
  uint64_t pattern = 0;
  for (int at = 0; at < 32; at += bits) pattern |= e->kernel->fill << at;
  LLVMSetAlignment(LLVMBuildStore(e->builder, emit_splat(type, pattern), pointer), (unsigned)bytes);
}

void emit_copy_step(emitter *e, const plan_step *step) {
  const plan_value *value = &e->kernel->value[step->in];
  const uint64_t *registers = plan_value_columns(value, PLAN_REGISTER);
  plan_value spread;
  emit_place from = {0}, to = {0};
  int position[8], n = plan_value_bits(value, PLAN_REGISTER),
                   bytes = plan_access_bytes(value->bits, step->vector);
  uint64_t inner = 0;
  plan_value_spread(e->kernel, value, &spread);
  LLVMBasicBlockRef next = emit_open_guard_of_warps(e, emit_is_first_warp(e, value));
  LLVMValueRef first = emit_is_first_lane(e, value);
  emit_place_tensor(e, &spread, step->tensor, &from);
  emit_place_buffer(e, value, step->buffer, &to);
  bool found = plan_access_positions(&spread, &from.map, PLAN_REGISTER, step->vector, position);
  assert(found);
  (void)found;
  for (int j = 0; j < step->vector; j++) inner |= 1ull << position[j];
  plan_padding padding;
  plan_padding_find(e->kernel, &padding);
  for (uint64_t index = 0; index < 1ull << n; index++) {
    if (index & inner) continue;
    uint64_t tile = f2_apply(plan_value_columns(&spread, PLAN_REGISTER), index);
    if (step->lines && plan_padding_has(&padding, tile)) continue; /* of which no product reads */
    LLVMValueRef pointer = emit_buffer_pointer(e, &to, f2_apply(registers, index));
    LLVMValueRef present = emit_copied(e, &from, tile, step->masked);
    LLVMValueRef own = first;
    if (present && step->fills) {
      store_fill(e, pointer, bytes, value->bits);
      own = emit_and(e, first, present);
      present = NULL;
    }
    e->ops->copy(e, pointer, emit_pointer(e, &from, tile), bytes, present, own);
  }
  emit_close_guard(e, next);
}
