/* Planning a dot: its variants.
 *
 * One kernel does everything where blocks are enough. Else blocks take a share of K each and leave
 * sums in the workspace, which a second stage adds in the order of the shares: shape and promises
 * alone decide, so every run gives the same bits. Operands that have no common refinement with the
 * result are made row-major by converts before; a destination that has copies or pads to be
 * written, by one behind. */
#include "jit/plan/dot/dot_planner.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/stages/stages.h"
#include "layout/storage_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* log2 of the longest M or N for which narrower tiles are made, beside DOT_NARROW_BITS. */
#define MIDDLE_BITS 6
/* The same on the host. */
#define FEW_BITS 2

#define LEAST_HALF (-14) /* log2 of the least f16 that is no subnormal */

/* Whether an operand that becomes f16 may have subnormals there. */
static bool may_be_flushed(const op_description *desc, llrt_dot_role operand,
                           const dot_operand_rule *rule) {
  return dot_operand_of(desc, operand).element != LLRT_F16 && rule->values.low < LEAST_HALF;
}

void dot_begin_job(const op_description *desc, const plan_target *target, dot_job *job) {
  *job = (dot_job){.desc = *desc, .rule = dot_rule_of(desc)};
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    job->tensor[r] = dot_tensor(&desc->dot, (llrt_dot_role)r);
  for (int i = 0; i < 2; i++)
    job->words[i] = desc->dot.word_bits[i][0] || desc->dot.word_bits[i][1];
  job->scaled_sums[0] = dot_operand_of(desc, LLRT_DOT_A).on_sums;
  job->scaled_sums[1] = dot_operand_of(desc, LLRT_DOT_B).on_sums;
  bool flushed = may_be_flushed(desc, LLRT_DOT_A, &job->rule.a) ||
                 may_be_flushed(desc, LLRT_DOT_B, &job->rule.b);
  if (target->flushes_halves && job->rule.compute == DOT_F16 && flushed)
    job->rule.compute = DOT_F32;
}

/* ---- variants ---- */

/* The variant of the kernels from `first` on, and its workspace. */
static void close_variant(dot_planner *p, int first, plan_range range, bool split) {
  plan_launch *launch = stages_close(p->out, first, range);
  if (!split && !p->rows && !p->result_in_workspace && !p->copied) return;
  launch->walk.axes |=
      1u << (p->rank -
             1); /* a copy of an operand has nothing to do without positions along K, others have */
  launch->workspace = (plan_workspace){.n = PLAN_MAX_REGIONS, .clear = true};
  plan_region *region = launch->workspace.region;
  if (split) region[REGION_PARTIAL].per_partial = stages_element_bytes(p->job.rule.sums);
  for (int t = 0; t < 3; t++) {
    bool used = t == 1 ? p->result_in_workspace : dot_is_rows(p, t / 2);
    plan_region *own = &region[t == 0 ? REGION_A : t == 1 ? REGION_D : REGION_B];
    llrt_dtype type = t == 1 ? p->between : p->desc->tensors[t].dtype;
    if (used) own->per_position = stages_element_bytes(type);
    if (used && llrt_dtype_bits(type) < 8) /* of bytes at the ends of rows both halves are read */
      launch->workspace.zero = bits_max(launch->workspace.zero, (int)(own - region) + 1);
    own->axes = (int64_t)(bits_mask(p->rank) & ~(uint64_t)dot_lacking(p->desc, t));
  }
  for (int i = 0; i < 2; i++) {
    plan_region *own = &region[i ? REGION_B : REGION_A];
    if (!(p->copied >> i & 1)) continue;
    own->per_position = stages_element_bytes(p->copy_type[i]);
    own->pieces = dot_piece_bits(p->copy_type[i]);
  }
}

#define NO_SHAPE "no shape that promises allow is in its range"

/* "tile 128 x 256, turns of 64 along K: blocks share K". */
static void name_tile(const dot_planner *p, const dot_shape *shape, const char *how,
                      char what[PLAN_ATTEMPT_NAME]) {
  snprintf(what, PLAN_ATTEMPT_NAME, "%stile %d x %d, turns of %d along K%s%s",
           shape->warpgroups ? "warpgroups, " : "", 1 << shape->bits[DOT_DIM_M],
           (1 << shape->bits[DOT_DIM_N]) * (shape->three_quarters[1] ? 3 : 4) / 4,
           1 << shape->bits[DOT_DIM_K],
           *how             ? ": "
           : shape->cluster ? ": clusters share K"
                            : "",
           how);
  (void)p;
}

/* Adds a variant whose blocks share K: a stage that leaves partial sums, and one that adds them. It
 * is for shapes whose axis `narrow` (0: M, 1: N) is no longer than the tile, or with narrow -1 for
 * those with too few tiles to fill a device. *done: it takes every shape, so no other variant is
 * needed. */
static llrt_status add_split(dot_planner *p, const dot_shape *shape, int narrow, bool *done) {
  int first = p->out->n_variants, holds;
  plan_kernel *kernel;
  bool divided;
  plan_range range = {.axes = 1u << (p->rank - 1),
                      .min_along = (int64_t)2 * p->target->tuning->dot_least_turns
                                   << shape->bits[DOT_DIM_K],
                      .max_across = dot_blocks_of(p, shape) / 2
                                    << (shape->bits[DOT_DIM_M] + shape->bits[DOT_DIM_N])};
  if (narrow >= 0) range = (plan_range){.min_elements = 0};
  if (narrow >= 0) range.max_extent[p->rank - 3 + narrow] = (int64_t)1 << shape->bits[narrow];
  char what[PLAN_ATTEMPT_NAME];
  name_tile(p, shape, "blocks share K", what);
  holds = stages_range_holds(p->desc, &range);
  if (holds == 0) return plan_refused(p->options, NULL, what, NO_SHAPE);
  LLRT_TRY(dot_before_stages(p));
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(dot_multiply_stage(p, shape, true, kernel, &divided));
  if (divided) return llrt_error(LLRT_INTERNAL, "partial sums and the operands have no refinement");
  plan_taken(p->options, kernel, "%s", what);
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(dot_finish_stage(p, kernel));
  LLRT_TRY(dot_behind_stages(p));
  *done = holds == 2;
  close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, true);
  return LLRT_OK;
}

/* Without it where a kernel of shares would have a digit too many, or where promises leave turns
 * for one share alone: it is only faster. */
static llrt_status try_split(dot_planner *p, const dot_shape *shape, int narrow, bool *done) {
  int first = p->out->n_variants;
  int64_t most = p->desc->promises[0].shape[p->rank - 1].max;
  *done = false;
  char what[PLAN_ATTEMPT_NAME];
  name_tile(p, shape, "blocks share K", what);
  if (most > 0 && most < (int64_t)2 * p->target->tuning->dot_least_turns << shape->bits[DOT_DIM_K])
    return plan_refused(p->options, NULL, what,
                        "K is at most %lld, and two shares of %d turns are more", (long long)most,
                        p->target->tuning->dot_least_turns);
  llrt_status status = add_split(p, shape, narrow, done);
  if (status != LLRT_UNSUPPORTED) return status;
  plan_refused_by(p->options, status, what);
  p->out->n_variants = first;
  *done = false;
  return LLRT_OK;
}

/* A variant whose blocks each walk all of K, with the stages that are before and behind it. narrow:
 * it is for shapes of at most `most` positions along this axis of the last three (M, N, K); -1: for
 * all. *done: it takes every promised shape. */
static llrt_status add_whole(dot_planner *p, const dot_shape *shape, int narrow, int64_t most,
                             bool *done) {
  int first = p->out->n_variants;
  plan_kernel *kernel;
  plan_range range = {.min_elements = 0};
  bool divided;
  if (narrow >= 0) range.max_extent[p->rank - 3 + narrow] = most;
  char what[PLAN_ATTEMPT_NAME];
  name_tile(p, shape, "", what);
  int holds = stages_range_holds(p->desc, &range);
  if (holds == 0) return plan_refused(p->options, NULL, what, NO_SHAPE);
  *done = holds == 2;
  LLRT_TRY(dot_before_stages(p));
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(
      plan_refused_by(p->options, dot_multiply_stage(p, shape, false, kernel, &divided), what));
  if (!divided) plan_taken(p->options, kernel, "%s", what);
  else plan_refused(p->options, NULL, what, "the storages do not divide a tile's columns");
  if (divided) return llrt_error(LLRT_UNSUPPORTED, "the storages do not divide a tile's columns");
  LLRT_TRY(dot_behind_stages(p));
  close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, false);
  return LLRT_OK;
}

/* A variant of one tile behind copies, for shapes in the range, if storages divide for such a tile.
 */
static llrt_status add_copied(dot_planner *p, int copies, const dot_shape *shape, plan_range range,
                              bool *done) {
  int first = p->out->n_variants;
  plan_kernel *kernel;
  bool divided = false;
  int holds = stages_range_holds(p->desc, &range);
  char what[PLAN_ATTEMPT_NAME];
  name_tile(p, shape, "behind copies of operands", what);
  if (holds == 0) return plan_refused(p->options, NULL, what, NO_SHAPE);
  p->copied = copies;
  llrt_status status = dot_before_stages(p);
  if (status == LLRT_OK) status = stages_next(p->out, &kernel);
  if (status == LLRT_OK) status = dot_multiply_stage(p, shape, false, kernel, &divided);
  if (status == LLRT_OK && !divided) {
    plan_taken(p->options, kernel, "%s", what);
    LLRT_TRY(dot_behind_stages(p));
    *done = holds == 2;
    close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, false);
  } else {
    p->out->n_variants = first;
    plan_refused(p->options, NULL, what, "%s",
                 divided ? "no common refinement with the result" : plan_refusal());
  }
  p->copied = 0;
  return status == LLRT_UNSUPPORTED ? LLRT_OK : status;
}

/* As dot_warpgroup_tile, also of fewer rows and columns: a multiprocessor has less to do for a
 * tile, but fetches more for a product. Clocks of a turn as an H200 takes them: what is fetched at
 * 50 bytes a clock, or products; and where sums of turns stand beside. */
static const struct {
  int8_t bits[2], warps;
  bool three_quarters; /* three quarters of the columns */
  int8_t narrow; /* of this axis (0: M, 1: N) there are no more positions than a tile has; -1: any
                    shape */
  int16_t turn_clocks[2];
} warpgroup_tiles[] = {{{7, 8}, 3, false, -1, {1050, 1020}}, {{7, 7}, 3, false, -1, {640, 640}},
                       {{6, 7}, 2, false, -1, {480, 480}},   {{6, 6}, 2, false, -1, {320, 320}},
                       {{7, 8}, 3, true, -1, {820, 1010}},   {{7, 7}, 3, true, -1, {560, 560}},
                       {{6, 7}, 2, true, -1, {440, 440}},    {{5, 6}, 2, false, 0, {246, 246}},
                       {{4, 6}, 2, false, 0, {205, 205}},    {{6, 5}, 2, false, -1, {246, 246}},
                       {{6, 4}, 2, false, 1, {205, 205}}};
#define GROUP_TILES ((int)(sizeof warpgroup_tiles / sizeof *warpgroup_tiles))
#define LARGE_TILE 0       /* of dot_warpgroup_tile */
#define SHARED_TILE 3      /* of blocks that share K */
#define STAGES_OF_SHARES 3 /* at most, without copies */

/* One of them; shared: blocks share K; cluster: log2 blocks of a cluster that do. UNSUPPORTED where
 * operands do not lie so in tiles of few positions. */
static llrt_status add_group(dot_planner *p, int tile, bool shared, int cluster) {
  int first = p->out->n_variants, narrow = warpgroup_tiles[tile].narrow;
  dot_shape shape = dot_warpgroup_tile(p);
  bool done;
  for (int dim = 0; dim < 2 && tile > LARGE_TILE; dim++)
    shape.bits[dim] = warpgroup_tiles[tile].bits[dim];
  if (tile > LARGE_TILE) shape.warps = warpgroup_tiles[tile].warps;
  shape.swapped = narrow == 0;
  shape.three_quarters[1] = warpgroup_tiles[tile].three_quarters;
  shape.bits[DOT_DIM_K] += cluster;
  shape.cluster = cluster;
  if (p->options && p->options->wide) narrow = -1;
  int64_t most = narrow < 0 ? 0 : (int64_t)1 << shape.bits[narrow];
  LLRT_TRY(shared ? add_split(p, &shape, -1, &done) : add_whole(p, &shape, narrow, most, &done));
  if (p->out->n_variants == first) return LLRT_OK;
  plan_range *range = &p->out->variant[first].launch.range;
  range->turn_clocks = warpgroup_tiles[tile].turn_clocks[dot_sums_short(&p->job, p->target)];
  range->tile_clocks = p->target->tuning->dot_tile_clocks;
  range->more_clocks = shared ? p->target->tuning->dot_split_clocks : 0;
  return LLRT_OK;
}

/* Blocks of every tile that share K, as many as a plan has room for, the small ones first. */
static llrt_status add_shared(dot_planner *p) {
  for (int tile = GROUP_TILES - 1; tile >= LARGE_TILE; tile--) {
    int first = p->out->n_variants;
    if (first + STAGES_OF_SHARES > PLAN_MAX_VARIANTS) return LLRT_OK;
    llrt_status status = add_group(p, tile, true, 0);
    if (status == LLRT_UNSUPPORTED) p->out->n_variants = first;
    else LLRT_TRY(status);
  }
  return LLRT_OK;
}

/* Few results beside a long K: blocks of a cluster share K, and add up what they have through each
 * other's shared memory, so that there is no stage behind. */
static llrt_status add_clusters(dot_planner *p) {
  static const int8_t tiles[] = {8, 7, SHARED_TILE};
  for (int i = 0; i < (int)sizeof tiles; i++)
    for (int cluster = p->target->cluster_bits; cluster > 0; cluster--) {
      int first = p->out->n_variants;
      if (first + 1 > PLAN_MAX_VARIANTS) return LLRT_OK;
      llrt_status status = add_group(p, tiles[i], false, cluster);
      if (status == LLRT_UNSUPPORTED) p->out->n_variants = first;
      else LLRT_TRY(status);
    }
  return LLRT_OK;
}

/* Kernels by warpgroups, of which a shape takes the one that is done first: tiles of all sizes, and
 * those of one whose blocks share K. */
static llrt_status add_warpgroups(dot_planner *p) {
  for (int tile = 0; tile < GROUP_TILES; tile++) {
    int first = p->out->n_variants;
    llrt_status status = add_group(p, tile, false, 0);
    if (status == LLRT_UNSUPPORTED && tile > SHARED_TILE) p->out->n_variants = first;
    else LLRT_TRY(status);
  }
  if (p->rows || !p->shares) return LLRT_OK;
  if (!p->options || !p->options->wide) return add_group(p, SHARED_TILE, true, 0);
  LLRT_TRY(add_clusters(p));
  return add_shared(p);
}

/* ---- the whole ---- */

/* Whether an operand may be copied: elements alone, as the type that is multiplied. */
static bool can_copy(const dot_planner *p, int operand) {
  bool other =
      p->job.tensor[operand ? LLRT_DOT_ZERO_B : LLRT_DOT_ZERO_A] >= 0 || p->job.words[operand];
  return !other && (p->job.tensor[operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A] < 0 ||
                    p->job.scaled_sums[operand]);
}

/* What copies of operands are. */
static llrt_status begin_copies(dot_planner *p) {
  for (int i = 0; i < 2; i++) {
    p->copy_type[i] = dot_multiplied_type(&p->job, p->target, i);
    LLRT_TRY(storage_whole_rows(p->rank, dot_piece_bits(p->copy_type[i]), &p->copy[i]));
  }
  return LLRT_OK;
}

/* What operands have to be copied so that warpgroups multiply them; 0: they do not whatever is
 * copied. Of B alone, of A alone, of both. */
static llrt_status find_copies(dot_planner *p, const dot_shape *shape, int *copies) {
  plan_kernel *scratch = &p->out->variant[0];
  *copies = 0;
  LLRT_TRY(begin_copies(p));
  static const int order[] = {2, 1, 3};
  static const char *const copies_name[] = {"", "warpgroups, A copied", "warpgroups, B copied",
                                            "warpgroups, A and B copied"};
  for (int i = 0; i < 3 && *copies == 0; i++) {
    bool divided = false, can = true;
    p->copied = order[i];
    for (int o = 0; o < 2; o++) can &= !(p->copied >> o & 1) || can_copy(p, o);
    llrt_status status =
        can ? dot_multiply_stage(p, shape, false, scratch, &divided) : LLRT_UNSUPPORTED;
    for (int o = 0; o < 2 && status == LLRT_OK && !divided; o++)
      if (p->copied >> o & 1) status = dot_copy_stage(p, o, scratch);
    if (status == LLRT_OK && !divided) *copies = order[i];
    else
      plan_refused(p->options, NULL, copies_name[order[i]], "%s",
                   !can ? "scales, zero points or permuted words are the operand's own"
                   : status == LLRT_OK ? "no common refinement with the result"
                                       : plan_refusal());
    p->copied = 0;
    if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
  }
  return LLRT_OK;
}

/* Which operands are made row-major, and D, where there is no common refinement: of B, of A, of
 * both; as few as help. Words of permuted bits stay where they lie: converts move elements, and
 * theirs have no bits of their own. Nor do converts take 4-bit elements whose rows begin inside a
 * byte. */
static llrt_status find_rows(dot_planner *p, const dot_shape *shape) {
  static const int order[] = {0, 2, 1, 3};
  plan_kernel *scratch = &p->out->variant[0];
  bool divided = true;
  p->result_in_workspace = true;
  for (int i = 0; i < 4 && divided; i++) {
    p->rows = order[i];
    if ((dot_is_rows(p, 0) && p->job.words[0]) || (dot_is_rows(p, 1) && p->job.words[1])) continue;
    llrt_status status = dot_multiply_stage(p, shape, false, scratch, &divided);
    for (int o = 0; o < 2 && status == LLRT_OK && !divided; o++)
      if (dot_is_rows(p, o)) status = dot_rows_stage(p, 2 * o, o ? REGION_B : REGION_A, scratch);
    if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
    divided |= status != LLRT_OK;
  }
  if (!divided) return LLRT_OK;
  return llrt_error(
      LLRT_UNSUPPORTED,
      "the storages and groups of scales and addends, and operands with word_bits, do not divide "
      "each other's positions into at most %d digits",
      PLAN_MAX_DIGITS);
}

/* Whether warpgroups multiply the operands as they lie, or what is copied for that; four of them
 * where they can. */
static llrt_status find_groups(dot_planner *p, int *copies, bool *divided) {
  const bool four = dot_sums_short(&p->job, p->target);
  llrt_status status = LLRT_UNSUPPORTED;
  for (int less = 0; less <= four && status == LLRT_UNSUPPORTED; less++) {
    p->four_warpgroups = four && !less;
    dot_shape shape = dot_warpgroup_tile(p);
    status = dot_multiply_stage(p, &shape, false, &p->out->variant[0], divided);
    char what[PLAN_ATTEMPT_NAME];
    name_tile(p, &shape, "", what);
    plan_refused_by(p->options, status, what);
    if (status == LLRT_OK && *divided)
      plan_refused(p->options, NULL, what, "operands and result have no common refinement");
  }
  p->warpgroups = status == LLRT_OK && !*divided;
  if (status != LLRT_UNSUPPORTED) return status;
  if (p->alone) return LLRT_OK;
  for (int less = 0; less <= four && *copies == 0; less++) {
    p->four_warpgroups = four && !less;
    dot_shape shape = dot_warpgroup_tile(p);
    LLRT_TRY(find_copies(p, &shape, copies));
  }
  return LLRT_OK;
}

static llrt_status begin(dot_planner *p, int *copies) {
  bool divided = false;
  *copies = 0;
  LLRT_TRY(llrt_storage_row_major(p->rank, &p->row_major));
  LLRT_TRY(llrt_storage_row_major(p->rank, &p->finish_rows));
  p->result_in_workspace =
      storage_writes_more(p->desc->tensors[1].storage) || p->between != p->desc->tensors[1].dtype;
  if (!p->target->simd_lanes && p->target->async_copies) LLRT_TRY(find_groups(p, copies, &divided));
  else if (!p->target->simd_lanes)
    plan_refused(p->options, NULL, "warpgroups", "%s has none", p->target->name);
  dot_shape shape = dot_large_tile(p);
  const bool result_in_workspace = p->result_in_workspace;
  llrt_status status =
      p->warpgroups ? LLRT_OK : dot_multiply_stage(p, &shape, false, &p->out->variant[0], &divided);
  if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
  if (p->alone && (divided || p->result_in_workspace))
    return llrt_error(LLRT_UNSUPPORTED, "a %s whose %s in one launch",
                      p->grouped ? "grouped product" : "product with lists of pointers",
                      divided ? "storages have no common refinement: converts before do not go"
                              : "result would be converted behind does not go");
  if (!p->alone && (divided || status != LLRT_OK)) {
    plan_refused(p->options, NULL, "operands and result where they lie", "%s",
                 status != LLRT_OK ? plan_refusal()
                                   : "they have no common refinement: some are made row-major");
    llrt_status rows = find_rows(p, &shape);
    if (rows != LLRT_OK && (divided || rows != LLRT_UNSUPPORTED)) return rows;
    status = rows;
  }
  if (status != LLRT_OK) {
    p->rows = 0; /* as operands lie, whose refusal says more */
    p->result_in_workspace = result_in_workspace;
    return dot_multiply_stage(p, &shape, false, &p->out->variant[0], &divided);
  }
  if (p->rows || p->result_in_workspace) *copies = 0; /* tensors are copied for every shape */
  return LLRT_OK;
}

/* On the host lanes take the longer axis, and rows that are not there cost as much as others. Few
 * positions hold no whole words of packed elements. */
static llrt_status add_thin(dot_planner *p, bool *done) {
  for (int narrow = 0; narrow < 2 && !*done; narrow++) {
    if (p->job.words[narrow]) continue;
    dot_shape few = {.bits = {6, 6, 6}, .blocked = true};
    few.bits[narrow] = FEW_BITS;
    LLRT_TRY(add_whole(p, &few, narrow, 1 << FEW_BITS, done));
  }
  return LLRT_OK;
}

/* Grouped, whose blocks share no K: tiles for experts of few rows. */
static llrt_status add_few_rows(dot_planner *p, const dot_shape *large, bool *done) {
  static const int rows[] = {DOT_NARROW_BITS, MIDDLE_BITS};
  for (int i = 0; i < 2 && !p->target->simd_lanes && !*done; i++) {
    dot_shape tile = dot_narrow_tile(p, 0, rows[i]);
    int first = p->out->n_variants;
    if (rows[i] >= large->bits[DOT_DIM_M]) continue;
    llrt_status status = add_whole(p, &tile, 0, 1 << rows[i], done);
    if (status != LLRT_UNSUPPORTED) LLRT_TRY(status);
    else p->out->n_variants = first;
  }
  return LLRT_OK;
}

#define FEW_GATHERED 64 /* likely rows of an expert: of more, threads gather as fast as a copy */

/* Rows that an index gathers are copied once where experts have few, so that boxes copy them to
 * shared memory. The stage that multiplies says which shapes the variant takes. */
static llrt_status add_gathered(dot_planner *p) {
  static const int8_t tiles[] = {8, 7, SHARED_TILE, 2, 6, 9};
  const int m = p->rank - 3;
  if (!can_copy(p, 0)) return LLRT_OK;
  LLRT_TRY(begin_copies(p));
  p->copied = 1;
  llrt_status status = LLRT_OK;
  for (int i = 0; i < (int)sizeof tiles && (status == LLRT_OK || status == LLRT_UNSUPPORTED); i++) {
    const int first = p->out->n_variants;
    status = add_group(p, tiles[i], false, 0);
    const bool boxes = status == LLRT_OK && p->out->n_variants == first + 2 &&
                       p->out->variant[first + 1].launch.n_boxes == 2;
    if (!boxes) {
      p->out->n_variants = first;
      continue;
    }
    plan_range *range = &p->out->variant[first].launch.range;
    if (range->max_extent[m] == 0 || range->max_extent[m] > FEW_GATHERED)
      range->max_extent[m] = FEW_GATHERED;
    p->out->variant[first + 1].launch.range = *range;
  }
  p->copied = 0;
  return status == LLRT_UNSUPPORTED ? LLRT_OK : status;
}

static bool has_pointers(const op_description *desc) {
  bool has = false;
  for (int t = 0; t < desc->n_tensors; t++) has |= desc->tensors[t].n_indices > 0;
  return has;
}

/* between: the type in which D stands in the workspace first, where it does. */
static llrt_status make_all(const op_description *known, const plan_target *target,
                            const plan_options *options, bool shares, llrt_dtype between,
                            plan *out) {
  dot_planner p = {.desc = known,
                   .target = target,
                   .options = options,
                   .out = out,
                   .rank = known->tensors[0].rank,
                   .grouped = dot_grouped_axis(&known->dot) >= 0,
                   .between = between};
  p.alone = p.grouped || has_pointers(known);
  p.gathered = p.grouped && known->tensors[0].n_indices > 0;
  p.shares = shares && !p.alone;
  bool done = false;
  int copies;
  out->n_variants = 0;
  dot_begin_job(known, target, &p.job);
  LLRT_TRY(begin(&p, &copies));
  dot_shape shape = dot_large_tile(&p), group = dot_warpgroup_tile(&p);
  if (p.warpgroups && p.gathered) LLRT_TRY(add_gathered(&p));
  if (p.warpgroups) return add_warpgroups(&p);
  if (copies) {
    plan_range range = {.min_elements = 0};
    for (int a = p.rank - 3; a < p.rank; a++)
      range.min_extent[a] = target->tuning->dot_least_copied;
    LLRT_TRY(add_copied(&p, copies, &group, range, &done));
  }
  if (p.grouped) LLRT_TRY(add_few_rows(&p, &shape, &done));
  p.shares &= !target->simd_lanes && !p.rows; /* the first stage says how */
  for (int narrow = 0; narrow < 2 && !done && p.shares; narrow++) {
    dot_shape tile = dot_narrow_tile(&p, narrow, DOT_NARROW_BITS);
    LLRT_TRY(try_split(&p, &tile, narrow, &done));
  }
  if (!done && p.shares && shape.bits[0] > MIDDLE_BITS) {
    dot_shape tile = dot_narrow_tile(&p, 0, MIDDLE_BITS);
    LLRT_TRY(try_split(&p, &tile, 0, &done));
  }
  if (!done && p.shares) LLRT_TRY(try_split(&p, &shape, -1, &done));
  if (!done && target->simd_lanes && !p.rows && !p.result_in_workspace)
    LLRT_TRY(add_thin(&p, &done));
  return done ? LLRT_OK : add_whole(&p, &shape, -1, 0, &done);
}

bool dot_parts_bytes(const plan *made) {
  bool parts = false;
  for (int v = 0; v < made->n_variants; v++)
    for (int s = 0; s < made->variant[v].n_steps; s++) {
      const plan_kernel *kernel = &made->variant[v];
      const plan_step *step = &kernel->step[s];
      parts |= step->kind == PLAN_STORE && kernel->value[step->in].bits << step->vector < 8;
    }
  return parts;
}

/* What is cast to D's type behind everything else. */
static llrt_dtype type_before_cast(const op_description *desc, const plan_target *target) {
  dot_job job;
  dot_begin_job(desc, target, &job);
  llrt_dtype sums = job.rule.sums;
  if (dot_acts(&job)) return dot_acting_type(sums);
  return sums == LLRT_I64 ? LLRT_F64 : sums;
}

/* Results of 4 bits some of whose bytes would have two writers, or whose halves threads do not have
 * together, are stored by a convert behind, which casts them and owns whole bytes. */
llrt_status plan_dot_make(const op_description *desc, const plan_target *target,
                          const plan_options *options, bool shares, plan *out) {
  op_description known;
  llrt_dtype type = desc->tensors[1].dtype;
  LLRT_TRY(dot_promise_extents(desc, target, options, &out->variant[0], &known));
  llrt_status status = make_all(&known, target, options, shares, type, out);
  if (llrt_dtype_bits(type) >= 8 || (status == LLRT_OK && !dot_parts_bytes(out))) return status;
  if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
  plan_refused(options, NULL, "D as 4-bit elements of tiles",
               "a byte would have two writers: a convert behind casts and stores");
  return make_all(&known, target, options, shares, type_before_cast(&known, target), out);
}
