/* From the description of an operation to the kernels that do it: what planning is to everyone
 * else. */
#ifndef LLRT_JIT_PLAN_PLAN_MAKE_H
#define LLRT_JIT_PLAN_PLAN_MAKE_H

#include "jit/plan/kernel/plan.h"

/* Plans desc (validated by runtime/validate.c) for a target. options may be NULL. *out is an
 * llrt-internal allocation of the caller's, overwritten. Errors: UNSUPPORTED with the reason. */
llrt_status plan_make(const op_description *desc, const plan_target *target,
                      const plan_options *options, plan *out);

#endif
