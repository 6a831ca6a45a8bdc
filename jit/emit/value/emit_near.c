/* Functions of f32 by tables of 2^x and 1/x that a GPU has as instructions: fewer operations than
 * those of emit_function.c, and no two ways for small and large numbers. What the tables give is
 * the same in all threads, and no other target's. */
#include "jit/emit/value/function_maker.h"

/* From here on the codes of f32 follow each other by 1. */
#define MAGIC 0x1.8p23
#define BIAS 127
#define MOST_POWER 126
#define LOG2_E 1.4426950408889634
#define LEAST_ADDED -104 /* its power is below 2^-149 */

/* Of x factor the nearest whole number n, as far as n + shift lies within MOST_POWER of 0: -n and
 * 2^(n + shift). */
typedef struct parts {
  LLVMValueRef minus, power;
} parts;

/* A share of 252 is a whole number between 0 and 252, and that behind MAGIC + 1 the exponent of the
 * power; what is beyond is limited on the way. */
static parts parts_of(const maker *m, LLVMValueRef x, double factor, int shift) {
  const double steps = 2 * MOST_POWER;
  parts p;
  LLVMValueRef share = m->e->ops->unit_share(m->e, x, (float)(factor / steps),
                                             (float)((MOST_POWER + shift) / steps));
  LLVMValueRef moved = fma_of(m, share, number(m, steps), number(m, MAGIC + BIAS - MOST_POWER));
  p.power = of_code(m, LLVMBuildShl(m->b, code_of(m, moved), whole(m, 23), ""));
  p.minus = sub(m, number(m, MAGIC + BIAS + shift), moved);
  return p;
}

/* x log2(e) - n, the factor in two parts. */
static LLVMValueRef rest_of(const maker *m, LLVMValueRef x, const parts *p) {
  LLVMValueRef r = fma_of(m, x, number(m, 1.44269502162933349609), p->minus);
  return fma_of(m, x, number(m, 1.925963033500011079e-8), r);
}

LLVMValueRef near_power(const maker *m, LLVMValueRef x) { return m->e->ops->table_exp2(m->e, x); }

/* e^x, x at most 0, as what it adds to 1: below 2^-126 it is 0, and of small powers, 2^t with t = x
 * log2(e) rounded, the last places are open, because ln 2 has one part in x - t ln 2. */
LLVMValueRef near_exp_added(const maker *m, LLVMValueRef x) {
  LLVMTypeRef type = m->real;
  LLVMValueRef limited[2] = {x, number(m, LEAST_ADDED)};
  x = emit_intrinsic(m->e, "llvm.maximum", &type, 1, limited, 2);
  LLVMValueRef t = mul(m, x, number(m, LOG2_E)), y = near_power(m, t);
  return fma_of(m, y, fma_of(m, t, number(m, -0.6931471805599453), x), y);
}

/* A product with 2^n is exact, or rounds what is subnormal once. */
LLVMValueRef near_exp(const maker *m, LLVMValueRef x) {
  parts p = parts_of(m, x, LOG2_E, 0);
  return mul(m, near_power(m, rest_of(m, x, &p)), p.power);
}

LLVMValueRef near_exp2(const maker *m, LLVMValueRef x) {
  parts p = parts_of(m, x, 1, 0);
  return mul(m, near_power(m, add(m, x, p.minus)), p.power);
}

LLVMValueRef near_inverse(const maker *m, LLVMValueRef x) {
  LLVMValueRef y = m->e->ops->table_rcp(m->e, x);
  return fma_of(m, y, fma_of(m, negative(m, x), y, number(m, 1)), y);
}

/* As Markstein 1990: each correction is exact. */
LLVMValueRef near_quotient(const maker *m, LLVMValueRef a, LLVMValueRef x) {
  LLVMValueRef y = near_inverse(m, x), q = mul(m, a, y), back = negative(m, x);
  for (int i = 0; i < 2; i++) q = fma_of(m, fma_of(m, back, q, a), y, q);
  return q;
}
