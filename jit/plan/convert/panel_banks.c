/* In place on NVIDIA: banks of shared memory from which the lanes of a warp load elements of a
 * panel. Lanes take bits of the tile at which they load from banks of their own, or from one word.
 * Where those of the lowest digits do not, digits that do come before others in the tile, and
 * behind every 2^skew bytes of the panel an access is left free, so that rows a multiple of 128
 * bytes apart begin at other banks. Whatever their order, a thread stores whole accesses, and
 * neighbouring lanes whole sectors. */
#include "jit/plan/convert/tile_steps.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"

#include <string.h>

enum {
  BANKS = 32,           /* of a word of 32 bits each */
  LANE_CANDIDATES = 10, /* lowest bits of the tile behind a vector's that lanes may be */
  LEAST_SKEW = 7,       /* log2 bytes: all banks */
  MOST_SKEW = 13,
  MOST_STEPS = 64
};

/* How lanes come to their banks: places of the tile in order, and the panel's skew. */
typedef struct bank_way {
  int8_t place[PLAN_MAX_GRID]; /* numbers in kernel.place */
  int n;
  uint8_t skew;
} bank_way;

/* Bits of the source from position 0 of the tile to position 2^bit, for the first bits; returns of
 * how many it is known. */
static int tile_steps(const draft *d, const bank_way *way, int64_t step[MOST_STEPS]) {
  int n = 0;
  for (int k = 0; k < way->n; k++) {
    const plan_place *place = &d->kernel->place[way->place[k]];
    if (place->digit < 0 || place->count.arg >= 0) return n;
    int64_t count = place->count.value;
    int bits = bits_highest((uint64_t)(2 * count - 1));
    for (int b = 0; b < bits && n < MOST_STEPS; b++)
      step[n++] = draft_digit_step(d, place->digit, b) * d->kernel->tensor_bits[0];
    if (!bits_is_power_of_two((uint64_t)count)) return n;
  }
  return n;
}

/* The banks at which lanes load that differ in the bits before, as bits; and at most so many. */
typedef struct lane_banks {
  uint32_t taken;
  int skew;
} lane_banks;

/* Whether lanes that differ in a bit `apart` bits of memory load from other banks than those
 * before, or from the same words as they do. */
static bool takes_banks(lane_banks *banks, int64_t apart) {
  if (apart <= 0) return false;
  if (apart < 32) return true;
  int64_t bytes = apart / 8;
  if (banks->skew) bytes += (bytes >> banks->skew) * PLAN_SKEW_BYTES;
  int bank = (int)(bytes / 4 % BANKS);
  uint32_t moved = bank ? banks->taken << bank | banks->taken >> (BANKS - bank) : banks->taken;
  if (moved & banks->taken) return false;
  banks->taken |= moved;
  return true;
}

/* The tile's bits for lanes, warps and iterations, n of them from `first` on: sets `order` and
 * returns how many lanes' bits have banks of their own. The first lanes are two vectors beside each
 * other, which fill a sector of memory. */
static int order_bits(const draft *d, const bank_way *way, int first, int n, int *order) {
  int64_t step[MOST_STEPS];
  lane_banks banks = {1, way->skew};
  uint64_t taken = 1ull << first;
  int lanes = d->kernel->lane_bits, count = 0, known = tile_steps(d, way, step);
  int end =
      bits_min(first + bits_min(n, LANE_CANDIDATES), bits_alignment(d->kernel->panel.positions));
  int own = known > first && takes_banks(&banks, step[first]);
  order[count++] = first;
  for (int bit = first + 1; bit < bits_min(end, known) && count < lanes; bit++)
    if (takes_banks(&banks, step[bit])) {
      order[count++] = bit;
      taken |= 1ull << bit;
      own++;
    }
  for (int bit = first; bit < first + n; bit++)
    if (!(taken >> bit & 1)) order[count++] = bit;
  return own;
}

static bank_way way_of(const draft *d) {
  bank_way way = {.n = d->kernel->n_places, .skew = d->kernel->panel.skew};
  for (int k = 0; k < way.n; k++) way.place[k] = (int8_t)k;
  return way;
}

void draft_panel_lanes(const draft *d, plan_value *value) {
  llrt_layout *layout = &value->layout;
  int order[LLRT_MAX_BITS], first = plan_value_bits(value, PLAN_REGISTER);
  int n = llrt_layout_in_bits(layout) - first;
  bank_way way = way_of(d);
  if (n < 1) return;
  order_bits(d, &way, first, n, order);
  for (int i = 0; i < n; i++) layout->column[first + i] = 1ull << order[i];
}

/* ---- another order ---- */

/* Places that stay first: those that a vector and the next bit, which makes it a sector, are of; 0:
 * they are no whole places. */
static int kept_places(const draft *d) {
  int bits = 0, k = 0;
  for (; k < d->kernel->n_places && bits <= d->kernel->panel.vector; k++) {
    const plan_place *place = &d->kernel->place[k];
    if (place->digit < 0 || place->count.arg >= 0 ||
        !bits_is_power_of_two((uint64_t)place->count.value))
      return 0;
    bits += bits_log2(place->count.value);
  }
  return bits > d->kernel->panel.vector ? k : 0;
}

static bool is_of_panel(const draft *d, int place) {
  int digit = d->kernel->place[place].digit;
  return digit >= 0 && d->inside >> digit & 1;
}

/* How many lanes have banks of their own. */
static int own_banks(const draft *d, const bank_way *way) {
  int order[LLRT_MAX_BITS], first = d->kernel->panel.vector;
  int bits = bits_highest((uint64_t)(2 * d->kernel->panel.positions - 1)) - first;
  return order_bits(d, way, first, bits_max(bits, 1), order);
}

/* The same order but for place `k`, which comes at `at`. */
static bank_way moved_place(const bank_way *way, int at, int k) {
  bank_way moved = *way;
  memmove(&moved.place[at + 1], &moved.place[at], (size_t)(k - at) * sizeof *moved.place);
  moved.place[at] = way->place[k];
  return moved;
}

/* Moves those places of the panel to the front, one after the other, with which most lanes have
 * banks of their own. Returns how many have. */
static int reorder(const draft *d, bank_way *way) {
  int kept = kept_places(d), inside = 0, best = own_banks(d, way);
  while (inside < way->n && is_of_panel(d, inside)) inside++;
  for (int at = kept; kept > 0 && at < inside; at++) {
    bank_way found = *way;
    for (int k = at + 1; k < inside && best < d->kernel->lane_bits; k++) {
      bank_way tried = moved_place(way, at, k);
      int own = own_banks(d, &tried);
      if (own <= best) continue;
      best = own;
      found = tried;
    }
    *way = found;
  }
  return best;
}

/* ---- skews ---- */

/* Whether elements that a thread loads one by one lie as far apart in shared memory as the first
 * one's skew and their own distance say: these are multiples of the skew, or bits below it that
 * nothing else of the panel moves. */
static bool keeps_distances(const draft *d, int64_t skew) {
  const plan_kernel *kernel = d->kernel;
  for (int v = 0; v < kernel->panel.vector; v++) {
    int64_t apart = kernel->panel.apart[v];
    if (apart % skew == 0) continue;
    if (apart > skew || !bits_is_power_of_two((uint64_t)apart)) return false;
    for (int i = 0; i < kernel->n_digits; i++) {
      const plan_digit_side *side = &kernel->digit[i].side[0];
      bool summed = side->kind == PLAN_STRIDE || kernel->digit[i].rest;
      bool own = summed && side->stride.value == apart; /* a power of two of positions, its first */
      if (summed && !own && d->count[i] != 1 && side->stride.value % (2 * apart) != 0) return false;
      if (own && !bits_is_power_of_two((uint64_t)d->count[i])) return false;
    }
  }
  return true;
}

static bool has_room(const draft *d, int skew) {
  const plan_kernel *kernel = d->kernel;
  plan_panel panel = kernel->panel;
  panel.skew = (uint8_t)skew;
  return plan_panel_place(&panel, panel.elements * kernel->tensor_bits[0] / 8) <=
         kernel->target.facts.shared_bytes;
}

void draft_panel_banks(draft *d) {
  plan_kernel *kernel = d->kernel;
  plan_place place[PLAN_MAX_GRID];
  bank_way best = way_of(d);
  int lanes = kernel->lane_bits, own = own_banks(d, &best);
  for (int tried = MOST_SKEW + 1; tried >= LEAST_SKEW && own < lanes; tried--) {
    int skew = tried > MOST_SKEW ? 0 : tried;
    bank_way way = way_of(d);
    way.skew = (uint8_t)skew;
    int64_t elements = ((int64_t)8 << skew) / kernel->tensor_bits[0];
    if (skew && (!has_room(d, skew) || !keeps_distances(d, elements))) continue;
    int found = reorder(d, &way);
    if (found > own) best = way;
    own = bits_max(found, own);
  }
  memcpy(place, kernel->place, sizeof place);
  for (int k = 0; k < best.n; k++) kernel->place[k] = place[best.place[k]];
  kernel->panel.skew = best.skew;
}
