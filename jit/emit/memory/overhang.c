/* What overhanging loads and stores have in common; emit_overhang.c says what they are. */
#include "jit/emit/memory/overhang.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/row_group.h"
#include "jit/plan/facts/value.h"

uint64_t overhang_register(const overhang *o, uint64_t first, int k) {
  for (int j = o->value->word; j < o->step->vector; j++)
    if (k >> (j - o->value->word) & 1) first |= 1ull << o->position[j];
  return first >> o->value->word;
}

/* ---- lanes ---- */

LLVMValueRef overhang_lane(const overhang *o, LLVMValueRef piece) {
  const emitter *e = o->e;
  int64_t mask = (int64_t)(o->pieces - 1) << o->group.first_lane;
  LLVMValueRef others = LLVMBuildAnd(e->builder, e->lane, emit_i32(e, ~mask), "");
  piece = LLVMBuildShl(e->builder, piece, emit_i32(e, o->group.first_lane), "");
  return LLVMBuildOr(e->builder, others, piece, "");
}

void overhang_shuffle(const overhang *o, LLVMValueRef *words, LLVMValueRef lane,
                      LLVMValueRef *out) {
  emit_bring_together(o->e);
  for (int k = 0; k < o->n; k++) out[k] = o->e->ops->shuffle(o->e, words[k], lane);
}

LLVMValueRef overhang_from(const overhang *o, LLVMValueRef word, LLVMValueRef piece) {
  emit_bring_together(o->e);
  return o->e->ops->shuffle(o->e, word, overhang_lane(o, piece));
}

void overhang_next(const overhang *o, LLVMValueRef *words, LLVMValueRef *out) {
  const emitter *e = o->e;
  LLVMValueRef next = emit_add(e, o->piece, emit_i32(e, 1));
  next = LLVMBuildAnd(e->builder, next, emit_i32(e, o->pieces - 1), "");
  if (o->pieces > 1) {
    overhang_shuffle(o, words, overhang_lane(o, next), out);
    return;
  }
  for (int k = 0; k < o->n; k++) out[k] = words[k];
}

/* ---- shifting ---- */

/* Of the word that begins `shift` mod 4 bytes inside of two. */
LLVMValueRef overhang_selector(const emitter *e, LLVMValueRef shift) {
  static const int first[4] = {0, 1, 2, 3}, step[4] = {1, 1, 1, 1};
  LLVMValueRef bytes = LLVMBuildAnd(e->builder, shift, emit_i32(e, 3), "");
  bytes = LLVMBuildMul(e->builder, bytes, emit_i32(e, e->ops->selector(step)), "");
  return emit_add(e, bytes, emit_i32(e, e->ops->selector(first)));
}

/* Selects by whole words, then one byte permute each: LLVM 19 makes three shifts of a funnel shift
 * on NVIDIA. */
void overhang_realign(const overhang *o, LLVMValueRef *own, LLVMValueRef *next, LLVMValueRef shift,
                      LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef w[2 * OVERHANG_WORDS];
  bool funnel = o->aligned < 2;
  for (int k = 0; k < o->n; k++) {
    w[k] = own[k];
    w[o->n + k] = next[k];
  }
  for (int b = bits_log2(o->n) - 1; b >= 0 && o->aligned < 3 + b; b--) {
    LLVMValueRef bit = LLVMBuildAnd(e->builder, shift, emit_i32(e, 4 << b), "");
    LLVMValueRef moved = LLVMBuildICmp(e->builder, LLVMIntNE, bit, emit_i32(e, 0), "");
    int needed = o->n + (1 << b) - 1 + funnel;
    for (int k = 0; k < needed; k++) w[k] = emit_choose(e, moved, w[k + (1 << b)], w[k]);
  }
  LLVMValueRef selector = funnel ? overhang_selector(e, shift) : NULL;
  for (int k = 0; k < o->n; k++)
    out[k] = funnel ? e->ops->permute(e, w[k], w[k + 1], selector) : w[k];
}

bool overhang_may_shift(const overhang *o) { return 1 << o->aligned < o->bytes; }

LLVMValueRef overhang_misalignment(const overhang *o, LLVMValueRef pointer, bool before) {
  const emitter *e = o->e;
  if (!overhang_may_shift(o)) return emit_i32(e, 0);
  LLVMValueRef low = LLVMBuildPtrToInt(e->builder, pointer, e->i64, "");
  low = LLVMBuildTrunc(e->builder, low, e->i32, "");
  if (before) low = LLVMBuildNeg(e->builder, low, "");
  return LLVMBuildAnd(e->builder, low, emit_i32(e, o->bytes - 1), "");
}

/* ---- masks ---- */

/* left elements as bytes, within what the piece's group cares for; i32. */
static LLVMValueRef clamp_bytes(const overhang *o, LLVMValueRef left) {
  const emitter *e = o->e;
  left = emit_smaller(e, left, emit_i64(e, o->reach / o->element));
  left = emit_larger(e, left, emit_i64(e, -(o->reach / o->element)));
  left = LLVMBuildTrunc(e->builder, left, e->i32, "");
  return LLVMBuildMul(e->builder, left, emit_i32(e, o->element), "");
}

/* ceil(left / step), no less than the group's elements below 0: of a row that ends before this
 * piece it has to be the negative number that the pieces before it know, too, for lanes share out
 * what is left of the row by it. */
static LLVMValueRef steps_left(const overhang *o, LLVMValueRef left, int64_t step) {
  const emitter *e = o->e;
  int64_t most = o->reach / o->element;
  left = emit_larger(e, left, emit_i64(e, -most * step));
  left = emit_add(e, left, emit_i64(e, most * step + step - 1));
  return emit_subtract(e, LLVMBuildUDiv(e->builder, left, emit_i64(e, step), ""),
                       emit_i64(e, most));
}

LLVMValueRef overhang_valid_bytes(overhang *o, uint64_t tile) {
  emitter *e = o->e;
  LLVMValueRef inside = NULL, valid = emit_i32(e, o->reach);
  for (int i = 0; i < e->kernel->n_bounds; i++) {
    const plan_bound *bound = &e->kernel->bound[i];
    if (!(bound->tensors >> o->step->tensor & 1) || o->step->ignored_bounds >> i & 1) continue;
    LLVMValueRef at = emit_bounded(e, o->value, bound, tile), limit = emit_bound_limit(e, bound);
    int64_t step = plan_group_step(e->kernel, bound, &o->group);
    if (step == 0) {
      inside = emit_and(e, inside, LLVMBuildICmp(e->builder, LLVMIntULT, at, limit, ""));
      continue;
    }
    LLVMValueRef left = emit_subtract(e, limit, at);
    if (step > 1) left = steps_left(o, left, step);
    valid = emit_smaller(e, valid, clamp_bytes(o, left));
  }
  return inside ? emit_choose(e, inside, valid, emit_i32(e, -o->reach)) : valid;
}

LLVMTypeRef overhang_vector_type(const overhang *o) {
  return o->n > 1 ? LLVMVectorType(o->e->i32, (unsigned)o->n) : o->e->i32;
}

LLVMValueRef overhang_fill(const overhang *o) {
  uint64_t pattern = 0;
  for (int at = 0; at < 32; at += o->value->bits) pattern |= o->e->kernel->fill << at;
  return emit_i32(o->e, (int64_t)(pattern & UINT32_MAX));
}
