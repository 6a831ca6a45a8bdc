#include "tools/request_index.h"

#include "tools/common/array_file.h"
#include "tools/request.h"

#include <ctype.h>
#include <string.h>

/* What becomes of values out of range; `strict`: they are refused. */
typedef struct range_policy {
  llrt_out_of_range kind;
  bool strict;
} range_policy;

static bool parse_policy(const char *text, llrt_out_of_range otherwise, range_policy *policy) {
  *policy = (range_policy){.kind = otherwise};
  if (!text) return true;
  policy->strict = strcmp(text, "error") == 0;
  if (strcmp(text, "zero") == 0) policy->kind = LLRT_RANGE_ZERO;
  else if (strcmp(text, "clamp") == 0) policy->kind = LLRT_RANGE_CLAMP;
  else return policy->strict;
  return true;
}

/* ---- one index ---- */

/* "1=I.npy" into the axis and the file's name; NULL when it is nothing like that. */
static const char *parse_index(const char *text, int *axis) {
  if (!isdigit((unsigned char)text[0]) || text[1] != '=' || !text[2]) return NULL;
  *axis = text[0] - '0';
  return text + 2;
}

static int64_t value_at(const array *values, int64_t i) {
  return values->dtype == LLRT_I32 ? ((const int32_t *)values->data)[i]
                                   : ((const int64_t *)values->data)[i];
}

static int check_values(const char *name, const array *values, int axis, int64_t extent) {
  int64_t n = (int64_t)(values->bytes / ((size_t)llrt_dtype_bits(values->dtype) / 8));
  for (int64_t i = 0; i < n; i++) {
    int64_t value = value_at(values, i);
    if (value < 0 || value >= extent)
      return tool_refuse("--index: value %lld at %lld of %s is not in 0..%lld, axis %d",
                         (long long)value, (long long)i, name, (long long)extent - 1, axis);
  }
  return TOOL_DONE;
}

/* One index under way. */
typedef struct index_request {
  const request_index_options *given;
  range_policy policy;
  llrt_gather_form form;
  int axis;
  const char *name;
} index_request;

static int read_values(const index_request *asked, array *values) {
  array_error error;
  if (asked->given->described && request_parse_described(asked->name, values)) return TOOL_DONE;
  return array_read(asked->name, values, &error)
             ? request_refuse_stored("--index", asked->name, values)
             : tool_refuse("%s", error.text);
}

/* Reads the values and puts the index after those that the view has. */
static int add_index(const index_request *asked, request_indices *indices) {
  array *values = &indices->values[indices->n];
  int code = read_values(asked, values);
  if (code != TOOL_DONE) return code;
  bool list = asked->form != LLRT_GATHER_SELECT || values->rank == 1;
  if (!list || (values->dtype != LLRT_I32 && values->dtype != LLRT_I64))
    return tool_refuse("--index: %s is no %s of int32 or int64", asked->name,
                       asked->form == LLRT_GATHER_SELECT ? "list" : "tensor");
  llrt_storage storage;
  llrt_tensor index = {.dtype = values->dtype, .rank = values->rank, .storage = &storage};
  llrt_status status = values->col_major ? llrt_storage_col_major(values->rank, &storage)
                                         : llrt_storage_row_major(values->rank, &storage);
  memcpy(index.shape, values->shape, sizeof index.shape);
  llrt_gather_params params = {.form = asked->form, .out_of_range = asked->policy.kind};
  const llrt_tensor store = indices->view.tensor;
  llrt_view view;
  if (status == LLRT_OK) status = llrt_gather_view(&store, &index, asked->axis, &params, &view);
  if (status != LLRT_OK) return tool_refuse_library("--index");
  indices->view = view;
  indices->view.tensor.indices = indices->view.indices;
  indices->n++;
  if (!asked->policy.strict || !values->data) return TOOL_DONE;
  return check_values(asked->name, values, asked->axis, store.shape[asked->axis]);
}

/* ---- all of them ---- */

static int parse_form(const request_index_options *given, index_request *asked) {
  int64_t axis;
  int n;
  asked->form = LLRT_GATHER_SELECT;
  if (!given->gathers && !given->scatters) return TOOL_DONE;
  if (given->n != 1)
    return tool_wrong(given->command_name, "--index is %s", given->n ? "given twice" : "missing");
  if (!given->axis) return tool_wrong(given->command_name, "--axis is missing");
  if (!options_parse_numbers(given->axis, ',', 1, &axis, &n) || axis >= LLRT_MAX_RANK)
    return tool_wrong(given->command_name, "--axis %s is no axis", given->axis);
  asked->axis = (int)axis;
  if (!given->form || strcmp(given->form, "take_along") == 0) asked->form = LLRT_GATHER_TAKE_ALONG;
  else if (strcmp(given->form, "select") != 0)
    return tool_wrong(given->command_name, "--form %s: expected take_along or select", given->form);
  return TOOL_DONE;
}

int request_indices_read(const request_index_options *given, int rank, int64_t shape[LLRT_MAX_RANK],
                         request_indices *indices) {
  const char *command_name = given->command_name;
  index_request asked = {.given = given};
  bool named = given->gathers || given->scatters; /* by --axis */
  if (given->out_of_range && given->n == 0 && !named)
    return tool_wrong(command_name, "--out-of-range without --index");
  if (!parse_policy(given->out_of_range, given->scatters ? LLRT_RANGE_SKIP : LLRT_RANGE_ZERO,
                    &asked.policy))
    return tool_wrong(command_name, "--out-of-range %s: expected zero, clamp or error",
                      given->out_of_range);
  int code = parse_form(given, &asked);
  if (code != TOOL_DONE) return code;
  indices->view.tensor = (llrt_tensor){.rank = rank};
  memcpy(indices->view.tensor.shape, shape, sizeof indices->view.tensor.shape);
  uint32_t axes = 0;
  for (int i = 0; i < given->n; i++) {
    const char *text = given->texts[i];
    asked.name = named ? text : parse_index(text, &asked.axis);
    if (!asked.name) return tool_wrong(command_name, "--index %s is nothing like 0=I.npy", text);
    if (asked.axis >= rank)
      return tool_refuse("--index %s: axis %d, but the tensor has %d axes, numbered from 0", text,
                         asked.axis, rank);
    if (axes >> asked.axis & 1)
      return tool_wrong(command_name, "--index is given twice for axis %d", asked.axis);
    axes |= 1u << asked.axis;
    code = add_index(&asked, indices);
    if (code != TOOL_DONE) return code;
  }
  memcpy(shape, indices->view.tensor.shape, sizeof indices->view.tensor.shape);
  return TOOL_DONE;
}

void request_indices_destroy(request_indices *indices) {
  for (int i = 0; i < LLRT_MAX_INDICES; i++) array_destroy(&indices->values[i]);
  *indices = (request_indices){0};
}
