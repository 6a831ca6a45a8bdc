/* The rule that stands for all rules that are equal to it. */
#include "layout/storage_rule.h"

#include "base/bits.h"
#include "base/status.h"

/* How many of the tile's highest offset bits count the highest positions of an axis, in order and
 * alone. */
static int highest_in_order(const llrt_storage *storage, int axis) {
  const llrt_layout *tile = &storage->tile;
  int in_bits = llrt_layout_in_bits(tile), bits = storage_tile_bits(storage, axis), n = 0;
  for (; n < bits && n < in_bits; n++) {
    uint64_t bit = 1ull << (llrt_layout_out_shift(tile, axis) + bits - 1 - n);
    uint64_t others = 0;
    for (int b = 0; b < in_bits - 1 - n; b++) others |= tile->column[b];
    if (tile->column[in_bits - 1 - n] != bit || others & bit) return n;
  }
  return n;
}

/* Takes the tile's n highest offset bits, which count an axis's highest positions, off the tile. */
static void shorten_tile(llrt_storage *storage, int axis, int n) {
  llrt_layout *tile = &storage->tile;
  int in_bits = llrt_layout_in_bits(tile) - n;
  int first = llrt_layout_out_shift(tile, axis) + tile->out[axis].bits - n;
  for (int b = 0; b < in_bits; b++)
    tile->column[b] = (tile->column[b] & bits_mask(first)) | tile->column[b] >> (first + n)
                                                                                    << first;
  for (int b = in_bits; b < in_bits + n; b++) tile->column[b] = 0;
  tile->in[0].bits = (uint8_t)in_bits;
  tile->out[axis].bits = (uint8_t)(tile->out[axis].bits - n);
  if (in_bits == 0) *tile = llrt_layout_empty();
}

/* Whether digit `index` goes on where the tile ends, in memory and along its axis, and no PACKED
 * stride before it counts the tile. */
static bool continues_tile(const llrt_storage *storage, int index) {
  const llrt_digit *digit = &storage->digit[index];
  if (digit->axis < 0 || digit->target != 0 || digit->reversed ||
      digit->extent == LLRT_EXTENT_REST ||
      digit->stride != 1ll << llrt_layout_in_bits(&storage->tile))
    return false;
  for (int i = 0; i < index; i++)
    if (storage->digit[i].axis == digit->axis || storage->digit[i].stride == LLRT_STRIDE_PACKED)
      return false;
  return true;
}

/* Gives a digit back the power of two that the canonical form split off for the tile. */
static void join_split_digits(llrt_storage *storage) {
  for (int i = 0; i < storage->n_digits && storage_has_tile(storage); i++) {
    llrt_digit *digit = &storage->digit[i];
    int n = continues_tile(storage, i) ? highest_in_order(storage, digit->axis) : 0;
    int64_t extent;
    if (n == 0 || __builtin_mul_overflow(digit->extent, 1ll << n, &extent)) continue;
    shorten_tile(storage, digit->axis, n);
    digit->extent = extent;
    digit->stride >>= n;
    i = -1; /* a digit of another axis may continue what is left */
  }
}

/* Calls PACKED what is just outside the tile and the digits before it: as far out as extents are
 * fixed. */
static void pack(llrt_storage *storage) {
  int64_t outside = 1ll << llrt_layout_in_bits(&storage->tile), last = outside - 1;
  for (int i = 0; i < storage->n_digits; i++) {
    llrt_digit *digit = &storage->digit[i];
    if (digit->target != 0) continue;
    if (digit->stride == LLRT_STRIDE_RUNTIME || digit->stride == LLRT_STRIDE_PACKED) return;
    int64_t stride = digit->stride, pitch;
    if (stride == outside) digit->stride = LLRT_STRIDE_PACKED;
    if (digit->extent == LLRT_EXTENT_REST ||
        __builtin_mul_overflow(digit->extent, stride, &pitch) ||
        __builtin_add_overflow(last, pitch - stride, &last) || last == INT64_MAX)
      return;
    if (outside < pitch) outside = pitch;
    if (outside <= last) outside = last + 1;
  }
}

llrt_status storage_representative(const llrt_storage *storage, llrt_storage *out) {
  LLRT_TRY(storage_canonicalise(storage, out));
  if (llrt_layout_in_bits(&out->tile) > STORAGE_MAX_SPAN_BITS)
    return LLRT_OK; /* binds to no shape */
  join_split_digits(out);
  pack(out);
  return LLRT_OK;
}
