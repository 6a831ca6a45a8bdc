/* The stages of a dot's variant: what multiplies, what adds shares of K, converts before and
 * behind. See dot_planner.h. */
#include "jit/plan/dot/dot_planner.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/stages/stages.h"
#include "layout/storage_rule.h"

#include <string.h>

bool dot_is_rows(const dot_planner *p, int i) { return p->rows >> i & 1; }

/* What a kernel that multiplies reads and writes. */
static dot_job multiplying_job(const dot_planner *p, bool partial) {
  dot_job job = p->job;
  job.partial = partial;
  for (int i = 0; i < 2; i++)
    if (dot_is_rows(p, i))
      dot_in_workspace(&job, 2 * i, p->desc->tensors[2 * i].dtype, &p->row_major);
  for (int i = 0; i < 2; i++)
    if (p->copied >> i & 1) dot_in_workspace(&job, 2 * i, p->copy_type[i], &p->copy[i]);
  if (partial) dot_in_workspace(&job, 1, job.rule.sums, &p->row_major);
  else if (p->result_in_workspace) dot_in_workspace(&job, 1, p->between, &p->row_major);
  return job;
}

int64_t dot_blocks_of(const dot_planner *p, const dot_shape *shape) {
  int64_t units = p->target->facts.units;
  if (p->target->simd_lanes) return p->target->tuning->dot_blocks;
  if (shape->warpgroups) return units;
  return bits_max((int)(units << p->target->tuning->dot_unit_warp_bits >> shape->warps), 1);
}

int dot_piece_bits(llrt_dtype type) { return 10 - bits_log2(llrt_dtype_bits(type)); }

llrt_status dot_multiply_stage(dot_planner *p, const dot_shape *shape, bool split,
                               plan_kernel *kernel, bool *divided) {
  dot_job job = multiplying_job(p, split);
  LLRT_TRY(dot_plan_kernel(&job, shape, split, p->target, p->options, kernel, divided));
  if (*divided || (!p->rows && !p->result_in_workspace && !split && !p->copied)) return LLRT_OK;
  stages_view_all(p->desc, kernel, p->desc->n_tensors);
  for (int i = 0; i < 2; i++) {
    if (dot_is_rows(p, i))
      stages_view_region(kernel, 2 * i, i ? REGION_B : REGION_A, dot_lacking(p->desc, 2 * i));
    if (!(p->copied >> i & 1)) continue;
    stages_view_region(kernel, 2 * i, i ? REGION_B : REGION_A, dot_lacking(p->desc, 2 * i));
    kernel->launch.view.pieces[2 * i] = (uint8_t)dot_piece_bits(p->copy_type[i]);
  }
  if (split) stages_view_region(kernel, 1, REGION_PARTIAL, dot_lacking(p->desc, 1));
  else if (p->result_in_workspace) stages_view_region(kernel, 1, REGION_D, dot_lacking(p->desc, 1));
  if (!split) return LLRT_OK;
  kernel->launch.walk.blocks = dot_blocks_of(p, shape);
  kernel->launch.walk.least = p->target->tuning->dot_least_turns;
  kernel->launch.walk.results = (int64_t)1 << (shape->bits[DOT_DIM_M] + shape->bits[DOT_DIM_N]);
  return LLRT_OK;
}

/* Tensor t of the operation with the finish stage's axes, as tensor `to` of its job. */
static llrt_status finish_tensor(dot_planner *p, int t, int to, dot_job *job) {
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
static llrt_status finish_job(dot_planner *p, dot_job *job, int8_t from[LLRT_MAX_TENSORS]) {
  const op_description *desc = p->desc;
  *job = p->job;
  job->finish = true;
  job->zeroes = p->warpgroups;
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

llrt_status dot_finish_stage(dot_planner *p, plan_kernel *kernel) {
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

llrt_status dot_rows_stage(dot_planner *p, int t, int region, plan_kernel *kernel) {
  return dot_convert_stage(p->desc, t, p->desc->tensors[t].dtype, region, 0, p->target, p->options,
                           kernel);
}

/* Blocks of a copy have 8 rows of 512 elements: of one row of 4097 a second block would have one.
 */
#define COPIED_BITS 3 /* of 64 elements */

/* Whether the source's elements along the copy's rows follow each other. */
static bool goes_along_rows(const plan_kernel *kernel) {
  plan_number stride;
  return plan_axis_stride(kernel, 0, kernel->launch.view.rank - 1, &stride) &&
         plan_is_number(&stride, 1);
}

llrt_status dot_copy_stage(dot_planner *p, int i, plan_kernel *kernel) {
  llrt_dtype type = p->copy_type[i];
  plan_options options = p->options ? *p->options : (plan_options){0};
  const int region = i ? REGION_B : REGION_A, pieces = dot_piece_bits(type);
  options.whole_bytes = true;
  LLRT_TRY(dot_convert_stage(p->desc, 2 * i, type, region, pieces, p->target, &options, kernel));
  if (p->gathered || !goes_along_rows(kernel)) return LLRT_OK;
  options.rest_bits = COPIED_BITS;
  return dot_convert_stage(p->desc, 2 * i, type, region, pieces, p->target, &options, kernel);
}

llrt_status dot_before_stages(dot_planner *p) {
  plan_kernel *kernel;
  for (int i = 0; i < 2; i++) {
    if (!dot_is_rows(p, i)) continue;
    LLRT_TRY(stages_next(p->out, &kernel));
    LLRT_TRY(dot_rows_stage(p, 2 * i, i ? REGION_B : REGION_A, kernel));
  }
  for (int i = 0; i < 2; i++) {
    if (!(p->copied >> i & 1)) continue;
    LLRT_TRY(stages_next(p->out, &kernel));
    LLRT_TRY(dot_copy_stage(p, i, kernel));
  }
  return LLRT_OK;
}

static llrt_status back_stage(dot_planner *p, int half, plan_kernel *kernel) {
  return dot_convert_back(p->desc, 1, p->between, REGION_D, half, p->target, p->options, kernel);
}

llrt_status dot_behind_stages(dot_planner *p) {
  plan_kernel *kernel;
  if (!p->result_in_workspace) return LLRT_OK;
  LLRT_TRY(stages_next(p->out, &kernel));
  llrt_status status = back_stage(p, 0, kernel);
  if (status != LLRT_UNSUPPORTED || llrt_dtype_bits(p->desc->tensors[1].dtype) >= 8) return status;
  LLRT_TRY(back_stage(p, 1, kernel));
  LLRT_TRY(stages_next(p->out, &kernel));
  return back_stage(p, 2, kernel);
}
