/* What functions of expressions are made of, of a number or a vector of them: each is one
 * operation, rounded once. Private to emit_function.c and emit_near.c. */
#ifndef LLRT_JIT_EMIT_FUNCTION_MAKER_H
#define LLRT_JIT_EMIT_FUNCTION_MAKER_H

#include "jit/emit/core/builder.h"

typedef struct maker {
  emitter *e;
  LLVMBuilderRef b;
  LLVMTypeRef real, integer; /* of x's shape; integers as wide */
  bool wide;                 /* f64 */
  bool near;                 /* f32, and the target has tables (emit_near.c) */
  bool moderate;             /* |x| is at most emit_function_moderate */
} maker;

static inline LLVMTypeRef shaped(LLVMTypeRef like, LLVMTypeRef scalar) {
  if (LLVMGetTypeKind(like) != LLVMVectorTypeKind) return scalar;
  return LLVMVectorType(scalar, LLVMGetVectorSize(like));
}

static inline maker maker_of(emitter *e, LLVMTypeRef like, bool wide) {
  LLVMTypeRef real =
      wide ? LLVMDoubleTypeInContext(e->context) : LLVMFloatTypeInContext(e->context);
  return (maker){.e = e,
                 .b = e->builder,
                 .real = shaped(like, real),
                 .integer = shaped(like, wide ? e->i64 : e->i32),
                 .wide = wide,
                 .near = !wide && e->ops->table_exp2};
}

static inline LLVMValueRef number(const maker *m, double x) {
  LLVMValueRef lanes[EMIT_MAX_LANES];
  if (LLVMGetTypeKind(m->real) != LLVMVectorTypeKind) return LLVMConstReal(m->real, x);
  unsigned n = LLVMGetVectorSize(m->real);
  for (unsigned i = 0; i < n; i++) lanes[i] = LLVMConstReal(LLVMGetElementType(m->real), x);
  return LLVMConstVector(lanes, n);
}

static inline LLVMValueRef whole(const maker *m, int64_t x) {
  return emit_splat(m->integer, (uint64_t)x);
}
static inline LLVMValueRef add(const maker *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(m->b, a, b, "");
}
static inline LLVMValueRef sub(const maker *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFSub(m->b, a, b, "");
}
static inline LLVMValueRef mul(const maker *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(m->b, a, b, "");
}
/* a b + c, rounded once. */
static inline LLVMValueRef fma_of(const maker *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMValueRef args[3] = {a, b, c};
  LLVMTypeRef type = m->real;
  return emit_intrinsic(m->e, "llvm.fma", &type, 1, args, 3);
}
static inline LLVMValueRef negative(const maker *m, LLVMValueRef x) {
  return LLVMBuildFNeg(m->b, x, "");
}
static inline LLVMValueRef quotient(const maker *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFDiv(m->b, a, b, "");
}
static inline LLVMValueRef choose(const maker *m, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(m->b, c, a, b, "");
}
static inline LLVMValueRef less(const maker *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFCmp(m->b, LLVMRealOLT, a, b, "");
}
static inline LLVMValueRef code_of(const maker *m, LLVMValueRef x) {
  return LLVMBuildBitCast(m->b, x, m->integer, "");
}
static inline LLVMValueRef of_code(const maker *m, LLVMValueRef code) {
  return LLVMBuildBitCast(m->b, code, m->real, "");
}
static inline LLVMValueRef size_of(const maker *m, LLVMValueRef x) {
  return of_code(m,
                 LLVMBuildAnd(m->b, code_of(m, x), whole(m, m->wide ? INT64_MAX : 0x7FFFFFFF), ""));
}

/* c[0] + c[1] x + …, from the highest power down. */
static inline LLVMValueRef polynomial(const maker *m, LLVMValueRef x, const double *c, int n) {
  LLVMValueRef sum = number(m, c[n - 1]);
  for (int i = n - 2; i >= 0; i--) sum = fma_of(m, sum, x, number(m, c[i]));
  return sum;
}

/* x, but no more than `most` and no less than `least`; NaN stays. */
static inline LLVMValueRef limited(const maker *m, LLVMValueRef x, double least, double most) {
  x = choose(m, less(m, x, number(m, least)), number(m, least), x);
  return choose(m, less(m, number(m, most), x), number(m, most), x);
}

/* ---- emit_near.c: by a GPU's tables of 2^x and 1/x; m->near ---- */

/* e^x and 2^x, any x. */
LLVMValueRef near_exp(const maker *m, LLVMValueRef x);
LLVMValueRef near_exp2(const maker *m, LLVMValueRef x);
LLVMValueRef near_exp_added(const maker *m, LLVMValueRef x);
/* 2^x, -1 <= x <= 1: the table's. */
LLVMValueRef near_power(const maker *m, LLVMValueRef x);
/* 1 / x, 1 <= x <= 4, within 0.6 units of the last place. */
LLVMValueRef near_inverse(const maker *m, LLVMValueRef x);
/* a / x, 1 <= x <= 4, 2^-100 <= |a| <= 2^100 or 0, rounded correctly. */
LLVMValueRef near_quotient(const maker *m, LLVMValueRef a, LLVMValueRef x);

#endif
