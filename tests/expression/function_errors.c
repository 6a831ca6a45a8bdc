/* See function_errors.h. */
#include "tests/expression/function_errors.h"

#include "tests/expression/function_smooth.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- many patterns ---- */

llrt_status function_sweep_begin(function_sweep *s, llrt_device *device, const function_row *row,
                                 int64_t room) {
  char text[140];
  snprintf(text, sizeof text,
           "(first: i32, stride: i32) -> (y[n]: f32) { y = %s(bitcast(n * stride + first, f32)) }",
           row->name);
  *s = (function_sweep){.device = device, .row = row, .room = room};
  s->y = malloc((size_t)room * sizeof *s->y);
  s->error = malloc(SMOOTH_BLOCK * sizeof *s->error);
  if (!s->y || !s->error) return llrt_error(LLRT_OUT_OF_MEMORY, "results of %s", row->name);
  LLRT_TRY(llrt_expr_parse(text, &s->expr));
  return llrt_memory_allocate(device, (size_t)room * sizeof *s->y, &s->memory);
}

void function_sweep_end(function_sweep *s) {
  if (s->memory) llrt_memory_free(s->device, s->memory);
  llrt_expr_destroy(&s->expr);
  free(s->y);
  free(s->error);
}

/* y of n patterns. */
static llrt_status sweep_run(function_sweep *s, uint64_t first, uint64_t stride, int64_t n) {
  llrt_tensor y = {
      .data = s->memory, .dtype = LLRT_F32, .rank = 1, .shape = {n}, .device = s->device};
  llrt_arg args[] = {{.name = "first", .integer = (int32_t)(uint32_t)first},
                     {.name = "stride", .integer = (int32_t)stride},
                     {.name = "y", .tensor = &y}};
  LLRT_TRY(llrt_compute_into(s->expr, args, 3, NULL, NULL));
  LLRT_TRY(llrt_memory_copy(s->device, s->y, s->memory, (size_t)n * sizeof *s->y,
                            LLRT_COPY_FROM_DEVICE, NULL));
  return llrt_stream_synchronize(s->device, NULL);
}

static float number_of(uint64_t code) {
  uint32_t bits = (uint32_t)code;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* One number, by the C library. */
static void look(const function_sweep *s, float x, float y, function_worst *worst) {
  double exact = s->row->exact((double)x);
  /* What is rounded correctly is off by half a unit at most. */
  if (y != 0 && ((double)y == exact || (worst->ulp >= 0.5 && y == (float)exact))) return;
  double error = ulps(y, exact);
  if (error > worst->ulp) *worst = (function_worst){error, x};
}

/* SMOOTH_BLOCK numbers: those alone by the C library that may be worse than the worst. */
static void look_at_block(const function_sweep *s, uint64_t first, uint64_t stride, const float *y,
                          function_worst *worst) {
  double from = (double)number_of(first), largest,
         step =
             ((double)number_of(first + (SMOOTH_BLOCK - 1) * stride) - from) / (SMOOTH_BLOCK - 1);
  bool even = first >> 23 == (first + (SMOOTH_BLOCK - 1) * stride) >> 23; /* in one binade */
  bool smooth = even && smooth_errors(s->row->exact, from, step, y, s->error, &largest);
  if (smooth && largest <= worst->ulp - SMOOTH_SLACK) return;
  for (uint64_t i = 0; i < SMOOTH_BLOCK; i++)
    if (!smooth || !(s->error[i] <= worst->ulp - SMOOTH_SLACK))
      look(s, number_of(first + i * stride), y[i], worst);
}

llrt_status function_sweep_piece(function_sweep *s, uint64_t first, uint64_t stride,
                                 function_worst *worst) {
  uint64_t n = ((1ull << 32) - first + stride - 1) / stride, i = 0;
  if (n > (uint64_t)s->room) n = (uint64_t)s->room;
  LLRT_TRY(sweep_run(s, first, stride, (int64_t)n));
  for (; i + SMOOTH_BLOCK <= n; i += SMOOTH_BLOCK)
    look_at_block(s, first + i * stride, stride, s->y + i, worst);
  for (; i < n; i++) look(s, number_of(first + i * stride), s->y[i], worst);
  return LLRT_OK;
}
