/* llrt reduce: results against plain C, and what is refused. */
#include "tool_run.h"

#include "tools/common/array_file.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(cli_reduce, .init = tool_folder_enter, .fini = tool_folder_leave);

enum { ROWS = 20, COLUMNS = 36 };

/* Small whole numbers, so that every order of additions gives the same. */
static float sample[ROWS][COLUMNS];

static void write_input(void) {
  array a;
  array_error error;
  cr_assert(array_create(LLRT_F32, 2, (int64_t[]){ROWS, COLUMNS}, &a, &error), "%s", error.text);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) sample[i][j] = (float)((i * 31 + j * 17) % 97) - 40;
  memcpy(a.data, sample, sizeof sample);
  cr_assert(array_write("in.npy", &a, &error), "%s", error.text);
  array_destroy(&a);
}

Test(cli_reduce, sums_drop_the_axis) {
  write_input();
  array out = tool_array("reduce in.npy --op sum --axis 1 --device host -o out.npy", "out.npy");
  cr_assert(out.rank == 1 && out.shape[0] == ROWS && out.dtype == LLRT_F32);
  for (int i = 0; i < ROWS; i++) {
    float sum = 0;
    for (int j = 0; j < COLUMNS; j++) sum += sample[i][j];
    cr_expect_eq(((float *)out.data)[i], sum);
  }
  array_destroy(&out);
}

Test(cli_reduce, all_axes_leave_a_scalar) {
  write_input();
  array out = tool_array(
      "reduce in.npy --op max --axis 0,1 --accumulate f64 --out-dtype f64 --device host -o out.npy",
      "out.npy");
  double most = sample[0][0];
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    double x = sample[i / COLUMNS][i % COLUMNS];
    most = x > most ? x : most;
  }
  cr_assert(out.rank == 0 && out.dtype == LLRT_F64);
  cr_expect_eq(*(double *)out.data, most);
  array_destroy(&out);
}

Test(cli_reduce, positions_and_values) {
  write_input();
  array out = tool_array(
      "reduce in.npy --op argmin --axis 0 --values best.npy --device host -o out.npy", "out.npy");
  array best;
  array_error error;
  cr_assert(array_read("best.npy", &best, &error), "%s", error.text);
  cr_assert(out.dtype == LLRT_I64 && best.dtype == LLRT_F32 && best.shape[0] == COLUMNS);
  for (int j = 0; j < COLUMNS; j++) {
    int at = 0;
    for (int i = 1; i < ROWS; i++)
      if (sample[i][j] < sample[at][j]) at = i;
    cr_expect_eq(((int64_t *)out.data)[j], at);
    cr_expect_eq(((float *)best.data)[j], sample[at][j]);
  }
  array_destroy(&out);
  array_destroy(&best);
}

Test(cli_reduce, position_among_all) {
  write_input();
  int at = 0;
  for (int i = 1; i < ROWS * COLUMNS; i++)
    if ((&sample[0][0])[i] > (&sample[0][0])[at]) at = i;
  array out =
      tool_array("reduce in.npy --op argmax --axis 0,1 --device host -o out.npy", "out.npy");
  cr_assert(out.dtype == LLRT_I64 && out.rank == 0);
  cr_expect_eq(*(int64_t *)out.data, at);
  array_destroy(&out);
}

Test(cli_reduce, other_storages) {
  write_input();
  tool_result r = tool_expect_success("convert in.npy --to col_major --device host -o columns.npy");
  tool_result_fini(&r);
  array out = tool_array("reduce columns.npy --from col_major --shape 20x36 --op any --axis 1 --to "
                         "'S[(20):(3@m)]' --device host -o out.npy",
                         "out.npy");
  cr_assert(out.dtype == LLRT_BOOL && out.shape[0] == 3 * (ROWS - 1) + 1);
  for (int i = 0; i < ROWS; i++) cr_expect_eq(((char *)out.data)[3 * i], 1);
  array_destroy(&out);
}

Test(cli_reduce, what_is_refused) {
  static const tool_failure rows[] = {
      {"reduce in.npy --axis 1 --device host -o out.npy", 2, "--op is missing"},
      {"reduce in.npy --op sum --device host -o out.npy", 2, "--axis is missing"},
      {"reduce in.npy --op mean --axis 1 --device host -o out.npy", 2, "no such op"},
      {"reduce in.npy --op sum --axis x --device host -o out.npy", 2, "numbers by commas"},
      {"reduce in.npy --op sum --axis 2 --device host -o out.npy", 1,
       "--axis 2 of a tensor of 2 axes"},
      {"reduce in.npy --op sum --axis 1,1 --device host -o out.npy", 1, "twice"},
      {"reduce in.npy --op sum --axis 1 --accumulate i32 --device host -o out.npy", 1,
       "cannot be accumulated"},
      {"reduce in.npy --op argmax --axis 1 --out-dtype f32 --device host -o out.npy", 1,
       "cannot be a destination"},
      {"reduce in.npy --op sum --axis 1 --device host", 2, "-o OUT is missing"},
      {"reduce in.npy --op sum --axis 1 --values v.npy --device host -o out.npy", 2,
       "--values is for argmin and argmax"},
      {"reduce in.npy --op argmax --axis 1 --values out.npy --device host -o out.npy", 2,
       "OUT, too"},
      {"reduce in.npy --op argmax --axis 1 --values no/v.npy --device host -o out.npy", 1,
       "no/v.npy: cannot be written"},
      {"reduce in.npy --op argmax --axis 1 --values /dev/full --device host -o out.npy", 1,
       "/dev/full: cannot be written"},
  };
  write_input();
  tool_expect_failures(rows, sizeof rows / sizeof *rows);
}
