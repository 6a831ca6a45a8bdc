/* The canonical form of a storage: one spelling of each rule, a step at a time. */
#include "layout/storage_rule.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"

/* ---- digits ---- */

static void remove_digit(llrt_storage *storage, int index) {
  storage->n_digits--;
  memmove(storage->digit + index, storage->digit + index + 1,
          (size_t)(storage->n_digits - index) * sizeof storage->digit[0]);
}

static void insert_digit(llrt_storage *storage, int index, const llrt_digit *digit) {
  llrt_digit added = *digit;
  memmove(storage->digit + index + 1, storage->digit + index,
          (size_t)(storage->n_digits - index) * sizeof storage->digit[0]);
  storage->digit[index] = added;
  storage->n_digits++;
}

/* Writes numbers for PACKED as far out as all extents are fixed: there the first offset outside is
 * a constant. A digit of one position that pads nothing there goes. */
static void resolve_packed(llrt_storage *storage) {
  int64_t outside = 1ll << llrt_layout_in_bits(&storage->tile), last = outside - 1;
  for (int i = 0; i < storage->n_digits; i++) {
    llrt_digit *digit = &storage->digit[i];
    if (digit->target != 0) continue;
    if (digit->stride == LLRT_STRIDE_PACKED) digit->stride = outside;
    if (digit->extent == 1 && digit->stride <= outside) {
      remove_digit(storage, i--);
      continue;
    }
    if (digit->extent == LLRT_EXTENT_REST || digit->stride == LLRT_STRIDE_RUNTIME) return;
    int64_t pitch;
    if (__builtin_mul_overflow(digit->extent, digit->stride, &pitch)) return;
    if (__builtin_add_overflow(last, pitch - digit->stride, &last) || last == INT64_MAX) return;
    if (outside < pitch) outside = pitch;
    if (outside <= last) outside = last + 1;
  }
}

/* Drops digits of one position, except where their stride pads what is PACKED outside them. */
static void drop_units(llrt_storage *storage) {
  bool packed_outside = false;
  for (int i = storage->n_digits - 1; i >= 0; i--) {
    const llrt_digit *digit = &storage->digit[i];
    bool packed = digit->stride == LLRT_STRIDE_PACKED;
    if (digit->extent == 1 && (packed || !packed_outside || digit->target != 0))
      remove_digit(storage, i);
    else packed_outside |= packed;
  }
}

/* Single positions have no direction. Copies have one: it says which of them is the first, which is
 * read. */
static void drop_directions(llrt_storage *storage) {
  for (int i = 0; i < storage->n_digits; i++) {
    llrt_digit *digit = &storage->digit[i];
    if (digit->extent == 1) digit->reversed = false;
  }
}

/* Whether a digit comes before another where neither's place in the list means anything. */
static bool precedes(const llrt_digit *a, const llrt_digit *b) {
  if (a->target != b->target) return a->target < b->target;
  if (a->stride != b->stride) return a->stride < b->stride;
  if (a->axis != b->axis) return a->axis < b->axis;
  if (a->extent != b->extent) return a->extent < b->extent;
  return a->reversed < b->reversed;
}

/* Orders digits [first, end), none PACKED. Sums do not depend on the order, but an axis's digits
 * must follow each other as they are; replicas need not. So again and again the least of the axes'
 * next digits comes out. */
static void sort_run(llrt_storage *storage, int first, int end) {
  for (int at = first; at < end; at++) {
    int least = -1;
    for (int i = at; i < end; i++) {
      const llrt_digit *digit = &storage->digit[i];
      bool next = true;
      for (int j = at; j < i; j++)
        next &= digit->axis == LLRT_AXIS_REPLICA || storage->digit[j].axis != digit->axis;
      if (next && (least < 0 || precedes(digit, &storage->digit[least]))) least = i;
    }
    llrt_digit digit = storage->digit[least];
    remove_digit(storage, least);
    insert_digit(storage, at, &digit);
  }
}

/* What is PACKED counts the digits before it, so it stays between the same two sets. */
static void sort_digits(llrt_storage *storage) {
  for (int first = 0, i = 0; i <= storage->n_digits; i++) {
    if (i < storage->n_digits && storage->digit[i].stride != LLRT_STRIDE_PACKED) continue;
    sort_run(storage, first, i);
    first = i + 1;
  }
}

/* Whether b's positions continue a's: one digit of both extents would do. */
static bool continues(const llrt_digit *a, const llrt_digit *b) {
  int64_t pitch, extent;
  return a->axis == b->axis && a->target == b->target && a->reversed == b->reversed &&
         a->extent != LLRT_EXTENT_REST && b->extent != LLRT_EXTENT_REST &&
         storage_stride_is_number(a) && storage_stride_is_number(b) &&
         !__builtin_mul_overflow(a->extent, a->stride, &pitch) && b->stride == pitch &&
         !__builtin_mul_overflow(a->extent, b->extent, &extent);
}

/* The digit above `index` on its axis, or for a replica any that continues it; -1 for none. A digit
 * in between that is PACKED does not mind: the places taken are the same. */
static int digit_above(const llrt_storage *storage, int index) {
  const llrt_digit *digit = &storage->digit[index];
  for (int i = index + 1; i < storage->n_digits; i++) {
    if (storage->digit[i].axis != digit->axis) continue;
    if (digit->axis != LLRT_AXIS_REPLICA) return i;
    if (continues(digit, &storage->digit[i])) return i;
  }
  return -1;
}

/* No PACKED digit stands in (first, last): the digits there may move. */
static bool may_move(const llrt_storage *storage, int first, int last) {
  for (int i = first + 1; i < last; i++)
    if (storage->digit[i].stride == LLRT_STRIDE_PACKED) return false;
  return true;
}

/* Joins each digit with the one above it on the axis where that only counts on. */
static void merge_digits(llrt_storage *storage) {
  for (int i = 0; i < storage->n_digits;) {
    int above = digit_above(storage, i);
    if (above >= 0 && may_move(storage, i, above) &&
        continues(&storage->digit[i], &storage->digit[above])) {
      storage->digit[i].extent *= storage->digit[above].extent;
      remove_digit(storage, above);
    } else {
      i++;
    }
  }
}

/* ---- the tile ---- */

/* Splits the factor of two off a memory digit, so that the tile can take it. */
static void split_digit(llrt_storage *storage, int index) {
  llrt_digit *digit = &storage->digit[index];
  int64_t low = digit->extent & -digit->extent;
  if (low == digit->extent || low == 1 || storage->n_digits == LLRT_MAX_DIGITS) return;
  llrt_digit high = *digit;
  if (__builtin_mul_overflow(digit->stride, low, &high.stride)) return;
  high.extent = digit->extent / low;
  digit->extent = low;
  insert_digit(storage, index + 1, &high);
}

/* Gives the tile all its out-dims, so that it can grow along any axis. */
static llrt_status start_tile(llrt_storage *storage) {
  if (storage->tile.n_in) return LLRT_OK;
  storage->tile = (llrt_layout){0};
  LLRT_TRY(layout_append_in(&storage->tile, STORAGE_IN_DIM, 0));
  for (int axis = 0; axis < storage->rank; axis++) {
    char name[LLRT_NAME_BYTES];
    layout_axis_name(axis, name);
    LLRT_TRY(layout_append_out(&storage->tile, name, 0));
  }
  return LLRT_OK;
}

/* The tile with `extent` more positions outside: tile * identity on the digit's axis from axis bit
 * `shift` on, or tile * zeros for a replica. */
static llrt_status grow_tile(llrt_storage *storage, const llrt_digit *digit) {
  char name[LLRT_NAME_BYTES] = {0};
  llrt_layout more;
  LLRT_TRY(start_tile(storage));
  if (digit->axis == LLRT_AXIS_REPLICA) {
    LLRT_TRY(llrt_layout_zeros1d(digit->extent, STORAGE_IN_DIM, "copies", 1, &more));
    more.n_out = 0;
  } else {
    layout_axis_name(digit->axis, name);
    LLRT_TRY(llrt_layout_strided1d(digit->extent, 1, STORAGE_IN_DIM, name, &more));
  }
  return llrt_layout_product(&storage->tile, &more, &storage->tile);
}

/* The digits that continue the tile, in order of their strides: taken[k] is the k-th. Only digits
 * before anything PACKED, whose counting would change. Returns how many. */
static int find_continuation(const llrt_storage *storage, int *taken) {
  int n = 0, bits = llrt_layout_in_bits(&storage->tile);
  for (int i = 0; i < storage->n_digits;) {
    const llrt_digit *digit = &storage->digit[i];
    if (digit->stride == LLRT_STRIDE_PACKED) break;
    bool fits = digit->target == 0 && !digit->reversed && bits_is_power_of_two(digit->extent) &&
                digit->extent > 1 && digit->stride == 1ll << bits &&
                bits + bits_log2(digit->extent) <= STORAGE_MAX_SPAN_BITS;
    for (int k = 0; k < n; k++) fits &= taken[k] != i;
    if (fits) {
      bits += bits_log2(digit->extent);
      taken[n++] = i;
    }
    i = fits ? 0 : i + 1;
  }
  return n;
}

static bool is_among(int digit, const int *taken, int n) {
  for (int k = 0; k < n; k++)
    if (taken[k] == digit) return true;
  return false;
}

/* Whether the first n digits of `taken` go into the tile with all lower digits of their axes: a
 * tile's digits are the lowest of each axis. */
static bool is_closed(const llrt_storage *storage, const int *taken, int n) {
  for (int k = 0; k < n; k++) {
    int axis = storage->digit[taken[k]].axis;
    for (int i = 0; i < taken[k] && axis != LLRT_AXIS_REPLICA; i++)
      if (storage->digit[i].axis == axis && !is_among(i, taken, n)) return false;
  }
  return true;
}

/* Puts the digits taken into the tile. In the tile an axis's bits stand in the order of its digits,
 * whatever their strides: first the digits in list order give bits to the axis, then the columns go
 * where the strides say. */
static llrt_status absorb(llrt_storage *storage, const int *taken, int n) {
  llrt_layout tile;
  int inside = llrt_layout_in_bits(&storage->tile);
  uint64_t columns[LLRT_MAX_BITS];
  int start[LLRT_MAX_DIGITS] = {0}, bits = inside;
  for (int i = 0; i < storage->n_digits; i++) {
    if (!is_among(i, taken, n)) continue;
    start[i] = bits;
    bits += bits_log2(storage->digit[i].extent);
    LLRT_TRY(grow_tile(storage, &storage->digit[i]));
  }
  tile = storage->tile;
  memcpy(columns, tile.column, sizeof columns);
  for (int k = 0, at = inside; k < n; k++)
    for (int b = 0; b < bits_log2(storage->digit[taken[k]].extent); b++)
      storage->tile.column[at++] = columns[start[taken[k]] + b];
  for (int i = storage->n_digits - 1; i >= 0; i--)
    if (is_among(i, taken, n)) remove_digit(storage, i);
  return LLRT_OK;
}

static bool splits_help(const llrt_storage *storage, const llrt_digit *digit) {
  return digit->target == 0 && digit->extent != LLRT_EXTENT_REST &&
         storage_stride_is_number(digit) && bits_is_power_of_two(digit->stride) &&
         digit->stride >= 1ll << llrt_layout_in_bits(&storage->tile);
}

/* Moves digits of 2^n positions that stand just outside into the tile. */
static llrt_status absorb_digits(llrt_storage *storage) {
  int taken[LLRT_MAX_DIGITS];
  for (int i = 0; i < storage->n_digits; i++)
    if (splits_help(storage, &storage->digit[i])) split_digit(storage, i);
  int n = find_continuation(storage, taken);
  while (n > 0 && !is_closed(storage, taken, n)) n--;
  if (n > 0) LLRT_TRY(absorb(storage, taken, n));
  if (llrt_layout_in_bits(&storage->tile) == 0) storage->tile = llrt_layout_empty();
  return LLRT_OK;
}

/* ---- swizzle, targets, pad ---- */

/* What of every sum of digits and offset is sure to be zero: the bits below the result. */
static int clear_bits(const llrt_storage *storage) {
  uint64_t strides = (uint64_t)storage->offset[0];
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    if (digit->stride == LLRT_STRIDE_RUNTIME) return 0;
    if (digit->target != 0) continue;
    /* PACKED: a multiple of what the tile and all strides before it are multiples of */
    if (digit->stride != LLRT_STRIDE_PACKED) strides |= (uint64_t)digit->stride;
    else strides |= 1ull << llrt_layout_in_bits(&storage->tile);
  }
  return strides ? bits_lowest(strides) : LLRT_MAX_BITS;
}

/* Whether the first copies lie where Z puts those of the tile before: of copies the one whose free
 * variables are zero is read, and Z may bring another one there. */
static bool keeps_first_copies(const llrt_layout *before, const llrt_layout *after,
                               const llrt_swizzle *swizzle) {
  llrt_layout first, folded;
  if (llrt_layout_right_inverse(before, &first) != LLRT_OK ||
      llrt_layout_right_inverse(after, &folded) != LLRT_OK)
    return false;
  for (int b = 0; b < llrt_layout_in_bits(&first); b++)
    if (folded.column[b] != storage_swizzle(swizzle, first.column[b])) return false;
  return true;
}

/* Z(o + p) = o + Z(p), p being the tile's part, where o has no bit below the end of Z: then Z is a
 * change of the tile's offset bits, unless it leads out of the tile. Z is its own inverse, so the
 * new tile is the tile after Z. */
static void fold_swizzle(llrt_storage *storage) {
  const llrt_swizzle swizzle = storage->swizzle;
  int bits = llrt_layout_in_bits(&storage->tile), clear = clear_bits(storage);
  if (swizzle.swizzle_len == 0) storage->swizzle = (llrt_swizzle){0};
  if (swizzle.swizzle_len == 0 || clear < bits || clear < storage_swizzle_end(&swizzle)) return;
  if (swizzle.upward && storage_swizzle_end(&swizzle) > bits) return;
  llrt_layout tile = storage->tile;
  for (int b = 0; b < bits; b++)
    tile.column[b] = llrt_layout_apply_flat(&storage->tile, storage_swizzle(&swizzle, 1ull << b));
  if (!keeps_first_copies(&storage->tile, &tile, &swizzle)) return;
  storage->tile = tile;
  storage->swizzle = (llrt_swizzle){0};
}

/* Drops the targets that nothing uses and puts the others in order of their names. */
static void order_targets(llrt_storage *storage) {
  llrt_storage before = *storage;
  int number[LLRT_MAX_TARGETS + 1] = {0};
  memset(storage->target, 0, sizeof storage->target);
  memset(storage->offset + 1, 0, LLRT_MAX_TARGETS * sizeof storage->offset[0]);
  storage->n_targets = 0;
  for (;;) {
    int least = 0;
    for (int t = 1; t <= before.n_targets; t++) {
      bool used = before.offset[t] != 0;
      for (int i = 0; i < before.n_digits; i++) used |= before.digit[i].target == t;
      if (!used || number[t]) continue;
      if (!least || strcmp(before.target[t - 1], before.target[least - 1]) < 0) least = t;
    }
    if (!least) break;
    memcpy(storage->target[storage->n_targets], before.target[least - 1], LLRT_NAME_BYTES);
    number[least] = ++storage->n_targets;
    storage->offset[number[least]] = before.offset[least];
  }
  for (int i = 0; i < storage->n_digits; i++)
    storage->digit[i].target = (int16_t)number[before.digit[i].target];
}

/* A pad rule acts only where an axis holds groups of more than one position. */
static bool can_pad(const llrt_storage *storage) {
  bool rest[LLRT_MAX_RANK] = {false};
  for (int axis = 0; axis < storage->rank; axis++)
    if (storage_tile_bits(storage, axis) > 0) return true;
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    if (digit->axis == LLRT_AXIS_REPLICA) continue;
    if (digit->extent != LLRT_EXTENT_REST) return true;
    rest[digit->axis] = true;
  }
  for (int axis = 0; axis < storage->rank; axis++)
    if (!rest[axis]) return true; /* one position, or none */
  return false;
}

/* One step may open the way for another, so they repeat until nothing changes. Each leaves fewer
 * digits, or fewer of them PACKED, or better order, so a few rounds are enough. */
static llrt_status settle_digits(llrt_storage *storage) {
  llrt_digit before[LLRT_MAX_DIGITS];
  do {
    memcpy(before, storage->digit, sizeof before);
    resolve_packed(storage);
    drop_units(storage);
    sort_digits(storage);
    merge_digits(storage);
    LLRT_TRY(absorb_digits(storage));
    merge_digits(storage);
    sort_digits(storage);
    memset(storage->digit + storage->n_digits, 0,
           (size_t)(LLRT_MAX_DIGITS - storage->n_digits) * sizeof storage->digit[0]);
  } while (memcmp(before, storage->digit, sizeof before) != 0);
  return LLRT_OK;
}

llrt_status storage_canonicalise(const llrt_storage *storage, llrt_storage *out) {
  LLRT_TRY(llrt_storage_validate(storage));
  *out = *storage;
  if (llrt_layout_in_bits(&out->tile) > STORAGE_MAX_SPAN_BITS)
    return LLRT_OK; /* binds to no shape */
  order_targets(out);
  drop_directions(out);
  LLRT_TRY(settle_digits(out));
  fold_swizzle(out);
  if (!can_pad(out)) {
    out->pad = LLRT_PAD_NONE;
    out->pad_value = 0;
  }
  return LLRT_OK;
}
