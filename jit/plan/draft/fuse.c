/* Digits that follow each other on every side become one: height and width of images, heads and
 * head sizes that both storages keep together. A digit of 56 x 56 positions gives a tile 64 of them
 * where one of 56 gives 8. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"

/* What one position of digit i adds to a tensor's address; false where that is no known stride
 * upward. */
static bool known_step(const draft *d, int i, int tensor, int64_t *stride) {
  const plan_digit *digit = &d->kernel->digit[i];
  draft_segments segments;
  if (draft_list_segments(d, tensor, digit->axis, &segments) != LLRT_OK) return false;
  const draft_segment *segment = draft_segment_at(&segments, digit->step);
  if (segment->digit < 0 || draft_storage(d, tensor)->digit[segment->digit].reversed) return false;
  int64_t known = draft_known_stride(d, tensor, segment->digit);
  return known > 0 && !__builtin_mul_overflow(known, digit->step / segment->start, stride);
}

/* Whether the digits of an axis hold exactly its positions, so that no bound will look at it. */
static bool is_exact(const draft *d, int axis) {
  int64_t positions = 1;
  for (int i = 0; i < d->kernel->n_digits; i++)
    if (d->kernel->digit[i].axis == axis) {
      if (d->count[i] < 1 || __builtin_mul_overflow(positions, d->count[i], &positions))
        return false;
    }
  return !d->pads[axis] && d->shape[axis].known == positions && d->written[axis].known == positions;
}

/* Whether digit `outer` goes on where `inner` ends, on every tensor. */
static bool follows(const draft *d, int inner, int outer) {
  int64_t a, b;
  if (inner == outer || d->count[inner] < 2 || d->count[outer] < 2) return false;
  bool reduced = draft_is_reduced(d, d->kernel->digit[inner].axis);
  if (draft_is_scanned(d, d->kernel->digit[inner].axis) ||
      draft_is_scanned(d, d->kernel->digit[outer].axis))
    return false;
  if (draft_is_reduced(d, d->kernel->digit[outer].axis) != reduced) return false;
  for (int t = 0; t < (reduced ? 1 : d->desc->n_tensors); t++) {
    if (!known_step(d, inner, t, &a) || !known_step(d, outer, t, &b)) return false;
    if (__builtin_mul_overflow(a, d->count[inner], &a) || a != b) return false;
  }
  return true;
}

static void remove_digit(draft *d, int i) {
  plan_kernel *kernel = d->kernel;
  kernel->n_digits--;
  for (; i < kernel->n_digits; i++) {
    kernel->digit[i] = kernel->digit[i + 1];
    d->count[i] = d->count[i + 1];
    d->top[i] = d->top[i + 1];
    d->fused[i] = d->fused[i + 1];
  }
}

/* exact: by axis, before any digit was merged. */
static bool fuse_one(draft *d, const bool *exact) {
  const plan_kernel *kernel = d->kernel;
  for (int i = 0; i < kernel->n_digits; i++)
    for (int j = 0; j < kernel->n_digits; j++) {
      if (!exact[kernel->digit[i].axis] || !exact[kernel->digit[j].axis] || !follows(d, i, j))
        continue;
      d->count[i] *= d->count[j];
      d->fused[i] = d->mixed[kernel->digit[i].axis] = true;
      remove_digit(d, j);
      return true;
    }
  return false;
}

/* Scales, indices, extents in device memory, maps of words, the elements of a byte and positions
 * speak of axes. */
static bool needs_axes(const draft *d) {
  const op_description *desc = d->desc;
  bool needs = d->divided || desc->n_tensors > 2 || d->pair_axis >= 0 || d->roles.has_positions;
  for (int t = 0; t < desc->n_tensors; t++) {
    needs |= desc->tensors[t].n_indices > 0;
    for (int a = 0; a < desc->tensors[t].rank; a++) needs |= desc->tensors[t].extent_ptr[a] != NULL;
  }
  for (int i = 0; i < desc->n_maps; i++) needs |= desc->maps[i].kind == LLRT_MAP_WORD_BITS;
  return needs;
}

void draft_fuse(draft *d) {
  bool exact[LLRT_MAX_RANK];
  if (needs_axes(d)) return;
  for (int a = 0; a < d->desc->tensors[0].rank; a++) exact[a] = is_exact(d, a);
  while (fuse_one(d, exact)) continue;
}
