/* In place on NVIDIA: a thread takes the elements that one access stores out of the panel one by
 * one. Their places there differ by numbers that are known, so that only the first one's is
 * computed. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/tile_steps.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

static llrt_status refused(void) {
  return llrt_error(LLRT_UNSUPPORTED, "converting in place: no elements are stored together");
}

static bool is_column(const draft *d, int i, int bit) {
  const plan_digit_side *side = &d->kernel->digit[i].side[0];
  return side->kind == PLAN_COLUMNS && bit < d->bits[i];
}

/* Elements of the source from position 0 of digit i to position 2^bit. */
static int64_t step_of(const draft *d, int i, int bit) {
  const plan_digit_side *side = &d->kernel->digit[i].side[0];
  if (is_column(d, i, bit)) return (int64_t)d->column[0][d->first[i] + bit];
  int above = side->kind == PLAN_COLUMNS ? bit - d->bits[i] : bit;
  return side->stride.value << above;
}

/* Whether column `bit` of digit i shares no bit of an offset with another column, so that it adds
 * to what they make. */
static bool adds(const draft *d, int i, int bit) {
  uint64_t own = d->column[0][d->first[i] + bit];
  for (int k = 0; k < d->kernel->n_digits; k++) {
    if (d->kernel->digit[k].side[0].kind != PLAN_COLUMNS) continue;
    for (int b = 0; b < d->bits[k]; b++)
      if ((k != i || b != bit) && d->column[0][d->first[k] + b] & own) return false;
  }
  return true;
}

/* Sets apart[0 ..] and returns of how many bits of the positions it is known, `most` at most. Below
 * the last one's place all have as many positions as bits count. */
static int find_apart(draft *d, int most) {
  plan_kernel *kernel = d->kernel;
  int n = 0;
  for (int k = 0; k < kernel->n_places && n < most; k++) {
    const plan_place *place = &kernel->place[k];
    if (place->digit < 0 || place->count.arg >= 0) return n;
    int64_t count = place->count.value;
    int bits = bits_alignment(count);
    for (int b = 0; b < bits && n < most; b++) {
      if (is_column(d, place->digit, b) && !adds(d, place->digit, b)) return n;
      kernel->panel.apart[n++] = step_of(d, place->digit, b);
    }
    if (!bits_is_power_of_two((uint64_t)count)) return n;
  }
  return n;
}

/* 4 bits: which half of its byte an element is in follows from one bit at most. */
static bool halves_are_known(const draft *d) {
  int odd = 0;
  if (d->kernel->tensor_bits[0] >= 8) return true;
  for (int i = 0; i < d->kernel->n_digits; i++) {
    const plan_digit_side *side = &d->kernel->digit[i].side[0];
    if (side->kind == PLAN_COLUMNS)
      for (int b = 0; b < d->bits[i]; b++) odd += d->column[0][d->first[i] + b] & 1;
    bool summed = side->kind != PLAN_COLUMNS || d->kernel->digit[i].rest;
    if (summed && d->count[i] > 1 && side->stride.value % 2 != 0) odd += 2;
  }
  return odd <= 1;
}

static bool maps_keep(const plan_kernel *kernel) {
  for (int i = 0; i < kernel->n_maps; i++)
    if (kernel->map[i].kind != PLAN_MAP_XOR && kernel->map[i].kind != PLAN_MAP_WORD_BITS)
      return false;
  return true;
}

llrt_status draft_panel_vector(draft *d) {
  plan_kernel *kernel = d->kernel;
  int least = draft_flat_pair(d), element = draft_log2_bytes(d, 1);
  int most = bits_min(bits_log2(kernel->target.access_bytes) - element, PLAN_PANEL_VECTOR);
  most = bits_min(most, bits_min(d->address_align[1], bits_alignment(kernel->panel.positions)));
  if (kernel->high_first[0] || kernel->high_first[1] || kernel->n_terms > 0 || !maps_keep(kernel))
    return refused();
  for (int i = 0; i < kernel->n_bounds; i++)
    if (kernel->bound[i].tensors) return refused();
  most = find_apart(d, most);
  while (most > least && kernel->origin[1] % (1 << most) != 0) most--;
  if (most <= least || !halves_are_known(d)) return refused();
  kernel->panel.vector = (uint8_t)most;
  return LLRT_OK;
}

/* ---- lanes ---- */

enum {
  BANK_BITS = 5,       /* log2 banks of shared memory, of a word of 32 bits each */
  LANE_CANDIDATES = 10 /* lowest bits of the tile behind a vector's that lanes may be */
};

/* Elements of the source from position 0 to position 2^bit of the tile; 0: it is not known. */
static int64_t tile_step(const draft *d, int bit) {
  for (int k = 0; k < d->kernel->n_places; k++) {
    const plan_place *place = &d->kernel->place[k];
    if (place->digit < 0 || place->count.arg >= 0) return 0;
    int bits = bits_highest((uint64_t)(2 * place->count.value - 1));
    if (bit < bits) return step_of(d, place->digit, bit);
    if (!bits_is_power_of_two((uint64_t)place->count.value)) return 0;
    bit -= bits;
  }
  return 0;
}

/* Whether lanes that differ in this bit of the tile load from another bank, or from the same word,
 * whatever bits before it they differ in. */
static bool has_own_bank(const draft *d, int bit, f2_basis *banks) {
  uint64_t apart = (uint64_t)tile_step(d, bit) * d->kernel->tensor_bits[0]; /* bits */
  uint64_t bank = apart >> 5 & bits_mask(BANK_BITS);
  return (apart > 0 && apart < 32) || (bank != 0 && f2_basis_insert(banks, bank));
}

/* The tile's bits for lanes, warps and iterations, n of them from `first` on. The first lanes are
 * two vectors beside each other, which fill a sector of memory. */
static void order_bits(const draft *d, int first, int n, int *order) {
  f2_basis banks;
  uint64_t taken = 1ull << first;
  int lanes = d->kernel->lane_bits, count = 0;
  int end =
      bits_min(first + bits_min(n, LANE_CANDIDATES), bits_alignment(d->kernel->panel.positions));
  f2_basis_init(&banks);
  (void)has_own_bank(d, first, &banks);
  order[count++] = first;
  for (int bit = first + 1; bit < end && count < lanes; bit++)
    if (has_own_bank(d, bit, &banks)) {
      order[count++] = bit;
      taken |= 1ull << bit;
    }
  for (int bit = first; bit < first + n; bit++)
    if (!(taken >> bit & 1)) order[count++] = bit;
}

void draft_panel_lanes(const draft *d, plan_value *value) {
  llrt_layout *layout = &value->layout;
  int order[LLRT_MAX_BITS], first = plan_value_bits(value, PLAN_REGISTER);
  int n = llrt_layout_in_bits(layout) - first;
  if (n < 1) return;
  order_bits(d, first, n, order);
  for (int i = 0; i < n; i++) layout->column[first + i] = 1ull << order[i];
}
