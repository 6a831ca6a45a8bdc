/* See pace.h. */
#include "jit/plan/kernel/pace.h"

#include "base/bits.h"

/* Longer times are all the same. */
#define LONGEST ((int64_t)1 << 40)

static int64_t longest(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t shortest(int64_t x, int64_t y) { return x < y ? x : y; }

/* The product, or LONGEST. */
static int64_t times(int64_t x, int64_t y) {
  int64_t product;
  return __builtin_mul_overflow(x, y, &product) ? LONGEST : shortest(product, LONGEST);
}

/* Clocks of what takes part / scale of a clock each. */
static int64_t part_of(int64_t n, int64_t part, int64_t scale) {
  return shortest((int64_t)((__int128)n * part / scale), LONGEST);
}

/* What a turn fetches through the second-level cache, of `rows` rows of A: by a multiprocessor, to
 * which all of it comes, and which asks for what no neighbour asks for; or of what all fetch
 * together. Rows that begin inside lines take longer to be asked for. */
static int64_t fetch_clocks(const plan_pace *pace, const pace_shape *shape, int64_t rows,
                            bool together) {
  const int64_t own[2] = {pace->fetch_row * rows / PACE_PART, pace->fetch};
  int64_t asked = 0; /* PACE_PART to the clock */
  for (int i = 0; i < 2; i++) {
    const int64_t once = own[i] * pace->once[i];
    asked += shape->torn[i] ? part_of(once, pace->torn[together], PACE_PART) : once;
  }
  return together ? asked / PACE_PART : longest(asked / PACE_PART, own[0] + own[1]);
}

/* Of a turn, in which rows of A that are not there are filled with zeros in a multiprocessor's
 * shared memory. What is there arrives meanwhile. */
static int64_t absent_clocks(const plan_pace *pace, const pace_shape *shape) {
  return shape->torn[0] ? longest(pace->rows - shape->rows, 0) * pace->absent : 0;
}

/* Of a turn, with so many blocks beside each other on a multiprocessor, and on PACE_UNITS of them
 * together. */
static int64_t turn_clocks(const plan_pace *pace, const pace_shape *shape, int64_t beside,
                           int64_t at_once) {
  int64_t rows = shortest(pace->rows, shape->rows),
          fetch = longest(fetch_clocks(pace, shape, rows, false), absent_clocks(pace, shape)),
          together = part_of(times(fetch_clocks(pace, shape, rows, true), at_once), pace->cache,
                             PACE_PART * PACE_PART);
  return longest(longest(longest(pace->busy, fetch) * beside, together), pace->least) + pace->more;
}

/* Of multiprocessors, without memory; `own` of `units` run such blocks. */
static int64_t tile_clocks(const plan_pace *pace, const pace_shape *shape, int64_t shares,
                           bool dealt, int64_t own, int units) {
  int64_t blocks = times(shape->blocks, shares), turns = bits_ceil_div(shape->turns, shares);
  int64_t resident = dealt ? 1 : pace->resident,
          at_once = times(shortest(blocks, times(own, resident)), PACE_UNITS) / units;
  if (dealt)
    return times(bits_ceil_div(times(blocks, turns), own), turn_clocks(pace, shape, 1, at_once)) +
           times(bits_ceil_div(blocks, own), pace->tile);
  int64_t beside = shortest(resident, bits_ceil_div(blocks, own)),
          rounds = bits_ceil_div(blocks, times(own, resident));
  return times(rounds, times(turns, turn_clocks(pace, shape, beside, at_once)) + pace->tile);
}

/* Of memory, at `units` multiprocessors. */
static int64_t memory_clocks(const plan_pace *pace, const pace_shape *shape, int units) {
  int64_t clocks = 0;
  for (int i = 0; i < 3; i++) clocks += part_of(shape->elements[i], pace->memory[i], PACE_FINE);
  return times(clocks, PACE_UNITS) / units;
}

/* Of copies in front. */
static int64_t copy_clocks(const plan_pace *pace, const pace_shape *shape, int units) {
  int64_t clocks = 0;
  for (int i = 0; i < 2; i++) clocks += part_of(shape->elements[i], pace->copied[i], PACE_FINE);
  return times(clocks, PACE_UNITS) / units;
}

#define PRODUCTS 2048 /* of 16-bit elements, of a multiprocessor's clock */

int64_t pace_least(const plan_pace *pace, const pace_shape *shape, int units) {
  return longest(memory_clocks(pace, shape, units), shape->products / units / PRODUCTS);
}

int64_t pace_clocks(const plan_pace *pace, const pace_shape *shape, int64_t shares, bool dealt,
                    int units) {
  int64_t own = longest((int64_t)units * pace->units / PACE_UNITS, 1),
          memory = memory_clocks(pace, shape, units),
          tiles = tile_clocks(pace, shape, shares, dealt, own, units) + pace->start;
  if (shares > 1)
    tiles += part_of(times(shape->elements[2], shares), pace->partial, PACE_PART * PACE_PART) +
             times(shares, pace->share);
  int64_t more = longest(tiles, memory), less = shortest(tiles, memory);
  return more + part_of(less, less * pace->hidden / PACE_PART, longest(more, 1)) +
         copy_clocks(pace, shape, units);
}

/* Shares that are tried: as many as fill the device, half of them, ... */
#define PARTS_TRIED 5

int64_t pace_shares(const plan_pace *pace, const pace_shape *shape, int64_t least, int units) {
  int64_t full = shortest(shape->turns / longest(least, 1), units / longest(shape->blocks, 1)),
          best = 1, clocks = INT64_MAX;
  for (int64_t of = 1; of <= PARTS_TRIED && full > 1; of++) {
    int64_t shares = bits_ceil_div(full, of), own = pace_clocks(pace, shape, shares, false, units);
    if (own >= clocks) continue;
    clocks = own;
    best = shares;
  }
  return best;
}
