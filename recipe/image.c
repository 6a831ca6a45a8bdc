#include "recipe/image.h"

#include "base/status.h"

#include <stdio.h>

static llrt_status add_digit(storage_image *image, image_digit digit) {
  if (digit.extent == 1) return LLRT_OK;
  if (image->n == IMAGE_MAX_DIGITS) return llrt_error(LLRT_UNSUPPORTED, "too many digits");
  image->digit[image->n++] = digit;
  return LLRT_OK;
}

/* ---- storage -> image ---- */

/* The tile's bits as digits of two positions. Elements of a tile follow each other, so that bit b
 * of the offset adds 2^b places to the coordinate's bit that its column names. */
static llrt_status add_tile(const llrt_layout *tile, int rank, storage_image *out) {
  int bits = llrt_layout_in_bits(tile);
  for (int axis = 0; axis < rank && bits; axis++) {
    char name[LLRT_NAME_BYTES];
    snprintf(name, sizeof name, "dim%d", axis);
    int index = llrt_layout_out_index(tile, name);
    int shift = index < 0 ? 0 : llrt_layout_out_shift(tile, index);
    for (int bit = 0; index >= 0 && bit < tile->out[index].bits; bit++) {
      int place = 0;
      while (place < bits && tile->column[place] != UINT64_C(1) << (shift + bit)) place++;
      if (place == bits)
        return llrt_error(LLRT_UNSUPPORTED, "the storage's tile does more than permute bits");
      LLRT_TRY(
          add_digit(out, (image_digit){.extent = 2, .stride = INT64_C(1) << place, .axis = axis}));
    }
  }
  if (bits != llrt_layout_out_bits(tile))
    return llrt_error(LLRT_UNSUPPORTED, "the storage's tile has copies");
  return LLRT_OK;
}

/* Joins neighbouring digits of an axis that step alike, so that as few as possible are left. */
static void join_digits(storage_image *image) {
  int n = 0;
  for (int i = 0; i < image->n; i++) {
    image_digit digit = image->digit[i];
    int last = n - 1;
    while (last >= 0 && image->digit[last].axis != digit.axis) last--;
    image_digit *low = last < 0 ? NULL : &image->digit[last];
    if (low && low->down == digit.down && digit.stride == low->extent * low->stride)
      low->extent *= digit.extent;
    else image->digit[n++] = digit;
  }
  image->n = n;
}

llrt_status image_make(const llrt_storage *storage, int rank, const int64_t *shape,
                       storage_image *out) {
  llrt_storage_binding binding;
  *out = (storage_image){.offset = storage->offset[0]};
  LLRT_TRY(llrt_storage_bind(storage, rank, shape, NULL, &binding));
  if (storage->swizzle.swizzle_len || storage->n_targets)
    return llrt_error(LLRT_UNSUPPORTED, "the storage is no order of plain memory");
  LLRT_TRY(add_tile(&storage->tile, rank, out));
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    if (digit->axis < 0) return llrt_error(LLRT_UNSUPPORTED, "the storage has copies");
    int64_t stride = binding.stride[i] < 0 ? -binding.stride[i] : binding.stride[i];
    LLRT_TRY(add_digit(out, (image_digit){.extent = binding.extent[i],
                                          .stride = stride,
                                          .axis = digit->axis,
                                          .down = digit->reversed}));
  }
  out->span = binding.span;
  out->pads = storage->pad == LLRT_PAD_VALUE;
  out->pad_value = storage->pad_value;
  join_digits(out);
  return LLRT_OK;
}

/* ---- axes ---- */

int64_t image_extent(const storage_image *image, int axis) {
  int64_t extent = 1;
  for (int i = 0; i < image->n; i++)
    if (image->digit[i].axis == axis) extent *= image->digit[i].extent;
  return extent;
}

/* Gives the lowest positions of `axis`, `extent` of them, to another one. */
static llrt_status take_low(storage_image *image, int axis, int to, int64_t extent) {
  for (int i = 0; i < image->n && extent > 1; i++) {
    image_digit *digit = &image->digit[i];
    if (digit->axis != axis) continue;
    if (extent % digit->extent == 0) {
      digit->axis = to;
      extent /= digit->extent;
      continue;
    }
    if (digit->extent % extent || image->n == IMAGE_MAX_DIGITS) break;
    memmove(digit + 1, digit, (size_t)(image->n++ - i) * sizeof *digit);
    digit[1].extent /= extent;
    digit[1].stride *= extent;
    digit[0].axis = to;
    digit[0].extent = extent;
    return LLRT_OK;
  }
  if (extent > 1)
    return llrt_error(LLRT_UNSUPPORTED, "the storage cannot be split into these axes here");
  return LLRT_OK;
}

llrt_status image_split(storage_image *image, int axis, int n, const int32_t *to,
                        const int64_t *extent) {
  /* Numbers of the finer axes stand beside those of the storage's until all are split. */
  for (int i = n - 1; i > 0; i--) LLRT_TRY(take_low(image, axis, to[i], extent[i]));
  int kept = 0;
  for (int i = 0; i < image->n; i++) {
    image_digit digit = image->digit[i];
    if (digit.axis == axis && n > 0) digit.axis = to[0];
    else if (digit.axis == axis) return llrt_error(LLRT_UNSUPPORTED, "the axis 1 has pads here");
    image->digit[kept++] = digit;
  }
  return LLRT_OK;
}

llrt_status image_cut(storage_image *image, int axis, int64_t begin, int64_t length, bool last) {
  int top = -1;
  int64_t below = 1;
  if (begin == 0 && last) return LLRT_OK; /* all of it */
  for (int i = 0; i < image->n; i++) {
    if (image->digit[i].axis != axis) continue;
    if (top >= 0) below *= image->digit[top].extent;
    top = i;
  }
  if (top < 0) return LLRT_OK; /* one position */
  image_digit *digit = &image->digit[top];
  int64_t first = begin / below, inside = begin % below;
  if (inside + length <= below && below > 1 && !(inside == 0 && length == below)) {
    /* Within one position of the highest digit. */
    image->offset += (digit->down ? digit->extent - 1 - first : first) * digit->stride;
    memmove(digit, digit + 1, (size_t)(--image->n - top) * sizeof *digit);
    return image_cut(image, axis, inside, length, last);
  }
  if (inside || (length % below && !last))
    return llrt_error(LLRT_UNSUPPORTED,
                      "a part from %lld to %lld is not of whole tiles, which have %lld",
                      (long long)begin, (long long)(begin + length), (long long)below);
  int64_t kept = (length + below - 1) / below;
  if (first + kept > digit->extent) return llrt_error(LLRT_INTERNAL, "a part beyond the axis");
  image->offset += (digit->down ? digit->extent - first - kept : first) * digit->stride;
  digit->extent = kept;
  return LLRT_OK;
}

llrt_status image_turn(storage_image *image, int axis, int64_t extent) {
  if (image_extent(image, axis) != extent)
    return llrt_error(LLRT_UNSUPPORTED, "an axis that counts down has pads");
  for (int i = 0; i < image->n; i++)
    if (image->digit[i].axis == axis) image->digit[i].down = !image->digit[i].down;
  return LLRT_OK;
}

/* ---- image -> storage ---- */

llrt_status image_storage(const storage_image *given, int rank, llrt_storage *out) {
  storage_image joined = *given;
  memset(out, 0, sizeof *out);
  join_digits(&joined);
  if (joined.n > LLRT_MAX_DIGITS)
    return llrt_error(LLRT_UNSUPPORTED, "%d digits, more than %d", joined.n, LLRT_MAX_DIGITS);
  out->rank = rank;
  for (int i = 0; i < joined.n; i++) {
    const image_digit *digit = &joined.digit[i];
    if (digit->extent == 1) continue;
    out->digit[out->n_digits++] = (llrt_digit){.extent = digit->extent,
                                               .stride = digit->stride,
                                               .axis = digit->axis,
                                               .reversed = digit->down};
  }
  out->pad = joined.pads ? LLRT_PAD_VALUE : LLRT_PAD_NONE;
  out->pad_value = joined.pads ? joined.pad_value : 0;
  return llrt_storage_validate(out);
}
