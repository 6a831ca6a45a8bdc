/* See stages.h. */
#include "jit/plan/stages/stages.h"

#include "base/bits.h"
#include "base/status.h"

llrt_status stages_next(plan *out, plan_kernel **kernel) {
  if (out->n_variants == PLAN_MAX_VARIANTS)
    return llrt_error(LLRT_INTERNAL, "a plan of more than %d kernels", PLAN_MAX_VARIANTS);
  *kernel = &out->variant[out->n_variants++];
  return LLRT_OK;
}

plan_launch *stages_close(plan *out, int first, plan_range range) {
  int n = out->n_variants - first;
  for (int i = 0; i < n; i++) {
    plan_launch *launch = &out->variant[first + i].launch;
    launch->stage = i;
    launch->later = n - 1 - i;
    launch->range = (plan_range){.min_elements = 0};
  }
  out->variant[first].launch.range = range;
  return &out->variant[first].launch;
}

/* ---- ranges ---- */

int64_t stages_known_extent(const op_description *desc, int axis) {
  const llrt_promise *shape = &desc->promises[0].shape[axis];
  return shape->max > 0 && shape->min == shape->max ? shape->max : -1;
}

/* The product of extents of these axes; -1: a run tells. */
static int64_t known_positions(const op_description *desc, uint32_t axes) {
  int64_t positions = 1;
  for (int a = 0; a < desc->tensors[0].rank; a++) {
    int64_t known = stages_known_extent(desc, a);
    if (axes >> a & 1 && (known < 0 || __builtin_mul_overflow(positions, known, &positions)))
      return -1;
  }
  return positions;
}

/* The same of extents alone. */
static int extents_hold(const op_description *desc, const plan_range *range) {
  int holds = 2;
  for (int a = 0; a < desc->tensors[0].rank; a++) {
    const llrt_promise *shape = &desc->promises[0].shape[a];
    int64_t most = range->max_extent[a], least = range->min_extent[a];
    if (most > 0 && shape->min > most) return 0;
    if (shape->max > 0 && shape->max < least) return 0;
    if (shape->min < least) holds = 1;
    if (most > 0 && (shape->max == 0 || shape->max > most)) holds = 1;
  }
  return holds;
}

int stages_range_holds(const op_description *desc, const plan_range *range) {
  int64_t along = known_positions(desc, range->axes), across = known_positions(desc, ~range->axes);
  int holds = extents_hold(desc, range);
  if (holds == 0 || range->axes == 0) return holds;
  if (along >= 0 && along < range->min_along) return 0;
  if (range->max_across && across > range->max_across) return 0;
  if (along >= 0 && across >= 0 && (double)along * (double)across < (double)range->min_elements)
    return 0;
  bool asks_across = range->max_across || range->min_elements;
  return along < 0 || (asks_across && across < 0) ? 1 : holds;
}

/* ---- views ---- */

void stages_view_all(const op_description *desc, plan_kernel *kernel, int n) {
  plan_view *view = &kernel->launch.view;
  *view = (plan_view){.used = true, .n = n, .rank = desc->tensors[0].rank};
  for (int a = 0; a < view->rank; a++) view->axis[a] = (int8_t)a;
  for (int t = 0; t < n; t++) view->tensor[t] = (int8_t)t;
}

void stages_view_ones(plan_kernel *kernel, uint32_t axes) {
  plan_view *view = &kernel->launch.view;
  for (int a = 0; a < LLRT_MAX_RANK; a++)
    if (axes >> a & 1) view->axis[a] = -1;
}

void stages_view_tensor(plan_kernel *kernel, int t, int tensor, uint32_t ones) {
  kernel->launch.view.tensor[t] = (int8_t)tensor;
  kernel->launch.view.ones[t] = (uint8_t)ones;
}

void stages_view_region(plan_kernel *kernel, int t, int region, uint32_t ones) {
  stages_view_tensor(kernel, t, -1 - region, ones);
}

int64_t stages_element_bytes(llrt_dtype type) { return bits_max(llrt_dtype_bits(type) / 8, 1); }
