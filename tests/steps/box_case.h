/* Kernels whose producers copy boxes of a tensor map, from rows that end anywhere: sums of the
 * turns of a walk. NVIDIA, from compute capability 9.0 on. */
#ifndef LLRT_TESTS_STEPS_BOX_CASE_H
#define LLRT_TESTS_STEPS_BOX_CASE_H

#include "step_case.h"

typedef enum box_way {
  BOX_COPY = 0, /* boxes go to the ring that is summed from */
  BOX_LANDED,   /* producers make of boxes what goes to another ring */
  BOX_SETTLE,   /* in rounds, the last turns of which are dealt out; boxes have landed or not */
  BOX_WAYS
} box_way;

/* Makes the case of c->seed. False where the seed makes none for the target. */
bool box_case_make(step_case *c, const plan_target *target, box_way way);

#endif
