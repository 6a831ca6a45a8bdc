/* Weights of rows that a loop's turns load themselves, each for a turn behind it: they are the same
 * in all blocks, so that the first-level cache has them. */
#ifndef LLRT_JIT_PLAN_ROLLED_WEIGHTS_H
#define LLRT_JIT_PLAN_ROLLED_WEIGHTS_H

#include "jit/plan/rolled/rolled.h"

/* Whether the step loads what all blocks do, behind something that is joined. */
bool rolled_loads_weights(const plan_kernel *kernel, int at);
/* Whether weights that stay in the first-level cache are used by steps that no run has. */
bool rolled_wants_loads(const plan_kernel *kernel, const rolled *r);
/* Whether nothing uses what turns load but these turns. */
bool rolled_may_load(const plan_kernel *kernel, const rolled *r);

#endif
