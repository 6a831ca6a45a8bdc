/* Kernels around steps that carry out others: loops, branches, and around loads and stores by
 * indices. */
#ifndef LLRT_TESTS_STEPS_CONTROL_CASE_H
#define LLRT_TESTS_STEPS_CONTROL_CASE_H

#include "step_case.h"

typedef enum control_way {
  CONTROL_LOOP = 0, /* accesses of each iteration, in one loop or in two */
  CONTROL_JOIN,     /* a sum that a loop carries */
  CONTROL_REPEAT,
  CONTROL_GATHER,  /* loads by an index */
  CONTROL_SCATTER, /* stores by an index */
  CONTROL_FOLLOW,  /* the same of values that mostly follow each other (following_case.h) */
  CONTROL_PANEL,   /* loads by an index from a panel that has all that it may choose */
  CONTROL_WAYS
} control_way;

/* Makes the case of c->seed. False where the seed makes none of that kind for the target. */
bool control_case_make(step_case *c, const plan_target *target, control_way way);

#endif
