#include "tests/expression/catalogue_call.h"

#include "expression/expression.h"

#include <string.h>

#define LENGTH 4096
#define ROWS 4096
#define ALIGNMENT 256 /* of memory */

static const struct {
  const char *text;
  bool rows; /* its first axis is one of rows, each of which can be computed alone */
} names[] = {
    {"softmax", true},
    {"log_softmax", true},
    {"layer_norm", true},
    {"rms_norm", true},
    {"fp8_row", true},
    {"fp8_group", true},
    {"fp8_block", true},
    {"mxfp8", true},
    {"mxfp4", true},
    {"nvfp4", true},
    {"int8_token", true},
    {"cross_entropy", true},
    {"qk_norm_rope", true},
    {"rms_norm_fp8", true},
    {"residual_rms_norm", true},
    {"argmax_temperature", true},
    {"clamped_gate", true},
    {"rope_halves", true},
    {"kv_norm_rope_append", true},
    {"embedding_rms_norm", true},
    {"qkv_norm_rope_append", true},
    {"swiglu", false},
    {"geglu", false},
    {"rope_pairs", false},
    {"mxfp4_weights", false},
    {"mxfp8_weights", false},
};

const char *catalogue_name(int number, bool rows) {
  int n = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if ((!rows || names[i].rows) && n++ == number) return names[i].text;
  return NULL;
}

static int64_t extent_of(const llrt_expr *expr, int axis) {
  const char *name = expr->axis[axis].name;
  if (expr->axis[axis].extent) return expr->axis[axis].extent;
  if (axis == 0) return strcmp(name, "m") == 0 && expr->n_axes == 4 ? ROWS / 128 : ROWS;
  if (strcmp(name, "h") == 0) return 32;
  return strcmp(name, "g") == 0 || strcmp(name, "i") == 0 ? 64 : LENGTH;
}

static void shape_tensor(const llrt_expr *expr, int t, llrt_device *device, llrt_tensor *out) {
  const expr_tensor *own = &expr->tensor[t];
  *out = (llrt_tensor){.dtype = own->dtype ? (llrt_dtype)own->dtype : LLRT_BF16,
                       .rank = own->n_dims,
                       .device = device};
  for (int d = 0; d < own->n_dims; d++) {
    out->shape[d] = 1;
    for (int j = 0; j < own->dim[d].n; j++) out->shape[d] *= extent_of(expr, own->dim[d].axis[j]);
  }
}

static llrt_status describe(const llrt_expr *expr, llrt_device *device, llrt_op_desc **desc) {
  llrt_tensor tensor[LLRT_EXPR_MAX_TENSORS];
  llrt_arg arg[LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS];
  for (int t = 0; t < expr->n_tensors; t++) {
    shape_tensor(expr, t, device, &tensor[t]);
    arg[t] = (llrt_arg){.name = expr->tensor[t].name, .tensor = &tensor[t]};
  }
  for (int i = 0; i < expr->n_scalars; i++)
    arg[expr->n_tensors + i] = (llrt_arg){.name = expr->scalar[i].name, .number = 1};
  llrt_status status =
      llrt_compute_describe(expr, arg, expr->n_tensors + expr->n_scalars, NULL, desc);
  if (status == LLRT_OK) status = llrt_op_promise_coarse(*desc);
  for (int t = 0; status == LLRT_OK && t < (*desc)->n_tensors; t++)
    (*desc)->promises[t].address.multiple = ALIGNMENT;
  return status;
}

llrt_status catalogue_describe(const char *text, llrt_device *device, llrt_op_desc **desc) {
  llrt_expr *expr;
  *desc = NULL;
  llrt_status status = llrt_expr_parse(text, &expr);
  if (status == LLRT_OK) status = describe(expr, device, desc);
  llrt_expr_destroy(&expr);
  return status;
}
