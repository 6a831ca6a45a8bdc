/* A product's kernels by themselves: planned for sm_90a with all candidates, interpreted, and run
 * on an emulated device, each result compared with what is right. */
#ifndef LLRT_TESTS_DOT_PLANNED_KERNELS_H
#define LLRT_TESTS_DOT_PLANNED_KERNELS_H

#include "dot_reference.h"

#include "jit/plan/kernel/plan.h"
#include "runtime/described.h"
#include "tests/open_device.h"

/* Initialisers of a dot_problem. */
#define TYPES(a_, b_) .type = {[LLRT_DOT_A] = LLRT_##a_, [LLRT_DOT_B] = LLRT_##b_}
#define LIES(a_, b_) .storage = {[LLRT_DOT_A] = a_, [LLRT_DOT_B] = b_}
#define SHAPE(m_, n_, k_) .m = m_, .n = n_, .k = k_

/* Whether warpgroups multiply in it. */
bool planned_by_warpgroups(const plan_kernel *kernel);

/* A kernel of a described product, on the extents of the problem. */
llrt_status planned_interpret(const op_description *desc, const plan_kernel *kernel,
                              const dot_problem *problem);

typedef struct planned_kernels {
  dot_bench bench;
  described_dot call;
  plan made;
  opened_device opened; /* planned_kernels_open */
  llrt_tensor sent[3];  /* A, B, D there */
} planned_kernels;

/* On tensors of the host, to be planned and interpreted. Ownership: dot_bench_free(&t->bench). */
void planned_kernels_make(planned_kernels *t, const dot_problem *problem, uint64_t seed);
/* The next of the chosen kernels from number v on; -1: there is none. */
int planned_kernels_next(const planned_kernels *t, bool (*chosen)(const plan_kernel *kernel),
                         int v);
/* Interprets kernel number v. */
void planned_kernels_interpret(planned_kernels *t, int v);

/* On tensors of the emulated device. Ownership: planned_kernels_close. */
void planned_kernels_open(planned_kernels *t, const dot_problem *problem, uint64_t seed);
void planned_kernels_run(planned_kernels *t, int v);
void planned_kernels_close(planned_kernels *t);

#endif
