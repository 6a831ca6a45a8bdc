/* Kernels around one load or store of a tensor whose rows lie anywhere: digits by columns and
 * strides, bounds, offsets. */
#ifndef LLRT_TESTS_STEPS_MEMORY_CASE_H
#define LLRT_TESTS_STEPS_MEMORY_CASE_H

#include "step_case.h"

/* What a case is about: of a load or a store, `way` of moving what bounds part or what is not
 * aligned. */
typedef enum memory_way {
  MEMORY_PLAIN = 0, /* whole accesses, masked where there are bounds */
  MEMORY_PARTED,    /* plan_step.parted */
  MEMORY_OVERHANG,  /* plan_step.overhang, masked */
  MEMORY_INTERIOR,  /* the same in PLAN_IF_INTERIOR, not masked where the block is inside */
  MEMORY_LOOSE,
  MEMORY_WAYS
} memory_way;

/* Makes the case of c->seed. False where the seed makes none of that kind for the target. */
bool memory_case_make(step_case *c, const plan_target *target, bool store, memory_way way);

#endif
