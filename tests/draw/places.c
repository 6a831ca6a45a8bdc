#include "places.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TILE_BITS 22
#define MOST_PLACES (1ll << 31)

/* ---- the tile ---- */

static int in_bits_of(const llrt_layout *tile) {
  int bits = 0;
  for (int i = 0; i < tile->n_in; i++) bits += tile->in[i].bits;
  return bits;
}

static int out_bits_of(const llrt_layout *tile) {
  int bits = 0;
  for (int i = 0; i < tile->n_out; i++) bits += tile->out[i].bits;
  return bits;
}

/* Bits of the tile along an axis; 0 where the tile does not name it. */
static int axis_bits(const llrt_layout *tile, int axis, int *shift) {
  char name[8] = {'d', 'i', 'm', (char)('0' + axis)};
  *shift = 0;
  for (int i = 0; i < tile->n_out; i++) {
    if (strcmp(tile->out[i].name, name) == 0) return tile->out[i].bits;
    *shift += tile->out[i].bits;
  }
  return 0;
}

/* Offset bits whose column is a sum of those of lower bits. */
static uint64_t find_free_bits(const llrt_layout *tile, int bits) {
  uint64_t reduced[LLRT_MAX_BITS], free_bits = 0;
  int n = 0;
  for (int i = 0; i < bits; i++) {
    uint64_t x = tile->column[i];
    for (int j = 0; j < n; j++)
      if ((x ^ reduced[j]) < x) x ^= reduced[j];
    if (x) reduced[n++] = x;
    else free_bits |= 1ull << i;
  }
  return free_bits;
}

static uint64_t tile_image(const llrt_layout *tile, int bits, uint64_t offset) {
  uint64_t at = 0;
  for (int i = 0; i < bits; i++)
    if (offset >> i & 1) at ^= tile->column[i];
  return at;
}

/* Lists the offsets of every coordinate: the one without free bits first. */
static bool list_tile(places *made, const char **why) {
  const llrt_layout *tile = &made->rule.tile;
  int in = in_bits_of(tile), out = out_bits_of(tile);
  *why = "a tile too large to list";
  if (in > MOST_TILE_BITS) return false;
  uint64_t free_bits = find_free_bits(tile, in);
  *why = "a tile that is not surjective";
  if (in - __builtin_popcountll(free_bits) != out) return false;
  made->tile_copies = 1 << (in - out);
  made->tile = malloc(sizeof *made->tile << in);
  uint32_t *used = calloc((size_t)1 << out, sizeof *used);
  if (!made->tile || !used) {
    free(used);
    return false;
  }
  for (uint32_t offset = 0; offset < 1u << in; offset++)
    if (!(offset & free_bits))
      made->tile[tile_image(tile, in, offset) * (uint64_t)made->tile_copies] = offset;
  for (uint32_t offset = 0; offset < 1u << in; offset++) {
    uint64_t at = tile_image(tile, in, offset);
    if (offset & free_bits) made->tile[at * (uint64_t)made->tile_copies + ++used[at]] = offset;
  }
  free(used);
  return true;
}

/* ---- digits ---- */

typedef struct binder {
  int64_t below[LLRT_MAX_RANK], last, outside;
  bool open; /* `outside` follows the tensor's shape or strides */
} binder;

static bool bind_digit(places *made, int i, const int64_t *strides, binder *at, const char **why) {
  const llrt_digit *digit = &made->rule.digit[i];
  bool rest = digit->extent == LLRT_EXTENT_REST, runtime = digit->stride == LLRT_STRIDE_RUNTIME;
  int64_t extent = digit->extent, stride = digit->stride;
  *why = "a digit on another target";
  if (digit->target != 0) return false;
  *why = "an extent that does not divide";
  if (rest) {
    int64_t below = at->below[digit->axis], positions = made->shape[digit->axis];
    if (made->rule.pad == LLRT_PAD_NONE && positions % below != 0) return false;
    extent = (positions + below - 1) / below;
  }
  if (digit->stride == LLRT_STRIDE_PACKED) stride = at->outside;
  if (runtime) stride = strides[digit->axis] * at->below[digit->axis];
  made->extent[i] = extent;
  made->stride[i] = stride;
  made->open[i] = runtime || (digit->stride == LLRT_STRIDE_PACKED && at->open);
  if (digit->axis >= 0) {
    made->below[i] = at->below[digit->axis];
    at->below[digit->axis] *= extent;
    if (!rest) made->unit[digit->axis] *= extent;
  }
  int64_t positions = extent > 0 ? extent : 1;
  *why = "a span past 2^31";
  if (positions > MOST_PLACES || stride > MOST_PLACES || (positions - 1) * stride > MOST_PLACES)
    return false;
  at->last += (positions - 1) * stride;
  if (at->outside < positions * stride) at->outside = positions * stride;
  if (at->outside <= at->last) at->outside = at->last + 1;
  at->open |= rest || made->open[i];
  return at->last < MOST_PLACES && at->outside < MOST_PLACES;
}

static int64_t count_below(const int64_t *ends, int rank) {
  int64_t n = 1;
  for (int a = 0; a < rank; a++) n *= ends[a];
  return n;
}

/* One past the last place; with a swizzle to the end of what it mixes. */
static int64_t find_span(const places *of, int64_t last) {
  const llrt_swizzle *z = &of->rule.swizzle;
  last += of->rule.offset[0];
  if (z->swizzle_len > 0)
    last |= (1ll << (z->per_element + z->swizzle_len + (z->upward ? z->atom_len : 0))) - 1;
  return of->elements > 0 ? last + 1 : 0;
}

static bool check_axes(places *made, const binder *at, const char **why) {
  *why = "an extent that the rule does not have";
  for (int a = 0; a < made->rule.rank; a++) {
    bool padded = made->rule.pad != LLRT_PAD_NONE;
    if (padded ? at->below[a] < made->shape[a] : at->below[a] != made->shape[a]) return false;
    made->padded[a] = at->below[a];
  }
  return true;
}

bool places_make(const llrt_storage *rule, const int64_t *shape, const int64_t *strides,
                 places *made, const char **why) {
  binder at = {.last = 0};
  *made = (places){.rule = *rule, .copies = 1};
  for (int a = 0; a < rule->rank; a++) {
    made->tile_bits[a] = axis_bits(&rule->tile, a, &made->tile_shift[a]);
    made->shape[a] = shape[a];
    made->unit[a] = at.below[a] = 1ll << made->tile_bits[a];
  }
  if (!list_tile(made, why)) return false;
  at.last = (1ll << in_bits_of(&rule->tile)) - 1;
  at.outside = at.last + 1;
  for (int i = 0; i < rule->n_digits; i++)
    if (!bind_digit(made, i, strides, &at, why)) return false;
  if (!check_axes(made, &at, why)) return false;
  made->elements = count_below(shape, rule->rank);
  made->positions = made->elements ? count_below(made->padded, rule->rank) : 0;
  made->span = find_span(made, at.last);
  made->copies = made->tile_copies;
  for (int i = 0; i < rule->n_digits; i++)
    if (rule->digit[i].axis < 0) made->copies *= (int)made->extent[i];
  return true;
}

void places_free(places *of) {
  free(of->tile);
  of->tile = NULL;
}

/* ---- elements ---- */

static int64_t swizzled(const llrt_swizzle *z, int64_t place) {
  uint64_t mask = ((1ull << z->swizzle_len) - 1) << z->per_element, p = (uint64_t)place;
  return (int64_t)(p ^ (z->upward ? (p & mask) << z->atom_len : p >> z->atom_len & mask));
}

/* x / below % extent; most numbers fit 32 bits, whose division takes a quarter of the time. */
static int64_t position_of(int64_t x, int64_t below, int64_t extent) {
  if (extent <= 1) return 0;
  if ((uint64_t)(x | below | extent) >> 32) return x / below % extent;
  return (uint32_t)x / (uint32_t)below % (uint32_t)extent;
}

int64_t places_at(const places *of, const int64_t *coords, int copy) {
  const llrt_storage *rule = &of->rule;
  uint64_t inside = 0;
  for (int a = 0; a < rule->rank; a++)
    inside |= ((uint64_t)coords[a] & ((1ull << of->tile_bits[a]) - 1)) << of->tile_shift[a];
  int64_t place = rule->offset[0] +
                  of->tile[inside * (uint64_t)of->tile_copies + (uint64_t)(copy % of->tile_copies)];
  copy /= of->tile_copies;
  for (int i = 0; i < rule->n_digits; i++) {
    const llrt_digit *digit = &rule->digit[i];
    int64_t position;
    if (digit->axis < 0) {
      position = copy % of->extent[i];
      copy /= (int)of->extent[i];
    } else {
      position = position_of(coords[digit->axis], of->below[i], of->extent[i]);
    }
    if (digit->reversed) position = of->extent[i] - 1 - position;
    place += position * of->stride[i];
  }
  return swizzled(&rule->swizzle, place);
}

bool places_next(const int64_t *ends, int rank, int64_t *coords) {
  for (int a = rank - 1; a >= 0; a--) {
    if (++coords[a] < ends[a]) return true;
    coords[a] = 0;
  }
  return false;
}
