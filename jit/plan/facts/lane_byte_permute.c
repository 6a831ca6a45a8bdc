/* See lane_byte_permute.h. */
#include "jit/plan/facts/lane_byte_permute.h"

#include "base/bits.h"
#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/facts/shuffle_round.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

bool plan_lane_byte_permute_of(const plan_value *in, const plan_value *out,
                               plan_lane_byte_permute *turn) {
  thread_basis from, to;
  bool turned = false;
  if (in->word != out->word || in->bits < 8 || in->bits << in->word > 32) return false;
  thread_basis_of_value(in, &from);
  thread_basis_of_value(out, &to);
  if (from.n_registers != to.n_registers || from.n_lanes != to.n_lanes ||
      from.n_lanes > PLAN_SHUFFLE_LANES)
    return false;
  if (memcmp(from.registers, to.registers, sizeof from.registers) != 0) return false;
  *turn = (plan_lane_byte_permute){.n_lanes = from.n_lanes};
  for (int i = 0; i < from.n_lanes; i++) {
    uint64_t x = thread_basis_coordinates(&from, from.lanes[i] ^ to.lanes[i]);
    if (x >> from.word) return false;
    turn->byte[i] = (uint8_t)(x * (uint64_t)(in->bits / 8));
    turned |= x != 0;
  }
  return turned;
}

void plan_lane_byte_permute_cost(const plan_value *out, plan_cost *cost) {
  cost->permutes += 1 << (plan_value_bits(out, PLAN_REGISTER) - out->word);
}

/* ---- planning ---- */

bool thread_basis_permute_lane_bytes(const thread_basis *from, const thread_basis *to,
                                     int element_bits, thread_basis *based, thread_basis *turned) {
  if (element_bits < 8 || !thread_basis_rebase(from, to, based)) return false;
  *turned = *based;
  bool turns = false;
  for (int i = 0; i < based->n_lanes; i++) {
    uint64_t part = thread_basis_coordinates(to, based->lanes[i]) & bits_mask(to->word);
    if (based->lanes[i] >> based->tile_bits) part = 0;
    turned->lanes[i] ^= f2_apply(to->registers, part);
    turns |= part != 0;
  }
  return turns;
}
