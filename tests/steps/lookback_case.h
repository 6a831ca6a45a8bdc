/* Kernels whose blocks tell each other totals while they run: PLAN_PUBLISH, PLAN_PEEK and
 * PLAN_AWAIT. */
#ifndef LLRT_TESTS_STEPS_LOOKBACK_CASE_H
#define LLRT_TESTS_STEPS_LOOKBACK_CASE_H

#include "step_case.h"

/* Makes the case of c->seed. False where the seed makes none for the target. */
bool lookback_case_make(step_case *c, const plan_target *target);

#endif
