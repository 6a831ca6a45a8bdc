/* LLVM's view of a target: triple, processor, features. */
#ifndef LLRT_JIT_COMPILE_MACHINE_H
#define LLRT_JIT_COMPILE_MACHINE_H

#include "jit/plan/types/target.h"

#include <llvm-c/TargetMachine.h>

/* Ownership: LLVMDisposeTargetMachine. Errors: UNSUPPORTED when this build of LLVM lacks the
 * target. ptx: the version of PTX text times 10, 0: the target's. */
llrt_status jit_machine_create(const plan_target *target, int ptx, LLVMTargetMachineRef *machine);

/* Gives a module the machine's triple and data layout. Emission wants them before its first alloca.
 */
void jit_machine_adopt_module(LLVMTargetMachineRef machine, LLVMModuleRef module);

#endif
