/* Registers of a block's threads on NVIDIA, where how many there are decides what may be planned. Private to jit/. */
#ifndef LLRT_JIT_PLAN_THREAD_REGISTERS_H
#define LLRT_JIT_PLAN_THREAD_REGISTERS_H

#include "jit/plan/dot_tiling.h"

/* Of a thread: as blocks begin, and with roles (PLAN_ROLES) then of producers and of the others; without, all three are
 * the same. Multiples of 8, as setmaxnreg counts them. */
typedef struct plan_registers {
  int begin, producers, others;
} plan_registers;

void plan_registers_of(const plan_kernel *kernel, plan_registers *out);

/* Whether threads have room for a product of warpgroups: all sums, an instruction's first operand, and what ptxas wants
 * beside, which it looks for in what they begin with, whatever roles get later. */
bool plan_registers_hold(const plan_kernel *kernel, const plan_value *sums, const dot_instruction *row);

#endif
