/* What plan_verify's files hand to each other. Private to jit/plan/check.
 *
 *   verify.c          values, steps between registers, the kernel as a whole
 *   verify_memory.c   accesses to tensors and buffers
 *   verify_roles.c    producers
 *   verify_combine.c  combining steps
 *   verify_scan.c     scans, blocks that look back
 *   verify_dot.c      products, boxes, rounds */
#ifndef LLRT_JIT_PLAN_CHECK_VERIFY_H
#define LLRT_JIT_PLAN_CHECK_VERIFY_H

#include "jit/plan/kernel/plan.h"
#include "jit/plan/kernel/plan_check.h"

/* Each checks the step of number `at`. Errors: INTERNAL. */
llrt_status plan_verify_access(const plan_kernel *kernel,
                               int at); /* LOAD, STORE, SHARED_LOAD, SHARED_STORE */
llrt_status plan_verify_copy(const plan_kernel *kernel, int at);  /* COPY */
llrt_status plan_verify_panel(const plan_kernel *kernel, int at); /* STAGE of a gathered panel */
llrt_status plan_verify_staged(const plan_kernel *kernel, int at);
llrt_status plan_verify_collect(const plan_kernel *kernel, int at); /* COLLECT */
llrt_status plan_verify_lazy(const plan_kernel *kernel, int at);    /* a step that is lazy */
llrt_status plan_verify_produce(const plan_kernel *kernel, int at);
llrt_status plan_verify_release(const plan_kernel *kernel, int at); /* PRODUCE, with LANDED */
llrt_status plan_verify_combining(const plan_kernel *kernel, int at);
/* PLAN_SEND. */
llrt_status plan_verify_send(const plan_kernel *kernel, int at);
llrt_status plan_verify_box(const plan_kernel *kernel, int at); /* COPY of a box */
llrt_status plan_verify_dot(const plan_kernel *kernel, int at);
llrt_status plan_verify_settle(const plan_kernel *kernel, int at);
llrt_status plan_verify_lookback(const plan_kernel *kernel, int at);
llrt_status plan_verify_queue(const plan_kernel *kernel, int walk);
llrt_status plan_verify_scan(const plan_kernel *kernel, int at);
llrt_status plan_verify_prefix(const plan_kernel *kernel, int at);
llrt_status plan_verify_pick(const plan_kernel *kernel, int at);
/* Of a kernel of rounds. */
llrt_status plan_verify_rounds(const plan_kernel *kernel);

#endif
