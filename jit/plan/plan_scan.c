/* Planning a scan: its variants (docs/scan.md). Everything depends on shape and promises alone: every run of a shape
 * gives the same bits. */
#include "jit/plan/plan_scan.h"

#include "base/status.h"

llrt_status plan_scan_make(const llrt_op_desc *desc, const plan_target *target,
                           const plan_options *options, plan *out) {
  bool tiled;
  out->n_variants = 1;
  LLRT_TRY(scan_plan_tiled(desc, target, options, &out->variant[0], &tiled));
  return tiled ? LLRT_OK : scan_plan_flat(desc, target, &out->variant[0]);
}
