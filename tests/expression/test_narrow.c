/* Functions whose values are rounded to 16 bits or fewer alone, which GPUs of NVIDIA make by their
 * tables as they are (expression/program_narrow.c): where the program tells so. How far off they
 * are: functions/error_of_rounded. */
#include "expression/program_narrow.h"
#include "tests/expression/compute_trial.h"
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
    {"(x[t n]) -> (y[t n]: bf16) { z = x - max(x, n); y = z - log(sum(exp(z), n)) }", true, false},
    {"(x[t n]) -> (y[t]: f32) { y = sum(exp(x - max(x, n)), n) }", true, false},
    {"(x[t n]) -> (y[t]: f32) { y = sum(exp(x - max(x, (t, n))), n) }", false, false},
    {"(x[t n]) -> (y[t]: f32) { y = mean(exp(x - max(x, n)), n) }", false, false},
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
