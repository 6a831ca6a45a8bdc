/* Kernels around one step that moves elements between registers, lanes and warps. */
#ifndef LLRT_TESTS_STEPS_EXCHANGE_CASE_H
#define LLRT_TESTS_STEPS_EXCHANGE_CASE_H

#include "step_case.h"

typedef enum exchange_way {
  EXCHANGE_REGISTERS = 0,
  EXCHANGE_SHUFFLE, /* whole words */
  EXCHANGE_SWAP,    /* a vector of the word and one of the lanes change places */
  EXCHANGE_TURN,    /* words turn in their lanes */
  EXCHANGE_SHARED,  /* through a buffer, swizzled, as a whole or in parts */
  EXCHANGE_MATRIX,  /* the same by matrices on one side or both */
  EXCHANGE_WAYS
} exchange_way;

/* Makes the case of c->seed. False where the seed makes none of that kind for the target. */
bool exchange_case_make(step_case *c, const plan_target *target, exchange_way way);

#endif
