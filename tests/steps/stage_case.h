/* Kernels that stage a panel: flat ones, which load from that of the source or store to that of the
 * destination, and gathers. */
#ifndef LLRT_TESTS_STEPS_STAGE_CASE_H
#define LLRT_TESTS_STEPS_STAGE_CASE_H

#include "step_case.h"

typedef enum stage_way {
  STAGE_IN_PLACE = 0, /* panels of whole accesses, one behind the other */
  STAGE_GATHERED,     /* what an index chooses from */
  STAGE_SOURCE,       /* loads from a panel that begins anywhere */
  STAGE_DESTINATION,  /* stores to such a panel */
  STAGE_WAYS
} stage_way;

/* Makes the case of c->seed. False where the seed makes none of that kind for the target. */
bool stage_case_make(step_case *c, const plan_target *target, stage_way way);

#endif
