/* A rule in other words: digits split and joined, digits of one position set in, strides as numbers
 * or packed, digits as a tile and a tile as digits. Every draw is checked place by place. */
#include "sides.h"

#include "places.h"

#include <string.h>

typedef struct words {
  llrt_storage *rule;
  places bound;
} words;

static int digit_count(const llrt_storage *rule) { return rule->n_digits; }

static void insert(llrt_storage *rule, int at, llrt_digit digit) {
  memmove(&rule->digit[at + 1], &rule->digit[at],
          sizeof *rule->digit * (size_t)(rule->n_digits++ - at));
  rule->digit[at] = digit;
}

static void drop(llrt_storage *rule, int at) {
  memmove(&rule->digit[at], &rule->digit[at + 1],
          sizeof *rule->digit * (size_t)(--rule->n_digits - at));
}

/* ---- one change each; the digit that it is about is drawn ---- */

static void set_in(uint64_t *seed, words *at) {
  llrt_storage *rule = at->rule;
  int i = (int)draw_below(seed, digit_count(rule) + 1);
  int axis = (int)draw_below(seed, rule->rank ? rule->rank : 1);
  if (rule->n_digits == LLRT_MAX_DIGITS || rule->rank == 0) return;
  bool before = i < rule->n_digits;
  int64_t next = before ? at->bound.stride[i] : 0;
  for (int j = 0; j < i; j++) /* not behind the axis's rest */
    if (rule->digit[j].axis == axis && rule->digit[j].extent == LLRT_EXTENT_REST) return;
  bool pitch = before && rule->digit[i].stride >= 0 &&
               rule->digit[i].stride != LLRT_STRIDE_RUNTIME && draw_one_in(seed, 2);
  llrt_digit digit = {1,
                      pitch                  ? next
                      : draw_one_in(seed, 2) ? LLRT_STRIDE_PACKED
                                             : draw_below(seed, next + 1),
                      axis, 0, false};
  if (pitch) rule->digit[i].stride = LLRT_STRIDE_PACKED;
  insert(rule, i, digit);
}

static void leave_out(uint64_t *seed, words *at) {
  int i = (int)draw_below(seed, digit_count(at->rule));
  if (at->rule->digit[i].extent == 1) drop(at->rule, i);
}

static void split(uint64_t *seed, words *at) {
  llrt_storage *rule = at->rule;
  int i = (int)draw_below(seed, digit_count(rule));
  llrt_digit *digit = &rule->digit[i], upper = *digit;
  int64_t extent = at->bound.extent[i], part = 2 + draw_below(seed, 7);
  if (rule->n_digits == LLRT_MAX_DIGITS || extent % part || digit->stride == LLRT_STRIDE_RUNTIME)
    return;
  if (digit->extent == LLRT_EXTENT_REST && rule->pad != LLRT_PAD_NONE) return;
  if (digit->extent != LLRT_EXTENT_REST) upper.extent = extent / part;
  if (digit->stride != LLRT_STRIDE_PACKED) upper.stride = digit->stride * part;
  digit->extent = part;
  insert(rule, i + 1, upper);
}

static void join(uint64_t *seed, words *at) {
  llrt_storage *rule = at->rule;
  int i = (int)draw_below(seed, digit_count(rule));
  if (i + 1 >= rule->n_digits) return;
  llrt_digit *lower = &rule->digit[i], *upper = lower + 1;
  if (lower->axis != upper->axis || lower->extent == LLRT_EXTENT_REST ||
      lower->reversed != upper->reversed)
    return;
  if (at->bound.stride[i + 1] != at->bound.stride[i] * at->bound.extent[i]) return;
  if (upper->extent != LLRT_EXTENT_REST) lower->extent *= upper->extent;
  else lower->extent = LLRT_EXTENT_REST;
  drop(rule, i + 1);
}

static void say_number(uint64_t *seed, words *at) {
  int i = (int)draw_below(seed, digit_count(at->rule));
  llrt_digit *digit = &at->rule->digit[i];
  if (digit->stride == LLRT_STRIDE_PACKED && (!at->bound.open[i] || draw_one_in(seed, 4)))
    digit->stride = at->bound.stride[i];
  else if (digit->stride != LLRT_STRIDE_RUNTIME) digit->stride = LLRT_STRIDE_PACKED;
}

static void swap(uint64_t *seed, words *at) {
  int i = (int)draw_below(seed, digit_count(at->rule));
  if (i + 1 >= at->rule->n_digits) return;
  llrt_digit *a = &at->rule->digit[i], *b = a + 1, moved = *a;
  if (a->stride == LLRT_STRIDE_PACKED || b->stride == LLRT_STRIDE_PACKED || a->axis == b->axis)
    return;
  *a = *b;
  *b = moved;
}

/* Columns of an axis's own next bits, above those that the tile has. */
static void put_in_tile(uint64_t *seed, words *at) {
  llrt_storage *rule = at->rule;
  llrt_layout *tile = &rule->tile;
  int i = (int)draw_below(seed, digit_count(rule)), axis = rule->digit[i].axis;
  int bits = draw_log2(at->bound.extent[i]), in = tile->n_in ? tile->in[0].bits : 0;
  if (tile->n_in > 1 || bits <= 0 || in + bits > 12 || axis < 0 || rule->digit[i].reversed) return;
  if (rule->digit[i].extent == LLRT_EXTENT_REST || at->bound.stride[i] != 1ll << in) return;
  if (at->bound.below[i] != 1ll << at->bound.tile_bits[axis]) return;
  llrt_layout made = {.n_in = 1, .n_out = (uint8_t)rule->rank};
  int shift[LLRT_MAX_RANK], below = 0;
  strcpy(made.in[0].name, "offset");
  made.in[0].bits = (uint8_t)(in + bits);
  for (int a = 0; a < rule->rank; a++) {
    memcpy(made.out[a].name, (char[]){'d', 'i', 'm', (char)('0' + a)}, 4);
    made.out[a].bits = (uint8_t)(at->bound.tile_bits[a] + (a == axis ? bits : 0));
    shift[a] = below;
    below += made.out[a].bits;
  }
  for (int c = 0; c < in; c++)
    for (int a = 0; a < rule->rank; a++)
      made.column[c] |=
          (tile->column[c] >> at->bound.tile_shift[a] & ((1ull << at->bound.tile_bits[a]) - 1))
          << shift[a];
  for (int b = 0; b < bits; b++)
    made.column[in + b] = 1ull << (shift[axis] + at->bound.tile_bits[axis] + b);
  *tile = made;
  drop(rule, i);
}

/* The highest column of the tile, where it is the highest bit of one axis alone, as a digit. */
static void take_from_tile(words *at) {
  llrt_storage *rule = at->rule;
  llrt_layout *tile = &rule->tile, made;
  int in = tile->n_in == 1 ? tile->in[0].bits : 0, below = 0;
  if (in == 0 || rule->n_digits == LLRT_MAX_DIGITS || tile->n_out != rule->rank) return;
  uint64_t top = tile->column[in - 1];
  for (int a = 0; a < rule->rank; a++) {
    int high = at->bound.tile_shift[a] + at->bound.tile_bits[a] - 1;
    if (at->bound.tile_bits[a] == 0 || top != 1ull << high) continue;
    made = *tile;
    made.in[0].bits = (uint8_t)(in - 1);
    made.column[in - 1] = 0;
    for (int d = 0; d < tile->n_out; d++)
      if (at->bound.tile_shift[a] == below && tile->out[d].bits == at->bound.tile_bits[a]) {
        made.out[d].bits--;
        break;
      } else {
        below += tile->out[d].bits;
      }
    for (int c = 0; c + 1 < in; c++) {
      if (tile->column[c] & top) return;
      made.column[c] = (tile->column[c] & (top - 1)) | (tile->column[c] >> (high + 1) << high);
    }
    *tile = made;
    if (in == 1) *tile = (llrt_layout){.n_in = 0};
    insert(rule, 0, (llrt_digit){2, 1ll << (in - 1), a, 0, false});
    return;
  }
}

static void change(uint64_t *seed, words *at) {
  switch (draw_below(seed, 10)) {
  case 0:
  case 1: set_in(seed, at); return;
  case 2: leave_out(seed, at); return;
  case 3: split(seed, at); return;
  case 4: join(seed, at); return;
  case 5:
  case 6: say_number(seed, at); return;
  case 7: swap(seed, at); return;
  case 8: put_in_tile(seed, at); return;
  default: take_from_tile(at); return;
  }
}

/* ---- the whole ---- */

static bool same_places(const places *a, const places *b) {
  int64_t coords[LLRT_MAX_RANK] = {0};
  if (a->elements == 0 || a->copies != b->copies || a->span != b->span) return false;
  if (memcmp(a->padded, b->padded, sizeof a->padded) != 0) return false;
  do
    for (int c = 0; c < a->copies; c++)
      if (places_at(a, coords, c) != places_at(b, coords, c)) return false;
  while (places_next(a->padded, a->rule.rank, coords));
  return true;
}

static bool bind(const side_wish *wish, const llrt_storage *rule, const int64_t *strides,
                 places *made) {
  const char *why;
  llrt_storage_binding binding;
  if (llrt_storage_bind(rule, wish->rank, wish->shape, strides, &binding) != LLRT_OK) return false;
  if (places_make(rule, wish->shape, strides, made, &why)) return true;
  places_free(made);
  return false;
}

bool draw_other_words(uint64_t *seed, const side_wish *wish, const draw_side *side,
                      draw_side *other) {
  places first;
  int changed = 0;
  *other = *side;
  other->text[0] = 0;
  other->is_meant = false;
  if (!bind(wish, &side->storage, side->strides, &first)) return false;
  for (int turn = 0; turn < 30 && changed < 4; turn++) {
    llrt_storage tried = other->storage;
    words at = {.rule = &tried};
    places second;
    if (tried.n_digits == 0 || !bind(wish, &tried, side->strides, &at.bound)) break;
    change(seed, &at);
    places_free(&at.bound);
    if (memcmp(&tried, &other->storage, sizeof tried) == 0 ||
        !bind(wish, &tried, side->strides, &second))
      continue;
    if (same_places(&first, &second)) {
      other->storage = tried;
      changed++;
    }
    places_free(&second);
  }
  places_free(&first);
  return changed > 0;
}
