/* PLAN_GATHER as numbers: where each element of the result comes from. Shared by planning,
 * verification, cost and emission. */
#ifndef LLRT_JIT_PLAN_FACTS_BLOCK_GATHER_H
#define LLRT_JIT_PLAN_FACTS_BLOCK_GATHER_H

#include "jit/plan/kernel/plan.h"

#define PLAN_GATHER_AXIS_BITS 16
#define PLAN_GATHER_CHOICES 6 /* log2 words that an element may be picked from, at most */

/* A linear map of (register, lane, warp) of the result and the coordinate that it asks for. */
typedef struct plan_gather_map {
  uint64_t of_register[24], of_lane[8], of_warp[8], of_axis[PLAN_GATHER_AXIS_BITS];
} plan_gather_map;

/* Inside the warp: the register and the lane of the source that hold the element. Of a source's
 * copies in lanes a thread takes those that agree with its own number. What lane, warp and
 * coordinate do to the register is known at run time only: the element is one of 2^n_choices words,
 * each a shuffle away. */
typedef struct plan_gather_lanes {
  plan_gather_map reg, lane;
  bool stays; /* the lane is the reader's own: nothing is shuffled */
  int n_choices;
  uint64_t choice[PLAN_GATHER_CHOICES]; /* registers; a sum of them has bit pivot[j] where choice j
                                           is in it */
  int pivot[PLAN_GATHER_CHOICES];
} plan_gather_lanes;

/* False where elements come from other warps, or from more words than that. */
bool plan_gather_lanes_of(const plan_kernel *kernel, const plan_step *step, plan_gather_lanes *out);

/* Staged: the byte of the buffer where the element begins. */
void plan_gather_offsets_of(const plan_kernel *kernel, const plan_step *step, plan_gather_map *out);

/* Bits that lane, warp and coordinate set. */
uint64_t plan_gather_moving(const plan_gather_map *map);

/* Adds what the step costs. Values are taken to be random. */
void plan_gather_cost(const plan_kernel *kernel, const plan_step *step, plan_cost *cost);

#endif
