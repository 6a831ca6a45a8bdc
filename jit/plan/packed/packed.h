/* Products with packed weights (docs/dot-packed.md). */
#ifndef LLRT_JIT_PLAN_PACKED_PACKED_H
#define LLRT_JIT_PLAN_PACKED_PACKED_H

#include "jit/plan/kernel/plan.h"

/* Plans a dot whose operand B is packed weights. *made: whether it is one and was planned; if not,
 * *out has nothing, and kernels for any weights have to do it. */
llrt_status plan_dot_packed_make(const op_description *desc, const plan_target *target,
                                 const plan_options *options, plan *out, bool *made);

#endif
