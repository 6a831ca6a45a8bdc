/* Whether a kernel is well formed, and a plan as text. */
#ifndef LLRT_JIT_PLAN_CHECK_PLAN_VIEW_H
#define LLRT_JIT_PLAN_CHECK_PLAN_VIEW_H

#include "jit/plan/kernel/plan.h"

/* Checks that a kernel is well formed: what emission and the interpreter rely on. Errors: INTERNAL.
 */
llrt_status plan_verify(const plan_kernel *kernel);

/* Writes what `llrt explain` shows. */
struct llrt_text;
void plan_print(const plan *made, struct llrt_text *text);
/* The part of one kernel, of the variant of that number. */
void plan_print_kernel(const plan_kernel *kernel, int number, struct llrt_text *text);

#endif
