/* llrt scan: results against running sums, and what is refused. */
#include "tool_run.h"

#include "tools/common/array_file.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

TestSuite(cli_scan, .init = tool_folder_enter, .fini = tool_folder_leave);

enum { ROWS = 20, COLUMNS = 36 };

static array source;

static void make_file(void) {
  array_error error;
  cr_assert(array_create(LLRT_I32, 2, (int64_t[]){ROWS, COLUMNS}, &source, &error), "%s",
            error.text);
  for (int i = 0; i < ROWS * COLUMNS; i++) ((int32_t *)source.data)[i] = (i * 37) % 101 - 50;
  cr_assert(array_write("in.npy", &source, &error), "%s", error.text);
}

static int32_t at(int row, int column) { return ((int32_t *)source.data)[row * COLUMNS + column]; }

Test(cli_scan, sums_along_rows) {
  make_file();
  array out = tool_array("scan in.npy --op sum --axis 1 --device host -o out.npy", "out.npy");
  cr_assert(out.rank == 2 && out.shape[0] == ROWS && out.shape[1] == COLUMNS &&
            out.dtype == LLRT_I64);
  for (int r = 0; r < ROWS; r++) {
    int64_t sum = 0;
    for (int c = 0; c < COLUMNS; c++) {
      sum += at(r, c);
      cr_assert_eq(((int64_t *)out.data)[r * COLUMNS + c], sum, "%d, %d", r, c);
    }
  }
  array_destroy(&out);
  array_destroy(&source);
}

Test(cli_scan, exclusive_reverse_into_columns) {
  make_file();
  array out = tool_array(
      "scan in.npy --op max --axis 0 --exclusive --reverse --to col_major --device host -o out.npy",
      "out.npy");
  cr_assert(out.rank == 1 && out.dtype == LLRT_I32);
  for (int c = 0; c < COLUMNS; c++) {
    int32_t most = INT32_MIN;
    for (int r = ROWS - 1; r >= 0; r--) {
      cr_assert_eq(((int32_t *)out.data)[c * ROWS + r], most, "%d, %d", r, c);
      if (at(r, c) > most) most = at(r, c);
    }
  }
  array_destroy(&out);
  array_destroy(&source);
}

Test(cli_scan, types) {
  make_file();
  array out =
      tool_array("scan in.npy --axis 0 --accumulate i32 --device host -o out.npy", "out.npy");
  cr_assert_eq(out.dtype, LLRT_I32);
  array_destroy(&out);
  out = tool_array("scan in.npy --op min --axis 0 --out-dtype f32 --device host -o out.npy",
                   "out.npy");
  cr_assert_eq(out.dtype, LLRT_F32);
  cr_assert_eq(((float *)out.data)[0], (float)at(0, 0));
  array_destroy(&out);
  array_destroy(&source);
}

Test(cli_scan, what_is_refused) {
  static const tool_failure rows[] = {
      {"scan in.npy --op sum --device host -o out.npy", 2, "--axis is missing"},
      {"scan in.npy --op mean --axis 0 --device host -o out.npy", 2, "--op mean"},
      {"scan in.npy --axis 2 --device host -o out.npy", 1, "2 axes"},
      {"scan in.npy --axis x --device host -o out.npy", 2, "no axis"},
      {"scan in.npy --axis 0 --accumulate f32 --device host -o out.npy", 1, "accumulated in f32"},
      {"scan in.npy --axis 0 --device host", 2, "-o OUT is missing"},
      {"explain scan --shape 8x8", 2, "--axis is missing"},
  };
  make_file();
  tool_expect_failures(rows, sizeof rows / sizeof *rows);
  array_destroy(&source);
}

Test(cli_scan, explain_and_compile) {
  tool_result r =
      tool_expect_success("explain scan --op sum --axis 1 --shape 4096x65536 --target sm_90a");
  cr_assert_not_null(strstr(r.out, "inclusive scan (sum, f32)"), "%s", r.out);
  cr_assert_not_null(strstr(r.out, "16 bytes an access"), "%s", r.out);
  tool_result_fini(&r);
  r = tool_expect_success(
      "compile scan --op max --axis 0 --reverse --shape 100x64 --dtype bf16 --target sm_80 "
      "--emit ptx");
  cr_assert_not_null(strstr(r.out, "max.NaN.f32"), "%s", r.out);
  tool_result_fini(&r);
}
