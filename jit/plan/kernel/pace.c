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

/* Of a turn, in which rows of A that the last tile lacks are filled with zeros in a
 * multiprocessor's shared memory. What is there arrives meanwhile. */
static int64_t absent_clocks(const plan_pace *pace, const pace_shape *shape) {
  const int64_t lacking = times(shape->tiles[0], pace->rows) - shape->rows;
  return shape->torn[0] ? longest(lacking, 0) * pace->absent : 0;
}

/* Of a turn, in which memory brings a multiprocessor what no other one asks for. */
static int64_t own_clocks(const plan_pace *pace, const pace_shape *shape, int64_t rows) {
  if (shape->experts) return 0;
  const int64_t fetch = pace->fetch_row * rows / PACE_PART / longest(shape->tiles[1], 1) +
                        pace->fetch / longest(shape->tiles[0], 1);
  return part_of(fetch, pace->own, PACE_PART);
}

/* What blocks of experts fetch together takes longer, in parts of PACE_PART: memory brings as much
 * meanwhile (docs/history/grouped-products.md). */
#define EXPERTS_CACHE (PACE_PART * 6 / 5)

/* Of a turn, with so many blocks beside each other on a multiprocessor, and on PACE_UNITS of them
 * together. */
static int64_t turn_clocks(const plan_pace *pace, const pace_shape *shape, int64_t beside,
                           int64_t at_once) {
  int64_t there = shortest(pace->rows, shape->rows), rows = pace->filled ? pace->rows : there,
          fetch = longest(fetch_clocks(pace, shape, rows, false), absent_clocks(pace, shape)),
          together = part_of(times(fetch_clocks(pace, shape, rows, true), at_once), pace->cache,
                             PACE_PART * PACE_PART),
          alone = longest(longest(pace->busy, fetch), own_clocks(pace, shape, there));
  if (shape->experts) together = part_of(together, EXPERTS_CACHE, PACE_PART);
  return longest(longest(alone * beside, together), pace->least) + pace->more;
}

/* What is shorter of both hides behind the other but for a part. */
static int64_t both(const plan_pace *pace, int64_t tiles, int64_t memory) {
  int64_t more = longest(tiles, memory), less = shortest(tiles, memory);
  return more + part_of(less, less * pace->hidden / PACE_PART, longest(more, 1));
}

/* A run of blocks: how many multiprocessors run such, how many there are, and what memory takes for
 * all of them. */
typedef struct pace_run {
  const plan_pace *pace;
  const pace_shape *shape;
  int64_t own, units, blocks, turns, memory;
} pace_run;

/* Of n blocks at once. */
static int64_t round_clocks(const pace_run *run, int64_t n) {
  const int64_t beside = shortest(run->pace->resident, bits_ceil_div(n, run->own)),
                at_once = times(n, PACE_UNITS) / run->units,
                turn = turn_clocks(run->pace, run->shape, beside, at_once);
  return both(run->pace, times(run->turns, turn) + run->pace->tile,
              part_of(run->memory, n, longest(run->blocks, 1)));
}

static int64_t rounds_clocks(const pace_run *run) {
  const int64_t room = times(run->own, run->pace->resident), full = run->blocks / room,
                rest = run->blocks % room, rounds = full + (rest > 0);
  int64_t clocks = rest > 0 ? round_clocks(run, rest) : 0;
  if (full > 0) clocks += times(full, round_clocks(run, room));
  return clocks + times(longest(rounds - 1, 0), run->pace->begin);
}

static int64_t dealt_clocks(const pace_run *run) {
  const int64_t at_once = times(shortest(run->blocks, run->own), PACE_UNITS) / run->units,
                turns = bits_ceil_div(times(run->blocks, run->turns), run->own);
  return both(run->pace,
              times(turns, turn_clocks(run->pace, run->shape, 1, at_once)) +
                  times(bits_ceil_div(run->blocks, run->own), run->pace->tile),
              run->memory);
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
  const pace_run run = {.pace = pace,
                        .shape = shape,
                        .own = longest((int64_t)units * pace->units / PACE_UNITS, 1),
                        .units = units,
                        .blocks = times(shape->blocks, shares),
                        .turns = bits_ceil_div(shape->turns, shares),
                        .memory = shape->experts ? 0 : memory_clocks(pace, shape, units)};
  int64_t clocks = (dealt ? dealt_clocks(&run) : rounds_clocks(&run)) + pace->start;
  if (shape->experts) clocks = both(pace, clocks, memory_clocks(pace, shape, units));
  if (shares > 1)
    clocks += part_of(times(shape->elements[2], shares), pace->partial, PACE_PART * PACE_PART) +
              times(shares, pace->share);
  return clocks + copy_clocks(pace, shape, units);
}

/* Shares that are tried: as many as fill the device, half of them, ...; and those by which blocks
 * fill it two or three times over. */
#define PARTS_TRIED 5
#define ROUNDS_TRIED 3

/* One of those: round > 0 of so many rounds, part > 0 a part of those that fill the device. */
static int64_t tried_shares(int64_t blocks, int64_t most, int units, int round, int part) {
  const int64_t shares = round * (int64_t)units / longest(blocks, 1);
  return bits_ceil_div(shortest(shares, most), part);
}

int64_t pace_shares(const plan_pace *pace, const pace_shape *shape, int64_t least, int units) {
  const int64_t most = shape->turns / longest(least, 1);
  int64_t best = 1, clocks = most > 1 ? pace_clocks(pace, shape, 1, false, units) : 0;
  for (int i = 0; i < PARTS_TRIED + ROUNDS_TRIED - 1; i++) {
    const int round = i < ROUNDS_TRIED ? ROUNDS_TRIED - i : 1,
              part = i < ROUNDS_TRIED ? 1 : i - ROUNDS_TRIED + 2;
    const int64_t shares = tried_shares(shape->blocks, most, units, round, part);
    if (shares < 2) continue;
    const int64_t own = pace_clocks(pace, shape, shares, false, units);
    if (own >= clocks) continue;
    clocks = own;
    best = shares;
  }
  return best;
}
