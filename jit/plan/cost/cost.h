/* What steps cost: counted instructions, sectors and wavefronts. */
#ifndef LLRT_JIT_PLAN_COST_COST_H
#define LLRT_JIT_PLAN_COST_COST_H

#include "jit/plan/kernel/plan.h"

/* What an unknown stride reads as: far apart and aligned. */
#define PLAN_FAR_STRIDE ((int64_t)1 << 32)

/* Sectors of a tile's loads of values that indices of the tensor choose, for an access by
 * `value`. */
int plan_index_sectors(const plan_kernel *kernel, const plan_value *value, int tensor);
/* Fills kernel->cost from the kernel's steps; of a flat kernel only the bytes. */
void plan_cost_kernel(plan_kernel *kernel);
/* Adds what steps first to end - 1 cost, bodies once. */
void plan_cost_steps(const plan_kernel *kernel, int first, int end, plan_cost *cost);

/* Adds what a PLAN_DOT costs. */
void plan_cost_dot(const plan_kernel *kernel, const plan_step *step, plan_cost *cost);

#endif
