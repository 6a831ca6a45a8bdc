/* See tile_pace.h; benchmarks/fit_tiles.py computes the same. */
#include "jit/plan/dot/tile_pace.h"

#include "base/bits.h"
#include "jit/plan/dot/tile_constants.h"

#include <math.h>

#define BY_KIND(what) \
  {[TILE_WARPS] = TILE_##what##_WARPS, \
   [TILE_GROUPS] = TILE_##what##_GROUPS, \
   [TILE_PRODUCED] = TILE_##what##_PRODUCED, \
   [TILE_DENSE] = TILE_##what##_DENSE, \
   [TILE_SWAPPED] = TILE_##what##_SWAPPED}
static const double products_a_clock[TILE_KINDS] = BY_KIND(MACS),
                    decode_instructions[TILE_KINDS] = BY_KIND(DECODE),
                    tile_clocks[TILE_KINDS] = BY_KIND(TILE);

#define ISSUED 128 /* lanes' instructions of a clock, of a multiprocessor */
#define DECODED 8  /* weights of one such instruction's lane */
#define AREA (128.0 * 128)

static int64_t whole(double x) { return (int64_t)(x + 0.5); }

/* Of a turn: products and decoding take turns in part, since both want issue slots. */
static double busy_clocks(const tile_facts *t, double area) {
  double n = t->positions[1], k = t->positions[2];
  double products = t->positions[0] * n * k / (products_a_clock[t->kind] * (1 + t->bytes)) +
                    (t->short_sums ? TILE_JOIN * area / bits_max(t->groups, 1) : 0);
  double decode = n * k / DECODED * decode_instructions[t->kind] / ISSUED;
  return cbrt(products * products * products + decode * decode * decode);
}

static double units_of(int cluster) {
  return cluster <= 1   ? PACE_UNITS
         : cluster == 2 ? TILE_CLUSTERS2
         : cluster == 4 ? TILE_CLUSTERS4
                        : TILE_CLUSTERS8;
}

void tile_pace(const tile_facts *t, plan_pace *out) {
  const double area = t->positions[0] * (double)t->positions[1] / AREA, k = t->positions[2];
  const double part = (double)PACE_FINE / 8 / TILE_MEMORY;
  const int shared = t->kind == TILE_SWAPPED ? 0 : 1; /* the operand that neighbours have, too */
  const int64_t once = whole((double)PACE_PART / t->beside);
  *out = (plan_pace){
      .units = whole(units_of(bits_max(t->cluster, t->beside))),
      .resident = t->resident,
      .busy = whole(busy_clocks(t, area)),
      .fetch = whole(t->positions[1] * k * t->bits[1] / 8 / TILE_FETCH),
      .rows = t->positions[0],
      .fetch_row = whole(PACE_PART * k * t->bits[0] / 8 / TILE_FETCH),
      .cache = whole((double)PACE_PART * PACE_PART * TILE_FETCH / TILE_CACHE),
      .once = {shared == 0 ? once : PACE_PART, shared == 1 ? once : PACE_PART},
      .least = whole(TILE_LATENCY / bits_max(t->slots, 1)),
      .more = whole(TILE_TURN + (t->beside > 1 ? TILE_BESIDE : 0)),
      .tile = whole(tile_clocks[t->kind] * sqrt(area) * (t->rounds ? TILE_ROUNDS : 1) +
                    (t->cluster > 1 ? log2(t->cluster) * TILE_CLUSTER : 0)),
      .start = whole(TILE_START + (t->dealt ? TILE_DEAL : 0) + (t->shares ? TILE_SECOND : 0)),
      .share = whole(TILE_SHARE),
      .partial = whole(PACE_PART * PACE_PART * TILE_PARTIAL),
      .memory = {whole(t->bits[0] * part), whole(t->bits[1] * part), whole(t->bits[2] * part)},
      .hidden = whole(PACE_PART * TILE_HIDDEN)};
}
