/* Functions of expressions beside the C library's in double: the largest error in units of the last
 * place of f32. LLRT_TEST_STRIDE patterns apart (1: all 2^32; preset 4099), LLRT_TEST_FUNCTION
 * names one function, LLRT_TEST_SHOW prints the table of docs/expressions.md. Emulated GPUs give
 * the same bits as the host, but for functions that NVIDIA's make by tables. */
#include "tests/expression/compute_trial.h"
#include "tests/expression/function_errors.h"
#include "tests/expression/function_smooth.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (1 << 20)

static const char *const gpus[] = {"cuda-emu:sm_80", "cuda-emu:sm_90a", "hip-emu:gfx90a",
                                   "hip-emu:gfx942"};
enum { GPUS = sizeof gpus / sizeof *gpus };

static void run_function(llrt_device *device, const char *name, const float *x, float *y,
                         int64_t n) {
  cr_assert_eq(function_run(device, name, x, y, n), LLRT_OK, "%s: %s", name, llrt_last_error());
}

/* The error of a function over patterns `stride` apart, zeros, infinities and powers of two. */
static void check_error(llrt_device *device, const function_row *row, llrt_dtype type,
                        uint64_t stride) {
  function_worst worst = {0};
  function_sweep sweep;
  llrt_status status = function_sweep_begin(&sweep, device, row, type, PIECE);
  for (uint64_t first = 0; status == LLRT_OK && first < 1ull << 32; first += PIECE * stride)
    status = function_sweep_piece(&sweep, first, stride, &worst);
  if (status == LLRT_OK) status = function_sweep_piece(&sweep, 0, 1ull << 23, &worst);
  cr_assert_eq(status, LLRT_OK, "%s", llrt_last_error());
  function_sweep_end(&sweep);
  if (getenv("LLRT_TEST_SHOW"))
    printf("| `%s` | %.2f | %.9g |\n", row->name, worst.ulp, (double)worst.at);
  cr_expect_leq(worst.ulp, function_most(row, type) + 1e-6, "%s(%.9g) is off by %g ulp of %s",
                row->name, (double)worst.at, worst.ulp, llrt_dtype_name(type));
}

Test(functions, error) {
  const char *given = getenv("LLRT_TEST_STRIDE"), *only = getenv("LLRT_TEST_FUNCTION");
  uint64_t stride = given ? strtoull(given, NULL, 10) : 4099;
  int number = 0;
  for (const function_row *row = function_row_of(0); row; row = function_row_of(++number))
    if (!only || strcmp(only, row->name) == 0)
      check_error(trial_device("host"), row, LLRT_F32, stride);
}

/* Blocks of neighbours in many binades: what a polynomial says of errors is what the C library
 * says, up to what it may be off by. */
Test(functions, errors_by_polynomials) {
  static float y[SMOOTH_BLOCK];
  static double error[SMOOTH_BLOCK];
  int smooth = 0;
  for (int f = 0; function_row_of(f); f++)
    for (uint32_t code = 0x00345000; code < 0xFF800000u; code += 0x01357000) {
      float from, to;
      double largest = 0, most = 0;
      uint32_t last = code + SMOOTH_BLOCK - 1;
      memcpy(&from, &code, sizeof from);
      memcpy(&to, &last, sizeof to);
      double step = ((double)to - (double)from) / (SMOOTH_BLOCK - 1);
      for (int i = 0; i < SMOOTH_BLOCK; i++)
        y[i] = (float)(function_row_of(f)->exact((double)from + step * i) * (1 + i % 7 * 0x1p-23));
      if (!smooth_errors(function_row_of(f)->exact, (double)from, step, y, error, &largest))
        continue;
      smooth++;
      for (int i = 0; i < SMOOTH_BLOCK; i++) {
        double exact = function_row_of(f)->exact((double)from + step * i);
        double right = fabs((double)y[i] - exact) / ldexp(1, ilogb(exact) - 23);
        most = fmax(most, error[i]);
        cr_assert_leq(fabs(error[i] - right), SMOOTH_SLACK, "%s(%a): %g, not %g",
                      function_row_of(f)->name, (double)from + step * i, error[i], right);
      }
      cr_assert_eq(most, largest);
    }
  cr_assert_gt(smooth, 1000, "%d", smooth);
}

/* The emulator's tables are rounded correctly. */
Test(functions, error_by_table) {
  for (int number = 0; function_row_of(number); number++)
    if (function_row_of(number)->by_table)
      check_error(trial_device("cuda-emu:sm_90a"), function_row_of(number), LLRT_F32, 400009);
}

/* Functions that are rounded to 16 bits alone (expression/program_narrow.h). */
Test(functions, error_of_rounded) {
  static const llrt_dtype types[] = {LLRT_BF16, LLRT_F16};
  static const char *const devices[] = {"host", "cuda-emu:sm_80", "cuda-emu:sm_90a",
                                        "hip-emu:gfx942"};
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
    for (int number = 0; function_row_of(number); number++)
      for (int t = 0; t < 2 && function_row_of(number)->narrow; t++)
        check_error(trial_device(devices[d]), function_row_of(number), types[t], 32771);
}

/* Emulated GPUs beside the host. */
static void compare_bits(const float *x, int n) {
  static float y[2048], own[2048];
  for (int f = 0; function_row_of(f); f++) {
    const function_row *row = function_row_of(f);
    run_function(trial_device("host"), row->name, x, y, n);
    for (int d = 0; d < GPUS; d++) {
      if (row->by_table && strncmp(gpus[d], "cuda", 4) == 0) continue;
      run_function(trial_device(gpus[d]), row->name, x, own, n);
      for (int i = 0; i < n; i++)
        cr_assert((isnan(y[i]) && isnan(own[i])) || memcmp(&y[i], &own[i], sizeof y[i]) == 0,
                  "%s(%.9g) on %s: %.9g, on the host %.9g", row->name, (double)x[i], gpus[d],
                  (double)own[i], (double)y[i]);
    }
  }
}

Test(functions, same_bits_everywhere) {
  static float x[2048];
  for (int i = 0; i < 2048; i++) {
    uint32_t bits = (uint32_t)i * 2097143u;
    memcpy(&x[i], &bits, sizeof bits);
    if (i < 512) x[i] = (float)(i - 256) / 16;
  }
  compare_bits(x, 2048);
}

/* Numbers of which GPUs take fewer instructions, in all lanes and registers. */
Test(functions, same_bits_of_moderate_numbers) {
  static float x[2048];
  for (int i = 0; i < 2048; i++) x[i] = (float)((i * 7919) % 2048 - 1024) / 25;
  compare_bits(x, 2048);
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

/* What has no root, and what is its own. */
Test(functions, roots_of_ends) {
  const float x[] = {-INFINITY, INFINITY, 0,        -0.0f,  -1,    -0x1p-149f,
                     0x1p-149f, 0x1p-91f, 0x1p-90f, -3e38f, 3e38f, (float)NAN};
  enum { N = sizeof x / sizeof *x };
  for (int d = 0; d < GPUS; d++) {
    float root[N], inverse[N];
    cr_assert_eq(function_run(trial_device(gpus[d]), "sqrt", x, root, N), LLRT_OK);
    cr_assert_eq(function_run(trial_device(gpus[d]), "rsqrt", x, inverse, N), LLRT_OK);
    for (int i = 0; i < N; i++) {
      float right = sqrtf(x[i]), turned = 1 / right;
      cr_expect(memcmp(&right, &root[i], sizeof right) == 0 || (isnan(right) && isnan(root[i])),
                "sqrt of %a on %s: %a", (double)x[i], gpus[d], (double)root[i]);
      cr_expect(memcmp(&turned, &inverse[i], sizeof turned) == 0 ||
                    (isnan(turned) && isnan(inverse[i])),
                "rsqrt of %a on %s: %a", (double)x[i], gpus[d], (double)inverse[i]);
    }
  }
}

/* Numerators that may be infinite, whatever their type is: some of them are. */
Test(functions, quotients_of_infinities) {
  static const struct {
    const char *text;
    llrt_dtype type;
    int64_t rows;
  } cases[] = {
      {"(x[t n], c: f32) -> (y[t n]: f32) { y = f16(x) / c }", LLRT_F32, 9},
      {"(x[t n], c: f32) -> (y[t n]: f32) { y = f16(u16(x) + 60000 * x) / c }", LLRT_F16, 9},
      {"(x[t n], c: f32) -> (y[t n]: f32) { y = x / c }", LLRT_F16, 9},
      {"(x[t n], c: f32) -> (y[t n]: f32) { y = abs(x) / c }", LLRT_E5M2, 9},
      {"(x[t n], c: f32) -> (y[t n]: f32) { y = e5m2(x) / c }", LLRT_F32, 9},
      {"(x[t n], c: f32) -> (y[n]: f32) { y = max(x, t) / c }", LLRT_E4M3, 9},
      {"(x[t n], c: f32) -> (y[n]: f32) { y = max(x, t) / c }", LLRT_E4M3, 0},
      {"(x[t n], c: f32) -> (y[n]: f32) { y = min(x, t) / c }", LLRT_I8, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int d = 0; d < GPUS; d++) {
      trial t = {.text = cases[i].text,
                 .extent = {cases[i].rows, 1000},
                 .tensor = {{.type = cases[i].type}},
                 .scalar = {3},
                 .seed = 40 + i,
                 .special = true,
                 .device = trial_device(gpus[d])};
      const char *wrong = trial_run(&t);
      cr_expect_null(wrong, "%s on %s: %s", t.text, gpus[d], wrong);
    }
}
