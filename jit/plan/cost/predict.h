/* How fast a kernel is beside another one for the same tensors: what chooses between kernels that
 * both would do. */
#ifndef LLRT_JIT_PLAN_COST_PREDICT_H
#define LLRT_JIT_PLAN_COST_PREDICT_H

#include "jit/plan/kernel/plan.h"

/* Clocks of a multiprocessor (compute unit, core) for each byte of the widest tensor, from the
 * plan's counted sectors and instructions. Comparable between kernels of one target alone. */
double plan_predict_clocks(const plan_kernel *kernel);

#endif
