/* What a tile of a strip, one iteration of a block, reaches. */
#ifndef LLRT_JIT_PLAN_FACTS_ITERATION_H
#define LLRT_JIT_PLAN_FACTS_ITERATION_H

#include "jit/plan/kernel/plan.h"

/* The bits of a digit's position that registers, lanes and warps of the value move; whether all
 * that it has in an iteration is surely inside every bound that is not ignored, and surely beyond
 * one of the destination's. */
uint64_t plan_iteration_mask(const plan_kernel *kernel, const plan_value *value, int digit);
/* Positions that a bound looks at from the least to the greatest that an iteration may have, where
 * that is a multiple of a power of two. */
int64_t plan_iteration_span(const plan_kernel *kernel, const plan_value *value,
                            const plan_bound *bound);
/* What an iteration has more than the one before of what a bound looks at, where that is the same
 * for all of them and nothing else moves the bits of digits that they do; else 0. */
int64_t plan_iteration_step(const plan_kernel *kernel, const plan_value *value,
                            const plan_bound *bound);
void plan_iteration_reach(const plan_kernel *kernel, const plan_value *value, uint64_t iteration,
                          uint64_t grid, const int64_t upper[PLAN_MAX_DIGITS],
                          uint32_t ignored_bounds, const uint64_t *args, bool *interior,
                          bool *beyond);

#endif
