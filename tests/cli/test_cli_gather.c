/* llrt gather: results against numpy's definitions, and what is refused. */
#include "tool_run.h"

#include "tools/common/array_file.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

TestSuite(cli_gather, .init = tool_folder_enter, .fini = tool_folder_leave);

enum { ROWS = 20, COLUMNS = 36 };

static array make_array(llrt_dtype dtype, int rank, const int64_t *shape) {
  array a;
  array_error error;
  cr_assert(array_create(dtype, rank, shape, &a, &error), "%s", error.text);
  for (size_t i = 0; i < a.bytes && dtype == LLRT_F32; i++)
    ((unsigned char *)a.data)[i] = (unsigned char)(i * 2654435761u >> 13);
  return a;
}

static void save(const char *name, const array *a) {
  array_error error;
  cr_assert(array_write(name, a, &error), "%s", error.text);
}

static array source, index_array;

/* IN of ROWS x COLUMNS and I of the given shape, values (i * 7 + 3) mod `below`. */
static void make_files(llrt_dtype dtype, int rank, const int64_t *shape, int below) {
  source = make_array(LLRT_F32, 2, (int64_t[]){ROWS, COLUMNS});
  save("in.npy", &source);
  index_array = make_array(dtype, rank, shape);
  size_t n = index_array.bytes / (size_t)(llrt_dtype_bits(dtype) / 8);
  for (size_t i = 0; i < n; i++) {
    int64_t value = (int64_t)(i * 7 + 3) % below;
    if (dtype == LLRT_I32) ((int32_t *)index_array.data)[i] = (int32_t)value;
    else ((int64_t *)index_array.data)[i] = value;
  }
  save("i.npy", &index_array);
}

static void free_all(array *out) {
  array_destroy(out);
  array_destroy(&source);
  array_destroy(&index_array);
}

Test(cli_gather, take_along) {
  make_files(LLRT_I64, 2, (int64_t[]){ROWS, 11}, COLUMNS);
  array out =
      tool_array("gather in.npy --index i.npy --axis 1 --device host -o out.npy", "out.npy");
  cr_assert(out.rank == 2 && out.shape[0] == ROWS && out.shape[1] == 11 && out.dtype == LLRT_F32);
  for (int i = 0; i < ROWS * 11; i++) {
    int64_t from = i / 11 * COLUMNS + ((int64_t *)index_array.data)[i];
    cr_assert_eq(((uint32_t *)out.data)[i], ((uint32_t *)source.data)[from], "element %d", i);
  }
  free_all(&out);
}

/* One value for all of a row; values below 0 are out of range, to another storage. */
Test(cli_gather, one_value_a_row_to_columns) {
  make_files(LLRT_I32, 2, (int64_t[]){50, 1}, ROWS + 4);
  ((int32_t *)index_array.data)[7] = -1;
  save("i.npy", &index_array);
  array out = tool_array(
      "gather in.npy --index i.npy --axis 0 --to col_major --device host -o out.npy", "out.npy");
  cr_assert_eq(out.bytes, 50 * COLUMNS * sizeof(float));
  for (int i = 0; i < 50 * COLUMNS; i++) {
    int32_t row = ((int32_t *)index_array.data)[i % 50];
    uint32_t wanted =
        row >= 0 && row < ROWS ? ((uint32_t *)source.data)[row * COLUMNS + i / 50] : 0;
    cr_assert_eq(((uint32_t *)out.data)[i], wanted, "element %d", i);
  }
  free_all(&out);
}

Test(cli_gather, select_clamped) {
  make_files(LLRT_I64, 1, (int64_t[]){70}, ROWS + 9);
  array out = tool_array("gather in.npy --index i.npy --axis 0 --form select --out-of-range clamp"
                         " --device host -o out.npy",
                         "out.npy");
  cr_assert(out.shape[0] == 70 && out.shape[1] == COLUMNS);
  for (int i = 0; i < 70 * COLUMNS; i++) {
    int64_t row = ((int64_t *)index_array.data)[i / COLUMNS];
    int64_t from = (row < ROWS ? row : ROWS - 1) * COLUMNS + i % COLUMNS;
    cr_assert_eq(((uint32_t *)out.data)[i], ((uint32_t *)source.data)[from], "element %d", i);
  }
  free_all(&out);
}

static const tool_failure failures[] = {
    {"gather in.npy --axis 0 -o out.npy", 2, "--index is missing"},
    {"gather in.npy --index i.npy -o out.npy", 2, "--axis is missing"},
    {"gather in.npy --index i.npy --axis 0", 2, "-o OUT is missing"},
    {"gather in.npy --index i.npy --axis 2 --form select -o out.npy", 1,
     "axis 2, but the tensor has 2"},
    {"gather in.npy --index i.npy --axis -1 -o out.npy", 2, "no axis"},
    {"gather in.npy --index i.npy --axis 0 -o out.npy", 1, "the index has rank 1, the tensor 2"},
    {"gather in.npy --index in.npy --axis 0 -o out.npy", 1, "no tensor of int32 or int64"},
    {"gather in.npy --index in.npy --axis 0 --form select -o out.npy", 1,
     "no list of int32 or int64"},
    {"gather in.npy --index i.npy --axis 0 --form gather -o out.npy", 2, "take_along or select"},
    {"gather in.npy --index 'i64[4]' --axis 0 --form select -o out.npy", 1, "i64[4]: No such file"},
    {"gather in.npy --index i.npy --index i.npy --axis 0 -o out.npy", 2, "twice"},
    {"gather in.npy --index i.npy --axis 0 --form select --out-of-range skip -o out.npy", 2,
     "skip"},
    {"gather in.npy --index i.npy --axis 0 --form select --out-of-range error -o out.npy", 1,
     "value 24 at 3 of i.npy is not in 0..19, axis 0"},
    {"gather in.npy --index i.npy --axis 0 --form select --in-place -o out.npy", 2, "exclude"},
};

Test(cli_gather, failures_write_nothing) {
  array none = {0};
  make_files(LLRT_I64, 1, (int64_t[]){70}, ROWS + 9);
  tool_expect_failures(failures, sizeof failures / sizeof *failures);
  free_all(&none);
}
