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
   [TILE_SWAPPED] = TILE_##what##_SWAPPED, \
   [TILE_NARROW] = TILE_##what##_NARROW, \
   [TILE_FEW] = TILE_##what##_FEW}
static const double products_a_clock[TILE_KINDS] = BY_KIND(MACS),
                    decode_instructions[TILE_KINDS] = BY_KIND(DECODE),
                    packed_tile_clocks[] = {[TILE_WARPS] = TILE_TILE_WARPS,
                                            [TILE_GROUPS] = TILE_TILE_GROUPS,
                                            [TILE_PRODUCED] = TILE_TILE_PRODUCED,
                                            [TILE_NARROW] = TILE_TILE_NARROW,
                                            [TILE_FEW] = TILE_TILE_FEW};

#define ISSUED 128 /* lanes' instructions of a clock, of a multiprocessor */
#define DECODED 8  /* weights of one such instruction's lane */
#define AREA (128.0 * 128)
#define GROUP_ROWS 64

static bool is_packed(const tile_facts *t) {
  return t->kind < TILE_DENSE || t->kind > TILE_SWAPPED;
}

/* Of packed operands, of dense ones of 8 bits and of 16: these have been measured apart. So have
 * rows that may begin inside sectors, of which a box asks for more than it brings, and experts'
 * ones, whose blocks look up what they are to do, and whose turns have one line of each row. */
#define OF_DENSE(t, what) \
  ((t)->bytes     ? TILE_##what##_OF_BYTES \
   : (t)->experts ? TILE_##what##_OF_EXPERTS \
   : (t)->torn    ? TILE_##what##_OF_TORN \
                  : TILE_##what##_OF_DENSE)
#define OF(t, what) (is_packed(t) ? TILE_##what##_OF_PACKED : OF_DENSE(t, what))

/* Of the second-level cache. */
static double fetch_of(const tile_facts *t) {
  return t->kind == TILE_NARROW ? TILE_FETCH_NARROW : OF(t, FETCH);
}

static double cache_of(const tile_facts *t) {
  return t->kind == TILE_NARROW ? TILE_CACHE_NARROW : OF(t, CACHE);
}

static int64_t whole(double x) { return (int64_t)(x + 0.5); }

/* Of a turn, in which dense operands go to shared memory, and each warpgroup's instructions, of
 * GROUP_ROWS rows, read them there. */
static double shared_clocks(const tile_facts *t) {
  const int columns = t->positions[t->kind == TILE_SWAPPED ? 0 : 1];
  const double rows =
      t->groups * (double)(GROUP_ROWS + columns) + t->positions[0] + t->positions[1];
  return is_packed(t) ? 0 : t->positions[2] * t->bits[0] / 8 * rows / TILE_SHARED;
}

static double product_clocks(const tile_facts *t, double area) {
  const double products = t->positions[0] * (double)t->positions[1] * t->positions[2] /
                          (products_a_clock[t->kind] * (1 + t->bytes));
  return fmax(products + (t->short_sums ? OF(t, JOIN) * area / bits_max(t->groups, 1) : 0),
              shared_clocks(t));
}

static double decode_clocks(const tile_facts *t) {
  return (double)t->positions[1] * t->positions[2] / DECODED * decode_instructions[t->kind] /
         ISSUED;
}

/* Of a turn: products and decoding take turns in part, since both want issue slots. */
static double busy_clocks(const tile_facts *t, double area) {
  const double products = product_clocks(t, area), decode = decode_clocks(t);
  return cbrt(products * products * products + decode * decode * decode);
}

/* Whether a block has one warpgroup that multiplies, and another block's is beside it. */
static bool is_pair(const tile_facts *t) { return t->kind == TILE_NARROW && t->groups < 2; }

/* Of a turn of a warpgroup that has no other one beside it: products and decoding stand behind each
 * other, but for a part. */
static double behind_clocks(const tile_facts *t, double area) {
  return is_pair(t) ? (product_clocks(t, area) + decode_clocks(t)) * TILE_ALONE : 0;
}

/* Of a turn beside these, which a pair's other block hides. */
static double turn_clocks(const tile_facts *t) {
  return is_pair(t) ? 0
                    : OF(t, TURN) + (t->beside * t->across > 1 ? TILE_BESIDE : 0) +
                          (t->teams > 1 ? TILE_TEAM : 0);
}

static double units_of(const tile_facts *t) {
  const int cluster = bits_max(t->cluster, t->beside * t->across);
  return cluster <= 1   ? PACE_UNITS
         : cluster == 2 ? OF(t, CLUSTERS2)
         : cluster == 4 ? OF(t, CLUSTERS4)
                        : OF(t, CLUSTERS8);
}

/* Of a tile of 128 x 128 beside its turns. */
static double tile_clocks(const tile_facts *t) {
  return is_packed(t)              ? packed_tile_clocks[t->kind]
         : t->kind == TILE_SWAPPED ? OF_DENSE(t, SWAPPED)
                                   : OF_DENSE(t, TILE);
}

/* Of the sums of a tile, which the blocks of a cluster add. Packed operands' push them where there
 * is room: wide tiles leave none. */
static double joining_clocks(const tile_facts *t, double area) {
  const double results = t->kind == TILE_FEW        ? TILE_PUSH_FEW * 8 * sqrt(area)
                         : t->kind < TILE_PRODUCED  ? TILE_PUSH
                         : t->kind == TILE_NARROW   ? TILE_PUSH_NARROW * area
                         : t->kind == TILE_PRODUCED ? 1
                                                    : 2 * sqrt(area); /* of 64 x 64 */
  const double meet = is_packed(t) ? 0 : OF_DENSE(t, MEET);
  return t->cluster > 1 ? meet + log2(t->cluster) * OF(t, CLUSTER) * results : 0;
}

void tile_pace(const tile_facts *t, plan_pace *out) {
  const double area = t->positions[0] * (double)t->positions[1] / AREA, k = t->positions[2];
  const double alone = tile_clocks(t) * sqrt(area),
               rounds = OF(t, ROUNDS) * (t->teams > 1 ? TILE_TEAMS : 1);
  const double part = (double)PACE_FINE / 8 / OF(t, MEMORY);
  const int shared = t->kind == TILE_SWAPPED ? 0 : 1; /* the operand that neighbours have, too */
  const int64_t once = whole((double)PACE_PART / t->beside),
                rows = whole((double)PACE_PART / t->across);
  *out = (plan_pace){
      .units = whole(units_of(t)),
      .resident = t->resident,
      .busy = whole(busy_clocks(t, area)),
      .fetch = whole(t->positions[1] * k * t->bits[1] / 8 / fetch_of(t)),
      .rows = t->positions[0],
      .columns = t->positions[1],
      .fetch_row = whole(PACE_PART * k * t->bits[0] / 8 / fetch_of(t)),
      .cache = whole((double)PACE_PART * PACE_PART * fetch_of(t) / cache_of(t)),
      .once = {shared == 0 ? once : rows, shared == 1 ? once : rows},
      .own = whole((double)PACE_PART * fetch_of(t) / OF(t, COLD)),
      .begin = t->rounds ? 0 : whole(OF(t, BEGIN)),
      .least = whole(fmax(OF(t, LATENCY) / bits_max(t->slots, 1), behind_clocks(t, area))),
      .more = whole(turn_clocks(t)),
      .tile = whole(alone * (t->rounds ? rounds : 1) + joining_clocks(t, area)),
      .start = whole(OF(t, START) + (t->dealt ? OF(t, DEAL) * sqrt(area) : 0) +
                     (t->shares ? OF(t, SECOND) : 0) + (t->rounds ? alone * OF(t, LAST) : 0)),
      .share = whole(OF(t, SHARE)),
      .partial = whole(PACE_PART * PACE_PART * OF(t, PARTIAL)),
      .memory = {whole(t->bits[0] * part), whole(t->bits[1] * part), whole(t->bits[2] * part)},
      .hidden = whole(PACE_PART * OF(t, HIDDEN)),
      .filled = t->kind == TILE_WARPS || t->kind == TILE_FEW};
}

void tile_pace_torn(plan_pace *out) {
  out->torn[0] = whole(PACE_PART * TILE_TORN_OWN);
  out->torn[1] = whole(PACE_PART * TILE_TORN_TOGETHER);
}

void tile_pace_torn_beside(const tile_facts *t, plan_pace *out) {
  const int blocks = t->beside * t->across;
  if (blocks <= 1) return;
  out->units = blocks == 2 ? PACE_UNITS : whole(TILE_TORN_UNITS);
  out->more = whole(TILE_TORN_TURN);
}

void tile_pace_absent(plan_pace *out) { out->absent = whole(TILE_TORN_ABSENT); }
