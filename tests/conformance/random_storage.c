#include "random_storage.h"

#include "conformance.h"

#include <string.h>

#define MOST_TILE_BITS 7

static bool one_in(uint64_t *seed, int n) { return random_below(seed, n) == 0; }

/* ---- the tile ---- */

static int bits_below(int64_t n) {
  int bits = 0;
  while (bits < 3 && (int64_t)1 << bits < n) bits++;
  return bits;
}

/* Bits of each axis: those that divide it, with pads any. */
static int draw_tile_bits(uint64_t *seed, int rank, const int64_t *shape, bool pads, int *bits) {
  int sum = 0;
  for (int a = 0; a < rank; a++) {
    int most = bits_below(shape[a]);
    bits[a] = random_below(seed, most + 1);
    while (bits[a] > 0 &&
           (sum + bits[a] > MOST_TILE_BITS || (!pads && shape[a] % ((int64_t)1 << bits[a]))))
      bits[a]--;
    sum += bits[a];
  }
  return sum;
}

/* Offset bits that take the tile's in any order; seldom a sum of two, seldom one that repeats
 * others. */
static void draw_tile(uint64_t *seed, int rank, const int *bits, int n, llrt_layout *tile) {
  bool copies = one_in(seed, 6);
  int in = n + copies;
  tile->n_in = 1;
  tile->n_out = (uint8_t)rank;
  strcpy(tile->in[0].name, "offset");
  tile->in[0].bits = (uint8_t)in;
  for (int a = 0; a < rank; a++) {
    strcpy(tile->out[a].name, "dim0");
    tile->out[a].name[3] = (char)('0' + a);
    tile->out[a].bits = (uint8_t)bits[a];
  }
  for (int i = 0; i < in; i++) {
    int at = random_below(seed, i + 1);
    tile->column[i] = tile->column[at];
    tile->column[at] = i < n ? 1ull << i : 0;
  }
  int to = random_below(seed, in), from = random_below(seed, in);
  if (one_in(seed, 3) && to != from && tile->column[to]) tile->column[to] ^= tile->column[from];
}

/* ---- digits ---- */

/* Digits in any order, an axis's own from the lowest on; the last of each takes what is left. Under
 * a swizzle none may count down. */
static void draw_digits(uint64_t *seed, int rank, const int64_t *shape, const int *bits, bool pads,
                        llrt_storage *made) {
  bool swizzled = made->swizzle.swizzle_len > 0;
  int64_t left[LLRT_MAX_RANK];
  bool split[LLRT_MAX_RANK];
  int axes[2 * LLRT_MAX_RANK], n = 0;
  for (int a = 0; a < rank; a++) {
    int64_t tile = (int64_t)1 << bits[a];
    left[a] = (shape[a] + tile - 1) / tile;
    split[a] = left[a] > 1 && one_in(seed, 3);
    for (int i = 0; i < 1 + split[a]; i++, n++) {
      int at = random_below(seed, n + 1);
      axes[n] = axes[at];
      axes[at] = a;
    }
  }
  for (int i = 0; i < n; i++) {
    int a = axes[i];
    int64_t extent = 2 + random_below(seed, 7);
    llrt_digit *digit = &made->digit[made->n_digits++];
    *digit = (llrt_digit){.extent = LLRT_EXTENT_REST,
                          .stride = LLRT_STRIDE_PACKED,
                          .axis = a,
                          .reversed = !swizzled && one_in(seed, 8)};
    if (!split[a]) continue;
    split[a] = false;
    digit->extent = extent < left[a] && (pads || left[a] % extent == 0) ? extent : 1;
  }
}

static void insert_copies(uint64_t *seed, llrt_storage *made) {
  int at = random_below(seed, made->n_digits + 1);
  memmove(&made->digit[at + 1], &made->digit[at],
          sizeof *made->digit * (size_t)(made->n_digits++ - at));
  made->digit[at] = (llrt_digit){
      .extent = 2 + random_below(seed, 2), .stride = LLRT_STRIDE_PACKED, .axis = LLRT_AXIS_REPLICA};
}

/* Numbers instead of what is packed: a digit may begin a few elements further. */
static void draw_gaps(uint64_t *seed, const llrt_storage_binding *packed, llrt_storage *made) {
  int64_t next = made->n_digits ? packed->stride[0] : 1;
  if (next < 0) next = -next;
  for (int i = 0; i < made->n_digits; i++) {
    if (one_in(seed, 2)) next += random_below(seed, 9) << random_below(seed, 3);
    made->digit[i].stride = next;
    next *= packed->extent[i] > 1 ? packed->extent[i] : 1;
  }
}

static void draw_swizzle(uint64_t *seed, llrt_swizzle *swizzle) {
  swizzle->per_element = (uint8_t)random_below(seed, 4);
  swizzle->swizzle_len = (uint8_t)(1 + random_below(seed, 3));
  swizzle->atom_len = (uint8_t)(swizzle->swizzle_len + random_below(seed, 2));
}

static void draw_rule(uint64_t *seed, int rank, const int64_t *shape, llrt_storage *made) {
  int bits[LLRT_MAX_RANK] = {0}, n = 0;
  bool pads = one_in(seed, 2);
  llrt_storage_binding packed;
  memset(made, 0, sizeof *made);
  made->rank = rank;
  if (one_in(seed, 8)) draw_swizzle(seed, &made->swizzle);
  if (one_in(seed, 2)) n = draw_tile_bits(seed, rank, shape, pads, bits);
  if (n > 0) draw_tile(seed, rank, bits, n, &made->tile);
  draw_digits(seed, rank, shape, bits, pads, made);
  if (one_in(seed, 6)) insert_copies(seed, made);
  if (pads) made->pad = one_in(seed, 2) ? LLRT_PAD_KEEP : LLRT_PAD_VALUE;
  if (made->pad == LLRT_PAD_VALUE) made->pad_value = (uint64_t)random_below(seed, 8);
  if (one_in(seed, 2) && llrt_storage_bind(made, rank, shape, NULL, &packed) == LLRT_OK)
    draw_gaps(seed, &packed, made);
  if (one_in(seed, 3)) made->offset[0] = random_below(seed, 40);
}

void random_storage_make(uint64_t *seed, int rank, const int64_t *shape, int64_t most,
                         llrt_storage *made) {
  llrt_storage_binding binding;
  int kind = rank == 0 ? 0 : random_below(seed, 8);
  if (kind > 2) draw_rule(seed, rank, shape, made);
  if (kind > 2 &&
      (llrt_storage_bind(made, rank, shape, NULL, &binding) != LLRT_OK || binding.span <= most))
    return;
  if (kind == 2) llrt_storage_col_major(rank, made);
  else llrt_storage_row_major(rank, made);
}
