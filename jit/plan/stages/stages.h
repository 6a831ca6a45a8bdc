/* A plan's variants, and the stages that they are made of: kernels that run one after the other and
 * pass tensors on in the workspace. */
#ifndef LLRT_JIT_PLAN_STAGES_STAGES_H
#define LLRT_JIT_PLAN_STAGES_STAGES_H

#include "jit/plan/kernel/plan.h"

/* The next kernel of a plan. Errors: INTERNAL where it has no room. */
llrt_status stages_next(plan *out, plan_kernel **kernel);
/* Makes a variant of the kernels from `first` on: numbers them as its stages. The first one gets
 * the range; its launch. */
plan_launch *stages_close(plan *out, int first, plan_range range);

/* What promises fix of an axis's extent; -1: a run tells. */
int64_t stages_known_extent(const op_description *desc, int axis);
/* How many of the shapes that promises allow are in the range: none (0), some (1) or all (2). */
int stages_range_holds(const op_description *desc, const plan_range *range);

/* The stage has the operation's axes, and its first n tensors. */
void stages_view_all(const op_description *desc, plan_kernel *kernel, int n);
/* Of these axes the stage has one position, whatever the operation has. */
void stages_view_ones(plan_kernel *kernel, uint32_t axes);
/* The stage's tensor t is one of the operation's, or a region of the workspace. ones: axes along
 * which it has one position. */
void stages_view_tensor(plan_kernel *kernel, int t, int tensor, uint32_t ones);
void stages_view_region(plan_kernel *kernel, int t, int region, uint32_t ones);
/* Bytes of an element in a region, where those of 4 bits are taken as a whole byte. */
int64_t stages_element_bytes(llrt_dtype type);

#endif
