/* PLAN_PREFETCH on a GPU: one thread asks the second-level cache for what a later block reads. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"

#include <string.h>

/* Where the block that comes `later` blocks after this one has its first element. */
static LLVMValueRef first_of(emitter *e, const plan_step *step, LLVMValueRef block) {
  LLVMValueRef own = e->block, grid = e->grid, lane = e->lane, warp = e->warp;
  LLVMValueRef upper[PLAN_MAX_DIGITS];
  emit_place place;
  memcpy(upper, e->upper, sizeof upper);
  e->block = block;
  e->lane = e->warp = emit_i32(e, 0);
  emit_decode_block(e);
  emit_place_tensor(e, &e->kernel->value[step->in], step->tensor, &place);
  LLVMValueRef pointer = emit_pointer(e, &place, 0);
  memcpy(e->upper, upper, sizeof upper);
  e->block = own;
  e->grid = grid;
  e->lane = lane;
  e->warp = warp;
  return pointer;
}

void emit_ask_step(emitter *e, const plan_step *step) {
  const plan_kernel *kernel = e->kernel;
  int later = step->turns * bits_max(kernel->resident, 1);
  LLVMValueRef block = emit_add(e, e->block, emit_i64(e, later));
  LLVMValueRef blocks = LLVMBuildZExt(e->builder, e->ops->blocks(e), e->i64, "");
  LLVMValueRef thread = emit_thread_index(e);
  LLVMValueRef first =
      LLVMBuildICmp(e->builder, LLVMIntEQ, thread, LLVMConstNull(LLVMTypeOf(thread)), "");
  LLVMBasicBlockRef next =
      emit_open_guard(e, LLVMBuildAnd(e->builder, first, emit_less(e, block, blocks), ""));
  e->ops->ask_ahead(e, first_of(e, step, block),
                    (int)((int64_t)step->reach * kernel->tensor_bits[step->tensor] / 8));
  emit_close_guard(e, next);
}
