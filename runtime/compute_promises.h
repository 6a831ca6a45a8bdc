/* Promises about the extents of a compute's axes. */
#ifndef LLRT_RUNTIME_COMPUTE_PROMISES_H
#define LLRT_RUNTIME_COMPUTE_PROMISES_H

#include "jit/plan/types/description.h"

/* Inside, the first tensor's promises hold for all axes, and other tensors' extents have none.
 * What the caller promises of a tensor holds for the axes that it has, of which each extent is that
 * of all tensors; of others, of which it has one position, it says nothing. Promises that
 * contradict each other are left where they are: no call keeps them. */
void compute_gather_promises(op_description *desc);

/* The other way round: each axis's promise becomes one of the first tensor that has the axis. */
void compute_spread_promises(op_description *desc);

#endif
