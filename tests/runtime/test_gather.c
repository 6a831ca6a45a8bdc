/* llrt_gather, llrt_scatter: what is accepted, what is refused and why. The conformance suite
 * checks results. */
#include "runtime/described.h"
#include "tests/runtime/convert_fixture.h"

static fixture at;
static _Alignas(16) int32_t list[ROWS + 1];
static llrt_tensor index_list, index_all;

static void setup(void) {
  fixture_make(&at, &fixture_params);
  for (int i = 0; i < ROWS; i++) list[i] = ROWS - 1 - i;
  index_list =
      (llrt_tensor){.data = list, .dtype = LLRT_I32, .rank = 1, .shape = {ROWS}, .device = at.host};
  index_all = (llrt_tensor){
      .data = list, .dtype = LLRT_I32, .rank = 2, .shape = {ROWS, 1}, .device = at.host};
}
static void teardown(void) { fixture_end(&at); }

TestSuite(gather, .init = setup, .fini = teardown);

static const llrt_gather_params select_rows = {.form = LLRT_GATHER_SELECT};

static void expect_refused(llrt_status found, llrt_status wanted, const char *said) {
  cr_expect_eq(found, wanted, "%s: %s", said, llrt_last_error());
  expect_said(said);
  cr_expect(fixture_is_untouched(&at), "%s", said);
}

Test(gather, rows_backwards) {
  llrt_tensor result;
  cr_assert_eq(llrt_gather(&at.source, &index_list, 0, NULL, &select_rows, NULL, &result), LLRT_OK,
               "%s", llrt_last_error());
  for (int i = 0; i < ELEMENTS; i++) {
    float wanted = at.input[(ROWS - 1 - i / COLUMNS) * COLUMNS + i % COLUMNS];
    cr_assert_eq(((float *)result.data)[i], wanted, "element %d", i);
  }
  cr_expect_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
}

/* A view prepared: one kernel, any values. */
Test(gather, prepared) {
  llrt_view view;
  llrt_op *op;
  cr_assert_eq(llrt_gather_view(&at.source, &index_all, 0, NULL, &view), LLRT_OK);
  cr_expect_eq(view.tensor.shape[0], ROWS);
  cr_expect_eq(view.tensor.shape[1], COLUMNS);
  cr_expect_eq(view.indices[0].axes, 1u);
  op_description desc = {
      .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {view.tensor, at.destination}};
  cr_assert_eq(described_promise(&desc), LLRT_OK);
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < ROWS; i++) list[i] = (i * 5 + turn) % ROWS;
    llrt_tensor tensors[] = {view.tensor, at.destination};
    cr_assert_eq(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_OK, "%s", llrt_last_error());
    for (int i = 0; i < ELEMENTS; i++)
      cr_assert_eq(at.output[i], at.input[list[i % ROWS] * COLUMNS + i / ROWS], "element %d", i);
  }
  llrt_op_destroy(&op);
}

/* What one call's values keep, another's must. */
Test(gather, broken_promises_of_values) {
  llrt_view view;
  llrt_op *op;
  cr_assert_eq(llrt_gather_view(&at.source, &index_all, 0, NULL, &view), LLRT_OK);
  op_description desc = {
      .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {view.tensor, at.destination}};
  cr_assert_eq(described_promise(&desc), LLRT_OK);
  cr_expect_eq(desc.promises[0].index[0].along, 1);
  cr_expect_eq(desc.promises[0].index[0].multiple, 16);
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  const llrt_tensor tensors[] = {view.tensor, at.destination};
  view.indices[0].data = list + 1;
  expect_refused(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_OUT_OF_CLASS,
                 "multiple of 16 bytes");
  view.indices[0].data = list;
  view.indices[0].strides[0] = 0;
  expect_refused(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_OUT_OF_CLASS,
                 "follow each other along axis 0");
  llrt_op_destroy(&op);
  desc.promises[0].index[0].along = 2;
  expect_refused(described_prepare(at.host, &desc, &op), LLRT_INVALID_ARGUMENT,
                 "values do not differ");
}

#define PADDED "storage(rank=2, digits=[dim1: 2, dim1: rest, dim0: rest], pad=0)"
enum { PADDED_ROWS = 5, MOST_COLUMNS = 3, KEPT = -7 };

typedef struct padded_row {
  int form, columns, index_rank;
  bool stay; /* the pads of rows that are left out */
} padded_row;

/* Gathers 5 rows, of which values leave out two, into rows that are padded to an even number of
 * columns. */
static void check_pads(const padded_row *of) {
  static _Alignas(16) int32_t values[PADDED_ROWS] = {0, 9, 2, 4, -1};
  static _Alignas(16) float from[PADDED_ROWS * MOST_COLUMNS], to[PADDED_ROWS * (MOST_COLUMNS + 1)];
  int64_t shape[] = {PADDED_ROWS, of->columns};
  llrt_storage storage;
  llrt_gather_params params = {.form = of->form};
  int padded = (of->columns + 1) / 2 * 2;
  for (int i = 0; i < PADDED_ROWS * MOST_COLUMNS; i++) from[i] = (float)(i + 1);
  for (int i = 0; i < PADDED_ROWS * (MOST_COLUMNS + 1); i++) to[i] = KEPT;
  cr_assert_eq(llrt_storage_parse(PADDED, 2, shape, &storage), LLRT_OK, "%s", llrt_last_error());
  llrt_tensor source = {.data = from,
                        .dtype = LLRT_F32,
                        .rank = 2,
                        .shape = {PADDED_ROWS, of->columns},
                        .device = at.host};
  llrt_tensor index = {.data = values,
                       .dtype = LLRT_I32,
                       .rank = of->index_rank,
                       .shape = {PADDED_ROWS, 1},
                       .device = at.host};
  llrt_tensor destination = source;
  destination.data = to;
  destination.storage = &storage;
  cr_assert_eq(llrt_gather_into(&source, &index, 0, &destination, &params, NULL), LLRT_OK, "%s",
               llrt_last_error());
  for (int i = 0; i < PADDED_ROWS * padded; i++) {
    int row = i / padded, column = i % padded, value = values[row];
    bool left_out = value < 0 || value >= PADDED_ROWS, pad = column >= of->columns;
    float wanted = left_out && (!pad || of->stay) ? (float)KEPT
                   : pad                          ? 0
                                                  : from[value * of->columns + column];
    cr_expect_eq(to[i], wanted, "form %d, %d columns: row %d, column %d", of->form, of->columns,
                 row, column);
  }
}

/* A value stands for the pads along axes that the index does not have, and has one of extent 1
 * where the source has. */
Test(gather, pads_beside_what_is_left_out) {
  static const padded_row rows[] = {
      {LLRT_GATHER_TAKE_ALONG, 1, 2, false},
      {LLRT_GATHER_TAKE_ALONG, 3, 2, true},
      {LLRT_GATHER_SELECT, 1, 1, true},
      {LLRT_GATHER_SELECT, 3, 1, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_pads(&rows[i]);
}

Test(gather, shapes_that_do_not_fit) {
  llrt_tensor shorter = index_all;
  shorter.shape[1] = COLUMNS - 1;
  expect_refused(llrt_gather_into(&at.source, &shorter, 0, &at.destination, NULL, NULL),
                 LLRT_INVALID_ARGUMENT, "the index's shape[1] is 39, the tensor's 40");
  expect_refused(llrt_gather_into(&at.source, &index_list, 0, &at.destination, NULL, NULL),
                 LLRT_INVALID_ARGUMENT, "the index has rank 1, the tensor 2");
  expect_refused(llrt_gather_into(&at.source, &index_all, 0, &at.destination, &select_rows, NULL),
                 LLRT_INVALID_ARGUMENT, "rank 2, not 1: LLRT_GATHER_SELECT takes a list");
  expect_refused(llrt_gather_into(&at.source, &index_list, 1, &at.destination, &select_rows, NULL),
                 LLRT_INVALID_ARGUMENT, "the destination's shape[1] is 40, the source's 24");
  expect_refused(llrt_gather_into(&at.source, &index_list, 2, &at.destination, &select_rows, NULL),
                 LLRT_INVALID_ARGUMENT, "axis is 2, the tensor has rank 2");
}

Test(gather, indices_that_cannot_be) {
  llrt_storage tiled;
  llrt_tensor wrong = index_list;
  wrong.dtype = LLRT_U32;
  expect_refused(llrt_gather_into(&at.source, &wrong, 0, &at.destination, &select_rows, NULL),
                 LLRT_INVALID_ARGUMENT, "u32 values");
  wrong = index_list;
  cr_assert_eq(llrt_storage_parse("{offset: [[2],[1],[4]]} -> [dim0:8]", 1, (int64_t[]){8}, &tiled),
               LLRT_OK);
  wrong.storage = &tiled;
  wrong.shape[0] = 8;
  expect_refused(llrt_gather_into(&at.source, &wrong, 0, &at.destination, &select_rows, NULL),
                 LLRT_UNSUPPORTED, "convert it to row_major first");
  wrong = index_list;
  wrong.data = NULL;
  expect_refused(llrt_gather_into(&at.source, &wrong, 0, &at.destination, &select_rows, NULL),
                 LLRT_INVALID_ARGUMENT, "data NULL");
  wrong.device = NULL;
  expect_refused(llrt_gather_into(&at.source, &wrong, 0, &at.destination, &select_rows, NULL),
                 LLRT_INVALID_ARGUMENT, "another device");
  expect_refused(llrt_gather_into(&at.source, NULL, 0, &at.destination, &select_rows, NULL),
                 LLRT_INVALID_ARGUMENT, "index is NULL");
}

Test(gather, ways_that_cannot_be) {
  llrt_gather_params params = {.form = 2};
  expect_refused(llrt_gather_into(&at.source, &index_list, 0, &at.destination, &params, NULL),
                 LLRT_INVALID_ARGUMENT, "there is no form 2");
  params = (llrt_gather_params){.form = LLRT_GATHER_SELECT, .out_of_range = LLRT_RANGE_REPORT};
  expect_refused(llrt_gather_into(&at.source, &index_list, 0, &at.destination, &params, NULL),
                 LLRT_INVALID_ARGUMENT, "reports to NULL");
  params.out_of_range = LLRT_RANGE_ZERO;
  expect_refused(llrt_scatter_into(&at.source, &index_list, 0, &at.destination, &params, NULL),
                 LLRT_INVALID_ARGUMENT, "no place to write zeros to");
}

/* No room to work in: what is really wrong. */
Test(gather, one_address_with_one_index) {
  at.destination = at.source;
  at.destination.data = at.output;
  at.source.data = at.output;
  expect_refused(llrt_gather_into(&at.source, &index_list, 0, &at.destination, &select_rows, NULL),
                 LLRT_UNSUPPORTED, "begin at one address: with an index on the source");
  expect_refused(llrt_scatter_into(&at.source, &index_list, 0, &at.destination, &select_rows, NULL),
                 LLRT_UNSUPPORTED, "begin at one address: with an index on the destination");
}

/* No values, no memory for them; no positions to take. */
Test(gather, nothing) {
  llrt_tensor result, none = index_list;
  none.data = NULL;
  none.shape[0] = 0;
  const llrt_gather_params clamp = {.form = LLRT_GATHER_SELECT, .out_of_range = LLRT_RANGE_CLAMP};
  at.source.shape[0] = 0;
  cr_assert_eq(llrt_gather(&at.source, &none, 0, NULL, &clamp, NULL, &result), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect_eq(result.shape[0], 0);
  cr_expect_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  expect_refused(llrt_gather(&at.source, &index_list, 0, NULL, &clamp, NULL, &result),
                 LLRT_INVALID_ARGUMENT, "clamps to an axis without positions");
}
