/* Scans into a storage whose pads are given a value, which would get what was joined before them:
 * the result goes row-major into the workspace, and a convert, which knows pads, makes the
 * destination from it. */
#include "jit/plan/scan/plan_scan.h"

#include "base/status.h"
#include "jit/plan/convert/convert.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/stages/stages.h"

#include <stdlib.h>

/* Region of the workspace, behind those of a look back. */
#define RESULT 2

llrt_status scan_writes_pads(const op_description *desc, const plan_target *target,
                             plan_kernel *kernel, bool *writes) {
  draft d;
  *writes = false;
  draft_begin(&d, desc, target, NULL, kernel);
  LLRT_TRY(draft_digits(&d));
  for (int a = 0; a < desc->tensors[0].rank; a++) *writes |= d.pads[a];
  return LLRT_OK;
}

void scan_into_rows(const llrt_storage *rows, op_description *desc) {
  llrt_tensor_promise *promise = &desc->promises[1];
  desc->tensors[1].storage = rows;
  *promise = (llrt_tensor_promise){.address.multiple = LLRT_WORKSPACE_ALIGNMENT};
  for (int a = 0; a < desc->tensors[0].rank; a++) promise->shape[a] = desc->promises[0].shape[a];
}

static llrt_status plan_convert(const op_description *desc, const llrt_storage *rows,
                                const plan_target *target, const plan_options *options,
                                plan_kernel *kernel) {
  op_description convert = *desc;
  scan_into_rows(rows, &convert);
  convert = (op_description){.kind = LLRT_OP_CONVERT,
                             .n_tensors = 2,
                             .tensors = {convert.tensors[1], desc->tensors[1]},
                             .promises = {convert.promises[1], desc->promises[1]}};
  return plan_convert_one(&convert, target, options, true, kernel);
}

llrt_status scan_close_with_pads(const op_description *desc, const llrt_storage *rows,
                                 const plan_target *target, const plan_options *options,
                                 plan *out) {
  int first = out->n_variants - 1;
  plan_kernel *scan_kernel = &out->variant[first], *kernel;
  LLRT_TRY(stages_next(out, &kernel));
  LLRT_TRY(plan_convert(desc, rows, target, options, kernel));
  stages_view_all(desc, scan_kernel, 2);
  stages_view_region(scan_kernel, 1, RESULT, 0);
  stages_view_all(desc, kernel, 2);
  stages_view_region(kernel, 0, RESULT, 0);
  plan_launch *scan = stages_close(out, first, scan_kernel->launch.range);
  scan->workspace.n = RESULT + 1;
  scan->workspace.clear = true; /* for a variant that wants zeros */
  scan->workspace.region[RESULT] =
      (plan_region){.per_position = llrt_dtype_bits(desc->tensors[1].dtype) / 8,
                    .axes = (1 << desc->tensors[0].rank) - 1};
  return LLRT_OK;
}
