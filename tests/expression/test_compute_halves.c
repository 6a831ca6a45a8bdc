/* 4-bit elements of whose bytes no thread has both halves, as inputs and outputs; positions and
 * digits that count down of axes that are split; e8m0 that an index does not send. Against the
 * reference. */
#include "backends/backend.h"
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const devices[] = {"host", "cuda-emu:sm_90a", "hip-emu:gfx942"};
enum { DEVICES = sizeof devices / sizeof *devices };

#define AT(positions, axis, policy) {positions, axis, 0, LLRT_RANGE_##policy}
#define WALKED "storage(rank=3, digits=[dim0:rest, dim2:rest, dim1:rest])"
#define COPY "(x[t n]) -> (y[t n]) { y = x }"

static const struct {
  const char *text;
  int64_t extent[4];
  trial_tensor tensor[4];
} cases[] = {
    /* rows that begin inside a byte, that end inside one, and whose bytes lie along columns */
    {COPY, {5, 7}, {{LLRT_I4, NULL, {0}, false}, {0}}},
    {COPY, {5, 7}, {{0}, {LLRT_I4, NULL, {0}, false}}},
    {COPY, {9, 131}, {{LLRT_BF16, NULL, {0}, false}, {LLRT_E2M1, NULL, {0}, false}}},
    {COPY,
     {37, 131},
     {{LLRT_BF16, NULL, {0}, false},
      {LLRT_E2M1, "storage(rank=2, digits=[dim1:rest, dim0:rest @ 132])", {0}, false}}},
    {COPY, {40, 64}, {{LLRT_BF16, NULL, {0}, false}, {LLRT_U4, "col_major", {0}, false}}},
    {COPY, {40, 64}, {{LLRT_U4, "col_major", {0}, false}, {LLRT_BF16, NULL, {0}, false}}},
    {"(x[t n], z[t n]) -> (y[t n]) { y = x + z }",
     {9, 33},
     {{LLRT_E2M1, "col_major", {0}, false},
      {LLRT_I4, NULL, {0}, false},
      {LLRT_E2M1, NULL, {0}, false}}},
    /* whole bytes of a thread, whose two elements are in words of their own, and parted by bounds
     */
    {"(x[t n], z[t n]) -> (y[t n]) { y = x + cumsum(z, n) }",
     {3, 29},
     {{LLRT_E2M1, "storage(rank=2, digits=[dim1:rest, dim0:rest @ 36])", {0}, false},
      {LLRT_F32, "col_major", {0}, false},
      {LLRT_E2M1, "storage(rank=2, digits=[dim1:rest, dim0:rest @ 36])", {0}, false}}},
    /* counted down */
    {"(x[t ~n]) -> (y[t n]) { y = x }",
     {6, 33},
     {{LLRT_I4, NULL, {0}, false}, {LLRT_U4, NULL, {0}, false}}},
    {"(x[t (g j:4)]) -> (y[t (g j)]) { y = flip(x, j) }",
     {6, 9},
     {{LLRT_I4, NULL, {0}, false}, {LLRT_I4, "col_major", {0}, false}}},
    /* rows, resident and walked, with another output beside */
    {"(x[t n]) -> (y[t n], m[t]: f32) { m = max(x, n); y = x - m }",
     {3, 300},
     {{LLRT_BF16, NULL, {0}, false}, {LLRT_I4, "col_major", {0}, false}, {0}}},
    {"(x[t n]) -> (y[t n], z[t n]: f32) { z = cumsum(x, n); y = z }",
     {1, 3001},
     {{LLRT_I4, NULL, {0}, false}, {LLRT_I4, NULL, {0}, false}, {0}}},
    /* walked along an axis that no tile has, where one of two kernels stores nothing on its way */
    {"(x[t h n]) -> (y[t h n]: f32, r[t h]) { y = mean(x, n); r = max(x, n) }",
     {4, 3, 30},
     {{LLRT_F32, WALKED, {0}, false}, {LLRT_F32, WALKED, {0}, false}, {LLRT_U4, NULL, {0}, false}}},
    {"(x[t h n]) -> (y[t h n]: f32, r[t h]) { y = mean(x, n); r = min(n, axis=n) }",
     {4, 3, 0},
     {{LLRT_F32, WALKED, {0}, false}, {LLRT_F32, WALKED, {0}, false}, {LLRT_U4, NULL, {0}, false}}},
    /* rows that an index chooses, of whole bytes and of halves */
    {COPY, {9, 64}, {{LLRT_E2M1, NULL, AT(20, 0, ZERO), false}, {LLRT_BF16, NULL, {0}, false}}},
    {COPY, {9, 33}, {{LLRT_E2M1, NULL, AT(20, 0, CLAMP), false}, {LLRT_BF16, NULL, {0}, false}}},
    {COPY, {9, 64}, {{LLRT_BF16, NULL, {0}, false}, {LLRT_E2M1, NULL, AT(20, 0, SKIP), false}}},
    {COPY, {9, 33}, {{LLRT_BF16, NULL, {0}, false}, {LLRT_U4, NULL, AT(20, 0, REPORT), false}}},
    {COPY, {7, 40}, {{LLRT_I4, NULL, AT(50, 1, SKIP), false}, {LLRT_F32, NULL, {0}, false}}},
    /* a position of an axis beside what a tile has, of one that counts down, of what an index
     * chooses: digits outside keep their strides */
    {"(x[t (h:4 n)], z[t n]) -> (y[t n]) { y = x[h=1] - x[h=3] * z }",
     {27, 0, 16},
     {{0, "scale_8x4(pad=3)", {0}, false}, {0}, {0}}},
    {"(x[t h:3 n], z[t n]) -> (y[t n]) { y = x[h=0] * z + x[h=2] }",
     {5, 0, 20},
     {{0, "storage(rank=3, digits=[dim1:rest reversed, dim2:rest, dim0:rest])", {0}, false}}},
    {"(x[t h:3 n], z[t n]) -> (y[t n]) { y = x[h=1] + z }",
     {5, 0, 20},
     {{0, "storage(rank=3, digits=[dim1:rest, dim0:rest, dim2:rest])", AT(11, 0, ZERO), false}}},
    /* a digit that counts down, of an axis that is split */
    {"(x[t (g j:3)]) -> (y[t (g j)], m[t g]) { m = max(x, j); y = x - m }",
     {5, 7},
     {{0, "storage(rank=2, digits=[dim1:rest reversed, dim0:rest])", {0}, false}}},
    {"(x[(g j:16)]) -> (y[(g j)]) { y = flip(x, j) + j }",
     {5},
     {{0, "storage(rank=1, digits=[dim0:4 reversed, dim0:rest reversed])", {0}, false}}},
    /* e8m0 has no 0: what an index does not send is code 0, which is 2^-127 */
    {"(x[t n]) -> (y[t n]: f32) { y = x * 2 }",
     {9, 20},
     {{LLRT_E8M0, NULL, AT(7, 0, ZERO), false}}},
    {"(x[t n]) -> (y[t]: f32) { y = sum(x, n) }",
     {9, 20},
     {{LLRT_E8M0, NULL, AT(7, 0, SKIP), false}}},
};

Test(halves, against_reference) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int d = 0; d < DEVICES; d++) {
      trial t = {.text = cases[i].text, .seed = 900 + i, .device = trial_device(devices[d])};
      memcpy(t.extent, cases[i].extent, sizeof cases[i].extent);
      memcpy(t.tensor, cases[i].tensor, sizeof cases[i].tensor);
      const char *wrong = trial_run(&t);
      cr_expect_null(wrong, "%zu, %s on %s: %s", i, t.text, devices[d], wrong);
    }
}

/* An output of such bytes that lies where an input does: its other half would be made of what is
 * overwritten. Another output may. */
Test(halves, in_place) {
  for (int d = 0; d < DEVICES; d++) {
    trial t = {.text = "(x[t n]) -> (y[t n]) { y = x - max(x, n) }",
               .extent = {5, 7},
               .tensor = {{LLRT_I4, NULL, {0}, false}, {LLRT_I4, NULL, {0}, false}},
               .in_place = 1,
               .device = trial_device(devices[d])};
    const char *wrong = trial_run(&t);
    cr_expect(wrong && trial_refused() && strstr(wrong, "is in place of"), "on %s: %s", devices[d],
              wrong);
    t.text = "(x[t n]) -> (y[t n], z[t]: f32) { y = x - sum(x, n); z = max(x, n) }";
    t.extent[1] = 0; /* no elements are overwritten */
    wrong = trial_run(&t);
    cr_expect_null(wrong, "on %s: %s", devices[d], wrong);
    t.extent[1] = 7;
    t.text = "(x[t n]) -> (y[t n], z[t n]) { y = x - max(x, n); z = x + sum(x, n) }";
    t.tensor[0].type = t.tensor[1].type = LLRT_F32;
    t.tensor[2].type = LLRT_I4;
    wrong = trial_run(&t);
    cr_expect_null(wrong, "on %s: %s", devices[d], wrong);
  }
}

/* Lanes that bounds have parted meet before a warp is asked whether its numbers are moderate: ptxas
 * has let both parts run through the rest of such a kernel with the same uniform registers
 * (docs/history/hazards.md). */
Test(halves, lanes_meet) {
  static const char text[] = "(x[t h (i p:2)]) -> (y[t h (i p)]: e5m2) "
                             "{ y = x / (silu(minimum(x[p=1], flip(x, p))) - h) }";
  llrt_storage rows;
  llrt_expr *expr;
  llrt_op_desc *desc;
  char *ptx;
  size_t size;
  cr_assert_eq(llrt_storage_row_major(3, &rows), LLRT_OK);
  llrt_tensor x = {.rank = 3, .shape = {40, 20, 8}, .dtype = LLRT_I8, .storage = &rows}, y = x;
  const llrt_arg args[] = {{.name = "x", .tensor = &x}, {.name = "y", .tensor = &y}};
  y.dtype = LLRT_E5M2;
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK);
  cr_assert_eq(llrt_compute_describe(expr, args, 2, NULL, &desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(
      llrt_op_compile(trial_device("host")->context, "sm_90a", desc, LLRT_EMIT_OBJECT, &ptx, &size),
      LLRT_OK, "%s", llrt_last_error());
  cr_expect(strstr(ptx, "vote.sync") && strstr(ptx, "bar.warp.sync"));
  llrt_buffer_free(&ptx);
  llrt_op_desc_destroy(&desc);
  llrt_expr_destroy(&expr);
}
