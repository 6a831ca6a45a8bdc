/* A dot of one tile in given distributed layouts, as a kernel of its own: for tests of what other
 * kernels are made of, and for measuring it. */
#ifndef LLRT_JIT_PROBE_PLAN_DOT_TILE_H
#define LLRT_JIT_PROBE_PLAN_DOT_TILE_H

#include "jit/plan/kernel/plan.h"

typedef struct plan_dot_tile {
  int m, n, k;                     /* log2 extents */
  int warps;                       /* log2; on the host one thread does the work of all */
  llrt_dtype a, b, d;              /* of the tensors' elements */
  llrt_dtype product_a, product_b; /* to which A and B are cast; where no instruction divides the
                                      tile both are cast to `sum` */
  llrt_dtype sum;                  /* in which products are summed */
  bool tf32;                       /* f32 products may be made of tf32 */
  int group;      /* by warpgroups, with A in registers (1) or in shared memory (2); 0: by warps */
  bool across[2]; /* group, elements of 16 bits: in shared memory rows of A go along m, of B along
                     n, instead of k */
  int choice;     /* n > 0: the n-th way of those that there are, fewest clocks of products first;
                     0: the cheapest */
  /* register, lane, warp -> dim0, dim1 of A [m, k], B [k, n], D [m, n]; NULL: as memory likes it.
   * Columns are independent or zero, those of registers are not zero. Not for the host. */
  const llrt_layout *layout[3];
} plan_dot_tile;

/* Plans a kernel whose blocks each load a tile of A and of B, cast them, bring them where an
 * instruction wants them, multiply, cast and store. Tensors (0: A, 1: D, 2: B) are one-dimensional
 * and of one length: 2^plan_dot_tile_bits elements for each tile, of which the first ones are the
 * operand in row-major order. Errors: UNSUPPORTED for values too large for a thread, more warps
 * than the target has, or a choice past the last. */
llrt_status plan_dot_tile_make(const plan_dot_tile *tile, const plan_target *target,
                               const plan_options *options, plan_kernel *out);

/* log2 elements of a tensor for one tile. */
int plan_dot_tile_bits(const plan_dot_tile *tile);

#endif
