/* Copies of a dot's tensors in the workspace: the converts that make them, and kernels that take
 * them for the tensors. */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/convert.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/types/tensor_role.h"
#include "layout/storage_rule.h"

#include <stdlib.h>
#include <string.h>

uint32_t dot_lacking(const op_description *desc, int t) {
  uint32_t axes = 0;
  for (int a = 0; a < desc->tensors[0].rank; a++)
    if (desc->dot.group[t][a] == LLRT_GROUP_ALL) axes |= 1u << a;
  return axes;
}

void dot_in_workspace(dot_job *job, int t, llrt_dtype dtype, const llrt_storage *rows) {
  job->desc.tensors[t] = (llrt_tensor){.dtype = dtype, .rank = rows->rank, .storage = rows};
  job->desc.promises[t].address = (llrt_promise){.multiple = LLRT_WORKSPACE_ALIGNMENT};
  memset(job->desc.promises[t].stride, 0, sizeof job->desc.promises[t].stride);
}

/* What each tensor's storage says of extents, every other tensor's steps may rely on: so also where
 * the tensor is in the workspace, in rows that say nothing. */
llrt_status dot_promise_extents(const op_description *desc, const plan_target *target,
                                const plan_options *options, plan_kernel *scratch,
                                op_description *out) {
  draft d;
  draft_begin(&d, desc, target, options, scratch);
  draft_sum_along(&d, desc->tensors[0].rank - 1, 0);
  LLRT_TRY(draft_extents(&d));
  *out = *desc;
  for (int a = 0; a < desc->tensors[0].rank; a++) {
    const draft_extent *shape = &d.shape[a];
    llrt_promise *promise = &out->promises[0].shape[a];
    promise->multiple = shape->multiple;
    if (shape->most < INT64_MAX) promise->max = shape->most;
    if (shape->known > 0) promise->min = promise->max = shape->known;
  }
  return LLRT_OK;
}

/* ---- converts ---- */

/* The convert between a tensor (`from` 0: the source, else the destination), without the axes that
 * it lacks, and its copy. */
typedef struct copying {
  op_description desc;
  llrt_storage own, rows;
  llrt_index index[LLRT_MAX_INDICES];
  int8_t axis[LLRT_MAX_RANK]; /* of the dot, of each of the convert's */
  int rank, from;
  const char *called[LLRT_MAX_TENSORS]; /* by messages */
} copying;

static uint32_t axes_in(const copying *c, uint32_t axes) {
  uint32_t out = 0;
  for (int i = 0; i < c->rank; i++) out |= (axes >> c->axis[i] & 1) << i;
  return out;
}

/* Elements that an index gathers: what it leaves out counts as zero. */
static void gather(const op_description *dot, int t, copying *c) {
  const llrt_tensor *tensor = &dot->tensors[t];
  llrt_tensor *source = &c->desc.tensors[c->from];
  for (int i = 0; i < tensor->n_indices; i++) {
    llrt_index *index = &c->index[i];
    llrt_index_promise *promise = &c->desc.promises[c->from].index[i];
    *index = tensor->indices[i];
    *promise = dot->promises[t].index[i];
    index->axis = bits_lowest(axes_in(c, 1u << index->axis));
    index->axes = axes_in(c, index->axes);
    index->folded = axes_in(c, index->folded);
    if (promise->along > 0)
      promise->along = (int8_t)(1 + bits_lowest(axes_in(c, 1u << (promise->along - 1))));
    if (index->out_of_range == LLRT_RANGE_SKIP) index->out_of_range = LLRT_RANGE_ZERO;
  }
  source->indices = c->index;
  source->n_indices = tensor->n_indices;
}

static llrt_status describe(const op_description *dot, int t, llrt_dtype type, int pieces,
                            copying *c) {
  uint32_t lacks = dot_lacking(dot, t);
  int8_t to[LLRT_MAX_RANK];
  op_description *desc = &c->desc;
  for (int a = 0; a < dot->tensors[0].rank; a++) {
    to[a] = (int8_t)(lacks >> a & 1 ? -1 : c->rank);
    if (!(lacks >> a & 1)) c->axis[c->rank++] = (int8_t)a;
  }
  LLRT_TRY(storage_renumber(dot->tensors[t].storage, to, c->rank, &c->own));
  LLRT_TRY(storage_whole_rows(c->rank, pieces, &c->rows));
  *desc = (op_description){.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  c->called[c->from] = op_tensor_called(dot->dot.roles, t);
  c->called[1 - c->from] = "row-major copy";
  desc->tensors[c->from] =
      (llrt_tensor){.dtype = dot->tensors[t].dtype, .rank = c->rank, .storage = &c->own};
  desc->tensors[1 - c->from] = (llrt_tensor){.dtype = type, .rank = c->rank, .storage = &c->rows};
  desc->promises[c->from].address = dot->promises[t].address;
  desc->promises[1 - c->from].address.multiple = LLRT_WORKSPACE_ALIGNMENT;
  for (int i = 0; i < c->rank; i++) {
    desc->promises[0].shape[i] = desc->promises[1].shape[i] = dot->promises[0].shape[c->axis[i]];
    desc->promises[c->from].stride[i] = dot->promises[t].stride[c->axis[i]];
  }
  if (c->from == 0) gather(dot, t, c);
  return LLRT_OK;
}

static void view_copy(const copying *c, int t, int region, int pieces, plan_kernel *kernel) {
  plan_view *view = &kernel->launch.view;
  *view = (plan_view){.used = true, .n = 2, .rank = c->rank};
  memcpy(view->axis, c->axis, (size_t)c->rank);
  view->tensor[c->from] = (int8_t)t;
  view->tensor[1 - c->from] = (int8_t)(-1 - region);
  view->pieces[1 - c->from] = (uint8_t)pieces;
  for (int i = 0; i < kernel->launch.n_args; i++) { /* a run's index has the dot's axes */
    plan_arg *arg = &kernel->launch.arg[i];
    if (arg->kind == PLAN_ARG_INDEX_STRIDE) arg->factor = c->axis[arg->factor];
  }
}

llrt_status dot_convert_stage(const op_description *desc, int t, llrt_dtype type, int region,
                              int pieces, const plan_target *target, const plan_options *options,
                              plan_kernel *kernel) {
  copying c = {.from = 0};
  LLRT_TRY(describe(desc, t, type, pieces, &c));
  LLRT_ENTRY_NAMES(c.called);
  LLRT_TRY(plan_convert_one(&c.desc, target, options, false, kernel));
  view_copy(&c, t, region, pieces, kernel);
  return LLRT_OK;
}

llrt_status dot_convert_back(const op_description *desc, int t, llrt_dtype type, int region,
                             int half, const plan_target *target, const plan_options *options,
                             plan_kernel *kernel) {
  copying c = {.from = 1};
  LLRT_TRY(describe(desc, t, type, 0, &c));
  LLRT_ENTRY_NAMES(c.called);
  LLRT_TRY(half ? plan_half(&c.desc, target, half, kernel)
                : plan_convert_one(&c.desc, target, options, false, kernel));
  view_copy(&c, t, region, 0, kernel);
  return LLRT_OK;
}
