/* A PLAN_SHUFFLE by which one vector inside the word changes places with one among the lanes: shared by the
 * cost model and by emission.
 *
 * With b the lane's bit, a lane keeps the bytes of a word whose place has bit `byte_bit` = b and sends the
 * others: those of two words fill one. So two words take a permute that packs them, a shuffle, and a permute
 * for each result, whose selectors depend on b alone. A word without a partner is sent whole; so are both words of
 * every fourth pair, a shuffle more for a permute less, since permutes would take longer than shuffles. */
#ifndef LLRT_JIT_PLAN_WORD_SWAP_H
#define LLRT_JIT_PLAN_WORD_SWAP_H

#include "jit/plan/access.h"

typedef struct plan_word_swap {
  int byte_bit; /* of a byte's place in the word, that the lane bit gives afterwards */
  int lane;
  bool paired;  /* words 2 i and 2 i + 1 share a shuffle, but for every fourth pair's */
} plan_word_swap;

/* Whether a PLAN_SHUFFLE from in to out is one. */
bool plan_word_swap_of(const plan_value *in, const plan_value *out, plan_word_swap *swap);

/* Whether word w shares its shuffle with the word beside it. */
bool plan_word_swap_packs(const plan_word_swap *swap, int w);

/* Byte selectors for lanes with bit b: of bytes 0-3 of the first word, 4-7 of the second. */
typedef struct plan_word_selectors {
  int send[4];    /* of words 2 i and 2 i + 1 */
  int keep[2][4]; /* of word 2 i + k and what was received */
  int whole[4];   /* of a word and another whole one */
} plan_word_selectors;
void plan_word_select(const plan_word_swap *swap, int b, plan_word_selectors *selectors);

/* Adds the shuffles and permutes of a warp. */
void plan_word_swap_cost(const plan_word_swap *swap, const plan_value *out, plan_cost *cost);

#endif
