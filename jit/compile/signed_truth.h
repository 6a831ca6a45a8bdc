/* Conversions of truth as a signed number, which a code generator gets wrong. */
#ifndef LLRT_JIT_COMPILE_SIGNED_TRUTH_H
#define LLRT_JIT_COMPILE_SIGNED_TRUTH_H

#include <llvm-c/Types.h>

/* NVIDIA, behind LLVM's passes over IR: `sitofp i1`, which is -1 or 0, becomes a choice between
 * these two. LLVM's code generator (19) converts the 1 or 0 that stands for an i1, so that truth
 * becomes +1. Our own IR has no such conversion: LLVM makes it of the number 0 - t, of which an
 * expression takes the float. */
void jit_choose_signed_truth(LLVMModuleRef module);

#endif
