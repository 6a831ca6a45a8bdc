/* Cold prepares: described, promised as a one-line call would, planned, compiled, loaded. */
#include "tests/expression/proofs/proofs.h"

#include "expression/expression.h"
#include "tests/expression/compute_trial.h"
#include "tests/expression/row_alone.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LENGTH 4096
#define ROWS 4096

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
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

/* *ms: what llrt_op_prepare took. */
static llrt_status prepare(llrt_device *device, const char *text, double *ms) {
  llrt_expr *expr;
  llrt_op_desc *desc = NULL;
  llrt_op *op = NULL;
  llrt_tensor tensor[LLRT_EXPR_MAX_TENSORS];
  llrt_arg arg[LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS];
  llrt_status status = llrt_expr_parse(text, &expr);
  if (status != LLRT_OK) return status;
  for (int t = 0; t < expr->n_tensors; t++) {
    shape_tensor(expr, t, device, &tensor[t]);
    arg[t] = (llrt_arg){.name = expr->tensor[t].name, .tensor = &tensor[t]};
  }
  for (int i = 0; i < expr->n_scalars; i++)
    arg[expr->n_tensors + i] = (llrt_arg){.name = expr->scalar[i].name, .number = 1};
  status = llrt_compute_describe(expr, arg, expr->n_tensors + expr->n_scalars, NULL, &desc);
  if (status == LLRT_OK) status = llrt_op_promise_coarse(desc);
  for (int t = 0; status == LLRT_OK && t < desc->n_tensors; t++)
    desc->promises[t].address.multiple = 256; /* as allocators give them */
  double start = now_ms();
  if (status == LLRT_OK) status = llrt_op_prepare(device, desc, &op);
  *ms = now_ms() - start;
  llrt_op_destroy(&op);
  llrt_op_desc_destroy(&desc);
  llrt_expr_destroy(&expr);
  return status;
}

int proof_prepare(const proof_options *options) {
  char text[4000];
  double ms;
  int wrong = 0;
  printf("%s\n| expression | ms |\n|---|---|\n", options->name);
  for (int i = -1; i < 0 || row_alone_name(i); i++) {
    const char *name = i < 0 ? "(the first of a process)" : row_alone_name(i);
    if (i >= 0 && options->only && strcmp(options->only, name) != 0) continue;
    if (i < 0) snprintf(text, sizeof text, "(x[n]) -> (y[n]) { y = -x }");
    else trial_read_text(name, text, sizeof text);
    llrt_status status = prepare(options->device, text, &ms);
    wrong += status != LLRT_OK;
    if (status == LLRT_OK) printf("| %s | %.1f |\n", name, ms);
    else printf("%s: %s\n", name, llrt_last_error());
    fflush(stdout);
  }
  return wrong > 0;
}
