/* Indices in a plan: what stands between an axis and one tensor's storage. The digits of that axis
 * have no effect of their own on the tensor; the value that they choose has. So runs and vectors
 * are made of the other digits, and values must not disturb them: their strides count in the
 * alignment of accesses, their tile columns bound the run from above. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/index_eval.h"

static const llrt_tensor *tensor_of(const draft *d, int t) { return &d->desc->tensors[t]; }

/* ---- one index ---- */

/* The arguments that every index has. */
static llrt_status index_arguments(draft *d, int tensor, int number, plan_index *out) {
  const llrt_index *index = &tensor_of(d, tensor)->indices[number];
  const llrt_index_promise *promise = &d->desc->promises[tensor].index[number];
  int bytes = llrt_dtype_bits(index->dtype) / 8;
  bool anywhere = (d->roles.grouped & index->axes) != 0; /* an expert's first value is */
  int wide =
      bits_min(bits_max(anywhere ? 0 : promise->multiple, bytes), d->kernel->target.access_bytes);
  out->along = (int8_t)(promise->along - 1);
  out->vector = (uint8_t)bits_log2(bits_max(wide / bytes, 1));
  plan_arg arg = {.kind = PLAN_ARG_INDEX_DATA, .tensor = (uint8_t)tensor, .index = (uint8_t)number};
  LLRT_TRY(draft_arg(d, arg, &out->data));
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    out->stride[axis] = out->limit[axis] = (plan_number){.arg = -1};
    if (!(index->axes >> axis & 1)) continue;
    arg.kind = PLAN_ARG_INDEX_STRIDE;
    arg.factor = axis;
    if (axis == out->along) out->stride[axis].value = 1;
    else LLRT_TRY(draft_arg(d, arg, &out->stride[axis]));
    LLRT_TRY(draft_number(d, PLAN_ARG_CEIL, axis, 0, 1, &out->limit[axis]));
  }
  arg.factor = 0;
  out->extent = out->report = (plan_number){.arg = -1};
  if (index->kind == LLRT_INDEX_COORDINATE) {
    arg.kind = PLAN_ARG_INDEX_EXTENT;
    LLRT_TRY(draft_arg(d, arg, &out->extent));
  }
  if (index->out_of_range != LLRT_RANGE_REPORT) return LLRT_OK;
  arg.kind = PLAN_ARG_INDEX_REPORT;
  return draft_arg(d, arg, &out->report);
}

/* How the storage splits the value: the tile's bits, then a part for each digit of the axis; in
 * what offsets count. */
static llrt_status index_parts(draft *d, int tensor, int axis, plan_index *out) {
  const llrt_storage *storage = tensor_of(d, tensor)->storage;
  out->tile_bits = (uint8_t)draft_tile_bits(storage, axis);
  LLRT_TRY(draft_tile_columns(storage, axis, 0, out->tile_bits, out->column));
  for (int b = 0; b < out->tile_bits; b++) out->column[b] <<= d->kernel->split_128;
  for (int b = 0; b < out->tile_bits; b++)
    if (out->column[b])
      d->index_low[tensor] = bits_min(d->index_low[tensor], bits_lowest(out->column[b]));
  for (int i = 0; i < storage->n_digits; i++) {
    if (storage->digit[i].axis != axis) continue;
    plan_index_part *part = &out->part[out->n_parts++];
    int align = draft_stride_alignment(d, tensor, i) + d->kernel->split_128;
    part->extent = storage->digit[i].extent;
    d->index_align[tensor] = bits_min(d->index_align[tensor], align);
    LLRT_TRY(draft_stride(d, tensor, i, 1, &part->stride));
  }
  return LLRT_OK;
}

/* The draft bits of the digits along any of these axes. */
static uint64_t bits_of_axes(const draft *d, uint32_t axes) {
  uint64_t bits = 0;
  for (int i = 0; i < d->kernel->n_digits; i++) {
    int axis = d->kernel->digit[i].axis;
    if (axis >= 0 && axes >> axis & 1) bits |= bits_mask(d->bits[i]) << d->first[i];
  }
  return bits;
}

/* Operations that move nothing go on without the element: what they read is zero then, and what
 * they do not write is the tensor's alone. */
static uint8_t policy_of(const draft *d, int tensor, const llrt_index *index) {
  bool skips = index->out_of_range == LLRT_RANGE_SKIP || index->out_of_range == LLRT_RANGE_REPORT;
  if (d->roles.moves || !skips) return (uint8_t)index->out_of_range;
  return draft_is_written(d, tensor) ? PLAN_RANGE_SKIP_ALONE : LLRT_RANGE_ZERO;
}

/* That axis is in no tile then, so that a block moves all elements of its bytes or none. */
bool draft_lists_alike(const draft *d) {
  int axis = tensor_of(d, 0)->n_indices ? tensor_of(d, 0)->indices[0].axis : 0;
  for (int t = 0; t < d->desc->n_tensors; t++) {
    const llrt_index *index = tensor_of(d, t)->indices;
    if (tensor_of(d, t)->n_indices != 1 || index->kind != LLRT_INDEX_POINTER ||
        index->axis != axis || index->axes != 1u << axis || index->folded)
      return false;
  }
  return true;
}

static llrt_status add_index(draft *d, int tensor, int number) {
  const llrt_index *index = &tensor_of(d, tensor)->indices[number];
  plan_index *out = &d->kernel->index[d->kernel->n_indices];
  if (d->kernel->n_indices == PLAN_MAX_INDICES)
    return llrt_error(LLRT_UNSUPPORTED, "the tensors have more than %d indices", PLAN_MAX_INDICES);
  bool may_halve = d->kernel->flat || d->roles.moves_halves;
  if (d->kernel->tensor_bits[tensor] < 8 && !may_halve && !draft_lists_alike(d))
    return llrt_error(LLRT_UNSUPPORTED,
                      "indices choose among %s elements, two of which share a byte",
                      llrt_dtype_name(d->desc->tensors[tensor].dtype));
  d->kernel->n_indices++;
  *out = (plan_index){.tensor = (uint8_t)tensor,
                      .kind = (uint8_t)index->kind,
                      .out_of_range = policy_of(d, tensor, index),
                      .wide = llrt_dtype_bits(index->dtype) == 64,
                      .axes = (uint8_t)index->axes};
  LLRT_TRY(index_arguments(d, tensor, number, out));
  if (index->kind == LLRT_INDEX_COORDINATE) LLRT_TRY(index_parts(d, tensor, index->axis, out));
  uint64_t chosen_by = bits_of_axes(d, index->axes);
  d->selects[tensor] |= chosen_by;
  if (tensor == 0 && plan_leaves_out(out)) d->skips |= chosen_by;
  return LLRT_OK;
}

llrt_status draft_indices(draft *d) {
  bool folded;
  for (int t = 0; t < d->desc->n_tensors; t++) {
    d->index_align[t] = 62;
    d->index_low[t] = LLRT_MAX_BITS;
    for (int i = 0; i < tensor_of(d, t)->n_indices; i++) LLRT_TRY(add_index(d, t, i));
  }
  for (int axis = 0; axis < tensor_of(d, 0)->rank; axis++)
    if (draft_is_indexed(d, 0, axis, &folded) && draft_is_indexed(d, 1, axis, &folded))
      d->opaque |= bits_of_axes(d, 1u << axis);
  return LLRT_OK;
}

/* ---- for the tile ---- */

int draft_index_vector(const draft *d, int t, uint64_t moved) {
  int vector = -1;
  for (int i = 0; i < d->kernel->n_indices; i++) {
    const plan_index *index = &d->kernel->index[i];
    if (index->tensor != t || !(bits_of_axes(d, index->axes) & moved)) continue;
    int wide = bits_log2(d->kernel->target.access_bytes) - (index->wide ? 3 : 2);
    vector = vector < 0 ? wide : bits_min(vector, wide);
  }
  return vector;
}

void draft_walk_indices(draft *d, const uint64_t first[2]) {
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < tensor_of(d, t)->n_indices; i++) {
      const llrt_index *index = &tensor_of(d, t)->indices[i];
      if (index->kind == LLRT_INDEX_COORDINATE && bits_of_axes(d, index->axes) & first[1 - t])
        d->walked |= bits_of_axes(d, 1u << index->axis);
    }
}

/* ---- after the tile ---- */

bool draft_is_listed(const draft *d, int i) {
  return d->desc->in_place && d->kernel->n_indices > 0 &&
         d->kernel->digit[i].axis == tensor_of(d, 0)->indices[0].axis;
}

/* Neither the tile varies along the index's axes, nor do the turns that a block walks. Of a kernel
 * in place a block's panel is part of one tensor. */
void draft_uniform_indices(draft *d) {
  plan_kernel *kernel = d->kernel;
  uint64_t tile = 0;
  for (int b = 0; b < kernel->space.in[0].bits; b++) tile |= kernel->space.column[b];
  for (int i = 0; i < kernel->n_indices; i++)
    kernel->index[i].uniform = (!kernel->flat || d->desc->in_place) &&
                               !(tile & plan_axes_bits(kernel, kernel->index[i].axes)) &&
                               !(kernel->launch.walk.axes & kernel->index[i].axes);
}

/* One walk over the index's values: a loop of masked elements. */
static llrt_status report_steps(draft *d, int index, int walked, int iterations) {
  if (iterations > 0)
    LLRT_TRY(draft_step(
        d->kernel, (plan_step){.kind = PLAN_LOOP, .body = 1, .iterations = (uint8_t)iterations}));
  return draft_step(d->kernel, (plan_step){.kind = PLAN_REPORT,
                                           .in = (uint8_t)walked,
                                           .tensor = d->kernel->index[index].tensor,
                                           .index = (uint8_t)index,
                                           .masked = true});
}

llrt_status draft_open_indices(draft *d, int walked, int iterations, int *branch) {
  plan_kernel *kernel = d->kernel;
  bool leaves = false;
  *branch = -1;
  for (int i = 0; i < kernel->n_indices; i++) {
    const plan_index *index = &kernel->index[i];
    leaves |= plan_ends_block(index);
    if (index->report.arg >= 0 && kernel->stored_half != 2) /* a stage before has counted */
      LLRT_TRY(report_steps(d, i, walked, iterations));
  }
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++)
    leaves |= kernel->extent[axis].used && !kernel->flat;
  if (!leaves) return LLRT_OK;
  return draft_open(kernel, (plan_step){.kind = PLAN_IF_PRESENT}, branch);
}

void draft_close_indices(draft *d, int branch) {
  if (branch >= 0) draft_close(d->kernel, branch);
}
