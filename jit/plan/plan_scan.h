/* Planning of scans of whole tensors (docs/scan.md). Private to jit/plan. */
#ifndef LLRT_JIT_PLAN_PLAN_SCAN_H
#define LLRT_JIT_PLAN_PLAN_SCAN_H

#include "jit/plan/draft.h"

/* plan_make for LLRT_OP_SCAN. */
llrt_status plan_scan_make(const llrt_op_desc *desc, const plan_target *target,
                           const plan_options *options, plan *out);

/* scan_kernel.c: a thread (host: a block's turn) walks the axis for one place of the others, one element after
 * the other: right for any storages. */
llrt_status scan_plan_flat(const llrt_op_desc *desc, const plan_target *target, plan_kernel *kernel);

/* A block walks the axis tile by tile for a tile of the other axes. *tiled: false where the storages have no
 * common refinement, or where their runs do not hold the axis's lowest positions. */
llrt_status scan_plan_tiled(const llrt_op_desc *desc, const plan_target *target,
                            const plan_options *options, plan_kernel *kernel, bool *tiled);

/* scan_tile.c: the tile, its orders on both sides, and `order`, its bits along the axis. False where none of
 * a block's size holds whole positions 0 .. 2^n - 1 of the axis. */
bool scan_tile(draft *d, plan_order *order);

#endif
