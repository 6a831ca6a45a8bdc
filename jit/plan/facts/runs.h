/* Tensors whose memory is runs: packed weights and their scales. Boxes of runs copy them
 * (plan_box).
 */
#ifndef LLRT_JIT_PLAN_FACTS_RUNS_H
#define LLRT_JIT_PLAN_FACTS_RUNS_H

#include "jit/plan/kernel/plan.h"

#define PLAN_RUN_DIGITS 2

/* Fixed bits of some digits number 2^bits elements that follow each other in memory: a run. Each
 * position of n other digits, in the order of axes, which have an upper part and one stride each,
 * has a run of its own. */
typedef struct plan_runs {
  int bits;
  int n; /* 1 .. PLAN_RUN_DIGITS */
  int8_t digit[PLAN_RUN_DIGITS];
  plan_number stride[PLAN_RUN_DIGITS]; /* of a position of the digit, elements */
} plan_runs;

/* False: a tensor's memory is not so. */
bool plan_runs_of(const plan_kernel *kernel, int tensor, plan_runs *out);
/* The place in a run, elements, to which vector `at` of the digits' bits moves an address. */
uint64_t plan_place_in_run(const plan_kernel *kernel, int tensor, const plan_runs *runs,
                           uint64_t at);

/* How a slot of `buffer` lies that a value of the tensor is copied to by a box of runs. */
typedef struct plan_run_slot {
  int width;       /* log2 elements of a run that it has */
  int rows;        /* log2 positions of the runs' first digit, one behind the other */
  uint64_t window; /* a mask of offset bits: those of the run's that are the turn's */
} plan_run_slot;

/* False: the buffer, whose offset bits of the window are in its layout, does not lie so. */
bool plan_run_slot_of(const plan_kernel *kernel, int tensor, const plan_value *value,
                      const plan_buffer *buffer, plan_run_slot *out);

/* The step that copies to a ring by a box; NULL: there is none. */
const plan_step *plan_box_step(const plan_kernel *kernel, int buffer);

#endif
