/* PLAN_DOT: instructions of the target over the operands' words, or multiply-adds of each lane.
 * Must agree with jit/interpret/dot_eval.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/dot_tiling.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

typedef struct product_step {
  emitter *e;
  const plan_step *step;
  const plan_value *value[3];
  LLVMValueRef *words[3];
  dot_tiling tiling;
} product_step;

/* The first word of operand o's instruction number (out, sum), and how many words it has. */
static LLVMValueRef *words_of(const product_step *p, int o, uint64_t out, uint64_t sum, int *n) {
  uint64_t index = f2_apply(p->tiling.of_out[o], out) ^ f2_apply(p->tiling.of_sum[o], sum);
  int word = p->value[o]->word;
  *n = 1 << (p->tiling.operand[o].registers - word);
  for (int i = 0; i < *n && o != DOT_ACC; i++)
    emit_word(p->e, o == DOT_A ? p->step->in : p->step->second, (int)(index >> word) + i);
  return &p->words[o][index >> word];
}

static void emit_matrix_product(const product_step *p, uint64_t out, uint64_t sum) {
  int n;
  LLVMValueRef *a = words_of(p, DOT_A, out, sum, &n), *b = words_of(p, DOT_B, out, sum, &n);
  p->e->ops->product(p->e, p->tiling.row, a, b, words_of(p, DOT_ACC, out, 0, &n));
}

/* ---- multiply-adds ---- */

/* x in every lane of a vector of `type`, where that is one and x is not. */
static LLVMValueRef in_lanes(const emitter *e, LLVMValueRef x, LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind ||
      LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind)
    return x;
  LLVMValueRef one = LLVMBuildInsertElement(e->builder, LLVMGetUndef(type), x, emit_i32(e, 0), "");
  LLVMTypeRef numbers = LLVMVectorType(e->i32, LLVMGetVectorSize(type));
  return LLVMBuildShuffleVector(e->builder, one, LLVMGetUndef(type), LLVMConstNull(numbers), "");
}

/* GPUs round once; so does the host where its processor can. */
static LLVMValueRef multiply_add(emitter *e, llrt_dtype type, LLVMValueRef a, LLVMValueRef b,
                                 LLVMValueRef acc) {
  LLVMTypeRef codes = LLVMTypeOf(acc);
  LLVMValueRef args[] = {in_lanes(e, a, codes), in_lanes(e, b, codes), acc};
  if (type != LLRT_F32 && type != LLRT_F64)
    return LLVMBuildAdd(e->builder, LLVMBuildMul(e->builder, args[0], args[1], ""), acc, "");
  LLVMTypeRef numbers = emit_number_type(e, type, codes);
  for (int i = 0; i < 3; i++) args[i] = LLVMBuildBitCast(e->builder, args[i], numbers, "");
  const char *name = emit_is_host(e) ? "llvm.fmuladd" : "llvm.fma";
  return LLVMBuildBitCast(e->builder, emit_intrinsic(e, name, &numbers, 1, args, 3), codes, "");
}

/* Element i of every word, which has several, extended to all of it. */
static LLVMValueRef element_of(emitter *e, LLVMValueRef word, int bits, int i) {
  LLVMTypeRef type = LLVMTypeOf(word);
  LLVMValueRef up =
      LLVMBuildShl(e->builder, word, emit_splat(type, (uint64_t)(32 - bits * (i + 1))), "");
  return LLVMBuildAShr(e->builder, up, emit_splat(type, (uint64_t)(32 - bits)), "");
}

/* Words of several elements along k, signed ones of `bits`. */
static LLVMValueRef multiply_words(emitter *e, int bits, LLVMValueRef a, LLVMValueRef b,
                                   LLVMValueRef acc) {
  LLVMTypeRef type = LLVMTypeOf(acc);
  a = in_lanes(e, a, type);
  b = in_lanes(e, b, type);
  LLVMValueRef made = bits == 16 ? e->ops->multiply_halves(e, a, b, acc) : NULL;
  if (made) return made;
  for (int i = 0; i < 32 / bits; i++)
    acc = multiply_add(e, LLRT_I32, element_of(e, a, bits, i), element_of(e, b, bits, i), acc);
  return acc;
}

static void emit_multiply_add(const product_step *p, uint64_t out, uint64_t sum) {
  int n;
  LLVMValueRef a = *words_of(p, DOT_A, out, sum, &n), b = *words_of(p, DOT_B, out, sum, &n);
  LLVMValueRef *acc = words_of(p, DOT_ACC, out, 0, &n);
  const dot_instruction *row = p->tiling.row;
  *acc = row->k ? multiply_words(p->e, llrt_dtype_bits((llrt_dtype)row->a), a, b, *acc)
                : multiply_add(p->e, (llrt_dtype)row->acc, a, b, *acc);
}

/* ---- products of warpgroups ---- */

/* Bits of a descriptor (PTX ISA, "Matrix-descriptor format"), distances in units of 16 bytes. */
#define UNIT_BITS 4
#define ADDRESS_MASK 0x3fff
#define LEADING_SHIFT 16
#define SWIZZLE_SHIFT 30 /* of its upper half */

/* The lower half of the descriptor of an operand, of what its warpgroup has first. */
static LLVMValueRef first_descriptor(const product_step *p, int o) {
  emitter *e = p->e;
  LLVMValueRef at =
      LLVMBuildPtrToInt(e->builder, emit_slot_pointer(e, p->step->from[o]), e->i32, "");
  at = LLVMBuildAdd(e->builder, at,
                    emit_linear(e, e->warp, p->tiling.of_warp[o], e->kernel->warp_bits), "");
  at = LLVMBuildLShr(e->builder, at, emit_i32(e, UNIT_BITS), "");
  at = LLVMBuildAnd(e->builder, at, emit_i32(e, ADDRESS_MASK), "");
  int64_t leading = (int64_t)(p->tiling.matrix[o].leading >> UNIT_BITS) << LEADING_SHIFT;
  return LLVMBuildOr(e->builder, at, emit_i32(e, leading), "");
}

/* That of instruction number (out, sum), i64. */
static LLVMValueRef descriptor_of(const product_step *p, int o, LLVMValueRef first, uint64_t out,
                                  uint64_t sum) {
  emitter *e = p->e;
  const dot_matrix *matrix = &p->tiling.matrix[o];
  uint64_t offset = f2_apply(p->tiling.of_out[o], out) ^ f2_apply(p->tiling.of_sum[o], sum);
  uint64_t swizzle = matrix->swizzle ? 4 - matrix->swizzle : 0;
  uint64_t upper = (uint64_t)(matrix->stride >> UNIT_BITS) | swizzle << SWIZZLE_SHIFT;
  LLVMValueRef low =
      LLVMBuildAdd(e->builder, first, emit_i32(e, (int64_t)(offset >> UNIT_BITS)), "");
  low = LLVMBuildZExt(e->builder, low, e->i64, "");
  return LLVMBuildOr(e->builder, low, LLVMConstInt(e->i64, upper << 32, false), "");
}

/* Words of an instruction's sums. */
static int words_of_sums(const product_step *p) {
  const dot_tiling *t = &p->tiling;
  return (int)((int64_t)t->columns << (t->operand[DOT_ACC].registers - p->value[DOT_ACC]->word) >>
               t->row->n);
}

static bool is_skipped(const dot_tiling *t, uint64_t out) {
  return t->skipped && (out & t->skipped) == t->skipped;
}

/* The last position of the result that there is. */
static uint64_t last_out(const dot_tiling *t) {
  uint64_t out = (1ull << t->n_out) - 1;
  while (is_skipped(t, out)) out--;
  return out;
}

/* A's words of an instruction in registers that nothing else has, so that they are there as long as
 * it is under way. */
static LLVMValueRef *held_words(const product_step *p, uint64_t out, uint64_t sum, int *n) {
  LLVMValueRef *words = words_of(p, DOT_A, out, sum, n);
  for (int i = 0; i < *n && p->step->parts; i++) words[i] = p->e->ops->opaque(p->e, words[i]);
  return words;
}

/* sums + made, of numbers of f32. */
static void add_sums(emitter *e, LLVMValueRef *sums, LLVMValueRef *made, int n) {
  LLVMTypeRef number = LLVMFloatTypeInContext(e->context);
  for (int i = 0; i < n; i++) {
    LLVMValueRef x = LLVMBuildBitCast(e->builder, sums[i], number, "");
    LLVMValueRef y = LLVMBuildBitCast(e->builder, made[i], number, "");
    sums[i] =
        LLVMBuildBitCast(e->builder, LLVMBuildFAdd(e->builder, x, y, ""), LLVMTypeOf(sums[i]), "");
  }
}

/* Those of `n` positions of the sum, from `begin` on, to position `out` of the result, from 0: a
 * commit group. A's words are made while the products before them are under way; those of words
 * that are there begin together. */
static void begin_fresh(const product_step *p, emit_group_product *group, const LLVMValueRef *first,
                        uint64_t out, uint64_t begin, uint64_t n) {
  emitter *e = p->e;
  const dot_tiling *t = &p->tiling;
  const bool makes_words = !t->shared[DOT_A] && (out == 0 || f2_apply(t->of_out[DOT_A], out) != 0);
  for (uint64_t sum = 0; sum < n; sum++) {
    if (!t->shared[DOT_A]) group->a[group->n] = words_of(p, DOT_A, out, begin + sum, &group->n_a);
    for (int o = 0; o < 2; o++)
      if (t->shared[o])
        group->descriptor[o][group->n] = descriptor_of(p, o, first[o], out, begin + sum);
    group->n++;
    group->last = sum + 1 == n;
    if (!group->last && group->n < EMIT_MAX_PRODUCTS && !makes_words) continue;
    group->from_zero = sum < (uint64_t)group->n;
    e->ops->group_product(e, group);
    group->n = 0;
  }
}

/* Products of all of the sum to each position of the result, from 0, of so many positions as sums
 * keep enough bits of (plan_dot_fresh); while one warpgroup adds what it has made to the sums of
 * all turns, the others' products go on, and its own of the positions behind. */
static void emit_fresh_products(const product_step *p) {
  emitter *e = p->e;
  const dot_tiling *t = &p->tiling;
  const uint64_t n = 1ull << plan_dot_fresh(t), all = 1ull << t->n_sum;
  LLVMValueRef made[2][EMIT_MAX_REGISTERS], first[2];
  emit_group_product group = {
      .row = t->row, .matrix = t->matrix, .columns = t->columns, .n_acc = words_of_sums(p)};
  for (int o = 0; o < 2; o++) first[o] = t->shared[o] ? first_descriptor(p, o) : NULL;
  for (uint64_t out = 0; out < 1ull << t->n_out; out++) {
    if (is_skipped(t, out)) continue;
    LLVMValueRef *sums =
        &p->words[DOT_ACC][f2_apply(t->of_out[DOT_ACC], out) >> p->value[DOT_ACC]->word];
    for (uint64_t begun = 0, done = 0; done < all; done += n) {
      for (; begun < all && begun <= done + n; begun += n) {
        group.acc = made[begun / n & 1];
        for (int i = 0; i < group.n_acc; i++) group.acc[i] = LLVMConstNull(LLVMTypeOf(sums[i]));
        begin_fresh(p, &group, first, out, begun, n);
      }
      group.acc = made[done / n & 1];
      e->ops->await_products(e, (int)((begun - done) / n) - 1, group.acc, group.n_acc);
      add_sums(e, sums, group.acc, group.n_acc);
    }
  }
}

/* Part `part` of two of the sum, a commit group. */
static void begin_part(const product_step *p, int part, LLVMValueRef *made) {
  const dot_tiling *t = &p->tiling;
  const uint64_t n = 1ull << plan_dot_fresh(t);
  LLVMValueRef first[2];
  emit_group_product group = {.row = t->row,
                              .matrix = t->matrix,
                              .columns = t->columns,
                              .acc = made,
                              .n_acc = words_of_sums(p)};
  for (int o = 0; o < 2; o++) first[o] = t->shared[o] ? first_descriptor(p, o) : NULL;
  for (int i = 0; i < group.n_acc; i++) made[i] = LLVMConstNull(LLVMTypeOf(p->words[DOT_ACC][i]));
  begin_fresh(p, &group, first, 0, (uint64_t)part * n, n);
}

static const plan_step *late_step(const emitter *e, int walk) {
  const plan_step *step = &e->kernel->step[walk];
  for (int i = 1; i <= step->body; i++)
    if (step[i].late_sums) return &step[i];
  return NULL;
}

static int late_words(const emitter *e, int walk) {
  const plan_step *step = late_step(e, walk);
  if (!step) return 0;
  product_step p = {.value[DOT_ACC] = &e->kernel->value[step->out]};
  return plan_dot_tiling(e->kernel, step, &p.tiling) == LLRT_OK ? words_of_sums(&p) : 0;
}

void emit_carry_late(emitter *e, int walk, LLVMBasicBlockRef before) {
  for (int i = 0; i < late_words(e, walk); i++) {
    LLVMValueRef none = LLVMConstNull(e->i32);
    e->late[i] = LLVMBuildPhi(e->builder, e->i32, "late");
    LLVMAddIncoming(e->late[i], &none, &before, 1);
  }
}

void emit_close_late(emitter *e, int walk, LLVMValueRef *carried, LLVMBasicBlockRef latch) {
  for (int i = 0; i < late_words(e, walk); i++) {
    LLVMAddIncoming(carried[i], &e->late[i], &latch, 1);
    e->late[i] = carried[i];
  }
}

void emit_join_late(emitter *e, int walk) {
  const int n = late_words(e, walk);
  if (n == 0) return;
  e->ops->await_products(e, 0, e->late, n);
  add_sums(e, e->value[e->kernel->step[walk].out], e->late, n);
}

/* Those of one position of the sum, or of all where nothing comes from registers; their A is there
 * before. */
static void emit_group_products(const product_step *p) {
  emitter *e = p->e;
  const dot_tiling *t = &p->tiling;
  uint64_t outs = 1ull << t->n_out, sums = 1ull << t->n_sum, last = last_out(t);
  LLVMValueRef first[2] = {NULL, NULL};
  emit_group_product made = {.row = t->row,
                             .matrix = t->matrix,
                             .acc = p->words[DOT_ACC],
                             .columns = t->columns,
                             .n_acc = words_of_sums(p)};
  for (int o = 0; o < 2; o++)
    if (t->shared[o]) first[o] = first_descriptor(p, o);
  for (uint64_t i = 0; i < outs * sums; i++) {
    uint64_t out = i % outs, sum = i / outs;
    if (is_skipped(t, out)) continue;
    made.to[made.n] = (int)(f2_apply(t->of_out[DOT_ACC], out) >> p->value[DOT_ACC]->word);
    if (p->step->parts && out == 0) e->ops->await_products(e, (int)sums - 1, NULL, 0);
    if (!t->shared[DOT_A]) made.a[made.n] = held_words(p, out, sum, &made.n_a);
    for (int o = 0; o < 2; o++)
      if (t->shared[o]) made.descriptor[o][made.n] = descriptor_of(p, o, first[o], out, sum);
    made.n++;
    made.last = out == last && (p->step->parts || sum + 1 == sums);
    bool full = made.n == EMIT_MAX_PRODUCTS || (!t->shared[DOT_A] && out == last);
    if (!made.last && !full) continue;
    e->ops->group_product(e, &made);
    made.n = 0;
  }
}

void emit_multiplied_step(emitter *e, const plan_step *step) {
  int n = step->turns ? 0 : emit_word_count(&e->kernel->value[step->out]);
  for (int i = 0; i < n; i++) e->value[step->out][i] = e->value[step->in][i];
  e->ops->await_products(e, step->turns, e->value[step->out], n);
}

/* false: the step multiplies nothing. Its sums are those before it, until something is added. */
static bool begin_step(emitter *e, const plan_step *step, product_step *p) {
  const int numbers[3] = {step->in, step->second, step->out};
  *p = (product_step){.e = e, .step = step};
  if (plan_dot_tiling(e->kernel, step, &p->tiling) != LLRT_OK) return false; /* verified before */
  for (int o = 0; o < 3; o++) {
    p->value[o] = &e->kernel->value[numbers[o]];
    p->words[o] = e->value[numbers[o]];
  }
  const plan_value *acc = p->value[DOT_ACC];
  int n_words = 1 << (plan_value_bits(acc, PLAN_REGISTER) - acc->word);
  memcpy(p->words[DOT_ACC], e->value[step->with], (size_t)n_words * sizeof(LLVMValueRef));
  return true;
}

void emit_late_begin(emitter *e, const plan_step *step) {
  product_step p;
  if (!begin_step(e, step, &p)) return;
  e->ops->meet_warp(e);
  e->ops->await_products(e, 0, e->late, words_of_sums(&p));
  begin_part(&p, 0, e->early);
}

void emit_late_end(emitter *e, const plan_step *step) {
  product_step p;
  emit_words made;
  if (!begin_step(e, step, &p)) return;
  const int n = words_of_sums(&p);
  add_sums(e, p.words[DOT_ACC], e->late, n);
  begin_part(&p, 1, made);
  e->ops->await_products(e, 1, e->early, n);
  add_sums(e, p.words[DOT_ACC], e->early, n);
  memcpy(e->late, made, (size_t)n * sizeof *made);
}

void emit_dot_step(emitter *e, const plan_step *step) {
  product_step p;
  if (!begin_step(e, step, &p)) return;
  if (p.tiling.row->family != DOT_FMA && e->ops->meet_warp) e->ops->meet_warp(e);
  if (p.tiling.row->family == DOT_WGMMA) {
    if (step->fresh_sums) emit_fresh_products(&p);
    else emit_group_products(&p);
    return;
  }
  for (uint64_t sum = 0; sum < 1ull << p.tiling.n_sum; sum++)
    for (uint64_t out = 0; out < 1ull << p.tiling.n_out; out++) {
      if (p.tiling.row->family == DOT_FMA) emit_multiply_add(&p, out, sum);
      else emit_matrix_product(&p, out, sum);
    }
}
