/* Barriers of rings' slots, where warps have roles (PLAN_ROLES), and who is who. Private to
 * jit/emit/control. */
#ifndef LLRT_JIT_EMIT_CONTROL_EMIT_SLOTS_H
#define LLRT_JIT_EMIT_CONTROL_EMIT_SLOTS_H

#include "jit/emit/core/emitter.h"

/* What a slot's barrier tells: it is filled, it is free, boxes have landed in it. */
typedef enum slot_barrier { SLOT_FILLED = 0, SLOT_FREE = 1, SLOT_LANDED = 2 } slot_barrier;

/* The barrier of the slot that turn `number` (i32, of the block) has. */
LLVMValueRef emit_slot_barrier(const emitter *e, slot_barrier which, LLVMValueRef number);
/* Bit 0 of the turn's round through the ring; other: the opposite. */
LLVMValueRef emit_slot_parity(const emitter *e, LLVMValueRef number, bool other);
/* Waits until the barrier's phase of that parity has passed. */
void emit_await_phase(emitter *e, LLVMValueRef barrier, LLVMValueRef parity);

/* i1: x, i32, is at least so much. */
LLVMValueRef emit_at_least(const emitter *e, LLVMValueRef x, int least);
/* Warps of the block that are no producers. */
int emit_other_warps(const emitter *e);

/* Teams (plan_kernel.team_bits) begin the products of their positions in the order of these: a team
 * waits until the one before has begun its last ones, and tells the next one so. */
LLVMValueRef emit_team_barrier(const emitter *e, LLVMValueRef team);
void emit_await_team(emitter *e);
void emit_tell_team(emitter *e);
/* i1: whether the thread is the one of the block's warp `warp` that speaks for it, the same
 * wherever this is asked; all lanes of a warp come here together. */
LLVMValueRef emit_is_one_of_warp(emitter *e, int warp);
/* The same of the first producers' warp. */
LLVMValueRef emit_is_first_producer(emitter *e);

#endif
