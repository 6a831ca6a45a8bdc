/* A PLAN_SHUFFLE that moves nothing between lanes: of each word the elements change places as the lane's number says,
 * because lanes have a part in the vectors inside the word before that they do not have afterwards. One byte permute
 * a word, by a selector that depends on the lane alone. Shared by the cost model and by emission. */
#ifndef LLRT_JIT_PLAN_WORD_TURN_H
#define LLRT_JIT_PLAN_WORD_TURN_H

#include "jit/plan/access.h"

typedef struct plan_word_turn {
  int n_lanes;
  uint8_t byte[PLAN_ROUND_LANES]; /* what a bit of the lane is XORed with in every byte's place */
} plan_word_turn;

/* Whether a PLAN_SHUFFLE from in to out is one. */
bool plan_word_turn_of(const plan_value *in, const plan_value *out, plan_word_turn *turn);

/* Adds the permutes of a warp. */
void plan_word_turn_cost(const plan_value *out, plan_cost *cost);

#endif
