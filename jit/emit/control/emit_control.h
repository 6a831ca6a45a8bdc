/* Steps that own a body or order what others do: branches, loops, walks, rounds, roles, blocks that
 * wait for each other. `at` is the number of a step that owns a body: the steps behind it. */
#ifndef LLRT_JIT_EMIT_EMIT_CONTROL_H
#define LLRT_JIT_EMIT_EMIT_CONTROL_H

#include "jit/emit/core/emitter.h"

/* ---- branches: emit_branch.c ---- */

void emit_if_interior(emitter *e, int at);
void emit_if_present(emitter *e, int at);

/* ---- strips of the host: emit_strip.c, emit_collect.c ---- */

/* i1: whether every element that the value has in this iteration is inside every bound but those of
 * `ignored_bounds` (bit b: bound b). */
LLVMValueRef emit_iteration_interior(emitter *e, const plan_value *value, uint32_t ignored_bounds);
/* i1: whether any of them is inside every bound of the destination; NULL: surely. */
LLVMValueRef emit_iteration_present(emitter *e, const plan_value *value);
/* i64, at least 1: behind the last iteration of which that holds, where they hold it one after the
 * other; else NULL. */
LLVMValueRef emit_iteration_end(emitter *e, const plan_value *value);
void emit_collect(emitter *e, int at);

/* ---- loops: emit_loop.c ---- */

/* A loop that is open. */
typedef struct emit_counted {
  LLVMValueRef counter; /* i64: the iteration, from 0 */
  LLVMValueRef outer,
      before_outer; /* e->iteration and e->outer as they were, restored at the end */
  LLVMBasicBlockRef before, body, done;
} emit_counted;
/* Opens a loop of 2^step->iterations iterations. joins: it carries the step's value. */
void emit_open_loop(emitter *e, const plan_step *step, bool joins, emit_counted *loop);
/* Closes it behind `end` iterations (i64, at least 1; NULL: all). Returns the block that branches
 * back to the body. */
LLVMBasicBlockRef emit_close_loop(emitter *e, const plan_step *step, const emit_counted *loop,
                                  LLVMValueRef end);
void emit_loop(emitter *e, int at);
/* emit_turned.c: a loop that is turned (plan_step.turned): it stands inside its walk's turns. */
void emit_turned_loop(emitter *e, int at);
/* The body of the walk around it, step `at`, in one turn. */
void emit_turned_body(emitter *e, int at);
void emit_repeat(emitter *e, int at);
void emit_opaque_step(emitter *e, const plan_step *step);

/* ---- walks: emit_walk.c, emit_carry.c ---- */

void emit_walk(emitter *e, int at);
/* The steps of body `at` as in a later turn of the walk, where the block has that turn. */
void emit_later_turn(emitter *e, int at);
/* Begins to carry a value through a loop: `out` is `in` as the loop is entered from block `before`.
 */
void emit_carry_value(emitter *e, int in, int out, LLVMBasicBlockRef before);
/* Ends it: behind a turn, which ends in block `latch`, `out` is what the body made as `last`. */
void emit_close_value(emitter *e, int out, int last, LLVMBasicBlockRef latch);

/* ---- who takes which positions: emit_queue.c, emit_rounds.c, emit_deal.c ---- */

/* Sets e->block to a ticket that the block draws. */
void emit_ticket(emitter *e);
/* The walk of a block that draws one ticket after the other; PLAN_AHEAD, step `at`, in it. */
void emit_queue(emitter *e, int at);
void emit_later_ticket(emitter *e, int at);
/* What is emitted between these two is done for every position that the block takes; there
 * e->block, what follows from it, and e->turns_before are the position's. */
void emit_open_rounds(emitter *e, emit_rounds *rounds);
/* What follows from e->block: where the position is. rounds.late: behind the walk. */
void emit_ask_position(emitter *e);
void emit_close_rounds(emitter *e, const emit_rounds *rounds);
/* One thread draws the block's ticket, and leaves what the block is dealt in shared memory; all
 * have it behind the next barrier. */
void emit_deal_ticket(emitter *e);
/* i64: how many pieces the block is dealt. */
LLVMValueRef emit_dealt_pieces(emitter *e);
/* Sets e->block and what follows from it to the piece that comes when `left` pieces (i64) are left,
 * itself among them. */
void emit_deal_piece(emitter *e, LLVMValueRef left);
void emit_settle_step(emitter *e, int at);

/* ---- producers, and blocks that wait for each other: emit_roles.c, emit_lookback.c ---- */

void emit_roles_step(emitter *e, int at);
void emit_filled_step(emitter *e);
void emit_release_step(emitter *e, const plan_step *step);
void emit_publish_step(emitter *e, const plan_step *step);
void emit_peek_step(emitter *e, const plan_step *step);
void emit_await_step(emitter *e, const plan_step *step);

#endif
