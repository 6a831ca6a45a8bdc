/* SCAN, PREFIX and PICK executed and checked. values: by value, elements by (register, lane, warp), register
 * fastest. */
#ifndef LLRT_JIT_PLAN_SCAN_EVAL_H
#define LLRT_JIT_PLAN_SCAN_EVAL_H

#include "jit/plan/plan.h"

llrt_status plan_eval_scan(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values);
void plan_eval_prefix(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values);
void plan_eval_pick(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values);

llrt_status plan_eval_lookback(const plan_kernel *kernel, const plan_step *step, int64_t block,
                               const int64_t upper[PLAN_MAX_DIGITS], const uint64_t *args, uint64_t *const *values);

/* Where a block of turn `turn` finds total k of a level: how many turns before its own; 0: there is none. */
int64_t plan_lookback_distance(const plan_lookback *lookback, int level, int64_t turn, int64_t k);
/* Whether the block of a turn has a total of the level. */
bool plan_lookback_publishes(const plan_lookback *lookback, int level, int64_t turn);
/* log2 totals of a level that stand before a block. */
int plan_lookback_places(const plan_lookback *lookback, int level);

/* Errors: INTERNAL. */
llrt_status plan_verify_lookback(const plan_kernel *kernel, int at);
llrt_status plan_verify_queue(const plan_kernel *kernel, int walk);
llrt_status plan_verify_scan(const plan_kernel *kernel, int at);
llrt_status plan_verify_prefix(const plan_kernel *kernel, int at);
llrt_status plan_verify_pick(const plan_kernel *kernel, int at);

/* Which register of `in` a thread keeps as register r of `out`: of_register(r) XOR of_warp(its warp). */
typedef struct plan_pick {
  int n_registers, n_warps;
  uint64_t of_register[24], of_warp[8];
} plan_pick;
/* False where PLAN_PICK does not lead from one to the other. */
bool plan_pick_of(const plan_value *in, const plan_value *out, plan_pick *pick);

#endif
