/* Planning a dot: its stages and variants.
 *
 * One kernel does everything where blocks are enough. Else blocks take a share of K each and leave
 * sums in the workspace, which a second stage adds in the order of the shares: shape and promises
 * alone decide, so every run gives the same bits. Operands that have no common refinement with the
 * result are made row-major by converts before; a destination that has copies or pads to be
 * written, by one behind. */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/stages/stages.h"
#include "layout/storage_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* log2 of the longest M or N for which narrower tiles are made. */
#define NARROW_BITS 4
#define MIDDLE_BITS 6
/* The same on the host. */
#define FEW_BITS 2

/* Regions of the workspace. */
enum { REGION_PARTIAL, REGION_A, REGION_B, REGION_D };

typedef struct planner {
  const op_description *desc;
  const plan_target *target;
  const plan_options *options;
  plan *out;
  dot_job job; /* of one kernel that does everything */
  int rank;
  bool shares;              /* blocks may share K */
  int rows;                 /* bit i: operand i is row-major in the workspace first */
  bool result_in_workspace; /* D is row-major in the workspace first ... */
  llrt_dtype between;       /* ... of this type: its own, or what is cast to it behind */
  bool warpgroups;          /* large tiles are multiplied by warpgroups */
  bool four_warpgroups; /* of the largest tile: four warpgroups, for sums of turns beside those of
                           all */
  int copied; /* bit i: operand i is copied for them, as rows of whole lines along K; of the stages
                 that are being made */
  llrt_dtype copy_type[2];
  llrt_storage copy[2];
  llrt_storage row_major, finish_rows;   /* of the operation's axes; of splits, batch.., M, N */
  llrt_storage finish[LLRT_MAX_TENSORS]; /* storages with the finish stage's axes */
} planner;

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

/* ---- stages ---- */

static bool is_rows(const planner *p, int i) { return p->rows >> i & 1; }

/* What a kernel that multiplies reads and writes. */
static dot_job multiplying_job(const planner *p, bool partial) {
  dot_job job = p->job;
  job.partial = partial;
  for (int i = 0; i < 2; i++)
    if (is_rows(p, i)) dot_in_workspace(&job, 2 * i, p->desc->tensors[2 * i].dtype, &p->row_major);
  for (int i = 0; i < 2; i++)
    if (p->copied >> i & 1) dot_in_workspace(&job, 2 * i, p->copy_type[i], &p->copy[i]);
  if (partial) dot_in_workspace(&job, 1, job.rule.sums, &p->row_major);
  else if (p->result_in_workspace) dot_in_workspace(&job, 1, p->between, &p->row_major);
  return job;
}

/* Blocks wanted of a tile: of warpgroups' kernels, which take a multiprocessor's shared memory, one
 * each. */
static int64_t blocks_of(const planner *p, const dot_shape *shape) {
  int64_t units = p->target->facts.units;
  if (p->target->simd_lanes) return p->target->tuning->dot_blocks;
  if (shape->warpgroups) return units;
  return bits_max((int)(units << p->target->tuning->dot_unit_warp_bits >> shape->warps), 1);
}

/* log2 elements of a type that have 128 bytes: a row of a box then is one line of memory. */
static int piece_bits(llrt_dtype type) { return 10 - bits_log2(llrt_dtype_bits(type)); }

static llrt_status multiply_stage(planner *p, const dot_shape *shape, bool split,
                                  plan_kernel *kernel, bool *divided) {
  dot_job job = multiplying_job(p, split);
  LLRT_TRY(dot_plan_kernel(&job, shape, split, p->target, p->options, kernel, divided));
  if (*divided || (!p->rows && !p->result_in_workspace && !split && !p->copied)) return LLRT_OK;
  stages_view_all(p->desc, kernel, p->desc->n_tensors);
  for (int i = 0; i < 2; i++) {
    if (is_rows(p, i))
      stages_view_region(kernel, 2 * i, i ? REGION_B : REGION_A, dot_lacking(p->desc, 2 * i));
    if (!(p->copied >> i & 1)) continue;
    stages_view_region(kernel, 2 * i, i ? REGION_B : REGION_A, dot_lacking(p->desc, 2 * i));
    kernel->launch.view.pieces[2 * i] = (uint8_t)piece_bits(p->copy_type[i]);
  }
  if (split) stages_view_region(kernel, 1, REGION_PARTIAL, dot_lacking(p->desc, 1));
  else if (p->result_in_workspace) stages_view_region(kernel, 1, REGION_D, dot_lacking(p->desc, 1));
  if (!split) return LLRT_OK;
  kernel->launch.walk.blocks = blocks_of(p, shape);
  kernel->launch.walk.least = p->target->tuning->dot_least_turns;
  kernel->launch.walk.results = (int64_t)1 << (shape->bits[DOT_DIM_M] + shape->bits[DOT_DIM_N]);
  return LLRT_OK;
}

/* Tensor t of the operation with the finish stage's axes, as tensor `to` of its job. */
static llrt_status finish_tensor(planner *p, int t, int to, dot_job *job) {
  int8_t axes[LLRT_MAX_RANK];
  const llrt_tensor_promise *promise = &p->desc->promises[t];
  llrt_tensor_promise *made = &job->desc.promises[to];
  for (int a = 0; a < LLRT_MAX_RANK; a++) axes[a] = (int8_t)(a + 1 < p->rank ? a + 1 : -1);
  LLRT_TRY(storage_renumber(p->desc->tensors[t].storage, axes, p->rank, &p->finish[to]));
  job->desc.tensors[to] = p->desc->tensors[t];
  job->desc.tensors[to].storage = &p->finish[to];
  *made = (llrt_tensor_promise){.address = promise->address};
  job->desc.dot.group[to][0] = LLRT_GROUP_ALL;
  for (int a = 0; a + 1 < p->rank; a++) {
    made->stride[a + 1] = promise->stride[a];
    job->desc.dot.group[to][a + 1] = p->desc->dot.group[t][a];
  }
  return LLRT_OK;
}

/* The shares' sums are tensor 0, D is 1, behind them stands what acts on sums. */
static llrt_status finish_job(planner *p, dot_job *job, int8_t from[LLRT_MAX_TENSORS]) {
  const op_description *desc = p->desc;
  *job = p->job;
  job->finish = true;
  job->desc.n_tensors = 0;
  memset(job->desc.dot.group, 0, sizeof job->desc.dot.group);
  memset(job->desc.promises, 0, sizeof job->desc.promises);
  for (int r = 0; r < LLRT_DOT_ROLES; r++) {
    int t = p->job.tensor[r], to = job->desc.n_tensors;
    bool prologue = r == LLRT_DOT_B || r == LLRT_DOT_ZERO_A || r == LLRT_DOT_ZERO_B;
    prologue |= (r == LLRT_DOT_SCALE_A && !job->scaled_sums[0]) ||
                (r == LLRT_DOT_SCALE_B && !job->scaled_sums[1]);
    job->tensor[r] = t < 0 || prologue ? -1 : to;
    if (job->tensor[r] < 0) continue;
    from[to] = (int8_t)t;
    job->desc.n_tensors++;
    if (r == LLRT_DOT_A) dot_in_workspace(job, to, job->rule.sums, &p->finish_rows);
    else LLRT_TRY(finish_tensor(p, t, to, job));
  }
  if (p->result_in_workspace) dot_in_workspace(job, 1, p->between, &p->finish_rows);
  llrt_promise *shape = job->desc.promises[0].shape;
  shape[0] = (llrt_promise){.max = INT32_MAX};
  for (int a = 0; a + 1 < p->rank; a++) shape[a + 1] = desc->promises[0].shape[a];
  return LLRT_OK;
}

static llrt_status finish_stage(planner *p, plan_kernel *kernel) {
  const dot_shape gpu = {.bits = {3, 7, 0}, .warps = bits_min(p->target->warp_bits, 2)},
                  host = {.bits = {2, 5, 0}};
  dot_job job;
  int8_t from[LLRT_MAX_TENSORS] = {0};
  bool divided;
  LLRT_TRY(finish_job(p, &job, from));
  LLRT_TRY(dot_plan_kernel(&job, p->target->simd_lanes ? &host : &gpu, false, p->target, p->options,
                           kernel, &divided));
  if (divided)
    return llrt_error(LLRT_UNSUPPORTED, "what acts on sums has no common refinement with D");
  stages_view_all(p->desc, kernel, job.desc.n_tensors);
  plan_view *view = &kernel->launch.view;
  view->axis[0] = PLAN_AXIS_SPLITS;
  for (int a = 0; a + 1 < p->rank; a++) view->axis[a + 1] = (int8_t)a;
  for (int t = 0; t < job.desc.n_tensors; t++) view->tensor[t] = from[t];
  stages_view_region(kernel, 0, REGION_PARTIAL, 0);
  if (p->result_in_workspace) stages_view_region(kernel, 1, REGION_D, 1);
  return LLRT_OK;
}

/* ---- converts ---- */

static llrt_status convert_stage(planner *p, int t, int region, plan_kernel *kernel) {
  return dot_convert_stage(p->desc, t, p->desc->tensors[t].dtype, region, 0, p->target, p->options,
                           kernel);
}

/* Operand i as warpgroups read it. UNSUPPORTED: 4-bit elements of which no two lie in a byte. */
static llrt_status copy_stage(planner *p, int i, plan_kernel *kernel) {
  llrt_dtype type = p->copy_type[i];
  plan_options options = p->options ? *p->options : (plan_options){0};
  options.whole_bytes = true;
  return dot_convert_stage(p->desc, 2 * i, type, i ? REGION_B : REGION_A, piece_bits(type),
                           p->target, &options, kernel);
}

static llrt_status before_stages(planner *p) {
  plan_kernel *kernel;
  for (int i = 0; i < 2; i++) {
    if (!is_rows(p, i)) continue;
    LLRT_TRY(stages_next(p->out, &kernel));
    LLRT_TRY(convert_stage(p, 2 * i, i ? REGION_B : REGION_A, kernel));
  }
  for (int i = 0; i < 2; i++) {
    if (!(p->copied >> i & 1)) continue;
    LLRT_TRY(stages_next(p->out, &kernel));
    LLRT_TRY(copy_stage(p, i, kernel));
  }
  return LLRT_OK;
}

static llrt_status back_stage(planner *p, int half, plan_kernel *kernel) {
  return dot_convert_back(p->desc, 1, p->between, REGION_D, half, p->target, p->options, kernel);
}

static llrt_status behind_stages(planner *p) {
  plan_kernel *kernel;
  if (!p->result_in_workspace) return LLRT_OK;
  LLRT_TRY(stages_next(p->out, &kernel));
  llrt_status status = back_stage(p, 0, kernel);
  if (status != LLRT_UNSUPPORTED || llrt_dtype_bits(p->desc->tensors[1].dtype) >= 8) return status;
  LLRT_TRY(back_stage(p, 1, kernel));
  LLRT_TRY(stages_next(p->out, &kernel));
  return back_stage(p, 2, kernel);
}

/* ---- tiles ---- */

/* Sums, A and B of a turn fit scratch memory, and operands of the innermost loops the nearest
 * cache. */
static dot_shape blocked_tile(const planner *p) {
  int wide = llrt_dtype_bits(p->job.rule.sums) == 64;
  return (dot_shape){.bits = {6 - wide, 7 - wide, 6}, .blocked = true};
}

/* log2 K positions of a turn: a line of 128 bytes of an operand, half of one where there are no
 * copies ahead; fewer where each lane multiplies by itself. */
static int turn_bits(const planner *p) {
  int wide = bits_max(llrt_dtype_bits(p->desc->tensors[0].dtype),
                      llrt_dtype_bits(p->desc->tensors[2].dtype));
  return 9 + p->target->async_copies - bits_log2(bits_max(wide, 8));
}

/* Warps of 64 x 64 results (half of that where there are sums of turns beside), so that fragments
 * are read from shared memory at half the rate of what multiplies them; the largest tile whose
 * rings fit. */
static dot_shape matrix_tile(const planner *p, int warps) {
  static const dot_shape tiles[] = {{.bits = {7, 8, 0}, .warps = 3},
                                    {.bits = {7, 8, -1}, .warps = 3},
                                    {.bits = {7, 7, -1}, .warps = 2}};
  static const dot_shape twice = {.bits = {7, 7, 0}, .warps = 3};
  bool tf32 = p->job.rule.compute == DOT_TF32; /* a lane has room for 64 x 64 of a warp's operand */
  int least = 5 - tf32, turn = tf32 ? bits_min(turn_bits(p), 6) : turn_bits(p);
  int wide = bits_max(llrt_dtype_bits(p->desc->tensors[0].dtype),
                      llrt_dtype_bits(p->desc->tensors[2].dtype));
  for (int i = 0; i < 3 && p->target->async_copies; i++) {
    dot_shape shape = dot_sums_short(&p->job, p->target) && i == 0 ? twice : tiles[i];
    shape.bits[DOT_DIM_K] = bits_max(turn + tiles[i].bits[DOT_DIM_K], least);
    int64_t positions = ((int64_t)1 << shape.bits[0]) + ((int64_t)1 << shape.bits[1]);
    if ((positions * wide / 8 << shape.bits[DOT_DIM_K]) * DOT_SLOTS <=
        p->target->facts.shared_bytes)
      return shape;
  }
  return (dot_shape){.bits = {7, 7, bits_max(turn, least)}, .warps = warps};
}

#define WORD_K \
  4 /* log2 positions of K among which a word's elements lie that llrt_dot_pack packs */

static dot_shape plain_tile(const planner *p) {
  llrt_dtype sum = p->job.rule.sums;
  if (p->target->simd_lanes) return blocked_tile(p);
  int warps = bits_min(p->target->warp_bits, dot_has_matrices(&p->job, p->target) ? 2 : 3);
  int least = p->job.words[0] || p->job.words[1] ? WORD_K : 0;
  if (!dot_has_matrices(&p->job, p->target))
    return (dot_shape){.bits = {6, 6, bits_max(sum == LLRT_F32 || sum == LLRT_I32 ? 3 : 2, least)},
                       .warps = warps};
  if (sum == LLRT_F64) return (dot_shape){.bits = {6, 6, bits_max(3, least)}, .warps = warps};
  return matrix_tile(p, warps);
}

/* Each warpgroup has 64 rows, and the accumulators that a thread has registers for; turns are lines
 * of 128 bytes. Where sums of a turn join those of all turns there are four warpgroups, so that
 * while one adds the products of three fill the tensor cores. */
static dot_shape warpgroup_tile(const planner *p) {
  dot_shape shape = {.bits = {7, 8, turn_bits(p)}, .warps = 3, .warpgroups = true, .rounds = true};
  if (!p->four_warpgroups) return shape;
  shape.bits[DOT_DIM_M] = 8;
  shape.bits[DOT_DIM_N] = 7;
  shape.warps = 4;
  return shape;
}

/* The same of fewer rows and columns: a multiprocessor has less to do for a tile, but fetches more
 * for a product. Clocks of a turn as an H200 takes them: what is fetched at 50 bytes a clock, or
 * products; and where sums of turns stand beside. */
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
#define LARGE_TILE 0  /* of warpgroup_tile */
#define SHARED_TILE 3 /* of blocks that share K */

static dot_shape large_tile(const planner *p) {
  return p->warpgroups ? warpgroup_tile(p) : plain_tile(p);
}

/* For M (0) or N (1) of at most 2^bits. */
static dot_shape narrow_tile(const planner *p, int narrow, int bits) {
  dot_shape shape = plain_tile(p);
  shape.bits[narrow] = bits;
  if (!dot_has_matrices(&p->job, p->target)) return shape;
  shape.bits[1 - narrow] = bits == NARROW_BITS ? 6 : 7;
  shape.warps = bits_min(shape.warps, 2);
  return shape;
}

/* ---- variants ---- */

/* The variant of the kernels from `first` on, and its workspace. */
static void close_variant(planner *p, int first, plan_range range, bool split) {
  plan_launch *launch = stages_close(p->out, first, range);
  if (!split && !p->rows && !p->result_in_workspace && !p->copied) return;
  launch->walk.axes |=
      1u << (p->rank -
             1); /* a copy of an operand has nothing to do without positions along K, others have */
  launch->workspace = (plan_workspace){.n = PLAN_MAX_REGIONS, .clear = true};
  plan_region *region = launch->workspace.region;
  if (split) region[REGION_PARTIAL].per_partial = stages_element_bytes(p->job.rule.sums);
  for (int t = 0; t < 3; t++) {
    bool used = t == 1 ? p->result_in_workspace : is_rows(p, t / 2);
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
    own->pieces = piece_bits(p->copy_type[i]);
  }
}

#define NO_SHAPE "no shape that promises allow is in its range"

/* "tile 128 x 256, turns of 64 along K: blocks share K". */
static void name_tile(const planner *p, const dot_shape *shape, const char *how,
                      char what[PLAN_ATTEMPT_NAME]) {
  snprintf(what, PLAN_ATTEMPT_NAME, "%stile %d x %d, turns of %d along K%s%s",
           shape->warpgroups ? "warpgroups, " : "", 1 << shape->bits[DOT_DIM_M],
           (1 << shape->bits[DOT_DIM_N]) * (shape->three_quarters[1] ? 3 : 4) / 4,
           1 << shape->bits[DOT_DIM_K], *how ? ": " : "", how);
  (void)p;
}

/* Adds a variant whose blocks share K: a stage that leaves partial sums, and one that adds them. It
 * is for shapes whose axis `narrow` (0: M, 1: N) is no longer than the tile, or with narrow -1 for
 * those with too few tiles to fill a device. *done: it takes every shape, so no other variant is
 * needed. */
static llrt_status add_split(planner *p, const dot_shape *shape, int narrow, bool *done) {
  int first = p->out->n_variants, holds;
  plan_kernel *kernel;
  bool divided;
  plan_range range = {
      .axes = 1u << (p->rank - 1),
      .min_along = (int64_t)2 * p->target->tuning->dot_least_turns << shape->bits[DOT_DIM_K],
      .max_across = blocks_of(p, shape) / 2 << (shape->bits[DOT_DIM_M] + shape->bits[DOT_DIM_N])};
  if (narrow >= 0) range = (plan_range){.min_elements = 0};
  if (narrow >= 0) range.max_extent[p->rank - 3 + narrow] = (int64_t)1 << shape->bits[narrow];
  char what[PLAN_ATTEMPT_NAME];
  name_tile(p, shape, "blocks share K", what);
  holds = stages_range_holds(p->desc, &range);
  if (holds == 0) return plan_refused(p->options, NULL, what, NO_SHAPE);
  LLRT_TRY(before_stages(p));
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(multiply_stage(p, shape, true, kernel, &divided));
  if (divided) return llrt_error(LLRT_INTERNAL, "partial sums and the operands have no refinement");
  plan_taken(p->options, kernel, "%s", what);
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(finish_stage(p, kernel));
  LLRT_TRY(behind_stages(p));
  *done = holds == 2;
  close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, true);
  return LLRT_OK;
}

/* Without it where a kernel of shares would have a digit too many, or where promises leave turns
 * for one share alone: it is only faster. */
static llrt_status try_split(planner *p, const dot_shape *shape, int narrow, bool *done) {
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
static llrt_status add_whole(planner *p, const dot_shape *shape, int narrow, int64_t most,
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
  LLRT_TRY(before_stages(p));
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(plan_refused_by(p->options, multiply_stage(p, shape, false, kernel, &divided), what));
  if (!divided) plan_taken(p->options, kernel, "%s", what);
  else plan_refused(p->options, NULL, what, "the storages do not divide a tile's columns");
  if (divided) return llrt_error(LLRT_UNSUPPORTED, "the storages do not divide a tile's columns");
  LLRT_TRY(behind_stages(p));
  close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, false);
  return LLRT_OK;
}

static llrt_status add_copied(planner *p, int copies, const dot_shape *shape, bool *done) {
  int first = p->out->n_variants;
  plan_kernel *kernel;
  plan_range range = {.min_elements = 0};
  bool divided;
  for (int a = p->rank - 3; a < p->rank; a++)
    range.min_extent[a] = p->target->tuning->dot_least_copied;
  int holds = stages_range_holds(p->desc, &range);
  static const char what[] = "warpgroups, behind copies of operands";
  if (holds == 0)
    return plan_refused(p->options, NULL, what, "an extent is promised to be below %d",
                        p->target->tuning->dot_least_copied);
  p->copied = copies;
  *done = holds == 2;
  LLRT_TRY(before_stages(p));
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(multiply_stage(p, shape, false, kernel, &divided));
  plan_taken(p->options, kernel, "%s", what);
  LLRT_TRY(behind_stages(p));
  close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, false);
  p->copied = 0;
  return LLRT_OK;
}

/* One of them; shared: blocks share K. UNSUPPORTED where operands do not lie so in tiles of few
 * positions. */
static llrt_status add_group(planner *p, int tile, bool shared) {
  int first = p->out->n_variants, narrow = warpgroup_tiles[tile].narrow;
  dot_shape shape = warpgroup_tile(p);
  bool done;
  for (int dim = 0; dim < 2 && tile > LARGE_TILE; dim++)
    shape.bits[dim] = warpgroup_tiles[tile].bits[dim];
  if (tile > LARGE_TILE) shape.warps = warpgroup_tiles[tile].warps;
  shape.swapped = narrow == 0;
  shape.three_quarters[1] = warpgroup_tiles[tile].three_quarters;
  int64_t most = narrow < 0 ? 0 : (int64_t)1 << shape.bits[narrow];
  LLRT_TRY(shared ? add_split(p, &shape, -1, &done) : add_whole(p, &shape, narrow, most, &done));
  if (p->out->n_variants == first) return LLRT_OK;
  plan_range *range = &p->out->variant[first].launch.range;
  range->turn_clocks = warpgroup_tiles[tile].turn_clocks[dot_sums_short(&p->job, p->target)];
  range->tile_clocks = p->target->tuning->dot_tile_clocks;
  range->more_clocks = shared ? p->target->tuning->dot_split_clocks : 0;
  return LLRT_OK;
}

/* Kernels by warpgroups, of which a shape takes the one that is done first: tiles of all sizes, and
 * those of one whose blocks share K. */
static llrt_status add_warpgroups(planner *p) {
  for (int tile = 0; tile < GROUP_TILES; tile++) {
    int first = p->out->n_variants;
    llrt_status status = add_group(p, tile, false);
    if (status == LLRT_UNSUPPORTED && tile > SHARED_TILE) p->out->n_variants = first;
    else LLRT_TRY(status);
  }
  return p->rows || !p->shares ? LLRT_OK : add_group(p, SHARED_TILE, true);
}

/* ---- the whole ---- */

/* Whether an operand may be copied: elements alone, as the type that is multiplied. */
static bool can_copy(const planner *p, int operand) {
  bool other =
      p->job.tensor[operand ? LLRT_DOT_ZERO_B : LLRT_DOT_ZERO_A] >= 0 || p->job.words[operand];
  return !other && (p->job.tensor[operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A] < 0 ||
                    p->job.scaled_sums[operand]);
}

/* What operands have to be copied so that warpgroups multiply them; 0: they do not whatever is
 * copied. Of B alone, of A alone, of both. */
static llrt_status find_copies(planner *p, const dot_shape *shape, int *copies) {
  plan_kernel *scratch = &p->out->variant[0];
  *copies = 0;
  for (int i = 0; i < 2; i++) {
    p->copy_type[i] = dot_multiplied_type(&p->job, p->target, i);
    LLRT_TRY(storage_whole_rows(p->rank, piece_bits(p->copy_type[i]), &p->copy[i]));
  }
  static const int order[] = {2, 1, 3};
  static const char *const copies_name[] = {"", "warpgroups, A copied", "warpgroups, B copied",
                                            "warpgroups, A and B copied"};
  for (int i = 0; i < 3 && *copies == 0; i++) {
    bool divided = false, can = true;
    p->copied = order[i];
    for (int o = 0; o < 2; o++) can &= !(p->copied >> o & 1) || can_copy(p, o);
    llrt_status status =
        can ? multiply_stage(p, shape, false, scratch, &divided) : LLRT_UNSUPPORTED;
    for (int o = 0; o < 2 && status == LLRT_OK && !divided; o++)
      if (p->copied >> o & 1) status = copy_stage(p, o, scratch);
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
static llrt_status find_rows(planner *p, const dot_shape *shape) {
  static const int order[] = {0, 2, 1, 3};
  plan_kernel *scratch = &p->out->variant[0];
  bool divided = true;
  p->result_in_workspace = true;
  for (int i = 0; i < 4 && divided; i++) {
    p->rows = order[i];
    if ((is_rows(p, 0) && p->job.words[0]) || (is_rows(p, 1) && p->job.words[1])) continue;
    llrt_status status = multiply_stage(p, shape, false, scratch, &divided);
    for (int o = 0; o < 2 && status == LLRT_OK && !divided; o++)
      if (is_rows(p, o)) status = convert_stage(p, 2 * o, o ? REGION_B : REGION_A, scratch);
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
static llrt_status find_groups(planner *p, int *copies, bool *divided) {
  const bool four = dot_sums_short(&p->job, p->target);
  llrt_status status = LLRT_UNSUPPORTED;
  for (int less = 0; less <= four && status == LLRT_UNSUPPORTED; less++) {
    p->four_warpgroups = four && !less;
    dot_shape shape = warpgroup_tile(p);
    status = multiply_stage(p, &shape, false, &p->out->variant[0], divided);
    char what[PLAN_ATTEMPT_NAME];
    name_tile(p, &shape, "", what);
    plan_refused_by(p->options, status, what);
    if (status == LLRT_OK && *divided)
      plan_refused(p->options, NULL, what, "operands and result have no common refinement");
  }
  p->warpgroups = status == LLRT_OK && !*divided;
  if (status != LLRT_UNSUPPORTED) return status;
  for (int less = 0; less <= four && *copies == 0; less++) {
    p->four_warpgroups = four && !less;
    dot_shape shape = warpgroup_tile(p);
    LLRT_TRY(find_copies(p, &shape, copies));
  }
  return LLRT_OK;
}

static llrt_status begin(planner *p, int *copies) {
  bool divided = false;
  *copies = 0;
  LLRT_TRY(llrt_storage_row_major(p->rank, &p->row_major));
  LLRT_TRY(llrt_storage_row_major(p->rank, &p->finish_rows));
  p->result_in_workspace =
      storage_writes_more(p->desc->tensors[1].storage) || p->between != p->desc->tensors[1].dtype;
  if (!p->target->simd_lanes && p->target->async_copies) LLRT_TRY(find_groups(p, copies, &divided));
  else if (!p->target->simd_lanes)
    plan_refused(p->options, NULL, "warpgroups", "%s has none", p->target->name);
  dot_shape shape = large_tile(p);
  const bool result_in_workspace = p->result_in_workspace;
  llrt_status status =
      p->warpgroups ? LLRT_OK : multiply_stage(p, &shape, false, &p->out->variant[0], &divided);
  if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
  if (divided || status != LLRT_OK) {
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
    return multiply_stage(p, &shape, false, &p->out->variant[0], &divided);
  }
  if (p->rows || p->result_in_workspace) *copies = 0; /* tensors are copied for every shape */
  return LLRT_OK;
}

/* On the host lanes take the longer axis, and rows that are not there cost as much as others. Few
 * positions hold no whole words of packed elements. */
static llrt_status add_thin(planner *p, bool *done) {
  for (int narrow = 0; narrow < 2 && !*done; narrow++) {
    if (p->job.words[narrow]) continue;
    dot_shape few = {.bits = {6, 6, 6}, .blocked = true};
    few.bits[narrow] = FEW_BITS;
    LLRT_TRY(add_whole(p, &few, narrow, 1 << FEW_BITS, done));
  }
  return LLRT_OK;
}

/* between: the type in which D stands in the workspace first, where it does. */
static llrt_status make_all(const op_description *known, const plan_target *target,
                            const plan_options *options, bool shares, llrt_dtype between,
                            plan *out) {
  planner p = {.desc = known,
               .target = target,
               .options = options,
               .out = out,
               .rank = known->tensors[0].rank,
               .shares = shares,
               .between = between};
  bool done = false;
  int copies;
  out->n_variants = 0;
  dot_begin_job(known, target, &p.job);
  LLRT_TRY(begin(&p, &copies));
  dot_shape shape = large_tile(&p), group = warpgroup_tile(&p);
  if (p.warpgroups) return add_warpgroups(&p);
  if (copies) LLRT_TRY(add_copied(&p, copies, &group, &done));
  p.shares &= !target->simd_lanes && !p.rows; /* the first stage says how */
  for (int narrow = 0; narrow < 2 && !done && p.shares; narrow++) {
    dot_shape tile = narrow_tile(&p, narrow, NARROW_BITS);
    LLRT_TRY(try_split(&p, &tile, narrow, &done));
  }
  if (!done && p.shares && shape.bits[0] > MIDDLE_BITS) {
    dot_shape tile = narrow_tile(&p, 0, MIDDLE_BITS);
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
