/* Products of warpgroups: tiles of all sizes, and blocks of them that share K. Their paces
 * (tile_pace.h) say which of them a shape takes. */
#include "jit/plan/dot/dot_planner.h"
#include "jit/plan/dot/tile_pace.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/cost/trace.h"

/* Positions of M and N, log2 warps, and which operand has an instruction's rows: D^T = B^T A^T
 * makes few rows of D columns of it. */
typedef struct group_tile {
  int16_t m, n;
  int8_t warps;
  bool swapped;
} group_tile;

/* Of all that there are (docs/history/tiles.md) those that are best somewhere. The largest of
 * dot_warpgroup_tile first: by two warpgroups, by four. */
static const group_tile whole_tiles[] = {
    {128, 256, 3, false}, {256, 128, 4, false}, {128, 112, 3, false}, {128, 128, 3, false},
    {128, 144, 3, false}, {128, 160, 3, false}, {128, 176, 3, false}, {128, 192, 3, false},
    {64, 64, 2, false},   {64, 80, 2, false},   {64, 96, 2, false},   {64, 128, 2, false},
    {8, 64, 2, true},     {16, 64, 2, true},    {32, 64, 2, true},    {48, 64, 2, true},
    {64, 64, 2, true},    {64, 128, 3, true},   {128, 128, 3, true},
};
#define FOUR_WARPGROUPS 1 /* number */

/* Whose blocks share K. */
static const group_tile shared_tiles[] = {
    {64, 96, 2, false}, {64, 160, 2, false}, {8, 64, 2, true},
    {24, 64, 2, true},  {48, 64, 2, true},   {256, 128, 3, true},
};

/* For few rows of experts. */
static const group_tile gathered_tiles[DOT_GATHERED_TILES] = {
    {16, 64, 2, true},   {32, 64, 2, true},  {64, 64, 2, false},
    {64, 128, 2, false}, {64, 96, 2, false}, {64, 80, 2, false},
};

/* Few results beside a long K: blocks of a cluster share K, and add up what they have through each
 * other's shared memory. log2 blocks, those that are best somewhere; others are candidates of
 * tuning. */
static const struct {
  group_tile tile;
  uint8_t blocks; /* bit i: clusters of 2^i */
} cluster_tiles[] = {{{16, 64, 2, true}, 1 << 3 | 1 << 2},
                     {{32, 64, 2, true}, 1 << 2},
                     {{64, 64, 2, false}, 1 << 3 | 1 << 2 | 1 << 1}};
#define COUNT(tiles) ((int)(sizeof(tiles) / sizeof *(tiles)))

static int bits_of(int positions) { return bits_highest((uint64_t)(2 * positions - 1)); }

static dot_shape shape_of(const dot_planner *p, const group_tile *tile, int cluster) {
  dot_shape shape = dot_warpgroup_tile(p);
  const int positions[2] = {tile->m, tile->n};
  for (int dim = 0; dim < 2; dim++) {
    shape.bits[dim] = bits_of(positions[dim]);
    shape.own[dim] = bits_is_power_of_two(positions[dim]) ? 0 : positions[dim];
  }
  shape.warps = tile->warps;
  shape.swapped = tile->swapped;
  shape.bits[DOT_DIM_K] += cluster;
  shape.cluster = cluster;
  return shape;
}

static void set_pace(const dot_planner *p, const group_tile *tile, const dot_shape *shape,
                     bool shared, plan_kernel *kernel) {
  const int bits = llrt_dtype_bits(p->desc->tensors[0].dtype);
  kernel->tile =
      (tile_facts){.kind = tile->swapped ? TILE_SWAPPED : TILE_DENSE,
                   .positions = {tile->m, tile->n, 1 << (shape->bits[DOT_DIM_K] - shape->cluster)},
                   .cluster = 1 << shape->cluster,
                   .resident = 1,
                   .slots = kernel->slots,
                   .groups = 1 << (tile->warps - 2),
                   .bits = {bits, llrt_dtype_bits(p->desc->tensors[2].dtype),
                            llrt_dtype_bits(p->desc->tensors[1].dtype)},
                   .bytes = bits <= 8,
                   .short_sums = dot_sums_short(&p->job, p->target),
                   .rounds = kernel->launch.rounds > 0,
                   .shares = shared};
  tile_pace(&kernel->tile, &kernel->launch.pace);
  kernel->launch.pace.invariant = p->invariant;
}

/* One of them; shared: blocks share K; cluster: log2 blocks of a cluster that do. UNSUPPORTED where
 * operands do not lie so in tiles of its positions. */
static llrt_status add_tile(dot_planner *p, const group_tile *tile, bool shared, int cluster) {
  const int first = p->out->n_variants;
  const dot_shape shape = shape_of(p, tile, cluster);
  bool done;
  LLRT_TRY(shared ? dot_add_split(p, &shape, -1, &done) : dot_add_whole(p, &shape, -1, 0, &done));
  if (p->out->n_variants == first) return LLRT_OK;
  int multiplies = first;
  while (p->out->variant[multiplies].slots == 0 && multiplies + 1 < p->out->n_variants)
    multiplies++; /* copies may be before it */
  set_pace(p, tile, &shape, shared, &p->out->variant[multiplies]);
  p->out->variant[first].tile = p->out->variant[multiplies].tile;
  p->out->variant[first].launch.pace = p->out->variant[multiplies].launch.pace;
  return LLRT_OK;
}

#define STAGES 4 /* of a variant at most */

/* The tiles of at most `most` rows; of all there is the first one. */
static llrt_status add_tiles(dot_planner *p, const group_tile *tiles, int n, int64_t most,
                             bool shared) {
  for (int i = 0; i < n; i++) {
    const int first = p->out->n_variants;
    if (tiles[i].m > most) continue;
    if (first + STAGES > PLAN_MAX_VARIANTS) return LLRT_OK;
    llrt_status status = add_tile(p, &tiles[i], shared, 0);
    if (status == LLRT_UNSUPPORTED) p->out->n_variants = first;
    else LLRT_TRY(status);
  }
  return LLRT_OK;
}

static llrt_status add_clusters(dot_planner *p, int64_t most) {
  const bool wide = p->options && p->options->wide;
  for (int i = 0; i < COUNT(cluster_tiles); i++)
    for (int cluster = p->target->cluster_bits; cluster > 0; cluster--) {
      const int first = p->out->n_variants;
      if (cluster_tiles[i].tile.m > most || (!wide && !(cluster_tiles[i].blocks >> cluster & 1)))
        continue;
      if (first + 1 > PLAN_MAX_VARIANTS) return LLRT_OK;
      llrt_status status = add_tile(p, &cluster_tiles[i].tile, false, cluster);
      if (status == LLRT_UNSUPPORTED) p->out->n_variants = first;
      else LLRT_TRY(status);
    }
  return LLRT_OK;
}

llrt_status dot_add_gathered_tile(dot_planner *p, int i) {
  return add_tile(p, &gathered_tiles[i], false, 0);
}

static llrt_status add_whole_tiles(dot_planner *p, int64_t most) {
  const group_tile *four = &whole_tiles[FOUR_WARPGROUPS];
  if (p->four_warpgroups) LLRT_TRY(add_tiles(p, four, 1, most, false));
  LLRT_TRY(add_tiles(p, whole_tiles, FOUR_WARPGROUPS, most, false));
  if (!p->four_warpgroups) LLRT_TRY(add_tiles(p, four, 1, most, false));
  return add_tiles(p, four + 1, COUNT(whole_tiles) - FOUR_WARPGROUPS - 1, most, false);
}

#define LEAST_ROWS 8  /* of a tile */
#define WASTED_ROWS 2 /* tiles have at most so many times as many rows as are promised */

llrt_status dot_add_groups(dot_planner *p) {
  const int64_t rows = p->desc->promises[0].shape[p->rank - 3].max, all = INT32_MAX;
  const bool few =
      rows > 0 && rows < all / WASTED_ROWS && !p->grouped && !(p->options && p->options->wide);
  int64_t most = few ? bits_max((int)rows, LEAST_ROWS) * WASTED_ROWS : all;
  const int before = p->out->n_variants; /* behind copies of what an index gathers */
  LLRT_TRY(add_whole_tiles(p, most));
  if (p->out->n_variants == before) LLRT_TRY(add_whole_tiles(p, most = all));
  if (p->out->n_variants == before)
    return llrt_error(LLRT_UNSUPPORTED, "no tile of warpgroups takes these operands");
  if (p->rows || p->alone) return LLRT_OK;
  LLRT_TRY(add_clusters(p, most));
  return p->shares ? add_tiles(p, shared_tiles, COUNT(shared_tiles), most, true) : LLRT_OK;
}
