/* Quotients and roots of numbers, rounded correctly. On GPUs of NVIDIA they are made of tables and
 * fma: the instructions for them (div.rn, rcp.rn, sqrt.rn) are routines with branches that the
 * driver's compiler takes 2 to 6 ms for, and longer than for the rest of a small kernel. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_function.h"

#include <math.h>

static LLVMTypeRef f32(const emitter *e) { return LLVMFloatTypeInContext(e->context); }
static LLVMTypeRef f64(const emitter *e) { return LLVMDoubleTypeInContext(e->context); }

static LLVMValueRef multiply_add(const emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef args[3] = {a, b, c};
  return emit_intrinsic(e, "llvm.fma", &type, 1, args, 3);
}

/* `near`, but where it is NaN `otherwise`. */
static LLVMValueRef unless_nan(const emitter *e, LLVMValueRef near, LLVMValueRef otherwise) {
  LLVMValueRef none = LLVMBuildFCmp(e->builder, LLVMRealUNO, near, near, "");
  return LLVMBuildSelect(e->builder, none, otherwise, near, "");
}

/* y + y (1 - x y), y around 1 / x: twice as many bits. */
static LLVMValueRef nearer(const emitter *e, LLVMValueRef minus_x, LLVMValueRef y) {
  LLVMValueRef one = LLVMConstReal(LLVMTypeOf(y), 1);
  return multiply_add(e, y, multiply_add(e, minus_x, y, one), y);
}

/* In f64, which holds all quotients of f32 with 29 bits to spare: those of which one is not within
 * half of the last place are 2^-49 and more away from the middle of two f32, or exactly there, and
 * then a number of f64. The table has 20 bits; two steps double them twice, and the quotient's own
 * step rounds it correctly (Markstein 1990). Where that is NaN or 0 for a 0 or an infinity, the
 * product with the table's number is the quotient, with its sign. */
static LLVMValueRef wide_quotient(emitter *e, LLVMValueRef a, LLVMValueRef x) {
  LLVMBuilderRef b = e->builder;
  a = LLVMBuildFPExt(b, a, f64(e), "");
  x = LLVMBuildFPExt(b, x, f64(e), "");
  LLVMValueRef minus = LLVMBuildFNeg(b, x, ""), table, y;
  if (LLVMIsAConstantFP(x)) {
    LLVMBool exact;
    y = table = LLVMConstReal(f64(e), 1 / LLVMConstRealGetDouble(x, &exact));
  } else {
    table = e->ops->table_rcp_wide(e, x);
    y = nearer(e, minus, nearer(e, minus, table));
  }
  LLVMValueRef q = LLVMBuildFMul(b, a, y, "");
  q = multiply_add(e, multiply_add(e, minus, q, a), y, q);
  LLVMValueRef ends = LLVMBuildFCmp(b, LLVMRealUEQ, q, LLVMConstReal(f64(e), 0), "");
  q = LLVMBuildSelect(b, ends, LLVMBuildFMul(b, a, table, ""), q, "");
  return LLVMBuildFPTrunc(b, q, f32(e), "");
}

/* Whether x is a constant power of two whose inverse is a normal f32: a product with that is
 * rounded as the quotient is. */
static bool has_exact_inverse(LLVMValueRef x, double *inverse) {
  LLVMBool exact;
  int exponent;
  if (!LLVMIsAConstantFP(x)) return false;
  *inverse = 1 / LLVMConstRealGetDouble(x, &exact);
  return frexp(*inverse, &exponent) == 0.5 && exponent > -125 && exponent < 128;
}

LLVMValueRef emit_quotient(emitter *e, LLVMValueRef a, LLVMValueRef x) {
  double inverse;
  bool table = e->ops->table_rcp_wide && LLVMTypeOf(a) == f32(e);
  if (table && has_exact_inverse(x, &inverse))
    return LLVMBuildFMul(e->builder, a, LLVMConstReal(f32(e), inverse), "");
  if (table) return wide_quotient(e, a, x);
  return LLVMBuildFDiv(e->builder, a, x, "");
}

LLVMValueRef emit_moderate_inverse(emitter *e, LLVMValueRef x) {
  if (e->ops->table_rcp && LLVMTypeOf(x) == f32(e))
    return nearer(e, LLVMBuildFNeg(e->builder, x, ""), e->ops->table_rcp(e, x));
  return LLVMBuildFDiv(e->builder, LLVMConstReal(LLVMTypeOf(x), 1), x, "");
}

LLVMValueRef emit_finite_inverse(emitter *e, LLVMValueRef x) {
  if (!e->ops->table_rcp || LLVMTypeOf(x) != f32(e)) return emit_moderate_inverse(e, x);
  LLVMValueRef table = e->ops->table_rcp(e, x);
  return unless_nan(e, nearer(e, LLVMBuildFNeg(e->builder, x, ""), table), table);
}

/* Whether x is a constant from 1 to 2^24 of no more than 16 significant bits. */
static bool is_short_constant(LLVMValueRef x) {
  LLVMBool exact;
  int exponent;
  if (!LLVMIsAConstantFP(x)) return false;
  double number = LLVMConstRealGetDouble(x, &exact), bits = ldexp(frexp(number, &exponent), 16);
  return number >= 1 && number <= 0x1p24 && bits == floor(bits);
}

/* Of 2^-60 and more by such a constant. q and its rest r - q x miss the quotient by no more than
 * 2^-23 of a last place together, and no quotient that is not there itself lies within 2^-17 of
 * the middle of two numbers. Of infinity the rest is NaN. */
static LLVMValueRef quotient_by_constant(const emitter *e, LLVMValueRef a, LLVMValueRef x) {
  LLVMBool exact;
  LLVMValueRef inverse = LLVMConstReal(f32(e), 1 / LLVMConstRealGetDouble(x, &exact));
  LLVMValueRef q = LLVMBuildFMul(e->builder, a, inverse, "");
  LLVMValueRef rest = multiply_add(e, LLVMBuildFNeg(e->builder, x, ""), q, a);
  return unless_nan(e, multiply_add(e, rest, inverse, q), q);
}

static bool is_one(LLVMValueRef x) {
  LLVMBool exact;
  return LLVMIsAConstantFP(x) && LLVMConstRealGetDouble(x, &exact) == 1;
}

LLVMValueRef emit_known_quotient(emitter *e, LLVMValueRef a, LLVMValueRef x, bool least,
                                 bool moderate) {
  double inverse;
  if (!e->ops->table_rcp || LLVMTypeOf(a) != f32(e) || has_exact_inverse(x, &inverse))
    return emit_quotient(e, a, x);
  if (least && is_short_constant(x)) return quotient_by_constant(e, a, x);
  return moderate && is_one(a) ? emit_finite_inverse(e, x) : emit_quotient(e, a, x);
}

/* Below this numbers are made larger by 2^64 first, so that no remainder is subnormal. */
#define LEAST 0x1p-90

/* g + (x - g^2) h with g = x y and h = y / 2, y the table's 1 / sqrt x: rounded correctly, as the
 * remainder is exact. Of 0 and infinity, which are their own roots, y is the other, and so is h. */
static LLVMValueRef near_root(emitter *e, LLVMValueRef x) {
  LLVMBuilderRef b = e->builder;
  LLVMTypeRef type = f32(e);
  LLVMValueRef half = LLVMConstReal(type, 0.5), one = LLVMConstReal(type, 1);
  LLVMValueRef small = LLVMBuildFCmp(b, LLVMRealOLT, x, LLVMConstReal(type, LEAST), "");
  LLVMValueRef up = LLVMBuildSelect(b, small, LLVMConstReal(type, 0x1p64), one, "");
  LLVMValueRef down = LLVMBuildSelect(b, small, LLVMConstReal(type, 0x1p-32), one, "");
  LLVMValueRef large = LLVMBuildFMul(b, x, up, ""), y = e->ops->table_rsqrt(e, large);
  LLVMValueRef g = LLVMBuildFMul(b, large, y, ""), h = LLVMBuildFMul(b, y, half, "");
  LLVMValueRef rest = multiply_add(e, LLVMBuildFNeg(b, g, ""), g, large);
  LLVMValueRef root = LLVMBuildFMul(b, multiply_add(e, rest, h, g), down, "");
  LLVMValueRef same = LLVMBuildFCmp(b, LLVMRealOEQ, h, y, "");
  return LLVMBuildSelect(b, same, x, root, "");
}

LLVMValueRef emit_root(emitter *e, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  if (e->ops->table_rsqrt && type == f32(e)) return near_root(e, x);
  return emit_intrinsic(e, "llvm.sqrt", &type, 1, &x, 1);
}
