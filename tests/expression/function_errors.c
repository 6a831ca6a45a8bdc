/* See function_errors.h. */
#include "tests/expression/function_errors.h"

#include "tests/expression/function_smooth.h"

#include "base/status.h"
#include "expression/program_narrow.h"

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
      {"exp", exp, 2.1, true, true},
      {"exp2", exp2, 2.1, true, true},
      {"log", log, 2, false, false},
      {"log2", log2, 2, false, false},
      {"sin", sin, 2, false, false},
      {"cos", cos, 2, false, false},
      {"tanh", tanh, 2, true, false},
      {"erf", erf, 2, true, false},
      {"sigmoid", sigmoid_of, 2.5, false, true},
      {"silu", silu_of, 3, false, true},
      {"gelu", gelu_of, 3, false, true},
      {"sqrt", sqrt, 0.5, false, false},
      {"rsqrt", rsqrt_of, 1.5, false, false},
      {"rcp", rcp_of, 0.5, false, false},
      {"floor", floor, 0, false, false},
      {"ceil", ceil, 0, false, false},
      {"round", nearbyint, 0, false, false},
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

/* ---- units ---- */

/* Bits of the significand, the exponent of the smallest normal number, the largest number. */
typedef struct places {
  int bits, lowest;
  double largest;
} places;

static places places_of(llrt_dtype type) {
  if (type == LLRT_BF16) return (places){8, -126, 0x1.FEp127};
  if (type == LLRT_F16) return (places){11, -14, 65504};
  return (places){24, -126, 0x1.FFFFFEp127};
}

static double unit_at(places p, double exact) {
  int exponent = exact == 0 || ilogb(exact) < p.lowest ? p.lowest : ilogb(exact);
  return ldexp(1, exponent - (p.bits - 1));
}

double function_most(const function_row *row, llrt_dtype type) {
  /* A number is less than 2^bits of its units. */
  if (type == LLRT_F32) return row->most;
  return 0.5 + ldexp(PROGRAM_NARROW_ERROR, places_of(type).bits);
}

/* A number of the type, where infinities stand one unit behind the largest. */
static double number_in(places p, double x) {
  double beyond = p.largest + unit_at(p, p.largest);
  return fabs(x) >= beyond ? copysign(beyond, x) : x;
}

/* The distance of y from what is exact, in units of the last place of that. */
static double units_off(llrt_dtype type, float y, double exact) {
  places p = places_of(type);
  if (isnan(exact) || isnan(y)) return isnan(exact) && isnan(y) ? 0 : INFINITY;
  bool is_zero = y == 0 && fabs(exact) <= unit_at(p, 0) / 2;
  if (is_zero && !signbit(y) != !signbit(exact)) return INFINITY;
  if (type != LLRT_F32 && fabs(exact) < PROGRAM_NARROW_LEAST)
    if (fabs((double)y) <= PROGRAM_NARROW_LEAST)
      return !signbit(y) == !signbit(exact) ? 0 : INFINITY;
  double unit = unit_at(p, fmin(fabs(exact), p.largest));
  return fabs(number_in(p, (double)y) - number_in(p, exact)) / unit;
}

/* ---- many patterns ---- */

llrt_status function_sweep_begin(function_sweep *s, llrt_device *device, const function_row *row,
                                 llrt_dtype type, int64_t room) {
  char text[140];
  const char *rounded = type == LLRT_BF16 ? "bf16" : type == LLRT_F16 ? "f16" : "f32";
  snprintf(text, sizeof text,
           "(first: i32, stride: i32) -> (y[n]: f32) { x = bitcast(n * stride + first, f32); "
           "y = %s(%s(x)) }",
           rounded, row->name);
  *s = (function_sweep){.device = device, .row = row, .type = type, .room = room};
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
  bool nearest = s->type == LLRT_F32 && worst->ulp >= 0.5 && y == (float)exact;
  if (y != 0 && ((double)y == exact || nearest)) return;
  double error = units_off(s->type, y, exact);
  if (error > worst->ulp) *worst = (function_worst){error, x};
}

/* Whether all numbers have as many bits in the sweep's type as in f32, but for those that it lacks
 * behind them: none is below its normal numbers or above them. */
static bool are_normal(const function_sweep *s, double from, double to) {
  places p = places_of(s->type);
  double least = fmin(fabs(from), fabs(to)), most = fmax(fabs(from), fabs(to));
  return s->type == LLRT_F32 || (least >= ldexp(1, p.lowest + 1) && most <= p.largest / 2);
}

/* SMOOTH_BLOCK numbers: those alone by the C library that may be worse than the worst. */
static void look_at_block(const function_sweep *s, uint64_t first, uint64_t stride, const float *y,
                          function_worst *worst) {
  uint64_t last = first + (SMOOTH_BLOCK - 1) * stride;
  double from = (double)number_of(first), to = (double)number_of(last),
         step = (to - from) / (SMOOTH_BLOCK - 1), largest,
         unit = ldexp(1, places_of(s->type).bits - 24); /* of f32 in units of the type */
  bool even = first >> 23 == last >> 23;                /* in one binade */
  bool smooth = even && are_normal(s, s->row->exact(from), s->row->exact(to)) &&
                smooth_errors(s->row->exact, from, step, y, s->error, &largest);
  double enough = worst->ulp / unit - SMOOTH_SLACK;
  if (smooth && largest <= enough) return;
  for (uint64_t i = 0; i < SMOOTH_BLOCK; i++)
    if (!smooth || !(s->error[i] <= enough)) look(s, number_of(first + i * stride), y[i], worst);
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
