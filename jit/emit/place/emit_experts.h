/* Where experts' positions are (emit_expert_ends.c), for emit_experts.c. Private to jit/emit/place.
 */
#ifndef LLRT_JIT_EMIT_PLACE_EMIT_EXPERTS_H
#define LLRT_JIT_EMIT_PLACE_EMIT_EXPERTS_H

#include "jit/emit/core/emitter.h"

/* The first position of expert i, 0 <= i < experts, and how many it has, i64. Sorted: where
 * e->experts.entry says among which positions they are, only these are looked at. */
void expert_positions(emitter *e, LLVMValueRef i, LLVMValueRef *first, LLVMValueRef *n);

/* Tiles of n positions. */
LLVMValueRef expert_tiles(emitter *e, LLVMValueRef n);

/* Sorted, GPU: leaves where the experts of each of the lane's entries end in the second table, and
 * counts their tiles. entry: the lane's first; each: experts of an entry; both i64. */
void expert_count_sorted(emitter *e, LLVMValueRef entry, LLVMValueRef each,
                         LLVMValueRef tiles[PLAN_EXPERT_ENTRIES]);

/* Sorted, GPU: the block's expert is one of the entry's, front to back. */
void expert_enter(emitter *e, LLVMValueRef entry, LLVMValueRef front, LLVMValueRef back);

#endif
