/* A shuffle round as numbers: where each register and lane of the result comes from. */

#include "jit/plan/facts/shuffle_round.h"

#include "base/bits.h"
#include "jit/plan/facts/thread_basis.h"
#include "layout/f2.h"

#include <assert.h>
#include <string.h>

/* Coordinates in `from`: registers from bit 0, lanes from bit n_registers. */
static uint64_t coordinates_in(const f2_basis *basis, uint64_t x) {
  uint64_t at = 0;
  bool inside = f2_basis_coordinates(basis, x, &at);
  assert(inside);
  (void)inside;
  return at;
}

/* Inverts the n x n matrix of columns; false when singular. */
static bool invert(const uint64_t *columns, int n, uint64_t *inverse) {
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < n; i++)
    if (!f2_basis_insert(&basis, columns[i])) return false;
  for (int i = 0; i < n; i++) f2_basis_coordinates(&basis, 1ull << i, &inverse[i]);
  return true;
}

static bool is_identity(const uint64_t *columns, int n) {
  for (int i = 0; i < n; i++)
    if (columns[i] != 1ull << i) return false;
  return true;
}

static bool has_direction(const thread_basis *f, uint64_t x) {
  for (int i = 0; i < f->n_lanes; i++)
    if (f->lanes[i] == x) return true;
  return false;
}

/* A lane that held copies may read any of them: it reads its own. */
static void stay_in_copies(const thread_basis *from, thread_basis *to) {
  for (int i = 0; i < from->n_lanes; i++)
    if (from->lanes[i] >> from->tile_bits && !has_direction(to, from->lanes[i]))
      to->lanes[i] ^= from->lanes[i];
}

/* The functional phi with register part of lane column i = drawn * phi_i. Lanes that hold copies
 * afterwards but not before choose between what is theirs and what they are sent. False where lanes
 * draw from several registers, or from one while others choose so. */
static bool read_round(const thread_basis *from, const thread_basis *to,
                       plan_shuffle_round *round) {
  f2_basis basis;
  f2_basis_init(&basis);
  int n = from->n_registers;
  bool one = true, begins = false;
  for (int i = 0; i < n; i++) f2_basis_insert_as(&basis, from->registers[i], 1ull << i);
  for (int i = 0; i < from->n_lanes; i++)
    f2_basis_insert_as(&basis, from->lanes[i], 1ull << (n + i));
  round->n_registers = to->n_registers;
  round->n_lanes = from->n_lanes;
  for (int i = 0; i < to->n_registers; i++) {
    uint64_t at = coordinates_in(&basis, to->registers[i]);
    round->register_of_register[i] = at & bits_mask(n);
    round->lane_of_register[i] = at >> n;
  }
  for (int i = 0; i < to->n_lanes; i++) {
    if ((to->lanes[i] & bits_mask(to->tile_bits)) == 0 && !has_direction(from, to->lanes[i])) {
      round->chooser |= 1ull << i;
      begins = true;
      continue;
    }
    uint64_t at = coordinates_in(&basis, to->lanes[i]);
    round->lane_of_lane[i] = at >> n;
    if (at & bits_mask(n)) {
      one &= round->drawn == 0 || round->drawn == (at & bits_mask(n));
      round->drawn = at & bits_mask(n);
      round->chooser |= 1ull << i;
    }
  }
  return one && !(begins && round->drawn);
}

/* Where lane_of_lane is singular, its image is a hyperplane; a register direction `pair` leads out
 * of it. Adding lane(pair) for lanes with chooser = 1 makes the lane map of a single shuffle
 * invertible. */
static bool pair_registers(plan_shuffle_round *round) {
  uint64_t inverse[THREAD_BASIS_MAX_LANES];
  memcpy(round->sender, round->lane_of_lane, sizeof round->sender);
  if (invert(round->sender, round->n_lanes, round->sender_inverse)) return true;
  for (int i = 0; i < round->n_registers; i++) {
    uint64_t lane = round->lane_of_register[i];
    for (int j = 0; j < round->n_lanes; j++)
      round->sender[j] = round->lane_of_lane[j] ^ (round->chooser >> j & 1 ? lane : 0);
    if (!invert(round->sender, round->n_lanes, inverse)) continue;
    memcpy(round->sender_inverse, inverse, sizeof inverse);
    round->paired = true;
    round->pair = i;
    return true;
  }
  return false;
}

static int rank_of(const uint64_t *columns, int n) {
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < n; i++) f2_basis_insert(&basis, columns[i]);
  return basis.rank;
}

/* Lanes that held copies, but do not, need not read their own: of each such direction, which no
 * lane reads by, a lane takes it by which more lanes are read, itself if it is one. */
static void read_other_copies(const thread_basis *from, const thread_basis *to,
                              plan_shuffle_round *round) {
  for (int i = 0; i < from->n_lanes; i++) {
    if (from->lanes[i] >> from->tile_bits == 0 || has_direction(to, from->lanes[i])) continue;
    int rank = rank_of(round->lane_of_lane, round->n_lanes);
    for (int k = 0; k < round->n_lanes; k++) {
      uint64_t *lane = &round->lane_of_lane[(i + k) % round->n_lanes];
      *lane ^= 1ull << i;
      if (rank_of(round->lane_of_lane, round->n_lanes) > rank) break;
      *lane ^= 1ull << i;
    }
  }
}

/* Lanes that hold copies stay with their own, as far as all lanes are read then. */
static bool find_senders(const thread_basis *from, const thread_basis *to,
                         plan_shuffle_round *round) {
  thread_basis staying = *to;
  stay_in_copies(from, &staying);
  if (!read_round(from, &staying, round)) return false;
  if (pair_registers(round)) return true;
  memset(round, 0, sizeof *round);
  read_round(from, to, round);
  read_other_copies(from, to, round);
  return pair_registers(round);
}

bool plan_shuffle_round_of(const plan_value *in, const plan_value *out, plan_shuffle_round *round) {
  thread_basis from, to;
  memset(round, 0, sizeof *round);
  thread_basis_of_values(in, out, &from, &to);
  bool found = find_senders(&from, &to, round);
  round->stays = is_identity(round->sender, round->n_lanes);
  for (int i = 0; i < round->n_registers; i++)
    if (round->lane_of_register[i] && !(round->paired && i == round->pair)) round->stays = false;
  return found;
}
