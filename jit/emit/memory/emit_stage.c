/* PLAN_STAGE: the threads of the block copy its panel into shared memory, one access each in turn.
 * Of a panel of values each access is a value's neighbours. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"

/* One access: up to 8 bytes an integer, 16 a vector of four. */
static LLVMTypeRef unit_type(const emitter *e, int bytes) {
  return bytes <= 8 ? emit_int_type(e, 8 * bytes) : LLVMVectorType(e->i32, (unsigned)bytes / 4);
}

/* Whether the device copies accesses of so many bytes by itself: then all of a thread's are under
 * way at once. */
static bool copies(const emitter *e, int bytes) {
  return e->kernel->target.async_copies && e->ops->copy && bytes >= 4;
}

static void copy_unit(emitter *e, LLVMTypeRef type, LLVMValueRef panel, LLVMValueRef at, int bytes,
                      unsigned align) {
  LLVMValueRef from = LLVMBuildGEP2(e->builder, type, panel, &at, 1, "");
  LLVMValueRef to = LLVMBuildMul(e->builder, at, emit_i64(e, bytes), "");
  to = emit_panel_place(e, to);
  to = LLVMBuildGEP2(e->builder, e->i8, e->shared[0], &to, 1, "");
  if (copies(e, bytes)) {
    e->ops->copy(e, to, from, bytes, NULL, NULL);
    return;
  }
  LLVMValueRef unit = LLVMBuildLoad2(e->builder, type, from, "");
  LLVMSetAlignment(unit, align);
  LLVMSetAlignment(LLVMBuildStore(e->builder, unit, to), align);
}

/* Accesses of a thread that are under way at once. */
#define STAGED_AT_ONCE 8

/* The neighbours of values at, at + threads, …: all loads, then all stores. Behind the last value
 * the last one is loaded once more, and not stored. */
static void copy_values(emitter *e, LLVMTypeRef type, LLVMValueRef panel, LLVMValueRef at,
                        LLVMValueRef values) {
  const plan_kernel *kernel = e->kernel;
  LLVMTypeRef element = emit_int_type(e, kernel->tensor_bits[0]);
  LLVMValueRef stride = emit_number(e, &kernel->index[0].part[0].stride), own[STAGED_AT_ONCE];
  LLVMValueRef loaded[STAGED_AT_ONCE], last = LLVMBuildSub(e->builder, values, emit_i64(e, 1), "");
  unsigned bytes = LLVMGetIntTypeWidth(type) / 8;
  for (int i = 0; i < STAGED_AT_ONCE; i++) {
    LLVMValueRef args[] = {NULL, last};
    own[i] = args[0] =
        LLVMBuildAdd(e->builder, at, emit_i64(e, (int64_t)i * kernel->launch.threads), "");
    LLVMValueRef value = emit_intrinsic(e, "llvm.smin", &e->i64, 1, args, 2);
    LLVMValueRef offset = LLVMBuildMul(e->builder, value, stride, "");
    LLVMValueRef from = LLVMBuildGEP2(e->builder, element, panel, &offset, 1, "");
    loaded[i] = LLVMBuildLoad2(e->builder, type, from, "");
    LLVMSetAlignment(loaded[i], bytes);
  }
  for (int i = 0; i < STAGED_AT_ONCE; i++) {
    LLVMValueRef inside = LLVMBuildICmp(e->builder, LLVMIntSLT, own[i], values, "");
    LLVMBasicBlockRef next = emit_open_guard(e, inside);
    LLVMValueRef to = LLVMBuildGEP2(e->builder, type, e->shared[0], &own[i], 1, "");
    LLVMSetAlignment(LLVMBuildStore(e->builder, loaded[i], to), bytes);
    emit_close_guard(e, next);
  }
}

static void stage_values(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMTypeRef type = emit_int_type(e, kernel->tensor_bits[0] << kernel->panel.width);
  LLVMValueRef panel = emit_values_pointer(e), values = emit_number(e, &kernel->index[0].extent);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef test = emit_new_block(e, "stage"), body = emit_new_block(e, "stage_values");
  LLVMBasicBlockRef done = emit_new_block(e, "staged");
  LLVMValueRef first = emit_thread_index(e);
  LLVMBuildBr(e->builder, test);
  LLVMPositionBuilderAtEnd(e->builder, test);
  LLVMValueRef at = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, at, values, ""), body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  copy_values(e, type, panel, at, values);
  int64_t step = (int64_t)STAGED_AT_ONCE * kernel->launch.threads;
  LLVMValueRef next = LLVMBuildAdd(e->builder, at, emit_i64(e, step), "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, test);
  LLVMAddIncoming(at, &first, &before, 1);
  LLVMAddIncoming(at, &next, &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

/* How many accesses of `bytes` bytes stage a panel in place, which begins at element e->panel; i64.
 */
static LLVMValueRef panel_units(const emitter *e, int bytes) {
  const plan_panel *panel = &e->kernel->panel;
  int64_t unit = 8 * bytes / e->kernel->tensor_bits[0]; /* elements */
  LLVMValueRef all = emit_i64(e, panel->elements / unit);
  if (panel->total == 0) return all;
  LLVMValueRef left =
      emit_larger(e, emit_subtract(e, emit_i64(e, panel->total), e->panel), emit_i64(e, 0));
  return emit_smaller(e, all, LLVMBuildUDiv(e->builder, left, emit_i64(e, unit), ""));
}

void emit_stage_step(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  if (kernel->panel.gathered) {
    stage_values(e);
    return;
  }
  if (kernel->panel.staged) {
    kernel->panel.tensor == 0 ? emit_stage_apart(e) : emit_copy_apart(e);
    return;
  }
  int bytes = 1 << kernel->panel.unit;
  LLVMValueRef panel;
  e->panel = emit_panel(e, 0, &panel);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef test = emit_new_block(e, "stage"), body = emit_new_block(e, "stage_unit");
  LLVMBasicBlockRef done = emit_new_block(e, "staged");
  LLVMValueRef first = emit_thread_index(e), limit = panel_units(e, bytes);
  LLVMBuildBr(e->builder, test);
  LLVMPositionBuilderAtEnd(e->builder, test);
  LLVMValueRef at = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntULT, at, limit, ""), body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  copy_unit(e, unit_type(e, bytes), panel, at, bytes, emit_is_host(e) ? 1 : (unsigned)bytes);
  LLVMValueRef next = LLVMBuildAdd(e->builder, at, emit_i64(e, kernel->launch.threads), "");
  LLVMBuildBr(e->builder, test);
  LLVMAddIncoming(at, &first, &before, 1);
  LLVMAddIncoming(at, &next, &body, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
  if (!copies(e, bytes)) return;
  e->ops->end_copies(e);
  e->ops->await_copies(e, 0);
}
