/* Sine and cosine of f32, whatever the size of x: quadrants are counted in integers by 192 bits of
 * 2 / pi, so that what is left of x has all of its bits. See emit_function.h. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_function.h"

#include "expression/operators.h"

/* Types of x's shape. */
typedef struct shapes {
  emitter *e;
  LLVMBuilderRef b;
  LLVMTypeRef f32, f64, i32, i64;
} shapes;

static LLVMTypeRef shaped(LLVMTypeRef like, LLVMTypeRef scalar) {
  if (LLVMGetTypeKind(like) != LLVMVectorTypeKind) return scalar;
  return LLVMVectorType(scalar, LLVMGetVectorSize(like));
}

static LLVMValueRef whole(LLVMTypeRef type, uint64_t x) { return emit_splat(type, x); }

static LLVMValueRef real(LLVMTypeRef type, double x) {
  LLVMTypeRef scalar =
      LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
  LLVMValueRef lanes[EMIT_MAX_LANES], one = LLVMConstReal(scalar, x);
  if (type == scalar) return one;
  unsigned n = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < n; i++) lanes[i] = one;
  return LLVMConstVector(lanes, n);
}

static LLVMValueRef fma_of(const shapes *s, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMValueRef args[3] = {a, b, c};
  LLVMTypeRef type = s->f32;
  return emit_intrinsic(s->e, "llvm.fma", &type, 1, args, 3);
}

/* ---- quadrants ---- */

/* The bits of 2 / pi behind 32 zeros. */
static const uint32_t two_over_pi[8] = {0,          0xA2F9836E, 0x4E441529, 0xFC2757D1,
                                        0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB};

/* Word at + i of those, `at` 0 to 4. */
static LLVMValueRef word_of(const shapes *s, LLVMValueRef at, int i) {
  LLVMValueRef word = whole(s->i32, two_over_pi[i]);
  for (uint64_t from = 1; from < 5; from++) {
    LLVMValueRef past = LLVMBuildICmp(s->b, LLVMIntUGE, at, whole(s->i32, from), "");
    word = LLVMBuildSelect(s->b, past, whole(s->i32, two_over_pi[(uint64_t)i + from]), word, "");
  }
  return word;
}

static LLVMValueRef wide_product(const shapes *s, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildMul(s->b, LLVMBuildZExt(s->b, a, s->i64, ""), LLVMBuildZExt(s->b, b, s->i64, ""),
                      "");
}

/* |x| times 2 / pi modulo 4, as 2 bits and 62 behind the point: x is m 2^(e - 150), and of 2 / pi
 * the bits count from the one of weight 2^(151 - e) on, 96 of them. e: at least 126. */
static LLVMValueRef quarter_turns(const shapes *s, LLVMValueRef m, LLVMValueRef e) {
  LLVMValueRef first = LLVMBuildSub(s->b, e, whole(s->i32, 120), ""), word[4], part[3];
  LLVMValueRef at = LLVMBuildLShr(s->b, first, whole(s->i32, 5), "");
  LLVMValueRef bits = LLVMBuildAnd(s->b, first, whole(s->i32, 31), "");
  LLVMTypeRef type = s->i32;
  for (int i = 0; i < 4; i++) word[i] = word_of(s, at, i);
  for (int i = 0; i < 3; i++) {
    LLVMValueRef args[3] = {word[i], word[i + 1], bits};
    part[i] = wide_product(s, m, emit_intrinsic(s->e, "llvm.fshl", &type, 1, args, 3));
  }
  LLVMValueRef half = whole(s->i64, 32), low = LLVMBuildLShr(s->b, part[2], half, "");
  LLVMValueRef middle = LLVMBuildAdd(s->b, part[1], low, "");
  return LLVMBuildAdd(s->b, LLVMBuildShl(s->b, part[0], half, ""), middle, "");
}

/* |x| = *rest + *quadrant pi / 2, |*rest| <= pi / 4 and a little, quadrants modulo 4. */
static void reduce(const shapes *s, LLVMValueRef code, LLVMValueRef *rest, LLVMValueRef *quadrant) {
  LLVMValueRef size = LLVMBuildAnd(s->b, code, whole(s->i32, 0x7FFFFFFF), "");
  LLVMValueRef e = LLVMBuildLShr(s->b, size, whole(s->i32, 23), "");
  LLVMValueRef small = LLVMBuildICmp(s->b, LLVMIntULT, e, whole(s->i32, 126), "");
  LLVMValueRef m = LLVMBuildAnd(s->b, size, whole(s->i32, 0x7FFFFF), "");
  m = LLVMBuildOr(s->b, m, whole(s->i32, 0x800000), "");
  e = LLVMBuildSelect(s->b, small, whole(s->i32, 126), e, "");
  LLVMValueRef turns = quarter_turns(s, m, e);
  LLVMValueRef near = LLVMBuildAdd(s->b, turns, whole(s->i64, 1ull << 61), "");
  near = LLVMBuildLShr(s->b, near, whole(s->i64, 62), "");
  LLVMValueRef past = LLVMBuildShl(s->b, near, whole(s->i64, 62), "");
  LLVMValueRef fraction = LLVMBuildSIToFP(s->b, LLVMBuildSub(s->b, turns, past, ""), s->f64, "");
  fraction = LLVMBuildFMul(s->b, fraction, real(s->f64, 1.5707963267948966 * 0x1p-62), "");
  *rest = LLVMBuildSelect(s->b, small, LLVMBuildBitCast(s->b, size, s->f32, ""),
                          LLVMBuildFPTrunc(s->b, fraction, s->f32, ""), "");
  *quadrant =
      LLVMBuildSelect(s->b, small, whole(s->i32, 0), LLVMBuildTrunc(s->b, near, s->i32, ""), "");
}

/* ---- up to pi / 4 ---- */

static LLVMValueRef polynomial(const shapes *s, LLVMValueRef z, const double c[3]) {
  LLVMValueRef sum = fma_of(s, real(s->f32, c[2]), z, real(s->f32, c[1]));
  return fma_of(s, sum, z, real(s->f32, c[0]));
}

static LLVMValueRef small_sine(const shapes *s, LLVMValueRef r, LLVMValueRef z) {
  static const double c[] = {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4};
  return fma_of(s, LLVMBuildFMul(s->b, r, z, ""), polynomial(s, z, c), r);
}

static LLVMValueRef small_cosine(const shapes *s, LLVMValueRef z) {
  static const double c[] = {4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5};
  LLVMValueRef most = fma_of(s, z, real(s->f32, -0.5), real(s->f32, 1));
  return fma_of(s, LLVMBuildFMul(s->b, z, z, ""), polynomial(s, z, c), most);
}

/* ---- the whole ---- */

LLVMValueRef emit_wave(emitter *e, int op, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  const shapes s = {.e = e,
                    .b = e->builder,
                    .f32 = type,
                    .f64 = shaped(type, LLVMDoubleTypeInContext(e->context)),
                    .i32 = shaped(type, e->i32),
                    .i64 = shaped(type, e->i64)};
  LLVMValueRef code = LLVMBuildBitCast(s.b, x, s.i32, ""), rest, quadrant;
  reduce(&s, code, &rest, &quadrant);
  if (op == EXPR_COS) quadrant = LLVMBuildAdd(s.b, quadrant, whole(s.i32, 1), "");
  LLVMValueRef z = LLVMBuildFMul(s.b, rest, rest, ""), one = whole(s.i32, 1);
  LLVMValueRef odd = LLVMBuildICmp(s.b, LLVMIntEQ, LLVMBuildAnd(s.b, quadrant, one, ""), one, "");
  LLVMValueRef made = LLVMBuildSelect(s.b, odd, small_cosine(&s, z), small_sine(&s, rest, z), "");
  LLVMValueRef sign = LLVMBuildShl(s.b, quadrant, whole(s.i32, 30), "");
  if (op == EXPR_SIN) sign = LLVMBuildXor(s.b, sign, code, "");
  sign = LLVMBuildAnd(s.b, sign, whole(s.i32, 0x80000000u), "");
  made = LLVMBuildXor(s.b, LLVMBuildBitCast(s.b, made, s.i32, ""), sign, "");
  LLVMValueRef size = LLVMBuildAnd(s.b, code, whole(s.i32, 0x7FFFFFFF), "");
  LLVMValueRef none = LLVMBuildICmp(s.b, LLVMIntUGE, size, whole(s.i32, 0x7F800000), "");
  made = LLVMBuildSelect(s.b, none, whole(s.i32, 0x7FFFFFFF), made, "");
  return LLVMBuildBitCast(s.b, made, s.f32, "");
}
