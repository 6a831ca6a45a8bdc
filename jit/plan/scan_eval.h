/* SCAN, PREFIX and PICK executed and checked. values: by value, elements by (register, lane, warp), register
 * fastest. */
#ifndef LLRT_JIT_PLAN_SCAN_EVAL_H
#define LLRT_JIT_PLAN_SCAN_EVAL_H

#include "jit/plan/plan.h"

llrt_status plan_eval_scan(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values);
void plan_eval_prefix(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values);
void plan_eval_pick(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values);

/* Errors: INTERNAL. */
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
