/* PLAN_GATHER (the algebra: jit/plan/facts/block_gather.h). Inside the warp every word that the
 * element may lie in is shuffled from the lane that has it, and the one that the coordinate names
 * is selected; the rest of it says where in the word. From shared memory the element is loaded at
 * the offset that it names. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/block_gather.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

typedef struct gatherer {
  emitter *e;
  const plan_step *step;
  const plan_value *source, *result;
  LLVMValueRef *in, *at, *out; /* words of the source, the coordinates and the result */
} gatherer;

/* ---- GPU ---- */

/* The coordinate that element `index` of the result asks for, i32. */
static LLVMValueRef coordinate(const gatherer *g, uint64_t index) {
  emitter *e = g->e;
  LLVMValueRef word = LLVMBuildIntCast2(e->builder, g->at[index], e->i32, false, "");
  return LLVMBuildAnd(e->builder, word, emit_i32(e, (int64_t)bits_mask(g->step->axis_bits)), "");
}

/* Its image under a map, without what the register adds; i32. */
static LLVMValueRef place(const gatherer *g, const plan_gather_map *map, LLVMValueRef asked) {
  emitter *e = g->e;
  LLVMValueRef sum = emit_linear(e, asked, map->of_axis, g->step->axis_bits);
  LLVMValueRef lane = emit_linear(e, e->lane, map->of_lane, e->kernel->lane_bits);
  sum = LLVMBuildXor(e->builder, sum, lane, "");
  LLVMValueRef warp = emit_linear(e, e->warp, map->of_warp, e->kernel->warp_bits);
  return LLVMBuildXor(e->builder, sum, warp, "");
}

static LLVMValueRef with_register(const gatherer *g, const plan_gather_map *map, uint64_t index,
                                  LLVMValueRef sum) {
  LLVMValueRef own = emit_i32(g->e, (int64_t)f2_apply(map->of_register, index));
  return LLVMBuildXor(g->e->builder, sum, own, "");
}

/* The word of the source that holds element `index`: those that may be are shuffled, and halved
 * choice by choice. `moved`: what adds to the register at run time. */
static LLVMValueRef pick_word(const gatherer *g, const plan_gather_lanes *lanes, uint64_t index,
                              LLVMValueRef moved, LLVMValueRef lane) {
  emitter *e = g->e;
  LLVMValueRef word[1 << PLAN_GATHER_CHOICES];
  uint64_t first = f2_apply(lanes->reg.of_register, index);
  for (uint64_t c = 0; c < 1ull << lanes->n_choices; c++) {
    word[c] = g->in[(first ^ f2_apply(lanes->choice, c)) >> g->source->word];
    if (!lanes->stays) word[c] = emit_shuffle_word(e, word[c], lane);
  }
  for (int j = lanes->n_choices - 1; j >= 0; j--) {
    LLVMValueRef chosen = emit_functional(e, moved, 1ull << lanes->pivot[j]);
    for (uint64_t c = 0; c < 1ull << j; c++)
      word[c] = LLVMBuildSelect(e->builder, chosen, word[c | 1ull << j], word[c], "");
  }
  return word[0];
}

/* The element at position `inside` of a word (i32), alone in the lowest bits. */
static LLVMValueRef pick_element(const gatherer *g, LLVMValueRef word, LLVMValueRef inside) {
  emitter *e = g->e;
  if (g->source->word == 0) return word;
  LLVMValueRef at =
      LLVMBuildAnd(e->builder, inside, emit_i32(e, (int64_t)bits_mask(g->source->word)), "");
  at = LLVMBuildShl(e->builder, at, emit_i32(e, bits_log2(g->source->bits)), "");
  word = LLVMBuildLShr(e->builder, word, at, "");
  return LLVMBuildAnd(e->builder, word, emit_i32(e, (int64_t)bits_mask(g->source->bits)), "");
}

/* Puts an element, alone in the lowest bits of a word, to its place in the result. */
static void put(const gatherer *g, uint64_t index, LLVMValueRef element) {
  emitter *e = g->e;
  LLVMValueRef *word = &g->out[index >> g->result->word];
  unsigned inside = (unsigned)(index & bits_mask(g->result->word));
  if (inside == 0) {
    *word = element;
    return;
  }
  element = LLVMBuildShl(e->builder, element, emit_i32(e, (int64_t)(inside * g->result->bits)), "");
  *word = LLVMBuildOr(e->builder, *word, element, "");
}

static void gather_lanes(const gatherer *g) {
  plan_gather_lanes lanes;
  plan_gather_lanes_of(g->e->kernel, g->step, &lanes);
  for (uint64_t index = 0; index < 1ull << plan_value_bits(g->result, PLAN_REGISTER); index++) {
    LLVMValueRef asked = coordinate(g, index), moved = place(g, &lanes.reg, asked);
    LLVMValueRef lane = with_register(g, &lanes.lane, index, place(g, &lanes.lane, asked));
    LLVMValueRef word = pick_word(g, &lanes, index, moved, lane);
    put(g, index, pick_element(g, word, with_register(g, &lanes.reg, index, moved)));
  }
}

/* The element at byte `offset` (i64) + `beyond` of the buffer. */
static LLVMValueRef load_at(const gatherer *g, LLVMValueRef offset, uint64_t beyond) {
  emitter *e = g->e;
  LLVMTypeRef type = emit_int_type(e, g->source->bits);
  LLVMValueRef pointer =
      LLVMBuildGEP2(e->builder, e->i8, e->shared[g->step->buffer], &offset, 1, "");
  LLVMValueRef more = emit_i64(e, (int64_t)beyond);
  pointer = LLVMBuildGEP2(e->builder, e->i8, pointer, &more, 1, "");
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, pointer, "");
  LLVMSetAlignment(loaded, emit_is_host(e) ? 1 : g->source->bits / 8u);
  return loaded;
}

static void gather_staged(const gatherer *g) {
  emitter *e = g->e;
  plan_gather_map map;
  plan_gather_offsets_of(e->kernel, g->step, &map);
  LLVMTypeRef word = g->source->bits == 64 ? e->i64 : e->i32;
  uint64_t moving = plan_gather_moving(&map);
  for (uint64_t index = 0; index < 1ull << plan_value_bits(g->result, PLAN_REGISTER); index++) {
    LLVMValueRef offset = place(g, &map, coordinate(g, index));
    uint64_t beyond =
        f2_apply(map.of_register, index); /* where nothing else moves those bits: an offset */
    if (beyond & moving) {
      offset = with_register(g, &map, index, offset);
      beyond = 0;
    }
    LLVMValueRef loaded = load_at(g, LLVMBuildZExt(e->builder, offset, e->i64, ""), beyond);
    put(g, index, LLVMBuildZExt(e->builder, loaded, word, ""));
  }
}

/* ---- host ---- */

/* Lanes that hold no copies, as the words have them. */
static int host_lane_bits(const plan_value *value) {
  int n = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    n += plan_value_columns(value, PLAN_LANE)[i] != 0;
  return n;
}

/* A value's words in scratch memory, one behind the other. */
static LLVMValueRef spill(emitter *e, LLVMValueRef *words, int n, int bytes) {
  LLVMValueRef scratch = e->ops->shared(e, n * bytes);
  for (int i = 0; i < n; i++) {
    LLVMValueRef at = emit_i64(e, (int64_t)i * bytes);
    LLVMSetAlignment(
        LLVMBuildStore(e->builder, words[i], LLVMBuildGEP2(e->builder, e->i8, scratch, &at, 1, "")),
        1);
  }
  return scratch;
}

static LLVMValueRef element_pointer(emitter *e, LLVMTypeRef type, LLVMValueRef scratch,
                                    LLVMValueRef number) {
  return LLVMBuildGEP2(e->builder, type, scratch, &number, 1, "");
}

/* Element `number` (i64: lanes, then registers) of the result. */
static void gather_element(const gatherer *g, const plan_gather_map *map, int lane_bits,
                           LLVMValueRef number, LLVMValueRef asked_for, LLVMValueRef result) {
  emitter *e = g->e;
  int n_registers = plan_value_bits(g->result, PLAN_REGISTER);
  LLVMTypeRef index = emit_int_type(e, e->kernel->value[g->step->second].bits);
  LLVMTypeRef type = emit_int_type(e, g->source->bits);
  uint64_t own[LLRT_MAX_BITS];
  memcpy(own, map->of_lane, (size_t)lane_bits * sizeof *own);
  memcpy(&own[lane_bits], map->of_register, (size_t)n_registers * sizeof *own);
  LLVMValueRef asked =
      LLVMBuildLoad2(e->builder, index, element_pointer(e, index, asked_for, number), "");
  LLVMSetAlignment(asked, 1);
  asked = LLVMBuildIntCast2(e->builder, asked, e->i64, false, "");
  asked = LLVMBuildAnd(e->builder, asked, emit_i64(e, (int64_t)bits_mask(g->step->axis_bits)), "");
  LLVMValueRef offset =
      LLVMBuildXor(e->builder, emit_linear(e, asked, map->of_axis, g->step->axis_bits),
                   emit_linear(e, number, own, lane_bits + n_registers), "");
  LLVMValueRef pointer = element_pointer(e, type, result, number);
  LLVMSetAlignment(LLVMBuildStore(e->builder, load_at(g, offset, 0), pointer), 1);
}

/* A loop over the elements: the coordinates leave the registers, and the result comes back into
 * them. */
static void gather_host(const gatherer *g) {
  emitter *e = g->e;
  plan_gather_map map;
  plan_gather_offsets_of(e->kernel, g->step, &map);
  int lane_bits = host_lane_bits(g->result), n = 1 << plan_value_bits(g->result, PLAN_REGISTER);
  int bytes = g->source->bits / 8 << lane_bits,
      asked_bytes = e->kernel->value[g->step->second].bits / 8 << lane_bits;
  LLVMValueRef asked = spill(e, g->at, n, asked_bytes), result = e->ops->shared(e, n * bytes);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), body = emit_new_block(e, "gather");
  LLVMBasicBlockRef done = emit_new_block(e, "gathered");
  LLVMValueRef first = emit_i64(e, 0), next;
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef number = LLVMBuildPhi(e->builder, e->i64, "");
  gather_element(g, &map, lane_bits, number, asked, result);
  next = LLVMBuildAdd(e->builder, number, emit_i64(e, 1), "");
  LLVMAddIncoming(number, &first, &before, 1);
  LLVMAddIncoming(number, &next, &body, 1);
  LLVMValueRef more =
      LLVMBuildICmp(e->builder, LLVMIntSLT, next, emit_i64(e, (int64_t)n << lane_bits), "");
  LLVMBuildCondBr(e->builder, more, body, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
  LLVMTypeRef element = emit_int_type(e, g->source->bits);
  LLVMTypeRef word = lane_bits > 0 ? LLVMVectorType(element, 1u << lane_bits) : element;
  for (int i = 0; i < n; i++) {
    LLVMValueRef at = emit_i64(e, (int64_t)i * bytes);
    g->out[i] =
        LLVMBuildLoad2(e->builder, word, LLVMBuildGEP2(e->builder, e->i8, result, &at, 1, ""), "");
    LLVMSetAlignment(g->out[i], 1);
  }
}

void emit_gather_step(emitter *e, const plan_step *step) {
  gatherer g = {.e = e,
                .step = step,
                .source = &e->kernel->value[step->in],
                .result = &e->kernel->value[step->out],
                .in = e->value[step->in],
                .at = e->value[step->second],
                .out = e->value[step->out]};
  if (emit_is_host(e)) gather_host(&g);
  else if (step->staged) gather_staged(&g);
  else gather_lanes(&g);
}
