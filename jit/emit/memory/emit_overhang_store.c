/* Overhanging stores: see emit_overhang.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/overhang.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

void overhang_store_vector(const overhang *o, LLVMValueRef pointer, LLVMValueRef condition,
                           LLVMValueRef *words) {
  emitter *e = o->e;
  LLVMBasicBlockRef next = emit_open_guard(e, emit_and(e, o->first, condition));
  LLVMValueRef vector = o->n > 1 ? LLVMGetUndef(overhang_vector_type(o)) : words[0];
  for (int k = 0; k < o->n && o->n > 1; k++)
    vector = LLVMBuildInsertElement(e->builder, vector, words[k], emit_i32(e, k), "");
  LLVMSetAlignment(LLVMBuildStore(e->builder, vector, pointer), (unsigned)o->bytes);
  emit_close_guard(e, next);
}

/* The first byte of a group of 4-bit elements, with what lies in front of these. */
static LLVMValueRef with_front(const overhang *o, LLVMValueRef word, LLVMValueRef at,
                               LLVMValueRef begin) {
  const emitter *e = o->e;
  LLVMValueRef here = LLVMBuildICmp(e->builder, LLVMIntEQ, at, begin, "");
  LLVMValueRef joined =
      LLVMBuildOr(e->builder, LLVMBuildAnd(e->builder, word, emit_i32(e, 0xF0), ""), o->front, "");
  return emit_choose(e, emit_and(e, here, o->has_front), joined, word);
}

/* Stores the element `at` (i32) bytes inside a vector at `pointer`; 4 bits: the group's first byte
 * is `begin` (i32) bytes inside; NULL: not in there. */
static void store_element(const overhang *o, LLVMValueRef *words, LLVMValueRef at,
                          LLVMValueRef condition, LLVMValueRef pointer, LLVMValueRef begin) {
  emitter *e = o->e;
  LLVMBasicBlockRef next = emit_open_guard(e, emit_and(e, o->first, condition));
  LLVMValueRef word = words[0];
  LLVMValueRef number = LLVMBuildLShr(e->builder, at, emit_i32(e, 2), "");
  for (int k = 1; k < o->n; k++) {
    LLVMValueRef here = LLVMBuildICmp(e->builder, LLVMIntEQ, number, emit_i32(e, k), "");
    word = emit_choose(e, here, words[k], word);
  }
  LLVMValueRef shift = LLVMBuildShl(e->builder, LLVMBuildAnd(e->builder, at, emit_i32(e, 3), ""),
                                    emit_i32(e, 3), "");
  word = LLVMBuildLShr(e->builder, word, shift, "");
  if (o->front && begin) word = with_front(o, word, at, begin);
  word = LLVMBuildTrunc(e->builder, word, emit_int_type(e, 8 * o->element), "");
  LLVMSetAlignment(LLVMBuildStore(e->builder, word, pointer), (unsigned)o->element);
  emit_close_guard(e, next);
}

/* The lanes of a group take a vector's elements in so many turns; this lane's in one of them: its
 * bytes from the vector's begin, i32, past the vector where there are more lanes than elements. */
static int element_turns(const overhang *o) {
  return bits_max(o->bytes / o->element >> o->group.lanes, 1);
}

static LLVMValueRef element_of_turn(const overhang *o, int turn) {
  const emitter *e = o->e;
  LLVMValueRef number = emit_add(e, o->piece, emit_i32(e, turn * o->pieces));
  return LLVMBuildMul(e->builder, number, emit_i32(e, o->element), "");
}

/* The first `length` (i32) bytes of a vector, to `pointer` on; begin: as above. */
static void store_begin_of(const overhang *o, LLVMValueRef *words, LLVMValueRef length,
                           LLVMValueRef pointer, LLVMValueRef begin) {
  const emitter *e = o->e;
  for (int turn = 0; turn < element_turns(o); turn++) {
    LLVMValueRef at = element_of_turn(o, turn);
    store_element(o, words, at, emit_less(e, at, length), emit_move_pointer(e, pointer, at), begin);
  }
}

/* Both ends of a whole group at once: the last lane's vector has the end first, the begin after it.
 */
void overhang_store_ends(const overhang *o, LLVMValueRef *moved, LLVMValueRef start,
                         LLVMValueRef shift) {
  const emitter *e = o->e;
  LLVMValueRef words[OVERHANG_WORDS], last = emit_i32(e, o->pieces - 1);
  LLVMValueRef shifted = LLVMBuildICmp(e->builder, LLVMIntNE, shift, emit_i32(e, 0), "");
  LLVMValueRef at_end = emit_subtract(e, emit_i32(e, o->bytes), shift);
  if (o->pieces > 1) overhang_shuffle(o, moved, overhang_lane(o, last), words);
  else
    for (int k = 0; k < o->n; k++) words[k] = moved[k];
  for (int turn = 0; turn < element_turns(o); turn++) {
    LLVMValueRef at = element_of_turn(o, turn);
    LLVMValueRef there = emit_less(e, at, emit_i32(e, o->bytes));
    LLVMValueRef far = emit_choose(e, emit_less(e, at, at_end), emit_i32(e, o->reach - o->bytes),
                                   emit_i32(e, -o->bytes));
    LLVMValueRef pointer = emit_move_pointer(e, start, emit_add(e, emit_add(e, shift, at), far));
    store_element(o, words, at, emit_and(e, there, shifted), pointer, at_end);
  }
}

void overhang_store_masked_ends(const overhang *o, LLVMValueRef *own, LLVMValueRef *moved,
                                LLVMValueRef start, LLVMValueRef shift, LLVMValueRef total) {
  const emitter *e = o->e;
  LLVMValueRef words[OVERHANG_WORDS], zero = emit_i32(e, 0),
                                      size = emit_i32(e, bits_log2(o->bytes));
  LLVMValueRef rest = emit_larger(e, emit_subtract(e, total, shift), zero);
  LLVMValueRef whole = LLVMBuildLShr(e->builder, rest, size, "");
  LLVMValueRef stored = LLVMBuildShl(e->builder, whole, size, "");
  LLVMValueRef last = emit_smaller(e, whole, emit_i32(e, o->pieces - 1));
  overhang_shuffle(o, moved, overhang_lane(o, last), words);
  store_begin_of(o, words, emit_subtract(e, rest, stored),
                 emit_move_pointer(e, start, emit_add(e, shift, stored)), NULL);
  if (!overhang_may_shift(o)) return;
  overhang_shuffle(o, own, overhang_lane(o, zero), words);
  store_begin_of(o, words, emit_smaller(e, shift, total), start, zero);
}

/* A piece that is stored: where it is, and where its group begins; i32: bytes of the group before
 * it, bytes to the first vector that begins in it; total: bytes of the group inside the bounds. */
typedef struct piece_store {
  LLVMValueRef at, start, before, shift, total;
  LLVMValueRef own[OVERHANG_WORDS];
} piece_store;

/* Its vector, and the ends of its group. */
static void store_parts(const overhang *o, piece_store *p, bool masked) {
  const emitter *e = o->e;
  LLVMValueRef next[OVERHANG_WORDS], moved[OVERHANG_WORDS];
  for (int k = 0; k < o->n; k++) moved[k] = p->own[k];
  if (overhang_may_shift(o)) {
    overhang_next(o, p->own, next);
    overhang_realign(o, p->own, next, p->shift, moved);
  }
  LLVMValueRef end = emit_add(e, emit_add(e, p->before, p->shift), emit_i32(e, o->bytes));
  LLVMValueRef most = masked ? p->total : emit_i32(e, o->reach);
  LLVMValueRef whole = LLVMBuildICmp(e->builder, LLVMIntSLE, end, most, "");
  overhang_store_vector(o, emit_move_pointer(e, p->at, p->shift), whole, moved);
  if (masked) overhang_store_masked_ends(o, p->own, moved, p->start, p->shift, p->total);
  else overhang_store_ends(o, moved, p->start, p->shift);
}

/* Groups of a warp that lie inside as a whole are stored as where nothing is masked, and of those
 * that lie outside nothing is looked at: in rows that end inside a tile most are one or the other.
 */
static void store_by_groups(const overhang *o, piece_store *p) {
  emitter *e = o->e;
  LLVMValueRef outside = LLVMBuildICmp(e->builder, LLVMIntSLE, p->total, emit_i32(e, 0), "");
  LLVMValueRef inside = LLVMBuildICmp(e->builder, LLVMIntSGE, p->total, emit_i32(e, o->reach), "");
  LLVMBasicBlockRef some = emit_new_block(e, "some"), all = emit_new_block(e, "all");
  LLVMBasicBlockRef part = emit_new_block(e, "part"), done = emit_new_block(e, "stored");
  emit_bring_together(e);
  LLVMBuildCondBr(e->builder, e->ops->all_lanes(e, outside), done, some);
  LLVMPositionBuilderAtEnd(e->builder, some);
  LLVMBuildCondBr(e->builder, e->ops->all_lanes(e, inside), all, part);
  LLVMPositionBuilderAtEnd(e->builder, all);
  store_parts(o, p, false);
  emit_bring_together(e);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, part);
  store_parts(o, p, true);
  emit_bring_together(e);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

/* The piece at register `index`. */
static void store_piece(overhang *o, uint64_t index) {
  emitter *e = o->e;
  uint64_t tile = f2_apply(plan_value_columns(o->value, PLAN_REGISTER), index);
  LLVMValueRef zero = emit_i32(e, 0), reach = emit_i32(e, o->reach);
  piece_store p = {.at = emit_pointer(e, &o->place, tile)};
  p.shift = overhang_misalignment(o, p.at, true);
  p.before = LLVMBuildMul(e->builder, o->piece, emit_i32(e, o->bytes), "");
  p.start = emit_move_pointer(e, p.at, LLVMBuildNeg(e->builder, p.before, ""));
  if (o->step->masked) {
    p.total = emit_add(e, overhang_valid_bytes(o, tile), p.before);
    p.total = emit_larger(e, emit_smaller(e, p.total, reach), zero);
  }
  for (int k = 0; k < o->n; k++) p.own[k] = o->words[overhang_register(o, index, k)];
  if (o->step->masked && o->step->by_groups) store_by_groups(o, &p);
  else store_parts(o, &p, o->step->masked);
}

void overhang_store(overhang *o, const uint64_t *index, int n) {
  for (int i = 0; i < n; i++) store_piece(o, index[i]);
}
