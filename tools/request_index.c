#include "tools/request_index.h"

#include "tools/common/array_file.h"
#include "tools/tool.h"

#include <ctype.h>
#include <string.h>

/* What becomes of values out of range; `strict`: they are refused. */
typedef struct range_policy {
  llrt_out_of_range kind;
  bool strict;
} range_policy;

static bool parse_policy(const char *text, range_policy *policy) {
  *policy = (range_policy){.kind = LLRT_RANGE_ZERO};
  if (!text || strcmp(text, "zero") == 0) return true;
  policy->strict = strcmp(text, "error") == 0;
  if (strcmp(text, "clamp") == 0) policy->kind = LLRT_RANGE_CLAMP;
  return policy->strict || policy->kind == LLRT_RANGE_CLAMP;
}

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
  for (int64_t i = 0; i < values->shape[0]; i++) {
    int64_t value = value_at(values, i);
    if (value < 0 || value >= extent)
      return tool_refuse("--index: value %lld at %lld of %s is not in 0..%lld, axis %d",
                         (long long)value, (long long)i, name, (long long)extent - 1, axis);
  }
  return TOOL_DONE;
}

/* Reads one list and puts its index after those that are there. */
static int add_index(const char *name, int axis, range_policy policy, int64_t *extent,
                     request_indices *indices) {
  array_error error;
  array *values = &indices->values[indices->n];
  if (!array_read(name, values, &error)) return tool_refuse("%s", error.text);
  indices->index[indices->n++] = (llrt_index){.axis = axis,
                                              .out_of_range = policy.kind,
                                              .dtype = values->dtype,
                                              .axes = 1u << axis,
                                              .extent = *extent};
  if (values->rank != 1 || (values->dtype != LLRT_I32 && values->dtype != LLRT_I64))
    return tool_refuse("--index: %s is no list of int32 or int64", name);
  int code = policy.strict ? check_values(name, values, axis, *extent) : TOOL_DONE;
  indices->index[indices->n - 1].strides[axis] = 1;
  *extent = values->shape[0];
  return code;
}

int request_indices_read(const char *command_name, const char *const *texts, int n,
                         const char *out_of_range, int rank, int64_t shape[LLRT_MAX_RANK],
                         request_indices *indices) {
  range_policy policy;
  uint32_t given = 0;
  if (out_of_range && n == 0) return tool_wrong(command_name, "--out-of-range without --index");
  if (!parse_policy(out_of_range, &policy))
    return tool_wrong(command_name, "--out-of-range %s: expected zero, clamp or error",
                      out_of_range);
  for (int i = 0; i < n; i++) {
    int axis;
    const char *name = parse_index(texts[i], &axis);
    if (!name) return tool_wrong(command_name, "--index %s is nothing like 0=I.npy", texts[i]);
    if (axis >= rank)
      return tool_refuse("--index %s: the source has %d axes, numbered from 0", texts[i], rank);
    if (given >> axis & 1)
      return tool_wrong(command_name, "--index is given twice for axis %d", axis);
    given |= 1u << axis;
    int code = add_index(name, axis, policy, &shape[axis], indices);
    if (code != TOOL_DONE) return code;
  }
  return TOOL_DONE;
}

void request_indices_destroy(request_indices *indices) {
  for (int i = 0; i < LLRT_MAX_INDICES; i++) array_destroy(&indices->values[i]);
  *indices = (request_indices){0};
}
