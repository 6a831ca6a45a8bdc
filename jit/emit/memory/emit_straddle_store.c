/* Stores of 4-bit elements to rows that begin in either half of any byte: see emit_overhang.c. A
 * group stores whole bytes: where it begins with the second half of one, the first half is the
 * element in front of it (plan_step.front), and where it ends with a first half, that is left to
 * the group behind. So it stores as many bytes as it has pairs, from the byte on that has its first
 * element, by aligned vectors, which begin anywhere in a piece; and a byte has one owner. Behind
 * the destination's last element there is no group: a half that is left over there is stored, and
 * the other one kept. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/overhang.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/place.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

typedef struct stored_piece {
  uint64_t index, tile;
  LLVMValueRef own[OVERHANG_WORDS];
  LLVMValueRef pointer; /* to the byte of its first element */
  LLVMValueRef offset;  /* i64: of that */
  LLVMValueRef half;    /* i32: 1 if it is the second of the byte */
  LLVMValueRef behind;  /* i32: so many elements on a vector begins */
  LLVMValueRef shift;   /* i32: so many bytes behind the first one's */
} stored_piece;

static void aim(overhang *o, stored_piece *p) {
  emitter *e = o->e;
  LLVMValueRef one = emit_i32(e, 1), all = emit_i32(e, (1 << o->step->vector) - 1);
  p->offset = emit_offset(e, &o->place, p->tile);
  p->pointer = emit_pointer(e, &o->place, p->tile);
  p->half = LLVMBuildAnd(e->builder, LLVMBuildTrunc(e->builder, p->offset, e->i32, ""), one, "");
  LLVMValueRef at =
      LLVMBuildTrunc(e->builder, LLVMBuildPtrToInt(e->builder, p->pointer, e->i64, ""), e->i32, "");
  at =
      LLVMBuildOr(e->builder, LLVMBuildShl(e->builder, at, one, ""), p->half, ""); /* in elements */
  p->behind = LLVMBuildAnd(e->builder, LLVMBuildNeg(e->builder, at, ""), all, "");
  p->shift = LLVMBuildLShr(e->builder, emit_add(e, p->behind, one), one, "");
  for (int k = 0; k < o->n; k++) p->own[k] = o->words[overhang_register(o, p->index, k)];
}

/* The vector that begins in the piece: selects by whole words, then one shift of two each. */
static void realign(const overhang *o, const stored_piece *p, LLVMValueRef *next,
                    LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef w[2 * OVERHANG_WORDS];
  for (int k = 0; k < o->n; k++) {
    w[k] = p->own[k];
    w[o->n + k] = next[k];
  }
  for (int b = bits_log2(o->n) - 1; b >= 0; b--) {
    LLVMValueRef bit = LLVMBuildAnd(e->builder, p->behind, emit_i32(e, 8 << b), "");
    LLVMValueRef moved = LLVMBuildICmp(e->builder, LLVMIntNE, bit, emit_i32(e, 0), "");
    for (int k = 0; k < o->n + (1 << b); k++) w[k] = emit_choose(e, moved, w[k + (1 << b)], w[k]);
  }
  LLVMValueRef inside = LLVMBuildAnd(e->builder, p->behind, emit_i32(e, 7), "");
  inside = LLVMBuildShl(e->builder, inside, emit_i32(e, 2), "");
  for (int k = 0; k < o->n; k++) out[k] = overhang_shifted(e, w[k], w[k + 1], inside);
}

/* The piece's words from the byte of its first element on, whose first half, if that is another's,
 * is 0. */
static void from_byte(const overhang *o, const stored_piece *p, LLVMValueRef *out) {
  const emitter *e = o->e;
  LLVMValueRef back =
      emit_subtract(e, emit_i32(e, 32), LLVMBuildShl(e->builder, p->half, emit_i32(e, 2), ""));
  for (int k = 0; k < o->n; k++)
    out[k] = overhang_shifted(e, k ? p->own[k - 1] : emit_i32(e, 0), p->own[k], back);
}

/* How many elements from the piece's first on are inside the bounds, as overhang_valid_bytes tells
 * it. */
static LLVMValueRef elements_inside(const overhang *o, uint64_t tile) {
  overhang elements = *o;
  elements.reach = 1 << (o->step->vector + o->group.lanes);
  return overhang_valid_bytes(&elements, tile);
}

/* Number of the piece's group among those of the thread, which its lanes share out. */
static uint64_t group_number(const overhang *o, uint64_t index) {
  uint64_t number = 0, vector = 0;
  for (int j = 0; j < o->step->vector; j++) vector |= 1ull << o->position[j];
  for (int i = 0, n = 0; i < plan_value_bits(o->value, PLAN_REGISTER); i++)
    if (!(vector >> i & 1)) number |= (index >> i & 1) << n++;
  return number;
}

/* The element in front of the piece's group; i32. */
static LLVMValueRef front_of(const overhang *o, uint64_t index) {
  const emitter *e = o->e;
  const plan_value *front = &e->kernel->value[o->step->second];
  uint64_t number = group_number(o, index), mask = (uint64_t)o->pieces - 1,
           at = number >> o->group.lanes;
  LLVMValueRef word = e->value[o->step->second][at >> front->word];
  word = LLVMBuildLShr(e->builder, word,
                       emit_i32(e, (int64_t)(at & bits_mask(front->word)) * front->bits), "");
  if (o->group.lanes > 0) word = overhang_from(o, word, emit_i32(e, (int64_t)(number & mask)));
  return LLVMBuildAnd(e->builder, word, emit_i32(e, 15), "");
}

/* Where the destination's elements end; i64. */
static LLVMValueRef end_of_elements(emitter *e) {
  const plan_sequence *sequence = &e->kernel->sequence;
  LLVMValueRef all = emit_i64(e, 1);
  for (int k = 0; k < sequence->n; k++)
    all = LLVMBuildMul(e->builder, all, emit_number(e, &sequence->count[k]), "");
  return emit_add(e, all, emit_i64(e, e->kernel->origin[PLAN_DESTINATION]));
}

/* The destination's last element, where the piece has it and it is the first half of a byte. */
static void store_last(const overhang *o, const stored_piece *p, LLVMValueRef inside) {
  emitter *e = o->e;
  LLVMValueRef zero = emit_i32(e, 0), one = emit_i32(e, 1);
  LLVMValueRef count =
      emit_larger(e, emit_smaller(e, inside, emit_i32(e, 1 << o->step->vector)), zero);
  LLVMValueRef number = emit_subtract(e, count, one), place = emit_add(e, p->half, number);
  LLVMValueRef end = emit_add(e, p->offset, emit_resize(e, count, e->i64));
  LLVMValueRef last = LLVMBuildICmp(e->builder, LLVMIntEQ, end, end_of_elements(e), "");
  LLVMValueRef even =
      LLVMBuildICmp(e->builder, LLVMIntEQ, LLVMBuildAnd(e->builder, place, one, ""), zero, "");
  last = LLVMBuildAnd(e->builder, LLVMBuildAnd(e->builder, last, even, ""),
                      emit_less(e, zero, count), "");
  LLVMBasicBlockRef next = emit_open_guard(e, emit_and(e, o->first, last));
  LLVMValueRef word = p->own[0], of = LLVMBuildLShr(e->builder, number, emit_i32(e, 3), "");
  for (int k = 1; k < o->n; k++)
    word = emit_choose(e, LLVMBuildICmp(e->builder, LLVMIntEQ, of, emit_i32(e, k), ""), p->own[k],
                       word);
  LLVMValueRef inner = LLVMBuildAnd(e->builder, number, emit_i32(e, 7), "");
  word = LLVMBuildLShr(e->builder, word, LLVMBuildShl(e->builder, inner, emit_i32(e, 2), ""), "");
  LLVMValueRef byte =
      LLVMBuildTrunc(e->builder, LLVMBuildAnd(e->builder, word, emit_i32(e, 15), ""), e->i8, "");
  LLVMValueRef pointer =
      emit_move_pointer(e, p->pointer, LLVMBuildLShr(e->builder, place, one, ""));
  LLVMValueRef kept = LLVMBuildLoad2(e->builder, e->i8, pointer, "");
  kept = LLVMBuildAnd(e->builder, kept, LLVMConstInt(e->i8, 0xF0, 0), "");
  LLVMBuildStore(e->builder, LLVMBuildOr(e->builder, kept, byte, ""), pointer);
  emit_close_guard(e, next);
}

/* Of a group the bytes that it stores: those of which it has the last element inside; i32. */
static LLVMValueRef bytes_inside(const overhang *o, const stored_piece *p, LLVMValueRef inside) {
  const emitter *e = o->e;
  LLVMValueRef before = LLVMBuildShl(e->builder, o->piece, emit_i32(e, o->step->vector), "");
  LLVMValueRef all = emit_i32(e, 1 << (o->step->vector + o->group.lanes));
  LLVMValueRef count =
      emit_larger(e, emit_smaller(e, emit_add(e, inside, before), all), emit_i32(e, 0));
  return LLVMBuildLShr(e->builder, emit_add(e, count, p->half), emit_i32(e, 1), "");
}

static void store_piece(overhang *o, uint64_t index) {
  emitter *e = o->e;
  stored_piece p = {.index = index,
                    .tile = f2_apply(plan_value_columns(o->value, PLAN_REGISTER), index)};
  LLVMValueRef next[OVERHANG_WORDS], moved[OVERHANG_WORDS], begun[OVERHANG_WORDS], inside = NULL;
  LLVMValueRef size = emit_i32(e, o->bytes), before = LLVMBuildMul(e->builder, o->piece, size, "");
  LLVMValueRef total = emit_i32(e, o->reach);
  aim(o, &p);
  if (o->step->masked) {
    inside = elements_inside(o, p.tile);
    total = bytes_inside(o, &p, inside);
  }
  overhang_next(o, p.own, next);
  realign(o, &p, next, moved);
  LLVMValueRef start = emit_move_pointer(e, p.pointer, LLVMBuildNeg(e->builder, before, ""));
  LLVMValueRef end = emit_add(e, emit_add(e, before, p.shift), size);
  LLVMValueRef whole = LLVMBuildICmp(e->builder, LLVMIntSLE, end, total, "");
  overhang_store_vector(o, emit_move_pointer(e, p.pointer, p.shift), whole, moved);
  o->front = front_of(o, index);
  o->has_front = LLVMBuildICmp(e->builder, LLVMIntNE, p.half, emit_i32(e, 0), "");
  if (!o->step->masked) {
    overhang_store_ends(o, moved, start, p.shift);
    return;
  }
  from_byte(o, &p, begun);
  overhang_store_masked_ends(o, begun, moved, start, p.shift, total);
  store_last(o, &p, inside);
}

void emit_straddle_store(overhang *o, const uint64_t *index, int n) {
  o->place.nibbles = true;
  for (int i = 0; i < n; i++) store_piece(o, index[i]);
}
