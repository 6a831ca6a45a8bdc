/* Values: as bits of the kernel's tile, reduced along some, cut into iterations; where a bit or an
 * element is. */
#include "jit/plan/facts/value.h"

#include "base/bits.h"
#include "layout/f2.h"

#include <assert.h>
#include <string.h>

uint64_t plan_value_bits_of(const plan_value *value, uint64_t tile_bits) {
  uint64_t out = 0;
  for (uint64_t bits = tile_bits & ~value->reduced; bits; bits &= bits - 1) {
    int bit = bits_lowest(bits);
    out |= 1ull << (bit - bits_count(value->reduced & bits_mask(bit)));
  }
  return out;
}

uint64_t plan_tile_bits_of(const plan_value *value, uint64_t coordinate) {
  uint64_t out = 0;
  if (!value->reduced) return coordinate;
  for (int bit = 0; coordinate; bit++) {
    if (value->reduced >> bit & 1) continue;
    out |= (coordinate & 1) << bit;
    coordinate >>= 1;
  }
  return out;
}

uint64_t plan_tile_bits_in(const plan_kernel *kernel, const plan_value *value) {
  return bits_mask(kernel->space.in[0].bits) & ~value->reduced;
}

uint64_t plan_turn_bits_in(const plan_kernel *kernel, const plan_value *value) {
  uint64_t counted = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_ITERATION); i++)
    counted |= plan_tile_bits_of(value, plan_value_columns(value, PLAN_ITERATION)[i]);
  return plan_tile_bits_in(kernel, value) & ~counted;
}

void plan_value_spread(const plan_kernel *kernel, const plan_value *value, plan_value *out) {
  *out = *value;
  if (value->reduced == 0) return;
  out->reduced = 0;
  out->layout.out[0].bits = kernel->space.in[0].bits;
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++)
    out->layout.column[i] = plan_tile_bits_of(value, value->layout.column[i]);
}

/* x without the bits of `gone`, the others moved together. */
static uint64_t without_bits(uint64_t x, uint64_t gone) {
  uint64_t out = 0;
  for (int i = 0, n = 0; i < LLRT_MAX_BITS; i++)
    if (!(gone >> i & 1)) out |= (x >> i & 1) << n++;
  return out;
}

void plan_value_reduce(const plan_value *value, uint64_t tile_bits, plan_value *out) {
  uint64_t gone = plan_value_bits_of(value, tile_bits);
  plan_value from = *value; /* out may be the same */
  const llrt_layout *layout = &from.layout;
  int at = 0;
  *out = from;
  out->reduced |= tile_bits;
  out->layout = llrt_layout_empty();
  llrt_layout_add_out(&out->layout, layout->out[0].name, layout->out[0].bits - bits_count(gone));
  for (int dim = 0; dim < layout->n_in; dim++) {
    uint64_t kept[LLRT_MAX_BITS];
    int n = 0;
    for (int i = 0; i < layout->in[dim].bits; i++) {
      uint64_t column = layout->column[at++];
      if (dim == PLAN_REGISTER && column & gone) continue;
      kept[n++] = column & gone ? 0 : without_bits(column, gone);
    }
    int first = llrt_layout_in_bits(&out->layout);
    llrt_layout_add_in(&out->layout, layout->in[dim].name, n);
    memcpy(&out->layout.column[first], kept, (size_t)n * sizeof *kept);
  }
}

uint64_t plan_reduced_register(const plan_value *value, const plan_value *reduced, uint64_t index) {
  uint64_t gone = plan_value_bits_of(value, reduced->reduced), dropped = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_REGISTER); i++)
    if (plan_value_columns(value, PLAN_REGISTER)[i] & gone) dropped |= 1ull << i;
  return without_bits(index, dropped);
}

void plan_close_lanes(plan_value *value) {
  uint64_t *columns = &value->layout.column[plan_value_bits(value, PLAN_REGISTER)];
  int lanes = plan_value_bits(value, PLAN_LANE), n = 0;
  for (int i = 0; i < lanes; i++)
    if (columns[i]) columns[n++] = columns[i];
  while (n < lanes) columns[n++] = 0;
}

uint64_t plan_reduced_lane(const plan_value *value, const plan_value *reduced, uint64_t lane) {
  uint64_t gone = plan_value_bits_of(value, reduced->reduced), dropped = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    if (plan_value_columns(value, PLAN_LANE)[i] & gone) dropped |= 1ull << i;
  return without_bits(lane, dropped);
}

/* The column of `bit` among n: -1 where there is none, -2 where another bit shares a column with
 * it. */
static int find_column(const uint64_t *columns, int n, uint64_t bit) {
  int found = -1;
  for (int i = 0; i < n; i++) {
    if (!(columns[i] & bit)) continue;
    if (columns[i] != bit || found != -1) return -2;
    found = i;
  }
  return found;
}

bool plan_place_of(const plan_value *value, int tile_bit, plan_dim *dim, int *at) {
  uint64_t bit = plan_value_bits_of(value, 1ull << tile_bit);
  int places = 0;
  for (int i = PLAN_REGISTER; i <= PLAN_WARP; i++) {
    int found = find_column(plan_value_columns(value, (plan_dim)i),
                            plan_value_bits(value, (plan_dim)i), bit);
    if (found == -2) return false;
    if (found == -1) continue;
    places++;
    *dim = (plan_dim)i;
    *at = found;
  }
  return places == 1;
}

bool plan_scan_bits(const plan_kernel *kernel, const plan_step *step, plan_scan_bit *bits) {
  const plan_order *order = &kernel->order[step->order];
  for (int i = 0; i < order->n; i++) {
    plan_dim dim = PLAN_REGISTER;
    if (!plan_place_of(&kernel->value[step->in], order->bit[i], &dim, &bits[i].at)) return false;
    if (dim == PLAN_WARP) return false;
    bits[i].lane = dim == PLAN_LANE;
  }
  return true;
}

plan_register_source plan_register_of(const plan_value *in, const plan_value *out, int index) {
  f2_basis span;
  uint64_t at = 0;
  f2_basis_init(&span);
  for (int i = 0; i < plan_value_bits(in, PLAN_REGISTER); i++)
    f2_basis_insert_as(&span, plan_value_columns(in, PLAN_REGISTER)[i], 1ull << i);
  bool inside = f2_basis_coordinates(
      &span, f2_apply(plan_value_columns(out, PLAN_REGISTER), (uint64_t)index), &at);
  assert(inside);
  (void)inside;
  return (plan_register_source){.word = (int)(at >> in->word),
                                .element = (int)(at & bits_mask(in->word))};
}

void plan_iterate_registers(plan_value *value, int n) {
  llrt_layout *layout = &value->layout;
  uint64_t moved[LLRT_MAX_BITS];
  int left = layout->in[PLAN_REGISTER].bits - n,
      after = layout->in[PLAN_LANE].bits + layout->in[PLAN_WARP].bits;
  memcpy(moved, &layout->column[left], (size_t)n * sizeof *moved);
  memmove(&layout->column[left], &layout->column[left + n], (size_t)after * sizeof *moved);
  memcpy(&layout->column[left + after], moved, (size_t)n * sizeof *moved);
  layout->in[PLAN_REGISTER].bits = (uint8_t)left;
  layout->in[PLAN_ITERATION].bits = (uint8_t)(layout->in[PLAN_ITERATION].bits + n);
}

void plan_drop_iterations(plan_value *value, int n) {
  llrt_layout *layout = &value->layout;
  int at = llrt_layout_in_bits(layout) - layout->in[PLAN_ITERATION].bits,
      left = layout->in[PLAN_ITERATION].bits - n;
  memmove(&layout->column[at], &layout->column[at + n], (size_t)left * sizeof *layout->column);
  memset(&layout->column[at + left], 0, (size_t)n * sizeof *layout->column);
  layout->in[PLAN_ITERATION].bits = (uint8_t)left;
}

int plan_flipped_registers(const plan_kernel *kernel, const plan_step *step) {
  plan_value spread;
  int mask = 0;
  plan_value_spread(kernel, &kernel->value[step->out], &spread);
  for (int i = 0; i < plan_value_bits(&spread, PLAN_REGISTER); i++)
    if (plan_value_columns(&spread, PLAN_REGISTER)[i] & (uint64_t)step->number.value)
      mask |= 1 << i;
  return mask;
}
