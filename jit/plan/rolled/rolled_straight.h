/* Turns one behind the other instead of a loop, where a thread has registers for half of a row and
 * no more: rows wait in the words that they were loaded in, weights are loaded by the turn that
 * wants them, and of what turns make as much waits in shared memory as registers do not hold. The
 * same values are made as without turns, in the same trees. */
#ifndef LLRT_JIT_PLAN_ROLLED_STRAIGHT_H
#define LLRT_JIT_PLAN_ROLLED_STRAIGHT_H

#include "jit/plan/rolled/rolled.h"

/* Registers of a thread that such turns do with. */
#define ROLLED_STRAIGHT_REGISTERS 40

/* The runs of a kernel all of whose work on a row is done so; false: something is not. */
bool rolled_find_straight(const plan_kernel *kernel, rolled *r);
/* Gives places to what no register holds. */
void rolled_place_straight(const plan_kernel *kernel, const rolled *found, rolled_places *places);
/* Whether the kernel can be such a one with `most` bytes of shared memory for each block. */
bool rolled_may_be_straight(const plan_kernel *kernel, int most);

#endif
