/* llrt_reduce as a call: what it allocates, what it refuses with nothing written, and that runs
 * repeat. */
#include "convert_fixture.h"

#include "runtime/described.h"

#include <sys/mman.h>

/* The sum of row i of the fixture's input. */
static float row_sum(int i) {
  float sum = 0;
  for (int j = 0; j < COLUMNS; j++) sum += (float)(i * COLUMNS + j);
  return sum;
}

Test(reduce_call, result_is_allocated) {
  fixture at;
  llrt_tensor result;
  fixture_make(&at, &fixture_params);
  cr_assert_eq(llrt_reduce(&at.source, NULL, &(llrt_reduce_params){.axes = 2}, NULL, &result),
               LLRT_OK, "%s", llrt_last_error());
  cr_assert(result.rank == 1 && result.shape[0] == ROWS && result.dtype == LLRT_F32);
  for (int i = 0; i < ROWS; i++) cr_expect_eq(((float *)result.data)[i], row_sum(i));
  cr_assert_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  llrt_reduce_params params = {
      .op = LLRT_COMBINE_ARGMAX, .axes = 1, .keep_axes = true, .dtype = LLRT_I32};
  cr_assert_eq(llrt_reduce(&at.source, NULL, &params, NULL, &result), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert(result.rank == 2 && result.shape[0] == 1 && result.shape[1] == COLUMNS &&
            result.dtype == LLRT_I32);
  for (int j = 0; j < COLUMNS; j++) cr_expect_eq(((int32_t *)result.data)[j], ROWS - 1);
  cr_assert_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  cr_assert_eq(llrt_reduce(&at.source, NULL, NULL, NULL, &result), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect(result.rank == 0 && *(float *)result.data == 460320.0f); /* 959 * 960 / 2 */
  cr_assert_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  fixture_end(&at);
}

Test(reduce_call, a_kernel_is_made_once) {
  fixture at;
  fixture_make(&at, &fixture_params);
  llrt_tensor sums = {
      .data = at.output, .dtype = LLRT_F32, .rank = 1, .shape = {ROWS}, .device = at.host};
  llrt_reduce_params params = {.axes = 2};
  for (int i = 0; i < 3; i++)
    cr_assert_eq(llrt_reduce_into(&at.source, &sums, &params, NULL), LLRT_OK);
  cr_expect_eq(fixture_stats(&at).compiles, 1);
  params.op = LLRT_COMBINE_MAX;
  cr_assert_eq(llrt_reduce_into(&at.source, &sums, &params, NULL), LLRT_OK);
  cr_expect_eq(fixture_stats(&at).compiles, 2);
  for (int i = 0; i < ROWS; i++) cr_expect_eq(at.output[i], (float)(i * COLUMNS + COLUMNS - 1));
  fixture_end(&at);
}

typedef struct refusal {
  llrt_reduce_params params;
  llrt_dtype from, to;
  int rank; /* of the destination */
  int64_t rows, results;
  llrt_status status;
  const char *why;
} refusal;

Test(reduce_call, what_is_refused) {
  static const refusal list[] = {
      {{.axes = 4}, LLRT_F32, LLRT_F32, 1, ROWS, ROWS, LLRT_INVALID_ARGUMENT, "axes is 0x4"},
      {{.op = 9, .axes = 2},
       LLRT_F32,
       LLRT_F32,
       1,
       ROWS,
       ROWS,
       LLRT_INVALID_ARGUMENT,
       "no combiner 9"},
      {{.axes = 2}, LLRT_F32, LLRT_F32, 1, ROWS, ROWS + 1, LLRT_INVALID_ARGUMENT, "shape[0]"},
      {{.axes = 3},
       LLRT_F32,
       LLRT_F32,
       1,
       ROWS,
       1,
       LLRT_INVALID_ARGUMENT,
       "the destination has rank 1"},
      {{.axes = 2}, LLRT_B32, LLRT_B32, 1, ROWS, ROWS, LLRT_UNSUPPORTED, "no sum of b32"},
      {{.axes = 2}, LLRT_BOOL, LLRT_I64, 1, ROWS, ROWS, LLRT_UNSUPPORTED, "no sum of bool"},
      {{.axes = 2},
       LLRT_I32,
       LLRT_F32,
       1,
       ROWS,
       ROWS,
       LLRT_UNSUPPORTED,
       "cannot be a destination of f32"},
      {{.op = LLRT_COMBINE_ANY, .axes = 2},
       LLRT_F32,
       LLRT_F32,
       1,
       ROWS,
       ROWS,
       LLRT_UNSUPPORTED,
       "any of f32"},
      {{.axes = 2, .accumulate = LLRT_F16},
       LLRT_F32,
       LLRT_F32,
       1,
       ROWS,
       ROWS,
       LLRT_UNSUPPORTED,
       "accumulated in f16"},
      {{.op = LLRT_COMBINE_MIN, .axes = 1},
       LLRT_F32,
       LLRT_F32,
       1,
       0,
       COLUMNS,
       LLRT_INVALID_ARGUMENT,
       "no positions"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    const refusal *r = &list[i];
    fixture at;
    fixture_make(&at, &fixture_params);
    llrt_tensor source = at.source;
    llrt_tensor result = {.data = at.output,
                          .dtype = r->to,
                          .rank = r->rank,
                          .shape = {r->results},
                          .device = at.host};
    source.dtype = r->from;
    source.shape[0] = r->rows;
    cr_expect_eq(llrt_reduce_into(&source, &result, &r->params, NULL), r->status, "%s: %s", r->why,
                 llrt_last_error());
    expect_said(r->why);
    cr_expect(fixture_is_untouched(&at), "%s", r->why);
    fixture_end(&at);
  }
}

Test(reduce_call, memory_that_overlaps) {
  fixture at;
  fixture_make(&at, &fixture_params);
  llrt_tensor result = {
      .data = at.input + 8, .dtype = LLRT_F32, .rank = 1, .shape = {ROWS}, .device = at.host};
  cr_expect_eq(llrt_reduce_into(&at.source, &result, &(llrt_reduce_params){.axes = 2}, NULL),
               LLRT_INVALID_ARGUMENT);
  expect_said("overlap");
  cr_expect_eq(llrt_reduce_into(NULL, &result, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_reduce_into(&at.source, NULL, NULL, NULL), LLRT_INVALID_ARGUMENT);
  fixture_end(&at);
}

/* Many elements of few results are shared by blocks: the same bits every time. */
Test(reduce_call, runs_repeat) {
  enum { N = 200003 };
  fixture at;
  float *many = malloc(N * sizeof *many), first = 0;
  fixture_make(&at, &fixture_params);
  for (int i = 0; i < N; i++) many[i] = (float)((i * 7919) % 10007) / 4096 - 1;
  llrt_tensor source = {
      .data = many, .dtype = LLRT_F32, .rank = 1, .shape = {N}, .device = at.host};
  llrt_tensor result = {.data = at.output, .dtype = LLRT_F32, .rank = 0, .device = at.host};
  for (int i = 0; i < 5; i++) {
    cr_assert_eq(llrt_reduce_into(&source, &result, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
    if (i == 0) first = at.output[0];
    cr_expect_eq(memcmp(&first, at.output, sizeof first), 0);
  }
  fixture_end(&at);
  free(many);
}

/* An axis past 2^31. Pages that are only read take no memory of their own. */
Test(reduce_call, more_than_2_to_the_31_positions, .timeout = 120) {
  const int64_t n = ((int64_t)1 << 31) + 4321, late = ((int64_t)1 << 31) + 1234;
  fixture at;
  llrt_tensor result;
  fixture_make(&at, &fixture_params);
  int8_t *data = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) cr_skip_test("no 2 GiB of address space");
  data[5] = 3;
  data[late] = data[late + 1000] = 7;
  llrt_tensor source = {.data = data, .dtype = LLRT_I8, .rank = 1, .shape = {n}, .device = at.host};
  llrt_reduce_params params = {.op = LLRT_COMBINE_ARGMAX};
  cr_assert_eq(llrt_reduce(&source, NULL, &params, NULL, &result), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect_eq(*(int64_t *)result.data, late);
  cr_assert_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  params.op = LLRT_COMBINE_SUM;
  cr_assert_eq(llrt_reduce(&source, NULL, &params, NULL, &result), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect_eq(*(int64_t *)result.data, 17);
  cr_assert_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  munmap(data, (size_t)n);
  fixture_end(&at);
}

/* A count in device memory stands on reduced axes of the source; of none the result is neutral. */
Test(reduce_call, counts_in_memory) {
  fixture at;
  fixture_make(&at, &fixture_params);
  int32_t count = 3;
  llrt_tensor source = at.source;
  llrt_tensor result = {
      .data = at.output, .dtype = LLRT_F32, .rank = 1, .shape = {ROWS}, .device = at.host};
  source.extent_ptr[1] = &count;
  for (count = -1; count <= COLUMNS; count++) {
    cr_assert_eq(llrt_reduce_into(&source, &result, &(llrt_reduce_params){.axes = 2}, NULL),
                 LLRT_OK, "%s", llrt_last_error());
    for (int i = 0; i < ROWS; i++) {
      float sum = 0;
      for (int j = 0; j < count; j++) sum += at.input[i * COLUMNS + j];
      cr_expect_float_eq(at.output[i], sum, 1e-3);
    }
  }
  result.shape[0] = COLUMNS;
  cr_expect_eq(llrt_reduce_into(&source, &result, &(llrt_reduce_params){.axes = 1}, NULL),
               LLRT_UNSUPPORTED);
  expect_said("extent_ptr[1] on the source");
  fixture_end(&at);
}

/* Of an axis that promises allow one position at most there may be none, whatever other reduced
 * axes have. */
Test(reduce_call, one_position_or_none) {
  enum { OUTER = 64, INNER = 22 };
  static const struct {
    const char *storage;
    int64_t most;
  } cases[] = {{"row_major", 1},
               {"col_major", 1},
               {"row_major", 2},
               {"storage(rank=3, digits=[dim1:2,dim0:rest,dim2:rest], pad=0)", 2}};
  static float ones[OUTER * 2 * INNER];
  fixture at;
  fixture_make(&at, &fixture_params);
  for (int i = 0; i < OUTER * 2 * INNER; i++) ones[i] = 1;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    llrt_storage storage;
    llrt_op *op;
    cr_assert_eq(llrt_storage_parse(cases[c].storage, 3, NULL, &storage), LLRT_OK, "%s",
                 llrt_last_error());
    op_description desc = {
        .kind = LLRT_OP_REDUCE, .n_tensors = 2, .combine = {.op = LLRT_COMBINE_SUM, .axes = 3}};
    desc.tensors[0] = (llrt_tensor){.data = ones,
                                    .dtype = LLRT_F32,
                                    .rank = 3,
                                    .shape = {OUTER, 1, INNER},
                                    .storage = &storage,
                                    .device = at.host};
    desc.tensors[1] = (llrt_tensor){
        .data = at.output, .dtype = LLRT_F32, .rank = 3, .shape = {1, 1, INNER}, .device = at.host};
    desc.promises[0].shape[1] = (llrt_promise){.max = cases[c].most};
    cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
    for (int64_t n = cases[c].most; n >= 0; n--) {
      llrt_run_params run = {0};
      desc.tensors[0].shape[1] = n;
      cr_assert_eq(llrt_op_workspace(op, desc.tensors, 2, &run.workspace_bytes), LLRT_OK, "%s",
                   llrt_last_error());
      run.workspace = calloc(1, run.workspace_bytes + 1);
      cr_expect_eq(llrt_op_run(op, NULL, desc.tensors, 2, &run), LLRT_OK, "%s", llrt_last_error());
      for (int i = 0; i < INNER; i++)
        cr_expect_eq(at.output[i], OUTER * n, "case %zu, %d of %d positions: %g", c, i, (int)n,
                     (double)at.output[i]);
      free(run.workspace);
    }
    llrt_op_destroy(&op);
  }
  fixture_end(&at);
}

/* Last axes of one position are described as first ones. */
typedef struct ones_row {
  int rank;
  int64_t shape[4];
  uint32_t axes;
  llrt_combiner op;
} ones_row;

static const ones_row ones_rows[] = {
    {2, {600, 1}, 1, LLRT_COMBINE_SUM},         {2, {600, 1}, 2, LLRT_COMBINE_SUM},
    {2, {600, 1}, 3, LLRT_COMBINE_MAX},         {3, {7, 80, 1}, 2, LLRT_COMBINE_SUM},
    {3, {7, 80, 1}, 1, LLRT_COMBINE_SUM},       {3, {7, 80, 1}, 5, LLRT_COMBINE_MIN},
    {3, {7, 80, 1}, 6, LLRT_COMBINE_SUM},       {4, {5, 6, 1, 1}, 2, LLRT_COMBINE_SUM},
    {4, {5, 1, 6, 1}, 4, LLRT_COMBINE_SUM},     {4, {5, 6, 1, 1}, 11, LLRT_COMBINE_SUM},
    {2, {600, 1}, 1, LLRT_COMBINE_ARGMAX},      {3, {7, 80, 1}, 5, LLRT_COMBINE_ARGMIN},
    {4, {5, 6, 1, 1}, 15, LLRT_COMBINE_ARGMAX}, {4, {1, 1, 1, 1}, 8, LLRT_COMBINE_SUM},
};

static float ones_value(int64_t i) { return (float)(i * 37 % 101 - 50); }

/* Of the source's position i, the number among the reduced positions, and that of its result. */
static void split_position(const ones_row *r, int64_t i, int64_t *reduced, int64_t *result) {
  int64_t weight[2] = {1, 1}, number[2] = {0, 0};
  for (int a = r->rank - 1; a >= 0; a--) {
    int which = r->axes >> a & 1;
    number[which] += i % r->shape[a] * weight[which];
    weight[which] *= r->shape[a];
    i /= r->shape[a];
  }
  *reduced = number[1];
  *result = number[0];
}

/* right[]: of each result; of positions that are found the first of equal elements. */
static int64_t ones_right(const ones_row *r, int64_t n, double *right) {
  double best[ELEMENTS];
  int64_t results = 0, reduced, at;
  for (int64_t i = 0; i < n; i++) {
    split_position(r, i, &reduced, &at);
    double x = ones_value(i);
    bool finds = r->op == LLRT_COMBINE_ARGMAX || r->op == LLRT_COMBINE_ARGMIN;
    bool greater = r->op == LLRT_COMBINE_ARGMAX || r->op == LLRT_COMBINE_MAX;
    if (at == results) best[results] = right[results] = x, right[results++] = finds ? 0 : x;
    else if (r->op == LLRT_COMBINE_SUM) right[at] += x;
    else if (greater ? x > best[at] : x < best[at])
      best[at] = x, right[at] = finds ? (double)reduced : x;
  }
  return results;
}

static void check_ones(fixture *at, const ones_row *r, const llrt_storage *storage, bool keeps) {
  double right[ELEMENTS];
  int64_t n = 1;
  llrt_tensor from = at->source, made;
  from.rank = r->rank;
  from.storage = storage;
  for (int a = 0; a < r->rank; a++) n *= from.shape[a] = r->shape[a];
  for (int64_t i = 0; i < n; i++) at->input[i] = ones_value(i);
  int64_t results = ones_right(r, n, right);
  llrt_reduce_params params = {.op = r->op, .axes = r->axes, .keep_axes = keeps};
  cr_assert_eq(llrt_reduce(&from, NULL, &params, NULL, &made), LLRT_OK, "%s", llrt_last_error());
  for (int64_t i = 0; i < results; i++) {
    double is = made.dtype == LLRT_F32   ? (double)((float *)made.data)[i]
                : made.dtype == LLRT_I32 ? (double)((int32_t *)made.data)[i]
                                         : (double)((int64_t *)made.data)[i];
    cr_assert_eq(is, right[i], "row %d: result %d is %g, not %g", (int)(r - ones_rows), (int)i, is,
                 right[i]);
  }
  cr_assert_eq(llrt_tensor_free(&made, NULL), LLRT_OK);
}

Test(reduce_call, last_axes_of_one_position) {
  fixture at;
  fixture_make(&at, &fixture_params);
  for (size_t i = 0; i < sizeof ones_rows / sizeof *ones_rows; i++) {
    llrt_storage rows;
    cr_assert_eq(llrt_storage_row_major(ones_rows[i].rank, &rows), LLRT_OK);
    check_ones(&at, &ones_rows[i], NULL, false);
    check_ones(&at, &ones_rows[i], &rows, true);
  }
  fixture_end(&at);
}

/* A column is taken as the row that it is in memory: by that kernel. */
Test(reduce_call, a_column_is_a_row) {
  fixture at;
  fixture_make(&at, &fixture_params);
  check_ones(&at, &(ones_row){2, {1, 900}, 2, LLRT_COMBINE_SUM}, NULL, false);
  uint64_t compiles = fixture_stats(&at).compiles;
  check_ones(&at, &(ones_row){2, {900, 1}, 1, LLRT_COMBINE_SUM}, NULL, false);
  cr_expect_eq(fixture_stats(&at).compiles, compiles);
  fixture_end(&at);
}
