/* What blocks of a cluster store in each other's memory (plan_buffer.pushed). A barrier of the
 * block's own memory counts the bytes that come, so nobody has to make anything visible to others:
 * a barrier of the cluster with that takes most of a microsecond. Before a block stores in another
 * one's memory that one has to have begun: all threads arrive at a barrier of the cluster first,
 * and those that store wait for it where they do. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"

#include "jit/plan/facts/buffer_use.h"

static LLVMValueRef barrier_of(const emitter *e) {
  LLVMValueRef offset = emit_i64(e, e->kernel->pushed);
  return LLVMBuildGEP2(e->builder, e->i8, e->shared_start, &offset, 1, "");
}

void emit_begin_pushed(emitter *e) {
  const int buffer = plan_pushed_buffer(e->kernel);
  if (buffer < 0) return;
  LLVMValueRef thread = LLVMBuildOr(e->builder, e->block_warp, e->lane, ""),
               barrier = barrier_of(e);
  LLVMBasicBlockRef next =
      emit_open_guard(e, LLVMBuildICmp(e->builder, LLVMIntEQ, thread, emit_i32(e, 0), ""));
  e->ops->make_barrier(e, barrier, 1);
  e->ops->cluster_publish(e);
  e->ops->expect_boxes(e, barrier, emit_i32(e, e->kernel->buffer[buffer].bytes));
  emit_close_guard(e, next);
  e->ops->meet_warp(e);
  e->ops->cluster_arrive(e);
}

void emit_await_blocks(emitter *e) {
  if (plan_pushed_buffer(e->kernel) < 0) return;
  emit_bring_together(e);
  e->ops->meet_warp(e);
  e->ops->cluster_await(e);
}

void emit_pushed_step(emitter *e) {
  LLVMBasicBlockRef wait = emit_new_block(e, "await"), done = emit_new_block(e, "awaited");
  LLVMBuildBr(e->builder, wait);
  LLVMPositionBuilderAtEnd(e->builder, wait);
  LLVMBuildCondBr(e->builder, e->ops->all_pushed(e, barrier_of(e)), done, wait);
  LLVMPositionBuilderAtEnd(e->builder, done);
  e->ops->meet_warp(e);
}
