/* PLAN_DOT: instructions of the target over the operands' words, or multiply-adds of each lane. Must agree with
 * jit/plan/dot_eval.c. */
#include "jit/emit/builder.h"

#include "base/bits.h"
#include "jit/plan/dot_tiling.h"

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
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind) return x;
  LLVMValueRef one = LLVMBuildInsertElement(e->builder, LLVMGetUndef(type), x, emit_i32(e, 0), "");
  LLVMTypeRef numbers = LLVMVectorType(e->i32, LLVMGetVectorSize(type));
  return LLVMBuildShuffleVector(e->builder, one, LLVMGetUndef(type), LLVMConstNull(numbers), "");
}

/* GPUs round once; so does the host where its processor can. */
static LLVMValueRef multiply_add(emitter *e, llrt_dtype type, LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc) {
  LLVMTypeRef codes = LLVMTypeOf(acc);
  LLVMValueRef args[] = {in_lanes(e, a, codes), in_lanes(e, b, codes), acc};
  if (type != LLRT_F32 && type != LLRT_F64)
    return LLVMBuildAdd(e->builder, LLVMBuildMul(e->builder, args[0], args[1], ""), acc, "");
  LLVMTypeRef numbers = emit_number_type(e, type, codes);
  for (int i = 0; i < 3; i++) args[i] = LLVMBuildBitCast(e->builder, args[i], numbers, "");
  const char *name = emit_is_host(e) ? "llvm.fmuladd" : "llvm.fma";
  return LLVMBuildBitCast(e->builder, emit_intrinsic(e, name, &numbers, 1, args, 3), codes, "");
}

static void emit_multiply_add(const product_step *p, uint64_t out, uint64_t sum) {
  int n;
  LLVMValueRef a = *words_of(p, DOT_A, out, sum, &n), b = *words_of(p, DOT_B, out, sum, &n);
  LLVMValueRef *acc = words_of(p, DOT_ACC, out, 0, &n);
  *acc = multiply_add(p->e, (llrt_dtype)p->tiling.row->acc, a, b, *acc);
}

void emit_dot_step(emitter *e, const plan_step *step) {
  const int numbers[3] = {step->in, step->second, step->out};
  product_step p = {.e = e, .step = step};
  if (plan_dot_tiling(e->kernel, step, &p.tiling) != LLRT_OK) return; /* verified before */
  for (int o = 0; o < 3; o++) {
    p.value[o] = &e->kernel->value[numbers[o]];
    p.words[o] = e->value[numbers[o]];
  }
  const plan_value *acc = p.value[DOT_ACC];
  int n_words = 1 << (plan_value_bits(acc, PLAN_REGISTER) - acc->word);
  memcpy(p.words[DOT_ACC], e->value[step->with], (size_t)n_words * sizeof(LLVMValueRef));
  if (p.tiling.row->family != DOT_FMA && e->ops->meet_warp) e->ops->meet_warp(e);
  for (uint64_t sum = 0; sum < 1ull << p.tiling.n_sum; sum++)
    for (uint64_t out = 0; out < 1ull << p.tiling.n_out; out++) {
      if (p.tiling.row->family == DOT_FMA) emit_multiply_add(&p, out, sum);
      else emit_matrix_product(&p, out, sum);
    }
}
