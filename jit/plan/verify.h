/* What plan_verify's files hand to each other. Private to jit/plan.
 *
 *   verify.c          values, steps between registers, the kernel as a whole
 *   verify_memory.c   accesses to tensors and buffers
 *   verify_roles.c    producers
 *   verify_combine.c  combining steps; scans, products and rounds check themselves */
#ifndef LLRT_JIT_PLAN_VERIFY_H
#define LLRT_JIT_PLAN_VERIFY_H

#include "jit/plan/access.h"

#include "base/status.h"

#define CHECK(condition, ...)                                             \
  do {                                                                    \
    if (!(condition)) return llrt_error(LLRT_INTERNAL, "plan: " __VA_ARGS__); \
  } while (0)

/* Each checks the step of number `at`. Errors: INTERNAL. */
llrt_status plan_verify_access(const plan_kernel *kernel, int at);  /* LOAD, STORE, SHARED_LOAD, SHARED_STORE */
llrt_status plan_verify_copy(const plan_kernel *kernel, int at);    /* COPY */
llrt_status plan_verify_panel(const plan_kernel *kernel, int at);   /* STAGE of a gathered panel */
llrt_status plan_verify_apart(const plan_kernel *kernel, int at);
llrt_status plan_verify_collect(const plan_kernel *kernel, int at); /* COLLECT */
llrt_status plan_verify_lazy(const plan_kernel *kernel, int at);    /* a step that is lazy */
llrt_status plan_verify_produce(const plan_kernel *kernel, int at);
llrt_status plan_verify_release(const plan_kernel *kernel, int at); /* PRODUCE, with LANDED */
llrt_status plan_verify_combining(const plan_kernel *kernel, int at);

#endif
