/* Scans along rows that are too long for a block: what stands before a turn is carried from turn to
 * turn. Against the reference. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define COLUMNS "storage(rank=2, digits=[dim0:rest, dim1:rest])"

/* On the host, which walks short rows. */
static const struct {
  const char *text;
  int64_t extent[2];
  trial_tensor tensor[3];
  int in_place;
} cases[] = {
    {"(x[t n]) -> (y[t n]) { y = cumsum(x, n) }", {1, 1100}, {{0}}, 0},
    {"(x[t n]) -> (y[t n]) { y = cumsum(x, n) }",
     {1, 1100},
     {{.type = LLRT_I32}, {.type = LLRT_I32}},
     1},
    {"(x[t n]) -> (y[t n]) { y = cummin(x, n, exclusive=True, reverse=True) }",
     {1, 1101},
     {{.type = LLRT_I16}, {.type = LLRT_I32}},
     0},
    {"(x[t n]) -> (y[t n]) { y = cumprod(1 + x / 65536, n, exclusive=True) }", {1, 1100}, {{0}}, 0},
    /* several in a walk, one of what the other makes; of what a walk has reduced, and reduced */
    {"(x[t n]) -> (y[t n]: i32, z[t n]) "
     "{ a = cumsum(i32(x), n); y = cummax(a, n); z = a - cummin(x, n) }",
     {1, 1100},
     {{.type = LLRT_I8}},
     0},
    {"(x[t n]) -> (y[t n]) { s = cumsum(exp(x - max(x, n)), n); y = s / max(s, n) }",
     {1, 1100},
     {{.type = LLRT_BF16}},
     0},
    {"(x[t n]) -> (y[t]) { y = sum(cummin(x, n), n) }", {1, 1100}, {{.type = LLRT_I8}}, 0},
    {"(x[t n]) -> (y[n t]: i32) { y = cumsum(i32(x), t) }", {1100, 1}, {{.type = LLRT_I8}}, 0},
    {"(x[t n]) -> (y[t n]) { y = cumsum(x, n) }",
     {2, 1050},
     {{.type = LLRT_I32, .storage = COLUMNS}, {.type = LLRT_I32}},
     0},
};

Test(walked_scans, against_reference) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    trial t = {.text = cases[i].text,
               .seed = 900 + i,
               .in_place = cases[i].in_place,
               .device = trial_device("host")};
    memcpy(t.extent, cases[i].extent, sizeof cases[i].extent);
    memcpy(t.tensor, cases[i].tensor, sizeof cases[i].tensor);
    const char *wrong = trial_run(&t);
    cr_expect_null(wrong, "%zu, %s: %s", i, t.text, wrong);
  }
}

/* ---- rows that no block holds, of which GPUs' hold 2^15 elements: against loops ---- */

enum { ROWS = 2, LENGTH = 33001 };

/* Whole numbers, whose sums are exact in f32. */
static void fill(float *x) {
  uint32_t state = 3;
  for (int i = 0; i < ROWS * LENGTH; i++) {
    state = state * 1664525u + 1013904223u;
    x[i] = (float)((int)(state >> 28) - 8);
  }
}

static void sums(const float *x, float *y) {
  float sum = 0;
  for (int i = 0; i < LENGTH; i++) y[i] = sum += x[i];
}

static void largest_behind(const float *x, float *y) {
  float most = -INFINITY;
  for (int i = LENGTH - 1; i >= 0; i--) {
    y[i] = most;
    most = fmaxf(most, x[i]);
  }
}

/* The largest of the sums so far, over the largest of all. */
static void risen(const float *x, float *y) {
  float sum = 0, most = -INFINITY;
  for (int i = 0; i < LENGTH; i++) {
    sum += x[i];
    most = fmaxf(most, sum);
    y[i] = most;
  }
  for (int i = 0; i < LENGTH; i++) y[i] -= most;
}

/* Less the largest of the sums of what follows, and itself. */
static void below_sums_behind(const float *x, float *y) {
  float sum = 0, most = -INFINITY;
  for (int i = LENGTH - 1; i >= 0; i--) most = fmaxf(most, sum += x[i]);
  for (int i = 0; i < LENGTH; i++) y[i] = x[i] - most;
}

static const struct {
  const char *device, *text;
  void (*row)(const float *x, float *y);
} loops[] = {
    {"host", "(x[t n]) -> (y[t n]) { y = cumsum(x, n) }", sums},
    {"host", "(x[t n]) -> (y[t n]) { y = cummax(x, n, exclusive=True, reverse=True) }",
     largest_behind},
    {"host", "(x[t n]) -> (y[t n]) { m = cummax(cumsum(x, n), n); y = m - max(m, n) }", risen},
    {"cuda-emu:sm_90a", "(x[t n]) -> (y[t n]) { y = cumsum(x, n) }", sums},
    {"hip-emu:gfx942", "(x[t n]) -> (y[t n]) { y = cumsum(x, n) }", sums},
    {"cuda-emu:sm_90a", "(x[t n]) -> (y[t n]) { y = cummax(x, n, exclusive=True, reverse=True) }",
     largest_behind},
    {"cuda-emu:sm_90a", "(x[t n]) -> (y[t n]) { m = cummax(cumsum(x, n), n); y = m - max(m, n) }",
     risen},
    /* a walk from the end on, and another one that scans nothing */
    {"cuda-emu:sm_90a", "(x[t n]) -> (y[t n]) { y = x - max(cumsum(x, n, reverse=True), n) }",
     below_sums_behind},
};

static void compute(llrt_device *device, const char *text, const float *x, float *y) {
  size_t bytes = sizeof *x * ROWS * LENGTH;
  llrt_tensor t[2] = {{.dtype = LLRT_F32, .rank = 2, .shape = {ROWS, LENGTH}, .device = device}};
  llrt_expr *expr;
  t[1] = t[0];
  const llrt_arg args[] = {{.name = "x", .tensor = &t[0]}, {.name = "y", .tensor = &t[1]}};
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 2; i++)
    cr_assert_eq(llrt_memory_allocate(device, bytes, &t[i].data), LLRT_OK);
  llrt_memory_copy(device, t[0].data, x, bytes, LLRT_COPY_TO_DEVICE, NULL);
  cr_assert_eq(llrt_compute_into(expr, args, 2, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  llrt_memory_copy(device, y, t[1].data, bytes, LLRT_COPY_FROM_DEVICE, NULL);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 2; i++) llrt_memory_free(device, t[i].data);
  llrt_expr_destroy(&expr);
}

Test(walked_scans, against_loops) {
  static float x[ROWS * LENGTH], y[ROWS * LENGTH], expected[ROWS * LENGTH];
  fill(x);
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    for (int r = 0; r < ROWS; r++) loops[i].row(x + r * LENGTH, expected + r * LENGTH);
    compute(trial_device(loops[i].device), loops[i].text, x, y);
    for (int k = 0; k < ROWS * LENGTH; k++)
      cr_assert_eq(y[k], expected[k], "%s on %s: [%d] is %g, not %g", loops[i].text,
                   loops[i].device, k, (double)y[k], (double)expected[k]);
  }
}

Test(walked_scans, refused) {
  trial t = {.text = "(x[t n]) -> (y[t n]) { y = cumsum(x, n) + cummax(x, n, reverse=True) }",
             .extent = {1, 70000},
             .device = trial_device("host")};
  const char *wrong = trial_run(&t);
  cr_expect(wrong && strstr(wrong, "both directions") && trial_refused(), "%s", wrong);
}
