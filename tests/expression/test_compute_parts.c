/* Outputs along other axes than each other's tensors are made by kernels of their own
 * (expression/program_parts.h). */
#include "expression/program_parts.h"
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <string.h>

#define NORM "n = x * rsqrt(mean(x * x, i) + 1e-6); y = n * c"

static const struct {
  const char *text;
  int64_t extent[4];
  int parts;
} cases[] = {
    {"(x[t n], r[t n]) -> (y[t n], h[t n]) { h = x + r; y = h * 2 }", {3, 40}, 1},
    {"(x[t n]) -> (y[t n], m[t]) { m = max(x, n); y = x - m }", {3, 40}, 1},
    {"(x[t h i], k[t g i], c[t i]) -> (y[t h i], z[t g i]) { " NORM "; z = k * c }",
     {5, 4, 32, 2},
     2},
    {"(x[t h i], k[t g i], c[t i]) -> (y[t h i], z[t g i], m[t h]) "
     "{ " NORM "; z = k - c; m = max(x, i) }",
     {5, 4, 33, 2},
     2},
    {"(a[m], b[n], c[k]) -> (x[m], y[n], z[k]) { x = exp(a); y = b * b; z = c + k }",
     {70, 3, 1000},
     3},
    {"(a[t n], b[t]) -> (y[t n]: f32, z[t]: f32) { y = a + b; z = b * 3 }", {7, 40}, 2},
    /* each part has elements, or none, by its own axes */
    {"(a[m], b[n], c[k]) -> (x[m], y[n], z[k]) { x = exp(a); y = b * b; z = c + k }", {0, 3, 9}, 3},
    {"(a[m], b[n], c[k]) -> (x[m], y[n], z[k]) { x = exp(a); y = b * b; z = c + k }", {5, 3, 0}, 3},
    {"(a[t n], b[t]) -> (y[t n]: f32, z[t]: f32) { y = a + b; z = b * 3 }", {7, 0}, 2},
    {"(a[t n], b[t]) -> (y[t n]: f32, z[t]: f32) { y = a + b; z = b * 3 }", {0, 40}, 2},
    {"(x[t h i], k[t g i], c[t i]) -> (y[t h i], z[t g i]) { " NORM "; z = k * c }",
     {5, 0, 32, 2},
     2},
    {"(x[t h i], k[t g i], c[t i]) -> (y[t h i], z[t g i]) { " NORM "; z = k * c }",
     {5, 4, 32, 0},
     2},
    /* what is joined along an axis that another part's output has */
    {"(a[t n], b[n]) -> (y[t], m[t], z[n]) { y = sum(a, n); m = max(a, n); z = b * 3 }", {7, 0}, 2},
    {"(a[t n], b[n]) -> (y[t], m[t], z[n]) { y = sum(a, n); m = max(a, n); z = b * 3 }", {0, 9}, 2},
    {"(a[t n], b[t]) -> (y[t n], m[t]) { m = max(a, n); y = a - m }", {7, 0}, 1},
    {"(a[t n], b[t]) -> (y[t]: f32, z[t]: f32) { y = sum(a, n); z = b * 3 }", {7, 0}, 1},
    /* of the second part rows of 16 warps */
    {"(a[t h], b[t n]) -> (y[t h], z[t n]) { y = a; z = b - max(b, n) }", {3, 5, 16384}, 2},
    {"(a[t n], b[t]) -> (y[t]: f32, z[t]: f32) { y = sum(a, n); z = b * 3 }", {7, 40}, 1},
};

Test(compute_parts, against_reference) {
  static const char *const devices[] = {"host", "cuda-emu:sm_90a", "hip-emu:gfx942"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int d = 0; d < 3; d++) {
      trial t = {.text = cases[i].text, .device = trial_device(devices[d]), .seed = i};
      memcpy(t.extent, cases[i].extent, sizeof cases[i].extent);
      const char *wrong = trial_run(&t);
      cr_expect_null(wrong, "%s on %s: %s", t.text, devices[d], wrong);
    }
}

static void parts_of(const char *text, program_parts *parts) {
  llrt_expr *expr;
  expr_program program;
  llrt_dtype types[LLRT_EXPR_MAX_TENSORS];
  int32_t ranks[LLRT_EXPR_MAX_TENSORS];
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s: %s", text, llrt_last_error());
  for (int t = 0; t < expr->n_tensors; t++) {
    types[t] = LLRT_F32;
    ranks[t] = expr->tensor[t].n_dims;
  }
  cr_assert_eq(program_make(expr, types, ranks, &program), LLRT_OK, "%s: %s", text,
               llrt_last_error());
  program_find_parts(&program, parts);
  llrt_expr_destroy(&expr);
}

Test(compute_parts, found) {
  program_parts parts;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    parts_of(cases[i].text, &parts);
    cr_expect_eq(parts.n, cases[i].parts, "%s: %d parts", cases[i].text, parts.n);
  }
  /* z lacks an axis of what it is made of, along which nothing is joined. */
  parts_of("(a[t n], b[t m]) -> (y[t n], z[t]) { y = a; z = sum(a, n) + sum(b, m) }", &parts);
  cr_expect_eq(parts.n, 1, "%d parts", parts.n);
}

/* Of two kernels the first may not write where the second one reads. */
Test(compute_parts, in_place) {
  trial t = {.text =
                 "(x[t h i], k[t g i], c[t i]) -> (y[t h i], z[t g i]) { y = x * c; z = k * c }",
             .device = trial_device("cuda-emu:sm_90a"),
             .extent = {5, 4, 32, 2},
             .in_place = 1};
  const char *wrong = trial_run(&t);
  cr_expect_null(wrong, "%s", wrong);
  t.text = "(c[t i], x[t h i]) -> (z[t i], y[t h i]) { y = x * c; z = c * 2 }";
  t.extent[1] = 32;
  t.extent[2] = 4;
  wrong = trial_run(&t);
  cr_assert_not_null(wrong);
  cr_expect_not_null(strstr(wrong, "overlap"), "%s", wrong);
}

/* Axes that share one of a tensor whose storage parts it, where one of them has no position. */
Test(compute_parts, nothing_to_split) {
  static const char *const devices[] = {"host", "cuda-emu:sm_90a"};
  for (int d = 0; d < 2; d++)
    for (int j = 0; j < 2; j++) {
      trial t = {.text = "(z[t g j], x[t (g j)]) -> (y[t]) { y = sum(x + z, (g, j)) }",
                 .device = trial_device(devices[d]),
                 .extent = {3, 5 * j, 4 - 4 * j}};
      t.tensor[1].storage = "storage(rank=2, digits=[dim1:4, dim0:rest, dim1:rest])";
      const char *wrong = trial_run(&t);
      cr_expect_null(wrong, "%s: %s", devices[d], wrong);
    }
}

/* An output without elements has no two at one offset, whatever its strides are. */
Test(compute_parts, nothing_to_store) {
  trial t = {.text = "(x[t n]) -> (y[n t], r[n]) { y = x; r = sum(x, t) }",
             .device = trial_device("host"),
             .extent = {0, 5}};
  t.tensor[1].storage = "storage(rank=2, digits=[dim1:rest, dim0:rest @ 0])";
  const char *wrong = trial_run(&t);
  cr_expect_null(wrong, "%s", wrong);
}

/* More sets of axes than there may be kernels are refused as that. */
Test(compute_parts, too_many) {
  trial t = {.text =
                 "(a[i], b[j], c[k], d[l], e[m]) -> (v[i], w[j], x[k], y[l], z[m]) { v = a; w = b; "
                 "x = c; y = d; z = e }",
             .device = trial_device("host"),
             .extent = {2, 3, 4, 5, 6}};
  const char *wrong = trial_run(&t);
  cr_assert_not_null(wrong);
  cr_expect(trial_refused() && strstr(wrong, "outputs along more than 4 sets of axes"), "%s",
            wrong);
}
