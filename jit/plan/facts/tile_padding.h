/* Tile padding: a digit that fits inside one tile but has no power of two of positions leaves tile
 * positions that no block owns. Private to jit. */
#ifndef LLRT_JIT_PLAN_FACTS_TILE_PADDING_H
#define LLRT_JIT_PLAN_FACTS_TILE_PADDING_H

#include "jit/plan/kernel/plan.h"

/* The digit whose positions a bound says there are, all in every block; -1: it is no such bound. */
int plan_padded_digit(const plan_kernel *kernel, const plan_bound *bound);

/* Of `positions` of the tile along an axis, all that a digit has there: how many are no padding. */
int64_t plan_unpadded_positions(const plan_kernel *kernel, int axis, int64_t positions);

/* The padding of the kernel's tile: along n bits of it, low bit first, the positions from `own` on,
 * of 2^n. n = 0: there is none. */
typedef struct plan_padding {
  int n;
  int64_t own;
  uint64_t bit[LLRT_MAX_BITS];
} plan_padding;

/* The padding that products leave out, by whole instructions or columns: of a digit whose other
 * positions are whole columns of eight. */
void plan_padding_find(const plan_kernel *kernel, plan_padding *out);
bool plan_padding_has(const plan_padding *padding, uint64_t tile);

#endif
