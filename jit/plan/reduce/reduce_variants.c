/* Planning a reduce: its stages and variants (docs/reduce.md).
 *
 * Where kept positions are few, blocks share the walk and leave partial results in the workspace,
 * which a second stage reduces in the order of the shares. A destination that has copies or pads to
 * be written, or no common refinement with the source, is made from a row-major result by a convert
 * behind that. Everything depends on shape and promises alone: every run of a shape gives the same
 * bits. */
#include "jit/plan/reduce/reduce.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/convert/convert.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/stages/stages.h"
#include "jit/plan/types/combine.h"
#include "layout/storage_rule.h"

#include <stdlib.h>
#include <string.h>

/* ---- stages ---- */

/* Regions of the workspace. */
enum { REGION_KEYS, REGION_POSITIONS, REGION_RESULT, REGION_VALUES };

typedef struct reducer {
  const op_description *desc;
  const plan_target *target;
  const plan_options *options;
  plan *out;
  reduce_value value;
  bool result_in_workspace; /* a convert makes the destination from a row-major result */
  int n_kept;
  int8_t kept[LLRT_MAX_RANK]; /* axes */
  llrt_storage rows, split_rows,
      kept_rows; /* row_major of the operation's rank, of kept axes and splits, of kept */
  llrt_storage results[2],
      apart_results[2]; /* of the destinations, axes renumbered: behind splits, alone */
} reducer;

/* A tensor in the workspace. */
static void in_workspace(reduction *r, int t, llrt_dtype dtype, int rank,
                         const llrt_storage *rows) {
  r->desc.tensors[t] = (llrt_tensor){.dtype = dtype, .rank = rank, .storage = rows};
  r->desc.promises[t] = (llrt_tensor_promise){.address.multiple = LLRT_WORKSPACE_ALIGNMENT};
}

/* What is promised of tensor `from` of the operation, for its kept axes from axis `first` on. */
static void renumber_promises(const reducer *p, int from, int first, llrt_tensor_promise *out) {
  const llrt_tensor_promise *in = &p->desc->promises[from];
  *out = (llrt_tensor_promise){.address = in->address};
  for (int i = 0; i < p->n_kept; i++) {
    out->shape[first + i] = in->shape[p->kept[i]];
    out->stride[first + i] = in->stride[p->kept[i]];
  }
}

static void view_axes(const reducer *p, plan_kernel *kernel, int n, bool all, bool splits) {
  plan_view *view = &kernel->launch.view;
  *view = (plan_view){.used = true, .n = n};
  if (splits) view->axis[view->rank++] = PLAN_AXIS_SPLITS;
  if (all)
    for (int a = 0; a < p->desc->tensors[0].rank; a++) view->axis[view->rank++] = (int8_t)a;
  else
    for (int i = 0; i < p->n_kept; i++) view->axis[view->rank++] = p->kept[i];
}

static bool has_values(const reducer *p) { return p->desc->n_tensors > 2; }

static reduction begin_reduction(const reducer *p, int n_tensors, uint32_t axes) {
  reduction r = {.desc = *p->desc, .value = p->value};
  r.desc.n_tensors = n_tensors;
  r.desc.combine.axes = axes;
  return r;
}

/* From the source to the destination, or to the row-major result. */
static llrt_status whole_stage(reducer *p, bool warps_reduce, plan_kernel *kernel, bool *divided,
                               int *kept) {
  int n = p->desc->n_tensors, rank = p->desc->tensors[0].rank;
  reduction r = begin_reduction(p, n, p->desc->combine.axes);
  r.writes_keys = has_values(p);
  r.shape.warps_reduce = warps_reduce;
  for (int t = 1; t < n && p->result_in_workspace; t++)
    in_workspace(&r, t, r.desc.tensors[t].dtype, rank, &p->rows);
  LLRT_TRY(reduce_plan_kernel(&r, p->target, p->options, kernel, divided, kept));
  if (!p->result_in_workspace || *divided) return LLRT_OK;
  view_axes(p, kernel, n, true, false);
  stages_view_tensor(kernel, 0, 0, 0);
  for (int t = 1; t < n; t++)
    stages_view_region(kernel, t, REGION_RESULT + t - 1, p->desc->combine.axes);
  return LLRT_OK;
}

/* From the source to partial results of every share. */
static llrt_status partial_stage(reducer *p, plan_kernel *kernel, bool *divided, int *kept) {
  const reduce_value *value = &p->value;
  int n = value->pairs ? 3 : 2, rank = p->desc->tensors[0].rank;
  reduction r = begin_reduction(p, n, p->desc->combine.axes);
  r.writes_keys = value->pairs;
  r.shape = (reduce_shape){.warps_reduce = true, .split = true};
  in_workspace(&r, 1, value->pairs ? value->index : value->type, rank, &p->rows);
  in_workspace(&r, 2, value->type, rank, &p->rows);
  LLRT_TRY(reduce_plan_kernel(&r, p->target, p->options, kernel, divided, kept));
  view_axes(p, kernel, n, true, false);
  stages_view_tensor(kernel, 0, 0, 0);
  stages_view_region(kernel, 1, value->pairs ? REGION_POSITIONS : REGION_KEYS,
                     p->desc->combine.axes);
  stages_view_region(kernel, 2, REGION_KEYS, p->desc->combine.axes);
  return LLRT_OK;
}

/* From partial results to the destination, or to the row-major result. */
static llrt_status finish_stage(reducer *p, plan_kernel *kernel, bool *divided) {
  const reduce_value *value = &p->value;
  int n = value->pairs ? 4 : 2, rank = 1 + p->n_kept, kept;
  reduction r = begin_reduction(p, n, 1);
  r.reads_pairs = value->pairs;
  r.clears = true;
  r.writes_keys = has_values(p);
  r.shape = (reduce_shape){.warps_reduce = true,
                           .kept_warps = p->target->tuning->reduce_finish_warp_bits};
  in_workspace(&r, 0, value->type, rank, &p->split_rows);
  renumber_promises(p, 0, 1, &r.desc.promises[0]);
  memset(r.desc.promises[0].stride, 0, sizeof r.desc.promises[0].stride);
  r.desc.promises[0].address.multiple = LLRT_WORKSPACE_ALIGNMENT;
  r.desc.promises[0].shape[0] = (llrt_promise){.max = INT32_MAX};
  in_workspace(&r, 3, value->index, rank, &p->split_rows);
  for (int t = 1; t < 3; t++) {
    int own = t < p->desc->n_tensors ? t : 1;
    llrt_dtype type = p->desc->tensors[own].dtype;
    in_workspace(&r, t, type, rank, p->result_in_workspace ? &p->split_rows : &p->results[own - 1]);
    if (!p->result_in_workspace) renumber_promises(p, own, 1, &r.desc.promises[t]);
  }
  LLRT_TRY(reduce_plan_kernel(&r, p->target, p->options, kernel, divided, &kept));
  view_axes(p, kernel, n, false, true);
  stages_view_region(kernel, 0, REGION_KEYS, 0);
  stages_view_region(kernel, 3, REGION_POSITIONS, 0);
  for (int t = 1; t < 3; t++) {
    int own = t < p->desc->n_tensors ? t : 1;
    stages_view_tensor(kernel, t, p->result_in_workspace ? -1 - (REGION_RESULT + own - 1) : own, 1);
  }
  return LLRT_OK;
}

/* From a row-major result to destination t. */
static llrt_status convert_stage(reducer *p, int t, plan_kernel *kernel) {
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  desc.tensors[0] = (llrt_tensor){
      .dtype = p->desc->tensors[t].dtype, .rank = p->n_kept, .storage = &p->kept_rows};
  desc.tensors[1] = desc.tensors[0];
  desc.tensors[1].storage = &p->apart_results[t - 1];
  renumber_promises(p, t, 0, &desc.promises[1]);
  desc.promises[0].address.multiple = LLRT_WORKSPACE_ALIGNMENT;
  memcpy(desc.promises[0].shape, desc.promises[1].shape, sizeof desc.promises[0].shape);
  LLRT_TRY(plan_convert_one(&desc, p->target, p->options, true, kernel));
  view_axes(p, kernel, 2, false, false);
  stages_view_region(kernel, 0, REGION_RESULT + t - 1, 0);
  stages_view_tensor(kernel, 1, t, 0);
  return LLRT_OK;
}

/* ---- variants ---- */

static llrt_status convert_stages(reducer *p) {
  plan_kernel *kernel;
  for (int t = 1; t < p->desc->n_tensors && p->result_in_workspace; t++) {
    LLRT_TRY(stages_next(p->out, &kernel));
    LLRT_TRY(convert_stage(p, t, kernel));
  }
  return LLRT_OK;
}

/* The variant of the kernels from `first` on, and its workspace. */
static void close_variant(reducer *p, int first, plan_range range, bool split) {
  plan_launch *launch = stages_close(p->out, first, range);
  if (!split && !p->result_in_workspace) return;
  launch->workspace = (plan_workspace){.n = PLAN_MAX_REGIONS, .clear = p->result_in_workspace};
  plan_region *region = launch->workspace.region;
  if (split) region[REGION_KEYS].per_partial = stages_element_bytes(p->value.type);
  if (split && p->value.pairs)
    region[REGION_POSITIONS].per_partial = stages_element_bytes(p->value.index);
  for (int t = 1; t < p->desc->n_tensors && p->result_in_workspace; t++)
    region[REGION_RESULT + t - 1].per_partial = stages_element_bytes(p->desc->tensors[t].dtype);
}

/* Shares of the walk, for few results of many elements. *done: no other variant is needed. */
static llrt_status add_split(reducer *p, bool *done) {
  int first = p->out->n_variants, kept = 0, holds;
  plan_kernel *kernel;
  bool divided;
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(partial_stage(p, kernel, &divided, &kept));
  int64_t turn = (int64_t)1 << (kernel->space.in[0].bits - kept);
  kernel->launch.walk.results = (int64_t)1 << kept;
  plan_range range = {.axes = p->desc->combine.axes,
                      .min_elements = p->target->tuning->reduce_split_elements,
                      .min_along = 2 * kernel->launch.walk.least * turn,
                      .max_across = p->target->tuning->reduce_enough_blocks << kept};
  holds = stages_range_holds(p->desc, &range);
  if (holds == 0) {
    p->out->n_variants = first;
    return plan_refused(p->options, kernel, "blocks share the walk",
                        "no promised shape has %lld elements, %lld reduced positions and no more "
                        "than %lld results",
                        (long long)range.min_elements, (long long)range.min_along,
                        (long long)range.max_across);
  }
  plan_taken(p->options, kernel, "blocks share the walk");
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(finish_stage(p, kernel, &divided));
  if (divided)
    return llrt_error(LLRT_INTERNAL, "partial results and the destination have no refinement");
  LLRT_TRY(convert_stages(p));
  *done = holds == 2;
  close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, true);
  return LLRT_OK;
}

/* A block, or with few reduced positions a warp, for every result. */
static llrt_status add_whole(reducer *p, bool warps_reduce, bool *done) {
  int first = p->out->n_variants, kept = 0;
  plan_kernel *kernel;
  bool divided;
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(whole_stage(p, warps_reduce, kernel, &divided, &kept));
  int64_t turn = (int64_t)1 << (kernel->space.in[0].bits - kept);
  plan_range range = {.axes = p->desc->combine.axes,
                      .min_along = turn / 4,
                      .max_across = p->target->tuning->reduce_whole_blocks << kept};
  int holds = warps_reduce ? stages_range_holds(p->desc, &range) : 2;
  const char *what = warps_reduce ? "a block for each result" : "warps of a block for each result";
  if (holds == 0) {
    p->out->n_variants = first;
    return plan_refused(
        p->options, kernel, what,
        "no promised shape has %lld reduced positions and no more than %lld results",
        (long long)range.min_along, (long long)range.max_across);
  }
  plan_taken(p->options, kernel, "%s", what);
  LLRT_TRY(convert_stages(p));
  *done = holds == 2;
  close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, false);
  return LLRT_OK;
}

/* ---- the whole ---- */

static llrt_status begin(reducer *p) {
  const op_description *desc = p->desc;
  int8_t behind[LLRT_MAX_RANK], alone[LLRT_MAX_RANK];
  int rank = desc->tensors[0].rank;
  int64_t positions = 1;
  for (int a = 0; a < rank; a++) {
    bool reduced = desc->combine.axes >> a & 1;
    int64_t most = desc->promises[0].shape[a].max;
    behind[a] = alone[a] = -1;
    if (reduced && (most == 0 || __builtin_mul_overflow(positions, most, &positions)))
      positions = INT64_MAX;
    if (reduced) continue;
    alone[a] = (int8_t)p->n_kept;
    behind[a] = (int8_t)(p->n_kept + 1);
    p->kept[p->n_kept++] = (int8_t)a;
  }
  llrt_dtype type = desc->combine.accumulate;
  bool narrow =
      positions <= INT32_MAX || desc->tensors[1].dtype == LLRT_I32; /* a run has no more then */
  p->value = (reduce_value){
      .op = (int)desc->combine.op,
      .pairs = combine_is_arg((int)desc->combine.op),
      .type = type ? type : combine_accumulator((int)desc->combine.op, desc->tensors[0].dtype),
      .index = narrow ? LLRT_I32 : LLRT_I64};
  LLRT_TRY(llrt_storage_row_major(rank, &p->rows));
  LLRT_TRY(llrt_storage_row_major(p->n_kept + 1, &p->split_rows));
  LLRT_TRY(llrt_storage_row_major(p->n_kept, &p->kept_rows));
  for (int t = 1; t < desc->n_tensors; t++) {
    const llrt_storage *storage = desc->tensors[t].storage;
    LLRT_TRY(storage_renumber(storage, behind, p->n_kept + 1, &p->results[t - 1]));
    LLRT_TRY(storage_renumber(storage, alone, p->n_kept, &p->apart_results[t - 1]));
    p->result_in_workspace |= storage_writes_more(desc->tensors[t].storage);
  }
  return LLRT_OK;
}

/* Whether source and destinations have a common refinement. */
static llrt_status find_refinement(reducer *p) {
  plan_kernel *trial = &p->out->variant[0];
  bool divided;
  int kept;
  if (p->result_in_workspace) return LLRT_OK;
  LLRT_TRY(whole_stage(p, false, trial, &divided, &kept));
  p->result_in_workspace = divided;
  if (divided)
    plan_refused(p->options, NULL, "results where they belong",
                 "source and destination have no common refinement: a convert behind makes the "
                 "destination of a row-major result");
  return LLRT_OK;
}

llrt_status plan_reduce_make(const op_description *desc, const plan_target *target,
                             const plan_options *options, plan *out) {
  reducer p = {.desc = desc, .target = target, .options = options, .out = out};
  bool done = false;
  out->n_variants = 0;
  LLRT_TRY(begin(&p));
  LLRT_TRY(find_refinement(&p));
  LLRT_TRY(add_split(&p, &done));
  if (!done && !target->simd_lanes) LLRT_TRY(add_whole(&p, true, &done));
  return done ? LLRT_OK : add_whole(&p, false, &done);
}
