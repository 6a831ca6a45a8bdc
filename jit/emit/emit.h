/* From a plan to LLVM IR. */
#ifndef LLRT_JIT_EMIT_EMIT_H
#define LLRT_JIT_EMIT_EMIT_H

#include "jit/plan/kernel/plan.h"

#include <llvm-c/Types.h>

/* Emits one kernel as a module with the entry PLAN_ENTRY_NAME. On error *module is NULL and message
 * says why. Ownership: LLVMDisposeModule(*module); the context is the caller's. */
llrt_status jit_emit_kernel(const plan_kernel *kernel, LLVMContextRef context,
                            LLVMModuleRef *module, char *message, size_t message_size);

#endif
