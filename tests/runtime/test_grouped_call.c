/* Grouped products as calls: what a description becomes, and what is refused with which words. */
#include "convert_fixture.h"

#define BAD LLRT_INVALID_ARGUMENT
#define NOT LLRT_UNSUPPORTED
#define TENSOR(type, n, x, y, z) \
  { \
    .dtype = type, .rank = n, .shape = { x, y, z } \
  }
#define F16(n, x, y, z) TENSOR(LLRT_F16, n, x, y, z)
#define ENDS(n) TENSOR(LLRT_I32, 1, n, 0, 0)

static const struct {
  llrt_tensor a, b, d, ends;
  const char *storage[3]; /* of a, b, d */
  int indexed;            /* which of a, b, d has an index on axis `axis`; -1: none */
  int axis, kind;
  llrt_status status;
  const char *words;
} rows[] = {
    {F16(2, 8, 4, 0),
     F16(3, 3, 4, 6),
     F16(2, 8, 6, 0),
     ENDS(5),
     {0},
     -1,
     0,
     0,
     BAD,
     "params.ends has 5 values, not 3, one for each expert, or 4, with a leading zero"},
    {F16(2, 8, 4, 0),
     F16(3, 3, 4, 6),
     F16(2, 8, 6, 0),
     TENSOR(LLRT_I64, 1, 3, 0, 0),
     {0},
     -1,
     0,
     0,
     BAD,
     "params.ends is i64, not i32"},
    {F16(2, 8, 4, 0),
     F16(3, 3, 4, 6),
     F16(2, 8, 6, 0),
     TENSOR(LLRT_I32, 2, 3, 1, 0),
     {0},
     -1,
     0,
     0,
     BAD,
     "params.ends has rank 2, not 1"},
    {F16(3, 3, 8, 4),
     F16(3, 3, 4, 6),
     F16(3, 3, 8, 6),
     ENDS(3),
     {0},
     -1,
     0,
     0,
     BAD,
     "a grouped product of operands of rank 3 and 3 and a result of rank 3"},
    {F16(2, 8, 4, 0),
     F16(3, 3, 5, 6),
     F16(2, 8, 6, 0),
     ENDS(3),
     {0},
     -1,
     0,
     0,
     BAD,
     "operand B has 5 positions along K, not 4"},
    {F16(2, 7, 4, 0),
     F16(3, 3, 4, 6),
     F16(2, 8, 6, 0),
     ENDS(3),
     {0},
     -1,
     0,
     0,
     BAD,
     "operand A has 7 positions along M, not 8"},
    {F16(2, 8, 4, 0),
     F16(3, 3, 4, 6),
     F16(2, 8, 6, 0),
     ENDS(3),
     {"storage(rank=2, digits=[dim0: 4, dim1: rest, dim0: rest])", 0, 0},
     -1,
     0,
     0,
     NOT,
     "positions of axis M, which belong to experts, do not lie apart by one stride"},
    {F16(2, 8, 4, 0),
     F16(3, 3, 4, 6),
     F16(2, 8, 6, 0),
     ENDS(3),
     {0},
     0,
     1,
     LLRT_INDEX_COORDINATE,
     NOT,
     "operand A of a grouped product: A and D may have an index of rows"},
    {F16(2, 8, 4, 0),
     F16(3, 3, 4, 6),
     F16(2, 8, 6, 0),
     ENDS(3),
     {0},
     1,
     0,
     LLRT_INDEX_COORDINATE,
     NOT,
     "operand B of a grouped product"},
};

Test(grouped_call, refusals) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    llrt_tensor t[3] = {rows[i].a, rows[i].b, rows[i].d}, ends = rows[i].ends;
    llrt_storage storage[3];
    llrt_index index = {.axis = rows[i].axis, .kind = rows[i].kind, .dtype = LLRT_I32};
    const llrt_dot_params params = {.size = sizeof params, .ends = &ends};
    llrt_op_desc *desc = NULL;
    index.axes = 1u << rows[i].axis;
    index.extent = 4;
    for (int k = 0; k < 3; k++) {
      if (!rows[i].storage[k]) continue;
      cr_assert_eq(llrt_storage_parse(rows[i].storage[k], t[k].rank, t[k].shape, &storage[k]),
                   LLRT_OK, "%s", llrt_last_error());
      t[k].storage = &storage[k];
    }
    if (rows[i].indexed >= 0) {
      t[rows[i].indexed].indices = &index;
      t[rows[i].indexed].n_indices = 1;
    }
    cr_expect_eq(llrt_dot_describe(&t[0], &t[1], &t[2], &params, &desc), rows[i].status,
                 "row %zu: %s", i, llrt_last_error());
    cr_expect(strstr(llrt_last_error(), rows[i].words), "row %zu: %s", i, llrt_last_error());
    llrt_op_desc_destroy(&desc);
  }
}

/* Each position's expert, in place of ends. */
static const struct {
  llrt_tensor experts;
  bool ends, sums; /* ends are given, too; the form of sums, whose d is to be made */
  const char *words;
} numbered[] = {
    {ENDS(7), false, false, "params.experts has 7 values, not 8, one for each position"},
    {TENSOR(LLRT_I64, 1, 8, 0, 0), false, false, "params.experts is i64, not i32"},
    {TENSOR(LLRT_I32, 2, 8, 1, 0), false, false, "params.experts has rank 2, not 1"},
    {ENDS(8), true, false, "params: ends and experts, of which one says whose positions are"},
    {ENDS(4), false, true, "params.experts does not say how many experts d [E, M, N] has"},
};

Test(grouped_call, refusals_of_experts) {
  const llrt_tensor a = F16(2, 8, 4, 0), b = F16(3, 3, 4, 6), d = F16(2, 8, 6, 0), ends = ENDS(3);
  const llrt_tensor other = F16(2, 4, 6, 0);
  for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++) {
    const llrt_dot_params params = {.size = sizeof params,
                                    .ends = numbered[i].ends ? &ends : NULL,
                                    .experts = &numbered[i].experts};
    llrt_op_desc *desc = NULL;
    llrt_tensor made;
    llrt_status status = numbered[i].sums ? llrt_dot_result(&a, &other, &params, &made)
                                          : llrt_dot_describe(&a, &b, &d, &params, &desc);
    cr_expect_eq(status, BAD, "row %zu: %s", i, llrt_last_error());
    cr_expect(strstr(llrt_last_error(), numbered[i].words), "row %zu: %s", i, llrt_last_error());
    llrt_op_desc_destroy(&desc);
  }
}

/* What says whose positions are has to lie one behind the other, by the run's strides, too. */
Test(grouped_call, values_apart) {
  static const struct {
    const char *storage; /* NULL: by the tensor's stride */
    int64_t stride;
    llrt_status status;
  } of[] = {{NULL, 1, LLRT_OK},
            {NULL, 2, BAD},
            {NULL, 0, BAD},
            {"(3):(1)", 0, LLRT_OK},
            {"storage(rank=1, digits=[dim0:rest @ 2])", 0, NOT},
            {"storage(rank=1, digits=[replica:2, dim0:rest])", 0, NOT},
            {"storage(rank=1, digits=[dim0:rest], offset=[1])", 0, NOT}};
  static float a[8][4], b[3][4][6], d[8][6];
  static int32_t values[16] = {2, 5, 8, 8};
  llrt_context *context;
  llrt_device *host = NULL;
  cr_assert_eq(llrt_context_create(NULL, &context), LLRT_OK);
  cr_assert_eq(llrt_device_open(context, "host", NULL, &host), LLRT_OK);
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    llrt_storage storage;
    llrt_tensor ends = TENSOR(LLRT_I32, 1, 3, 0, 0);
    llrt_tensor t[] = {TENSOR(LLRT_F32, 2, 8, 4, 0), TENSOR(LLRT_F32, 3, 3, 4, 6),
                       TENSOR(LLRT_F32, 2, 8, 6, 0)};
    const llrt_dot_params params = {.size = sizeof params, .ends = &ends};
    t[0].data = a, t[1].data = b, t[2].data = d, ends.data = values;
    t[0].device = t[1].device = t[2].device = ends.device = host;
    ends.strides[0] = of[i].stride;
    ends.storage = &storage;
    cr_assert_eq(of[i].storage ? llrt_storage_parse(of[i].storage, 1, ends.shape, &storage)
                               : llrt_storage_strided(1, NULL, &storage),
                 LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(llrt_dot_into(&t[0], &t[1], &t[2], &params, NULL), of[i].status, "row %zu: %s", i,
                 llrt_last_error());
    if (of[i].status != LLRT_OK)
      cr_expect(strstr(llrt_last_error(), "do not lie one behind the other"), "row %zu: %s", i,
                llrt_last_error());
  }
  llrt_device_close(&host);
  llrt_context_destroy(&context);
}

Test(grouped_call, results_have_the_form_of_ranks) {
  llrt_tensor rows_d, sums_d, ends = ENDS(3);
  const llrt_tensor a = F16(2, 8, 4, 0), b = F16(3, 3, 4, 6), other = F16(2, 4, 6, 0);
  const llrt_dot_params params = {.size = sizeof params, .ends = &ends};
  cr_assert_eq(llrt_dot_result(&a, &b, &params, &rows_d), LLRT_OK, "%s", llrt_last_error());
  cr_expect(rows_d.rank == 2 && rows_d.shape[0] == 8 && rows_d.shape[1] == 6);
  cr_assert_eq(llrt_dot_result(&a, &other, &params, &sums_d), LLRT_OK, "%s", llrt_last_error());
  cr_expect(sums_d.rank == 3 && sums_d.shape[0] == 3 && sums_d.shape[1] == 8 &&
            sums_d.shape[2] == 6);
}
