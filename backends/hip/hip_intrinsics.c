/* Target operations of AMDGPU. */
#include "jit/emit/builder.h"

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <stdio.h>
#include <string.h>

#define AMDGPU_KERNEL_CONVENTION 91 /* llvm::CallingConv::AMDGPU_KERNEL */

/* LLVM-C cannot name a sync scope, and s_barrier alone gets no s_waitcnt before it; a system-scope fence
 * would cost a cache write-back. So the barrier is a function in text. */
static const char barrier_text[] =
    "define void @llrt_barrier() alwaysinline convergent {\n"
    "  fence syncscope(\"workgroup\") release\n"
    "  call void @llvm.amdgcn.s.barrier()\n"
    "  fence syncscope(\"workgroup\") acquire\n"
    "  ret void\n"
    "}\n"
    "declare void @llvm.amdgcn.s.barrier()\n";

static void set_attribute(emitter *e, const char *key, const char *value) {
  LLVMAttributeRef attribute = LLVMCreateStringAttribute(
      e->context, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(e->function, LLVMAttributeFunctionIndex, attribute);
}

static void amdgpu_begin(emitter *e) {
  char size[32];
  int threads = e->kernel->launch.threads;
  emit_gpu_begin(e, AMDGPU_KERNEL_CONVENTION, "llvm.amdgcn.workitem.id.x",
                 "llvm.amdgcn.workgroup.id.x");
  LLVMSetVisibility(e->function, LLVMProtectedVisibility);
  snprintf(size, sizeof size, "%d,%d", threads, threads);
  set_attribute(e, "amdgpu-flat-work-group-size", size);
}

/* Links the barrier's text into the module, once. */
static LLVMValueRef barrier_function(emitter *e) {
  LLVMValueRef function = LLVMGetNamedFunction(e->module, "llrt_barrier");
  if (function) return function;
  LLVMModuleRef helper = NULL;
  char *message = NULL;
  LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(
      barrier_text, sizeof barrier_text - 1, "barrier");
  if (LLVMParseIRInContext(e->context, text, &helper, &message)) {
    LLVMDisposeMessage(message);
    return NULL;
  }
  LLVMLinkModules2(e->module, helper);
  function = LLVMGetNamedFunction(e->module, "llrt_barrier");
  LLVMSetLinkage(function, LLVMInternalLinkage);
  return function;
}

static void amdgpu_barrier(emitter *e) {
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), NULL, 0, false);
  LLVMBuildCall2(e->builder, type, barrier_function(e), NULL, 0, "");
}

/* ds_bpermute_b32: the address is the lane times 4. */
static LLVMValueRef amdgpu_opaque(emitter *e, LLVMValueRef value) {
  return emit_gpu_opaque(e, value, "=v,0", "=v,0");
}

static LLVMValueRef amdgpu_shuffle(emitter *e, LLVMValueRef word, LLVMValueRef lane) {
  LLVMValueRef args[] = {LLVMBuildShl(e->builder, lane, emit_i32(e, 2), ""), word};
  return emit_intrinsic(e, "llvm.amdgcn.ds.bpermute", NULL, 0, args, 2);
}

/* v_perm_b32: selector bytes, bytes 0-3 of the second operand, 4-7 of the first. */
static uint32_t amdgpu_selector(const int number[4]) {
  uint32_t bytes = 0;
  for (int i = 0; i < 4; i++) bytes |= (uint32_t)number[i] << (8 * i);
  return bytes;
}

static LLVMValueRef amdgpu_permute(emitter *e, LLVMValueRef low, LLVMValueRef high,
                                   LLVMValueRef selector) {
  LLVMValueRef args[] = {high, low, selector};
  return emit_intrinsic(e, "llvm.amdgcn.perm", NULL, 0, args, 3);
}

static bool amdgpu_has_half(const emitter *e) {
  (void)e;
  return true;
}

const emit_target_ops emit_ops_amdgpu = {
    .begin = amdgpu_begin,
    .end = emit_gpu_end,
    .shared = emit_gpu_shared,
    .global = emit_gpu_global,
    .barrier = amdgpu_barrier,
    .opaque = amdgpu_opaque,
    .shuffle = amdgpu_shuffle,
    .permute = amdgpu_permute,
    .selector = amdgpu_selector,
    .has_half = amdgpu_has_half,
};
