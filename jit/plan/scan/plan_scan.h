/* Planning of scans of whole tensors (docs/scan.md). Private to jit/plan. */
#ifndef LLRT_JIT_PLAN_SCAN_PLAN_SCAN_H
#define LLRT_JIT_PLAN_SCAN_PLAN_SCAN_H

#include "jit/plan/block/block.h"
#include "jit/plan/draft/draft.h"

/* plan_make for LLRT_OP_SCAN. */
llrt_status plan_scan_make(const op_description *desc, const plan_target *target,
                           const plan_options *options, plan *out);

/* The type in which a scan joins. */
llrt_dtype scan_accumulator(const op_description *desc);

/* scan_kernel.c: a thread (host: a block's turn) walks the axis for one place of the others, one
 * element after the other: right for any storages. */
llrt_status scan_plan_flat(const op_description *desc, const plan_target *target,
                           plan_kernel *kernel);

/* A block walks the axis tile by tile for a tile of the other axes; looks_back (GPU): it takes one
 * turn, and what stands before from other blocks. *tiled: false where the storages have no common
 * refinement, or where their runs do not hold the axis's lowest positions. */
llrt_status scan_plan_tiled(const op_description *desc, const plan_target *target,
                            const plan_options *options, bool looks_back, plan_kernel *kernel,
                            bool *tiled);

/* scan_pads.c: whether pads of the destination are given a value; then `desc` is that of a scan
 * into row-major `rows`, and behind the variant that scans into them comes a stage that makes the
 * destination `desc` asks for. */
llrt_status scan_writes_pads(const op_description *desc, const plan_target *target,
                             plan_kernel *kernel, bool *writes);
void scan_into_rows(const llrt_storage *rows, op_description *desc);
llrt_status scan_close_with_pads(const op_description *desc, const llrt_storage *rows,
                                 const plan_target *target, const plan_options *options, plan *out);

/* scan_tile.c: the tile, its orders on both sides, and `order`, its bits along the axis. False
 * where none of a block's size holds whole positions 0 .. 2^n - 1 of the axis. d->splits: of a
 * block that takes one turn. */
bool scan_tile(draft *d, plan_order *order);

/* scan_lookback.c: where totals of the `carried` layout lie. */
llrt_status scan_begin_lookback(draft *d, const plan_value *carried);
/* Appends a step that publishes a total; steps that look for those of others, `total` the tile's
 * own; that make *before of what they saw, which stands before the tile, and publish the totals of
 * higher levels. */
llrt_status scan_publish(draft *d, int value, int level);
llrt_status scan_look(draft *d, int total, int peeked[PLAN_LOOKBACK_LEVELS]);
llrt_status scan_look_back(draft *d, const draft_scan_spec *spec, int total,
                           const int peeked[PLAN_LOOKBACK_LEVELS], int *before);

/* scan_queue.c: blocks that draw tickets, the next tile copied while they work on one, and its
 * total published before they wait for others'. */
typedef struct scan_queue {
  bool used;
  uint8_t buffer;
  plan_step copy;
} scan_queue;
/* Behind scan_begin_lookback; not used where the target or the tile's accesses have no such copies.
 */
llrt_status scan_begin_queue(draft *d, const draft_values *values, scan_queue *queue);
/* Appends steps that copy the tile `turns` tickets later; that open the body of what is done in
 * that turn, *at; that await what was copied; that make value `masked.out` of what was copied, at
 * an edge by `masked`. */
llrt_status scan_copy_ahead(draft *d, const scan_queue *queue, int turns);
llrt_status scan_open_ahead(draft *d, int turns, int *at);
llrt_status scan_await_copies(draft *d);
llrt_status scan_take_copied(draft *d, const scan_queue *queue, plan_step masked);
/* The order in which a value's total is made: registers, lanes, warps. */
void scan_total_order(const plan_value *value, const plan_order *order, plan_order *out);
/* Once all steps are there: where everything lies in shared memory. */
void scan_end_queue(draft *d, const scan_queue *queue);

#endif
