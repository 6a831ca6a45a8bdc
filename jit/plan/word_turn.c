/* See word_turn.h. */
#include "jit/plan/word_turn.h"

#include "base/bits.h"
#include "jit/plan/frame.h"

#include <string.h>

bool plan_word_turn_of(const plan_value *in, const plan_value *out, plan_word_turn *turn) {
  frame from, to;
  bool turned = false;
  if (in->word != out->word || in->bits < 8 || in->bits << in->word > 32) return false;
  frame_of_value(in, &from);
  frame_of_value(out, &to);
  if (from.n_registers != to.n_registers || from.n_lanes != to.n_lanes || from.n_lanes > PLAN_ROUND_LANES) return false;
  if (memcmp(from.registers, to.registers, sizeof from.registers) != 0) return false;
  *turn = (plan_word_turn){.n_lanes = from.n_lanes};
  for (int i = 0; i < from.n_lanes; i++) {
    uint64_t x = frame_coordinates(&from, from.lanes[i] ^ to.lanes[i]);
    if (x >> from.word) return false;
    turn->byte[i] = (uint8_t)(x * (uint64_t)(in->bits / 8));
    turned |= x != 0;
  }
  return turned;
}

void plan_word_turn_cost(const plan_value *out, plan_cost *cost) {
  cost->permutes += 1 << (plan_value_bits(out, PLAN_REGISTER) - out->word);
}

/* ---- planning ---- */

bool frame_turn_words(const frame *from, const frame *to, int element_bits, frame *based, frame *turned) {
  if (element_bits < 8 || !frame_rebase(from, to, based)) return false;
  *turned = *based;
  bool turns = false;
  for (int i = 0; i < based->n_lanes; i++) {
    uint64_t part = frame_coordinates(to, based->lanes[i]) & bits_mask(to->word);
    if (based->lanes[i] >> based->tile_bits) part = 0;
    turned->lanes[i] ^= f2_apply(to->registers, part);
    turns |= part != 0;
  }
  return turns;
}
