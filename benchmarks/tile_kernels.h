/* Kernels that repeat something inside a block (plan_tile.h), timed per turn: the difference of two
 * launches that differ in the number of turns only, so loading and storing the tile do not count.
 * The shorter one is long enough that blocks are out of step in both: else a slow start, which then
 * overlaps with other blocks' turns, is taken off twice. */
#ifndef LLRT_BENCHMARKS_TILE_KERNELS_H
#define LLRT_BENCHMARKS_TILE_KERNELS_H

#include "harness.h"
#include "jit/probe/tile_op.h"

enum { TILE_BLOCKS = 528, TILE_FEW_TURNS = 160, TILE_MORE_TURNS = 480 };

/* One kernel with few turns (checking only: 1) and one with more (2); the plan of the first. */
typedef struct tile_kernels {
  llrt_op *op[2];
  int turns[2];
  plan_kernel plan;
} tile_kernels;

/* `tile` with the turns left open. */
llrt_status tile_kernels_init(const harness *h, const plan_tile *tile, plan_exchange exchange,
                              tile_kernels *k);
void tile_kernels_fini(tile_kernels *k);

/* Runs one of the two. */
void tile_kernels_launch(const tile_kernels *k, int which, const llrt_tensor *tensors, int n);

/* Microseconds of one turn of all blocks. */
harness_statistic tile_kernels_measure(harness *h, const tile_kernels *k,
                                       const llrt_tensor *tensors, int n);

#endif
