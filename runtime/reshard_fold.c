/* Boxes of strides with as few axes as they can have. A kernel has the strides of a run, so that it
 * cannot see which axes follow each other; of a box of [4, 8, 32768, 128] positions, of which the
 * last three are one piece of memory on both sides, its tile would be 4 x 8 x 128 positions: 32
 * pieces, each in a page of its own, instead of a row. */
#include "runtime/reshard.h"

#include "layout/storage_rule.h"

#include <string.h>

#define MOST_POSITIONS INT32_MAX /* along an axis: kernels count those with 32 bits */

/* An axis of both sides. */
typedef struct fold_axis {
  int64_t extent, stride[2]; /* positions; elements, of source and destination */
} fold_axis;

/* The stride of each axis in memory; false where the storage has anything but one digit for it. */
static bool find_strides(const llrt_tensor *tensor, const reshard_side *side, int64_t *strides) {
  const llrt_storage *storage = &side->storage;
  llrt_storage_binding binding;
  uint32_t seen = 0;
  if (storage->n_digits != tensor->rank || storage->tile.n_in > 0 || storage_has_swizzle(storage) ||
      storage->n_targets > 0 || storage->offset[0] != 0)
    return false;
  if (llrt_storage_bind(storage, tensor->rank, tensor->shape, tensor->strides, &binding) != LLRT_OK)
    return false;
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    if (digit->axis < 0 || seen >> digit->axis & 1 || digit->reversed ||
        binding.extent[i] != tensor->shape[digit->axis] || binding.stride[i] <= 0)
      return false;
    seen |= 1u << digit->axis;
    strides[digit->axis] = binding.stride[i];
  }
  return true;
}

/* Axes of more than one position, by rising stride in the destination; how many. */
static int sort_axes(const llrt_tensor *tensor, int64_t strides[2][LLRT_MAX_RANK],
                     fold_axis *axes) {
  int n = 0;
  for (int a = 0; a < tensor->rank; a++) {
    const fold_axis axis = {tensor->shape[a], {strides[0][a], strides[1][a]}};
    int at = n;
    if (axis.extent == 1) continue;
    for (; at > 0 && axes[at - 1].stride[1] > axis.stride[1]; at--) axes[at] = axes[at - 1];
    axes[at] = axis;
    n++;
  }
  return n;
}

/* Joins each axis to the one inside it where it goes on behind that on both sides; how many stay.
 */
static int join_axes(fold_axis *axes, int n) {
  int kept = 0;
  for (int a = 0; a < n; a++) {
    fold_axis *inner = kept ? &axes[kept - 1] : NULL;
    if (inner && axes[a].extent <= MOST_POSITIONS / inner->extent &&
        axes[a].stride[0] == inner->stride[0] * inner->extent &&
        axes[a].stride[1] == inner->stride[1] * inner->extent)
      inner->extent *= axes[a].extent;
    else axes[kept++] = axes[a];
  }
  return kept;
}

/* axes[0] becomes the last axis. As boxes have it (layout/box.c), strides but 1 are RUN-TIME. */
static void write_side(int t, const fold_axis *axes, int n, llrt_tensor *tensor,
                       reshard_side *side) {
  side->storage = (llrt_storage){.rank = n, .n_digits = n};
  tensor->rank = n;
  memset(tensor->shape, 0, sizeof tensor->shape);
  memset(tensor->strides, 0, sizeof tensor->strides);
  for (int i = 0; i < n; i++) {
    int axis = n - 1 - i;
    bool one = axes[i].stride[t] == 1;
    tensor->shape[axis] = axes[i].extent;
    tensor->strides[axis] = one ? 0 : axes[i].stride[t];
    side->storage.digit[i] = (llrt_digit){
        .extent = LLRT_EXTENT_REST, .stride = one ? 1 : LLRT_STRIDE_RUNTIME, .axis = axis};
  }
}

bool reshard_fold(reshard_copy *copy) {
  int64_t strides[2][LLRT_MAX_RANK];
  fold_axis axes[LLRT_MAX_RANK];
  if (copy->n > 2 || copy->tensor[0].n_indices > 0 || copy->tensor[1].n_indices > 0) return false;
  if (copy->side[0].open || copy->side[1].open) return false; /* strides that a run changes */
  for (int t = 0; t < 2; t++)
    if (!find_strides(&copy->tensor[t], &copy->side[t], strides[t])) return false;
  int n = join_axes(axes, sort_axes(&copy->tensor[0], strides, axes));
  if (n == 0) axes[n++] = (fold_axis){1, {1, 1}};
  for (int t = 0; t < 2; t++) write_side(t, axes, n, &copy->tensor[t], &copy->side[t]);
  return true;
}
