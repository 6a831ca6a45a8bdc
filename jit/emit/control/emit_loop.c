/* Loops whose number of turns the plan says. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/core/builder.h"

#include "jit/plan/facts/value.h"

#include <string.h>

/* The host's compiler would search all ways to keep every address of the body in a register from
 * turn to turn: so it does not know the number. */
void emit_open_loop(emitter *e, const plan_step *step, bool joins, emit_counted *loop) {
  *loop = (emit_counted){.before = LLVMGetInsertBlock(e->builder),
                         .body = emit_new_block(e, "loop"),
                         .done = emit_new_block(e, "loop_done"),
                         .outer = e->iteration,
                         .before_outer = e->outer};
  LLVMBuildBr(e->builder, loop->body);
  LLVMPositionBuilderAtEnd(e->builder, loop->body);
  loop->counter = LLVMBuildPhi(e->builder, e->i64, "iteration");
  if (joins) emit_carry_value(e, step->in, step->out, loop->before);
  e->iteration = emit_is_host(e) ? e->ops->opaque(e, loop->counter) : loop->counter;
  e->outer = loop->outer;
  if (loop->outer)
    e->iteration = LLVMBuildOr(
        e->builder, LLVMBuildShl(e->builder, loop->outer, emit_i64(e, step->iterations), ""),
        e->iteration, "");
}

LLVMBasicBlockRef emit_close_loop(emitter *e, const plan_step *step, const emit_counted *loop,
                                  LLVMValueRef end) {
  LLVMValueRef zero = emit_i64(e, 0), counter = loop->counter;
  LLVMValueRef next = LLVMBuildAdd(e->builder, counter, emit_i64(e, 1), "");
  if (!end) end = emit_i64(e, (int64_t)1 << step->iterations);
  LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntULT, next, end, "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder), before = loop->before;
  LLVMBuildCondBr(e->builder, more, loop->body, loop->done);
  LLVMAddIncoming(counter, &zero, &before, 1);
  LLVMAddIncoming(counter, &next, &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, loop->done);
  e->iteration = loop->outer;
  e->outer = loop->before_outer;
  return latch;
}

void emit_loop(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at], *last = step + step->body;
  emit_counted loop;
  emit_open_loop(e, step, step->joins, &loop);
  emit_steps(e, at + 1, step->body);
  LLVMBasicBlockRef latch = emit_close_loop(e, step, &loop, NULL);
  if (!step->joins) return;
  emit_close_value(e, step->out, last->out, latch);
  memcpy(e->value[step->nested ? step->with : step->out], e->value[last->out], sizeof(emit_words));
}

void emit_opaque_step(emitter *e, const plan_step *step) {
  for (int i = 0; i < emit_word_count(&e->kernel->value[step->out]); i++)
    e->value[step->out][i] = e->ops->opaque(e, e->value[step->in][i]);
}

/* Inside the loop the thread's number is hidden, as values are: else every address of the body
 * would be computed before it and stay in a register of its own. */
void emit_repeat(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMValueRef *carried = e->value[step->out],
               *last = e->value[e->kernel->step[at + step->body].out];
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef body = emit_new_block(e, "repeat"), done = emit_new_block(e, "repeat_done");
  LLVMValueRef zero = emit_i32(e, 0);
  int n = emit_word_count(&e->kernel->value[step->out]);
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef turn = LLVMBuildPhi(e->builder, e->i32, "turn");
  LLVMAddIncoming(turn, &zero, &before, 1);
  for (int i = 0; i < n; i++) {
    LLVMValueRef first = e->value[step->in][i];
    carried[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(first), "");
    LLVMAddIncoming(carried[i], &first, &before, 1);
  }
  LLVMValueRef lane = e->lane, warp = e->warp;
  if (lane) e->lane = e->ops->opaque(e, lane);
  if (warp) e->warp = e->ops->opaque(e, warp);
  emit_steps(e, at + 1, step->body);
  e->lane = lane;
  e->warp = warp;
  LLVMValueRef next = LLVMBuildAdd(e->builder, turn, emit_i32(e, 1), "");
  LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntULT, next, emit_i32(e, step->turns), "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildCondBr(e->builder, more, body, done);
  LLVMAddIncoming(turn, &next, &latch, 1);
  for (int i = 0; i < n; i++) LLVMAddIncoming(carried[i], &last[i], &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
}
