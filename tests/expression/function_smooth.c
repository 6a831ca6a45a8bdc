/* See function_smooth.h. */
#include "tests/expression/function_smooth.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { NODES = 8 };

/* Chebyshev's points of 0 to SMOOTH_BLOCK - 1, to whole numbers, and points far from them. */
static const int node_at[NODES] = {39, 345, 910, 1648, 2447, 3185, 3750, 4056};
static const int check_at[] = {0, 180, 1270, 2048, 2830, 3480, SMOOTH_BLOCK - 1};

/* Newton's form: c[0] + (i - node_at[0]) (c[1] + (i - node_at[1]) (c[2] + ...)). */
static void interpolate(double c[NODES]) {
  for (int k = 1; k < NODES; k++)
    for (int j = NODES - 1; j >= k; j--)
      c[j] = (c[j] - c[j - 1]) / (double)(node_at[j] - node_at[j - k]);
}

static inline double value_at(const double c[NODES], double i) {
  double value = c[NODES - 1];
  for (int k = NODES - 2; k >= 0; k--) value = value * (i - node_at[k]) + c[k];
  return value;
}

/* Whether it is a number of f32 with all bits. */
static bool is_normal(double x) { return fabs(x) >= 0x1p-125 && fabs(x) <= 0x1p127; }

/* False where it is none of the polynomials that are wanted. */
static bool fit(double (*f)(double), double from, double step, double c[NODES]) {
  for (int k = 0; k < NODES; k++) {
    c[k] = f(from + step * node_at[k]);
    if (!is_normal(c[k]) || signbit(c[k]) != signbit(c[0])) return false;
  }
  interpolate(c);
  for (size_t k = 0; k < sizeof check_at / sizeof *check_at; k++) {
    double exact = f(from + step * check_at[k]);
    if (!is_normal(exact) || signbit(exact) != signbit(c[0])) return false;
    if (!(fabs(value_at(c, check_at[k]) - exact) <= fabs(exact) * 0x1p-24 * SMOOTH_SLACK / 8))
      return false;
  }
  return true;
}

/* 1 over a unit of the last place that x has in f32. */
static inline double units_of(double x) {
  uint64_t bits;
  double out;
  memcpy(&bits, &x, sizeof bits);
  bits = ((uint64_t)(2 * 1023 + 23) << 52) - (bits & 0x7FF0000000000000u);
  memcpy(&out, &bits, sizeof out);
  return out;
}

bool smooth_errors(double (*f)(double), double from, double step, const float *y, double *error,
                   double *largest) {
  double c[NODES], most = 0;
  if (!fit(f, from, step, c)) return false;
  for (int i = 0; i < SMOOTH_BLOCK; i++) {
    double exact = value_at(c, i);
    error[i] = fabs((double)y[i] - exact) * units_of(exact);
  }
  for (int i = 0; i < SMOOTH_BLOCK; i++) most = error[i] <= most ? most : error[i];
  *largest = most;
  return true;
}
