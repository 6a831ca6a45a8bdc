/* Target operations of NVPTX. */
#include "jit/emit/builder.h"

#include <string.h>

#define NVPTX_KERNEL_CONVENTION 71 /* llvm::CallingConv::PTX_Kernel */

/* !nvvm.annotations entry {function, key, value}. */
static void annotate(emitter *e, const char *key, int value) {
  LLVMMetadataRef fields[] = {LLVMValueAsMetadata(e->function),
                              LLVMMDStringInContext2(e->context, key, strlen(key)),
                              LLVMValueAsMetadata(emit_i32(e, value))};
  LLVMMetadataRef node = LLVMMDNodeInContext2(e->context, fields, 3);
  LLVMAddNamedMetadataOperand(e->module, "nvvm.annotations",
                              LLVMMetadataAsValue(e->context, node));
}

static void nvptx_begin(emitter *e) {
  emit_gpu_begin(e, NVPTX_KERNEL_CONVENTION, "llvm.nvvm.read.ptx.sreg.tid.x",
                 "llvm.nvvm.read.ptx.sreg.ctaid.x");
  annotate(e, "kernel", 1);
  annotate(e, "maxntidx", e->kernel->launch.threads);
}

/* The dynamic array, whose size the launch gives: only that may pass 48 KiB. */
static LLVMValueRef nvptx_shared(emitter *e, int bytes) {
  (void)bytes;
  LLVMValueRef array = emit_gpu_shared(e, 0);
  LLVMSetInitializer(array, NULL);
  LLVMSetLinkage(array, LLVMExternalLinkage);
  return array;
}

static void nvptx_barrier(emitter *e) {
  emit_intrinsic(e, "llvm.nvvm.barrier0", NULL, 0, NULL, 0);
}

static LLVMValueRef nvptx_opaque(emitter *e, LLVMValueRef value) {
  return emit_gpu_opaque(e, value, "=r,0", "=l,0");
}

static LLVMValueRef nvptx_shuffle(emitter *e, LLVMValueRef word, LLVMValueRef lane) {
  LLVMValueRef args[] = {emit_i32(e, -1), word, lane, emit_i32(e, 31)};
  return emit_intrinsic(e, "llvm.nvvm.shfl.sync.idx.i32", NULL, 0, args, 4);
}

/* prmt.b32: selector nibbles, bytes 0-3 of the first operand, 4-7 of the second. */
static LLVMValueRef nvptx_permute(emitter *e, LLVMValueRef low, LLVMValueRef high,
                                  const int selector[4]) {
  int nibbles = 0;
  for (int i = 0; i < 4; i++) nibbles |= selector[i] << (4 * i);
  LLVMValueRef args[] = {low, high, emit_i32(e, nibbles)};
  return emit_intrinsic(e, "llvm.nvvm.prmt", NULL, 0, args, 3);
}

const emit_target_ops emit_ops_nvptx = {
    .begin = nvptx_begin,
    .end = emit_gpu_end,
    .shared = nvptx_shared,
    .global = emit_gpu_global,
    .barrier = nvptx_barrier,
    .opaque = nvptx_opaque,
    .shuffle = nvptx_shuffle,
    .permute = nvptx_permute,
};
