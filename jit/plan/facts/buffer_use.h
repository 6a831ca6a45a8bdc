/* Who still reads shared memory behind the steps that a kernel has, and what rings take of it. */
#ifndef LLRT_JIT_PLAN_FACTS_BUFFER_USE_H
#define LLRT_JIT_PLAN_FACTS_BUFFER_USE_H

#include "jit/plan/kernel/plan.h"

/* Whether a store to shared memory has to wait for what reads there: before it, or in a turn
 * before. */
bool plan_shared_in_use(const plan_kernel *kernel);
/* Whether the steps that come next are a loop's, which makes them in every turn. */
bool plan_in_loop(const plan_kernel *kernel);
/* Whether other blocks of the cluster may still read a block's memory, in which it then neither
 * stores nor ends. */
bool plan_others_read(const plan_kernel *kernel);
/* The number of the buffer that blocks of a cluster push to; -1: there is none. */
int plan_pushed_buffer(const plan_kernel *kernel);
/* Whether any of the first n steps is a barrier of the cluster. Blocks that have met there do not
 * push: they are under way to another one since they began. */
bool plan_meets_cluster(const plan_kernel *kernel, int n);
/* Bytes of shared memory that rings take. */
int plan_ring_bytes(const plan_kernel *kernel);

#endif
