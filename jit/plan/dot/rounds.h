/* Rounds: blocks that take several positions of the grid (launch.rounds in
 * jit/plan/kernel/launch.h), so that producers fill their rings for the next one while the others
 * end this one. */
#ifndef LLRT_JIT_PLAN_DOT_ROUNDS_H
#define LLRT_JIT_PLAN_DOT_ROUNDS_H

#include "jit/plan/draft/draft.h"

/* Makes the kernel's blocks go in rounds, one block for each multiprocessor. To be called before
 * any exchange is appended. */
llrt_status rounds_begin(draft *d);

/* How many words of a cell (plan_deal) a thread moves by one access. */
#define ROUNDS_CELL_WORDS 4
/* Makes the last turns of a kernel in rounds be dealt out to at most `blocks` blocks, which leave
 * values of the layout of `sums` to each other. */
llrt_status rounds_deal(draft *d, const plan_value *sums, int blocks);
/* Appends the step that joins what blocks have of a position whose turns are dealt; *sums, a
 * number, becomes that of all turns' sums. What follows is the step's body: *at is its number, for
 * draft_close. */
llrt_status rounds_settle(draft *d, int *sums, int *at);
#endif
