/* What an exchange takes in clocks of a streaming multiprocessor (compute unit), from counted
 * instructions and wavefronts: the model by which planning chooses, and what `llrt explain` prints.
 */
#ifndef LLRT_JIT_PLAN_COST_CYCLES_H
#define LLRT_JIT_PLAN_COST_CYCLES_H

#include "jit/plan/kernel/plan.h"

/* Clocks of one block, were it alone on its multiprocessor with every pipe full. `total` is the
 * longest of the three pipes, which work side by side, a small part of the others, and the
 * barriers, at which they drain. */
typedef struct plan_cycles {
  double memory;     /* lane shuffles and shared wavefronts: one pipe */
  double arithmetic; /* selects, byte permutes, addresses */
  double issue;      /* every instruction of the exchange */
  double barriers;
  double total;
} plan_cycles;

/* Of what cost counts, for a block of `warps`. All zero on the host: there each step is what it is.
 */
void plan_cycles_of(const plan_target *target, const plan_cost *cost, int warps, plan_cycles *out);

#endif
