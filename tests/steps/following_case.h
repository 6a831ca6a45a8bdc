/* A kernel around a store whose accesses have positions that values of an index choose: where these
 * follow each other, else one by one. */
#ifndef LLRT_TESTS_STEPS_FOLLOWING_CASE_H
#define LLRT_TESTS_STEPS_FOLLOWING_CASE_H

#include "step_case.h"

/* Makes the case from *seed on. False where it makes none for the target. */
bool following_case_make(uint64_t *seed, step_case *c, const plan_target *target);

#endif
