/* Blocks that draw tickets until all are drawn (plan_lookback.queued in jit/plan/kernel/plan.h).
 * What the first thread draws lies in shared memory from the beginning of a turn on, where the
 * block finds it when it looks for its next one; an answer is on its way for as long as the rest of
 * a turn takes. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"

#include "jit/plan/facts/eval.h"

#include <string.h>

static LLVMValueRef is_first_thread(emitter *e) {
  LLVMValueRef thread = LLVMBuildOr(e->builder, e->lane, e->warp, "");
  return LLVMBuildICmp(e->builder, LLVMIntEQ, thread, emit_i32(e, 0), "");
}

/* A ticket of the first thread; others have 0. */
static LLVMValueRef draw(emitter *e) {
  LLVMValueRef counter = e->ops->global(e, emit_number(e, &e->kernel->lookback.counter));
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder),
                    next = emit_open_guard(e, is_first_thread(e));
  LLVMValueRef made[2] = {e->ops->ticket(e, counter), emit_i32(e, 0)};
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(e->builder), before};
  emit_close_guard(e, next);
  LLVMValueRef drawn = LLVMBuildPhi(e->builder, e->i32, "drawn");
  LLVMAddIncoming(drawn, made, from, 2);
  return drawn;
}

static void show(emitter *e, LLVMValueRef drawn) {
  LLVMBasicBlockRef next = emit_open_guard(e, is_first_thread(e));
  LLVMBuildStore(e->builder, drawn, e->ticket);
  emit_close_guard(e, next);
}

static LLVMValueRef shown(emitter *e) {
  LLVMValueRef ticket = LLVMBuildLoad2(e->builder, e->i32, e->ticket, "");
  return LLVMBuildZExt(e->builder, ticket, e->i64, "");
}

void emit_ticket(emitter *e) {
  show(e, draw(e));
  e->ops->barrier(e, false);
  e->block = shown(e);
  e->ops->barrier(e, false);
}

static LLVMValueRef is_taken(emitter *e, LLVMValueRef block) {
  return LLVMBuildICmp(e->builder, LLVMIntSLT, block, emit_number(e, &e->kernel->lookback.blocks),
                       "");
}

/* What `block` of the grid works on. */
static void enter_block(emitter *e, LLVMValueRef block, emit_walked *walked) {
  e->block = block;
  emit_decode_block(e);
  *walked = (emit_walked){.grid = e->grid};
  emit_block_turns(e, &walked->begin, &walked->end);
  walked->turn = walked->begin;
  emit_decode_turn(e, walked->begin);
  e->walked = walked;
}

void emit_later_ticket(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMValueRef block = e->block, grid = e->grid, upper[PLAN_MAX_DIGITS];
  const emit_walked *now = e->walked;
  bool finds = step->turns > 0 && !e->next_block;
  emit_walked walked;
  memcpy(upper, e->upper, sizeof upper);
  if (finds) e->next_block = shown(e);
  LLVMValueRef later = step->turns > 0 ? e->next_block : block;
  LLVMBasicBlockRef next = emit_open_guard_of_warps(e, is_taken(e, later));
  enter_block(e, later, &walked);
  emit_steps(e, at + 1, step->body);
  emit_close_guard(e, next);
  if (plan_begins_copies(e->kernel, at)) e->ops->end_copies(e);
  e->block = block;
  e->grid = grid;
  memcpy(e->upper, upper, sizeof upper);
  e->walked = now;
  if (finds) e->drawn = draw(e);
}

void emit_queue(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMValueRef first = e->block, drawn = draw(e);
  emit_walked walked;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), head = emit_new_block(e, "queue");
  LLVMBasicBlockRef body = emit_new_block(e, "turn"), done = emit_new_block(e, "queued");
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, head);
  LLVMValueRef block = LLVMBuildPhi(e->builder, e->i64, "block"),
               next = LLVMBuildPhi(e->builder, e->i32, "ticket");
  LLVMAddIncoming(block, &first, &before, 1);
  LLVMAddIncoming(next, &drawn, &before, 1);
  LLVMBuildCondBr(e->builder, is_taken(e, block), body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  show(e, next);
  e->next_block = NULL;
  enter_block(e, block, &walked);
  emit_steps(e, at + 1, step->body);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, head);
  LLVMAddIncoming(block, &e->next_block, &latch, 1);
  LLVMAddIncoming(next, &e->drawn, &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
  e->walked = NULL;
}
