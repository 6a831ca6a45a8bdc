/* Scans along an axis of resident rows: the block's (jit/plan/block/scan.c), whose tree is that of
 * the row's bits. What lies beyond the axis's end is the neutral element. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"

llrt_status rows_scan(rows *r, int number, int in, int *out) {
  const program_node *node = &r->program->node[number];
  if (!r->resident)
    return llrt_error(LLRT_UNSUPPORTED, "a scan along rows that are too long for a block");
  const draft_scan_spec spec = {.combiner = (uint8_t)rows_combiner(node->op),
                                .type = (uint8_t)rows_joined_type(node),
                                .order = r->along[bits_lowest(node->reduced)],
                                .exclusive = (node->rounding & EXPR_EXCLUSIVE) != 0,
                                .reverse = (node->rounding & EXPR_REVERSE) != 0,
                                .carry = -1};
  *out = in;
  LLRT_TRY(rows_leave_out(r, node, out));
  return draft_scan(&r->d, *out, &spec, out, NULL);
}
