/* Rounds: blocks that take several positions of the grid (launch.rounds in jit/plan/launch.h), so that producers fill
 * their rings for the next one while the others end this one. */
#ifndef LLRT_JIT_PLAN_ROUNDS_H
#define LLRT_JIT_PLAN_ROUNDS_H

#include "jit/plan/draft.h"

/* Has the kernel's blocks go in rounds, one block to a multiprocessor. Before anything is exchanged. */
llrt_status rounds_begin(draft *d);

/* Bytes of shared memory that rings take. */
int rounds_ring_bytes(const plan_kernel *kernel);

/* plan_verify of a kernel of rounds. */
llrt_status plan_verify_rounds(const plan_kernel *kernel);

#endif
