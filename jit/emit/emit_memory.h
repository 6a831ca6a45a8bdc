/* Memory beside addresses: indices, elements, pieces that bounds part, what goes past the caches. */
#ifndef LLRT_JIT_EMIT_EMIT_MEMORY_H
#define LLRT_JIT_EMIT_EMIT_MEMORY_H

#include "jit/emit/emitter.h"

/* ---- emit_access_nibble.c ---- */

/* The element of `bits` at tile coordinate `tile` of a tensor, as an integer (of 4 bits: i8); masked: 0
 * where it is outside. */
LLVMValueRef emit_load_element(emitter *e, emit_place *place, uint64_t tile, int bits, bool masked);

/* ---- emit_index.c ---- */

/* Loads the extents and values that hold for the whole block. Needs: the decoded block. */
void emit_begin_indices(emitter *e);
/* i1: whether the block has something to do. */
LLVMValueRef emit_present(emitter *e);
void emit_index_terms_at(emitter *e, emit_place *place, uint64_t tile, emit_index_terms *terms);
void emit_report_step(emitter *e, const plan_step *step);

/* ---- emit_parted.c: pieces of a host's register that bounds part ---- */

/* Conditions on the piece of 2^lane_bits lanes from `tile` on, lane bit b of which adds lanes[b]: of all of it (i1), and
 * of each lane (a vector of i1). NULL: it holds. */
typedef struct emit_parted {
  LLVMValueRef whole, mask;
} emit_parted;
void emit_part(emitter *e, const emit_place *place, uint64_t tile, const uint64_t *lanes, int lane_bits,
               emit_parted *out);
/* A mask of so many lanes, all of which have one condition. */
LLVMValueRef emit_all_lanes(emitter *e, LLVMValueRef condition, unsigned lanes);
/* A vector whose lanes outside of the mask are those of `otherwise`; stores those inside. */
LLVMValueRef emit_parted_load(emitter *e, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef mask,
                              LLVMValueRef otherwise);
void emit_parted_store(emitter *e, LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef mask);

/* ---- emit_region.c: iterations of the host's regions ---- */

/* i1: whether all that the value has in this iteration is surely inside every bound; is not all beyond one of the
 * destination's (NULL: always). */
LLVMValueRef emit_iteration_interior(emitter *e, const plan_value *value);
LLVMValueRef emit_iteration_present(emitter *e, const plan_value *value);
/* PLAN_PREFETCH at `at`, in a body that ends before `end`; and those of its accesses that are due with the next word. */
void emit_prefetch_step(emitter *e, int at, int end);
void emit_ahead_some(emitter *e);

/* ---- emit_stream.c: stores past the caches ---- */

/* Whether this launch's stores bypass the caches; what stores, once for either way where that is not
 * known; a store to a multiple of so many bytes that bypasses them where that is the way. */
void emit_begin_streams(emitter *e);
void emit_either_way(emitter *e, void (*body)(emitter *e, void *data), void *data);
void emit_set_nontemporal(const emitter *e, LLVMValueRef store, int bytes);

#endif
