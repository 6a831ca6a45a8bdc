/* Scans into a storage whose pads are given a value, which would get what was joined before them: the result goes
 * row-major into the workspace, and a convert, which knows pads, makes the destination from it. */
#include "jit/plan/plan_scan.h"

#include "base/status.h"

#include <stdlib.h>

/* Region of the workspace, behind those of a look back. */
#define RESULT 2

llrt_status scan_writes_pads(const llrt_op_desc *desc, const plan_target *target, plan_kernel *kernel, bool *writes) {
  draft d;
  *writes = false;
  draft_begin(&d, desc, target, NULL, kernel);
  LLRT_TRY(draft_digits(&d));
  for (int a = 0; a < desc->tensors[0].rank; a++) *writes |= d.pads[a];
  return LLRT_OK;
}

void scan_into_rows(const llrt_storage *rows, llrt_op_desc *desc) {
  llrt_tensor_promise *promise = &desc->promises[1];
  desc->tensors[1].storage = rows;
  *promise = (llrt_tensor_promise){.address.multiple = LLRT_WORKSPACE_ALIGNMENT};
  for (int a = 0; a < desc->tensors[0].rank; a++) promise->shape[a] = desc->promises[0].shape[a];
}

static void view(const llrt_op_desc *desc, int source, int destination, plan_launch *launch) {
  launch->view = (plan_view){.used = true, .n = 2, .rank = desc->tensors[0].rank};
  for (int a = 0; a < launch->view.rank; a++) launch->view.axis[a] = (int8_t)a;
  launch->view.tensor[0] = (int8_t)source;
  launch->view.tensor[1] = (int8_t)destination;
}

static llrt_status plan_convert(const llrt_op_desc *desc, const llrt_storage *rows, const plan_target *target,
                                const plan_options *options, plan_kernel *kernel) {
  llrt_op_desc convert = *desc;
  plan *made = malloc(sizeof *made);
  if (!made) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  scan_into_rows(rows, &convert);
  convert = (llrt_op_desc){.kind = LLRT_OP_CONVERT, .n_tensors = 2,
                           .tensors = {convert.tensors[1], desc->tensors[1]},
                           .promises = {convert.promises[1], desc->promises[1]}};
  llrt_status status = plan_make(&convert, target, options, made);
  if (status == LLRT_OK) *kernel = made->variant[made->n_variants - 1];
  free(made);
  return status;
}

llrt_status scan_close_with_pads(const llrt_op_desc *desc, const llrt_storage *rows, const plan_target *target,
                                 const plan_options *options, plan *out) {
  plan_launch *scan = &out->variant[out->n_variants - 1].launch;
  plan_kernel *kernel = &out->variant[out->n_variants++];
  LLRT_TRY(plan_convert(desc, rows, target, options, kernel));
  view(desc, 0, -1 - RESULT, scan);
  view(desc, -1 - RESULT, 1, &kernel->launch);
  scan->later = kernel->launch.stage = 1;
  kernel->launch.later = 0;
  kernel->launch.range = (plan_range){.min_elements = 0};
  scan->workspace.n = RESULT + 1;
  scan->workspace.clear = true; /* for a variant that wants zeros */
  scan->workspace.region[RESULT] = (plan_region){.per_position = llrt_dtype_bits(desc->tensors[1].dtype) / 8,
                                                 .axes = (1 << desc->tensors[0].rank) - 1};
  return LLRT_OK;
}
