/* Overhanging loads and stores of a GPU: what *overhang*.c and emit_straddle*.c share; private to
 * them. emit_overhang.c says what pieces and groups are. */
#ifndef LLRT_JIT_EMIT_OVERHANG_H
#define LLRT_JIT_EMIT_OVERHANG_H

#include "jit/emit/core/emitter.h"
#include "jit/plan/facts/row_group.h"

#define OVERHANG_WORDS 4 /* 32-bit words of a vector */
#define OVERHANG_PIECES (EMIT_MAX_REGISTERS / 4)

typedef struct overhang {
  emitter *e;
  const plan_step *step;
  const plan_value *value;
  LLVMValueRef *words; /* of the value */
  emit_place place;
  plan_group group;
  int element;        /* bytes of an element; 1 of 4 bits */
  int bytes, n;       /* of a vector: bytes, 32-bit words */
  int aligned;        /* log2 bytes that divide every piece's address */
  int pieces, reach;  /* of a group: pieces, bytes */
  int position[8];    /* register bits along a piece, from the lowest */
  LLVMValueRef piece; /* i32: the number of this lane's piece in its group */
  LLVMValueRef
      first; /* i1: whether this thread stores: it holds the first of copies. NULL: all do */
  LLVMValueRef front, has_front; /* stores of 4 bits: the element in front of the group (i32), and
                                    whether the group's first byte has it (i1) */
} overhang;

/* Register number of word k of the piece that begins at register index `first`. */
uint64_t overhang_register(const overhang *o, uint64_t first, int k);
/* The lane with piece `piece` (i32) of this lane's group. */
LLVMValueRef overhang_lane(const overhang *o, LLVMValueRef piece);
/* The value that `word` has in the lane with piece `piece` (i32) of this lane's group. */
LLVMValueRef overhang_from(const overhang *o, LLVMValueRef word, LLVMValueRef piece);
/* out: what the words of a vector are in lane number `lane` (i32). */
void overhang_shuffle(const overhang *o, LLVMValueRef *words, LLVMValueRef lane, LLVMValueRef *out);
/* out: what the words are in the lane of the next piece; behind the last piece comes the first. */
void overhang_next(const overhang *o, LLVMValueRef *words, LLVMValueRef *out);
/* out: the vector that begins `shift` bytes (i32, 0 to a vector's) inside of `own`, which `next`
 * follows. */
void overhang_realign(const overhang *o, LLVMValueRef *own, LLVMValueRef *next, LLVMValueRef shift,
                      LLVMValueRef *out);
/* The selector of the byte permute by which a word begins `shift` mod 4 bytes inside of two words.
 */
LLVMValueRef overhang_selector(const emitter *e, LLVMValueRef shift);
/* Whether a piece may begin inside of an aligned vector. */
bool overhang_may_shift(const overhang *o);
/* i32: bytes from the begin of the aligned vector that holds an address to the address; `before`:
 * from the address to the begin of the next vector. */
LLVMValueRef overhang_misalignment(const overhang *o, LLVMValueRef pointer, bool before);
/* i32: bytes from the begin of the piece at tile coordinate `tile` to the end of its row, as bounds
 * leave it: negative where the row ends before the piece, more than a piece's where it goes on. */
LLVMValueRef overhang_valid_bytes(overhang *o, uint64_t tile);
LLVMTypeRef overhang_vector_type(const overhang *o);
/* The kernel's fill in every element of a word. */
LLVMValueRef overhang_fill(const overhang *o);

/* Loads word by word (plan_step.by_words). How many words a piece touches at most. */
int overhang_word_count(const overhang *o);
/* Loads those of the piece that begins `shift` bytes (i32) inside of the vector at `vector`; where
 * the condition (i1; NULL: always) does not hold they are the fill. */
void overhang_request_words(const overhang *o, LLVMValueRef vector, LLVMValueRef shift,
                            LLVMValueRef condition, LLVMValueRef *words);
/* out: the piece that such words make. */
void overhang_join_words(const overhang *o, LLVMValueRef shift, LLVMValueRef *words,
                         LLVMValueRef *out);

/* emit_straddle.c: a load of 4-bit elements, word by word. */
void emit_straddle_step(emitter *e, const plan_step *step);
/* The low 32 bits of the 64 of `high` and `low`, shifted right by `shift` bits (i32, 0 to 32). */
LLVMValueRef overhang_shifted(const emitter *e, LLVMValueRef low, LLVMValueRef high,
                              LLVMValueRef shift);
/* emit_straddle_store.c: stores the pieces of 4-bit elements that begin at n register indices. */
void emit_straddle_store(overhang *o, const uint64_t *index, int n);

/* emit_overhang_run.c: stores the pieces that begin at n register indices, if they make runs. */
bool overhang_store_runs(const overhang *o, const uint64_t *index, int n);

/* emit_overhang_store.c: stores a vector where the condition (i1; NULL: always) holds. */
void overhang_store_vector(const overhang *o, LLVMValueRef pointer, LLVMValueRef condition,
                           LLVMValueRef *words);
/* Stores the two ends of the group that begins at `start`: the `shift` bytes (i32) before its first
 * aligned vector and what is behind its last one. moved: the vector that begins in each piece. */
void overhang_store_ends(const overhang *o, LLVMValueRef *moved, LLVMValueRef start,
                         LLVMValueRef shift);
/* The same of a group of which `total` bytes (i32) are inside the bounds. own: each piece from its
 * first byte on. */
void overhang_store_masked_ends(const overhang *o, LLVMValueRef *own, LLVMValueRef *moved,
                                LLVMValueRef start, LLVMValueRef shift, LLVMValueRef total);

/* Loads, or stores, the pieces that begin at n register indices. */
void overhang_load_exact(overhang *o, const uint64_t *index, int n); /* emit_overhang_exact.c */
void overhang_load(overhang *o, const uint64_t *index, int n);
void overhang_store(overhang *o, const uint64_t *index, int n);

#endif
