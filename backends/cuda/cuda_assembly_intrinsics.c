/* Inline assembly, for what LLVM 19 has no intrinsic of, or one that it moves where it must not go:
 * stmatrix, packed conversions, relaxed accesses of device scope; ldmatrix, which it takes for a
 * load that may move into a branch. */
#include "backends/cuda/cuda_intrinsics.h"

#include <string.h>

LLVMValueRef nvptx_assemble(emitter *e, nvptx_order order, const char *text,
                            const char *constraints, LLVMTypeRef result, LLVMValueRef *args,
                            unsigned n_args) {
  LLVMTypeRef types[NVPTX_MAX_ARGS];
  for (unsigned i = 0; i < n_args; i++) types[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type =
      LLVMFunctionType(result ? result : LLVMVoidTypeInContext(e->context), types, n_args, false);
  LLVMValueRef code =
      LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints),
                       order & NVPTX_ORDERED, false, LLVMInlineAsmDialectATT, false);
  LLVMValueRef call = LLVMBuildCall2(e->builder, type, code, args, n_args, "");
  if (!(order & NVPTX_CONVERGENT)) return call;
  unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
  LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(e->context, convergent, 0));
  return call;
}

LLVMValueRef nvptx_shared_address(emitter *e, LLVMValueRef pointer) {
  return LLVMBuildPtrToInt(e->builder, pointer, e->i32, "");
}
