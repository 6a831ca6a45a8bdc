/* Loads of 4-bit elements from rows that begin in either half of any byte: see emit_overhang.c, of
 * which this is the form by words. A piece is as many elements as an access has, whole words of
 * them in registers. A thread takes the aligned words that its piece touches and shifts them. Where
 * memory has not all of these, at the tensor's ends, it takes the elements one by one. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/overhang.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/row_group.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#define WORD_BYTES 4

typedef struct straddle {
  emitter *e;
  const plan_step *step;
  const plan_value *value;
  LLVMValueRef *words; /* of the value */
  emit_place place;
  plan_group group;
  int position[8], n; /* registers of a piece; its words */
} straddle;

/* A piece: the word in which it begins, and how many bits behind that word's first. */
typedef struct straddled {
  uint64_t index;     /* register */
  LLVMValueRef word;  /* pointer */
  LLVMValueRef shift; /* i32, 0, 4 .. 28 */
  LLVMValueRef count; /* i32: elements inside all bounds, the first of the piece; NULL: all */
  LLVMValueRef made[OVERHANG_WORDS];
} straddled;

static void aim(straddle *s, straddled *p) {
  emitter *e = s->e;
  uint64_t tile = f2_apply(plan_value_columns(s->value, PLAN_REGISTER), p->index);
  LLVMValueRef byte = emit_pointer(e, &s->place, tile), three = emit_i32(e, WORD_BYTES - 1);
  LLVMValueRef low =
      LLVMBuildTrunc(e->builder, LLVMBuildPtrToInt(e->builder, byte, e->i64, ""), e->i32, "");
  LLVMValueRef half = LLVMBuildTrunc(e->builder, emit_offset(e, &s->place, tile), e->i32, "");
  low = LLVMBuildAnd(e->builder, low, three, "");
  half = LLVMBuildAnd(e->builder, half, emit_i32(e, 1), "");
  p->word = emit_move_pointer(e, byte, LLVMBuildNeg(e->builder, low, ""));
  p->shift = LLVMBuildOr(e->builder, LLVMBuildShl(e->builder, low, emit_i32(e, 3), ""),
                         LLVMBuildShl(e->builder, half, emit_i32(e, 2), ""), "");
}

/* ---- whole words ---- */

/* Bytes behind the piece's first word at which the last one lies that it touches. */
static LLVMValueRef last_word(const straddle *s, const straddled *p) {
  const emitter *e = s->e;
  LLVMValueRef begins = LLVMBuildICmp(e->builder, LLVMIntEQ, p->shift, emit_i32(e, 0), "");
  return emit_choose(e, begins, emit_i32(e, WORD_BYTES * (s->n - 1)),
                     emit_i32(e, WORD_BYTES * s->n));
}

static LLVMValueRef load_word(const emitter *e, LLVMValueRef pointer, LLVMValueRef at) {
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, e->i32, emit_move_pointer(e, pointer, at), "");
  LLVMSetAlignment(loaded, WORD_BYTES);
  return loaded;
}

LLVMValueRef overhang_shifted(const emitter *e, LLVMValueRef low, LLVMValueRef high,
                              LLVMValueRef shift) {
  low = LLVMBuildZExt(e->builder, low, e->i64, "");
  high = LLVMBuildShl(e->builder, LLVMBuildZExt(e->builder, high, e->i64, ""), emit_i64(e, 32), "");
  LLVMValueRef both = LLVMBuildOr(e->builder, low, high, "");
  both = LLVMBuildLShr(e->builder, both, LLVMBuildZExt(e->builder, shift, e->i64, ""), "");
  return LLVMBuildTrunc(e->builder, both, e->i32, "");
}

static void request(const straddle *s, const straddled *p,
                    LLVMValueRef loaded[OVERHANG_WORDS + 1]) {
  for (int k = 0; k < s->n; k++)
    loaded[k] = load_word(s->e, p->word, emit_i32(s->e, WORD_BYTES * k));
  loaded[s->n] = load_word(s->e, p->word, last_word(s, p));
}

static void join(const straddle *s, straddled *p, LLVMValueRef loaded[OVERHANG_WORDS + 1]) {
  for (int k = 0; k < s->n; k++)
    p->made[k] = overhang_shifted(s->e, loaded[k], loaded[k + 1], p->shift);
}

/* ---- bounds ---- */

/* How many of a piece's elements one bound leaves, no more than `most`; i32. */
static LLVMValueRef count_below(const straddle *s, const plan_bound *bound, uint64_t tile,
                                int most) {
  emitter *e = s->e;
  int64_t step = plan_group_step(e->kernel, bound, &s->group);
  LLVMValueRef at = emit_bounded(e, s->value, bound, tile), zero = emit_i64(e, 0);
  LLVMValueRef left = emit_larger(e, emit_subtract(e, emit_bound_limit(e, bound), at), zero);
  if (step == 0) {
    LLVMValueRef inside = emit_less(e, zero, left);
    return emit_choose(e, inside, emit_i32(e, most), emit_i32(e, 0));
  }
  left = emit_smaller(e, left, emit_i64(e, most * step));
  left = LLVMBuildTrunc(e->builder, left, e->i32, "");
  if (step == 1) return left;
  return LLVMBuildUDiv(e->builder, emit_add(e, left, emit_i32(e, step - 1)), emit_i32(e, step), "");
}

static LLVMValueRef count_inside(const straddle *s, uint64_t tile) {
  const plan_kernel *kernel = s->e->kernel;
  int most = 1 << s->step->vector;
  LLVMValueRef count = emit_i32(s->e, most);
  for (int i = 0; i < kernel->n_bounds; i++)
    if (kernel->bound[i].tensors >> s->step->tensor & 1 && !(s->step->ignored_bounds >> i & 1))
      count = emit_smaller(s->e, count, count_below(s, &kernel->bound[i], tile, most));
  return count;
}

/* Puts the kernel's fill behind the first p->count elements. */
static void fill_rest(const straddle *s, straddled *p) {
  emitter *e = s->e;
  uint64_t pattern = 0;
  for (int at = 0; at < 32; at += s->value->bits) pattern |= e->kernel->fill << at;
  LLVMValueRef bits = LLVMBuildShl(e->builder, p->count, emit_i32(e, 2), "");
  for (int k = 0; k < s->n; k++) {
    LLVMValueRef own = emit_larger(e, emit_subtract(e, bits, emit_i32(e, 32 * k)), emit_i32(e, 0));
    own = emit_smaller(e, own, emit_i32(e, 32));
    LLVMValueRef mask =
        LLVMBuildShl(e->builder, emit_i64(e, 1), LLVMBuildZExt(e->builder, own, e->i64, ""), "");
    mask = LLVMBuildTrunc(e->builder, emit_subtract(e, mask, emit_i64(e, 1)), e->i32, "");
    LLVMValueRef rest = emit_i32(e, (int64_t)(pattern & UINT32_MAX));
    rest = LLVMBuildAnd(e->builder, LLVMBuildNot(e->builder, mask, ""), rest, "");
    p->made[k] = LLVMBuildOr(e->builder, LLVMBuildAnd(e->builder, p->made[k], mask, ""), rest, "");
  }
}

/* ---- masked ---- */

/* i1: whether memory has all words that the piece touches. */
static LLVMValueRef in_memory(const straddle *s, const straddled *p) {
  const emitter *e = s->e;
  const plan_memory *memory = &e->kernel->memory;
  LLVMValueRef first = LLVMBuildPtrToInt(e->builder, p->word, e->i64, "");
  LLVMValueRef last =
      LLVMBuildPtrToInt(e->builder, emit_move_pointer(e, p->word, last_word(s, p)), e->i64, "");
  LLVMValueRef begins =
      LLVMBuildICmp(e->builder, LLVMIntUGE, first, emit_number(e, &memory->begin), "");
  last = emit_add(e, last, emit_i64(e, WORD_BYTES));
  LLVMValueRef ends = LLVMBuildICmp(e->builder, LLVMIntULE, last, emit_number(e, &memory->end), "");
  return LLVMBuildAnd(e->builder, begins, ends, "");
}

/* The element that lies `bits` (i32) behind the begin of the piece's first word, in place for bit
 * `to` of one; i32. */
static LLVMValueRef one_element(const straddle *s, const straddled *p, LLVMValueRef bits,
                                LLVMValueRef to) {
  const emitter *e = s->e;
  LLVMValueRef at =
      emit_move_pointer(e, p->word, LLVMBuildLShr(e->builder, bits, emit_i32(e, 3), ""));
  LLVMValueRef byte =
      LLVMBuildZExt(e->builder, LLVMBuildLoad2(e->builder, e->i8, at, ""), e->i32, "");
  byte = LLVMBuildLShr(e->builder, byte, LLVMBuildAnd(e->builder, bits, emit_i32(e, 4), ""), "");
  byte = LLVMBuildAnd(e->builder, byte, emit_i32(e, 15), "");
  return LLVMBuildShl(e->builder, byte, LLVMBuildAnd(e->builder, to, emit_i32(e, 31), ""), "");
}

/* The elements inside, of which there is one, one after the other. */
static void load_elements(const straddle *s, const straddled *p,
                          LLVMValueRef made[OVERHANG_WORDS]) {
  emitter *e = s->e;
  LLVMValueRef zero = emit_i32(e, 0), next[OVERHANG_WORDS];
  LLVMBasicBlockRef entry = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef body = emit_new_block(e, "elements"), done = emit_new_block(e, "elements_done");
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef at = LLVMBuildPhi(e->builder, e->i32, "at"); /* bits */
  LLVMAddIncoming(at, &zero, &entry, 1);
  for (int k = 0; k < s->n; k++) {
    made[k] = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(made[k], &zero, &entry, 1);
  }
  LLVMValueRef part = one_element(s, p, emit_add(e, p->shift, at), at);
  LLVMValueRef number = LLVMBuildLShr(e->builder, at, emit_i32(e, 5), "");
  for (int k = 0; k < s->n; k++) {
    LLVMValueRef here = LLVMBuildICmp(e->builder, LLVMIntEQ, number, emit_i32(e, k), "");
    next[k] = LLVMBuildOr(e->builder, made[k], emit_choose(e, here, part, zero), "");
    LLVMAddIncoming(made[k], &next[k], &body, 1);
  }
  LLVMValueRef after = emit_add(e, at, emit_i32(e, s->value->bits));
  LLVMAddIncoming(at, &after, &body, 1);
  LLVMBuildCondBr(e->builder,
                  emit_less(e, after, LLVMBuildShl(e->builder, p->count, emit_i32(e, 2), "")), body,
                  done);
  LLVMPositionBuilderAtEnd(e->builder, done);
  for (int k = 0; k < s->n; k++) made[k] = next[k];
}

/* p->made is `found` where control came from the block `from`, else what it was. */
static void choose_by_way(const straddle *s, straddled *p, LLVMValueRef *found,
                          LLVMBasicBlockRef from, LLVMBasicBlockRef before) {
  for (int k = 0; k < s->n; k++) {
    LLVMValueRef phi = LLVMBuildPhi(s->e->builder, s->e->i32, "");
    LLVMAddIncoming(phi, &found[k], &from, 1);
    LLVMAddIncoming(phi, &p->made[k], &before, 1);
    p->made[k] = phi;
  }
}

static void load_masked(straddle *s, straddled *p) {
  emitter *e = s->e;
  LLVMValueRef zero = emit_i32(e, 0), loaded[OVERHANG_WORDS + 1], single[OVERHANG_WORDS];
  LLVMValueRef wanted = emit_less(e, zero, p->count), there = in_memory(s, p);
  for (int k = 0; k < s->n; k++) p->made[k] = zero;
  straddled whole = *p;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef next = emit_open_guard(e, LLVMBuildAnd(e->builder, wanted, there, ""));
  request(s, &whole, loaded);
  join(s, &whole, loaded);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  choose_by_way(s, p, whole.made, body, before);
  before = LLVMGetInsertBlock(e->builder);
  next =
      emit_open_guard(e, LLVMBuildAnd(e->builder, wanted, LLVMBuildNot(e->builder, there, ""), ""));
  load_elements(s, p, single);
  body = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  choose_by_way(s, p, single, body, before);
  fill_rest(s, p);
}

/* ---- the step ---- */

/* All words are under way before the first is shifted. */
static void load_all(straddle *s, straddled *pieces, int n) {
  LLVMValueRef loaded[OVERHANG_PIECES][OVERHANG_WORDS + 1];
  for (int i = 0; i < n; i++) request(s, &pieces[i], loaded[i]);
  for (int i = 0; i < n; i++) join(s, &pieces[i], loaded[i]);
}

static void begin(emitter *e, const plan_step *step, straddle *s) {
  const plan_value *value = &e->kernel->value[step->out];
  *s = (straddle){.e = e, .step = step, .value = value, .words = e->value[step->out]};
  emit_place_tensor(e, value, step->tensor, &s->place);
  s->place.nibbles = true;
  plan_group_of(e->kernel, step->tensor, value, step->vector, &s->group);
  plan_access_positions(value, &s->place.map, PLAN_REGISTER, step->vector, s->position);
  s->n = 1 << (step->vector - value->word);
}

/* Register number of word k of a piece. */
static uint64_t word_of(const straddle *s, const straddled *p, int k) {
  uint64_t index = p->index;
  for (int j = s->value->word; j < s->step->vector; j++)
    if (k >> (j - s->value->word) & 1) index |= 1ull << s->position[j];
  return index >> s->value->word;
}

void emit_straddle_step(emitter *e, const plan_step *step) {
  static const int most = OVERHANG_PIECES;
  straddled pieces[OVERHANG_PIECES];
  uint64_t inner = 0, registers;
  straddle s;
  int n = 0;
  begin(e, step, &s);
  registers = 1ull << plan_value_bits(s.value, PLAN_REGISTER);
  for (int j = 0; j < step->vector; j++) inner |= 1ull << s.position[j];
  for (uint64_t i = 0; i < registers && n < most; i++) {
    if (i & inner) continue;
    pieces[n] = (straddled){.index = i};
    aim(&s, &pieces[n]);
    if (step->masked)
      pieces[n].count = count_inside(&s, f2_apply(plan_value_columns(s.value, PLAN_REGISTER), i));
    if (step->masked) load_masked(&s, &pieces[n]);
    n++;
  }
  if (!step->masked) load_all(&s, pieces, n);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < s.n; k++) s.words[word_of(&s, &pieces[i], k)] = pieces[i].made[k];
}
