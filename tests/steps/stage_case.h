/* Kernels that stage a panel and load from it: flat ones, as conversions in place are. */
#ifndef LLRT_TESTS_STEPS_STAGE_CASE_H
#define LLRT_TESTS_STEPS_STAGE_CASE_H

#include "step_case.h"

/* Makes the case of c->seed. False where the seed makes none for the target. */
bool stage_case_make(step_case *c, const plan_target *target);

#endif
