/* Stores past the caches. One kernel serves small tensors, which may stay there, and large ones:
 * each of its stores is there twice, and a branch that goes the same way all along chooses. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"

void emit_begin_streams(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  if (kernel->streams_from == 0) return;
  LLVMValueRef elements = emit_number(e, &kernel->elements);
  e->streams =
      LLVMBuildICmp(e->builder, LLVMIntSGE, elements, emit_i64(e, kernel->streams_from), "");
}

void emit_either_way(emitter *e, void (*body)(emitter *e, void *data), void *data) {
  if (!e->streams) {
    body(e, data);
    return;
  }
  LLVMBasicBlockRef past = emit_new_block(e, "past"), through = emit_new_block(e, "through");
  LLVMBasicBlockRef next = emit_new_block(e, "stored");
  LLVMBuildCondBr(e->builder, e->streams, past, through);
  LLVMPositionBuilderAtEnd(e->builder, past);
  body(e, data);
  LLVMBuildBr(e->builder, next);
  LLVMPositionBuilderAtEnd(e->builder, through);
  e->cached = true;
  body(e, data);
  e->cached = false;
  LLVMBuildBr(e->builder, next);
  LLVMPositionBuilderAtEnd(e->builder, next);
}

/* The other way's keep the alignment that they have: LLVM would make one of two that differ in
 * nothing else. */
void emit_set_nontemporal(const emitter *e, LLVMValueRef store, int bytes) {
  if (e->cached) return;
  LLVMSetAlignment(store, (unsigned)bytes);
  unsigned kind = LLVMGetMDKindIDInContext(e->context, "nontemporal", 11);
  LLVMMetadataRef one = LLVMValueAsMetadata(emit_i32(e, 1));
  LLVMValueRef node = LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, &one, 1));
  LLVMSetMetadata(store, kind, node);
}

LLVMValueRef emit_collected(emitter *e, LLVMValueRef pointer) {
  if (!e->collected.buffer) return pointer;
  LLVMValueRef at = LLVMBuildPtrToInt(e->builder, pointer, e->i64, "");
  LLVMValueRef first = LLVMBuildPtrToInt(e->builder, e->collected.first, e->i64, "");
  LLVMValueRef distance = emit_subtract(e, at, first);
  return LLVMBuildGEP2(e->builder, e->i8, e->collected.buffer, &distance, 1, "");
}
