/* See function_errors.h. */
#include "tests/expression/function_errors.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static double silu_of(double x) { return x == -(double)INFINITY ? -0.0 : x / (1 + exp(-x)); }
static double gelu_of(double x) {
  return x == -(double)INFINITY ? -0.0 : x * erfc(-x / sqrt(2)) / 2;
}
static double rsqrt_of(double x) { return 1 / sqrt(x); }
static double rcp_of(double x) { return 1 / x; }

const function_row *function_row_of(int number) {
  static const function_row rows[] = {
      {"exp", exp, 2.1, true},
      {"exp2", exp2, 2.1, true},
      {"log", log, 2, false},
      {"log2", log2, 2, false},
      {"sin", sin, 2, false},
      {"cos", cos, 2, false},
      {"tanh", tanh, 2, true},
      {"erf", erf, 2, true},
      {"sigmoid", sigmoid_of, 2.5, false},
      {"silu", silu_of, 3, false},
      {"gelu", gelu_of, 3, false},
      {"sqrt", sqrt, 0.5, false},
      {"rsqrt", rsqrt_of, 1.5, false},
      {"rcp", rcp_of, 0.5, false},
      {"floor", floor, 0, false},
      {"ceil", ceil, 0, false},
      {"round", nearbyint, 0, false},
  };
  return number < (int)(sizeof rows / sizeof *rows) ? &rows[number] : NULL;
}

static llrt_status run_on(const llrt_expr *expr, void *from, void *to, llrt_device *device,
                          const float *x, float *y, int64_t n) {
  size_t bytes = (size_t)n * sizeof *x;
  llrt_tensor in = {.data = from, .dtype = LLRT_F32, .rank = 1, .shape = {n}, .device = device},
              out = in;
  out.data = to;
  llrt_arg args[] = {{.name = "x", .tensor = &in}, {.name = "y", .tensor = &out}};
  LLRT_TRY(llrt_memory_copy(device, from, x, bytes, LLRT_COPY_TO_DEVICE, NULL));
  LLRT_TRY(llrt_compute_into(expr, args, 2, NULL, NULL));
  LLRT_TRY(llrt_memory_copy(device, y, to, bytes, LLRT_COPY_FROM_DEVICE, NULL));
  return llrt_stream_synchronize(device, NULL);
}

llrt_status function_run(llrt_device *device, const char *name, const float *x, float *y,
                         int64_t n) {
  char text[100];
  llrt_expr *expr = NULL;
  void *from = NULL, *to = NULL;
  size_t bytes = (size_t)n * sizeof *x;
  snprintf(text, sizeof text, "(x[n]) -> (y[n]) { y = %s(x) }", name);
  llrt_status status = llrt_expr_parse(text, &expr);
  if (status == LLRT_OK) status = llrt_memory_allocate(device, bytes, &from);
  if (status == LLRT_OK) status = llrt_memory_allocate(device, bytes, &to);
  if (status == LLRT_OK) status = run_on(expr, from, to, device, x, y, n);
  if (from) llrt_memory_free(device, from);
  if (to) llrt_memory_free(device, to);
  llrt_expr_destroy(&expr);
  return status;
}

/* The distance of y from what is exact, in units of the last place of that in f32. */
static double ulps(float y, double exact) {
  float near = (float)exact;
  if (isnan(exact) || isnan(y)) return isnan(exact) && isnan(y) ? 0 : INFINITY;
  if (y == 0 && near == 0 && !signbit(y) != !signbit(near)) return INFINITY;
  if (isinf(near) || isinf(y))
    return near == y ? 0 : isinf(exact) || fabs(exact) < 3.3e38 ? INFINITY : 1;
  int exponent = exact == 0 ? -126 : ilogb(exact) < -126 ? -126 : ilogb(exact);
  return fabs((double)y - exact) / ldexp(1, exponent - 23);
}

llrt_status function_errors(llrt_device *device, const function_row *row, uint64_t first,
                            uint64_t stride, int64_t n, float *x, float *y, double *worst,
                            float *at) {
  int64_t made = 0;
  for (uint64_t code = first; made < n && code < 1ull << 32; code += stride, made++) {
    uint32_t bits = (uint32_t)code;
    memcpy(&x[made], &bits, sizeof bits);
  }
  LLRT_TRY(function_run(device, row->name, x, y, made));
  for (int64_t i = 0; i < made; i++) {
    double exact = row->exact((double)x[i]);
    /* What is rounded correctly is off by half a unit at most. */
    if (*worst >= 0.5 && y[i] == (float)exact && y[i] != 0) continue;
    double error = ulps(y[i], exact);
    if (error > *worst) *worst = error, *at = x[i];
  }
  return LLRT_OK;
}
