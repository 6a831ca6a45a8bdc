/* Kernels that walk turns: what a walk carries, and rings of shared memory into which copies go
 * turns ahead. */
#ifndef LLRT_TESTS_STEPS_TURNS_CASE_H
#define LLRT_TESTS_STEPS_TURNS_CASE_H

#include "step_case.h"

typedef enum turns_way {
  TURNS_JOIN = 0, /* what the turns have is joined, in order */
  TURNS_PAIRS,    /* keys and positions */
  TURNS_BARE,     /* each turn stores what it has */
  TURNS_COPY,     /* the same through a ring, joined; NVIDIA */
  TURNS_COPY_BARE,
  TURNS_WAYS
} turns_way;

/* Makes the case of c->seed. False where the seed makes none of that kind for the target. */
bool turns_case_make(step_case *c, const plan_target *target, turns_way way);

#endif
