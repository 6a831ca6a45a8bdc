/* Planning a scan: its variants (docs/scan.md). Everything depends on shape and promises alone:
 * every run of a shape gives the same bits. */
#include "jit/plan/scan/plan_scan.h"

#include "base/status.h"
#include "jit/plan/cost/trace.h"

#define NO_TILE \
  "the storages have no common refinement, or no tile that holds the axis's lowest positions"

/* Few long lines: a block for every tile. */
static llrt_status add_lookback(const op_description *desc, const plan_target *target,
                                const plan_options *options, plan *out) {
  plan_kernel *kernel = &out->variant[0];
  bool tiled;
  int along = 0;
  LLRT_TRY(scan_plan_tiled(desc, target, options, true, kernel, &tiled));
  if (!tiled) return plan_refused(options, NULL, "blocks look back", NO_TILE);
  plan_taken(options, kernel, "blocks look back");
  for (int i = 0; i < kernel->n_steps; i++)
    if (kernel->step[i].kind == PLAN_FILL)
      along = kernel->space.in[0].bits - kernel->value[kernel->step[i].out].layout.out[0].bits;
  /* Whatever the device has: which variant runs decides in which order elements are joined. */
  kernel->launch.range = (plan_range){
      .axes = desc->combine.axes,
      .min_along = (int64_t)target->tuning->scan_least_turns << along,
      .max_across = target->tuning->scan_walking_blocks << (kernel->space.in[0].bits - along)};
  out->n_variants = 1;
  return LLRT_OK;
}

/* A variant's kernels: a scan, and what makes a destination with pads from its result. */
static llrt_status close(const op_description *desc, const llrt_storage *rows,
                         const plan_target *target, const plan_options *options, plan *out) {
  return rows ? scan_close_with_pads(desc, rows, target, options, out) : LLRT_OK;
}

llrt_status plan_scan_make(const op_description *desc, const plan_target *target,
                           const plan_options *options, plan *out) {
  op_description scan = *desc;
  llrt_storage row_major;
  const llrt_storage *rows = NULL;
  bool tiled, pads;
  out->n_variants = 0;
  LLRT_TRY(scan_writes_pads(desc, target, &out->variant[0], &pads));
  if (pads) {
    LLRT_TRY(llrt_storage_row_major(desc->tensors[0].rank, &row_major));
    rows = &row_major;
    scan_into_rows(rows, &scan);
  }
  if (!target->simd_lanes) LLRT_TRY(add_lookback(&scan, target, options, out));
  if (out->n_variants > 0) LLRT_TRY(close(desc, rows, target, options, out));
  plan_kernel *last = &out->variant[out->n_variants++];
  LLRT_TRY(scan_plan_tiled(&scan, target, options, false, last, &tiled));
  if (tiled) plan_taken(options, last, "blocks walk lines");
  else plan_refused(options, NULL, "blocks walk lines", NO_TILE);
  if (!tiled) {
    LLRT_TRY(scan_plan_flat(&scan, target, last));
    plan_taken(options, last, "threads walk lines, element by element");
  }
  return close(desc, rows, target, options, out);
}
