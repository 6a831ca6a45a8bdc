/* A loop that is turned stands inside its walk's turns, and is passed before and behind them once
 * more; what the walk carries for each iteration is loaded and stored in between. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/core/builder.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"

static int word_bytes(const emitter *e, const plan_value *value) {
  return (value->bits << e->kernel->lane_bits) / 8;
}

/* Memory of a value's words in every iteration. */
static LLVMValueRef memory_of(emitter *e, const plan_step *loop, int value) {
  const plan_value *carried = &e->kernel->value[value];
  int words = emit_word_count(carried) << loop->iterations;
  return e->ops->shared(e, words * word_bytes(e, carried));
}

/* Pointer to word w in this iteration. */
static LLVMValueRef word_pointer(emitter *e, LLVMValueRef memory, const plan_value *value, int w) {
  int words = emit_word_count(value), bytes = word_bytes(e, value);
  LLVMValueRef at = LLVMBuildMul(e->builder, e->iteration, emit_i64(e, (int64_t)words * bytes), "");
  at = LLVMBuildAdd(e->builder, at, emit_i64(e, (int64_t)w * bytes), "");
  return LLVMBuildGEP2(e->builder, e->i8, memory, &at, 1, "");
}

/* Memory begins at a line. */
static LLVMValueRef aligned(LLVMValueRef access, int bytes) {
  LLVMSetAlignment(access, (unsigned)bits_min(bytes, 64));
  return access;
}

static void keep_words(emitter *e, LLVMValueRef memory, int value) {
  const plan_value *carried = &e->kernel->value[value];
  for (int w = 0; w < emit_word_count(carried); w++)
    aligned(LLVMBuildStore(e->builder, e->value[value][w], word_pointer(e, memory, carried, w)),
            word_bytes(e, carried));
}

/* Words of value `value`, as those of `like` are. */
static void take_words(emitter *e, LLVMValueRef memory, int value, int like) {
  const plan_value *carried = &e->kernel->value[value];
  for (int w = 0; w < emit_word_count(carried); w++)
    e->value[value][w] = aligned(LLVMBuildLoad2(e->builder, LLVMTypeOf(e->value[like][w]),
                                                word_pointer(e, memory, carried, w), ""),
                                 word_bytes(e, carried));
}

static void keep(emitter *e, const emit_turned *turned, const plan_step *walk, int key, int index) {
  keep_words(e, turned->keys, key);
  if (walk->pairs) keep_words(e, turned->positions, index);
}

static void take(emitter *e, const emit_turned *turned, const plan_step *walk) {
  take_words(e, turned->keys, walk->out, walk->in);
  if (walk->pairs) take_words(e, turned->positions, walk->index_out, walk->index_in);
}

/* Iterations that have something to do. */
static LLVMBasicBlockRef open_iterations(emitter *e, const emit_turned *turned,
                                         emit_counted *loop) {
  emit_open_loop(e, turned->loop, false, loop);
  if (!turned->present) return NULL;
  return emit_open_guard_of_warps(
      e, emit_iteration_present(e, &e->kernel->value[turned->present->in]));
}

static void close_iterations(emitter *e, const emit_turned *turned, const emit_counted *loop,
                             LLVMBasicBlockRef next) {
  emit_close_guard(e, next);
  emit_close_loop(e, turned->loop, loop, turned->end);
}

/* turned->end, at least 1: so no turn asks of the iterations behind it. */
static void find_end(emitter *e, emit_turned *turned) {
  emit_counted loop;
  if (!turned->present) return;
  turned->end = emit_iteration_end(e, &e->kernel->value[turned->present->in]);
  if (turned->end) return;
  LLVMValueRef one = emit_i64(e, 1);
  emit_open_loop(e, turned->loop, false, &loop);
  LLVMPositionBuilderBefore(e->builder, LLVMGetNextInstruction(loop.counter));
  LLVMValueRef end = LLVMBuildPhi(e->builder, e->i64, "end");
  LLVMPositionBuilderAtEnd(e->builder, loop.body);
  LLVMAddIncoming(end, &one, &loop.before, 1);
  LLVMValueRef present = emit_iteration_present(e, &e->kernel->value[turned->present->in]);
  LLVMValueRef behind = LLVMBuildAdd(e->builder, loop.counter, one, ""), last = end;
  if (present) last = LLVMBuildSelect(e->builder, present, behind, end, "");
  else last = behind;
  LLVMBasicBlockRef latch = emit_close_loop(e, turned->loop, &loop, NULL);
  LLVMAddIncoming(end, &last, &latch, 1);
  turned->end = last;
}

void emit_turned_body(emitter *e, int at) {
  const plan_step *walk = &e->kernel->step[at], *last = walk + walk->body;
  const emit_turned *turned = e->turned;
  emit_counted loop;
  LLVMBasicBlockRef next = open_iterations(e, turned, &loop);
  take(e, turned, walk);
  emit_steps(e, at + 1, walk->body);
  keep(e, turned, walk, last->out, last->index_out);
  close_iterations(e, turned, &loop, next);
}

void emit_turned_loop(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  int first = at + 1, end = at + 1 + step->body, walk_at;
  emit_turned turned = {.loop = step};
  emit_counted loop;
  if (e->kernel->step[first].kind == PLAN_IF_PRESENT) turned.present = &e->kernel->step[first++];
  for (walk_at = first; e->kernel->step[walk_at].kind != PLAN_WALK;) walk_at++;
  const plan_step *walk = &e->kernel->step[walk_at];
  int behind = walk_at + 1 + walk->body;
  turned.keys = memory_of(e, step, walk->out);
  if (walk->pairs) turned.positions = memory_of(e, step, walk->index_out);
  find_end(e, &turned);
  LLVMBasicBlockRef next = open_iterations(e, &turned, &loop);
  emit_steps(e, first, walk_at - first);
  keep(e, &turned, walk, walk->in, walk->index_in);
  close_iterations(e, &turned, &loop, next);
  e->turned = &turned;
  emit_steps(e, walk_at, 1);
  e->turned = NULL;
  next = open_iterations(e, &turned, &loop);
  take(e, &turned, walk);
  emit_steps(e, behind, end - behind);
  close_iterations(e, &turned, &loop, next);
}
