/* Kernels around one step that makes values of values: maps, combining, scans, gathers. */
#ifndef LLRT_TESTS_STEPS_VALUE_CASE_H
#define LLRT_TESTS_STEPS_VALUE_CASE_H

#include "step_case.h"

/* Makes the case of c->seed around a step of that kind. False where the seed makes none for the
 * target. */
bool value_case_make(step_case *c, const plan_target *target, plan_step_kind kind);

#endif
