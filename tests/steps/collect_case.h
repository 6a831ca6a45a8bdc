/* Kernels of the host that collect what they store: rows of the destination that follow each other
 * or have gaps between them, of which bounds may leave elements out. */
#ifndef LLRT_TESTS_STEPS_COLLECT_CASE_H
#define LLRT_TESTS_STEPS_COLLECT_CASE_H

#include "step_case.h"

/* Makes the case of c->seed. False where the seed makes none for the target. */
bool collect_case_make(step_case *c, const plan_target *target);

#endif
