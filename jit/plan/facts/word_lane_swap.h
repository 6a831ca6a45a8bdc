/* A PLAN_SHUFFLE by which one vector inside the word changes places with one among the lanes:
 * shared by the cost model and by emission.
 *
 * With b the lane's bit, a lane keeps the bytes of a word whose place has bit `byte_bit` = b and
 * sends the others: those of two words fill one. So two words take a permute that packs them, a
 * shuffle, and a permute for each result, whose selectors depend on b alone. A word without a
 * partner is sent whole; so are both words of one pair in plan_tuning.whole_swap_pairs, a shuffle
 * more for a permute less, since permutes alone would take longer than shuffles. */
#ifndef LLRT_JIT_PLAN_FACTS_WORD_LANE_SWAP_H
#define LLRT_JIT_PLAN_FACTS_WORD_LANE_SWAP_H

#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/types/tuning.h"

typedef struct plan_word_lane_swap {
  int byte_bit; /* the bit of a byte's number in its word (0, 1) that changes places */
  int lane;     /* the bit of the lane's number that does */
  bool paired;  /* words 2 i and 2 i + 1 share a shuffle, but for pairs that are sent whole */
} plan_word_lane_swap;

/* Whether a PLAN_SHUFFLE from in to out is such a swap and nothing else; then *swap says which. */
bool plan_word_lane_swap_of(const plan_value *in, const plan_value *out, plan_word_lane_swap *swap);

/* Whether word w shares its shuffle with the word beside it. */
bool plan_word_lane_swap_packs(const plan_tuning *tuning, const plan_word_lane_swap *swap, int w);

/* Selectors of byte permutes for lanes whose bit is b: 0 to 3 are the bytes of the first word, 4 to
 * 7 those of the second. */
typedef struct plan_word_selectors {
  int send[4];    /* of words 2 i and 2 i + 1 */
  int keep[2][4]; /* of word 2 i + k and what was received */
  int whole[4];   /* of a word and another whole one */
} plan_word_selectors;
void plan_word_select(const plan_word_lane_swap *swap, int b, plan_word_selectors *selectors);

/* Adds a warp's shuffles and permutes, in instructions, to *cost. */
void plan_word_lane_swap_cost(const plan_tuning *tuning, const plan_word_lane_swap *swap,
                              const plan_value *out, plan_cost *cost);

/* The thread bases on the way to one whose word has those vectors of to's word that were lanes, one
 * a step, each a PLAN_SHUFFLE. Returns the number of steps, at most a word's bits. */
int thread_basis_swap_words(const thread_basis *from, const thread_basis *to, int element_bits,
                            thread_basis *steps);

#endif
