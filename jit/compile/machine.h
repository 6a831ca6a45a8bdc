/* LLVM's view of a target: triple, processor, features. */
#ifndef LLRT_JIT_COMPILE_MACHINE_H
#define LLRT_JIT_COMPILE_MACHINE_H

#include "jit/plan/types/target.h"

#include <llvm-c/TargetMachine.h>

/* What a module wants of its machine. */
typedef struct jit_machine_wishes {
  int ptx;   /* the version of PTX text times 10; 0: the target's */
  bool fast; /* PTX is written as it is (ptx/ptx_write.h), and what cannot be is generated in half
                the time, without passes over addresses and loops */
} jit_machine_wishes;

/* Ownership: LLVMDisposeTargetMachine. Errors: UNSUPPORTED when this build of LLVM lacks the
 * target. */
llrt_status jit_machine_create(const plan_target *target, jit_machine_wishes wishes,
                               LLVMTargetMachineRef *machine);

/* The version of PTX text, times 10, of a GPU of NVIDIA. */
int jit_machine_ptx(const plan_target *target, jit_machine_wishes wishes);

/* Gives a module the machine's triple and data layout. Emission wants them before its first alloca.
 */
void jit_machine_adopt_module(LLVMTargetMachineRef machine, LLVMModuleRef module);

#endif
