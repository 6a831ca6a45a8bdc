/* Words of a thread that wait in shared memory for the turns that take them: registers cannot be
 * numbered when a kernel runs, memory can. Each thread reads what it has stored itself. */
#ifndef LLRT_JIT_PLAN_ROLLED_PLACES_H
#define LLRT_JIT_PLAN_ROLLED_PLACES_H

#include "jit/plan/rolled/rolled.h"

/* Gives places to values that runs take or leave, as far as there is room. */
void rolled_give_places(const plan_kernel *kernel, const rolled *found, rolled_places *places);
/* Whether all that a thread does to its elements is done by turns, or so late that no register
 * waits with it, and what turns take and leave waits in `most` bytes of shared memory: a thread
 * then has registers for a turn alone, and words that were loaded. */
bool rolled_all_waits(const plan_kernel *kernel, int most);
/* Reserves shared memory for them in a kernel that is finished otherwise. */
void rolled_reserve(plan_kernel *kernel);

#endif
