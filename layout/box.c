#include "layout/box.h"

#include "base/bits.h"
#include "layout/storage_rule.h"

/* The cut through one axis. */
typedef struct axis_cut {
  int64_t begin, extent; /* positions */
  int level;             /* the digit that is cut: those below are whole, those above have one
                            position; -1: the axis has none */
  int64_t below;         /* positions below that digit */
} axis_cut;

/* Whether digit i, with `below` positions of the axis below it, can be the one that is cut. */
static bool can_cut(const llrt_storage *storage, const llrt_storage_binding *binding, int i,
                    int64_t below, int64_t shape, const axis_cut *cut) {
  bool end = storage->pad != LLRT_PAD_NONE && cut->begin + cut->extent == shape;
  if (cut->begin % below != 0 || (cut->extent % below != 0 && !end)) return false;
  return cut->begin / below % binding->extent[i] + bits_ceil_div(cut->extent, below) <=
         binding->extent[i];
}

/* The outermost digit that can be cut. */
static bool find_cut(const llrt_storage *storage, const llrt_storage_binding *binding, int axis,
                     int64_t shape, axis_cut *cut) {
  int64_t below = 1ll << storage_tile_bits(storage, axis);
  bool whole = cut->begin == 0 && cut->extent == shape, found = false;
  cut->level = -1;
  for (int i = 0; i < storage->n_digits; i++) {
    if (storage->digit[i].axis != axis) continue;
    if (can_cut(storage, binding, i, below, shape, cut)) {
      found = true;
      cut->level = i;
      cut->below = below;
    }
    below *= binding->extent[i];
  }
  return found || whole;
}

/* Digit i of the cut axis, which has `below` positions below it, and what it adds to the offset. */
static void add_digit(const llrt_storage *storage, const llrt_storage_binding *binding, int i,
                      const axis_cut *cut, int64_t below, int64_t *position, storage_box *box) {
  llrt_digit digit = storage->digit[i];
  int64_t stride = binding->stride[i] < 0 ? -binding->stride[i] : binding->stride[i];
  int64_t extent = binding->extent[i], first = *position % extent, kept = extent;
  *position /= extent;
  if (i > cut->level) kept = 1;
  if (i == cut->level) kept = bits_ceil_div(cut->extent, cut->below);
  int64_t ahead = digit.reversed ? extent - first - kept : first;
  bool open = digit.stride == LLRT_STRIDE_RUNTIME;
  box->offset += ahead * stride;
  if (open) box->steps[digit.axis] += ahead * below;
  if (i > cut->level) return;
  digit.extent = kept;
  digit.stride = stride;
  if (i == cut->level) digit.extent = LLRT_EXTENT_REST;
  if (open) {
    digit.stride = LLRT_STRIDE_RUNTIME;
    box->strides[digit.axis] = stride / below;
    box->open |= 1u << digit.axis;
  } else if (i == cut->level && cut->below == 1 && !digit.reversed && stride > 1) {
    digit.stride = LLRT_STRIDE_RUNTIME;
    box->strides[digit.axis] = stride;
  }
  box->storage.digit[box->storage.n_digits++] = digit;
}

void storage_box_find(const llrt_storage *storage, const llrt_storage_binding *binding,
                      const int64_t *shape, const int64_t *begin, const int64_t *extent,
                      storage_box *box, bool *fits) {
  axis_cut cut[LLRT_MAX_RANK];
  int64_t position[LLRT_MAX_RANK]; /* of the box's first element, above what was split off */
  int64_t below[LLRT_MAX_RANK];    /* positions of the axis below the next digit */
  *fits = storage->n_targets == 0;
  *box = (storage_box){.storage = *storage, .offset = storage->offset[0]};
  for (int axis = 0; axis < storage->rank && *fits; axis++) {
    cut[axis] = (axis_cut){.begin = begin[axis], .extent = extent[axis]};
    *fits = find_cut(storage, binding, axis, shape[axis], &cut[axis]);
    position[axis] = begin[axis] >> storage_tile_bits(storage, axis);
    below[axis] = 1ll << storage_tile_bits(storage, axis);
  }
  if (!*fits) return;
  box->storage.n_digits = 0;
  box->storage.offset[0] = 0;
  box->storage.pad_value = 0;
  if (box->storage.pad != LLRT_PAD_NONE) box->storage.pad = LLRT_PAD_KEEP;
  for (int i = 0; i < storage->n_digits; i++) {
    llrt_digit digit = storage->digit[i];
    if (digit.axis != LLRT_AXIS_REPLICA) {
      add_digit(storage, binding, i, &cut[digit.axis], below[digit.axis], &position[digit.axis],
                box);
      below[digit.axis] *= binding->extent[i];
      continue;
    }
    digit.stride = binding->stride[i] < 0 ? -binding->stride[i] : binding->stride[i];
    box->storage.digit[box->storage.n_digits++] = digit;
  }
  int end = storage_swizzle_end(&storage->swizzle);
  if (storage_has_swizzle(storage)) *fits = box->offset % (1ll << end) == 0;
}
