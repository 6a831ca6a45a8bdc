/* Gathers out of a panel in shared memory. Private to jit/plan/convert. */
#ifndef LLRT_JIT_PLAN_CONVERT_PANEL_H
#define LLRT_JIT_PLAN_CONVERT_PANEL_H

#include "jit/plan/kernel/plan.h"
#include "jit/plan/types/target.h"

/* The kernel of a convert whose source has one index that chooses for every element, where
 * storages, types and target suit it; *made: whether they do. Its range says for which extents it
 * is worth while. */
llrt_status plan_panel_make(const op_description *desc, const plan_target *target,
                            const plan_options *options, plan_kernel *kernel, bool *made);

#endif
