#include "jit/compile/signed_truth.h"

#include <llvm-c/Core.h>
#include <stdbool.h>

/* GPUs' IR has no vectors of numbers that are computed with: numbers alone. */
static bool converts_truth(LLVMValueRef instruction) {
  if (LLVMGetInstructionOpcode(instruction) != LLVMSIToFP) return false;
  LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(instruction, 0));
  return LLVMGetTypeKind(from) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(from) == 1;
}

static void choose_in(LLVMBuilderRef builder, LLVMBasicBlockRef block) {
  for (LLVMValueRef at = LLVMGetFirstInstruction(block), next; at; at = next) {
    next = LLVMGetNextInstruction(at);
    if (!converts_truth(at)) continue;
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMPositionBuilderBefore(builder, at);
    LLVMValueRef chosen = LLVMBuildSelect(builder, LLVMGetOperand(at, 0), LLVMConstReal(type, -1),
                                          LLVMConstReal(type, 0), "");
    LLVMReplaceAllUsesWith(at, chosen);
    LLVMInstructionEraseFromParent(at);
  }
}

void jit_choose_signed_truth(LLVMModuleRef module) {
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      choose_in(builder, b);
  LLVMDisposeBuilder(builder);
}
