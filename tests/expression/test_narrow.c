/* Functions whose values are rounded to 16 bits or fewer alone, which GPUs of NVIDIA make by their
 * tables as they are (expression/program_narrow.c): where the program tells so, and how far off
 * they are (include/llrt/expression.h). */
#include "expression/program_narrow.h"
#include "jit/plan/types/number.h"
#include "tests/expression/compute_trial.h"
#include "tests/expression/function_errors.h"
#include "tests/expression/program_text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what the program tells ---- */

typedef struct fact {
  const char *text;
  bool narrow, divides; /* its last function; its last quotient */
} fact;

static const fact facts[] = {
    {"(x[t n]) -> (y[t n]: bf16) { y = gelu(x) }", true, false},
    {"(x[t n]) -> (y[t n]: f32) { y = gelu(x) }", false, false},
    {"(x[t n]) -> (y[t n]: i8) { y = gelu(x) }", false, false},
    {"(a[t n], b[t n]) -> (y[t n]: e4m3) { y = -abs(silu(a) * b) }", true, false},
    {"(a[t n], b[t n]) -> (y[t n]: f32) { y = bf16(silu(a) * b) + a }", true, false},
    {"(a[t n], b[t n]) -> (y[t n]: f16) { y = where(a > 0, maximum(silu(a), b), b) }", true, false},
    {"(a[t n], b[t n]) -> (y[t n]: f16) { y = where(sigmoid(a) > 0.5, a, b) }", false, false},
    {"(a[t n], b[t n]) -> (y[t n]: bf16) { y = gelu(a) + b }", false, false},
    {"(a[t n], b[t n]) -> (y[t n]: bf16) { y = b / exp(a) }", false, false},
    {"(a[t n], b[t n]) -> (y[t n]: bf16, z[t n]: f32) { y = gelu(a); z = y * b }", false, false},
    {"(a[t n], b[t n]) -> (y[t n]: bf16, z[t n]: e4m3) { y = gelu(a); z = y * b }", true, false},
    {"(x[t n]) -> (y[t]: bf16) { y = sum(exp(x), n) }", true, false},
    {"(x[t n]) -> (y[t]: bf16) { y = sum(gelu(x), n) }", false, false},
    {"(x[t n]) -> (y[t n]: bf16) { e = exp(x - max(x, n)); y = e / sum(e, n) }", true, true},
    {"(x[t n]) -> (y[t n]: f32) { e = exp(x - max(x, n)); y = e / sum(e, n) }", false, false},
    {"(x[t n]) -> (y[t n]: bf16) { e = exp(x); y = e / sum(e, n) }", false, false},
    /* the sum along n of what the maximum along both leaves may be small */
    {"(x[t n]) -> (y[t n]: bf16) { e = exp(x - max(x, (t, n))); y = e / sum(e, n) }", false, false},
    {"(x[t n]) -> (y[t n]: bf16) { z = x - max(x, n); y = z - log(sum(exp(z), n)) }", false, false},
};

static bool is_function(int op) {
  return op == EXPR_EXP || op == EXPR_EXP2 || op == EXPR_SIGMOID || op == EXPR_SILU ||
         op == EXPR_GELU;
}

Test(narrow, facts) {
  bool narrow[PROGRAM_MAX_NODES];
  for (size_t f = 0; f < sizeof facts / sizeof *facts; f++) {
    int function = -1, quotient = -1;
    const expr_program *program = program_of(facts[f].text);
    program_find_narrow(program, narrow);
    for (int i = 0; i < program->n_nodes; i++) {
      if (is_function(program->node[i].op)) function = i;
      if (program->node[i].op == EXPR_DIVIDE) quotient = i;
    }
    cr_assert_geq(function, 0, "%s", facts[f].text);
    cr_expect_eq(narrow[function], facts[f].narrow, "%s", facts[f].text);
    cr_expect_eq(quotient >= 0 && program_divides_narrow(program, narrow, quotient),
                 facts[f].divides, "%s: quotient", facts[f].text);
  }
}

/* ---- how far off ---- */

enum { COUNT = 1 << 17 };

/* Patterns of all binades, and at the ends zeros, infinities and NaN. */
static void fill(float *x) {
  static const float ends[] = {0,      -0.0f, INFINITY, -INFINITY, NAN, 88.7f,
                               -88.7f, 89,    -89,      127,       -126};
  for (int i = 0; i < COUNT; i++) {
    uint32_t code = (uint32_t)i * 32771u;
    memcpy(&x[i], &code, sizeof code);
  }
  memcpy(x, ends, sizeof ends);
}

static void run(const char *device_name, const char *function, const float *x, uint16_t *y) {
  llrt_device *device = trial_device(device_name);
  char text[80];
  llrt_expr *expr;
  llrt_tensor t[2] = {{.dtype = LLRT_F32, .rank = 1, .shape = {COUNT}, .device = device},
                      {.dtype = LLRT_BF16, .rank = 1, .shape = {COUNT}, .device = device}};
  const llrt_arg args[] = {{.name = "x", .tensor = &t[0]}, {.name = "y", .tensor = &t[1]}};
  snprintf(text, sizeof text, "(x[n]) -> (y[n]) { y = %s(x) }", function);
  cr_assert_not_null(device, "%s: %s", device_name, llrt_last_error());
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 2; i++)
    cr_assert_eq(llrt_memory_allocate(device, COUNT * 4, &t[i].data), LLRT_OK);
  llrt_memory_copy(device, t[0].data, x, COUNT * 4, LLRT_COPY_TO_DEVICE, NULL);
  cr_assert_eq(llrt_compute_into(expr, args, 2, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  llrt_memory_copy(device, y, t[1].data, COUNT * 2, LLRT_COPY_FROM_DEVICE, NULL);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 2; i++) llrt_memory_free(device, t[i].data);
  llrt_expr_destroy(&expr);
}

static double rounded(double x) {
  const number_format *f = number_format_of(LLRT_BF16);
  return number_value(f, number_code(f, x));
}

/* Whether y is f, but for the error that the header allows, as bf16. */
static bool is_near(double f, double y) {
  double error = fabs(f) * PROGRAM_NARROW_ERROR;
  if (isnan(f) || isnan(y)) return isnan(f) && isnan(y);
  if (isinf(f)) return y == f;
  if (fabs(f) < PROGRAM_NARROW_LEAST && fabs(y) <= PROGRAM_NARROW_LEAST)
    return !signbit(f) == !signbit(y);
  return y >= rounded(f - error) && y <= rounded(f + error);
}

static void check_function(const char *device, const function_row *row) {
  static float x[COUNT];
  static uint16_t y[COUNT];
  int wrong = 0;
  fill(x);
  run(device, row->name, x, y);
  for (int i = 0; i < COUNT && wrong < 5; i++) {
    double got = number_value(number_format_of(LLRT_BF16), y[i]), exact = row->exact((double)x[i]);
    if (is_near(exact, got)) continue;
    wrong++;
    cr_expect(false, "%s: %s(%.9g) is %.9g, not about %.9g", device, row->name, (double)x[i], got,
              exact);
  }
}

Test(narrow, errors) {
  static const char *const devices[] = {"host", "cuda-emu:sm_80", "cuda-emu:sm_90a",
                                        "hip-emu:gfx942"};
  static const char *const names[] = {"exp", "exp2", "sigmoid", "silu", "gelu"};
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
      for (int f = 0; function_row_of(f); f++)
        if (strcmp(function_row_of(f)->name, names[n]) == 0)
          check_function(devices[d], function_row_of(f));
}

/* ---- beside others ---- */

enum { ROWS = 32, HALF = 8, ALL = ROWS * 2 * HALF };

/* The f32 output of an expression whose outputs are of_bf16 and it, or it alone. */
static void run_beside(const char *text, bool beside, const float *x, float *out) {
  llrt_device *device = trial_device("cuda-emu:sm_90a");
  llrt_expr *expr;
  llrt_tensor t[3];
  llrt_arg args[3];
  static const char *const names[] = {"x", "z", "y"};
  static const llrt_dtype types[] = {LLRT_F32, LLRT_F32, LLRT_BF16};
  cr_assert_not_null(device, "%s", llrt_last_error());
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 3; i++) {
    t[i] = (llrt_tensor){.dtype = types[i], .rank = 2, .shape = {ROWS, 2 * HALF}, .device = device};
    args[i] = (llrt_arg){.name = names[i], .tensor = &t[i]};
    cr_assert_eq(llrt_memory_allocate(device, ALL * 4, &t[i].data), LLRT_OK);
  }
  llrt_memory_copy(device, t[0].data, x, ALL * 4, LLRT_COPY_TO_DEVICE, NULL);
  cr_assert_eq(llrt_compute_into(expr, args, beside ? 3 : 2, NULL, NULL), LLRT_OK, "%s",
               llrt_last_error());
  llrt_memory_copy(device, out, t[1].data, ALL * 4, LLRT_COPY_FROM_DEVICE, NULL);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 3; i++) llrt_memory_free(device, t[i].data);
  llrt_expr_destroy(&expr);
}

/* What another output leaves unrounded is not made of a value that is rounded, though the one is
 * the other backwards. */
Test(narrow, backwards) {
  static float x[ALL], alone[ALL], beside[ALL];
  for (int i = 0; i < ALL; i++) x[i] = (float)(i * 37 % 1009) / 101.0f - 5;
  run_beside("(x[t (p:2 i)]) -> (z[t (p i)]) { z = exp(flip(x, p)) }", false, x, alone);
  run_beside("(x[t (p:2 i)]) -> (y[t (p i)], z[t (p i)]) { y = exp(x); z = exp(flip(x, p)) }", true,
             x, beside);
  for (int i = 0; i < ALL; i++)
    cr_assert_eq(memcmp(&alone[i], &beside[i], sizeof *alone), 0, "element %d: %.9g, %.9g", i,
                 (double)alone[i], (double)beside[i]);
}
