/* PLAN_WALK: a loop over the block's turns. Loads that are ahead are made for the turn after while
 * this one is worked on; their words are carried like the walk's value. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/control/emit_slots.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/facts/walk_moves.h"
#include "layout/f2.h"

#include <string.h>

typedef struct walker {
  emitter *e;
  const plan_step *step;
  int at;
  LLVMValueRef grid, upper[PLAN_MAX_DIGITS]; /* of the block */
  LLVMValueRef begin, end;
  LLVMValueRef first;  /* the turn that the loop begins with */
  LLVMValueRef mirror; /* backwards: turn number i of the loop is this less i; else NULL */
  LLVMValueRef whole;  /* emit_walked's */
} walker;

/* The turn that comes when the loop has counted so far. */
static LLVMValueRef turn_at(const walker *w, LLVMValueRef counted) {
  return w->mirror ? LLVMBuildSub(w->e->builder, w->mirror, counted, "") : counted;
}

/* ---- loads a turn ahead ---- */

/* The value that a step among those that are ahead makes, or -1. */
static int early_value(const walker *w, int i) {
  const plan_step *step = &w->step[1 + i];
  bool inside = false; /* of an IF_INTERIOR, which joins its loads into one value */
  for (int j = 0; j < i; j++) {
    const plan_step *other = &w->step[1 + j];
    inside |= other->kind == PLAN_IF_INTERIOR && i <= j + other->body + other->otherwise;
  }
  return inside ? -1 : step->out;
}

static void decode_turn(walker *w, LLVMValueRef turn) {
  w->e->grid = w->grid;
  memcpy(w->e->upper, w->upper, sizeof w->upper);
  emit_decode_turn(w->e, turn);
}

/* The loads of a turn, if there is such; of none words are undefined. */
static void load_ahead(walker *w, LLVMValueRef turn) {
  emitter *e = w->e;
  LLVMValueRef exists = LLVMBuildICmp(e->builder, LLVMIntSLT, turn, w->end, "");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder),
                    next = emit_open_guard_of_warps(e, exists);
  turn = turn_at(w, turn);
  decode_turn(w, turn);
  const emit_walked *now = e->walked;
  emit_walked walked = {
      .grid = w->grid, .begin = w->begin, .end = w->end, .turn = turn, .whole = w->whole};
  e->walked = &walked;
  emit_steps(e, w->at + 1, w->step->ahead);
  e->walked = now;
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(e->builder), before};
  emit_close_guard(e, next);
  for (int i = 0; i < w->step->ahead; i++) {
    int value = early_value(w, i);
    for (int k = 0; value >= 0 && k < emit_word_count(&e->kernel->value[value]); k++) {
      LLVMTypeRef type = LLVMTypeOf(e->value[value][k]);
      LLVMValueRef made[2] = {e->value[value][k], LLVMGetUndef(type)};
      e->value[value][k] = LLVMBuildPhi(e->builder, type, "");
      LLVMAddIncoming(e->value[value][k], made, from, 2);
    }
  }
}

/* Phis for what is loaded before the walk. */
static void carry_early(walker *w, LLVMBasicBlockRef before) {
  for (int i = 0; i < w->step->ahead; i++)
    if (early_value(w, i) >= 0)
      emit_carry_value(w->e, early_value(w, i), early_value(w, i), before);
}

/* The next turn's loads, behind which this turn's are back under their numbers; next: words by
 * value. */
static void load_next(walker *w, LLVMValueRef turn, emit_words *next) {
  emitter *e = w->e;
  emit_words now[PLAN_MAX_AHEAD];
  for (int i = 0; i < w->step->ahead; i++)
    if (early_value(w, i) >= 0) memcpy(now[i], e->value[early_value(w, i)], sizeof now[i]);
  load_ahead(w, turn);
  for (int i = 0; i < w->step->ahead; i++) {
    int value = early_value(w, i);
    if (value < 0) continue;
    memcpy(next[i], e->value[value], sizeof next[i]);
    memcpy(e->value[value], now[i], sizeof now[i]);
  }
}

static void close_early(walker *w, emit_words *next, LLVMBasicBlockRef latch) {
  emitter *e = w->e;
  for (int i = 0; i < w->step->ahead; i++) {
    int value = early_value(w, i);
    for (int k = 0; value >= 0 && k < emit_word_count(&e->kernel->value[value]); k++)
      LLVMAddIncoming(e->value[value][k], &next[i][k], &latch, 1);
  }
}

/* ---- what PLAN_CARRY steps of the body carry ---- */

static void carry_more(const walker *w, LLVMBasicBlockRef before) {
  const plan_step *end = w->step + w->step->body;
  for (const plan_step *step = w->step + 1; step <= end; step += 1 + step->body + step->otherwise)
    if (step->kind == PLAN_CARRY) emit_carry_value(w->e, step->in, step->out, before);
}

static void close_more(const walker *w, LLVMBasicBlockRef latch) {
  const plan_step *end = w->step + w->step->body;
  for (const plan_step *step = w->step + 1; step <= end; step += 1 + step->body + step->otherwise)
    if (step->kind == PLAN_CARRY) emit_close_value(w->e, step->out, step->with, latch);
}

/* ---- the loop ---- */

/* ---- warps that leave out the last turn ---- */

/* Whether all that the warp has of a value lies inside in this turn: what a thread has in its last
 * register lies farthest. */
static LLVMValueRef is_whole(emitter *e, const plan_value *value) {
  const plan_kernel *kernel = e->kernel;
  uint64_t last = f2_apply(plan_value_columns(value, PLAN_REGISTER),
                           bits_mask(plan_value_bits(value, PLAN_REGISTER)));
  LLVMValueRef inside = NULL;
  for (int i = 0; i < kernel->n_bounds; i++)
    inside = emit_and(e, inside, emit_is_bounded(e, value, &kernel->bound[i], last));
  return inside ? e->ops->all_lanes(e, inside) : NULL;
}

/* What a thread has in registers, and lanes behind the first, lies farther along each axis than
 * what the first lane has in register 0: where that is outside for each lane, all is. The turn that
 * lies farthest is number 0 where turns go down. */
static void end_by_warps(walker *w) {
  emitter *e = w->e;
  bool down = e->kernel->walk.down, comes_first = down != (w->mirror != NULL);
  plan_moves moves = plan_walk_moves(e->kernel, w->at);
  plan_value spread;
  LLVMValueRef inside = NULL, last = LLVMBuildSub(e->builder, w->end, emit_i64(e, 1), "");
  if (moves.value < 0) return;
  plan_value_spread(e->kernel, &e->kernel->value[moves.value], &spread);
  decode_turn(w, down ? w->begin : last);
  for (int i = 0; i < e->kernel->n_bounds; i++) {
    const plan_bound *bound = &e->kernel->bound[i];
    if (moves.tensors & ~bound->tensors) continue;
    inside = emit_and(e, inside, emit_is_bounded(e, &spread, bound, 0));
  }
  if (moves.tells_whole) w->whole = is_whole(e, &spread);
  e->grid = w->grid;
  memcpy(e->upper, w->upper, sizeof w->upper);
  if (!inside || !moves.may_leave) return;
  LLVMValueRef outside = e->ops->all_lanes(e, LLVMBuildNot(e->builder, inside, ""));
  if (comes_first) {
    LLVMValueRef second = LLVMBuildAdd(e->builder, w->begin, emit_i64(e, 1), "");
    w->first = LLVMBuildSelect(e->builder, outside, second, w->begin, "");
    return;
  }
  w->end = LLVMBuildSelect(e->builder, outside, last, w->end, "");
}

/* The test stands before the body: there may be no turn. */
void emit_walk(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at], *last = step + step->body;
  walker w = {.e = e, .step = step, .at = at, .grid = e->grid};
  bool carries = !step->bare && !e->turned; /* from turn to turn, by phis */
  emit_words next[PLAN_MAX_AHEAD], late;
  memcpy(w.upper, e->upper, sizeof w.upper);
  emit_block_turns(e, &w.begin, &w.end);
  emit_walked walked = {.grid = w.grid, .begin = w.begin, .end = w.end};
  w.first = w.begin;
  if (step->reverse)
    w.mirror =
        LLVMBuildSub(e->builder, LLVMBuildAdd(e->builder, w.begin, w.end, ""), emit_i64(e, 1), "");
  if (step->by_warps && e->ops->all_lanes) end_by_warps(&w);
  walked.whole = w.whole;
  if (step->ahead) load_ahead(&w, w.first);
  if (e->team) emit_await_team(e);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), head = emit_new_block(e, "walk");
  LLVMBasicBlockRef body = emit_new_block(e, "turn"), done = emit_new_block(e, "walked");
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, head);
  LLVMValueRef turn = LLVMBuildPhi(e->builder, e->i64, "turn");
  LLVMAddIncoming(turn, &w.first, &before, 1);
  if (carries) emit_carry_value(e, step->in, step->out, before);
  if (carries && step->pairs) emit_carry_value(e, step->index_in, step->index_out, before);
  carry_more(&w, before);
  carry_early(&w, before);
  emit_carry_late(e, at, before);
  memcpy(late, e->late, sizeof late);
  LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSLT, turn, w.end, "");
  LLVMBuildCondBr(e->builder, more, body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef after = LLVMBuildAdd(e->builder, turn, emit_i64(e, 1), "");
  if (step->ahead) load_next(&w, after, next);
  walked.turn = turn_at(&w, turn);
  decode_turn(&w, walked.turn);
  e->walked = &walked;
  if (e->turned) emit_turned_body(e, at);
  else emit_steps(e, at + 1 + step->ahead, step->body - step->ahead);
  e->walked = NULL;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, head);
  LLVMAddIncoming(turn, &after, &latch, 1);
  if (carries) emit_close_value(e, step->out, last->out, latch);
  if (carries && step->pairs) emit_close_value(e, step->index_out, last->index_out, latch);
  close_more(&w, latch);
  close_early(&w, next, latch);
  emit_close_late(e, at, late, latch);
  LLVMPositionBuilderAtEnd(e->builder, done);
  emit_join_late(e, at);
  if (e->team) emit_tell_team(e);
  e->kept = (emit_kept){0};
  e->grid = w.grid;
  memcpy(e->upper, w.upper, sizeof w.upper);
  if (e->rounds.late) emit_ask_position(e); /* while the last products are under way */
}

/* As in a later turn, where the block has it. */
void emit_later_turn(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMValueRef grid = e->grid, upper[PLAN_MAX_DIGITS];
  const emit_walked *now = e->walked;
  emit_walked later = {.grid = grid};
  memcpy(upper, e->upper, sizeof upper);
  if (now) {
    later = *now;
  } else {
    emit_keep_rows_of_copies(e, at); /* on their way before all copies */
    emit_block_turns(e, &later.begin, &later.end);
  }
  later.turn =
      LLVMBuildAdd(e->builder, now ? now->turn : later.begin, emit_i64(e, step->turns), "");
  LLVMValueRef there = LLVMBuildICmp(e->builder, LLVMIntSLT, later.turn, later.end, "");
  LLVMBasicBlockRef next = emit_open_guard_of_warps(e, there);
  e->grid = later.grid;
  e->walked = &later;
  emit_decode_turn(e, later.turn);
  emit_steps(e, at + 1, step->body);
  emit_close_guard(e, next);
  if (plan_begins_copies(e->kernel, at)) e->ops->end_copies(e);
  e->walked = now;
  e->grid = grid;
  memcpy(e->upper, upper, sizeof upper);
}
