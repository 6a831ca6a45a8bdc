/* Steps of a plan: each has its function, in a file of its own or with those like it. A step that owns a body is given by
 * its number, `at`. */
#ifndef LLRT_JIT_EMIT_EMIT_STEPS_H
#define LLRT_JIT_EMIT_EMIT_STEPS_H

#include "jit/emit/emitter.h"

/* emit.c: n steps from `first`; one that owns a body takes its steps with it. */
void emit_steps(emitter *e, int first, int n);

/* ---- walks ---- */

/* emit_walk.c: a walk; steps as in a later turn of it, where the block has that. */
void emit_walk(emitter *e, int at);
void emit_later_turn(emitter *e, int at);
/* What a loop carries: value out is in, coming from block `before`; then what the body made as `last`. */
void emit_carry_value(emitter *e, int in, int out, LLVMBasicBlockRef before);
void emit_close_value(emitter *e, int out, int last, LLVMBasicBlockRef latch);
/* emit_queue.c: e->block by a ticket; the walk of a block that draws more, and PLAN_AHEAD in it. */
void emit_ticket(emitter *e);
void emit_queue(emitter *e, int at);
void emit_later_ticket(emitter *e, int at);
/* emit_rounds.c: what is emitted between them is done for every position that the block takes; in there e->block,
 * what follows from it, and e->turns_before are the position's. */
void emit_open_rounds(emitter *e, emit_rounds *rounds);
void emit_close_rounds(emitter *e, const emit_rounds *rounds);
/* emit_deal.c: the block's ticket, which the thread that runs it draws and leaves in shared memory, for all behind the next
 * barrier; how many turns the block is dealt; the piece that comes when so many are left, whose position is e->block's. */
void emit_deal_ticket(emitter *e);
LLVMValueRef emit_dealt_turns(emitter *e);
void emit_deal_piece(emitter *e, LLVMValueRef left);
void emit_settle_step(emitter *e, int at);

/* ---- memory and registers ---- */

void emit_load_step(emitter *e, const plan_step *step); /* emit_access.c */
void emit_store_step(emitter *e, const plan_step *step);
void emit_shared_store_step(emitter *e, const plan_step *step);
void emit_shared_load_step(emitter *e, const plan_step *step);
/* The matrices that word w of a lazy shared load is of. */
void emit_matrix_word(emitter *e, const plan_step *step, int w);
void emit_overhang_step(emitter *e, const plan_step *step); /* emit_overhang.c: LOAD, STORE */
void emit_load_front(emitter *e, const plan_step *step);    /* emit_front.c */
void emit_copy_step(emitter *e, const plan_step *step);     /* emit_copy.c */
/* emit_box.c: a step's copies; how many bytes those of a PLAN_PRODUCE, number `at`, bring. */
void emit_box_copy(emitter *e, const plan_step *step, LLVMValueRef barrier);
int emit_box_bytes(const emitter *e, int at);
/* emit_collect.c: the step with its body; what a pointer to the tensor is among what it collects (itself outside). */
void emit_collect(emitter *e, int at);
LLVMValueRef emit_collected(emitter *e, LLVMValueRef pointer);
void emit_registers_step(emitter *e, const plan_step *step); /* registers.c */
void emit_shuffle_step(emitter *e, const plan_step *step);   /* emit_shuffle.c */
void emit_map_step(emitter *e, const plan_step *step);       /* emit_map.c */
void emit_gather_step(emitter *e, const plan_step *step);    /* emit_gather.c */

/* Panels. emit_stage.c: those that are gathered or in place, and the number of a thread in its block, i32. */
void emit_stage_step(emitter *e);
LLVMValueRef emit_thread_index(const emitter *e);
/* emit_panel.c: STAGE, and LOAD of the source's panels apart; emit_panel_store.c: of the destination's. */
void emit_stage_apart(emitter *e);
void emit_load_apart(emitter *e, const plan_step *step);
void emit_load_vectors(emitter *e, const plan_step *step);
void emit_store_apart(emitter *e, const plan_step *step);
void emit_copy_apart(emitter *e);

/* ---- combining ---- */

void emit_fill_step(emitter *e, const plan_step *step); /* emit_reduce.c */
void emit_join_step(emitter *e, const plan_step *step);
void emit_fold_step(emitter *e, const plan_step *step);
void emit_fold_lanes_step(emitter *e, const plan_step *step);
void emit_spread_step(emitter *e, const plan_step *step);
void emit_position_step(emitter *e, const plan_step *step);
void emit_scan_step(emitter *e, const plan_step *step); /* emit_scan.c */
void emit_prefix_step(emitter *e, const plan_step *step);
void emit_pick_step(emitter *e, const plan_step *step);
void emit_publish_step(emitter *e, const plan_step *step); /* emit_lookback.c */
void emit_peek_step(emitter *e, const plan_step *step);
void emit_await_step(emitter *e, const plan_step *step);

/* ---- products ---- */

void emit_dot_step(emitter *e, const plan_step *step); /* emit_dot.c */
void emit_multiplied_step(emitter *e, const plan_step *step);
void emit_roles_step(emitter *e, int at); /* emit_roles.c */
void emit_filled_step(emitter *e);
void emit_release_step(emitter *e, const plan_step *step);

#endif
