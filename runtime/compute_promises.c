/* See compute_promises.h. */
#include "runtime/compute_promises.h"

#include <string.h>

static bool has_axis(const op_description *desc, int tensor, int axis) {
  return desc->program.tensor[tensor].axes >> axis & 1;
}

static const llrt_promise nothing = {.multiple = 1};

/* Of multiples neither of which divides the other the larger one is kept; false: no number keeps
 * both. */
static bool join(const llrt_promise *more, llrt_promise *all) {
  llrt_promise made = *all;
  if (more->multiple > made.multiple) made.multiple = more->multiple;
  if (more->min > made.min) made.min = more->min;
  if (made.max == 0 || (more->max > 0 && more->max < made.max)) made.max = more->max;
  if (made.max > 0 && made.min > made.max) return false;
  if (made.max > 0 && made.min == made.max) made.multiple = made.max;
  *all = made;
  return true;
}

void compute_gather_promises(op_description *desc) {
  for (int axis = 0; axis < desc->program.rank; axis++) {
    llrt_promise *first = &desc->promises[0].shape[axis];
    if (!has_axis(desc, 0, axis)) *first = nothing;
    for (int t = 1; t < desc->n_tensors; t++) {
      llrt_promise *own = &desc->promises[t].shape[axis];
      if (!has_axis(desc, t, axis) || join(own, first)) *own = nothing;
    }
  }
}

void compute_spread_promises(op_description *desc) {
  for (int axis = 0; axis < desc->program.rank; axis++) {
    int t = 0;
    while (t < desc->n_tensors && !has_axis(desc, t, axis)) t++;
    if (t == 0 || t == desc->n_tensors) continue;
    desc->promises[t].shape[axis] = desc->promises[0].shape[axis];
    desc->promises[0].shape[axis] = nothing;
  }
}
