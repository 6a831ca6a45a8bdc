/* See emit_function.h. Nothing here is contracted or reordered: each operation is one rounding, of
 * which fma is one. Every target has it as an instruction but processors before x86-64-v3, where
 * the C library's stands in. */
#include "jit/emit/value/emit_function.h"

#include "expression/operators.h"
#include "jit/emit/value/function_maker.h"

/* ---- whole numbers ---- */

/* The nearest whole number, ties to even: what is too large for fractions is one. */
static LLVMValueRef rounded(const maker *m, LLVMValueRef x) {
  LLVMValueRef large = number(m, m->wide ? 0x1p52 : 0x1p23), size = size_of(m, x);
  LLVMValueRef sign = LLVMBuildXor(m->b, code_of(m, x), code_of(m, size), "");
  LLVMValueRef near = sub(m, add(m, size, large), large);
  near = of_code(m, LLVMBuildOr(m->b, code_of(m, near), sign, ""));
  return choose(m, less(m, size, large), near, x);
}

static LLVMValueRef floored(const maker *m, LLVMValueRef x, bool up) {
  LLVMValueRef near = rounded(m, x), one = number(m, 1);
  LLVMValueRef past = up ? less(m, near, x) : less(m, x, near);
  LLVMValueRef sign = LLVMBuildXor(m->b, code_of(m, x), code_of(m, size_of(m, x)), "");
  near = choose(m, past, up ? add(m, near, one) : sub(m, near, one), near);
  return of_code(m, LLVMBuildOr(m->b, code_of(m, near), sign, "")); /* of zeros, too */
}

/* ---- exponentials ---- */

/* 2^n by its code, n (integers) in the range of normal numbers. */
static LLVMValueRef power(const maker *m, LLVMValueRef n) {
  int bias = m->wide ? 1023 : 127, shift = m->wide ? 52 : 23;
  LLVMValueRef code = LLVMBuildAdd(m->b, n, whole(m, bias), "");
  return of_code(m, LLVMBuildShl(m->b, code, whole(m, shift), ""));
}

/* y 2^n, y around 1, in two steps, so that subnormal results are rounded once; one step of moderate
 * exponents is an addition to y's. Of n the lowest 10 bits count: it may be a code of near_whole.
 */
static LLVMValueRef scaled(const maker *m, LLVMValueRef y, LLVMValueRef n) {
  if (m->moderate) {
    LLVMValueRef exponent = LLVMBuildShl(m->b, n, whole(m, 23), "");
    return of_code(m, LLVMBuildAdd(m->b, code_of(m, y), exponent, ""));
  }
  LLVMValueRef half = LLVMBuildAShr(m->b, n, whole(m, 1), "");
  y = mul(m, y, power(m, half));
  return mul(m, y, power(m, LLVMBuildSub(m->b, n, half, "")));
}

/* e^r, |r| <= ln 2 / 2, to 2^-28: 1 + r (1 + r q(r)). */
static LLVMValueRef small_exp(const maker *m, LLVMValueRef r) {
  static const double q[] = {0.5, 0.166665181517601, 0.041666205972433, 0.0083689540624618,
                             0.0013950599823147};
  LLVMValueRef one = number(m, 1);
  return fma_of(m, r, fma_of(m, r, polynomial(m, r, q, 5), one), one);
}

#define MAGIC 0x1.8p23
#define MAGIC_CODE 0x4B400000

/* The nearest whole number n to x times factor, if it is below 2^21, and as a code: MAGIC_CODE + n,
 * whose lowest 22 bits are n's. */
static LLVMValueRef near_whole(const maker *m, LLVMValueRef x, double factor, LLVMValueRef *code) {
  LLVMValueRef magic = number(m, MAGIC), moved = fma_of(m, x, number(m, factor), magic);
  *code = code_of(m, moved);
  return sub(m, moved, magic);
}

/* x - n ln 2, ln 2 in two parts. */
static LLVMValueRef less_logarithms(const maker *m, LLVMValueRef x, LLVMValueRef n) {
  LLVMValueRef r = fma_of(m, n, number(m, -0.693147182464599609375), x);
  return fma_of(m, n, number(m, 1.90465429995776804525e-9), r);
}

/* e^x = *part times 2^n, *part around 1, *n a code of near_whole, of -125 <= x <= 90. */
static void exponential_parts(const maker *m, LLVMValueRef x, LLVMValueRef *part, LLVMValueRef *n) {
  LLVMValueRef whole_part = near_whole(m, x, 1.4426950408889634, n);
  *part = small_exp(m, less_logarithms(m, x, whole_part));
}

static LLVMValueRef exponential(const maker *m, LLVMValueRef x) {
  LLVMValueRef part, n;
  if (m->near) return near_exp(m, x);
  exponential_parts(m, m->moderate ? x : limited(m, x, -125, 90), &part, &n);
  return scaled(m, part, n);
}

static LLVMValueRef power_of_two(const maker *m, LLVMValueRef x) {
  LLVMValueRef n, integer;
  if (m->near) return near_exp2(m, x);
  x = limited(m, x, -152, 130);
  n = near_whole(m, x, 1, &integer);
  return scaled(m, small_exp(m, mul(m, sub(m, x, n), number(m, 0.6931471805599453))), integer);
}

/* ---- logarithms ---- */

/* x = 2^k (1 + f), f within a factor of sqrt 2 around 0; log(1 + f) = f - s (f - R), s = f / (2 +
 * f).
 */
typedef struct logarithm {
  LLVMValueRef f, k, product; /* k: a number; product: s (f - R) */
} logarithm;

static logarithm log_parts(const maker *m, LLVMValueRef x) {
  static const double r[] = {2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11};
  LLVMValueRef tiny = less(m, x, number(m, 0x1p-126));
  LLVMValueRef normal = choose(m, tiny, mul(m, x, number(m, 0x1p24)), x);
  LLVMValueRef code = LLVMBuildSub(m->b, code_of(m, normal), whole(m, 0x3F3504F3), "");
  LLVMValueRef k = LLVMBuildAShr(m->b, code, whole(m, 23), "");
  LLVMValueRef fraction = LLVMBuildAnd(m->b, code, whole(m, 0x7FFFFF), "");
  fraction = of_code(m, LLVMBuildAdd(m->b, fraction, whole(m, 0x3F3504F3), ""));
  k = LLVMBuildSub(m->b, k, choose(m, tiny, whole(m, 24), whole(m, 0)), "");
  LLVMValueRef f = sub(m, fraction, number(m, 1));
  LLVMValueRef over = add(m, number(m, 2), f);
  LLVMValueRef s = m->near ? near_quotient(m, f, over) : quotient(m, f, over), z = mul(m, s, s);
  LLVMValueRef rest = mul(m, z, polynomial(m, z, r, 5));
  return (logarithm){
      .f = f, .k = LLVMBuildSIToFP(m->b, k, m->real, ""), .product = mul(m, s, sub(m, f, rest))};
}

/* Zero, infinity, NaN and numbers below zero. */
static LLVMValueRef log_ends(const maker *m, LLVMValueRef x, LLVMValueRef result) {
  LLVMValueRef infinity = LLVMBuildFDiv(m->b, number(m, 1), number(m, 0), "");
  LLVMValueRef zero = LLVMBuildFCmp(m->b, LLVMRealOEQ, x, number(m, 0), "");
  LLVMValueRef high = LLVMBuildFCmp(m->b, LLVMRealOEQ, x, infinity, "");
  LLVMValueRef none = LLVMBuildFCmp(m->b, LLVMRealULT, x, number(m, 0), "");
  result = choose(m, high, infinity, result);
  result = choose(m, zero, negative(m, infinity), result);
  return choose(m, none, of_code(m, whole(m, 0x7FFFFFFF)), result);
}

static LLVMValueRef natural_log(const maker *m, LLVMValueRef x) {
  logarithm l = log_parts(m, x);
  LLVMValueRef low = sub(m, l.product, mul(m, l.k, number(m, -2.12194440e-4)));
  LLVMValueRef sum = add(m, mul(m, l.k, number(m, 0.693359375)), sub(m, l.f, low));
  return log_ends(m, x, sum);
}

/* In f64 from f and the product on, where 1 / ln 2 has bits enough. */
static LLVMValueRef binary_log(const maker *m, LLVMValueRef x) {
  maker w = maker_of(m->e, LLVMTypeOf(x), true);
  logarithm l = log_parts(m, x);
  LLVMValueRef f = LLVMBuildFPExt(m->b, l.f, w.real, "");
  LLVMValueRef log = sub(&w, f, LLVMBuildFPExt(m->b, l.product, w.real, ""));
  log =
      add(&w, LLVMBuildFPExt(m->b, l.k, w.real, ""), mul(&w, log, number(&w, 1.4426950408889634)));
  return log_ends(m, x, LLVMBuildFPTrunc(m->b, log, m->real, ""));
}

/* ---- sigmoids ---- */

/* 1 / (1 + e), 0 <= e <= 1, within 0.8 units of the last place and without a division, which takes
 * branches on a GPU: y = 1 / (1 + e) but for 2^-9 of it, then y (1 + r + r^2) with r = (1 - y) - e
 * y, whose difference is exact where y is at least 1/2. */
static LLVMValueRef one_over_sum(const maker *m, LLVMValueRef e) {
  if (m->near) return near_inverse(m, add(m, number(m, 1), e));
  static const double near[] = {0.9982664585113525, -0.9428055286407471, 0.6655056476593018,
                                -0.2218334674835205};
  LLVMValueRef y = polynomial(m, e, near, 4);
  LLVMValueRef r = fma_of(m, negative(m, e), y, sub(m, number(m, 1), y));
  return fma_of(m, y, fma_of(m, r, r, r), y);
}

/* 1 / (1 + e^-x): of e^-|x|, which does not overflow. */
static LLVMValueRef sigmoid(const maker *m, LLVMValueRef x) {
  LLVMValueRef small = exponential(m, negative(m, size_of(m, x)));
  LLVMValueRef over = choose(m, less(m, x, number(m, 0)), small, number(m, 1));
  return mul(m, over, one_over_sum(m, small));
}

/* x times that. Where e^-|x| is below 2^-64, and maybe subnormal, the product takes the rest of its
 * power of two, so that it is rounded once. -infinity gives what it tends to, -0. */
static LLVMValueRef silu(const maker *m, LLVMValueRef x) {
  LLVMValueRef part, n, below = less(m, x, number(m, 0)), none = whole(m, 0);
  LLVMValueRef least = whole(m, MAGIC_CODE - 64);
  if (m->moderate) return mul(m, x, sigmoid(m, x));
  LLVMValueRef low = choose(m, less(m, x, number(m, -125)), number(m, -125), x);
  LLVMValueRef away = negative(m, size_of(m, x));
  exponential_parts(m, choose(m, less(m, away, number(m, -125)), number(m, -125), away), &part, &n);
  LLVMValueRef tiny = LLVMBuildICmp(m->b, LLVMIntSLT, n, least, "");
  LLVMValueRef kept = LLVMBuildSelect(m->b, tiny, least, n, "");
  LLVMValueRef small = mul(m, part, power(m, kept));
  LLVMValueRef over = mul(m, choose(m, below, small, number(m, 1)), one_over_sum(m, small));
  LLVMValueRef rest = LLVMBuildSelect(m->b, below, LLVMBuildSub(m->b, n, kept, ""), none, "");
  return mul(m, mul(m, low, over), power(m, rest));
}

/* Near 0 a polynomial, elsewhere 1 - 2 e / (1 + e) with e = e^-2|x|. The polynomial's sum makes +0
 * of -0: both take x's sign. */
static LLVMValueRef hyperbolic_tangent(const maker *m, LLVMValueRef x) {
  static const double c[] = {-0.3333332861062139, 0.13332732790435398, -0.053844988976845205,
                             0.020968186987637444, -0.006053697404302247};
  LLVMValueRef size = size_of(m, x), z = mul(m, x, x), twice = number(m, -2);
  LLVMValueRef near = fma_of(m, mul(m, x, z), polynomial(m, z, c, 5), x);
  LLVMValueRef small = exponential(m, mul(m, size, twice));
  LLVMValueRef far = fma_of(m, mul(m, small, twice), one_over_sum(m, small), number(m, 1));
  LLVMValueRef sign = LLVMBuildXor(m->b, code_of(m, x), code_of(m, size), "");
  LLVMValueRef made = choose(m, less(m, size, number(m, 0.62)), near, far);
  return of_code(m, LLVMBuildOr(m->b, code_of(m, made), sign, ""));
}

/* ---- the error function ---- */

/* Near 0 a polynomial, elsewhere 1 - e^p(|x|), of which the power's absolute error counts. */
static LLVMValueRef error_function(const maker *m, LLVMValueRef x) {
  static const double near_zero[] = {
      0.12837916676486415,  -0.37612634982706744,   0.1128371505988877,   -0.026860509361962846,
      0.005203860366605738, -0.0008175644595578373, 8.513099813316623e-05};
  static const double far[] = {0.00017055210334023828, -1.1294951596288212,
                               -0.6333866449954885,    -0.10823662149577613,
                               0.025091498472935816,   -0.004160527760752034,
                               0.00043230319402196834, -2.0909575095517458e-05};
  LLVMValueRef size = size_of(m, x), z = mul(m, x, x);
  LLVMValueRef near = fma_of(m, x, polynomial(m, z, near_zero, 7), x);
  LLVMValueRef most = choose(m, less(m, number(m, 4), size), number(m, 4), size);
  LLVMValueRef rest = sub(m, number(m, 1), exponential(m, polynomial(m, most, far, 8)));
  LLVMValueRef sign = LLVMBuildXor(m->b, code_of(m, x), code_of(m, size), "");
  rest = of_code(m, LLVMBuildOr(m->b, code_of(m, rest), sign, ""));
  return choose(m, less(m, size, number(m, 0.9)), near, rest);
}

/* ---- gelu: x less what x lacks of it, z q(z) with z = |x| and q(z) = (1 - erf(z / sqrt 2)) / 2
 * ----
 */

#define GELU_NEAR 4.5
#define GELU_LIMIT 15 /* from here on z q(z) is 0 */

/* z q(z), z at most GELU_NEAR, as z times the second value. q(z) = 2^(z p(z) - v^2) times what is
 * in all coefficients of the power: v = z - 0.25, so that p is small at both ends; v^2 is exact
 * where the exponent's fraction is taken. */
static LLVMValueRef gelu_near(const maker *m, LLVMValueRef z) {
  static const double p[] = {-0.344311267,    0.369267017,    -0.0132389497,   0.00189062313,
                             -0.000250906422, 2.92280183e-05, -2.58604518e-06, 6.71573943e-08,
                             2.60748081e-08,  -1.1826482e-08, 4.4023114e-09};
  static const double power_of[] = {0.522136867,   0.361917734,    0.125431105,   0.028980244,
                                    0.00502217421, 0.000699588272, 8.01572169e-05};
  LLVMValueRef v = sub(m, z, number(m, 0.25)), w = sub(m, z, number(m, 3)), n;
  LLVMValueRef slope = polynomial(m, w, p, sizeof p / sizeof *p), back = negative(m, v);
  LLVMValueRef exponent = fma_of(m, back, v, mul(m, z, slope));
  LLVMValueRef whole_part = near_whole(m, exponent, 1, &n);
  LLVMValueRef rest = fma_of(m, back, v, negative(m, whole_part));
  rest = fma_of(m, z, slope, rest);
  maker few = *m;
  few.moderate = true; /* the exponent is above -22 */
  return scaled(&few, polynomial(m, rest, power_of, sizeof power_of / sizeof *power_of), n);
}

/* z q(z), GELU_NEAR to GELU_LIMIT: e^(-z^2 / 2) s(1 / z^2), the square in two parts. */
static LLVMValueRef gelu_far(const maker *m, LLVMValueRef z) {
  static const double s[] = {0.3989422691556655, -0.3989367537779185, 1.1958007924225007,
                             -5.888200986604725, 36.79880178824676,   -212.85474943050866,
                             703.3938754193052};
  LLVMValueRef square = mul(m, z, z), low = fma_of(m, z, z, negative(m, square)), n;
  LLVMValueRef half = mul(m, square, number(m, -0.5));
  LLVMValueRef whole_part = near_whole(m, half, 1.4426950408889634, &n);
  LLVMValueRef r = less_logarithms(m, half, whole_part);
  r = fma_of(m, low, number(m, -0.5), r);
  LLVMValueRef inverse = emit_moderate_inverse(m->e, square);
  return scaled(m, mul(m, small_exp(m, r), polynomial(m, inverse, s, 7)), n);
}

/* -infinity gives what it tends to, -0. */
static LLVMValueRef gelu(const maker *m, LLVMValueRef x) {
  LLVMValueRef size = size_of(m, x), args[2] = {x, number(m, -0.0)};
  LLVMTypeRef type = m->real;
  LLVMValueRef most = emit_intrinsic(m->e, "llvm.maximum", &type, 1, args, 2);
  LLVMValueRef near = fma_of(m, negative(m, size), gelu_near(m, size), most);
  if (m->moderate) return near;
  LLVMValueRef limit = number(m, GELU_LIMIT), least = number(m, GELU_NEAR);
  LLVMValueRef inside = choose(m, less(m, limit, size), limit, size);
  LLVMValueRef far = sub(m, most, gelu_far(m, inside));
  return choose(m, less(m, least, size), far, near);
}

/* ---- the whole ---- */

/* What the tables' two units of the last place leave near enough: not products of exponentials. */
static bool is_by_table(int op) {
  return op == EXPR_EXP || op == EXPR_EXP2 || op == EXPR_TANH || op == EXPR_ERF || op == EXPR_LOG ||
         op == EXPR_LOG2;
}

static LLVMValueRef function_of(emitter *e, int op, LLVMValueRef x, bool moderate) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMTypeRef scalar =
      LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
  maker m = maker_of(e, type, LLVMGetTypeKind(scalar) == LLVMDoubleTypeKind);
  m.moderate = moderate;
  m.near &= is_by_table(op);
  switch (op) {
  case EXPR_SQRT: return emit_root(e, x);
  case EXPR_RSQRT: return emit_finite_inverse(e, emit_root(e, x));
  case EXPR_RCP: return quotient(&m, number(&m, 1), x);
  case EXPR_FLOOR: return floored(&m, x, false);
  case EXPR_CEIL: return floored(&m, x, true);
  case EXPR_ROUND: return rounded(&m, x);
  case EXPR_EXP: return exponential(&m, x);
  case EXPR_EXP2: return power_of_two(&m, x);
  case EXPR_LOG: return natural_log(&m, x);
  case EXPR_LOG2: return binary_log(&m, x);
  case EXPR_SIN:
  case EXPR_COS: return emit_wave(e, op, x);
  case EXPR_TANH: return hyperbolic_tangent(&m, x);
  case EXPR_ERF: return error_function(&m, x);
  case EXPR_SIGMOID: return sigmoid(&m, x);
  case EXPR_SILU: return silu(&m, x);
  default: return gelu(&m, x);
  }
}

LLVMValueRef emit_function(emitter *e, int op, LLVMValueRef x) {
  return function_of(e, op, x, false);
}

LLVMValueRef emit_exp_added(emitter *e, LLVMValueRef x) {
  maker m = maker_of(e, LLVMTypeOf(x), false);
  return m.near ? near_exp_added(&m, x) : function_of(e, EXPR_EXP, x, false);
}

double emit_function_moderate(const emitter *e, int op) {
  if (e->ops->table_exp2 && is_by_table(op)) return 0;
  switch (op) {
  case EXPR_EXP:
  case EXPR_SIGMOID:
  case EXPR_SILU: return 87; /* e^-87 is normal */
  case EXPR_TANH: return 43;
  case EXPR_GELU: return GELU_NEAR;
  default: return 0;
  }
}

LLVMValueRef emit_function_of_moderate(emitter *e, int op, LLVMValueRef x) {
  return function_of(e, op, x, true);
}
