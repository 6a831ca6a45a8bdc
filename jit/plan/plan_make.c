/* See plan_make.h. */
#include "jit/plan/plan_make.h"

#include "base/float_mode.h"
#include "base/status.h"
#include "jit/plan/convert/convert.h"
#include "jit/plan/dot/dot.h"
#include "jit/plan/packed/packed.h"
#include "jit/plan/reduce/reduce.h"
#include "jit/plan/rows/rows.h"
#include "jit/plan/scan/plan_scan.h"
#include "jit/plan/types/dot_packed.h"
#include "jit/plan/types/dot_type.h"

#include <assert.h>

typedef llrt_status maker(const op_description *desc, const plan_target *target,
                          const plan_options *options, plan *out);

/* Of a grouped product, whose kernels are right for every number of experts and of their positions,
 * no promise of these counts; of a batch-invariant one none of its rows. *own holds what is
 * returned then. */
static const op_description *without_extents(const op_description *desc, op_description *own) {
  int axis = dot_grouped_axis(&desc->dot);
  if (axis < 0 && !desc->dot.batch_invariant) return desc;
  *own = *desc;
  llrt_promise *shape = own->promises[0].shape;
  if (axis >= 0) shape[DOT_EXPERT_AXIS] = shape[axis] = (llrt_promise){0};
  if (desc->dot.batch_invariant) shape[desc->tensors[0].rank - 3] = (llrt_promise){0};
  return own;
}

/* By a kernel for packed weights where they are packed, by the general ones where they are not, or
 * where those have no room. */
static llrt_status make_dot(const op_description *wanted, const plan_target *target,
                            const plan_options *options, plan *out) {
  bool made;
  op_description known, unsized;
  const op_description *desc = without_extents(wanted, &unsized);
  LLRT_TRY(dot_promise_extents(desc, target, options, &out->variant[0], &known));
  LLRT_TRY(plan_dot_packed_make(desc, target, options, out, &made));
  if (!made || dot_parts_bytes(out)) LLRT_TRY(plan_dot_make(desc, target, options, true, out));
  LLRT_TRY(dot_add_short(desc, &known, target, options, out));
  for (int i = 0; i < out->n_variants; i++) {
    out->variant[i].launch.alpha = desc->dot.alpha;
    out->variant[i].launch.beta = desc->dot.beta;
  }
  return LLRT_OK;
}

/* Who plans an operation, by its kind. */
static maker *const makers[] = {
    [LLRT_OP_CONVERT] = plan_convert_variants,
    [LLRT_OP_REDUCE] = plan_reduce_make,
    [LLRT_OP_DOT] = make_dot,
    [LLRT_OP_SCAN] = plan_scan_make,
    [LLRT_OP_COMPUTE] = plan_rows_make,
};

llrt_status plan_make(const op_description *desc, const plan_target *target,
                      const plan_options *options, plan *out) {
  out->n_variants = 0;
  assert((size_t)desc->kind < sizeof makers / sizeof *makers && desc->n_tensors >= 2);
  llrt_float_mode callers = llrt_float_mode_enter(); /* costs are compared, and constants made */
  llrt_status status = makers[desc->kind](desc, target, options, out);
  llrt_float_mode_leave(callers);
  return status;
}
