/* Functions of expressions beside the C library's in double: the largest error in units of the last
 * place of f32. LLRT_TEST_STRIDE patterns apart (1: all 2^32; preset 4099), LLRT_TEST_FUNCTION
 * names one function, LLRT_TEST_SHOW prints the table of docs/expressions.md. Emulated GPUs give
 * the same bits as the host. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (1 << 20)

static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static double silu_of(double x) { return x == -(double)INFINITY ? -0.0 : x / (1 + exp(-x)); }
static double gelu_of(double x) {
  return x == -(double)INFINITY ? -0.0 : x * erfc(-x / sqrt(2)) / 2;
}
static double rsqrt_of(double x) { return 1 / sqrt(x); }
static double rcp_of(double x) { return 1 / x; }

static const struct {
  const char *name;
  double (*exact)(double);
  double most; /* ulp */
} functions[] = {
    {"exp", exp, 2},          {"exp2", exp2, 2},       {"log", log, 2},
    {"log2", log2, 2},        {"sin", sin, 2},         {"cos", cos, 2},
    {"tanh", tanh, 2},        {"erf", erf, 2},         {"sigmoid", sigmoid_of, 2.5},
    {"silu", silu_of, 3},     {"gelu", gelu_of, 3},    {"sqrt", sqrt, 0.5},
    {"rsqrt", rsqrt_of, 1.5}, {"rcp", rcp_of, 0.5},    {"floor", floor, 0},
    {"ceil", ceil, 0},        {"round", nearbyint, 0},
};
#define N_FUNCTIONS (sizeof functions / sizeof *functions)

static const char *const gpus[] = {"cuda-emu:sm_80", "cuda-emu:sm_90a", "hip-emu:gfx90a",
                                   "hip-emu:gfx942"};
enum { GPUS = sizeof gpus / sizeof *gpus };

static void run_function(llrt_device *device, const char *name, const float *x, float *y,
                         int64_t n) {
  char text[100];
  llrt_expr *expr;
  void *from, *to;
  snprintf(text, sizeof text, "(x[n]) -> (y[n]) { y = %s(x) }", name);
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK);
  size_t bytes = (size_t)n * sizeof *x;
  cr_assert_eq(llrt_memory_allocate(device, bytes, &from), LLRT_OK);
  cr_assert_eq(llrt_memory_allocate(device, bytes, &to), LLRT_OK);
  cr_assert_eq(llrt_memory_copy(device, from, x, bytes, LLRT_COPY_TO_DEVICE, NULL), LLRT_OK);
  llrt_tensor in = {.data = from, .dtype = LLRT_F32, .rank = 1, .shape = {n}, .device = device},
              out = in;
  out.data = to;
  llrt_arg args[] = {{.name = "x", .tensor = &in}, {.name = "y", .tensor = &out}};
  cr_assert_eq(llrt_compute_into(expr, args, 2, NULL, NULL), LLRT_OK, "%s: %s", name,
               llrt_last_error());
  cr_assert_eq(llrt_memory_copy(device, y, to, bytes, LLRT_COPY_FROM_DEVICE, NULL), LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
  llrt_memory_free(device, from);
  llrt_memory_free(device, to);
  llrt_expr_destroy(&expr);
}

/* The distance of y from what is exact, in units of the last place of that in f32. */
static double ulps(float y, double exact) {
  float near = (float)exact;
  if (isnan(exact) || isnan(y)) return isnan(exact) && isnan(y) ? 0 : INFINITY;
  if (isinf(near) || isinf(y))
    return near == y ? 0 : isinf(exact) || fabs(exact) < 3.3e38 ? INFINITY : 1;
  int exponent = exact == 0 ? -126 : ilogb(exact) < -126 ? -126 : ilogb(exact);
  return fabs((double)y - exact) / ldexp(1, exponent - 23);
}

Test(functions, error) {
  static float x[PIECE], y[PIECE];
  const char *given = getenv("LLRT_TEST_STRIDE"), *only = getenv("LLRT_TEST_FUNCTION");
  uint64_t stride = given ? strtoull(given, NULL, 10) : 4099;
  llrt_device *host = trial_device("host");
  for (size_t f = 0; f < N_FUNCTIONS; f++) {
    double worst = 0;
    float at = 0;
    if (only && strcmp(only, functions[f].name) != 0) continue;
    for (uint64_t first = 0; first < 1ull << 32; first += PIECE * stride) {
      int n = 0;
      for (uint64_t code = first; n < PIECE && code < 1ull << 32; code += stride, n++) {
        uint32_t bits = (uint32_t)code;
        memcpy(&x[n], &bits, sizeof bits);
      }
      run_function(host, functions[f].name, x, y, n);
      for (int i = 0; i < n; i++) {
        double error = ulps(y[i], functions[f].exact((double)x[i]));
        if (error > worst) worst = error, at = x[i];
      }
    }
    if (getenv("LLRT_TEST_SHOW"))
      printf("| `%s` | %.2f | %.9g |\n", functions[f].name, worst, (double)at);
    cr_expect_leq(worst, functions[f].most + 1e-6, "%s(%.9g) is off by %g ulp", functions[f].name,
                  (double)at, worst);
  }
}

Test(functions, same_bits_everywhere) {
  static float x[2048], y[2048], own[2048];
  for (int i = 0; i < 2048; i++) {
    uint32_t bits = (uint32_t)i * 2097143u;
    memcpy(&x[i], &bits, sizeof bits);
    if (i < 512) x[i] = (float)(i - 256) / 16;
  }
  for (size_t f = 0; f < N_FUNCTIONS; f++) {
    run_function(trial_device("host"), functions[f].name, x, y, 2048);
    for (int d = 0; d < GPUS; d++) {
      run_function(trial_device(gpus[d]), functions[f].name, x, own, 2048);
      for (int i = 0; i < 2048; i++)
        cr_assert((isnan(y[i]) && isnan(own[i])) || memcmp(&y[i], &own[i], sizeof y[i]) == 0,
                  "%s(%.9g) on %s: %.9g, on the host %.9g", functions[f].name, (double)x[i],
                  gpus[d], (double)own[i], (double)y[i]);
    }
  }
}

/* Numbers of which GPUs take fewer instructions, in all lanes and registers. */
Test(functions, same_bits_of_moderate_numbers) {
  static float x[2048], y[2048], own[2048];
  for (int i = 0; i < 2048; i++) x[i] = (float)((i * 7919) % 2048 - 1024) / 25;
  for (size_t f = 0; f < N_FUNCTIONS; f++) {
    run_function(trial_device("host"), functions[f].name, x, y, 2048);
    for (int d = 0; d < GPUS; d++) {
      run_function(trial_device(gpus[d]), functions[f].name, x, own, 2048);
      for (int i = 0; i < 2048; i++)
        cr_assert((isnan(y[i]) && isnan(own[i])) || memcmp(&y[i], &own[i], sizeof y[i]) == 0,
                  "%s(%.9g) on %s: %.9g, on the host %.9g", functions[f].name, (double)x[i],
                  gpus[d], (double)own[i], (double)y[i]);
    }
  }
}

/* Rows of 512 numbers over one each: the same as C's division, whatever is among them. The later
 * rows are moderate. */
enum { ROWS = 16, COLUMNS = 512 };
static float over[ROWS], numbers[ROWS * COLUMNS], quotients[ROWS * COLUMNS];

static void draw_quotients(void) {
  static const float by[ROWS] = {3,        0.7f,       1e-30f,   1e30f,   0,        -5,
                                 INFINITY, (float)NAN, 16777215, 1.f / 3, 0x1p-60f, 0x1p24f,
                                 448,      1.9999999f, 1,        7};
  uint32_t state = 1;
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    state = state * 1664525u + 1013904223u;
    float x = ldexpf((float)(int32_t)(state & 0xFFFFFFu) - 8388608, (int)(state >> 26) - 50);
    static const float rare[] = {0, -0.0f, INFINITY, (float)NAN, 0x1p-140f, 3e38f};
    bool special = i / COLUMNS < ROWS / 2 && i % 97 == 3;
    numbers[i] = i % 31 == 5 ? (i % 2 ? 0 : -0.0f) : special ? rare[i % 6] : x;
  }
  memcpy(over, by, sizeof over);
}

static void divide_on(llrt_device *device) {
  llrt_expr *expr;
  llrt_tensor t[3] = {{.rank = 2, .shape = {ROWS, COLUMNS}}, {.rank = 1, .shape = {ROWS}}};
  void *host[3] = {numbers, over, quotients};
  llrt_arg args[3] = {{.name = "x"}, {.name = "w"}, {.name = "y"}};
  t[2] = t[0];
  cr_assert_eq(llrt_expr_parse("(x[t n], w[t]) -> (y[t n]) { y = x / w }", &expr), LLRT_OK);
  for (int i = 0; i < 3; i++) {
    size_t bytes = i == 1 ? sizeof over : sizeof numbers;
    t[i].dtype = LLRT_F32;
    t[i].device = device;
    args[i].tensor = &t[i];
    cr_assert_eq(llrt_memory_allocate(device, bytes, &t[i].data), LLRT_OK);
    llrt_memory_copy(device, t[i].data, host[i], bytes, LLRT_COPY_TO_DEVICE, NULL);
  }
  cr_assert_eq(llrt_compute_into(expr, args, 3, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  llrt_memory_copy(device, quotients, t[2].data, sizeof quotients, LLRT_COPY_FROM_DEVICE, NULL);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
  for (int i = 0; i < 3; i++) llrt_memory_free(device, t[i].data);
  llrt_expr_destroy(&expr);
}

Test(functions, quotients_by_one) {
  draw_quotients();
  for (int d = 0; d < GPUS; d++) {
    divide_on(trial_device(gpus[d]));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
      float x = numbers[i], y = over[i / COLUMNS], right = x / y;
      cr_assert((isnan(right) && isnan(quotients[i])) ||
                    memcmp(&right, &quotients[i], sizeof right) == 0,
                "%a / %a on %s: %a, not %a", (double)x, (double)y, gpus[d], (double)quotients[i],
                (double)right);
    }
  }
}
