/* Digits of which every block has all positions: where they are no power of two the tile has more, of which none are
 * the block's own. Private to jit/plan and jit/emit. */
#ifndef LLRT_JIT_PLAN_OWN_BOUND_H
#define LLRT_JIT_PLAN_OWN_BOUND_H

#include "jit/plan/plan.h"

/* The digit whose positions a bound says there are, all in every block; -1: it is no such bound. */
int plan_own_digit(const plan_kernel *kernel, const plan_bound *bound);

/* Of `positions` of the tile along an axis, all that a digit has there, how many are a block's own. */
int64_t plan_own_positions(const plan_kernel *kernel, int axis, int64_t positions);

/* Positions of the kernel's tile that are of no block: along n bits of it, low bit first, all from `own` on. n = 0: there are none. */
typedef struct plan_foreign {
  int n;
  int64_t own;
  uint64_t bit[LLRT_MAX_BITS];
} plan_foreign;

/* Those of which products leave whole instructions or columns out: of a digit whose own positions are whole columns of eight. */
void plan_foreign_find(const plan_kernel *kernel, plan_foreign *out);
bool plan_foreign_has(const plan_foreign *foreign, uint64_t tile);

#endif
