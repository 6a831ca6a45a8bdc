/* In place on NVIDIA: a thread takes the elements that one access stores out of the panel one by
 * one. Their places there differ by numbers that are known, so that only the first one's is
 * computed. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/tile_steps.h"
#include "jit/plan/facts/value.h"

static llrt_status refused(void) {
  return llrt_error(LLRT_UNSUPPORTED, "converting in place: no elements are stored together");
}

static bool is_column(const draft *d, int i, int bit) {
  const plan_digit_side *side = &d->kernel->digit[i].side[0];
  return side->kind == PLAN_COLUMNS && bit < d->bits[i];
}

int64_t draft_digit_step(const draft *d, int i, int bit) {
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
      kernel->panel.apart[n++] = draft_digit_step(d, place->digit, b);
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
