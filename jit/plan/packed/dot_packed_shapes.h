/* How blocks of products with packed weights are laid out. Private to jit/plan/packed.
 *
 * Where warpgroups multiply, each tile has a pace (jit/plan/dot/tile_pace.h), by which a shape
 * finds its own. Other targets have not been measured, and rows that are cast on their way are no
 * part of the model: for these there are tables, tuned on an H200 (docs/history/packed-weights.md).
 * A row of a table serves up to `rows` rows and `columns` columns of D. Beyond `columns` blocks
 * would no longer all run at once, and the device would have little to do while the last ones end:
 * the next row has fewer, larger blocks. Rows ascend in `rows`, and of equal `rows` in `columns`; 0
 * stands for any number. More rows mean more columns a block, which share what is read of A; where
 * that leaves too few blocks, those of a cluster share K. About 50 KiB of weights are under way in
 * a multiprocessor. */
#ifndef LLRT_JIT_PLAN_PACKED_DOT_PACKED_SHAPES_H
#define LLRT_JIT_PLAN_PACKED_DOT_PACKED_SHAPES_H

#include "jit/plan/packed/dot_packed_kernel.h"

typedef struct packed_shape_list {
  const packed_shape *shape;
  int n;
} packed_shape_list;

/* Candidates, most of warpgroups, of which each takes any shape. */
extern const packed_shape_list packed_tiles;
/* Instructions of a warp each: targets without warpgroups. */
extern const packed_shape_list packed_warp_shapes;
/* Of warpgroups, for rows of experts, and where 8-bit rows of A are multiplied as 16 bits. */
extern const packed_shape_list packed_table_shapes;
/* In place of those of the same `rows`: up to 32 rows are cast by each warp as it multiplies, up to
 * 128 by producers, beyond by a stage before. */
extern const packed_shape_list packed_narrow_shapes;

#endif
