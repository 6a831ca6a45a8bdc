/* A PLAN_SHUFFLE that moves nothing between lanes: of each word the elements change places as the
 * lane's number says, because lanes have a part in the vectors inside the word before that they do
 * not have afterwards. One byte permute a word, by a selector that depends on the lane alone.
 * Shared by the cost model and by emission. */
#ifndef LLRT_JIT_PLAN_FACTS_LANE_BYTE_PERMUTE_H
#define LLRT_JIT_PLAN_FACTS_LANE_BYTE_PERMUTE_H

#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/facts/shuffle_round.h"

typedef struct plan_lane_byte_permute {
  int n_lanes;
  uint8_t byte[PLAN_SHUFFLE_LANES]; /* what a bit of the lane is XORed with in every byte's place */
} plan_lane_byte_permute;

/* Whether a PLAN_SHUFFLE from in to out is one. */
bool plan_lane_byte_permute_of(const plan_value *in, const plan_value *out,
                               plan_lane_byte_permute *turn);

/* Adds the permutes of a warp. */
void plan_lane_byte_permute_cost(const plan_value *out, plan_cost *cost);

/* `from` with the word of `to` formed (*based), and with lanes that have no part in it (*turned): a
 * PLAN_SHUFFLE from the former. False where lanes have none, or the word is not in the registers.
 */
bool thread_basis_permute_lane_bytes(const thread_basis *from, const thread_basis *to,
                                     int element_bits, thread_basis *based, thread_basis *turned);

#endif
