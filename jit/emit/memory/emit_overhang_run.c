/* Overhanging stores of runs: pieces of one word each, of elements of 16 bits, in all lanes beside
 * each other, and in registers one warp's words behind the other's. Of the words of memory that
 * begin in a run each lane stores those that begin in its pieces, made of its own end and the begin
 * of the next lane's piece; the last lane's next piece is the first lane's of the next register.
 * What remains is an element in front of the first word, and one behind the last. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/overhang.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#define WORD_BYTES 4
#define ELEMENT_BYTES 2

/* A run at one register index. */
typedef struct run_store {
  const overhang *o;
  int n;                /* words of a lane */
  LLVMValueRef pointer; /* this lane's first piece */
  LLVMValueRef shift;   /* i32: bytes from there to the first word that begins in it */
  LLVMValueRef
      left; /* i32: bytes from there to the run's end, or the row's, which may lie before */
  LLVMValueRef own[EMIT_MAX_REGISTERS], moved[EMIT_MAX_REGISTERS];
} run_store;

static LLVMValueRef is_least(const emitter *e, LLVMValueRef x, int64_t least) {
  return LLVMBuildICmp(e->builder, LLVMIntSGE, x, emit_i32(e, least), "");
}

/* moved: the words that begin `shift` bytes inside of the lane's pieces. */
static void shift_words(run_store *r) {
  const overhang *o = r->o;
  emitter *e = o->e;
  LLVMValueRef turned[EMIT_MAX_REGISTERS], selector = overhang_selector(e, r->shift);
  LLVMValueRef last =
      LLVMBuildICmp(e->builder, LLVMIntEQ, o->piece, emit_i32(e, o->pieces - 1), "");
  LLVMValueRef lane = emit_add(e, e->lane, emit_i32(e, 1));
  lane = LLVMBuildAnd(e->builder, lane, emit_i32(e, o->pieces - 1), "");
  emit_bring_together(e);
  for (int k = 0; k < r->n; k++) turned[k] = e->ops->shuffle(e, r->own[k], lane);
  for (int k = 0; k < r->n; k++) {
    LLVMValueRef next = k + 1 < r->n ? emit_choose(e, last, turned[k + 1], turned[k]) : turned[k];
    r->moved[k] = e->ops->permute(e, r->own[k], next, selector);
  }
}

static void store_half(const run_store *r, LLVMValueRef condition, LLVMValueRef word,
                       LLVMValueRef at) {
  const overhang *o = r->o;
  emitter *e = o->e;
  LLVMBasicBlockRef next = emit_open_guard(e, emit_and(e, o->first, condition));
  LLVMValueRef half = LLVMBuildTrunc(e->builder, word, emit_int_type(e, 8 * ELEMENT_BYTES), "");
  LLVMValueRef to = emit_move_pointer(e, r->pointer, at);
  LLVMSetAlignment(LLVMBuildStore(e->builder, half, to), ELEMENT_BYTES);
  emit_close_guard(e, next);
}

/* Words that lie inside as a whole; rest: bytes from the first word's end to where that ends. */
static void store_words(const run_store *r, LLVMValueRef rest, bool masked) {
  const overhang *o = r->o;
  LLVMValueRef first = emit_move_pointer(o->e, r->pointer, r->shift);
  int reach = WORD_BYTES << o->group.lanes;
  for (int k = 0; k < r->n; k++) {
    LLVMValueRef word = r->moved[k];
    bool whole = !masked && k + 1 < r->n;
    overhang_store_vector(o, emit_move_pointer(o->e, first, emit_i32(o->e, k * reach)),
                          whole ? NULL : is_least(o->e, rest, k * reach), &word);
  }
}

/* The element in front of the first word, and the one behind the last, of which a word has half: in
 * one lane each. */
static void store_ends(const run_store *r, LLVMValueRef rest, bool masked) {
  const overhang *o = r->o;
  emitter *e = o->e;
  int reach = WORD_BYTES << o->group.lanes;
  LLVMValueRef zero = emit_i32(e, 0), end = emit_add(e, rest, emit_i32(e, ELEMENT_BYTES));
  LLVMValueRef odd = LLVMBuildICmp(e->builder, LLVMIntNE, r->shift, zero, "");
  LLVMValueRef begins = LLVMBuildICmp(e->builder, LLVMIntEQ, o->piece, zero, "");
  begins = emit_and(e, odd, begins);
  if (masked) begins = emit_and(e, begins, is_least(e, r->left, ELEMENT_BYTES));
  store_half(r, begins, r->own[0], zero);
  LLVMValueRef word = r->moved[r->n - 1], at = emit_i32(e, (r->n - 1) * reach);
  LLVMValueRef ends = LLVMBuildICmp(e->builder, LLVMIntEQ, end, at, "");
  if (masked) {
    LLVMValueRef within = LLVMBuildAnd(e->builder, end, emit_i32(e, reach - 1), "");
    ends = LLVMBuildICmp(e->builder, LLVMIntEQ, within, zero, "");
    ends = emit_and(e, ends, is_least(e, end, 0));
    at = end;
    for (int k = r->n - 2; k >= 0; k--)
      word = emit_choose(e, LLVMBuildICmp(e->builder, LLVMIntEQ, end, emit_i32(e, k * reach), ""),
                         r->moved[k], word);
  }
  store_half(r, ends, word, emit_add(e, at, r->shift));
}

/* The run whose first piece is at register `index`. */
static void store_run(const overhang *o, const plan_group_run *run, uint64_t index) {
  emitter *e = o->e;
  overhang whole = *o;
  bool masked = o->step->masked;
  uint64_t tile = f2_apply(plan_value_columns(o->value, PLAN_REGISTER), index);
  whole.reach = o->reach << run->n;
  run_store r = {.o = &whole, .n = 1 << run->n, .pointer = emit_pointer(e, &whole.place, tile)};
  LLVMValueRef own = LLVMBuildMul(e->builder, o->piece, emit_i32(e, WORD_BYTES), "");
  r.shift = overhang_misalignment(o, r.pointer, true);
  r.left = emit_subtract(e, emit_i32(e, whole.reach), own);
  if (masked) r.left = emit_smaller(e, r.left, overhang_valid_bytes(&whole, tile));
  for (int k = 0; k < r.n; k++) {
    uint64_t at = index;
    for (int j = 0; j < run->n; j++)
      if (k >> j & 1) at |= 1ull << run->bit[j];
    r.own[k] = o->words[overhang_register(o, at, 0)];
  }
  shift_words(&r);
  LLVMValueRef rest = emit_subtract(e, r.left, emit_add(e, r.shift, emit_i32(e, WORD_BYTES)));
  store_words(&r, rest, masked);
  store_ends(&r, rest, masked);
}

bool overhang_store_runs(const overhang *o, const uint64_t *index, int n) {
  plan_group_run run;
  uint64_t along = 0;
  if (o->element != ELEMENT_BYTES || o->n > 1 || !overhang_may_shift(o)) return false;
  plan_run_of(o->e->kernel, o->step->tensor, o->value, o->step->vector, &o->group, &run);
  if (o->group.first_lane != 0 || o->pieces != 1 << o->e->kernel->lane_bits) return false;
  for (int j = 0; j < run.n; j++) along |= 1ull << run.bit[j];
  for (int i = 0; i < n; i++)
    if (!(index[i] & along)) store_run(o, &run, index[i]);
  return true;
}
