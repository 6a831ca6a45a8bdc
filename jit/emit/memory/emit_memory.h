/* Memory: steps that load, store and copy; single elements; pieces of which a bound leaves some
 * lanes; stores that bypass the caches. */
#ifndef LLRT_JIT_EMIT_EMIT_MEMORY_H
#define LLRT_JIT_EMIT_EMIT_MEMORY_H

#include "jit/emit/core/emitter.h"

/* ---- steps ---- */

void emit_load_step(emitter *e, const plan_step *step); /* emit_access.c */
void emit_store_step(emitter *e, const plan_step *step);
void emit_shared_store_step(emitter *e, const plan_step *step);
void emit_shared_load_step(emitter *e, const plan_step *step);
/* Loads the matrices that hold word w of a lazy shared load. */
void emit_matrix_word(emitter *e, const plan_step *step, int w);
void emit_overhang_step(emitter *e, const plan_step *step); /* emit_overhang.c: LOAD, STORE */
void emit_load_front(emitter *e, const plan_step *step);    /* emit_front.c */
void emit_copy_step(emitter *e, const plan_step *step);     /* emit_copy.c */
#define EMIT_LINE_PIECES 8                                  /* of 16 bytes */
/* i32: of a line of memory the pieces of 16 bytes before the one with which the lane's row begins
 * (plan_step.lines). */
LLVMValueRef emit_pieces_before(emitter *e, const plan_step *step);
/* Experts' rows that an index gathers are the same in every turn of a walk: reads, before the walk,
 * what says which the copies of body `at` take (emit_keep_values). */
void emit_keep_rows_of_copies(emitter *e, int at);
/* PLAN_SEND, PLAN_SENT; the wait of the latter alone. */
void emit_send_step(emitter *e, const plan_step *step);
void emit_sent_step(emitter *e);
void emit_await_sent(emitter *e);
/* emit_box.c: the copies of a step by tensor maps, which tell `barrier` as they arrive. */
void emit_box_copy(emitter *e, const plan_step *step, LLVMValueRef barrier);
/* How many bytes such copies of a PLAN_PRODUCE, step `at`, bring. */
LLVMValueRef emit_box_bytes(emitter *e, int at);

/* Panels that are gathered or in place: PLAN_STAGE. emit_stage.c. */
void emit_stage_step(emitter *e);
/* Staged panels of the source: PLAN_STAGE and PLAN_LOAD. emit_panel.c. */
void emit_stage_apart(emitter *e);
void emit_load_staged(emitter *e, const plan_step *step);
void emit_load_vectors(emitter *e, const plan_step *step);
/* Staged panels of the destination: PLAN_STORE, and the copy to memory. emit_panel_store.c. */
void emit_store_apart(emitter *e, const plan_step *step);
void emit_copy_apart(emitter *e);

/* Panels in place whose elements are loaded one by one and stored together: PLAN_LOAD.
 * emit_panel_vector.c. */
void emit_load_together(emitter *e, const plan_step *step);
/* Where byte `at` (i64) of a panel in place lies in shared memory. */
LLVMValueRef emit_panel_place(emitter *e, LLVMValueRef at);

/* emit_ahead.c: PLAN_PREFETCH, step `at`, in a body that ends before step `end`: its accesses are
 * spread over the words of the steps between. */
/* emit_ask.c: the same step on a GPU. */
void emit_ask_step(emitter *e, const plan_step *step);
void emit_prefetch_step(emitter *e, int at, int end);
/* Those of its accesses that are due with the next word. */
void emit_ahead_some(emitter *e);

/* ---- emit_access_nibble.c ---- */

/* The element of `bits` bits at tile coordinate `tile` of place's tensor, as an integer (of 4 bits:
 * i8). masked: 0 where it is outside of a bound; else it has to be inside. */
LLVMValueRef emit_load_element(emitter *e, emit_place *place, uint64_t tile, int bits, bool masked);

/* ---- emit_parted.c: pieces of a host's register of which a bound leaves some lanes ---- */

/* Whether a piece of 2^lane_bits lanes is inside the bounds: as a whole (i1), and each lane (a
 * vector of i1). NULL: surely. The piece begins at tile coordinate `tile`; bit b of a lane's number
 * adds lanes[b] to that. */
typedef struct emit_parted {
  LLVMValueRef whole, mask;
} emit_parted;
void emit_part(emitter *e, const emit_place *place, uint64_t tile, const uint64_t *lanes,
               int lane_bits, emit_parted *out);
/* Where masks are registers of bits of their own (AVX-512), a condition on all lanes is a mask,
 * too: shorter than a branch. Not so in turns of rows (emit_turned): what is left out as a whole
 * are rows behind the last one, and to load under an empty mask from memory that nobody has takes
 * the processor hundreds of clocks, while all lines of a turn take a branch alike. Masks of AVX2
 * cost so much wherever they are empty. */
bool emit_masks_whole(const emitter *e, int bits);
/* A mask of `lanes` lanes, all of which are `condition` (i1). */
LLVMValueRef emit_all_lanes(emitter *e, LLVMValueRef condition, unsigned lanes);
/* A vector from memory; lanes outside of the mask are those of `otherwise`, and are not read. */
LLVMValueRef emit_parted_load(emitter *e, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef mask,
                              LLVMValueRef otherwise);
/* Stores the lanes inside of the mask. */
void emit_parted_store(emitter *e, LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef mask);

/* ---- emit_stream.c: stores past the caches, and those that are collected first ---- */

/* Finds out whether this launch's stores bypass the caches. */
void emit_begin_streams(emitter *e);
/* Emits what stores by `body`: twice, behind a branch, where only the launch knows the way. */
void emit_either_way(emitter *e, void (*body)(emitter *e, void *data), void *data);
/* Has a store, to an address that is a multiple of `bytes`, bypass the caches where that is the
 * way. */
void emit_set_nontemporal(const emitter *e, LLVMValueRef store, int bytes);
/* Inside of PLAN_COLLECT: where the collection has what belongs at `pointer`; elsewhere `pointer`.
 */
LLVMValueRef emit_collected(emitter *e, LLVMValueRef pointer);

/* ---- what blocks of a cluster store in each other's memory: emit_pushed.c ---- */

/* Does nothing where they do not. */
void emit_begin_pushed(emitter *e);
/* Behind it all blocks of the cluster have begun. Once. */
void emit_await_blocks(emitter *e);
/* Behind it all is there that the block loads. */
void emit_pushed_step(emitter *e);

#endif
