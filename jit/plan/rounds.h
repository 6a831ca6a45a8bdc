/* Rounds: blocks that take several positions of the grid (launch.rounds in jit/plan/launch.h), so that producers fill
 * their rings for the next one while the others end this one. */
#ifndef LLRT_JIT_PLAN_ROUNDS_H
#define LLRT_JIT_PLAN_ROUNDS_H

#include "jit/plan/draft.h"

/* Has the kernel's blocks go in rounds, one block to a multiprocessor. Before anything is exchanged. */
llrt_status rounds_begin(draft *d);

/* Bytes of shared memory that rings take. */
int rounds_ring_bytes(const plan_kernel *kernel);

/* Words of a thread in a cell of plan_deal are moved so many at a time. */
#define ROUNDS_CELL_WORDS 4
/* Has the last turns of a kernel in rounds be dealt to at most so many blocks, which leave values like `sums` to each other. */
llrt_status rounds_deal(draft *d, const plan_value *sums, int blocks);
/* plan_verify of PLAN_SETTLE. */
llrt_status plan_verify_settle(const plan_kernel *kernel, int at);

/* plan_verify of a kernel of rounds. */
llrt_status plan_verify_rounds(const plan_kernel *kernel);

#endif
