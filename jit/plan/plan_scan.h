/* Planning of scans of whole tensors (docs/scan.md). Private to jit/plan. */
#ifndef LLRT_JIT_PLAN_PLAN_SCAN_H
#define LLRT_JIT_PLAN_PLAN_SCAN_H

#include "jit/plan/draft.h"

/* plan_make for LLRT_OP_SCAN. */
llrt_status plan_scan_make(const llrt_op_desc *desc, const plan_target *target,
                           const plan_options *options, plan *out);

/* The type in which a scan joins. */
llrt_dtype scan_accumulator(const llrt_op_desc *desc);

/* scan_kernel.c: a thread (host: a block's turn) walks the axis for one place of the others, one element after
 * the other: right for any storages. */
llrt_status scan_plan_flat(const llrt_op_desc *desc, const plan_target *target, plan_kernel *kernel);

/* A block walks the axis tile by tile for a tile of the other axes; looks_back (GPU): it takes one turn, and what
 * stands before from other blocks. *tiled: false where the storages have no common refinement, or where their
 * runs do not hold the axis's lowest positions. */
llrt_status scan_plan_tiled(const llrt_op_desc *desc, const plan_target *target,
                            const plan_options *options, bool looks_back, plan_kernel *kernel,
                            bool *tiled);

/* scan_tile.c: the tile, its orders on both sides, and `order`, its bits along the axis. False where none of
 * a block's size holds whole positions 0 .. 2^n - 1 of the axis. d->splits: of a block that takes one turn. */
bool scan_tile(draft *d, plan_order *order);

/* scan_lookback.c: where totals of the `carried` layout lie. */
llrt_status scan_begin_lookback(draft *d, const plan_value *carried);
/* Appends steps that publish the tile's total and make *before, what stands before the tile. */
llrt_status scan_look_back(draft *d, const draft_scan_spec *spec, int total, int *before);

/* scan_queue.c: blocks that draw tickets, the next tile copied while they work on one. */
typedef struct scan_queue {
  bool used;
  uint8_t buffer;
  plan_step copy;
} scan_queue;
/* Behind scan_begin_lookback; not used where the target or the tile's accesses have no such copies. */
llrt_status scan_begin_queue(draft *d, const draft_values *values, scan_queue *queue);
/* Appends steps that copy the tile of the block's ticket (turns = 0) or of the next one; that take what was copied,
 * at an edge by `masked`, and copy the next. */
llrt_status scan_copy_ahead(draft *d, const scan_queue *queue, int turns);
llrt_status scan_take_copied(draft *d, const scan_queue *queue, plan_step masked);
/* Once all steps are there: where everything lies in shared memory. */
void scan_end_queue(draft *d, const scan_queue *queue);

#endif
