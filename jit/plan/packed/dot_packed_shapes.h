/* How blocks of products with packed weights are laid out: tables of shapes, tuned on an H200
 * (docs/history/packed-weights.md). Private to jit/plan/packed.
 *
 * A row serves up to `rows` rows and `columns` columns of D. Beyond `columns` blocks would no
 * longer all run at once, and the device would have little to do while the last ones end: the next
 * row has fewer, larger blocks. Rows of a table ascend in `rows`, and of equal `rows` in `columns`;
 * 0 stands for any number. More rows mean more columns a block, which share what is read of A;
 * where that leaves too few blocks, those of a cluster share K. About 50 KiB of weights are under
 * way in a multiprocessor. Rows with `clocks`, predicted clocks of a turn, are compared with each
 * other instead (dot_packed_variants.c). */
#ifndef LLRT_JIT_PLAN_PACKED_DOT_PACKED_SHAPES_H
#define LLRT_JIT_PLAN_PACKED_DOT_PACKED_SHAPES_H

#include "jit/plan/packed/dot_packed_kernel.h"

typedef struct packed_shape_list {
  const packed_shape *shape;
  int n;
} packed_shape_list;

/* Instructions of a warp each: targets without warpgroups. */
extern const packed_shape_list packed_warp_shapes;
/* Instructions of warpgroups, which take all rows of a block at once. */
extern const packed_shape_list packed_group_shapes;
/* The same of 8-bit weights beside 8-bit rows. Warpgroups multiply from 8 rows on where D has
 * columns for a block of 64 on every multiprocessor: a turn's sums are of 128 positions of K. */
extern const packed_shape_list packed_byte_shapes;
/* In place of the others' shapes of the same `rows` where 8-bit rows of A are cast: up to 32 rows
 * by each warp as it multiplies, up to 128 by producers, beyond by a stage before. */
extern const packed_shape_list packed_narrow_shapes;

#endif
