/* Steps of scans and products executed. values: by value, elements by (register, lane, warp),
 * register fastest. */
#ifndef LLRT_JIT_INTERPRET_SCAN_EVAL_H
#define LLRT_JIT_INTERPRET_SCAN_EVAL_H

#include "jit/plan/kernel/plan.h"

llrt_status plan_eval_scan(const plan_kernel *kernel, const plan_step *step,
                           uint64_t *const *values);
void plan_eval_prefix(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values);
void plan_eval_pick(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values);

llrt_status plan_eval_lookback(const plan_kernel *kernel, const plan_step *step, int64_t block,
                               const int64_t upper[PLAN_MAX_DIGITS], const uint64_t *args,
                               uint64_t *const *values);

/* The step executed: out = with + the sum, of exact products, rounded once. values: as in
 * scan_eval.h. */
llrt_status plan_eval_dot(const plan_kernel *kernel, const plan_step *step,
                          uint64_t *const *values);

#endif
