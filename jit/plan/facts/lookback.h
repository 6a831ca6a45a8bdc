/* Where blocks that look back find what stands before them, and what PLAN_PICK keeps. */
#ifndef LLRT_JIT_PLAN_FACTS_LOOKBACK_H
#define LLRT_JIT_PLAN_FACTS_LOOKBACK_H

#include "jit/plan/kernel/plan.h"

/* Where a block of turn `turn` finds total k of a level: how many turns before its own; 0: there is
 * none. */
int64_t plan_lookback_distance(const plan_lookback *lookback, int level, int64_t turn, int64_t k);
/* Whether the block of a turn has a total of the level. */
bool plan_lookback_publishes(const plan_lookback *lookback, int level, int64_t turn);
/* log2 totals of a level that stand before a block. */
int plan_lookback_places(const plan_lookback *lookback, int level);
/* log2 elements of one total in a step's value. */
int plan_lookback_kept(const plan_kernel *kernel, const plan_step *step, const plan_value *value);

/* Which register of `in` a thread keeps as register r of `out`: of_register(r) XOR of_warp(its
 * warp). */
typedef struct plan_pick {
  int n_registers, n_warps;
  uint64_t of_register[24], of_warp[8];
} plan_pick;
/* False where PLAN_PICK does not lead from one to the other. */
bool plan_pick_of(const plan_value *in, const plan_value *out, plan_pick *pick);

#endif
