/* From an LLVM module to PTX text, HSACO, a host shared object, or text to look at. */
#ifndef LLRT_JIT_COMPILE_COMPILE_H
#define LLRT_JIT_COMPILE_COMPILE_H

#include "jit/jit.h"

#include <llvm-c/Types.h>

/* Optimises the module for the target, in place, and emits what `emit` asks for (LLRT_EMIT_IR, _ASM
 * or _OBJECT). The module needs no triple or data layout of its own. On error *result holds only
 * the message. Ownership: the module stays the caller's, result->data is malloc'ed. Thread: one at
 * a time per LLVMContext. Errors: COMPILE, UNSUPPORTED, OUT_OF_MEMORY, IO. */
llrt_status jit_compile_module(LLVMModuleRef module, const plan_target *target, llrt_emit emit,
                               llrt_jit_result *result);

#endif
