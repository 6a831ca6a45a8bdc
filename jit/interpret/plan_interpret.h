/* Plans executed without a compiler: the oracle for planning. */
#ifndef LLRT_JIT_INTERPRET_PLAN_INTERPRET_H
#define LLRT_JIT_INTERPRET_PLAN_INTERPRET_H

#include "jit/plan/kernel/plan.h"

/* Executes one variant, by its first stage (behind which the others lie), over memory on the
 * calling thread: the oracle for planning. tensors' data are host addresses. Reports (INTERNAL)
 * shared reads of words not written since the last barrier, shared races, and global accesses
 * outside [0, span). */
llrt_status plan_interpret(const plan_kernel *first, const llrt_tensor *tensors,
                           const llrt_storage_binding *bindings, int n_tensors);

#endif
