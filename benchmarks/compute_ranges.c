/* See compute_ranges.h. */
#include "compute_ranges.h"

#include "jit/plan/types/number.h"

#include <math.h>

/* Up to here every whole number is a double. */
#define MOST_WHOLE 0x1p53

range range_exactly(double x) { return (range){x, x, isnan(x), false}; }
range range_anything(void) { return (range){-INFINITY, INFINITY, false, true}; }

/* What a rounded operation with an error of so many units in the last place leaves. */
range range_rounded(range x, int type, double ulps) {
  if (x.nan || x.any || type < SINGLE) return x;
  double unit = type == SINGLE ? 0x1p-23 : 0x1p-52, least = type == SINGLE ? 0x1p-149 : 0x1p-1074;
  double most = type == SINGLE ? (double)3.4028234663852886e38f : 1.7976931348623157e308;
  double low = x.low - fabs(x.low) * unit * ulps - least,
         high = x.high + fabs(x.high) * unit * ulps + least;
  if (x.low == x.high && isinf(x.low)) return x;
  if (x.low == 0 && x.high == 0) return x;
  if (low < -most) low = -INFINITY;
  if (high > most) high = INFINITY;
  if (x.high < -most) high = -most; /* overflow may or may not have happened */
  if (x.low > most) low = most;
  return (range){low, high, false, false};
}

range range_whole(range x) {
  bool exact = x.nan || (x.low >= -MOST_WHOLE && x.high <= MOST_WHOLE);
  return exact ? x : range_anything();
}

/* The hull of f at the corners. */
range range_corners(double (*f)(double, double), range a, range b) {
  if (a.any || b.any) return range_anything();
  if (a.nan || b.nan) return range_exactly((double)NAN);
  const double at[4] = {f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)};
  range out = {INFINITY, -INFINITY, false, false};
  int nans = 0;
  bool zero[2] = {false, false}; /* with the sign + and - */
  for (int i = 0; i < 4; i++) {
    nans += isnan(at[i]) != 0;
    if (at[i] == 0) zero[signbit(at[i]) != 0] = true;
    if (at[i] < out.low) out.low = at[i];
    if (at[i] > out.high) out.high = at[i];
  }
  /* Between infinite corners lie finite numbers, too. */
  if (nans == 4 && a.low == a.high && b.low == b.high) return range_exactly((double)NAN);
  if (out.low == 0) out.low = zero[1] ? -0.0 : 0.0;
  if (out.high == 0) out.high = zero[0] ? 0.0 : -0.0;
  return nans ? range_anything() : out;
}

double range_plus(double a, double b) { return a + b; }
double range_minus(double a, double b) { return a - b; }
static double times(double a, double b) { return a * b; }
static double over(double a, double b) { return a / b; }
/* NaN if either is; -0 is less than 0. */
double range_larger(double a, double b) {
  if (isnan(a) || isnan(b)) return (double)NAN;
  return a > b || (a == b && !signbit(a)) ? a : b;
}
double range_smaller(double a, double b) { return -range_larger(-a, -b); }

/* Whether it is no single number, and may be zero with either sign. */
bool range_around_zero(range x) {
  bool one = x.low == x.high && !signbit(x.low) == !signbit(x.high);
  return x.low <= 0 && x.high >= 0 && !one;
}

range range_quotient(range a, range b) {
  bool crosses = range_around_zero(b) || (b.low == 0 && b.high == 0 && a.low < 0 && a.high > 0);
  return crosses && !a.nan && !b.nan ? range_anything() : range_corners(over, a, b);
}

static bool may_be_infinite(range x) { return isinf(x.low) || isinf(x.high); }

/* Zero times infinity may be inside of both. */
range range_product(range a, range b) {
  bool crosses = (a.low < 0 && a.high > 0 && may_be_infinite(b)) ||
                 (b.low < 0 && b.high > 0 && may_be_infinite(a));
  return crosses && !a.nan && !b.nan ? range_anything() : range_corners(times, a, b);
}

static range monotone(double (*f)(double), range a) {
  if (a.any) return a;
  if (a.nan) return a;
  double x = f(a.low), y = f(a.high);
  if (isnan(x) && isnan(y)) return range_exactly((double)NAN);
  if (isnan(x) || isnan(y)) return range_anything();
  return x < y ? (range){x, y, false, false} : (range){y, x, false, false};
}

static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static double silu_of(double x) { return isinf(x) && x < 0 ? -0.0 : x / (1 + exp(-x)); }
static double gelu_of(double x) { return isinf(x) && x < 0 ? -0.0 : x * erfc(-x / sqrt(2)) / 2; }
static double rsqrt_of(double x) { return 1 / sqrt(x); }
static double rcp_of(double x) { return 1 / x; }

/* silu and gelu, which turn: their slopes are at most 1.2. */
static range turning(double (*f)(double), range a) {
  range out = monotone(f, a);
  double slack = a.high - a.low;
  if (!out.nan && !out.any && slack > 0 && isfinite(slack)) {
    out.low -= 1.2 * slack;
    out.high += 1.2 * slack;
  }
  return out;
}

/* sin and cos: their slopes are at most 1. */
static range waving(double (*f)(double), range a) {
  double reach = (a.high - a.low) / 2, middle;
  if (a.any || a.nan) return a;
  if (isinf(a.low) && a.low == a.high) return range_exactly((double)NAN);
  if (!isfinite(a.low) || !isfinite(a.high)) return range_anything();
  if (reach == 0 && !range_around_zero(a))
    return range_exactly(f(a.low)); /* of zeros with their sign */
  middle = f(a.low + reach);
  return (range){fmax(-1, middle - reach), fmin(1, middle + reach), false, false};
}

range range_function(int op, range a, int type) {
  switch (op) {
  case EXPR_INVERT:
    if (type == TRUTH) return range_of_truth(range_truth(a) < 0 ? -1 : !range_truth(a));
    return (range){-a.high - 1, -a.low - 1, a.nan, a.any};
  case EXPR_NEGATE: return (range){-a.high, -a.low, a.nan, a.any};
  case EXPR_ABS:
    if (a.nan || a.any) return a;
    if (a.low > 0) return a;
    if (a.high < 0) return (range){-a.high, -a.low, false, false};
    return (range){0, fmax(fabs(a.low), fabs(a.high)), false, false}; /* of -0, too */
  case EXPR_SQRT: return range_rounded(monotone(sqrt, a), type, 1);
  case EXPR_RSQRT: /* of -0 it is -infinity */
    return range_around_zero(a) && !a.nan && !a.any ? range_anything()
                                                    : range_rounded(monotone(rsqrt_of, a), type, 2);
  case EXPR_RCP:
    return range_around_zero(a) && !a.nan && !a.any ? range_anything()
                                                    : range_rounded(monotone(rcp_of, a), type, 1);
  case EXPR_FLOOR: return monotone(floor, a);
  case EXPR_CEIL: return monotone(ceil, a);
  case EXPR_ROUND: return monotone(nearbyint, a);
  case EXPR_SIN: return range_rounded(waving(sin, a), type, 2);
  case EXPR_COS: return range_rounded(waving(cos, a), type, 2);
  case EXPR_EXP: return range_rounded(monotone(exp, a), type, 2);
  case EXPR_EXP2: return range_rounded(monotone(exp2, a), type, 2);
  case EXPR_LOG: return range_rounded(monotone(log, a), type, 2);
  case EXPR_LOG2: return range_rounded(monotone(log2, a), type, 2);
  case EXPR_TANH: return range_rounded(monotone(tanh, a), type, 2);
  case EXPR_ERF: return range_rounded(monotone(erf, a), type, 2);
  case EXPR_SIGMOID: return range_rounded(monotone(sigmoid_of, a), type, 3);
  case EXPR_SILU: return range_rounded(turning(silu_of, a), type, 3);
  default: return range_rounded(turning(gelu_of, a), type, 3);
  }
}

/* 1 certainly, 0 certainly, or -1. */
int range_truth(range a) {
  if (a.any) return -1;
  if (a.nan) return 1;
  if (a.low > 0 || a.high < 0) return 1;
  return a.low == 0 && a.high == 0 ? 0 : -1;
}

range range_of_truth(int known) {
  return known < 0 ? (range){0, 1, false, false} : range_exactly(known);
}

range range_compared(int op, range a, range b) {
  if (a.any || b.any) return range_of_truth(-1);
  if (a.nan || b.nan) return range_of_truth(op == EXPR_UNEQUAL);
  bool apart = a.high < b.low || b.high < a.low;
  bool same = a.low == a.high && b.low == b.high && a.low == b.low;
  switch (op) {
  case EXPR_EQUAL: return range_of_truth(same ? 1 : apart ? 0 : -1);
  case EXPR_UNEQUAL: return range_of_truth(same ? 0 : apart ? 1 : -1);
  case EXPR_LESS: return range_of_truth(a.high < b.low ? 1 : a.low >= b.high ? 0 : -1);
  case EXPR_LESS_EQUAL: return range_of_truth(a.high <= b.low ? 1 : a.low > b.high ? 0 : -1);
  case EXPR_GREATER: return range_of_truth(a.low > b.high ? 1 : a.high <= b.low ? 0 : -1);
  default: return range_of_truth(a.low >= b.high ? 1 : a.high < b.low ? 0 : -1);
  }
}

static range hull(range a, range b) {
  if (a.any || b.any) return range_anything();
  if (a.nan && b.nan) return a;
  if (a.nan || b.nan) return range_anything();
  return (range){fmin(a.low, b.low), fmax(a.high, b.high), false, false};
}

range range_chosen(range c, range a, range b) {
  int known = range_truth(c);
  return known == 1 ? a : known == 0 ? b : hull(a, b);
}

/* ---- casts ---- */

/* The power of two of e8m0. */
static double power_of(double x, int rounding) {
  if (isnan(x) || x < 0) return (double)NAN;
  if (x <= 0x1p-127) return 0x1p-127;
  if (x >= 0x1p127) return 0x1p127;
  int e = ilogb(x);
  double low = ldexp(1, e), high = ldexp(1, e + 1);
  bool up = rounding == EXPR_UP ? x > low : rounding == EXPR_DOWN ? false : x > 1.5 * low;
  if (rounding == EXPR_NEAREST && x == 1.5 * low) up = (e + 127) % 2 != 0;
  return up ? high : low;
}

static double cast_to(llrt_dtype type, double x, int rounding) {
  if (type == LLRT_E8M0) return power_of(x, rounding);
  if (type == LLRT_F64 || type == LLRT_BOOL) return x;
  if (type == LLRT_I64 || type == LLRT_U64) /* to the nearest; saturating */
    return isnan(x) ? 0 : fmax(type == LLRT_U64 ? 0 : -0x1p63, fmin(nearbyint(x), 0x1p63));
  const number_format *f = number_format_of(type);
  return number_value(f, number_code(f, x));
}

range range_cast(llrt_dtype type, range x, int rounding) {
  if (type == LLRT_BOOL) return range_of_truth(range_truth(x));
  if (x.any) return x;
  if (x.nan) return range_exactly(cast_to(type, (double)NAN, rounding));
  double low = cast_to(type, x.low, rounding), high = cast_to(type, x.high, rounding);
  if (isnan(low) != isnan(high)) return range_anything();
  return (range){low, high, isnan(low), false};
}
