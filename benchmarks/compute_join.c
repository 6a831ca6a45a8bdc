/* See compute_join.h. */
#include "compute_join.h"

#include <math.h>

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
  case EXPR_ALL: return range_exactly(1);
  case EXPR_MAX: return range_exactly(least);
  case EXPR_MIN: return range_exactly(isinf(least) ? (double)INFINITY : -(least + 1));
  case EXPR_ARGMAX: return range_exactly(-(double)INFINITY);
  case EXPR_ARGMIN: return range_exactly((double)INFINITY);
  default: return range_exactly(type < SINGLE ? 0 : -0.0); /* of nothing: join_value */
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

void join_begin(joiner *j, int op, int type) {
  *j = (joiner){.op = joining_of(op), .type = type, .first = -1, .last = -1};
  if (j->op == EXPR_MEAN && type < SINGLE) j->type = SINGLE;
  j->so_far = neutral_of(j->op, j->type == TRUTH || j->type == LITERAL_INTEGER ? WHOLE : j->type);
}

/* The first of those that may be the largest, and the last. */
static void add_extreme(joiner *j, range x) {
  range y = j->op == EXPR_ARGMAX ? x : range_function(EXPR_NEGATE, x, j->type), *most = &j->so_far;
  if (j->n == 0) *most = (range){-INFINITY, -INFINITY, false, false};
  j->any |= y.any;
  if (most->nan) return;
  if (y.nan || j->first < 0 || y.low > most->high) {
    *most = y;
    j->first = j->last = j->n;
  } else if (y.high > most->low) {
    j->last = j->n;
    if (y.high > most->high) most->high = y.high;
    if (y.low > most->low) most->low = y.low;
  }
}

/* Of whole numbers a product with 0 is 0, whatever has wrapped before. */
static void add_factor(joiner *j, range x) {
  bool whole = j->type < SINGLE, zero = x.low == 0 && x.high == 0 && !x.any && !x.nan;
  if (whole && zero) j->so_far = range_exactly(0);
  else if (whole) j->so_far = range_whole(range_product(j->so_far, x));
  else j->so_far = range_rounded(range_product(j->so_far, x), j->type, 1);
  add_exponents(x, &j->above, &j->below);
}

void join_add(joiner *j, range x) {
  int known = range_truth(x);
  switch (j->op) {
  case EXPR_SUM:
  case EXPR_MEAN:
    j->so_far = range_corners(range_plus, j->so_far, x);
    if (j->type < SINGLE) j->so_far = range_whole(j->so_far);
    if (!x.nan && !x.any) j->sum += fmax(fabs(x.low), fabs(x.high));
    break;
  case EXPR_PROD: add_factor(j, x); break;
  case EXPR_MAX: j->so_far = range_corners(range_larger, j->so_far, x); break;
  case EXPR_MIN: j->so_far = range_corners(range_smaller, j->so_far, x); break;
  case EXPR_ANY:
  case EXPR_ALL:
    j->open_ones += known < 0;
    j->true_ones += known == 1;
    break;
  default: add_extreme(j, x); break;
  }
  j->n++;
}

static range sum_of(const joiner *j) {
  range out = j->so_far;
  if (j->n == 0) return range_exactly(0);
  if (j->type < SINGLE || out.nan || out.any) return out;
  double slack = j->sum * (j->type == SINGLE ? 0x1p-23 : 0x1p-52) * ((double)j->n / 16 + 40);
  if (isfinite(out.low)) out.low -= slack;
  if (isfinite(out.high)) out.high += slack;
  return j->type == SINGLE && j->sum > 1e38 ? range_anything() : out;
}

/* Some order overflows, or loses bits. */
static bool order_matters(const joiner *j) {
  return j->type >= SINGLE && (j->above > (j->type == SINGLE ? 126 : 1022) ||
                               j->below > (j->type == SINGLE ? 120 : 1000));
}

range join_value(const joiner *j) {
  switch (j->op) {
  case EXPR_ANY: return range_of_truth(j->true_ones ? 1 : j->open_ones ? -1 : 0);
  case EXPR_ALL:
    return range_of_truth(j->true_ones + j->open_ones < j->n ? 0 : j->open_ones ? -1 : 1);
  case EXPR_ARGMAX:
  case EXPR_ARGMIN:
    if (j->n == 0) return range_exactly(0);
    return j->any ? (range){0, (double)(j->n - 1), false, false}
                  : (range){(double)(j->first < 0 ? 0 : j->first), (double)j->last, false, false};
  case EXPR_SUM: return sum_of(j);
  case EXPR_MEAN:
    return range_rounded(range_quotient(sum_of(j), range_exactly((double)j->n)), j->type, 1);
  case EXPR_PROD: return order_matters(j) && !j->so_far.nan ? range_anything() : j->so_far;
  default: return j->so_far;
  }
}
