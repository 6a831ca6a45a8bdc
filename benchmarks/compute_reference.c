/* See compute_reference.h. */
#include "compute_reference.h"

#include "jit/plan/types/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AXES (EXPR_MAX_AXES + 1)

/* Types in the order in which they meet; LITERAL ones follow. */
enum { LITERAL_INTEGER, LITERAL_REAL, TRUTH, WHOLE, WIDE_WHOLE, SINGLE, DOUBLE };

/* ---- ranges ---- */

static range exactly(double x) { return (range){x, x, isnan(x), false}; }
static range anything(void) { return (range){-INFINITY, INFINITY, false, true}; }

/* What a rounded operation with an error of so many units in the last place leaves. */
static range rounded(range x, int type, double ulps) {
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

/* The hull of f at the corners. */
static range corners(double (*f)(double, double), range a, range b) {
  if (a.any || b.any) return anything();
  if (a.nan || b.nan) return exactly((double)NAN);
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
  if (nans == 4 && a.low == a.high && b.low == b.high) return exactly((double)NAN);
  if (out.low == 0) out.low = zero[1] ? -0.0 : 0.0;
  if (out.high == 0) out.high = zero[0] ? 0.0 : -0.0;
  return nans ? anything() : out;
}

static double plus(double a, double b) { return a + b; }
static double minus(double a, double b) { return a - b; }
static double times(double a, double b) { return a * b; }
static double over(double a, double b) { return a / b; }
/* NaN if either is; -0 is less than 0. */
static double larger(double a, double b) {
  if (isnan(a) || isnan(b)) return (double)NAN;
  return a > b || (a == b && !signbit(a)) ? a : b;
}
static double smaller(double a, double b) { return -larger(-a, -b); }

/* Whether it is no single number, and may be zero with either sign. */
static bool around_zero(range x) {
  bool one = x.low == x.high && !signbit(x.low) == !signbit(x.high);
  return x.low <= 0 && x.high >= 0 && !one;
}

static range quotient(range a, range b) {
  bool crosses = around_zero(b) || (b.low == 0 && b.high == 0 && a.low < 0 && a.high > 0);
  return crosses && !a.nan && !b.nan ? anything() : corners(over, a, b);
}

static bool may_be_infinite(range x) { return isinf(x.low) || isinf(x.high); }

/* Zero times infinity may be inside of both. */
static range product(range a, range b) {
  bool crosses = (a.low < 0 && a.high > 0 && may_be_infinite(b)) ||
                 (b.low < 0 && b.high > 0 && may_be_infinite(a));
  return crosses && !a.nan && !b.nan ? anything() : corners(times, a, b);
}

static range monotone(double (*f)(double), range a) {
  if (a.any) return a;
  if (a.nan) return a;
  double x = f(a.low), y = f(a.high);
  if (isnan(x) && isnan(y)) return exactly((double)NAN);
  if (isnan(x) || isnan(y)) return anything();
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
  if (isinf(a.low) && a.low == a.high) return exactly((double)NAN);
  if (!isfinite(a.low) || !isfinite(a.high)) return anything();
  if (reach == 0 && !around_zero(a)) return exactly(f(a.low)); /* of zeros with their sign */
  middle = f(a.low + reach);
  return (range){fmax(-1, middle - reach), fmin(1, middle + reach), false, false};
}

static range function(int op, range a, int type) {
  switch (op) {
  case EXPR_NEGATE: return (range){-a.high, -a.low, a.nan, a.any};
  case EXPR_ABS:
    if (a.nan || a.any) return a;
    if (a.low > 0) return a;
    if (a.high < 0) return (range){-a.high, -a.low, false, false};
    return (range){0, fmax(fabs(a.low), fabs(a.high)), false, false}; /* of -0, too */
  case EXPR_SQRT: return rounded(monotone(sqrt, a), type, 1);
  case EXPR_RSQRT: return rounded(monotone(rsqrt_of, a), type, 2);
  case EXPR_RCP:
    return around_zero(a) && !a.nan && !a.any ? anything() : rounded(monotone(rcp_of, a), type, 1);
  case EXPR_FLOOR: return monotone(floor, a);
  case EXPR_CEIL: return monotone(ceil, a);
  case EXPR_ROUND: return monotone(nearbyint, a);
  case EXPR_SIN: return rounded(waving(sin, a), type, 2);
  case EXPR_COS: return rounded(waving(cos, a), type, 2);
  case EXPR_EXP: return rounded(monotone(exp, a), type, 2);
  case EXPR_EXP2: return rounded(monotone(exp2, a), type, 2);
  case EXPR_LOG: return rounded(monotone(log, a), type, 2);
  case EXPR_LOG2: return rounded(monotone(log2, a), type, 2);
  case EXPR_TANH: return rounded(monotone(tanh, a), type, 2);
  case EXPR_ERF: return rounded(monotone(erf, a), type, 2);
  case EXPR_SIGMOID: return rounded(monotone(sigmoid_of, a), type, 3);
  case EXPR_SILU: return rounded(turning(silu_of, a), type, 3);
  default: return rounded(turning(gelu_of, a), type, 3);
  }
}

/* 1 certainly, 0 certainly, or -1. */
static int truth(range a) {
  if (a.any) return -1;
  if (a.nan) return 1;
  if (a.low > 0 || a.high < 0) return 1;
  return a.low == 0 && a.high == 0 ? 0 : -1;
}

static range truth_range(int known) {
  return known < 0 ? (range){0, 1, false, false} : exactly(known);
}

static range compared(int op, range a, range b) {
  if (a.any || b.any) return truth_range(-1);
  if (a.nan || b.nan) return truth_range(op == EXPR_UNEQUAL);
  bool apart = a.high < b.low || b.high < a.low;
  bool same = a.low == a.high && b.low == b.high && a.low == b.low;
  switch (op) {
  case EXPR_EQUAL: return truth_range(same ? 1 : apart ? 0 : -1);
  case EXPR_UNEQUAL: return truth_range(same ? 0 : apart ? 1 : -1);
  case EXPR_LESS: return truth_range(a.high < b.low ? 1 : a.low >= b.high ? 0 : -1);
  case EXPR_LESS_EQUAL: return truth_range(a.high <= b.low ? 1 : a.low > b.high ? 0 : -1);
  case EXPR_GREATER: return truth_range(a.low > b.high ? 1 : a.high <= b.low ? 0 : -1);
  default: return truth_range(a.low >= b.high ? 1 : a.high < b.low ? 0 : -1);
  }
}

static range hull(range a, range b) {
  if (a.any || b.any) return anything();
  if (a.nan && b.nan) return a;
  if (a.nan || b.nan) return anything();
  return (range){fmin(a.low, b.low), fmax(a.high, b.high), false, false};
}

static range chosen(range c, range a, range b) {
  int known = truth(c);
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
  if (type == LLRT_F64 || type == LLRT_I64 || type == LLRT_BOOL) return x;
  const number_format *f = number_format_of(type);
  return number_value(f, number_code(f, x));
}

static range cast_range(llrt_dtype type, range x, int rounding) {
  if (type == LLRT_BOOL) return truth_range(truth(x));
  if (x.any) return x;
  if (x.nan) return exactly(cast_to(type, (double)NAN, rounding));
  double low = cast_to(type, x.low, rounding), high = cast_to(type, x.high, rounding);
  if (isnan(low) != isnan(high)) return anything();
  return (range){low, high, isnan(low), false};
}

bool reference_allows(llrt_dtype type, range expected, double got) {
  range cast = cast_range(type, expected, EXPR_NEAREST);
  if (cast.any) return true;
  if (cast.nan || isnan(got)) return cast.nan && isnan(got);
  return got >= cast.low && got <= cast.high;
}

/* ---- types ---- */

static int element_type(llrt_dtype type) {
  switch (type) {
  case LLRT_F64: return DOUBLE;
  case LLRT_I64:
  case LLRT_U64:
  case LLRT_U32: return WIDE_WHOLE;
  case LLRT_BOOL: return TRUTH;
  case LLRT_I32:
  case LLRT_I16:
  case LLRT_I8:
  case LLRT_I4:
  case LLRT_U16:
  case LLRT_U8:
  case LLRT_U4: return WHOLE;
  default: return SINGLE;
  }
}

static int meet(const reference *r, const expr_node *node, int first) {
  int best = LITERAL_INTEGER, real = 0, number = 0;
  for (int i = first; i < node->n_args; i++) {
    int type = r->computes[node->arg[i]];
    real |= type == LITERAL_REAL;
    if (type == LITERAL_INTEGER)
      number |= r->value[node->arg[i]]->low != 0 && r->value[node->arg[i]]->low != 1;
    if (type > best) best = type;
  }
  if (best == LITERAL_INTEGER || (best == TRUTH && number)) best = WHOLE;
  return (best == LITERAL_REAL || real) && best < SINGLE ? SINGLE : best;
}

static int type_of(const reference *r, const expr_node *node) {
  const expr_operator_row *row = expr_row_of(node->op);
  int type;
  switch (node->op) {
  case EXPR_TENSOR: return element_type(r->type[node->slot]);
  case EXPR_SCALAR: return element_type((llrt_dtype)r->expr->scalar[node->slot].dtype);
  case EXPR_NUMBER: return LITERAL_REAL;
  case EXPR_INTEGER: return LITERAL_INTEGER;
  case EXPR_POSITION: return WHOLE;
  default: break;
  }
  switch ((expr_typing)row->typing) {
  case EXPR_TYPED_CAST: return element_type((llrt_dtype)node->type);
  case EXPR_TYPED_COMPARED:
  case EXPR_TYPED_TRUTH: return TRUTH;
  case EXPR_TYPED_COUNT: return WHOLE;
  case EXPR_TYPED_CHOICE: return meet(r, node, 1);
  case EXPR_TYPED_SAME: return r->computes[node->arg[0]];
  default: break;
  }
  if (node->op == EXPR_NEGATE && r->computes[node->arg[0]] < TRUTH)
    return r->computes[node->arg[0]];
  type = meet(r, node, 0);
  if (row->typing == EXPR_TYPED_REALS && type < SINGLE) return SINGLE;
  return row->typing == EXPR_TYPED_NUMBERS && type == TRUTH ? WHOLE : type;
}

/* ---- points ---- */

static int64_t count_of(const reference *r, uint32_t axes) {
  int64_t n = 1;
  for (int a = 0; a < AXES; a++)
    if (axes >> a & 1) n *= r->extent[a];
  return n;
}

/* Leading first, then the named axes as they are numbered. */
static int64_t place_of(const reference *r, uint32_t axes, const int64_t *at) {
  int64_t place = 0;
  for (int i = 0; i < AXES; i++) {
    int a = i == 0 ? EXPR_LEADING : i - 1;
    if (axes >> a & 1) place = place * r->extent[a] + at[a];
  }
  return place;
}

static void point_of(const reference *r, uint32_t axes, int64_t place, int64_t *at) {
  memset(at, 0, AXES * sizeof *at);
  for (int i = AXES - 1; i >= 0; i--) {
    int a = i == 0 ? EXPR_LEADING : i - 1;
    if (!(axes >> a & 1)) continue;
    at[a] = place % r->extent[a];
    place /= r->extent[a];
  }
}

int64_t reference_count(const reference *r, int t) { return count_of(r, r->expr->tensor[t].axes); }

/* Element of a tensor in its own order of axes: backwards where they count down. */
static int64_t element_of(const reference *r, int t, const int64_t *at) {
  const expr_tensor *tensor = &r->expr->tensor[t];
  int64_t place = tensor->leading ? at[EXPR_LEADING] : 0;
  for (int i = 0; i < tensor->n_dims; i++)
    for (int j = 0; j < tensor->dim[i].n; j++) {
      int a = tensor->dim[i].axis[j];
      int64_t own = tensor->dim[i].reversed >> j & 1 ? r->extent[a] - 1 - at[a] : at[a];
      place = place * r->extent[a] + own;
    }
  return place;
}

/* The point at which a tensor has element `place`: element_of backwards. */
static void point_of_element(const reference *r, int t, int64_t place, int64_t *at) {
  const expr_tensor *tensor = &r->expr->tensor[t];
  memset(at, 0, AXES * sizeof *at);
  for (int i = tensor->n_dims - 1; i >= 0; i--)
    for (int j = tensor->dim[i].n - 1; j >= 0; j--) {
      int a = tensor->dim[i].axis[j];
      int64_t own = place % r->extent[a];
      at[a] = tensor->dim[i].reversed >> j & 1 ? r->extent[a] - 1 - own : own;
      place /= r->extent[a];
    }
  if (tensor->leading) at[EXPR_LEADING] = place;
}

range reference_element(const reference *r, int t, int64_t at) {
  const expr_tensor *tensor = &r->expr->tensor[t];
  int64_t point[AXES];
  point_of_element(r, t, at, point);
  return r->value[tensor->node][place_of(r, r->expr->node[tensor->node].axes, point)];
}

/* ---- nodes ---- */

static range leaf(const reference *r, const expr_node *node, const int64_t *at) {
  switch (node->op) {
  case EXPR_TENSOR: return exactly(r->input[node->slot][element_of(r, node->slot, at)]);
  case EXPR_SCALAR: return exactly(r->scalar[node->slot]);
  case EXPR_INTEGER: return exactly((double)node->integer);
  case EXPR_POSITION: return exactly((double)at[node->slot]);
  default: return exactly(node->number);
  }
}

/* An argument in the type of the node that uses it. */
static range argument(const reference *r, const expr_node *node, int i, const int64_t *at,
                      int type) {
  const expr_node *own = &r->expr->node[node->arg[i]];
  range x = r->value[node->arg[i]][place_of(r, own->axes, at)];
  int from = r->computes[node->arg[i]];
  if (type == SINGLE && (from == LITERAL_REAL || from == DOUBLE)) {
    if (from == LITERAL_REAL && !x.nan) return exactly((double)(float)x.low);
    return rounded(x, SINGLE, 1);
  }
  if (type == SINGLE && from != SINGLE && !x.any && !x.nan)
    return (range){(double)(float)x.low, (double)(float)x.high, false, false};
  return x;
}

/* What a scan joins as a reduction does. */
static int joining_of(int op) {
  return op == EXPR_CUMSUM    ? EXPR_SUM
         : op == EXPR_CUMPROD ? EXPR_PROD
         : op == EXPR_CUMMAX  ? EXPR_MAX
         : op == EXPR_CUMMIN  ? EXPR_MIN
                              : op;
}

/* The neutral element of max; of min with the other sign, and of whole numbers one less. */
static double least_of(int type) {
  return type == WHOLE ? -0x1p31 : type == WIDE_WHOLE ? -0x1p63 : -(double)INFINITY;
}

static range neutral_of(int op, int type) {
  double least = least_of(type);
  switch (op) {
  case EXPR_PROD:
  case EXPR_ALL: return exactly(1);
  case EXPR_MAX: return exactly(least);
  case EXPR_MIN: return exactly(isinf(least) ? (double)INFINITY : -(least + 1));
  case EXPR_ARGMAX: return exactly(-(double)INFINITY);
  case EXPR_ARGMIN: return exactly((double)INFINITY);
  default: return exactly(0);
  }
}

/* What a factor adds to the largest and to the smallest product of any of them, log2. */
static void add_exponents(range x, double *above, double *below) {
  double most = fmax(fabs(x.low), fabs(x.high)), least = fmin(fabs(x.low), fabs(x.high));
  if (x.low < 0 && x.high > 0) least = 0;
  if (most > 1) *above += log2(most);
  if (x.low == 0 && x.high == 0) return; /* which makes every order 0, or NaN */
  if (least < 1) *below += least > 0 ? -log2(least) : 2000;
}

/* Positions from <= i < end of what the node joins. */
static range joined(const reference *r, const expr_node *node, const int64_t *outer, int64_t from,
                    int64_t end) {
  const expr_node *own = &r->expr->node[node->arg[0]];
  int64_t n = end - from, at[AXES], inner[AXES], best = 0;
  int type = r->computes[node->arg[0]], op = joining_of(node->op), unknown = 0, count = 0;
  double sum = 0, above = 0, below = 0;
  if (op == EXPR_MEAN && type < SINGLE) type = SINGLE;
  range out = neutral_of(op, type == TRUTH || type == LITERAL_INTEGER ? WHOLE : type);
  int64_t first = -1, last = -1;
  bool sum_any = false;
  for (int64_t i = from; i < end; i++) {
    point_of(r, node->reduced, i, inner);
    for (int a = 0; a < AXES; a++) at[a] = node->reduced >> a & 1 ? inner[a] : outer[a];
    range x = r->value[node->arg[0]][place_of(r, own->axes, at)];
    switch (op) {
    case EXPR_SUM:
    case EXPR_MEAN:
      out = corners(plus, out, x);
      if (!x.nan && !x.any) sum += fmax(fabs(x.low), fabs(x.high));
      break;
    case EXPR_PROD:
      out = rounded(product(out, x), type, 1);
      add_exponents(x, &above, &below);
      break;
    case EXPR_MAX: out = corners(larger, out, x); break;
    case EXPR_MIN: out = corners(smaller, out, x); break;
    case EXPR_ANY:
    case EXPR_ALL: {
      int known = truth(x);
      unknown += known < 0;
      count += known == 1;
      break;
    }
    default: { /* the first of those that may be it, and the last */
      range y = op == EXPR_ARGMAX ? x : function(EXPR_NEGATE, x, type);
      range most = out;
      if (i == 0) most = (range){-INFINITY, -INFINITY, false, false};
      sum_any |= y.any;
      if (y.nan && !most.nan) {
        out = y;
        first = last = i;
      } else if (!most.nan && (first < 0 || y.low > most.high)) {
        out = y;
        first = last = i;
      } else if (!most.nan && y.high > most.low) {
        last = i;
        if (y.high > out.high) out.high = y.high;
        if (y.low > out.low) out.low = y.low;
      }
      best = first;
      break;
    }
    }
  }
  if (op == EXPR_ANY) return truth_range(count ? 1 : unknown ? -1 : 0);
  if (op == EXPR_ALL) return truth_range(count + unknown < n ? 0 : unknown ? -1 : 1);
  if (op == EXPR_ARGMAX || op == EXPR_ARGMIN)
    return sum_any ? (range){0, (double)(n - 1), false, false}
                   : (range){(double)best, (double)last, false, false};
  if ((op == EXPR_SUM || op == EXPR_MEAN) && type >= SINGLE && !out.nan && !out.any) {
    double slack = sum * (type == SINGLE ? 0x1p-23 : 0x1p-52) * ((double)n / 16 + 40);
    if (isfinite(out.low)) out.low -= slack;
    if (isfinite(out.high)) out.high += slack;
    if (type == SINGLE && sum > 1e38) out = anything();
  }
  if (op == EXPR_PROD && type >= SINGLE && !out.nan &&
      (above > (type == SINGLE ? 126 : 1022) || below > (type == SINGLE ? 120 : 1000)))
    out = anything(); /* some order overflows, or loses bits */
  if (op != EXPR_MEAN) return out;
  return rounded(quotient(out, exactly((double)n)), type, 1);
}

/* A scan's value at a point. */
static range scanned(const reference *r, const expr_node *node, const int64_t *at) {
  int axis = 0;
  while (!(node->reduced >> axis & 1)) axis++;
  int64_t own = at[axis], past = node->rounding & EXPR_EXCLUSIVE ? 0 : 1;
  if (node->rounding & EXPR_REVERSE) return joined(r, node, at, own + 1 - past, r->extent[axis]);
  return joined(r, node, at, 0, own + past);
}

static double floor_quotient(double a, double b) { return b == 0 ? 0 : floor(a / b); }
static double floor_rest(double a, double b) { return b == 0 ? a : a - floor(a / b) * b; }

static bool is_exact(range x) { return !x.any && !x.nan && x.low == x.high; }

/* Of whole numbers, and of truth. */
static range bits_of(int op, range a, range b, int type) {
  if (!is_exact(a) || !is_exact(b)) return type == TRUTH ? truth_range(-1) : anything();
  int64_t x = (int64_t)a.low, y = (int64_t)b.low;
  switch (op) {
  case EXPR_AND: return exactly((double)(x & y));
  case EXPR_OR: return exactly((double)(x | y));
  case EXPR_XOR: return exactly((double)(x ^ y));
  case EXPR_SHIFT_LEFT: return exactly((double)x * (double)(1ll << (y & 31)));
  default: return exactly((double)(x >> (y & 31)));
  }
}

static range inner(const reference *r, const expr_node *node, const int64_t *at, int type) {
  const expr_operator_row *row = expr_row_of(node->op);
  int of = row->typing == EXPR_TYPED_COMPARED ? meet(r, node, 0) : type;
  int64_t moved[AXES];
  if (row->family == EXPR_MOVE) {
    memcpy(moved, at, sizeof moved);
    moved[node->slot] =
        node->op == EXPR_FLIP ? r->extent[node->slot] - 1 - at[node->slot] : node->integer;
    return r->value[node->arg[0]][place_of(r, r->expr->node[node->arg[0]].axes, moved)];
  }
  if (node->op == EXPR_CAST) {
    range x = r->value[node->arg[0]][place_of(r, r->expr->node[node->arg[0]].axes, at)];
    if (node->type == LLRT_BOOL) return truth_range(truth(x));
    if (node->type == LLRT_E8M0) x = argument(r, node, 0, at, SINGLE);
    return cast_range((llrt_dtype)node->type, x, node->rounding);
  }
  range a = argument(r, node, 0, at, of), b, c;
  if (node->n_args == 1) return function(node->op, a, type);
  b = argument(r, node, 1, at, of);
  if (row->typing == EXPR_TYPED_COMPARED) return compared(node->op, a, b);
  switch (node->op) {
  case EXPR_ADD: return rounded(corners(plus, a, b), type, 1);
  case EXPR_SUBTRACT: return rounded(corners(minus, a, b), type, 1);
  case EXPR_MULTIPLY: return rounded(product(a, b), type, 1);
  case EXPR_DIVIDE: return rounded(quotient(a, b), type, 1);
  case EXPR_MAXIMUM: return corners(larger, a, b);
  case EXPR_MINIMUM: return corners(smaller, a, b);
  case EXPR_FLOOR_DIVIDE:
  case EXPR_MODULO:
    if (!is_exact(a) || !is_exact(b)) return anything();
    return corners(node->op == EXPR_MODULO ? floor_rest : floor_quotient, a, b);
  case EXPR_XOR:
  case EXPR_SHIFT_LEFT:
  case EXPR_SHIFT_RIGHT: return bits_of(node->op, a, b, type);
  case EXPR_AND:
    if (type != TRUTH) return bits_of(node->op, a, b, type);
    return truth_range(truth(a) == 0 || truth(b) == 0 ? 0 : truth(a) < 0 || truth(b) < 0 ? -1 : 1);
  case EXPR_OR:
    if (type != TRUTH) return bits_of(node->op, a, b, type);
    return truth_range(truth(a) == 1 || truth(b) == 1 ? 1 : truth(a) < 0 || truth(b) < 0 ? -1 : 0);
  default: break;
  }
  c = argument(r, node, 2, at, of);
  if (node->op == EXPR_WHERE) return chosen(argument(r, node, 0, at, TRUTH), b, c);
  bool zeros = around_zero(a) || around_zero(b) || around_zero(c);
  if (is_exact(a) && is_exact(b) && is_exact(c) && !zeros) /* f64's product is not one in double */
    return rounded(exactly(fma(a.low, b.low, c.low)), type, 1);
  range ab = product(a, b);
  if (type == DOUBLE && !ab.any && !ab.nan && isfinite(ab.low) && isfinite(ab.high))
    ab = rounded(ab, type, 1);
  return rounded(corners(plus, ab, c), type, 1);
}

/* Whole numbers have one zero, and may be anything once they have wrapped. */
static range one_zero(range x, int type) {
  bool whole = type == LITERAL_INTEGER || (type >= TRUTH && type <= WIDE_WHOLE);
  bool wrapped = whole && (type == WHOLE ? x.low < -0x1p31 || x.high >= 0x1p31
                                         : x.low < -0x1p53 || x.high > 0x1p53);
  if (wrapped && !(type == WIDE_WHOLE && x.low == -0x1p63 && x.low == x.high)) return anything();
  return whole ? (range){x.low + 0.0, x.high + 0.0, x.nan, x.any} : x;
}

void reference_run(reference *r) {
  for (int i = 0; i < r->expr->n_nodes; i++) {
    const expr_node *node = &r->expr->node[i];
    int64_t n = count_of(r, node->axes), at[AXES];
    r->computes[i] = type_of(r, node);
    r->value[i] = malloc((size_t)(n ? n : 1) * sizeof *r->value[i]);
    for (int64_t k = 0; k < n; k++) {
      point_of(r, node->axes, k, at);
      range *out = &r->value[i][k];
      if (node->n_args == 0) *out = leaf(r, node, at);
      else if (expr_row_of(node->op)->family == EXPR_SCAN) *out = scanned(r, node, at);
      else if (node->reduced) *out = joined(r, node, at, 0, count_of(r, node->reduced));
      else *out = inner(r, node, at, r->computes[i]);
      *out = one_zero(*out, r->computes[i]);
    }
  }
}

void reference_fini(reference *r) {
  for (int i = 0; i < r->expr->n_nodes; i++) free(r->value[i]);
}
