/* PLAN_STAGE: the threads of the block copy its panel into shared memory, one access each in turn. */
#include "jit/emit/builder.h"

/* The number of this thread in the block; the host has one. */
static LLVMValueRef thread_index(const emitter *e) {
  if (emit_is_host(e)) return emit_i64(e, 0);
  LLVMValueRef warps = LLVMBuildShl(e->builder, e->warp, emit_i32(e, e->kernel->lane_bits), "");
  return LLVMBuildZExt(e->builder, LLVMBuildOr(e->builder, warps, e->lane, ""), e->i64, "");
}

/* One access: up to 8 bytes an integer, 16 a vector of four. */
static LLVMTypeRef unit_type(const emitter *e, int bytes) {
  return bytes <= 8 ? emit_int_type(e, 8 * bytes) : LLVMVectorType(e->i32, (unsigned)bytes / 4);
}

static void copy_unit(const emitter *e, LLVMTypeRef type, LLVMValueRef panel, LLVMValueRef at,
                      unsigned align) {
  LLVMValueRef from = LLVMBuildGEP2(e->builder, type, panel, &at, 1, "");
  LLVMValueRef to = LLVMBuildGEP2(e->builder, type, e->shared[0], &at, 1, "");
  LLVMValueRef unit = LLVMBuildLoad2(e->builder, type, from, "");
  LLVMSetAlignment(unit, align);
  LLVMSetAlignment(LLVMBuildStore(e->builder, unit, to), align);
}

void emit_stage_step(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  int bytes = 1 << kernel->panel.unit;
  int64_t units = kernel->panel.elements * kernel->tensor_bits[0] / 8 / bytes;
  LLVMValueRef panel;
  e->panel = emit_panel(e, &panel);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef test = emit_new_block(e, "stage"), body = emit_new_block(e, "stage_unit");
  LLVMBasicBlockRef done = emit_new_block(e, "staged");
  LLVMValueRef first = thread_index(e), limit = emit_i64(e, units);
  LLVMBuildBr(e->builder, test);
  LLVMPositionBuilderAtEnd(e->builder, test);
  LLVMValueRef at = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntULT, at, limit, ""), body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  copy_unit(e, unit_type(e, bytes), panel, at, emit_is_host(e) ? 1 : (unsigned)bytes);
  LLVMValueRef next = LLVMBuildAdd(e->builder, at, emit_i64(e, kernel->launch.threads), "");
  LLVMBuildBr(e->builder, test);
  LLVMAddIncoming(at, &first, &before, 1);
  LLVMAddIncoming(at, &next, &body, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
}
