/* Registers of a block's threads on NVIDIA, where how many there are decides what may be planned.
 * Private to jit/. */
#ifndef LLRT_JIT_PLAN_FACTS_THREAD_REGISTERS_H
#define LLRT_JIT_PLAN_FACTS_THREAD_REGISTERS_H

#include "jit/plan/kernel/plan.h"
#include "jit/plan/types/dot_instruction.h"

/* Of a thread: as blocks begin, and with roles (PLAN_ROLES) then of producers and of the others;
 * without, all three are the same. Multiples of 8, as setmaxnreg counts them. */
typedef struct plan_registers {
  int begin, producers, others;
} plan_registers;

void plan_registers_of(const plan_kernel *kernel, plan_registers *out);

/* Whether a thread that multiplies has registers for a product of warpgroups: all sums (`sums`),
 * `fresh` times an instruction's own sums beside them (plan_step.fresh_sums), the instruction's
 * first operand if registers hold it, and what ptxas takes beside. padded: sums of columns that no
 * block owns (tile_padding.h) count, too. */
bool plan_registers_hold(const plan_kernel *kernel, const plan_value *sums,
                         const dot_instruction *row, int fresh, bool padded);

#endif
