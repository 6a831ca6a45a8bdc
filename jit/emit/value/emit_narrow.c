/* Functions whose values are rounded to 16 bits or fewer alone (expression/program_narrow.h): a
 * GPU's tables of 2^x and 1/x as they are, where the others' corrections would be rounded away. */
#include "jit/emit/value/emit_function.h"

#include "expression/operators.h"
#include "jit/emit/value/function_maker.h"

#define LOG2_E 1.4426950408889634

static LLVMValueRef larger(const maker *m, LLVMValueRef x, double least, bool keeps_nan) {
  LLVMTypeRef type = m->real;
  LLVMValueRef args[2] = {x, number(m, least)};
  return emit_intrinsic(m->e, keeps_nan ? "llvm.maximum" : "llvm.maxnum", &type, 1, args, 2);
}

static LLVMValueRef table_inverse(const maker *m, LLVMValueRef x) {
  return m->e->ops->table_rcp(m->e, x);
}

/* 1 / (1 + 2^(-x log2(e))), of NaN NaN. */
static LLVMValueRef narrow_sigmoid(const maker *m, LLVMValueRef x) {
  LLVMValueRef power = near_power(m, mul(m, x, number(m, -LOG2_E)));
  return table_inverse(m, add(m, power, number(m, 1)));
}

/* Below LEAST_SILU the sigmoid is 0, and so is the product, of -infinity too. */
#define LEAST_SILU (-128)

static LLVMValueRef narrow_silu(const maker *m, LLVMValueRef x) {
  return mul(m, larger(m, x, LEAST_SILU, false), narrow_sigmoid(m, x));
}

/* From MOST_Z on z q(z) is below 2^-116. */
#define MOST_Z 12.6
#define MIDDLE_Z 5

/* max(x, 0) - z q(z), z = |x|, q(z) = (1 - erf(z / sqrt 2)) / 2 = 2^p(z - MIDDLE_Z); p errs by
 * 2^-16.2, its evaluation by another 2^-16. */
static LLVMValueRef narrow_gelu(const maker *m, LLVMValueRef x) {
  static const double p[] = {-21.734211,     -7.48251963,     -0.697742522,   -0.00261601922,
                             0.000301943655, -3.41731393e-05, 4.39841187e-06, -6.08612709e-07,
                             5.65253337e-08, -2.20044427e-09};
  LLVMTypeRef type = m->real;
  LLVMValueRef size = emit_intrinsic(m->e, "llvm.fabs", &type, 1, &x, 1);
  LLVMValueRef args[2] = {size, number(m, MOST_Z)};
  LLVMValueRef z = emit_intrinsic(m->e, "llvm.minnum", &type, 1, args, 2);
  LLVMValueRef w = sub(m, z, number(m, MIDDLE_Z));
  LLVMValueRef q = near_power(m, polynomial(m, w, p, sizeof p / sizeof *p));
  return fma_of(m, negative(m, z), q, larger(m, x, -0.0, true));
}

static maker narrow_maker(emitter *e, LLVMValueRef x, bool *has) {
  LLVMTypeRef type = LLVMTypeOf(x);
  maker m = maker_of(e, type, false);
  *has = m.near && LLVMGetTypeKind(type) == LLVMFloatTypeKind;
  return m;
}

LLVMValueRef emit_narrow_function(emitter *e, int op, LLVMValueRef x) {
  bool has;
  maker m = narrow_maker(e, x, &has);
  if (!has) return NULL;
  switch (op) {
  case EXPR_EXP: return near_power(&m, mul(&m, x, number(&m, LOG2_E)));
  case EXPR_EXP2: return near_power(&m, x);
  case EXPR_SIGMOID: return narrow_sigmoid(&m, x);
  case EXPR_SILU: return narrow_silu(&m, x);
  case EXPR_GELU: return narrow_gelu(&m, x);
  default: return NULL;
  }
}

LLVMValueRef emit_narrow_inverse(emitter *e, LLVMValueRef y) {
  bool has;
  maker m = narrow_maker(e, y, &has);
  return has ? table_inverse(&m, y) : NULL;
}
