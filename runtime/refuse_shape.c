/* Why an operation has no kernel for a shape: which axis alone would have to have another extent.
 */
#include "base/status.h"
#include "jit/plan/types/dot_type.h"
#include "runtime/prepared.h"

/* The extent of an axis nearest to the shape's own that a range names; the shape's own: it is one.
 */
static int64_t nearest(const plan_range *range, const llrt_tensor *first, int axis) {
  const int64_t own = first->shape[axis], most = range->max_extent[axis];
  if (own < range->min_extent[axis]) return range->min_extent[axis];
  return most > 0 && own > most ? most : own;
}

/* Whether the variant would take the shape if this axis had another extent; *extent: which. */
static bool lacks_axis(const plan_launch *launch, const llrt_tensor *first, int axis,
                       int64_t *extent) {
  llrt_tensor other = *first;
  *extent = other.shape[axis] = nearest(&launch->range, first, axis);
  return *extent != first->shape[axis] && plan_launch_takes(launch, &other);
}

/* A dot leaves out shapes whose scales have no kernel on the sums (dot_short.c): those are the only
 * ones whose K is too short. What else is planned takes every shape. */
static llrt_status refuse_axis(const llrt_op *op, const llrt_tensor *first, int axis,
                               int64_t extent) {
  const int64_t own = first->shape[axis];
  if (op->desc.kind == LLRT_OP_DOT && axis == first->rank - 1 && own > 0 && own < extent)
    return dot_refuse_short(own);
  return llrt_error(LLRT_INTERNAL,
                    "no variant of the plan covers %lld positions of axis %d: the nearest one "
                    "begins or ends with %lld",
                    (long long)own, axis, (long long)extent);
}

llrt_status llrt_op_refuse_shape(const llrt_op *op, const llrt_tensor *first) {
  const int n = atomic_load(&op->n_variants);
  int64_t extent;
  for (int a = first->rank - 1; a >= 0; a--)
    for (int i = 0; i < n; i++)
      if (op->variant[i].launch.stage == 0 && lacks_axis(llrt_op_decides(op, i), first, a, &extent))
        return refuse_axis(op, first, a, extent);
  return llrt_error(LLRT_INTERNAL, "no variant of the plan covers the shape");
}
