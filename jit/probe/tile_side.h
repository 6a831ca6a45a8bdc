/* One side of a tile's conversion: a distributed layout as lists of vectors, fitted to a target.
 * Private to jit/probe. */
#ifndef LLRT_JIT_PROBE_TILE_SIDE_H
#define LLRT_JIT_PROBE_TILE_SIDE_H

#include "jit/plan/facts/vector_list.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/kernel/plan_step.h"
#include "layout/f2.h"

/* A layout's columns as vectors of flattened coordinates, free of copies in registers. */
typedef struct tile_side {
  vector_list registers, lanes, warps, blocks;
} tile_side;

/* Errors: INVALID_ARGUMENT for in-dims other than those, for sums of columns, and where elements
 * have no place. */
llrt_status tile_side_read(const llrt_layout *layout, tile_side *p);

/* Parts the blocks' bits into those that number tiles (*apart: equal columns of which nothing else
 * is made) and those by which elements of a tile move (*moving: of both sides, in equal number).
 * *tile: what the places other than *apart hold. */
llrt_status tile_side_blocks(const tile_side side[2], vector_list *apart, vector_list moving[2],
                             f2_basis *tile);

/* Has the blocks between which elements move be a cluster; where the target has no such clusters,
 * or `clusters` is false, as for a scan, warps of one larger block. Sets kernel->cluster_bits.
 * Errors: UNSUPPORTED where neither has room. */
llrt_status tile_side_fit_blocks(plan_kernel *kernel, tile_side side[2], vector_list moving[2],
                                 bool clusters);

/* Lanes and warps as the target has them; sets warp_bits. Those that a layout does not know hold
 * copies. */
llrt_status tile_side_fit(plan_kernel *kernel, tile_side side[2]);

/* The value of a side that fits, in terms of the tile's coordinates; widest: bits of the widest
 * elements that are laid out so. Errors: UNSUPPORTED for threads of too many elements. */
llrt_status tile_side_value(const plan_kernel *kernel, const tile_side *p, const f2_basis *tile,
                            int widest, plan_value *value);

#endif
