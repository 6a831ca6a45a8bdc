/* Digits of which every block has all positions: where they are no power of two the tile has more, of which none are
 * the block's own. Private to jit/plan and jit/emit. */
#ifndef LLRT_JIT_PLAN_OWN_BOUND_H
#define LLRT_JIT_PLAN_OWN_BOUND_H

#include "jit/plan/plan.h"

/* The digit whose positions a bound says there are, all in every block; -1: it is no such bound. */
int plan_own_digit(const plan_kernel *kernel, const plan_bound *bound);

/* Of `positions` of the tile along an axis, all that a digit has there, how many are a block's own. */
int64_t plan_own_positions(const plan_kernel *kernel, int axis, int64_t positions);

/* The two bits of the kernel's tile whose last quarter (both are 1) is of no block; 0: there is no such quarter. */
uint64_t plan_foreign_quarter(const plan_kernel *kernel);

#endif
