/* Which block this is, where an element lies, and whether it is there. */
#ifndef LLRT_JIT_EMIT_ADDRESS_H
#define LLRT_JIT_EMIT_ADDRESS_H

#include "jit/emit/core/emitter.h"
#include "jit/plan/facts/access.h"

/* ---- decode_block.c, position.c, place.c, mask.c: what they share is in place.h ---- */

/* Sets e->grid and e->upper from e->block. Not for flat kernels. */
void emit_decode_block(emitter *e);
/* A flat kernel's: sets e->first. */
void emit_flat_first(emitter *e);
/* The block's turns [*begin, *end) of the kernel's walk, i64; what a turn changes of e->grid and
 * e->upper. */
void emit_block_turns(emitter *e, LLVMValueRef *begin, LLVMValueRef *end);
void emit_decode_turn(emitter *e, LLVMValueRef turn);

void emit_place_tensor(emitter *e, const plan_value *value, int tensor, emit_place *place);
/* The same place for the step's accesses of positions whose values follow each other. */
void emit_place_following(const emitter *e, const plan_step *step, emit_place *place);
void emit_place_buffer(emitter *e, const plan_value *value, int buffer, emit_place *place);
/* The number of this turn of the block, whose rounds before count, too; i32. Where its slot of a
 * buffer begins. */
LLVMValueRef emit_turn_number(const emitter *e);
LLVMValueRef emit_slot_pointer(emitter *e, int buffer);
/* The place in its run (jit/plan/facts/runs.h) of the first element that the step's box brings of
 * this turn; i32. */
LLVMValueRef emit_place_in_run(emitter *e, const plan_step *copy);

/* The position of digit i at tile coordinate `tile` XOR what the thread adds; i64. */
LLVMValueRef emit_position(emitter *e, const plan_value *value, int i, uint64_t tile);
/* What `tile` adds to that position at tile coordinate 0; -1 where the bits that it moves are moved
 * by the thread, too. */
int64_t emit_position_known(emitter *e, const plan_value *value, int i, uint64_t tile);
/* And an axis's coordinate. */
LLVMValueRef emit_coordinate(emitter *e, const plan_value *value, int axis, uint64_t tile);

/* What the place's indices add at `tile`; NULL: it has none. Asked for first outside of any guard
 * of an access, so that what it emits is there for all that follow. */
const emit_index_terms *emit_place_terms(emitter *e, emit_place *place, uint64_t tile);
/* Where the block's panel lies in tensor 0: its offset, and a pointer to it. */
LLVMValueRef emit_panel(emitter *e, int tensor, LLVMValueRef *pointer);
/* Where what index 0 chooses from begins, for the block's other coordinates: value 0's. */
LLVMValueRef emit_values_pointer(emitter *e);

/* Pointer to the element at tile coordinate `tile` XOR what the thread adds; of 4 bits, to its
 * byte. */
LLVMValueRef emit_pointer(emitter *e, emit_place *place, uint64_t tile);

/* The same element's offset, i64: for elements that have no pointer of their own (4 bits). */
LLVMValueRef emit_offset(emitter *e, emit_place *place, uint64_t tile);

/* i1: whether that element is inside every bound of its tensor (flat: and inside the count); NULL:
 * always. */
LLVMValueRef emit_inside(emitter *e, const emit_place *place, uint64_t tile);

/* i1: whether this block is inside every bound, and its vectors of memory inside tensor 0. */
LLVMValueRef emit_interior(emitter *e, uint32_t ignored_bounds);

/* What a bound looks at: the coordinate of its axis, or its digit's position; i64. */
LLVMValueRef emit_bounded(emitter *e, const plan_value *value, const plan_bound *bound,
                          uint64_t tile);

/* i1: whether that is below the bound's limit. */
LLVMValueRef emit_is_bounded(emitter *e, const plan_value *value, const plan_bound *bound,
                             uint64_t tile);

/* The limit of a bound. */
LLVMValueRef emit_bound_limit(emitter *e, const plan_bound *bound);

/* i1: whether this thread holds the first of the copies of `value`; NULL: there are no copies. */
LLVMValueRef emit_is_first_copy(emitter *e, const plan_value *value);
/* The same among the block's own warps: copies in other blocks of the cluster do not count. */
LLVMValueRef emit_is_first_in_block(emitter *e, const plan_value *value);
/* Whether there are copies among those. */
bool emit_has_copies_in_block(const emitter *e, const plan_value *value);
/* Both conditions of emit_is_first_in_block: among warps, where all lanes of a warp agree; among
 * the lanes of a warp. */
LLVMValueRef emit_is_first_warp(emitter *e, const plan_value *value);
LLVMValueRef emit_is_first_lane(emitter *e, const plan_value *value);
/* The block of the cluster in whose memory the elements lie that the thread has, i32, but for what
 * registers add
 * (`known`). */
LLVMValueRef emit_block_of(emitter *e, const plan_value *value, const plan_blocks *blocks,
                           uint64_t known);
/* A buffer's place at `tile` XOR what the thread adds: bytes (i32), and so many known bytes behind
 * them. */
LLVMValueRef emit_buffer_offset(emitter *e, const emit_place *place, uint64_t tile,
                                int64_t *behind);
LLVMValueRef emit_buffer_pointer(emitter *e, const emit_place *place, uint64_t tile);

/* ---- emit_experts.c, emit_expert_ends.c ---- */

/* Counts the tiles of all experts, where the grid does; before blocks are decoded. */
void emit_begin_experts(emitter *e);
/* How many positions the grid has, i64, where it counts tiles of experts. */
LLVMValueRef emit_expert_positions(emitter *e);
/* Whether a place counts tiles of all experts. */
static inline bool emit_counts_experts(const emitter *e, const plan_place *place) {
  const plan_experts *experts = &e->kernel->experts;
  return experts->shared && place->digit == experts->digit;
}
/* The block's expert: sets e->experts.first, e->extent of the axis and, where tiles were counted
 * together, the digits' upper parts. */
void emit_decode_expert(emitter *e);
/* Tiles of the block's expert, i64; where its positions are walked, turns along these. */
LLVMValueRef emit_expert_turns(emitter *e);
/* i1: whether a turn, i64, has all of its positions, where they are walked. */
LLVMValueRef emit_expert_has_turn(emitter *e, LLVMValueRef turn);
/* What the expert's first position adds to a tensor's offset, elements, i64; NULL: nothing. */
LLVMValueRef emit_expert_offset(const emitter *e, int tensor);

/* ---- emit_within.c ---- */

/* i1: plan_block_within; NULL: always. */
LLVMValueRef emit_block_within(emitter *e);

#endif
