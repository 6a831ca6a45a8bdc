/* Activations of results, without the target's library: exponentials by powers of two and a
 * polynomial, reciprocals by Newton's steps, erf by a rational approximation. A factor is made in
 * f32, to 2^-20. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include <math.h>
#include <string.h>

/* Beyond these exp(-x), (1 + erf(-x / sqrt 2)) / 2 are below the least normal number of f32. */
#define EXP_LIMIT 87
#define GELU_LIMIT 13

LLVMTypeRef emit_number_type(const emitter *e, llrt_dtype type, LLVMTypeRef like) {
  LLVMTypeRef scalar =
      type == LLRT_F64 ? LLVMDoubleTypeInContext(e->context) : LLVMFloatTypeInContext(e->context);
  if (LLVMGetTypeKind(like) != LLVMVectorTypeKind) return scalar;
  return LLVMVectorType(scalar, LLVMGetVectorSize(like));
}

/* x in every lane of a type of numbers. */
static LLVMValueRef number(LLVMTypeRef type, double x) {
  LLVMValueRef lanes[EMIT_MAX_LANES];
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return LLVMConstReal(type, x);
  unsigned n = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < n; i++) lanes[i] = LLVMConstReal(LLVMGetElementType(type), x);
  return LLVMConstVector(lanes, n);
}

typedef struct maker {
  emitter *e;
  LLVMTypeRef type, integers; /* f32 and i32, in lanes */
} maker;

static LLVMValueRef multiply(const maker *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(m->e->builder, a, b, "");
}

static LLVMValueRef add(const maker *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(m->e->builder, a, b, "");
}

static LLVMValueRef polynomial(const maker *m, LLVMValueRef x, const double *c, int n) {
  LLVMValueRef sum = number(m->type, c[n - 1]);
  for (int i = n - 2; i >= 0; i--) sum = add(m, multiply(m, sum, x), number(m->type, c[i]));
  return sum;
}

static LLVMValueRef limited(const maker *m, LLVMValueRef x, double low, double high) {
  LLVMBuilderRef b = m->e->builder;
  LLVMValueRef least = number(m->type, low), most = number(m->type, high);
  x = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, x, least, ""), x, least, "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, x, most, ""), x, most, "");
}

/* exp(x), |x| <= 87: 2^n by its code, times Taylor's polynomial of the rest, which is at most ln 2
 * / 2. */
static LLVMValueRef exponential(const maker *m, LLVMValueRef x) {
  static const double taylor[] = {1, 1, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720};
  LLVMBuilderRef b = m->e->builder;
  x = limited(m, x, -EXP_LIMIT, EXP_LIMIT);
  LLVMValueRef bias = number(m->type, 128.5);
  LLVMValueRef n = add(m, multiply(m, x, number(m->type, 1.4426950408889634)),
                       bias); /* positive: cut is floor */
  n = LLVMBuildFPToSI(b, n, m->integers, "");
  n = LLVMBuildSub(b, n, emit_splat(m->integers, 128), "");
  LLVMValueRef whole = LLVMBuildSIToFP(b, n, m->type, "");
  LLVMValueRef rest = add(m, x, multiply(m, whole, number(m->type, -0.693359375)));
  rest = add(m, rest, multiply(m, whole, number(m->type, 2.12194440e-4)));
  LLVMValueRef power = LLVMBuildShl(b, LLVMBuildAdd(b, n, emit_splat(m->integers, 127), ""),
                                    emit_splat(m->integers, 23), "");
  return multiply(m, LLVMBuildBitCast(b, power, m->type, ""), polynomial(m, rest, taylor, 7));
}

/* 1 / x of a positive number: a guess from its code (within 13 %), then Newton's steps. */
static LLVMValueRef reciprocal(const maker *m, LLVMValueRef x) {
  LLVMBuilderRef b = m->e->builder;
  LLVMValueRef code = LLVMBuildBitCast(b, x, m->integers, "");
  LLVMValueRef y = LLVMBuildSub(b, emit_splat(m->integers, 0x7EF311C7), code, "");
  y = LLVMBuildBitCast(b, y, m->type, "");
  for (int i = 0; i < 3; i++) {
    LLVMValueRef error = LLVMBuildFSub(b, number(m->type, 2), multiply(m, x, y), "");
    y = multiply(m, y, error);
  }
  return y;
}

static LLVMValueRef sigmoid(const maker *m, LLVMValueRef x) {
  LLVMValueRef other = exponential(m, LLVMBuildFNeg(m->e->builder, x, ""));
  return reciprocal(m, add(m, other, number(m->type, 1)));
}

/* (1 + erf(x / sqrt 2)) / 2; erf by Abramowitz and Stegun 7.1.26, to 1.5e-7. */
static LLVMValueRef normal(const maker *m, LLVMValueRef x) {
  static const double c[] = {0, 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429};
  LLVMBuilderRef b = m->e->builder;
  LLVMValueRef zero = number(m->type, 0);
  LLVMValueRef negative = LLVMBuildFCmp(b, LLVMRealOLT, x, zero, "");
  LLVMValueRef z =
      multiply(m, limited(m, x, -GELU_LIMIT, GELU_LIMIT), number(m->type, 0.70710678118654752));
  LLVMValueRef size = LLVMBuildSelect(b, negative, LLVMBuildFNeg(b, z, ""), z, "");
  LLVMValueRef t =
      reciprocal(m, add(m, multiply(m, size, number(m->type, 0.3275911)), number(m->type, 1)));
  LLVMValueRef tail = exponential(m, LLVMBuildFNeg(b, multiply(m, size, size), ""));
  tail = multiply(m, multiply(m, polynomial(m, t, c, 6), tail), number(m->type, 0.5));
  return LLVMBuildSelect(b, negative, tail, LLVMBuildFSub(b, number(m->type, 1), tail, ""), "");
}

static LLVMValueRef constant_of(LLVMTypeRef type, const plan_map *map) {
  double wide;
  float narrow;
  memcpy(&wide, &map->constant, sizeof wide);
  memcpy(&narrow, &map->constant, sizeof narrow);
  return number(type, map->from == LLRT_F64 ? wide : narrow);
}

/* The argument's number in every lane of x's type. */
static LLVMValueRef factor_of(emitter *e, const plan_map *map, LLVMTypeRef type) {
  LLVMBuilderRef b = e->builder;
  LLVMValueRef code = emit_number(e, &(plan_number){.arg = map->arg - 1});
  LLVMTypeRef scalar =
      LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
  if (map->from != LLRT_F64) code = LLVMBuildTrunc(b, code, e->i32, "");
  LLVMValueRef one = LLVMBuildBitCast(b, code, scalar, "");
  if (scalar == type) return one;
  LLVMValueRef lanes = LLVMGetUndef(type);
  for (unsigned i = 0; i < LLVMGetVectorSize(type); i++)
    lanes = LLVMBuildInsertElement(b, lanes, one, LLVMConstInt(e->i32, i, false), "");
  return lanes;
}

/* By an argument: 0 makes 0 of NaN and infinities as well. */
static LLVMValueRef times_argument(emitter *e, const plan_map *map, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef by = factor_of(e, map, type), zero = number(type, 0);
  LLVMValueRef none = LLVMBuildFCmp(e->builder, LLVMRealOEQ, by, zero, "");
  return LLVMBuildSelect(e->builder, none, zero, LLVMBuildFMul(e->builder, x, by, ""), "");
}

LLVMValueRef emit_activation(emitter *e, const plan_map *map, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x), like = type;
  LLVMBuilderRef b = e->builder;
  if (map->arg) return times_argument(e, map, x);
  if (map->kind == PLAN_MAP_MULTIPLY) return LLVMBuildFMul(b, x, constant_of(type, map), "");
  if (map->kind == PLAN_MAP_RELU) {
    LLVMValueRef less = LLVMBuildFCmp(b, LLVMRealOLT, x, number(type, 0), "");
    return LLVMBuildSelect(b, less, number(type, 0), x, "");
  }
  maker m = {.e = e, .type = emit_number_type(e, LLRT_F32, like), .integers = e->i32};
  if (LLVMGetTypeKind(like) == LLVMVectorTypeKind)
    m.integers = LLVMVectorType(e->i32, LLVMGetVectorSize(like));
  LLVMValueRef narrow = x;
  if (map->from == LLRT_F64) narrow = LLVMBuildFPTrunc(b, x, m.type, "");
  bool gelu = map->kind == PLAN_MAP_GELU;
  LLVMValueRef factor = gelu ? normal(&m, narrow) : sigmoid(&m, narrow);
  LLVMValueRef none =
      LLVMBuildFCmp(b, LLVMRealOLT, narrow, number(m.type, gelu ? -GELU_LIMIT : -EXP_LIMIT), "");
  factor = LLVMBuildSelect(b, none, number(m.type, 0), factor, ""); /* infinity times 0 is NaN */
  if (map->from == LLRT_F64) factor = LLVMBuildFPExt(b, factor, type, "");
  return LLVMBuildFMul(b, x, factor, "");
}
