/* Kernels around PLAN_DOT: every instruction of a target, with operands in registers or in shared
 * memory, and the roles of warps that multiply and that fill slots of rings. */
#ifndef LLRT_TESTS_STEPS_DOT_CASE_H
#define LLRT_TESTS_STEPS_DOT_CASE_H

#include "step_case.h"

#include "jit/plan/types/dot_instruction.h"

typedef enum dot_way {
  DOT_ALONE = 0, /* one product; by a warpgroup awaited at once */
  DOT_CHAIN, /* by a warpgroup: several groups under way, of which all but the last are awaited */
  DOT_ROLES, /* by a warpgroup: turns of a walk, out of a ring that other warps fill */
  DOT_WAYS
} dot_way;

/* Makes the case of c->seed for an instruction. False where the seed makes none of that kind for
 * the target. */
bool dot_case_make(step_case *c, const plan_target *target, const dot_instruction *row, int number,
                   dot_way way);

#endif
