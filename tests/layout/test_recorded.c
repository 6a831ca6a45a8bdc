/* Families and algebra against recorded results of Triton's implementation
 * (tests/data/layout_*.json). */
#include "tests/layout/layout_text.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

/* ---- reading ---- */

static json_t *load_cases(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", LLRT_TEST_DATA_DIR, name);
  json_error_t error;
  json_t *file = json_load_file(path, 0, &error);
  cr_assert(file, "%s: %s", path, error.text);
  json_t *cases = json_incref(json_object_get(file, "cases"));
  json_decref(file);
  cr_assert(json_is_array(cases));
  return cases;
}

static const char *string_of(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

static const char *name_at(const json_t *pair) {
  return json_string_value(json_array_get(pair, 0));
}

static int log2_of(long long size) { return __builtin_ctzll((unsigned long long)size); }

/* {"in": [[name, [basis, …]], …], "out": [[name, size], …]} */
static llrt_layout read_layout(const json_t *object) {
  llrt_layout layout = llrt_layout_empty();
  size_t i, bit, o;
  json_t *dim, *basis;
  json_array_foreach(json_object_get(object, "out"), i, dim) {
    int bits = log2_of(json_integer_value(json_array_get(dim, 1)));
    cr_assert(llrt_layout_add_out(&layout, name_at(dim), bits) == LLRT_OK);
  }
  json_array_foreach(json_object_get(object, "in"), i, dim) {
    const json_t *bases = json_array_get(dim, 1);
    cr_assert(llrt_layout_add_in(&layout, name_at(dim), (int)json_array_size(bases)) == LLRT_OK);
    json_array_foreach(bases, bit, basis) {
      uint64_t coords[LLRT_MAX_OUT_DIMS];
      json_t *coordinate;
      json_array_foreach(basis, o, coordinate) coords[o] = (uint64_t)json_integer_value(coordinate);
      cr_assert(llrt_layout_set_basis(&layout, name_at(dim), (int)bit, coords) == LLRT_OK);
    }
  }
  return layout;
}

/* ---- families ---- */

#define RECORDED_FAMILIES 448

/* In-dims that the record leaves out have size 1; out-dims are compared by name. */
static bool matches(const llrt_layout *actual, const llrt_layout *expected) {
  llrt_layout ordered, chosen;
  const char *ins[LLRT_MAX_IN_DIMS], *outs[LLRT_MAX_OUT_DIMS];
  for (int i = 0; i < actual->n_in; i++)
    if (llrt_layout_in_index(expected, actual->in[i].name) < 0 && actual->in[i].bits) return false;
  for (int i = 0; i < expected->n_in; i++) ins[i] = expected->in[i].name;
  for (int i = 0; i < expected->n_out; i++) outs[i] = expected->out[i].name;
  return llrt_layout_transpose_outs(actual, outs, expected->n_out, &ordered) == LLRT_OK &&
         llrt_layout_sublayout(&ordered, ins, expected->n_in, outs, expected->n_out, &chosen) ==
             LLRT_OK &&
         llrt_layout_equal(&chosen, expected);
}

static void check_family(const json_t *record) {
  int64_t shape[LLRT_MAX_RANK];
  const json_t *sizes = json_object_get(record, "shape");
  int rank = (int)json_array_size(sizes);
  for (int i = 0; i < rank; i++) shape[i] = json_integer_value(json_array_get(sizes, (size_t)i));
  const char *expr = string_of(record, "expr");
  llrt_layout actual, expected = read_layout(record);
  llrt_status status = llrt_layout_parse(expr, rank, shape, &actual);
  cr_assert(status == LLRT_OK, "%s: %s", expr, llrt_last_error());
  cr_expect(matches(&actual, &expected), "%s %s\n  is       %s\n  expected %s",
            string_of(record, "id"), expr, text_of(&actual), text_of(&expected));
}

Test(recorded, families) {
  json_t *cases = load_cases("layout_families.json"), *record;
  size_t i;
  cr_assert_eq(json_array_size(cases), RECORDED_FAMILIES);
  json_array_foreach(cases, i, record) check_family(record);
  json_decref(cases);
}

/* ---- algebra ---- */

#define RECORDED_OPERATIONS 103

typedef struct operation {
  const json_t *params, *expected;
  llrt_layout input[2];
  const char *id;
} operation;

/* The expected layout; or null, no result; or {"exists": true}, any. */
static void expect_result(const operation *op, llrt_status status, const llrt_layout *actual) {
  if (json_is_null(op->expected)) {
    cr_expect(status == LLRT_INVALID_ARGUMENT, "%s: should have no result", op->id);
    return;
  }
  if (json_object_get(op->expected, "exists")) {
    cr_expect(status == LLRT_OK, "%s: %s", op->id, llrt_last_error());
    return;
  }
  llrt_layout expected = read_layout(op->expected);
  cr_assert(status == LLRT_OK, "%s: %s", op->id, llrt_last_error());
  cr_expect(matches(actual, &expected), "%s\n  is       %s\n  expected %s", op->id, text_of(actual),
            text_of(&expected));
}

static void expect_number(const operation *op, int64_t actual) {
  int64_t expected =
      json_is_boolean(op->expected) ? json_is_true(op->expected) : json_integer_value(op->expected);
  cr_expect(actual == expected, "%s: is %lld, expected %lld", op->id, (long long)actual,
            (long long)expected);
}

static void check_identity1d(const operation *op) {
  llrt_layout out;
  llrt_status status =
      llrt_layout_strided1d(json_integer_value(json_object_get(op->params, "size")), 1,
                            string_of(op->params, "in"), string_of(op->params, "out"), &out);
  expect_result(op, status, &out);
}

static void check_product(const operation *op) {
  llrt_layout out;
  llrt_status status = llrt_layout_product(&op->input[0], &op->input[1], &out);
  expect_result(op, status, &out);
}

static void check_compose(const operation *op) {
  llrt_layout out;
  llrt_status status = llrt_layout_compose(&op->input[0], &op->input[1], &out);
  expect_result(op, status, &out);
}

static void check_invert_and_compose(const operation *op) {
  llrt_layout out;
  llrt_status status = llrt_layout_invert_and_compose(&op->input[0], &op->input[1], &out);
  expect_result(op, status, &out);
}

static void check_flatten_ins(const operation *op) {
  llrt_layout out;
  const char *name = op->input[0].n_in ? op->input[0].in[0].name : "none";
  llrt_status status = llrt_layout_flatten_ins(&op->input[0], name, &out);
  expect_result(op, status, &out);
}

static void check_flatten_outs(const operation *op) {
  llrt_layout out;
  const char *name = op->input[0].n_out ? op->input[0].out[0].name : "none";
  llrt_status status = llrt_layout_flatten_outs(&op->input[0], name, &out);
  expect_result(op, status, &out);
}

static int read_names(const json_t *list, const char **names) {
  size_t i;
  json_t *name;
  json_array_foreach(list, i, name) names[i] = json_string_value(name);
  return (int)json_array_size(list);
}

static void check_transpose_ins(const operation *op) {
  llrt_layout out;
  const char *names[LLRT_MAX_IN_DIMS];
  int n = read_names(json_object_get(op->params, "order"), names);
  llrt_status status = llrt_layout_transpose_ins(&op->input[0], names, n, &out);
  expect_result(op, status, &out);
  cr_expect_str_eq(out.in[0].name, names[0]);
}

static void check_sublayout(const operation *op) {
  llrt_layout out;
  const char *ins[LLRT_MAX_IN_DIMS], *outs[LLRT_MAX_OUT_DIMS];
  int n_ins = read_names(json_object_get(op->params, "in_names"), ins);
  int n_outs = read_names(json_object_get(op->params, "out_names"), outs);
  llrt_status status = llrt_layout_sublayout(&op->input[0], ins, n_ins, outs, n_outs, &out);
  expect_result(op, status, &out);
}

static void check_in_size(const operation *op) {
  int index = llrt_layout_in_index(&op->input[0], string_of(op->params, "dim"));
  cr_assert_geq(index, 0);
  expect_number(op, op->input[0].in[index].bits);
}

static void check_out_size(const operation *op) {
  int index = llrt_layout_out_index(&op->input[0], string_of(op->params, "dim"));
  cr_assert_geq(index, 0);
  expect_number(op, op->input[0].out[index].bits);
}

static void check_surjective(const operation *op) {
  expect_number(op, llrt_layout_is_surjective(&op->input[0]));
}

static void check_consecutive(const operation *op) {
  expect_number(op, llrt_layout_num_consecutive(&op->input[0]));
}

static void check_equals(const operation *op) {
  expect_number(op, llrt_layout_equal(&op->input[0], &op->input[1]));
}

static void check_not_equals(const operation *op) {
  expect_number(op, !llrt_layout_equal(&op->input[0], &op->input[1]));
}

static void check_free_variables(const operation *op) {
  uint64_t masks[LLRT_MAX_IN_DIMS];
  cr_assert(llrt_layout_free_variable_masks(&op->input[0], masks) == LLRT_OK);
  for (int i = 0; i < op->input[0].n_in; i++) {
    const json_t *expected = json_array_get(op->expected, (size_t)i);
    cr_expect_eq(masks[i], (uint64_t)json_integer_value(json_array_get(expected, 1)), "%s", op->id);
  }
}

static void check_apply(const operation *op) {
  uint64_t in[LLRT_MAX_IN_DIMS] = {0}, out[LLRT_MAX_OUT_DIMS];
  size_t i;
  json_t *coordinate;
  json_array_foreach(json_object_get(op->params, "coords"), i, coordinate) in[i] =
      (uint64_t)json_integer_value(json_array_get(coordinate, 1));
  cr_assert(llrt_layout_apply(&op->input[0], in, out) == LLRT_OK);
  json_array_foreach(op->expected, i, coordinate) cr_expect_eq(
      out[i], (uint64_t)json_integer_value(json_array_get(coordinate, 1)), "%s", op->id);
}

/* Two layouts in, one out. */
#define DEFINE_CHECK(name, function) \
  static void check_##name(const operation *op) { \
    llrt_layout out; \
    llrt_status status = function(&op->input[0], &op->input[1], &out); \
    expect_result(op, status, &out); \
  }
DEFINE_CHECK(divide_left, llrt_layout_divide_left)
DEFINE_CHECK(divide_right, llrt_layout_divide_right)
DEFINE_CHECK(solve, llrt_layout_solve)
DEFINE_CHECK(repetitions, llrt_layout_repetitions)
#undef DEFINE_CHECK

/* The recorded inputs are outer, inner. */
static void check_block_local(const operation *op) {
  llrt_layout out;
  llrt_status status =
      llrt_layout_invert_and_compose_block_local(&op->input[1], &op->input[0], &out);
  expect_result(op, status, &out);
}

static int read_dims(const json_t *list, llrt_dim *dims) {
  size_t i;
  json_t *dim;
  json_array_foreach(list, i, dim) {
    dims[i] = (llrt_dim){
        .bits = (uint8_t)log2_of(json_integer_value(json_array_get(json_array_get(dim, 1), 0)))};
    strcpy(dims[i].name, name_at(dim));
  }
  return (int)json_array_size(list);
}

static void check_reshape_ins(const operation *op) {
  llrt_layout out;
  llrt_dim dims[LLRT_MAX_IN_DIMS];
  int n = read_dims(json_object_get(op->params, "dims"), dims);
  llrt_status status = llrt_layout_reshape_ins(&op->input[0], dims, n, &out);
  expect_result(op, status, &out);
}

static void check_reshape_outs(const operation *op) {
  llrt_layout out;
  llrt_dim dims[LLRT_MAX_OUT_DIMS];
  int n = read_dims(json_object_get(op->params, "dims"), dims);
  llrt_status status = llrt_layout_reshape_outs(&op->input[0], dims, n, &out);
  expect_result(op, status, &out);
}

static void check_quotient(const operation *op) {
  llrt_layout out;
  const char *names[LLRT_MAX_OUT_DIMS];
  int n = read_names(json_object_get(op->params, "dims"), names);
  llrt_status status = llrt_layout_quotient(&op->input[0], names, n, &out);
  expect_result(op, status, &out);
}

static void check_trivial_over(const operation *op) {
  const char *name = string_of(op->params, "dims");
  expect_number(op, llrt_layout_is_trivial_over(&op->input[0], &name, 1));
}

static void check_identity_over(const operation *op) {
  const char *names[LLRT_MAX_OUT_DIMS];
  int n = read_names(json_object_get(op->params, "dims"), names);
  expect_number(op, llrt_layout_is_identity_over(&op->input[0], names, n));
}

static void check_identity_on_out(const operation *op) {
  expect_number(op, llrt_layout_is_identity_on_out(&op->input[0], string_of(op->params, "dim")));
}

static void check_sublayout_zero(const operation *op) {
  const char *ins[LLRT_MAX_IN_DIMS], *outs[LLRT_MAX_OUT_DIMS];
  int n_ins = read_names(json_object_get(op->params, "in_names"), ins);
  int n_outs = read_names(json_object_get(op->params, "out_names"), outs);
  expect_number(op, llrt_layout_sublayout_is_zero(&op->input[0], ins, n_ins, outs, n_outs));
}

static void check_contiguous(const operation *op) {
  const llrt_layout *a = &op->input[0];
  const char *ins[LLRT_MAX_IN_DIMS], *out = string_of(op->params, "dim");
  int64_t count;
  for (int i = 0; i < a->n_in; i++) ins[i] = a->in[i].name;
  cr_assert(llrt_layout_contiguous(a, ins, a->n_in, &out, 1, &count) == LLRT_OK);
  expect_number(op, count);
}

static void check_identity_prefix(const operation *op) {
  int64_t count, limit = json_integer_value(json_object_get(op->params, "max"));
  cr_assert(llrt_layout_identity_prefix(&op->input[0], string_of(op->params, "in"),
                                        string_of(op->params, "out"), limit, &count) == LLRT_OK);
  expect_number(op, count);
}

static void check_input_mask(const operation *op) {
  uint64_t mask;
  const char *outs[LLRT_MAX_OUT_DIMS];
  int n = read_names(json_object_get(op->params, "out_names"), outs);
  cr_assert(llrt_layout_input_mask(&op->input[0], string_of(op->params, "in"), outs, n, &mask) ==
            LLRT_OK);
  expect_number(op, (int64_t)mask);
}

static void check_output_mask(const operation *op) {
  uint64_t mask;
  const char *ins[LLRT_MAX_IN_DIMS];
  int n = read_names(json_object_get(op->params, "in_names"), ins);
  cr_assert(llrt_layout_output_mask(&op->input[0], ins, n, string_of(op->params, "out"), &mask) ==
            LLRT_OK);
  expect_number(op, (int64_t)mask);
}

/* [[from, to], ...] */
static int read_renames(const json_t *list, const char **from, const char **to) {
  size_t i;
  json_t *pair;
  json_array_foreach(list, i, pair) {
    from[i] = name_at(pair);
    to[i] = json_string_value(json_array_get(pair, 1));
  }
  return (int)json_array_size(list);
}

static void check_rename(const operation *op) {
  llrt_layout out;
  const char *from[LLRT_MAX_OUT_DIMS], *to[LLRT_MAX_OUT_DIMS];
  int n = read_renames(json_object_get(op->params, "in_renames"), from, to);
  cr_assert(llrt_layout_rename_ins(&op->input[0], from, to, n, &out) == LLRT_OK);
  n = read_renames(json_object_get(op->params, "out_renames"), from, to);
  llrt_status status = llrt_layout_rename_outs(&out, from, to, n, &out);
  expect_result(op, status, &out);
  cr_expect_str_eq(out.in[0].name, "b", "order is kept");
}

static int read_action(const operation *op, int *action) {
  const json_t *list = json_object_get(op->params, "action");
  for (size_t i = 0; i < json_array_size(list); i++)
    action[i] = (int)json_integer_value(json_array_get(list, i));
  return (int)json_array_size(list);
}

static void check_select_bases(const operation *op) {
  llrt_layout out;
  int action[LLRT_MAX_BITS], n = read_action(op, action);
  llrt_status status =
      llrt_layout_select_bases(&op->input[0], string_of(op->params, "dim"), action, n, &out);
  expect_result(op, status, &out);
}

/* The input is a list of register values, not a layout. */
static void check_selected_values(const json_t *record, const operation *op) {
  const json_t *values = json_array_get(json_object_get(record, "inputs"), 0);
  int action[LLRT_MAX_BITS], n = read_action(op, action);
  cr_expect_eq(json_array_size(op->expected), 1u << n);
  for (size_t r = 0; r < 1u << n; r++)
    cr_expect(json_equal(json_array_get(values, llrt_layout_selected_position(action, n, r)),
                         json_array_get(op->expected, r)),
              "%s: value %zu", op->id, r);
}

/* The dims of a product are the merge of both factors' lists. */
static void check_merge(const json_t *record, const operation *op) {
  llrt_layout factor[2] = {{0}}, out;
  for (size_t k = 0; k < 2; k++) {
    const json_t *names = json_array_get(json_object_get(record, "inputs"), k);
    for (size_t i = 0; i < json_array_size(names); i++) {
      const char *name = json_string_value(json_array_get(names, i));
      cr_assert(llrt_layout_add_in(&factor[k], name, 0) == LLRT_OK);
      cr_assert(llrt_layout_add_out(&factor[k], name, 0) == LLRT_OK);
    }
  }
  cr_assert(llrt_layout_product(&factor[0], &factor[1], &out) == LLRT_OK);
  cr_assert_eq(out.n_in, json_array_size(op->expected));
  for (size_t i = 0; i < out.n_in; i++) {
    const char *expected = json_string_value(json_array_get(op->expected, i));
    cr_expect_str_eq(out.in[i].name, expected, "%s", op->id);
    cr_expect_str_eq(out.out[i].name, expected, "%s", op->id);
  }
}

static const struct {
  const char *op;
  void (*check)(const operation *op);
} operations[] = {
    {"identity1D", check_identity1d},
    {"product", check_product},
    {"compose", check_compose},
    {"invertAndCompose", check_invert_and_compose},
    {"flattenIns", check_flatten_ins},
    {"flattenOuts", check_flatten_outs},
    {"transposeIns", check_transpose_ins},
    {"sublayout", check_sublayout},
    {"getInDimSizeLog2", check_in_size},
    {"getOutDimSizeLog2", check_out_size},
    {"isSurjective", check_surjective},
    {"getNumConsecutiveInOut", check_consecutive},
    {"equals", check_equals},
    {"not_equals", check_not_equals},
    {"getFreeVariableMasks", check_free_variables},
    {"apply", check_apply},
    {"divideLeft", check_divide_left},
    {"divideRight", check_divide_right},
    {"lstsq", check_solve},
    {"getReps", check_repetitions},
    {"invertAndComposeBlockLocal", check_block_local},
    {"reshapeIns", check_reshape_ins},
    {"reshapeOuts", check_reshape_outs},
    {"quotient", check_quotient},
    {"isTrivialOver", check_trivial_over},
    {"squareSublayoutIsIdentity", check_identity_over},
    {"isIdentityOnOutDim", check_identity_on_out},
    {"sublayoutIsZero", check_sublayout_zero},
    {"contiguousElemsAlongOutputDim", check_contiguous},
    {"factorMaximalIdentityPrefix", check_identity_prefix},
    {"getInputBasisMask", check_input_mask},
    {"getOutputBasisMask", check_output_mask},
    {"renameLinearLayoutDims", check_rename},
    {"columnAction", check_select_bases},
};

/* Operations whose inputs are no layouts. */
static bool check_special(const json_t *record, const operation *op) {
  const char *name = string_of(record, "op");
  if (strcmp(name, "columnActionValues") == 0) check_selected_values(record, op);
  else if (strcmp(name, "supremum") == 0) check_merge(record, op);
  else return false;
  return true;
}

/* Runs the record's op; returns whether there is a check for it. */
static bool check_operation(const json_t *record) {
  operation op = {.params = json_object_get(record, "params"),
                  .expected = json_object_get(record, "expected"),
                  .id = string_of(record, "id")};
  if (check_special(record, &op)) return true;
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
    if (strcmp(operations[i].op, string_of(record, "op")) != 0) continue;
    const json_t *inputs = json_object_get(record, "inputs");
    for (size_t k = 0; k < json_array_size(inputs); k++)
      op.input[k] = read_layout(json_array_get(inputs, k));
    operations[i].check(&op);
    return true;
  }
  return false;
}

Test(recorded, algebra) {
  json_t *cases = load_cases("layout_algebra.json"), *record;
  size_t i;
  cr_assert_eq(json_array_size(cases), RECORDED_OPERATIONS);
  json_array_foreach(cases, i, record)
      cr_expect(check_operation(record), "%s: no check", string_of(record, "id"));
  json_decref(cases);
}
