/* Products of warpgroups: tiles of all sizes, and blocks of them that share K. Their paces
 * (tile_pace.h) say which of them a shape takes. */
#include "jit/plan/dot/dot_planner.h"
#include "jit/plan/dot/tile_pace.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/stages/stages.h"

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
    {64, 32, 2, false},   {64, 48, 2, false},   {64, 64, 2, false},   {64, 80, 2, false},
    {64, 96, 2, false},   {64, 128, 2, false},  {8, 64, 2, true},     {16, 64, 2, true},
    {24, 64, 2, true},    {32, 64, 2, true},    {48, 64, 2, true},    {64, 64, 2, true},
    {64, 128, 3, true},   {128, 128, 3, true},
};
#define FOUR_WARPGROUPS 1 /* number */

/* The same, where operands' rows begin lines of memory: else a plan has room for copies instead. */
static const group_tile more_tiles[] = {{128, 80, 3, false}, {128, 96, 3, false}};

/* Of two teams (plan_kernel.team_bits): each multiplies its tiles by one warpgroup. */
static const group_tile team_tiles[] = {{128, 112, 2, false},
                                        {128, 128, 2, false},
                                        {128, 144, 2, false},
                                        {128, 160, 2, false},
                                        {128, 176, 2, false}};
#define TEAMS 1 /* log2 */

/* Whose blocks share K. */
static const group_tile shared_tiles[] = {
    {64, 96, 2, false}, {64, 160, 2, false}, {8, 64, 2, true},
    {24, 64, 2, true},  {48, 64, 2, true},   {256, 128, 3, true},
};

#define SHARED_OF_THREADS \
  5 /* of these, the first ones, where threads copy: 256 rows of 5762 by the last take 81 us on an \
       H200, behind copies 63 */

/* The same, where threads copy: what a tile lacks of a power of two they copy, too. */
static const group_tile even_tiles[] = {{64, 64, 2, false}, {64, 128, 2, false}};

/* For few rows of experts. */
static const group_tile gathered_tiles[DOT_GATHERED_TILES] = {
    {16, 64, 2, true},   {32, 64, 2, true},  {64, 64, 2, false},
    {64, 128, 2, false}, {64, 96, 2, false}, {64, 80, 2, false},
};

/* Of lists of pointers, whose operands threads copy, so that no block takes one tile after the
 * other: as many as `resident` of a multiprocessor at once, while some begin and others end. */
static const struct {
  group_tile tile;
  int8_t resident;
} list_tiles[] = {{{64, 64, 2, false}, 3}, {{64, 128, 2, false}, 2}};

/* Behind copies of operands whose rows begin inside lines of memory. Those of many results first.
 */
static const struct {
  group_tile tile;
  int8_t cluster; /* log2 blocks */
} copied_tiles[] = {
    {{128, 256, 3, false}, 0}, {{256, 128, 4, false}, 0}, {{128, 128, 3, false}, 0},
    {{64, 128, 2, false}, 0},  {{64, 64, 2, false}, 0},   {{64, 64, 2, false}, 1},
};
#define COPIED_LARGE 2 /* of these, the first ones */
#define COPIED_DIRECT \
  4 /* likewise, where warpgroups multiply operands as they lie, too: by boxes \
       the large ones alone */
#define COPIED_WEIGHTS \
  (4 << 20)           /* positions of N and K, from which on copies for few rows pay ... */
#define COPIED_FEW 17 /* ... of so many */

/* Blocks of clusters, log2 of how many: those that are best somewhere, and others that are
 * candidates of tuning. Bit i of each: 2^i blocks. */
typedef struct cluster_tile {
  group_tile tile;
  uint8_t blocks, others;
} cluster_tile;

/* Few results beside a long K: the blocks share K, and add up what they have through each other's
 * shared memory. */
static const cluster_tile cluster_tiles[] = {{{16, 64, 2, true}, 1 << 3 | 1 << 2, 0},
                                             {{32, 64, 2, true}, 1 << 3 | 1 << 2, 1 << 1},
                                             {{64, 64, 2, false}, 1 << 3 | 1 << 2 | 1 << 1, 0},
                                             {{64, 96, 2, false}, 1 << 2 | 1 << 1, 0},
                                             {{64, 128, 2, false}, 1 << 1, 1 << 2},
                                             {{64, 160, 2, false}, 1 << 2, 1 << 1},
                                             {{128, 96, 3, false}, 1 << 1, 1 << 2},
                                             {{128, 128, 3, false}, 1 << 2 | 1 << 1, 0},
                                             {{128, 192, 3, false}, 0, 1 << 2 | 1 << 1}};
#define CLUSTERS_OF_TORN 3 /* of these, the first ones, where rows begin inside lines */

/* Tiles beside each other: the blocks fetch what they have in common once. */
static const cluster_tile beside_tiles[] = {
    {{64, 64, 2, false}, 0, 1 << 1 | 1 << 2},  {{64, 96, 2, false}, 0, 1 << 1 | 1 << 2},
    {{64, 128, 2, false}, 0, 1 << 1 | 1 << 2}, {{128, 96, 3, false}, 0, 1 << 1},
    {{128, 112, 3, false}, 0, 1 << 1},         {{128, 128, 3, false}, 0, 1 << 1 | 1 << 2},
    {{128, 144, 3, false}, 0, 1 << 1},         {{128, 160, 3, false}, 0, 1 << 1},
    {{128, 176, 3, false}, 0, 1 << 1},         {{128, 192, 3, false}, 0, 1 << 1 | 1 << 2},
    {{128, 256, 3, false}, 0, 1 << 1},         {{64, 128, 3, true}, 0, 1 << 1},
    {{128, 128, 3, true}, 0, 1 << 1},          {{192, 128, 3, true}, 0, 1 << 1}};

/* The last turns of these are dealt to all blocks. */
static const group_tile dealt_tiles[] = {
    {128, 256, 3, false}, {256, 128, 4, false}, {128, 128, 3, false}};
#define COUNT(tiles) ((int)(sizeof(tiles) / sizeof *(tiles)))

static int bits_of(int positions) { return bits_highest((uint64_t)(2 * positions - 1)); }

/* How blocks share a tile or K. */
typedef struct sharing {
  bool splits; /* K, to the workspace */
  int cluster; /* log2 blocks of a cluster ... */
  bool beside; /* ... which have tiles beside each other; else they share K */
  int across;  /* beside: of these along the other dim (dot_shape.across) */
  bool lines;  /* threads copy (dot_shape.lines) */
  bool deal;   /* the last turns are dealt */
  int teams;   /* log2 teams of the tile's warps */
  int longer;  /* log2 lines of 128 bytes that a turn has of each row */
} sharing;

#define ONE_WARPGROUP 2 /* log2 warps */

/* Of experts' rows tiles of one warpgroup: where one block ends a tile the other one's copies go
 * on. 32 experts' skewed rows of 64 tokens take 259 us on an H200 for 268, 128 experts' even ones
 * of 256 765 for 775, of 16 tokens 754 for 746 (docs/history/grouped-products.md). */
static bool stays_twice(const dot_planner *p, const group_tile *tile, const sharing *how) {
  return dot_grouped_axis(&p->desc->dot) == DOT_GROUPED_M && tile->warps == ONE_WARPGROUP &&
         how->cluster == 0 && how->teams == 0 && !how->splits && !how->deal;
}

static dot_shape shape_of(const dot_planner *p, const group_tile *tile, const sharing *how) {
  dot_shape shape = dot_warpgroup_tile(p);
  const int positions[2] = {tile->m, tile->n};
  for (int dim = 0; dim < 2; dim++) {
    shape.bits[dim] = bits_of(positions[dim]);
    shape.own[dim] = bits_is_power_of_two(positions[dim]) ? 0 : positions[dim];
  }
  shape.warps = tile->warps;
  shape.swapped = tile->swapped;
  const int rows = tile->swapped ? DOT_DIM_N : DOT_DIM_M; /* the instruction's */
  shape.bits[how->beside ? rows : DOT_DIM_K] += how->cluster - how->across;
  shape.bits[1 - rows] += how->across;
  shape.bits[DOT_DIM_K] += how->longer;
  shape.cluster = how->cluster;
  shape.beside = how->beside;
  shape.across = how->across;
  shape.lines = how->lines;
  shape.deal = how->deal;
  shape.teams = how->teams;
  shape.resident = p->resident;
  shape.halves = stays_twice(p, tile, how);
  return shape;
}

/* Of experts' rows tiles whose columns are no power of two take longer than the model has it, by
 * one part in so many: of 128 experts, 4096 tokens, skewed, on an H200 192 columns 1513 us, 256
 * 1447; of 32 experts 871 and 857. Teams' tiles do not: of 32 experts, 16384 tokens, 128 x 160
 * takes 2635 us, 128 x 256 2810 (docs/history/grouped-products.md). */
#define ODD_OF_EXPERTS 24

static void set_pace(const dot_planner *p, const group_tile *tile, const dot_shape *shape,
                     bool shared, plan_kernel *kernel) {
  const int bits = llrt_dtype_bits(p->desc->tensors[0].dtype);
  const int along = shape->beside ? 0 : shape->cluster; /* K */
  kernel->tile =
      (tile_facts){.kind = tile->swapped ? TILE_SWAPPED : TILE_DENSE,
                   .positions = {tile->m, tile->n, 1 << (shape->bits[DOT_DIM_K] - along)},
                   .cluster = 1 << along,
                   .resident = bits_max(p->resident, 1),
                   .slots = kernel->slots,
                   .groups = 1 << (tile->warps - 2 + shape->teams),
                   .bits = {bits, llrt_dtype_bits(p->desc->tensors[2].dtype),
                            llrt_dtype_bits(p->desc->tensors[1].dtype)},
                   .bytes = bits <= 8,
                   .short_sums = dot_sums_short(&p->job, p->target),
                   .rounds = kernel->launch.rounds > 0,
                   .dealt = kernel->deal.used,
                   .shares = shared,
                   .beside = shape->beside ? 1 << (shape->cluster - shape->across) : 1,
                   .across = 1 << shape->across,
                   .teams = 1 << shape->teams,
                   .torn = dot_torn_operands(p, kernel) != 0,
                   .experts = p->grouped};
  tile_pace(&kernel->tile, &kernel->launch.pace);
  kernel->launch.pace.invariant = p->invariant;
  dot_pace_pitches(p, kernel);
  kernel->launch.pace.parts = kernel->experts.used && !kernel->experts.shared;
  if (kernel->experts.used && !bits_is_power_of_two(tile->n) && shape->teams == 0)
    kernel->launch.pace.busy += kernel->launch.pace.busy / ODD_OF_EXPERTS;
}

/* UNSUPPORTED where operands do not lie so in tiles of its positions. */
static llrt_status add_tile(dot_planner *p, const group_tile *tile, const sharing *how) {
  const int first = p->out->n_variants;
  const dot_shape shape = shape_of(p, tile, how);
  bool done;
  LLRT_TRY(how->splits ? dot_add_split(p, &shape, -1, &done)
                       : dot_add_whole(p, &shape, -1, 0, &done));
  if (p->out->n_variants == first) return LLRT_OK;
  int multiplies = first;
  while (p->out->variant[multiplies].slots == 0 && multiplies + 1 < p->out->n_variants)
    multiplies++; /* copies may be before it */
  set_pace(p, tile, &shape, how->splits, &p->out->variant[multiplies]);
  if (how->deal) p->out->variant[multiplies].launch.range.min_extent[p->rank - 1] = 1;
  p->out->variant[first].tile = p->out->variant[multiplies].tile;
  p->out->variant[first].launch.pace = p->out->variant[multiplies].launch.pace;
  return LLRT_OK;
}

/* Of experts that sum along their parts of K: of 2880 x 5760 for 2048 positions each tiles of 128 x
 * 128 took 3406 us on an H200, of 128 x 256 2857; of 4096 x 3072 for 256 each 1792 and 1722; 192
 * columns 11 % more than 256 on an H100 (docs/history/grouped-products.md). */
static bool is_slow_of_parts(const dot_planner *p, const group_tile *tile) {
  return dot_grouped_axis(&p->desc->dot) == DOT_GROUPED_K &&
         (!bits_is_power_of_two(tile->n) || (tile->m >= 128 && tile->n < 256));
}

#define STAGES 4      /* of a variant at most */
#define LEAST_ROWS 32 /* of a tile: what counts for few rows are how many columns it has */
#define WASTED_ROWS 2 /* tiles have at most so many times as many rows as are promised */

/* Of a tile, by what is promised. */
static int64_t most_rows(const dot_planner *p) {
  const int64_t rows = p->desc->promises[0].shape[p->rank - 3].max, all = INT32_MAX;
  const bool few =
      rows > 0 && rows < all / WASTED_ROWS && !p->grouped && !(p->options && p->options->wide);
  return few ? bits_max((int)rows, LEAST_ROWS) * WASTED_ROWS : all;
}

/* A turn of fewer rows takes as long as one of so many, so it has two lines of each: of 64 x 2880 x
 * 2880 (bf16) tiles of 64 x 32 take 12.8 us on an H200, by one line 14.3 (docs/history/tiles.md).
 */
#define ROWS_OF_A_LINE 128

/* The same of 8-bit elements whose sums of a turn join those of all: of two lines one half joins
 * while the other one is multiplied. */
#define ROWS_OF_A_SHORT_LINE 160

/* By turns of two lines, or of one where those are not for it: where threads copy, or rows begin
 * inside lines, are experts' or shared among the blocks of a cluster, longer turns are no faster or
 * were not measured. */
static llrt_status add_by_lines(dot_planner *p, const group_tile *tile, const sharing *how) {
  const int first = p->out->n_variants;
  sharing longer = *how;
  longer.longer = 1;
  const int most = dot_sums_short(&p->job, p->target) ? ROWS_OF_A_SHORT_LINE : ROWS_OF_A_LINE;
  if (tile->m + tile->n > most || how->cluster > 0 || how->lines || how->deal || p->grouped ||
      p->copied || p->resident)
    return add_tile(p, tile, how);
  const llrt_status status = add_tile(p, tile, &longer);
  const plan_kernel *kernel = &p->out->variant[first];
  const bool boxes = status == LLRT_OK && p->out->n_variants > first &&
                     kernel->launch.n_boxes == 2 && dot_torn_operands(p, kernel) == 0;
  if (boxes || (status != LLRT_OK && status != LLRT_UNSUPPORTED)) return status;
  p->out->n_variants = first;
  return add_tile(p, tile, how);
}

/* Of at most `most` rows, where there is room in the plan. */
static llrt_status try_tile(dot_planner *p, const group_tile *tile, int64_t most,
                            const sharing *how) {
  const int first = p->out->n_variants;
  if (tile->m > most || is_slow_of_parts(p, tile) || first + STAGES > PLAN_MAX_VARIANTS)
    return LLRT_OK;
  llrt_status status = add_by_lines(p, tile, how);
  if (status != LLRT_UNSUPPORTED) return status;
  p->out->n_variants = first;
  return LLRT_OK;
}

static llrt_status add_tiles(dot_planner *p, const group_tile *tiles, int n, int64_t most,
                             const sharing *how) {
  for (int i = 0; i < n; i++) LLRT_TRY(try_tile(p, &tiles[i], most, how));
  return LLRT_OK;
}

static llrt_status add_clusters(dot_planner *p, const cluster_tile *tiles, int n, int64_t most,
                                bool beside) {
  const bool wide = p->options && p->options->wide;
  for (int i = 0; i < n; i++)
    for (int cluster = p->target->cluster_bits; cluster > 0; cluster--)
      if ((tiles[i].blocks | (wide ? tiles[i].others : 0)) >> cluster & 1)
        LLRT_TRY(
            try_tile(p, &tiles[i].tile, most, &(sharing){.cluster = cluster, .beside = beside}));
  return LLRT_OK;
}

static llrt_status add_list_tiles(dot_planner *p, int64_t most) {
  llrt_status status = LLRT_OK;
  for (int i = 0; i < COUNT(list_tiles) && status == LLRT_OK; i++) {
    p->resident = list_tiles[i].resident;
    status = try_tile(p, &list_tiles[i].tile, most, &(sharing){.splits = false});
  }
  p->resident = 0;
  return status;
}

llrt_status dot_add_gathered_tile(dot_planner *p, int i) {
  return add_tile(p, &gathered_tiles[i], &(sharing){.splits = false});
}

/* The range of tile number i: copies of a few rows pay from so many weights on, of more rows from
 * so many of each. */
static plan_range copied_range(const dot_planner *p, int i) {
  const int least = p->target->tuning->dot_least_copied;
  plan_range range = {.min_elements = 0};
  for (int a = p->rank - 2; a < p->rank; a++) range.min_extent[a] = least;
  if (i < COPIED_LARGE) {
    range.min_extent[p->rank - 3] = least;
    return range;
  }
  range.min_extent[p->rank - 3] = COPIED_FEW;
  range.axes = 3u << (p->rank - 2);
  range.min_along = COPIED_WEIGHTS;
  return range;
}

/* The first n of them. done NULL: they compete with tiles that multiply operands as they lie. */
static llrt_status add_copied_tiles(dot_planner *p, int copies, int n, bool *done) {
  const int64_t most = most_rows(p);
  llrt_status status = dot_begin_copies(p);
  p->copied = copies;
  for (int i = 0; i < n && status == LLRT_OK; i++) {
    const int first = p->out->n_variants;
    const plan_range range = copied_range(p, i);
    const int holds = done ? stages_range_holds(p->desc, &range) : 2;
    if (holds == 0) continue;
    status =
        try_tile(p, &copied_tiles[i].tile, most, &(sharing){.cluster = copied_tiles[i].cluster});
    if (p->out->n_variants == first) continue;
    if (holds < 2) p->out->variant[first].launch.range = range;
    else if (done) *done = true;
    p->out->variant[p->out->n_variants - 1].launch.range = p->out->variant[first].launch.range;
  }
  p->copied = 0;
  return status;
}

llrt_status dot_add_copied_tiles(dot_planner *p, int copies, bool *done) {
  return add_copied_tiles(p, copies, COUNT(copied_tiles), done);
}

static llrt_status add_whole_tiles(dot_planner *p, int64_t most) {
  const group_tile *four = &whole_tiles[FOUR_WARPGROUPS];
  const sharing none = {.splits = false};
  if (p->four_warpgroups) LLRT_TRY(add_tiles(p, four, 1, most, &none));
  LLRT_TRY(add_tiles(p, whole_tiles, FOUR_WARPGROUPS, most, &none));
  if (!p->four_warpgroups) LLRT_TRY(add_tiles(p, four, 1, most, &none));
  return add_tiles(p, four + 1, COUNT(whole_tiles) - FOUR_WARPGROUPS - 1, most, &none);
}

/* Where rows begin inside lines, fetching in common pays. log2 blocks of a cluster, and of these
 * along the instruction's columns. */
static const struct {
  group_tile tile;
  int8_t cluster, across;
} torn_tiles[] = {
    {{128, 256, 3, false}, 1, 0}, {{256, 160, 3, false}, 1, 1}, {{256, 112, 3, false}, 1, 1},
    {{256, 96, 3, false}, 1, 1},  {{128, 192, 3, false}, 2, 0}, {{128, 176, 3, false}, 2, 1},
    {{128, 160, 3, false}, 3, 1}, {{128, 144, 3, false}, 2, 1}, {{128, 128, 3, false}, 3, 1},
    {{128, 112, 3, false}, 3, 2}, {{128, 96, 3, false}, 2, 1},  {{128, 80, 3, false}, 2, 1},
    {{64, 96, 2, false}, 2, 1},   {{64, 80, 2, false}, 2, 1},   {{64, 64, 2, false}, 2, 2},
    {{128, 192, 3, false}, 2, 2}, {{32, 64, 2, true}, 2, 0},    {{16, 64, 2, true}, 1, 0}};

/* The same, where threads copy whole lines: candidates of tuning. */
static const group_tile lines_tiles[] = {
    {128, 256, 3, false}, {128, 160, 3, false}, {64, 64, 2, false}};
#define COPIED_ROWS 64 /* copies of operands that are multiplied as they lie pay for more alone */

/* What rows that may begin inside lines, as the variant from kernel `direct` on multiplies them,
 * are worth: blocks that fetch in common, and copies; of what boxes bring as it lies of one operand
 * alone, for no copy was best there. Threads that copy one operand copy both. Of 8-bit elements
 * nothing where boxes copy: their sums have two sets of registers, which fetching in common leaves
 * no room for (of 4096 x 5120 x 2880 e4m3 tiles of 128 x 256 took 695 us on an H200, alone 98). */
static llrt_status add_untorn_tiles(dot_planner *p, int direct, int64_t most) {
  const plan_kernel *kernel = &p->out->variant[direct];
  const int torn = dot_torn_operands(p, kernel);
  const bool boxes = kernel->launch.n_boxes == 2, wide = p->options && p->options->wide;
  if (boxes && llrt_dtype_bits(dot_multiplied_type(&p->job, p->target, 0)) < 16) return LLRT_OK;
  if (torn && boxes && wide)
    LLRT_TRY(add_tiles(p, lines_tiles, COUNT(lines_tiles), most, &(sharing){.lines = true}));
  for (int i = 0; i < COUNT(torn_tiles) && torn && boxes; i++)
    LLRT_TRY(try_tile(p, &torn_tiles[i].tile, most,
                      &(sharing){.cluster = torn_tiles[i].cluster,
                                 .beside = true,
                                 .across = torn_tiles[i].across}));
  if (!torn || most <= COPIED_ROWS) return LLRT_OK;
  if (boxes) return add_copied_tiles(p, torn & 2 ? 2 : 1, COPIED_LARGE, NULL);
  return add_copied_tiles(p, torn, COPIED_DIRECT, NULL);
}

static llrt_status add_team_tiles(dot_planner *p, int64_t most) {
  if (dot_sums_short(&p->job, p->target)) return LLRT_OK;
  return add_tiles(p, team_tiles, COUNT(team_tiles), most, &(sharing){.teams = TEAMS});
}

llrt_status dot_add_groups(dot_planner *p) {
  int64_t most = most_rows(p);
  const int before = p->out->n_variants; /* behind copies of what an index gathers */
  LLRT_TRY(add_whole_tiles(p, most));
  if (p->out->n_variants == before) LLRT_TRY(add_whole_tiles(p, most = INT32_MAX));
  if (p->out->n_variants == before)
    return llrt_error(LLRT_UNSUPPORTED, "no tile of warpgroups takes these operands");
  if (p->alone && !p->grouped && !p->invariant) return add_list_tiles(p, most);
  const bool torn = dot_torn_operands(p, &p->out->variant[before]) != 0;
  if (dot_grouped_axis(&p->desc->dot) == DOT_GROUPED_M && !torn) return add_team_tiles(p, most);
  if (p->rows || p->alone) return LLRT_OK;
  if (!torn) LLRT_TRY(add_tiles(p, more_tiles, COUNT(more_tiles), most, &(sharing){.deal = false}));
  LLRT_TRY(
      add_clusters(p, cluster_tiles, torn ? CLUSTERS_OF_TORN : COUNT(cluster_tiles), most, false));
  const bool threads = p->out->variant[before].launch.n_boxes == 0;
  if (p->shares)
    LLRT_TRY(add_tiles(p, shared_tiles, threads ? SHARED_OF_THREADS : COUNT(shared_tiles), most,
                       &(sharing){.splits = true}));
  if (p->shares && threads)
    LLRT_TRY(add_tiles(p, even_tiles, COUNT(even_tiles), most, &(sharing){.splits = true}));
  if (!p->invariant && !p->result_in_workspace) LLRT_TRY(add_untorn_tiles(p, before, most));
  if (!torn) LLRT_TRY(add_team_tiles(p, most));
  if (p->options && p->options->wide)
    LLRT_TRY(add_tiles(p, dealt_tiles, COUNT(dealt_tiles), most, &(sharing){.deal = true}));
  return add_clusters(p, beside_tiles, COUNT(beside_tiles), most, true);
}
