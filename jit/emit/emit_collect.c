/* PLAN_COLLECT: stores go into a buffer on the stack, each at its distance from the stretch's first element, and the
 * buffer to memory in whole lines. */
#include "jit/emit/builder.h"

LLVMValueRef emit_collected(emitter *e, LLVMValueRef pointer) {
  if (!e->collected.buffer) return pointer;
  LLVMValueRef at = LLVMBuildPtrToInt(e->builder, pointer, e->i64, "");
  LLVMValueRef first = LLVMBuildPtrToInt(e->builder, e->collected.first, e->i64, "");
  LLVMValueRef distance = emit_subtract(e, at, first);
  return LLVMBuildGEP2(e->builder, e->i8, e->collected.buffer, &distance, 1, "");
}

/* The line from byte `at` on, in as many registers as it takes. */
static void store_line(emitter *e, LLVMValueRef at) {
  int bytes = e->kernel->target.vector_bytes, line = e->kernel->target.sector_bytes;
  LLVMTypeRef type = LLVMVectorType(e->i64, (unsigned)bytes / 8);
  for (int i = 0; i < line; i += bytes) {
    LLVMValueRef own = emit_add(e, at, emit_i64(e, i));
    LLVMValueRef from = LLVMBuildGEP2(e->builder, e->i8, e->collected.buffer, &own, 1, "");
    LLVMValueRef to = LLVMBuildGEP2(e->builder, e->i8, e->collected.first, &own, 1, "");
    LLVMValueRef part = LLVMBuildLoad2(e->builder, type, from, "");
    LLVMValueRef store = LLVMBuildStore(e->builder, part, to);
    LLVMSetAlignment(part, (unsigned)bytes);
    LLVMSetAlignment(store, (unsigned)bytes);
    emit_set_nontemporal(e, store);
  }
}

static void store_lines(emitter *e, int bytes) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef body = emit_new_block(e, "line"), done = emit_new_block(e, "lines_stored");
  LLVMValueRef first = emit_i64(e, 0);
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef at = LLVMBuildPhi(e->builder, e->i64, "");
  store_line(e, at);
  LLVMValueRef next = LLVMBuildAdd(e->builder, at, emit_i64(e, e->kernel->target.sector_bytes), "");
  LLVMAddIncoming(at, &first, &before, 1);
  LLVMAddIncoming(at, &next, &body, 1);
  LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, next, emit_i64(e, bytes), ""), body, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

/* What bounds leave out has room, too: where no instruction stores under a mask it is written as it was. */
void emit_collect(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  int width = e->kernel->tensor_bits[step->tensor] / 8, bytes = step->elements * width;
  emit_place place;
  emit_place_tensor(e, &e->kernel->value[step->in], step->tensor, &place);
  e->collected.first = emit_pointer(e, &place, 0);
  e->collected.buffer = e->ops->shared(e, step->reach * width);
  emit_steps(e, at + 1, step->body);
  store_lines(e, bytes);
  e->collected = (emit_collection){NULL, NULL};
}
