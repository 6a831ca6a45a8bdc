/* Rules of digits: several an axis in any order, of any extents, behind a tile, under a swizzle,
 * with pads. */
#include "sides.h"

#include <string.h>

#define MOST_RULE_TILE 9

typedef struct rule {
  const side_wish *wish;
  llrt_storage *made;
  int64_t *strides;
  bool pads, numbers;
  int bits[LLRT_MAX_RANK];          /* of the tile */
  llrt_digit list[LLRT_MAX_DIGITS]; /* axis by axis, from the lowest on */
  int n;
} rule;

/* ---- the tile ---- */

static int trailing_bits(int64_t n) { return n > 0 ? __builtin_ctzll((unsigned long long)n) : 3; }

static int draw_bits(uint64_t *seed, rule *of) {
  int sum = 0;
  for (int a = 0; a < of->wish->rank; a++) {
    int most = of->pads ? 4 : trailing_bits(of->wish->shape[a]);
    if (most > 5) most = 5;
    int bits = (int)draw_below(seed, most + 1);
    if (of->pads && bits && of->wish->shape[a] << 2 < 1ll << bits) bits = 0;
    if (sum + bits > MOST_RULE_TILE) bits = 0;
    of->bits[a] = bits;
    sum += bits;
  }
  return sum;
}

static void draw_tile(uint64_t *seed, const rule *of, int n) {
  llrt_layout *tile = &of->made->tile;
  int in = n + (draw_one_in(seed, 8) ? 1 + (int)draw_below(seed, 2) : 0);
  tile->n_in = 1;
  tile->n_out = (uint8_t)of->wish->rank;
  strcpy(tile->in[0].name, "offset");
  tile->in[0].bits = (uint8_t)in;
  for (int a = 0; a < of->wish->rank; a++) {
    memcpy(tile->out[a].name, (char[]){'d', 'i', 'm', (char)('0' + a)}, 4);
    tile->out[a].bits = (uint8_t)of->bits[a];
  }
  for (int i = 0; i < in; i++) {
    int at = (int)draw_below(seed, i + 1);
    tile->column[i] = tile->column[at];
    tile->column[at] = i < n ? 1ull << i : 0;
  }
  int sums = draw_one_in(seed, 3) ? 1 + (int)draw_below(seed, in) : 0;
  for (int i = 0; i < sums; i++) {
    int to = (int)draw_below(seed, in), from = (int)draw_below(seed, in);
    if (to != from) tile->column[to] ^= tile->column[from];
  }
}

/* ---- digits ---- */

static int64_t draw_divisor(uint64_t *seed, int64_t n) {
  for (int i = 0; i < 12; i++) {
    int64_t d = 2 + draw_below(seed, n < 34 ? n : 33);
    if (n % d == 0) return d;
  }
  return n % 2 == 0 && draw_one_in(seed, 2) ? n / 2 : draw_one_in(seed, 3) ? n : 1;
}

static int64_t draw_extent(uint64_t *seed, const rule *of, int64_t left) {
  if (draw_one_in(seed, 7)) return 1;
  if (!of->pads || left <= 0) return left > 0 ? draw_divisor(seed, left) : 1 + draw_below(seed, 4);
  return draw_one_in(seed, 2) ? 1 + draw_below(seed, 6)
                              : 1 + draw_below(seed, left < 40 ? left + 2 : 40);
}

/* The digits of an axis. The last takes what is left, or has that as its number. */
static void draw_axis(uint64_t *seed, rule *of, int a) {
  int64_t tile = 1ll << of->bits[a], left = (of->wish->shape[a] + tile - 1) / tile;
  int inner = draw_one_in(seed, 2) ? 1 + (int)draw_below(seed, 3) : 0;
  for (int i = 0; i < inner && of->n + of->wish->rank - a < LLRT_MAX_DIGITS - 1; i++) {
    int64_t extent = draw_extent(seed, of, left);
    of->list[of->n++] = (llrt_digit){.extent = extent, .stride = LLRT_STRIDE_PACKED, .axis = a};
    left = (left + extent - 1) / extent;
  }
  bool fixed = of->numbers || draw_one_in(seed, 5);
  int64_t extent = fixed && left > 0 ? left : LLRT_EXTENT_REST;
  if (extent && of->pads && draw_one_in(seed, 4)) extent += draw_below(seed, 3);
  of->list[of->n++] = (llrt_digit){.extent = extent, .stride = LLRT_STRIDE_PACKED, .axis = a};
}

static void insert_digit(llrt_storage *made, int at, llrt_digit digit) {
  if (made->n_digits == LLRT_MAX_DIGITS) return;
  memmove(&made->digit[at + 1], &made->digit[at],
          sizeof *made->digit * (size_t)(made->n_digits++ - at));
  made->digit[at] = digit;
}

/* Puts the listed digits in an order: of rows, or any that keeps an axis's own. */
static void draw_order(uint64_t *seed, rule *of) {
  int axis_at[LLRT_MAX_DIGITS], next[LLRT_MAX_RANK] = {0};
  bool rows = draw_one_in(seed, 3);
  for (int i = 0; i < of->n; i++) axis_at[i] = of->list[rows ? of->n - 1 - i : i].axis;
  if (!rows) draw_shuffle(seed, axis_at, of->n);
  for (int i = 0; i < of->n; i++) {
    int seen = 0, a = axis_at[i];
    for (int j = 0; j < of->n; j++)
      if (of->list[j].axis == a && seen++ == next[a])
        of->made->digit[of->made->n_digits++] = of->list[j];
    next[a]++;
  }
}

static void draw_digits(uint64_t *seed, rule *of) {
  for (int a = 0; a < of->wish->rank; a++) draw_axis(seed, of, a);
  draw_order(seed, of);
  bool down = !of->numbers && draw_one_in(seed, 5);
  for (int i = 0; i < of->made->n_digits; i++)
    of->made->digit[i].reversed = down && draw_one_in(seed, 3);
  if (!of->numbers && !of->wish->plain && draw_one_in(seed, 9))
    insert_digit(of->made, (int)draw_below(seed, of->made->n_digits + 1),
                 (llrt_digit){2 + draw_below(seed, 3), LLRT_STRIDE_PACKED, LLRT_AXIS_REPLICA, 0,
                              draw_one_in(seed, 6)});
}

/* ---- strides ---- */

/* Strides that the tensor brings, just outside of what is there, or further. */
static void bring_strides(uint64_t *seed, rule *of, const llrt_storage_binding *packed) {
  int64_t below[LLRT_MAX_RANK];
  for (int a = 0; a < of->wish->rank; a++) below[a] = 1ll << of->bits[a];
  bool brought[LLRT_MAX_RANK] = {0};
  int64_t wider = 1;
  for (int i = 0; i < of->made->n_digits; i++) {
    llrt_digit *digit = &of->made->digit[i];
    int64_t stride = packed->stride[i] < 0 ? -packed->stride[i] : packed->stride[i];
    if (digit->axis < 0) continue;
    int64_t unit = below[digit->axis];
    below[digit->axis] *= packed->extent[i];
    if (brought[digit->axis] || digit->extent != LLRT_EXTENT_REST || draw_one_in(seed, 3)) continue;
    brought[digit->axis] = true;
    digit->stride = LLRT_STRIDE_RUNTIME;
    wider += draw_one_in(seed, 3) ? draw_below(seed, 3) : 0;
    of->strides[digit->axis] =
        (stride * wider + unit - 1) / unit + (draw_one_in(seed, 3) ? draw_below(seed, 9) : 0);
  }
}

/* Numbers instead of what is packed, with gaps before digits at times; few of one-position digits
 * stand far away. Memory may have an axis's digits in another order than the axis has. */
static void draw_gaps(uint64_t *seed, rule *of, const llrt_storage_binding *packed) {
  llrt_storage *made = of->made;
  int64_t next = 1ll << (made->tile.n_in ? made->tile.in[0].bits : 0);
  int some = 1 + (int)draw_below(seed, 3), order[LLRT_MAX_DIGITS];
  bool turned = draw_one_in(seed, 2), gaps = !turned || draw_one_in(seed, 2);
  for (int i = 0; i < made->n_digits; i++) order[i] = i;
  if (turned) draw_shuffle(seed, order, made->n_digits);
  for (int k = 0; k < made->n_digits; k++) {
    int i = order[k];
    int64_t extent = packed->extent[i] > 1 ? packed->extent[i] : 1;
    if (gaps && draw_one_in(seed, some + 1)) next += draw_below(seed, 12) << draw_below(seed, 3);
    bool stays = !of->numbers && !turned && draw_one_in(seed, 3);
    made->digit[i].stride = stays ? LLRT_STRIDE_PACKED : next;
    if (extent == 1 && draw_one_in(seed, 3)) made->digit[i].stride = next + draw_below(seed, 70);
    if (made->digit[i].stride > next && made->digit[i].stride != LLRT_STRIDE_PACKED && extent > 1)
      next = made->digit[i].stride;
    next *= extent;
  }
}

/* Of what is read, places may be shared: no stride at all, or a small one. */
static void draw_sharing(uint64_t *seed, rule *of) {
  int i = (int)draw_below(seed, of->made->n_digits);
  of->made->digit[i].stride = draw_one_in(seed, 2) ? 0 : draw_below(seed, 9);
}

/* Digits in an order that their strides do not have. */
static void shuffle_list(uint64_t *seed, rule *of) {
  llrt_storage *made = of->made;
  for (int i = 0; i < made->n_digits; i++)
    if (made->digit[i].stride == LLRT_STRIDE_PACKED || made->digit[i].stride == LLRT_STRIDE_RUNTIME)
      return;
  for (int turn = 0; turn < 2 * made->n_digits; turn++) {
    int i = (int)draw_below(seed, made->n_digits > 1 ? made->n_digits - 1 : 1);
    if (i + 1 >= made->n_digits || made->digit[i].axis == made->digit[i + 1].axis) continue;
    llrt_digit moved = made->digit[i];
    made->digit[i] = made->digit[i + 1];
    made->digit[i + 1] = moved;
  }
}

static void draw_strides(uint64_t *seed, rule *of) {
  llrt_storage_binding packed;
  if (llrt_storage_bind(of->made, of->wish->rank, of->wish->shape, NULL, &packed) != LLRT_OK)
    return;
  int kind = of->numbers ? 2 : (int)draw_below(seed, 8);
  if (kind >= 2 && kind < 5) draw_gaps(seed, of, &packed);
  if (kind == 5) bring_strides(seed, of, &packed);
  if (!of->wish->written && of->made->n_digits && draw_one_in(seed, 14)) draw_sharing(seed, of);
  if (draw_one_in(seed, 4)) shuffle_list(seed, of);
}

/* ---- the whole ---- */

static void draw_swizzle(uint64_t *seed, llrt_swizzle *swizzle) {
  swizzle->per_element = (uint8_t)draw_below(seed, 5);
  swizzle->swizzle_len = (uint8_t)(1 + draw_below(seed, 3));
  swizzle->atom_len = (uint8_t)(swizzle->swizzle_len + draw_below(seed, 4));
  swizzle->upward = draw_one_in(seed, 2);
}

static uint64_t draw_pad_value(uint64_t *seed, int bits) {
  uint64_t mask = bits >= 64 ? ~0ull : (1ull << bits) - 1;
  return draw_one_in(seed, 2) ? 0 : draw_one_in(seed, 3) ? mask : draw_next(seed) & mask;
}

bool draw_rule(uint64_t *seed, const side_wish *wish, bool numbers, draw_side *made) {
  rule of = {.wish = wish, .made = &made->storage, .strides = made->strides, .numbers = numbers};
  int n = 0;
  memset(made, 0, sizeof *made);
  made->storage.rank = wish->rank;
  of.pads = !numbers && !wish->plain && draw_one_in(seed, 2);
  if (of.pads) made->storage.pad = draw_one_in(seed, 3) ? LLRT_PAD_KEEP : LLRT_PAD_VALUE;
  if (!numbers && draw_one_in(seed, 2)) n = draw_bits(seed, &of);
  if (n > 0) draw_tile(seed, &of, n);
  draw_digits(seed, &of);
  draw_strides(seed, &of);
  if (!wish->plain && draw_one_in(seed, 4)) draw_swizzle(seed, &made->storage.swizzle);
  if (!wish->plain && draw_one_in(seed, 5)) made->storage.offset[0] = draw_below(seed, 64);
  if (made->storage.pad == LLRT_PAD_VALUE)
    made->storage.pad_value = draw_pad_value(seed, wish->bits);
  return true;
}

void draw_split(uint64_t *seed, const side_wish *wish, int axis, int n, const int64_t *extent,
                draw_side *made) {
  rule of = {.wish = wish, .made = &made->storage, .strides = made->strides};
  memset(made, 0, sizeof *made);
  made->storage.rank = wish->rank;
  for (int a = 0; a < wish->rank; a++) {
    if (a != axis) draw_axis(seed, &of, a);
    for (int i = 0; a == axis && i < n; i++)
      of.list[of.n++] = (llrt_digit){.extent = i + 1 < n ? extent[i] : LLRT_EXTENT_REST,
                                     .stride = LLRT_STRIDE_PACKED,
                                     .axis = a};
  }
  draw_order(seed, &of);
}
