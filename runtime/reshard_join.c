/* One launch for several boxes: an axis more, along which lists in device memory say where each
 * box lies. The axis has a power of two of positions, for such a one is what a GPU's blocks count
 * fastest (jit/plan/draft/space.c): so they take tiles of all boxes in turn, and a rank writes to
 * all peers and to itself at a time. Positions without a box have address 0, which kernels skip. */
#include "runtime/reshard.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

/* The storage with one axis more, of one position. */
static llrt_status add_axis(llrt_storage *storage) {
  char name[16];
  int axis = storage->rank++;
  if (storage->n_digits == LLRT_MAX_DIGITS)
    return llrt_error(LLRT_UNSUPPORTED, "a storage of %d digits", LLRT_MAX_DIGITS);
  storage->digit[storage->n_digits++] =
      (llrt_digit){.extent = LLRT_EXTENT_REST, .stride = LLRT_STRIDE_PACKED, .axis = axis};
  if (storage->tile.n_in == 0) return LLRT_OK;
  snprintf(name, sizeof name, "dim%d", axis);
  return llrt_layout_add_out(&storage->tile, name, 0);
}

/* The largest power of two up to 16 that divides all addresses of a side. */
static int64_t alignment_of(const reshard_spot *spot, int n) {
  int64_t bits = 16;
  for (int i = 0; i < n; i++) bits |= spot[i].offset | spot[i].loose;
  return bits & -bits;
}

static llrt_status join_side(int t, const reshard_copy *first, int n, const uint64_t *list,
                             reshard_launch *launch) {
  llrt_tensor *tensor = &launch->tensor[t];
  reshard_side *side = &launch->side[t];
  int axis = first->tensor[t].rank;
  *tensor = first->tensor[t];
  *side = first->side[t];
  if (axis == LLRT_MAX_RANK) return llrt_error(LLRT_UNSUPPORTED, "%d axes", axis);
  LLRT_TRY(add_axis(&side->storage));
  tensor->rank = axis + 1;
  tensor->shape[axis] = launch->n_places;
  side->index[0] = (llrt_index){.axis = axis,
                                .kind = LLRT_INDEX_POINTER,
                                .dtype = LLRT_U64,
                                .axes = 1u << axis,
                                .alignment = alignment_of(&launch->spot[t * n], n),
                                .data = &list[launch->first_word + t * launch->n_places]};
  side->index[0].strides[axis] = 1;
  tensor->n_indices = 1;
  tensor->storage = &side->storage;
  tensor->indices = side->index;
  tensor->data = NULL;
  return LLRT_OK;
}

/* The scales of all boxes, which begin where those of the first do. */
static llrt_status join_scales(const reshard_copy *first, reshard_launch *launch) {
  llrt_tensor *tensor = &launch->tensor[2];
  reshard_side *side = &launch->side[2];
  int64_t strides[LLRT_MAX_RANK] = {0}, stride = 1;
  int axis = first->tensor[2].rank;
  *tensor = first->tensor[2];
  *side = first->side[2];
  for (int i = axis - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= tensor->shape[i];
  }
  strides[axis] = stride;
  tensor->rank = axis + 1;
  tensor->shape[axis] = launch->n_places;
  return llrt_storage_strided(axis + 1, strides, &side->storage);
}

llrt_status reshard_join(reshard_copy *const *copies, int n, const uint64_t *list, int first_word,
                         reshard_launch *launch) {
  launch->n_boxes = n;
  launch->n_places = 1;
  while (launch->n_places < n) launch->n_places *= 2;
  launch->first_word = first_word;
  launch->spot = memory_new(2 * (size_t)n * sizeof *launch->spot);
  if (!launch->spot) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d boxes", n);
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < n; i++) launch->spot[t * n + i] = copies[i]->side[t].spot;
  for (int t = 0; t < 2; t++) LLRT_TRY(join_side(t, copies[0], n, list, launch));
  return copies[0]->n > 2 ? join_scales(copies[0], launch) : LLRT_OK;
}
