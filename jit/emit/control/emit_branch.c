/* Steps that a block runs only where it has something to do, or one way inside of all bounds and
 * another at an edge. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/index.h"
#include "jit/emit/place/place.h"
#include "jit/emit/value/emit_value.h"

#include "jit/plan/facts/value.h"

#include <string.h>

/* Whether some thread of the warp may have the position. All lanes go one way. */
static LLVMValueRef may_hold(emitter *e, const plan_step *step) {
  LLVMBuilderRef b = e->builder;
  LLVMValueRef first = emit_resize(e, emit_register(e, step->in, 0), e->i32),
               place = emit_resize(e, emit_register(e, step->second, 0), e->i32);
  LLVMValueRef others = emit_i32(e, (int64_t)(int32_t)~(uint32_t)step->number.value);
  LLVMValueRef away = LLVMBuildAnd(b, LLVMBuildSub(b, place, first, ""), others, "");
  LLVMValueRef none = LLVMBuildICmp(b, LLVMIntNE, away, emit_i32(e, 0), "");
  return LLVMBuildNot(b, e->ops->all_lanes(e, none), "");
}

/* i1; bounds may all be apart. Of a turn: whether a ring has it. */
static LLVMValueRef interior_of(emitter *e, const plan_step *step) {
  LLVMValueRef iteration = e->iteration, interior;
  if (step->in_ring) {
    int slots = e->kernel->buffer[step->in_ring - 1].slots;
    return emit_less(e, emit_turn_number(e), emit_i32(e, slots));
  }
  if (step->holds) return may_hold(e, step);
  if (step->by_values)
    return emit_values_follow(e, &e->kernel->index[step->by_values - 1], step->vector);
  if (step->looped) {
    if (step->iterations) e->iteration = e->outer;
    interior = emit_iteration_interior(e, &e->kernel->value[step->in], step->ignored_bounds);
    e->iteration = iteration;
    return interior;
  }
  interior = emit_interior(e, step->ignored_bounds);
  return interior ? interior : LLVMConstInt(e->i1, 1, false);
}

/* The value that both ways are one access of, with masks and without; NULL: they are something
 * else. */
static const plan_value *accessed_both_ways(const emitter *e, const plan_step *step) {
  const plan_step *own = step + 1, *masked = step + 2;
  if (!emit_is_host(e) || step->body != 1 || step->otherwise != 1 || own->kind != masked->kind)
    return NULL;
  if (own->tensor != masked->tensor) return NULL;
  if (own->kind == PLAN_LOAD && own->out == masked->out) return &e->kernel->value[own->out];
  return own->kind == PLAN_STORE && own->in == masked->in ? &e->kernel->value[own->in] : NULL;
}

/* What is asked for ahead is so beside the interior's steps. */
static void emit_edge(emitter *e, const plan_step *step, int at) {
  emit_ahead ahead = e->ahead;
  e->ahead.total = 0;
  emit_steps(e, at + 1 + step->body, step->otherwise);
  e->ahead = ahead;
}

void emit_if_interior(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMBasicBlockRef inside = emit_new_block(e, "interior"), edge = emit_new_block(e, "edge");
  LLVMBasicBlockRef done = emit_new_block(e, "done");
  emit_words first;
  const plan_value *accessed = accessed_both_ways(e, step);
  plan_value spread;
  emit_place both;
  if (accessed) {
    plan_value_spread(e->kernel, accessed, &spread);
    emit_place_tensor(e, &spread, step[1].tensor, &both);
    e->both = &both;
  }
  LLVMBuildCondBr(e->builder, interior_of(e, step), inside, edge);
  LLVMPositionBuilderAtEnd(e->builder, inside);
  bool interior = e->interior;
  uint32_t interior_but = e->interior_but;
  if (!step->holds) {
    e->interior = !step->in_ring;
    e->interior_but = step->ignored_bounds; /* of values: bounds along other axes */
  }
  emit_steps(e, at + 1, step->body);
  e->interior = step->holds && interior;
  if (step->holds) e->interior_but = interior_but;
  if (step->joins) memcpy(first, e->value[step->out], sizeof first);
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(e->builder)};
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, edge);
  emit_edge(e, step, at);
  e->both = NULL;
  from[1] = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
  for (int i = 0; step->joins && i < emit_word_count(&e->kernel->value[step->out]); i++) {
    LLVMValueRef made[2] = {first[i], e->value[step->out][i]};
    e->value[step->out][i] = LLVMBuildPhi(e->builder, LLVMTypeOf(made[0]), "");
    LLVMAddIncoming(e->value[step->out][i], made, from, 2);
  }
}

void emit_if_present(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMValueRef present =
      step->looped ? emit_iteration_present(e, &e->kernel->value[step->in]) : emit_present(e);
  LLVMBasicBlockRef next = emit_open_guard_of_warps(e, present);
  emit_steps(e, at + 1, step->body);
  emit_close_guard(e, next);
}
