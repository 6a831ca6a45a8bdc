/* llrt compute: results, outputs of several types, plans and kernels, and what is refused. */
#include "tool_run.h"

#include "tools/common/array_file.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(cli_compute, .init = tool_folder_enter, .fini = tool_folder_leave);

enum { ROWS = 6, COLUMNS = 40 };
#define NORM "'(x[t n], k: f32) -> (y[t n], m[t]: f32, i[t]: i32) { m = max(x, n); y = x - m + k; "
#define NORM_TEXT NORM "i = argmax(x, n) }'"

static float source[ROWS][COLUMNS];

static void write_source(void) {
  array a;
  array_error error;
  cr_assert(array_create(LLRT_F32, 2, (int64_t[]){ROWS, COLUMNS}, &a, &error), "%s", error.text);
  for (int i = 0; i < ROWS * COLUMNS; i++)
    source[i / COLUMNS][i % COLUMNS] = (float)(i * 37 % 101 - 50);
  memcpy(a.data, source, sizeof source);
  cr_assert(array_write("x.npy", &a, &error), "%s", error.text);
  array_destroy(&a);
}

Test(cli_compute, an_output_each) {
  write_source();
  tool_run_quietly("compute " NORM_TEXT
                   " x=x.npy k=2 --device host -o m=m.npy -o y:bf16=y.npy -o i=i.npy");
  array y = tool_array_read("y.npy"), m = tool_array_read("m.npy"), i = tool_array_read("i.npy");
  cr_assert(y.rank == 2 && y.shape[0] == ROWS && y.shape[1] == COLUMNS);
  cr_assert(m.rank == 1 && m.shape[0] == ROWS && m.dtype == LLRT_F32 && i.dtype == LLRT_I32);
  for (int r = 0; r < ROWS; r++) {
    int most = 0;
    for (int c = 1; c < COLUMNS; c++) most = source[r][c] > source[r][most] ? c : most;
    cr_expect_eq(((float *)m.data)[r], source[r][most]);
    cr_expect_eq(((int32_t *)i.data)[r], most);
    for (int c = 0; c < COLUMNS; c++) { /* few bits: bf16 has them */
      float expected = source[r][c] - source[r][most] + 2;
      uint32_t bits;
      memcpy(&bits, &expected, sizeof bits);
      cr_expect_eq(((uint16_t *)y.data)[r * COLUMNS + c], bits >> 16, "%d, %d", r, c);
    }
  }
  array_destroy(&y);
  array_destroy(&m);
  array_destroy(&i);
}

Test(cli_compute, a_text_in_a_file) {
  static const char text[] = "# doubled\n(x[t n]) -> (y[t n]) {\n  y = x + x\n}\n";
  write_source();
  tool_write_file("twice.llrt", text, strlen(text));
  array y = tool_array("compute twice.llrt x=x.npy --device host -o y=y.npy", "y.npy");
  for (int i = 0; i < ROWS * COLUMNS; i++)
    cr_expect_eq(((float *)y.data)[i], 2 * source[i / COLUMNS][i % COLUMNS], "%d", i);
  array_destroy(&y);
}

/* No memory is computed on, and no output written. */
Test(cli_compute, plans_and_kernels) {
  static const struct {
    const char *options, *part;
  } rows[] = {{"--explain sm_90a", "load"},
              {"--explain gfx942", "load"},
              {"--explain host", "load"},
              {"--explain sm_80 --emit ptx", ".target sm_80"},
              {"--explain sm_90a --emit ir", "define"}};
  write_source();
  int before = tool_folder_count();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char line[300];
    snprintf(line, sizeof line,
             "compute '(x[t n]) -> (y[t n]) { y = x / sum(x, n) }' x=x.npy -o y=y.npy %s",
             rows[i].options);
    tool_result r = tool_expect_success(line);
    cr_expect(strstr(r.out, rows[i].part), "%s: %s", line, r.out);
    tool_result_fini(&r);
  }
  cr_expect_eq(tool_folder_count(), before);
  tool_run_quietly("compute '(x[t n]) -> (y[t n]) { y = x }' x=x.npy -o y=y.npy --explain gfx942 "
                   "--emit kernel --kernel k.bin");
  cr_expect_eq(tool_folder_count(), before + 1);
}

Test(cli_compute, refused) {
#define ONE "compute '(x[t n]) -> (y[t n]) { y = x }' "
  static const tool_failure rows[] = {
      {"compute '(x[t n]) -> (y[t n]) { y = x + k }' x=x.npy -o y=y.npy", 1,
       "1:32: k is not known here"},
      {"compute '(x[t n]) -> (y[t n]) { y = max(x, k) }' x=x.npy -o y=y.npy", 1,
       "1:35: k is no axis"},
      {"compute '(x[t n]) -> (y[t]) { y = x }' x=x.npy -o y=y.npy", 1, "1:22: y has no axis n"},
      {"compute missing.llrt x=x.npy -o y=y.npy", 1, "missing.llrt: cannot be read"},
      {ONE "x=x.npy", 2, "-o NAME=OUT is missing"},
      {ONE "x=x.npy -o z=y.npy", 1, "z is no output"},
      {ONE "x=x.npy -o y.npy", 2, "is no NAME=OUT"},
      {ONE "z=x.npy -o y=y.npy", 1, "the expression has no z"},
      {ONE "x=none.npy -o y=y.npy", 1, "none.npy"},
      {"compute '(x[t n]) -> (y[t n], z[t n]) { y = x; z = x }' x=x.npy -o y=y.npy -o z=y.npy", 1,
       "y.npy: the file of two outputs, y and z"},
      {ONE "x=x.npy -o y:f9=y.npy", 2, "f9"},
      {ONE "x=x.npy -o y=y.npy --emit ptx", 2, "--emit and --kernel go with --explain"},
      {ONE "x=x.npy -o y=y.npy --explain sm_90a --emit cubin", 2, "no form"},
      {ONE "x=x.npy -o y=y.npy --explain sm_90a --emit kernel", 2, "needs"},
      {ONE "x=x.npy -o y=y.npy --explain gfx942 --emit ptx", 1, "is for targets sm_*"},
      {ONE "x=x.npy -o y=y.npy --explain sm_1", 1, "sm_1"},
      {"compute '(x[t n], k: f32) -> (y[t n]) { y = x * k }' x=x.npy -o y=y.npy --device host", 1,
       "k is not given"},
      {"compute '(x[t n], k: i32) -> (y[t n]) { y = x * k }' x=x.npy k=1.5 -o y=y.npy --device "
       "host",
       1, "k is an i32, its number is 1.5"},
      {"compute '(x[t n], k: i64) -> (y[t n]) { y = x * k }' x=x.npy k=1e300 -o y=y.npy --device "
       "host",
       1, "k is an i64, its number is 1e+300"},
  };
  write_source();
  tool_expect_failures(rows, sizeof rows / sizeof *rows);
}
