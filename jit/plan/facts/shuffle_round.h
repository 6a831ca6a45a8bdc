/* PLAN_SHUFFLE as numbers. */
#ifndef LLRT_JIT_PLAN_FACTS_SHUFFLE_ROUND_H
#define LLRT_JIT_PLAN_FACTS_SHUFFLE_ROUND_H

#include "jit/plan/kernel/plan.h"

/* A PLAN_SHUFFLE as numbers. Register r', lane l' of the result comes from
 *   register  register_of_register(r') ^ drawn * parity(l' & chooser)
 *   lane      lane_of_register(r') ^ lane_of_lane(l')
 * For one shuffle instruction to read every lane once, `sender` is the lane map that it uses: it is
 * lane_of_lane where that is invertible, else (paired) lane_of_lane ^ lane_of_register(e_pair) on
 * lanes whose parity is 1: then results r' and r' ^ e_pair are made together by two shuffles. A
 * lane that held copies reads its own; one that holds copies afterwards is a chooser with nothing
 * drawn. */
#define PLAN_SHUFFLE_LANES 8
typedef struct plan_shuffle_round {
  int n_registers, n_lanes;
  uint64_t register_of_register[24], lane_of_register[24];
  uint64_t lane_of_lane[PLAN_SHUFFLE_LANES];
  uint64_t drawn, chooser;
  bool paired; /* results come in pairs along register bit `pair` */
  int pair;
  bool stays; /* the first shuffle of a pair (or the only one) moves nothing between lanes */
  uint64_t sender[PLAN_SHUFFLE_LANES], sender_inverse[PLAN_SHUFFLE_LANES];
} plan_shuffle_round;
/* False where lanes draw from several registers, or are not read once each whatever copies are
 * read: then it is no round. */
bool plan_shuffle_round_of(const plan_value *in, const plan_value *out, plan_shuffle_round *round);

#endif
