/* Private to *overhang*.c and emit_straddle*.c; emit_overhang.c says what this is about. */
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
  int element, bytes, n; /* bytes of an element (of 4 bits: 1); bytes and words of a vector */
  int aligned;           /* log2 bytes that divide every piece's address */
  int pieces, reach;     /* of a group; its bytes */
  int position[8];
  LLVMValueRef piece; /* i32: this lane's number in its group */
  LLVMValueRef
      first; /* i1: whether this thread stores: it holds the first of copies. NULL: all do */
  LLVMValueRef front, has_front; /* stores of 4 bits: the element in front of the group (i32), and
                                    whether the group's first byte has it (i1) */
} overhang;

/* Register number of word k of the piece that begins at register index `first`. */
uint64_t overhang_register(const overhang *o, uint64_t first, int k);
/* The lane with piece `piece` (i32) of this lane's group. */
LLVMValueRef overhang_lane(const overhang *o, LLVMValueRef piece);
/* A word of the lane with piece `piece` (i32) of this lane's group. */
LLVMValueRef overhang_from(const overhang *o, LLVMValueRef word, LLVMValueRef piece);
/* A vector's words from another lane. */
void overhang_shuffle(const overhang *o, LLVMValueRef *words, LLVMValueRef lane, LLVMValueRef *out);
/* The words of the next piece's lane, after the last piece the first's. */
void overhang_next(const overhang *o, LLVMValueRef *words, LLVMValueRef *out);
/* The vector that begins `shift` (i32) bytes inside of `own` followed by `next`. */
void overhang_realign(const overhang *o, LLVMValueRef *own, LLVMValueRef *next, LLVMValueRef shift,
                      LLVMValueRef *out);
/* The byte permute that makes the word which begins `shift` mod 4 bytes inside of two. */
LLVMValueRef overhang_selector(const emitter *e, LLVMValueRef shift);
/* Whether pieces may lie off a vector at all. */
bool overhang_may_shift(const overhang *o);
/* How far an address (a pointer) lies past a vector's begin, or with `before` in front of the next;
 * i32. */
LLVMValueRef overhang_misalignment(const overhang *o, LLVMValueRef pointer, bool before);
/* How many bytes from the begin of the piece at `tile` on are inside all bounds: i32, negative
 * where the row ends before it, more than the piece's where it goes on. */
LLVMValueRef overhang_valid_bytes(overhang *o, uint64_t tile);
LLVMTypeRef overhang_vector_type(const overhang *o);
/* The kernel's fill in every element of a word. */
LLVMValueRef overhang_fill(const overhang *o);

/* By words (plan_step.by_words): how many a piece touches; asks for those of the piece that begins
 * `shift` bytes inside of `vector`, under a condition (NULL: always), without which they are fill;
 * and the piece that they make. */
int overhang_word_count(const overhang *o);
void overhang_request_words(const overhang *o, LLVMValueRef vector, LLVMValueRef shift,
                            LLVMValueRef condition, LLVMValueRef *words);
void overhang_join_words(const overhang *o, LLVMValueRef shift, LLVMValueRef *words,
                         LLVMValueRef *out);

/* emit_straddle.c: a load of 4-bit elements, by words. */
void emit_straddle_step(emitter *e, const plan_step *step);
/* The low word of two that follow each other, `shift` (i32, 0 .. 32) bits on. */
LLVMValueRef overhang_shifted(const emitter *e, LLVMValueRef low, LLVMValueRef high,
                              LLVMValueRef shift);
/* emit_straddle_store.c: a store of 4-bit elements, of the pieces at so many register indices. */
void emit_straddle_store(overhang *o, const uint64_t *index, int n);

/* emit_overhang_store.c: a vector, where a condition (NULL: always) holds; the ends of a group that
 * begins at `start` and is stored whole, or of which `total` bytes (i32) are inside: `shift` bytes
 * (i32) before its first vector, and what is behind its last one. own: what each piece has from its
 * first byte on; moved: the vector that begins in it. */
void overhang_store_vector(const overhang *o, LLVMValueRef pointer, LLVMValueRef condition,
                           LLVMValueRef *words);
void overhang_store_ends(const overhang *o, LLVMValueRef *moved, LLVMValueRef start,
                         LLVMValueRef shift);
void overhang_store_masked_ends(const overhang *o, LLVMValueRef *own, LLVMValueRef *moved,
                                LLVMValueRef start, LLVMValueRef shift, LLVMValueRef total);

/* The pieces at so many register indices. */
void overhang_load(overhang *o, const uint64_t *index, int n);
void overhang_store(overhang *o, const uint64_t *index, int n);

#endif
