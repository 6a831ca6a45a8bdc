/* A dot of one tile in given distributed layouts, as a kernel of its own: for tests of what other kernels are made
 * of, and for measuring it. */
#ifndef LLRT_JIT_PLAN_PLAN_DOT_TILE_H
#define LLRT_JIT_PLAN_PLAN_DOT_TILE_H

#include "jit/plan/plan.h"

typedef struct plan_dot_tile {
  int m, n, k;          /* log2 extents */
  int warps;            /* log2; on the host one does the work of all */
  llrt_dtype a, b, d;   /* of the tensors */
  llrt_dtype product_a, product_b, sum; /* to which A and B are cast, and in which products are summed. Where no
                                           instruction divides the tile both are cast to `sum` */
  bool tf32;            /* f32 products may be made of tf32 */
  int group;            /* 1, 2: by warpgroups, with A in registers, in shared memory; 0: by others */
  bool across[2];       /* group: rows of A, of B in shared memory go along m, along n; 16 bits */
  int choice;           /* 0: the cheapest way that there is, n: the n-th of the ways in the order of their products' clocks */
  const llrt_layout *layout[3]; /* register, lane, warp -> dim0, dim1 of A [m, k], B [k, n], D [m, n]; NULL: as memory
                                   likes it. Columns independent or zero; none in registers. Not for the host */
} plan_dot_tile;

/* Plans: load a tile of A and of B, cast, bring them where an instruction wants them, multiply, cast, store. Tensors
 * are one-dimensional and of one length, 2^(m + n + k - least) elements for each tile (0: A, 1: D, 2: B), of
 * which the first are the operand in row-major order; blocks take a tile each. Errors: UNSUPPORTED for values too
 * large for a thread, more warps than the target has, or a choice past the last. */
llrt_status plan_dot_tile_make(const plan_dot_tile *tile, const plan_target *target, const plan_options *options,
                               plan_kernel *out);

/* log2 elements of a tensor for one tile. */
int plan_dot_tile_bits(const plan_dot_tile *tile);

#endif
