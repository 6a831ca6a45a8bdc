/* Bases of threads: see thread_basis.h. */
#include "jit/plan/facts/thread_basis.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <assert.h>
#include <string.h>

void thread_basis_of_value(const plan_value *value, thread_basis *out) {
  memset(out, 0, sizeof *out);
  out->word = value->word;
  out->n_registers = plan_value_bits(value, PLAN_REGISTER);
  out->n_lanes = plan_value_bits(value, PLAN_LANE);
  out->tile_bits = value->layout.out[0].bits;
  assert(out->n_registers <= THREAD_BASIS_MAX_REGISTERS && out->n_lanes <= THREAD_BASIS_MAX_LANES);
  memcpy(out->registers, plan_value_columns(value, PLAN_REGISTER),
         (size_t)out->n_registers * sizeof *out->registers);
  memcpy(out->lanes, plan_value_columns(value, PLAN_LANE),
         (size_t)out->n_lanes * sizeof *out->lanes);
  out->iterations = plan_value_bits(value, PLAN_ITERATION);
  out->n_warps = plan_value_bits(value, PLAN_WARP);
  memcpy(out->warps, plan_value_columns(value, PLAN_WARP),
         (size_t)out->n_warps * sizeof *out->warps);
  for (int i = 0; i < out->n_lanes; i++)
    if (out->lanes[i] == 0) out->lanes[i] = 1ull << (out->tile_bits + i);
}

/* Whether one of the lanes stands for direction x. */
static bool has_lane(const thread_basis *f, uint64_t x) {
  for (int i = 0; i < f->n_lanes; i++)
    if (f->lanes[i] == x) return true;
  return false;
}

void thread_basis_of_values(const plan_value *in, const plan_value *out, thread_basis *from,
                            thread_basis *to) {
  thread_basis_of_value(in, from);
  thread_basis_of_value(out, to);
  for (int i = 0; i < to->n_lanes; i++) {
    if (to->lanes[i] >> to->tile_bits == 0 || has_lane(from, to->lanes[i])) continue;
    for (int j = 0; j < from->n_lanes; j++) {
      if (from->lanes[j] >> from->tile_bits == 0 || has_lane(to, from->lanes[j])) continue;
      to->lanes[i] = from->lanes[j];
      break;
    }
  }
}

void thread_basis_to_value(const thread_basis *f, const plan_value *from, plan_value *out) {
  plan_value made = *from;
  llrt_layout *layout = &made.layout;
  int rest = plan_value_bits(from, PLAN_WARP) + plan_value_bits(from, PLAN_ITERATION);
  int lanes = f->n_registers, warps = lanes + f->n_lanes;
  made.word = (uint8_t)f->word;
  memset(layout->column, 0, sizeof layout->column);
  layout->in[PLAN_REGISTER].bits = (uint8_t)f->n_registers;
  memcpy(layout->column, f->registers, (size_t)f->n_registers * sizeof *f->registers);
  for (int i = 0; i < f->n_lanes; i++)
    layout->column[lanes + i] = f->lanes[i] & bits_mask(f->tile_bits);
  memcpy(&layout->column[warps], plan_value_columns(from, PLAN_WARP),
         (size_t)rest * sizeof *f->warps);
  *out = made;
}

bool thread_basis_equal(const thread_basis *a, const thread_basis *b) {
  return a->word == b->word && a->n_registers == b->n_registers && a->n_lanes == b->n_lanes &&
         memcmp(a->registers, b->registers, sizeof a->registers) == 0 &&
         memcmp(a->lanes, b->lanes, sizeof a->lanes) == 0;
}

uint64_t thread_basis_coordinates(const thread_basis *f, uint64_t x) {
  f2_basis basis;
  uint64_t coordinates = 0;
  int shift = 0;
  f2_basis_init(&basis);
  for (int i = 0; i < f->n_registers; i++)
    f2_basis_insert_as(&basis, f->registers[i], 1ull << shift++);
  for (int i = 0; i < f->n_lanes; i++) f2_basis_insert_as(&basis, f->lanes[i], 1ull << shift++);
  for (int i = 0; i < f->n_warps; i++) f2_basis_insert_as(&basis, f->warps[i], 1ull << shift++);
  f2_basis_coordinates(&basis, x, &coordinates);
  return coordinates;
}

bool thread_basis_rebase(const thread_basis *from, const thread_basis *to, thread_basis *out) {
  f2_basis span, chosen;
  int n = 0;
  f2_basis_init(&span);
  f2_basis_init(&chosen);
  *out = *from;
  out->word = to->word;
  for (int i = 0; i < from->n_registers; i++) f2_basis_insert(&span, from->registers[i]);
  for (int i = 0; i < to->n_registers; i++) {
    if (f2_basis_contains(&span, to->registers[i]) && f2_basis_insert(&chosen, to->registers[i]))
      out->registers[n++] = to->registers[i];
    else if (i < to->word) return false;
  }
  for (int i = 0; i < from->n_registers; i++) {
    /* Free of to's word, so that whole words move from here on. */
    uint64_t x = from->registers[i];
    x ^= f2_apply(to->registers, thread_basis_coordinates(to, x) & bits_mask(to->word));
    if (f2_basis_insert(&chosen, x)) out->registers[n++] = x;
  }
  assert(n == from->n_registers);
  return true;
}
