/* Steps that own a body or order what others do: branches, loops, walks, rounds, roles, blocks that
 * wait for each other. A step that owns a body is given by its number, `at`. */
#ifndef LLRT_JIT_EMIT_EMIT_CONTROL_H
#define LLRT_JIT_EMIT_EMIT_CONTROL_H

#include "jit/emit/core/emitter.h"

/* emit_branch.c */
void emit_if_interior(emitter *e, int at);
void emit_if_present(emitter *e, int at);
/* emit_strip.c, of the host's strips. i1: whether all that the value has in this iteration is
 * surely inside every bound that is not ignored; is not all beyond one of the destination's (NULL:
 * always). */
LLVMValueRef emit_iteration_interior(emitter *e, const plan_value *value, uint32_t ignored_bounds);
LLVMValueRef emit_iteration_present(emitter *e, const plan_value *value);
void emit_collect(emitter *e, int at); /* emit_collect.c */

/* emit_loop.c: opens a loop of 2^step->iterations iterations, which carries the step's value if it
 * `joins`; closes it behind so many iterations, at least one (i64; NULL: all), and returns the
 * block that goes back to its begin. */
typedef struct emit_counted {
  LLVMValueRef counter, outer, before_outer; /* the emitter's iterations outside */
  LLVMBasicBlockRef before, body, done;
} emit_counted;
void emit_open_loop(emitter *e, const plan_step *step, bool joins, emit_counted *loop);
LLVMBasicBlockRef emit_close_loop(emitter *e, const plan_step *step, const emit_counted *loop,
                                  LLVMValueRef end);
void emit_loop(emitter *e, int at);
/* emit_turned.c: a loop that is turned; the body of its walk, number `at`, in one turn. */
void emit_turned_loop(emitter *e, int at);
void emit_turned_body(emitter *e, int at);
void emit_repeat(emitter *e, int at);
void emit_opaque_step(emitter *e, const plan_step *step);
/* emit_walk.c: a walk; steps as in a later turn of it, where the block has that. */
void emit_walk(emitter *e, int at);
void emit_later_turn(emitter *e, int at);
/* emit_carry.c: what a loop carries: value out is in, coming from block `before`; then what the
 * body made as `last`. */
void emit_carry_value(emitter *e, int in, int out, LLVMBasicBlockRef before);
void emit_close_value(emitter *e, int out, int last, LLVMBasicBlockRef latch);

/* emit_queue.c: e->block by a ticket; the walk of a block that draws more, and PLAN_AHEAD in it. */
void emit_ticket(emitter *e);
void emit_queue(emitter *e, int at);
void emit_later_ticket(emitter *e, int at);
/* emit_rounds.c: what is emitted between them is done for every position that the block takes; in
 * there e->block, what follows from it, and e->turns_before are the position's. */
void emit_open_rounds(emitter *e, emit_rounds *rounds);
void emit_close_rounds(emitter *e, const emit_rounds *rounds);
/* emit_deal.c: the block's ticket, which the thread that runs it draws and leaves in shared memory,
 * for all behind the next barrier; how many turns the block is dealt; the piece that comes when so
 * many are left, whose position is e->block's. */
void emit_deal_ticket(emitter *e);
LLVMValueRef emit_dealt_turns(emitter *e);
void emit_deal_piece(emitter *e, LLVMValueRef left);
void emit_settle_step(emitter *e, int at);

void emit_roles_step(emitter *e, int at); /* emit_roles.c */
void emit_filled_step(emitter *e);
void emit_release_step(emitter *e, const plan_step *step);
void emit_publish_step(emitter *e, const plan_step *step); /* emit_lookback.c */
void emit_peek_step(emitter *e, const plan_step *step);
void emit_await_step(emitter *e, const plan_step *step);

#endif
