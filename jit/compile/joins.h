/* Joins that a code generator must not copy into the blocks before them. */
#ifndef LLRT_JIT_COMPILE_JOINS_H
#define LLRT_JIT_COMPILE_JOINS_H

#include <llvm-c/Types.h>

/* NVIDIA, behind LLVM's passes over IR: a block where the two ways of a branch meet, and which ends
 * with a branch on the same conjunction (or another logic operation on comparisons), or on one that
 * contains it, one of whose ways is the kernel's end, stays the one block that it is. An
 * instruction that emits nothing sees to it.
 *
 * A load and a store under one conjunction are two such branches. Where little else stands between
 * them, LLVM's code generator copies the second one into both ways of the first, each of which
 * decides it. ptxas (12.4 and 13.0) has by then made the first branch one on two predicates, p and
 * q; late, when it finds that the other way leads to the program's end alone, it turns this branch
 * into an exit on p and not q, instead of not p or not q. Threads that should leave go on, and
 * others leave. */
void jit_keep_joins(LLVMModuleRef module);

#endif
