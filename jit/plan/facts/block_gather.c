/* See block_gather.h. With S the source's layout, X the result's, N the projection that clears the
 * axis and A the coordinate's embedding, element (r, l, w) of the result comes from S^-1 (N X(r, l,
 * w) + A i): the places are linear in (r, l, w) and i, and only i is not known. */
#include "jit/plan/facts/block_gather.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"
#include "layout/traffic.h"

#include <string.h>

static uint64_t axis_mask(const plan_step *step) {
  return bits_mask(step->axis_bits) << step->axis;
}

/* The composition of `inverse`, tile -> place, with N X and A. */
static void map_of(const plan_kernel *kernel, const plan_step *step, const uint64_t *inverse,
                   plan_gather_map *out) {
  const plan_value *result = &kernel->value[step->out];
  uint64_t kept = ~axis_mask(step);
  memset(out, 0, sizeof *out);
  for (int i = 0; i < plan_value_bits(result, PLAN_REGISTER); i++)
    out->of_register[i] = f2_apply(inverse, plan_value_columns(result, PLAN_REGISTER)[i] & kept);
  for (int i = 0; i < plan_value_bits(result, PLAN_LANE); i++)
    out->of_lane[i] = f2_apply(inverse, plan_value_columns(result, PLAN_LANE)[i] & kept);
  for (int i = 0; i < plan_value_bits(result, PLAN_WARP); i++)
    out->of_warp[i] = f2_apply(inverse, plan_value_columns(result, PLAN_WARP)[i] & kept);
  for (int i = 0; i < step->axis_bits; i++) out->of_axis[i] = inverse[step->axis + i];
}

void plan_gather_offsets_of(const plan_kernel *kernel, const plan_step *step,
                            plan_gather_map *out) {
  plan_address_map map;
  plan_address_of_buffer(kernel, step->buffer, &map);
  for (int t = 0; t < LLRT_MAX_BITS; t++)
    map.column[t] = map.column[t] * kernel->value[step->in].bits / 8;
  map_of(kernel, step, map.column, out);
}

uint64_t plan_gather_moving(const plan_gather_map *map) {
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) bits |= map->of_lane[i] | map->of_warp[i];
  for (int i = 0; i < PLAN_GATHER_AXIS_BITS; i++) bits |= map->of_axis[i];
  return bits;
}

/* ---- inside the warp ---- */

/* Tile bit -> flat in-bits of the source, copies read at 0. */
static void invert_source(const plan_value *source, uint64_t *inverse) {
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < llrt_layout_in_bits(&source->layout); i++)
    f2_basis_insert_as(&basis, source->layout.column[i], 1ull << i);
  for (int t = 0; t < source->layout.out[0].bits; t++)
    f2_basis_coordinates(&basis, 1ull << t, &inverse[t]);
}

/* Applies f to every column of a map. */
static void take_bits(const plan_gather_map *from, int first, int n, plan_gather_map *to) {
  const uint64_t *in = from->of_register;
  uint64_t *out = to->of_register;
  for (size_t i = 0; i < sizeof *from / sizeof *in; i++) out[i] = in[i] >> first & bits_mask(n);
}

/* Whether every element comes from the warp that wants it. */
static bool is_inside_warp(const plan_value *source, const plan_gather_map *warp) {
  const uint64_t *columns = plan_value_columns(source, PLAN_WARP);
  uint64_t others = 0;
  for (int i = 0; i < 24; i++) others |= warp->of_register[i];
  for (int i = 0; i < 8; i++) others |= warp->of_lane[i];
  for (int i = 0; i < PLAN_GATHER_AXIS_BITS; i++) others |= warp->of_axis[i];
  for (int i = 0; i < plan_value_bits(source, PLAN_WARP); i++)
    others |= warp->of_warp[i] ^ (columns[i] ? 1ull << i : 0);
  return others == 0;
}

static bool stays_in_lane(const plan_value *source, const plan_gather_map *lane) {
  uint64_t others = 0;
  for (int i = 0; i < 24; i++) others |= lane->of_register[i];
  for (int i = 0; i < 8; i++) others |= lane->of_warp[i];
  for (int i = 0; i < PLAN_GATHER_AXIS_BITS; i++) others |= lane->of_axis[i];
  for (int i = 0; i < plan_value_bits(source, PLAN_LANE); i++)
    others |= lane->of_lane[i] ^ 1ull << i;
  return others == 0;
}

/* The words' numbers that lane, warp and coordinate span. */
static bool find_choices(const plan_value *source, plan_gather_lanes *out) {
  f2_basis span;
  f2_basis_init(&span);
  for (int i = 0; i < 8; i++)
    f2_basis_insert(&span, out->reg.of_lane[i] >> source->word << source->word);
  for (int i = 0; i < 8; i++)
    f2_basis_insert(&span, out->reg.of_warp[i] >> source->word << source->word);
  for (int i = 0; i < PLAN_GATHER_AXIS_BITS; i++)
    f2_basis_insert(&span, out->reg.of_axis[i] >> source->word << source->word);
  if (span.rank > PLAN_GATHER_CHOICES) return false;
  for (uint64_t p = span.pivots; p; p &= p - 1) {
    out->pivot[out->n_choices] = bits_lowest(p);
    out->choice[out->n_choices++] = span.row[bits_lowest(p)];
  }
  return true;
}

bool plan_gather_lanes_of(const plan_kernel *kernel, const plan_step *step,
                          plan_gather_lanes *out) {
  const plan_value *source = &kernel->value[step->in];
  int registers = plan_value_bits(source, PLAN_REGISTER),
      lanes = plan_value_bits(source, PLAN_LANE);
  uint64_t inverse[LLRT_MAX_BITS] = {0};
  plan_gather_map place, warp;
  memset(out, 0, sizeof *out);
  invert_source(source, inverse);
  map_of(kernel, step, inverse, &place);
  take_bits(&place, 0, registers, &out->reg);
  take_bits(&place, registers, lanes, &out->lane);
  take_bits(&place, registers + lanes, plan_value_bits(source, PLAN_WARP), &warp);
  if (!is_inside_warp(source, &warp)) return false;
  for (int i = 0; i < lanes; i++)
    if (plan_value_columns(source, PLAN_LANE)[i] == 0) out->lane.of_lane[i] |= 1ull << i;
  out->stays = stays_in_lane(source, &out->lane);
  return find_choices(source, out);
}

/* ---- cost ---- */

/* Instructions that bring a coordinate's bits to their places: each distance by which some move
 * takes a shift, and one that masks and merges. What lane and warp add is merged with the last,
 * once for all elements. */
static int place_logic(const plan_gather_map *map) {
  uint64_t distances = 0;
  for (int i = 0; i < PLAN_GATHER_AXIS_BITS; i++)
    for (uint64_t bits = map->of_axis[i]; bits; bits &= bits - 1)
      distances |= 1ull << (bits_lowest(bits) - i + PLAN_GATHER_AXIS_BITS);
  return 2 * bits_count(distances) - (int)(distances >> PLAN_GATHER_AXIS_BITS & 1);
}

/* Whether some register adds bits that others set, so that they are no offset of an access. */
static int register_logic(const plan_gather_map *map) {
  uint64_t bits = 0;
  for (int i = 0; i < 24; i++) bits |= map->of_register[i];
  return (bits & plan_gather_moving(map)) != 0;
}

static void count_lanes(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  plan_gather_lanes lanes;
  const plan_value *out = &kernel->value[step->out];
  int elements = 1 << plan_value_bits(out, PLAN_REGISTER), each = out->bits == 64 ? 2 : 1;
  if (!plan_gather_lanes_of(kernel, step, &lanes)) return;
  int logic = lanes.stays ? 0 : place_logic(&lanes.lane) + register_logic(&lanes.lane);
  if (lanes.n_choices > 0 || out->word > 0) logic += place_logic(&lanes.reg) + lanes.n_choices;
  if (out->word > 0) logic += 4; /* the element's shift in its word, the shift, and to its place */
  if (!lanes.stays) cost->shuffles += elements * each << lanes.n_choices;
  cost->selects += elements * each * ((1 << lanes.n_choices) - 1);
  cost->logic += elements * logic;
}

/* A number that looks random. */
static uint64_t scramble(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

static void count_staged(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  const plan_value *out = &kernel->value[step->out];
  const plan_target *target = &kernel->target;
  int elements = 1 << plan_value_bits(out, PLAN_REGISTER), lanes = 1 << kernel->lane_bits;
  int64_t address[TRAFFIC_MAX_LANES];
  int wavefronts = 0;
  plan_gather_map map;
  plan_gather_offsets_of(kernel, step, &map);
  for (int r = 0; r < elements; r++) {
    for (int l = 0; l < lanes; l++) {
      uint64_t i =
          scramble((uint64_t)(r * lanes + l + 1) * 0x9e3779b97f4a7c15) & bits_mask(step->axis_bits);
      uint64_t at = f2_apply(map.of_register, (uint64_t)r) ^ f2_apply(map.of_lane, (uint64_t)l) ^
                    f2_apply(map.of_axis, i);
      address[l] = (int64_t)at;
    }
    wavefronts +=
        traffic_wavefronts(address, lanes, out->bits / 8, target->banks, target->bank_bytes);
  }
  cost->shared_load_wavefronts += wavefronts << kernel->warp_bits;
  cost->shared_accesses += elements << kernel->warp_bits;
  cost->logic += elements * (place_logic(&map) + register_logic(&map) + (out->word > 0));
}

void plan_gather_cost(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  if (step->staged) count_staged(kernel, step, cost);
  else count_lanes(kernel, step, cost);
}
