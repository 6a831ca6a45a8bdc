/* Memory: steps that load, store and copy; elements, pieces that bounds part, what goes past the
 * caches. */
#ifndef LLRT_JIT_EMIT_EMIT_MEMORY_H
#define LLRT_JIT_EMIT_EMIT_MEMORY_H

#include "jit/emit/core/emitter.h"

/* ---- steps ---- */

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

/* Panels. emit_stage.c: those that are gathered or in place. */
void emit_stage_step(emitter *e);
/* emit_panel.c: STAGE, and LOAD of the source's panels apart; emit_panel_store.c: of the
 * destination's. */
void emit_stage_apart(emitter *e);
void emit_load_staged(emitter *e, const plan_step *step);
void emit_load_vectors(emitter *e, const plan_step *step);
void emit_store_apart(emitter *e, const plan_step *step);
void emit_copy_apart(emitter *e);

/* emit_ahead.c: PLAN_PREFETCH at `at`, in a body that ends before `end`; and those of its accesses
 * that are due with the next word. */
void emit_prefetch_step(emitter *e, int at, int end);
void emit_ahead_some(emitter *e);

/* ---- emit_access_nibble.c ---- */

/* The element of `bits` at tile coordinate `tile` of a tensor, as an integer (of 4 bits: i8);
 * masked: 0 where it is outside. */
LLVMValueRef emit_load_element(emitter *e, emit_place *place, uint64_t tile, int bits, bool masked);

/* ---- emit_parted.c: pieces of a host's register that bounds part ---- */

/* Conditions on the piece of 2^lane_bits lanes from `tile` on, lane bit b of which adds lanes[b]:
 * of all of it (i1), and of each lane (a vector of i1). NULL: it holds. */
typedef struct emit_parted {
  LLVMValueRef whole, mask;
} emit_parted;
void emit_part(emitter *e, const emit_place *place, uint64_t tile, const uint64_t *lanes,
               int lane_bits, emit_parted *out);
/* Where one instruction moves lanes under a mask, a condition on all of them is a mask, too:
 * shorter than a branch. Not so in turns of rows (emit_turned): what is left out as a whole are
 * rows behind the last one, and to load under an empty mask from memory that nobody has takes the
 * processor hundreds of clocks, while all lines of a turn take a branch alike. */
bool emit_masks_whole(const emitter *e, int bits);
/* A mask of as many lanes of so many bits, all of which have one condition. */
LLVMValueRef emit_all_lanes(emitter *e, LLVMValueRef condition, unsigned lanes, int bits);
/* A vector whose lanes outside of the mask are those of `otherwise`; stores those inside. */
LLVMValueRef emit_parted_load(emitter *e, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef mask,
                              LLVMValueRef otherwise);
void emit_parted_store(emitter *e, LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef mask);

/* ---- emit_stream.c: stores past the caches, and those that are collected first ---- */

/* Whether this launch's stores bypass the caches; what stores, once for either way where that is
 * not known; a store to a multiple of so many bytes that bypasses them where that is the way. */
void emit_begin_streams(emitter *e);
void emit_either_way(emitter *e, void (*body)(emitter *e, void *data), void *data);
void emit_set_nontemporal(const emitter *e, LLVMValueRef store, int bytes);
/* What a pointer to the tensor is among what PLAN_COLLECT collects; itself outside of such. */
LLVMValueRef emit_collected(emitter *e, LLVMValueRef pointer);

#endif
