/* Indices (plan_index): their values, and what these add to addresses. emit_index.c. */
#ifndef LLRT_JIT_EMIT_PLACE_INDEX_H
#define LLRT_JIT_EMIT_PLACE_INDEX_H

#include "jit/emit/core/emitter.h"

/* Loads, at the begin of a block, the extents in memory and those index values that are the same
 * for all of its elements. Needs: the decoded block. */
void emit_begin_indices(emitter *e);
/* i1: whether the block has any element: false where a block-wide index value is to be skipped or
 * an extent in memory ends before it. */
LLVMValueRef emit_present(emitter *e);
/* Sets *terms to what the indices of place's tensor add to the address at tile coordinate `tile`.
 */
void emit_index_terms_at(emitter *e, emit_place *place, uint64_t tile, emit_index_terms *terms);
/* The value that tile coordinate `tile` XOR what the thread adds selects, as it is in memory, i64;
 * beyond the shape the last of the axis. */
LLVMValueRef emit_raw_value(emitter *e, const plan_index *index, const plan_value *value,
                            uint64_t tile);
/* emit_following.c. i1, the same in all lanes: whether the values of the index that the block
 * chooses follow each other, 2^following at a time, from multiples of 2^following on, each in range
 * and none beyond the shape. */
LLVMValueRef emit_values_follow(emitter *e, const plan_index *index, int following);
/* PLAN_REPORT: writes to an index's report where one of its values is out of range. */
void emit_report_step(emitter *e, const plan_step *step);

/* Reads the values that choose the place's element at `tile`, where no turn of a walk does, for all
 * turns behind: e->kept. Whether the element is inside the bounds of the axes along which they
 * differ is a part of what is kept. */
void emit_keep_values(emitter *e, const emit_place *place, uint64_t tile);
/* These bounds (bit i: bound i) of the element at `tile`; 0: nothing is kept for it. */
uint32_t emit_kept_bounds(const emitter *e, const emit_place *place, uint64_t tile);

#endif
