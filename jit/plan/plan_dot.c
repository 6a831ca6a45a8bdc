/* Planning a dot: its stages and variants.
 *
 * One kernel does everything where blocks are enough. Else blocks take a share of K each and leave sums in the
 * workspace, which a second stage adds in the order of the shares: shape and promises alone decide, so every run
 * gives the same bits. Operands that have no common refinement with the result are made row-major by converts before;
 * a destination that has copies or pads to be written, by one behind. */
#include "jit/plan/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/storage_rule.h"

#include <stdlib.h>
#include <string.h>

/* Warps wanted: eight on each multiprocessor of a large GPU. Blocks: a few for every core. */
#define GPU_WARPS 1056
#define HOST_BLOCKS 64
/* Of kernels that have a multiprocessor's shared memory. */
#define GROUP_BLOCKS 132
/* Turns of a share at least: a result's way through the workspace costs about as much. */
#define LEAST_TURNS 8
/* log2 of the longest M or N for which narrower tiles are made. */
#define NARROW_BITS 4
#define MIDDLE_BITS 6
/* The same on the host. */
#define FEW_BITS 2

/* Regions of the workspace. */
enum { REGION_PARTIAL, REGION_A, REGION_B, REGION_D };

typedef struct planner {
  const llrt_op_desc *desc;
  const plan_target *target;
  const plan_options *options;
  plan *out;
  dot_job job; /* of one kernel that does everything */
  int rank;
  bool shares; /* blocks may share K */
  int rows;    /* bit i: operand i is row-major in the workspace first */
  bool apart;  /* D is row-major in the workspace first */
  bool groups; /* large tiles are multiplied by warpgroups */
  bool four;   /* of the largest tile: four warpgroups, for sums of turns beside those of all */
  int copied;  /* bit i: operand i is copied for them, as rows of whole lines along K; of the stages that are being made */
  llrt_dtype copy_type[2];
  llrt_storage copy[2];
  llrt_storage row_major, finish_rows; /* of the operation's axes; of splits, batch.., M, N */
  llrt_storage finish[LLRT_MAX_TENSORS]; /* storages with the finish stage's axes */
} planner;

static llrt_status next_kernel(planner *p, plan_kernel **kernel) {
  if (p->out->n_variants == PLAN_MAX_VARIANTS)
    return llrt_error(LLRT_INTERNAL, "a plan of more than %d kernels", PLAN_MAX_VARIANTS);
  *kernel = &p->out->variant[p->out->n_variants++];
  return LLRT_OK;
}

#define LEAST_HALF (-14) /* log2 of the least f16 that is no subnormal */

/* Whether an operand that becomes f16 may have subnormals there. */
static bool may_be_flushed(const llrt_op_desc *desc, llrt_dot_role operand, const dot_operand_rule *rule) {
  return dot_operand_of(desc, operand).element != LLRT_F16 && rule->values.low < LEAST_HALF;
}

void dot_begin_job(const llrt_op_desc *desc, const plan_target *target, dot_job *job) {
  *job = (dot_job){.desc = *desc, .rule = dot_rule_of(desc)};
  for (int r = 0; r < LLRT_DOT_ROLES; r++) job->tensor[r] = dot_tensor(&desc->dot, (llrt_dot_role)r);
  for (int i = 0; i < 2; i++) job->words[i] = desc->dot.word_bits[i][0] || desc->dot.word_bits[i][1];
  job->scaled_sums[0] = dot_operand_of(desc, LLRT_DOT_A).on_sums;
  job->scaled_sums[1] = dot_operand_of(desc, LLRT_DOT_B).on_sums;
  bool flushed = may_be_flushed(desc, LLRT_DOT_A, &job->rule.a) || may_be_flushed(desc, LLRT_DOT_B, &job->rule.b);
  if (target->flushes_halves && job->rule.compute == DOT_F16 && flushed) job->rule.compute = DOT_F32;
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
  else if (p->apart) dot_in_workspace(&job, 1, p->desc->tensors[1].dtype, &p->row_major);
  return job;
}

/* Blocks wanted of a tile. */
static int64_t blocks_of(const planner *p, const dot_shape *shape) {
  if (shape->group) return GROUP_BLOCKS;
  return p->target->lanes_first ? HOST_BLOCKS : GPU_WARPS >> shape->warps;
}

/* log2 elements of a type that have 128 bytes: a row of a box then is one line of memory. */
static int piece_bits(llrt_dtype type) { return 10 - bits_log2(llrt_dtype_bits(type)); }

static llrt_status multiply_stage(planner *p, const dot_shape *shape, bool split, plan_kernel *kernel, bool *divided) {
  dot_job job = multiplying_job(p, split);
  LLRT_TRY(dot_plan_kernel(&job, shape, split, p->target, p->options, kernel, divided));
  if (*divided || (!p->rows && !p->apart && !split && !p->copied)) return LLRT_OK;
  dot_view_axes(p->desc, kernel, p->desc->n_tensors);
  for (int i = 0; i < 2; i++) {
    if (is_rows(p, i)) dot_view_region(kernel, 2 * i, i ? REGION_B : REGION_A, dot_lacking(p->desc, 2 * i));
    if (!(p->copied >> i & 1)) continue;
    dot_view_region(kernel, 2 * i, i ? REGION_B : REGION_A, dot_lacking(p->desc, 2 * i));
    kernel->launch.view.pieces[2 * i] = (uint8_t)piece_bits(p->copy_type[i]);
  }
  if (split) dot_view_region(kernel, 1, REGION_PARTIAL, dot_lacking(p->desc, 1));
  else if (p->apart) dot_view_region(kernel, 1, REGION_D, dot_lacking(p->desc, 1));
  if (!split) return LLRT_OK;
  kernel->launch.walk.blocks = blocks_of(p, shape);
  kernel->launch.walk.least = LEAST_TURNS;
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
  const llrt_op_desc *desc = p->desc;
  *job = p->job;
  job->finish = true;
  job->desc.n_tensors = 0;
  memset(job->desc.dot.group, 0, sizeof job->desc.dot.group);
  memset(job->desc.promises, 0, sizeof job->desc.promises);
  for (int r = 0; r < LLRT_DOT_ROLES; r++) {
    int t = p->job.tensor[r], to = job->desc.n_tensors;
    bool prologue = r == LLRT_DOT_B || r == LLRT_DOT_ZERO_A || r == LLRT_DOT_ZERO_B;
    prologue |= (r == LLRT_DOT_SCALE_A && !job->scaled_sums[0]) || (r == LLRT_DOT_SCALE_B && !job->scaled_sums[1]);
    job->tensor[r] = t < 0 || prologue ? -1 : to;
    if (job->tensor[r] < 0) continue;
    from[to] = (int8_t)t;
    job->desc.n_tensors++;
    if (r == LLRT_DOT_A) dot_in_workspace(job, to, job->rule.sums, &p->finish_rows);
    else LLRT_TRY(finish_tensor(p, t, to, job));
  }
  if (p->apart) dot_in_workspace(job, 1, desc->tensors[1].dtype, &p->finish_rows);
  llrt_promise *shape = job->desc.promises[0].shape;
  shape[0] = (llrt_promise){.max = INT32_MAX};
  for (int a = 0; a + 1 < p->rank; a++) shape[a + 1] = desc->promises[0].shape[a];
  return LLRT_OK;
}

static llrt_status finish_stage(planner *p, plan_kernel *kernel) {
  const dot_shape gpu = {.bits = {3, 7, 0}, .warps = bits_min(p->target->warp_bits, 2)}, host = {.bits = {2, 5, 0}};
  dot_job job;
  int8_t from[LLRT_MAX_TENSORS] = {0};
  bool divided;
  LLRT_TRY(finish_job(p, &job, from));
  LLRT_TRY(dot_plan_kernel(&job, p->target->lanes_first ? &host : &gpu, false, p->target, p->options, kernel, &divided));
  if (divided) return llrt_error(LLRT_UNSUPPORTED, "what acts on sums has no common refinement with D");
  dot_view_axes(p->desc, kernel, job.desc.n_tensors);
  plan_view *view = &kernel->launch.view;
  view->axis[0] = PLAN_AXIS_SPLITS;
  for (int a = 0; a + 1 < p->rank; a++) view->axis[a + 1] = (int8_t)a;
  for (int t = 0; t < job.desc.n_tensors; t++) view->tensor[t] = from[t];
  dot_view_region(kernel, 0, REGION_PARTIAL, 0);
  if (p->apart) dot_view_region(kernel, 1, REGION_D, 1);
  return LLRT_OK;
}

/* ---- converts ---- */

static llrt_status convert_stage(planner *p, int t, int region, bool back, plan_kernel *kernel) {
  return dot_convert_stage(p->desc, t, p->desc->tensors[t].dtype, region, 0, back, p->target, p->options, kernel);
}

/* Operand i as warpgroups read it. UNSUPPORTED: 4-bit elements of which no two lie in a byte. */
static llrt_status copy_stage(planner *p, int i, plan_kernel *kernel) {
  llrt_dtype type = p->copy_type[i];
  plan_options options = p->options ? *p->options : (plan_options){0};
  options.whole_bytes = true;
  return dot_convert_stage(p->desc, 2 * i, type, i ? REGION_B : REGION_A, piece_bits(type), false, p->target, &options,
                           kernel);
}

static llrt_status before_stages(planner *p) {
  plan_kernel *kernel;
  for (int i = 0; i < 2; i++) {
    if (!is_rows(p, i)) continue;
    LLRT_TRY(next_kernel(p, &kernel));
    LLRT_TRY(convert_stage(p, 2 * i, i ? REGION_B : REGION_A, false, kernel));
  }
  for (int i = 0; i < 2; i++) {
    if (!(p->copied >> i & 1)) continue;
    LLRT_TRY(next_kernel(p, &kernel));
    LLRT_TRY(copy_stage(p, i, kernel));
  }
  return LLRT_OK;
}

static llrt_status behind_stages(planner *p) {
  plan_kernel *kernel;
  if (!p->apart) return LLRT_OK;
  LLRT_TRY(next_kernel(p, &kernel));
  return convert_stage(p, 1, REGION_D, true, kernel);
}

/* ---- tiles ---- */

/* Sums, A and B of a turn fit scratch memory, and operands of the innermost loops the nearest cache. */
static dot_shape blocked_tile(const planner *p) {
  int wide = llrt_dtype_bits(p->job.rule.sums) == 64;
  return (dot_shape){.bits = {6 - wide, 7 - wide, 6}, .blocked = true};
}

/* log2 K positions of a turn: a line of 128 bytes of an operand, half of one where there are no copies ahead; fewer
 * where each lane multiplies by itself. */
static int turn_bits(const planner *p) {
  int wide = bits_max(llrt_dtype_bits(p->desc->tensors[0].dtype), llrt_dtype_bits(p->desc->tensors[2].dtype));
  return 9 + p->target->async_copies - bits_log2(bits_max(wide, 8));
}

/* Warps of 64 x 64 results (half of that where there are sums of turns beside), so that fragments are read from shared memory at half the rate of what multiplies them;
 * the largest tile whose rings fit. */
static dot_shape matrix_tile(const planner *p, int warps) {
  static const dot_shape tiles[] = {{.bits = {7, 8, 0}, .warps = 3}, {.bits = {7, 8, -1}, .warps = 3},
                                    {.bits = {7, 7, -1}, .warps = 2}};
  static const dot_shape twice = {.bits = {7, 7, 0}, .warps = 3};
  bool tf32 = p->job.rule.compute == DOT_TF32; /* a lane has room for 64 x 64 of a warp's operand */
  int least = 5 - tf32, turn = tf32 ? bits_min(turn_bits(p), 6) : turn_bits(p);
  int wide = bits_max(llrt_dtype_bits(p->desc->tensors[0].dtype), llrt_dtype_bits(p->desc->tensors[2].dtype));
  for (int i = 0; i < 3 && p->target->async_copies; i++) {
    dot_shape shape = dot_sums_short(&p->job, p->target) && i == 0 ? twice : tiles[i];
    shape.bits[DOT_DIM_K] = bits_max(turn + tiles[i].bits[DOT_DIM_K], least);
    int64_t positions = ((int64_t)1 << shape.bits[0]) + ((int64_t)1 << shape.bits[1]);
    if ((positions * wide / 8 << shape.bits[DOT_DIM_K]) * DOT_SLOTS <= p->target->shared_bytes) return shape;
  }
  return (dot_shape){.bits = {7, 7, bits_max(turn, least)}, .warps = warps};
}

#define WORD_K 4 /* log2 positions of K among which a word's elements lie that llrt_dot_pack packs */

static dot_shape plain_tile(const planner *p) {
  llrt_dtype sum = p->job.rule.sums;
  if (p->target->lanes_first) return blocked_tile(p);
  int warps = bits_min(p->target->warp_bits, dot_has_matrices(&p->job, p->target) ? 2 : 3);
  int least = p->job.words[0] || p->job.words[1] ? WORD_K : 0;
  if (!dot_has_matrices(&p->job, p->target))
    return (dot_shape){.bits = {6, 6, bits_max(sum == LLRT_F32 || sum == LLRT_I32 ? 3 : 2, least)}, .warps = warps};
  if (sum == LLRT_F64) return (dot_shape){.bits = {6, 6, bits_max(3, least)}, .warps = warps};
  return matrix_tile(p, warps);
}

/* Each warpgroup has 64 rows, and the accumulators that a thread has registers for; turns are lines of 128 bytes. Where sums of a
 * turn join those of all turns there are four warpgroups, so that while one adds the products of three fill the tensor cores. */
static dot_shape group_tile(const planner *p) {
  dot_shape shape = {.bits = {7, 8, turn_bits(p)}, .warps = 3, .group = true, .rounds = true};
  if (!p->four) return shape;
  shape.bits[DOT_DIM_M] = 8;
  shape.bits[DOT_DIM_N] = 7;
  shape.warps = 4;
  return shape;
}

/* The same of fewer rows and columns: a multiprocessor has less to do for a tile, but fetches more for a product. Clocks of a turn
 * as an H200 takes them: what is fetched at 50 bytes a clock, or products; and where sums of turns stand beside. */
static const struct {
  int8_t bits[2], warps;
  bool three;    /* three quarters of the columns */
  int8_t narrow; /* of this axis (0: M, 1: N) there are no more positions than a tile has; -1: any shape */
  int16_t turn_clocks[2];
} group_tiles[] = {{{7, 8}, 3, false, -1, {1050, 1020}}, {{7, 7}, 3, false, -1, {640, 640}},
                   {{6, 7}, 2, false, -1, {480, 480}},   {{6, 6}, 2, false, -1, {320, 320}},
                   {{7, 8}, 3, true, -1, {820, 1010}},    {{7, 7}, 3, true, -1, {560, 560}},
                   {{6, 7}, 2, true, -1, {440, 440}},    {{5, 6}, 2, false, 0, {246, 246}},
                   {{4, 6}, 2, false, 0, {205, 205}},    {{6, 5}, 2, false, -1, {246, 246}},
                   {{6, 4}, 2, false, 1, {205, 205}}};
#define GROUP_TILES ((int)(sizeof group_tiles / sizeof *group_tiles))
#define LARGE_TILE 0  /* of group_tile */
#define SHARED_TILE 3 /* of blocks that share K */
#define TILE_CLOCKS 1500 /* until the first slots are filled, and from the last product on */
#define SPLIT_CLOCKS 20000 /* of a second stage, and of the workspace's */

static dot_shape large_tile(const planner *p) { return p->groups ? group_tile(p) : plain_tile(p); }

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

static int64_t bytes_of(llrt_dtype type) { return bits_max(llrt_dtype_bits(type) / 8, 1); }

/* Numbers the stages from kernel `first` on; the first one has the range and the workspace. */
static void close_variant(planner *p, int first, plan_range range, bool split) {
  int n = p->out->n_variants - first;
  for (int i = 0; i < n; i++) {
    p->out->variant[first + i].launch.stage = i;
    p->out->variant[first + i].launch.later = n - 1 - i;
    p->out->variant[first + i].launch.range = (plan_range){.min_elements = 0};
  }
  plan_launch *launch = &p->out->variant[first].launch;
  launch->range = range;
  if (!split && !p->rows && !p->apart && !p->copied) return;
  launch->walk.axes |= 1u << (p->rank - 1); /* a copy of an operand has nothing to do without positions along K, others have */
  launch->workspace = (plan_workspace){.n = PLAN_MAX_REGIONS, .clear = true};
  plan_region *region = launch->workspace.region;
  if (split) region[REGION_PARTIAL].per_partial = bytes_of(p->job.rule.sums);
  for (int t = 0; t < 3; t++) {
    bool used = t == 1 ? p->apart : is_rows(p, t / 2);
    plan_region *own = &region[t == 0 ? REGION_A : t == 1 ? REGION_D : REGION_B];
    if (used) own->per_position = bytes_of(p->desc->tensors[t].dtype);
    if (used && llrt_dtype_bits(p->desc->tensors[t].dtype) < 8) /* of bytes at the ends of rows both halves are read */
      launch->workspace.zero = bits_max(launch->workspace.zero, (int)(own - region) + 1);
    own->axes = (int64_t)(bits_mask(p->rank) & ~(uint64_t)dot_lacking(p->desc, t));
  }
  for (int i = 0; i < 2; i++) {
    plan_region *own = &region[i ? REGION_B : REGION_A];
    if (!(p->copied >> i & 1)) continue;
    own->per_position = bytes_of(p->copy_type[i]);
    own->pieces = piece_bits(p->copy_type[i]);
  }
}

/* What promises fix of an extent; -1: a run tells. */
static int64_t known_extent(const planner *p, int axis) {
  const llrt_promise *shape = &p->desc->promises[0].shape[axis];
  return shape->max > 0 && shape->min == shape->max ? shape->max : -1;
}

/* Whether no shape (0), some (1) or every shape (2) of the promises is in the range. */
static int range_holds(const planner *p, const plan_range *range) {
  int64_t along = known_extent(p, p->rank - 1), across = 1;
  int holds = 2;
  for (int a = 0; a < p->rank; a++) {
    const llrt_promise *shape = &p->desc->promises[0].shape[a];
    int64_t known = known_extent(p, a), most = range->max_extent[a], least = range->min_extent[a];
    if (most > 0 && shape->min > most) return 0;
    if (shape->max > 0 && shape->max < least) return 0;
    if (shape->min < least) holds = 1;
    if (most > 0 && (shape->max == 0 || shape->max > most)) holds = 1;
    if (a == p->rank - 1 || across < 0) continue;
    if (known < 0 || __builtin_mul_overflow(across, known, &across)) across = -1;
  }
  if (range->axes == 0) return holds;
  if (along >= 0 && along < range->min_along) return 0;
  if (range->max_across && across > range->max_across) return 0;
  return along < 0 || (range->max_across && across < 0) ? 1 : holds;
}

/* Blocks share K; narrow: an axis that is no longer than the tile; -1: few tiles. *done: no other variant is needed. */
static llrt_status add_split(planner *p, const dot_shape *shape, int narrow, bool *done) {
  int first = p->out->n_variants, holds;
  plan_kernel *kernel;
  bool divided;
  plan_range range = {.axes = 1u << (p->rank - 1), .min_along = (int64_t)2 * LEAST_TURNS << shape->bits[DOT_DIM_K],
                      .max_across = blocks_of(p, shape) / 2 << (shape->bits[DOT_DIM_M] + shape->bits[DOT_DIM_N])};
  if (narrow >= 0) range = (plan_range){.min_elements = 0};
  if (narrow >= 0) range.max_extent[p->rank - 3 + narrow] = (int64_t)1 << shape->bits[narrow];
  holds = range_holds(p, &range);
  if (holds == 0) return LLRT_OK;
  LLRT_TRY(before_stages(p));
  LLRT_TRY(next_kernel(p, &kernel));
  LLRT_TRY(multiply_stage(p, shape, true, kernel, &divided));
  if (divided) return llrt_error(LLRT_INTERNAL, "partial sums and the operands have no refinement");
  LLRT_TRY(next_kernel(p, &kernel));
  LLRT_TRY(finish_stage(p, kernel));
  LLRT_TRY(behind_stages(p));
  *done = holds == 2;
  close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, true);
  return LLRT_OK;
}

/* Without it where a kernel of shares would have a digit too many, or where promises leave turns for one share alone: it is only
 * faster. */
static llrt_status try_split(planner *p, const dot_shape *shape, int narrow, bool *done) {
  int first = p->out->n_variants;
  int64_t most = p->desc->promises[0].shape[p->rank - 1].max;
  *done = false;
  if (most > 0 && most < (int64_t)2 * LEAST_TURNS << shape->bits[DOT_DIM_K]) return LLRT_OK;
  llrt_status status = add_split(p, shape, narrow, done);
  if (status != LLRT_UNSUPPORTED) return status;
  p->out->n_variants = first;
  *done = false;
  return LLRT_OK;
}

/* narrow: an axis of at most so many positions; -1: any shape. */
static llrt_status add_whole(planner *p, const dot_shape *shape, int narrow, int64_t most, bool *done) {
  int first = p->out->n_variants;
  plan_kernel *kernel;
  plan_range range = {.min_elements = 0};
  bool divided;
  if (narrow >= 0) range.max_extent[p->rank - 3 + narrow] = most;
  int holds = range_holds(p, &range);
  if (holds == 0) return LLRT_OK;
  *done = holds == 2;
  LLRT_TRY(before_stages(p));
  LLRT_TRY(next_kernel(p, &kernel));
  LLRT_TRY(multiply_stage(p, shape, false, kernel, &divided));
  if (divided) return llrt_error(LLRT_UNSUPPORTED, "the storages do not divide a tile's columns"); /* of three quarters */
  LLRT_TRY(behind_stages(p));
  close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, false);
  return LLRT_OK;
}

/* Copies of operands cost what reading and writing them does, products by other instructions at least twice as much time as by
 * warpgroups: along each axis so many positions at least make the copies the smaller part. */
#define LEAST_COPIED 256

static llrt_status add_copied(planner *p, int copies, const dot_shape *shape, bool *done) {
  int first = p->out->n_variants;
  plan_kernel *kernel;
  plan_range range = {.min_elements = 0};
  bool divided;
  for (int a = p->rank - 3; a < p->rank; a++) range.min_extent[a] = LEAST_COPIED;
  int holds = range_holds(p, &range);
  if (holds == 0) return LLRT_OK;
  p->copied = copies;
  *done = holds == 2;
  LLRT_TRY(before_stages(p));
  LLRT_TRY(next_kernel(p, &kernel));
  LLRT_TRY(multiply_stage(p, shape, false, kernel, &divided));
  LLRT_TRY(behind_stages(p));
  close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, false);
  p->copied = 0;
  return LLRT_OK;
}

/* One of them; shared: blocks share K. UNSUPPORTED where operands do not lie so in tiles of few positions. */
static llrt_status add_group(planner *p, int tile, bool shared) {
  int first = p->out->n_variants, narrow = group_tiles[tile].narrow;
  dot_shape shape = group_tile(p);
  bool done;
  for (int dim = 0; dim < 2 && tile > LARGE_TILE; dim++) shape.bits[dim] = group_tiles[tile].bits[dim];
  if (tile > LARGE_TILE) shape.warps = group_tiles[tile].warps;
  shape.swapped = narrow == 0;
  shape.three[1] = group_tiles[tile].three;
  int64_t most = narrow < 0 ? 0 : (int64_t)1 << shape.bits[narrow];
  LLRT_TRY(shared ? add_split(p, &shape, -1, &done) : add_whole(p, &shape, narrow, most, &done));
  if (p->out->n_variants == first) return LLRT_OK;
  plan_range *range = &p->out->variant[first].launch.range;
  range->turn_clocks = group_tiles[tile].turn_clocks[dot_sums_short(&p->job, p->target)];
  range->tile_clocks = TILE_CLOCKS;
  range->more_clocks = shared ? SPLIT_CLOCKS : 0;
  return LLRT_OK;
}

/* Kernels by warpgroups, of which a shape takes the one that is done first: tiles of all sizes, and those of one whose blocks
 * share K. */
static llrt_status add_groups(planner *p) {
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
  bool other = p->job.tensor[operand ? LLRT_DOT_ZERO_B : LLRT_DOT_ZERO_A] >= 0 || p->job.words[operand];
  return !other && (p->job.tensor[operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A] < 0 || p->job.scaled_sums[operand]);
}

/* What operands have to be copied so that warpgroups multiply them; 0: they do not whatever is copied. Of B alone, of A alone, of
 * both. */
static llrt_status find_copies(planner *p, const dot_shape *shape, int *copies) {
  plan_kernel *scratch = &p->out->variant[0];
  *copies = 0;
  for (int i = 0; i < 2; i++) {
    p->copy_type[i] = dot_multiplied_type(&p->job, p->target, i);
    LLRT_TRY(storage_whole_rows(p->rank, piece_bits(p->copy_type[i]), &p->copy[i]));
  }
  static const int order[] = {2, 1, 3};
  for (int i = 0; i < 3 && *copies == 0; i++) {
    bool divided = false, can = true;
    p->copied = order[i];
    for (int o = 0; o < 2; o++) can &= !(p->copied >> o & 1) || can_copy(p, o);
    llrt_status status = can ? multiply_stage(p, shape, false, scratch, &divided) : LLRT_UNSUPPORTED;
    for (int o = 0; o < 2 && status == LLRT_OK && !divided; o++)
      if (p->copied >> o & 1) status = copy_stage(p, o, scratch);
    if (status == LLRT_OK && !divided) *copies = order[i];
    p->copied = 0;
    if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
  }
  return LLRT_OK;
}

/* Which operands are made row-major, and D, where there is no common refinement: of B, of A, of both; as few as help. Words of
 * permuted bits stay where they lie: converts move elements, and theirs have no bits of their own. Nor do converts take 4-bit
 * elements whose rows begin inside a byte. */
static llrt_status find_rows(planner *p, const dot_shape *shape) {
  static const int order[] = {0, 2, 1, 3};
  plan_kernel *scratch = &p->out->variant[0];
  bool divided = true;
  p->apart = true;
  for (int i = 0; i < 4 && divided; i++) {
    p->rows = order[i];
    if ((is_rows(p, 0) && p->job.words[0]) || (is_rows(p, 1) && p->job.words[1])) continue;
    llrt_status status = multiply_stage(p, shape, false, scratch, &divided);
    for (int o = 0; o < 2 && status == LLRT_OK && !divided; o++)
      if (is_rows(p, o)) status = convert_stage(p, 2 * o, o ? REGION_B : REGION_A, false, scratch);
    if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
    divided |= status != LLRT_OK;
  }
  if (!divided) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "the storages and groups of scales and addends, and operands with word_bits, do not divide "
                    "each other's positions into at most %d digits", PLAN_MAX_DIGITS);
}

/* Whether warpgroups multiply the operands as they lie, or what is copied for that; four of them where they can. */
static llrt_status find_groups(planner *p, int *copies, bool *divided) {
  const bool four = dot_sums_short(&p->job, p->target);
  llrt_status status = LLRT_UNSUPPORTED;
  for (int less = 0; less <= four && status == LLRT_UNSUPPORTED; less++) {
    p->four = four && !less;
    dot_shape shape = group_tile(p);
    status = multiply_stage(p, &shape, false, &p->out->variant[0], divided);
  }
  p->groups = status == LLRT_OK && !*divided;
  if (status != LLRT_UNSUPPORTED) return status;
  for (int less = 0; less <= four && *copies == 0; less++) {
    p->four = four && !less;
    dot_shape shape = group_tile(p);
    LLRT_TRY(find_copies(p, &shape, copies));
  }
  return LLRT_OK;
}

static llrt_status begin(planner *p, int *copies) {
  bool divided = false;
  *copies = 0;
  LLRT_TRY(llrt_storage_row_major(p->rank, &p->row_major));
  LLRT_TRY(llrt_storage_row_major(p->rank, &p->finish_rows));
  p->apart = storage_writes_more(p->desc->tensors[1].storage);
  if (!p->target->lanes_first && p->target->async_copies) LLRT_TRY(find_groups(p, copies, &divided));
  dot_shape shape = large_tile(p);
  const bool apart = p->apart;
  llrt_status status = p->groups ? LLRT_OK : multiply_stage(p, &shape, false, &p->out->variant[0], &divided);
  if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
  if (divided || status != LLRT_OK) {
    llrt_status rows = find_rows(p, &shape);
    if (rows != LLRT_OK && (divided || rows != LLRT_UNSUPPORTED)) return rows;
    status = rows;
  }
  if (status != LLRT_OK) {
    p->rows = 0; /* as operands lie, whose refusal says more */
    p->apart = apart;
    return multiply_stage(p, &shape, false, &p->out->variant[0], &divided);
  }
  if (p->rows || p->apart) *copies = 0; /* tensors are copied for every shape */
  return LLRT_OK;
}

/* On the host lanes take the longer axis, and rows that are not there cost as much as others. Few positions hold no
 * whole words of packed elements. */
static llrt_status add_thin(planner *p, bool *done) {
  for (int narrow = 0; narrow < 2 && !*done; narrow++) {
    if (p->job.words[narrow]) continue;
    dot_shape few = {.bits = {6, 6, 6}, .blocked = true};
    few.bits[narrow] = FEW_BITS;
    LLRT_TRY(add_whole(p, &few, narrow, 1 << FEW_BITS, done));
  }
  return LLRT_OK;
}

llrt_status plan_dot_make(const llrt_op_desc *desc, const plan_target *target, const plan_options *options, bool shares, plan *out) {
  llrt_op_desc known;
  planner p = {.desc = &known, .target = target, .options = options, .out = out, .rank = desc->tensors[0].rank, .shares = shares};
  bool done = false;
  out->n_variants = 0;
  LLRT_TRY(dot_promise_extents(desc, target, options, &out->variant[0], &known));
  dot_begin_job(&known, target, &p.job);
  int copies;
  LLRT_TRY(begin(&p, &copies));
  dot_shape shape = large_tile(&p), group = group_tile(&p);
  if (p.groups) return add_groups(&p);
  if (copies) LLRT_TRY(add_copied(&p, copies, &group, &done));
  p.shares &= !target->lanes_first && !p.rows; /* the first stage says how */
  for (int narrow = 0; narrow < 2 && !done && p.shares; narrow++) {
    dot_shape tile = narrow_tile(&p, narrow, NARROW_BITS);
    LLRT_TRY(try_split(&p, &tile, narrow, &done));
  }
  if (!done && p.shares && shape.bits[0] > MIDDLE_BITS) {
    dot_shape tile = narrow_tile(&p, 0, MIDDLE_BITS);
    LLRT_TRY(try_split(&p, &tile, 0, &done));
  }
  if (!done && p.shares) LLRT_TRY(try_split(&p, &shape, -1, &done));
  if (!done && target->lanes_first && !p.rows && !p.apart) LLRT_TRY(add_thin(&p, &done));
  return done ? LLRT_OK : add_whole(&p, &shape, -1, 0, &done);
}
