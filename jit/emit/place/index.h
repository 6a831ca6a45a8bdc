/* Indices: what their values are and what they add to addresses. emit_index.c. */
#ifndef LLRT_JIT_EMIT_PLACE_INDEX_H
#define LLRT_JIT_EMIT_PLACE_INDEX_H

#include "jit/emit/core/emitter.h"

/* Loads the extents and values that hold for the whole block. Needs: the decoded block. */
void emit_begin_indices(emitter *e);
/* i1: whether the block has something to do. */
LLVMValueRef emit_present(emitter *e);
void emit_index_terms_at(emitter *e, emit_place *place, uint64_t tile, emit_index_terms *terms);
void emit_report_step(emitter *e, const plan_step *step);

#endif
