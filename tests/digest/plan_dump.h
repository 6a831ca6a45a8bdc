/* A kernel's plan as canonical text, from which its digest is taken. */
#ifndef LLRT_TESTS_DIGEST_PLAN_DUMP_H
#define LLRT_TESTS_DIGEST_PLAN_DUMP_H

#include "base/text.h"
#include "jit/plan/kernel/plan.h"

/* Adds every field that emission or a launch reads: "name=number" where the number is not 0, so
 * that a field that a later version adds changes nothing where it is not used. Of the target its
 * name alone; no costs. */
void plan_dump(const plan_kernel *kernel, llrt_text *out);

#endif
