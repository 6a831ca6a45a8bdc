/* Padded shared memory: its rule. */
#include <llrt/storage_padded.h>

#include "base/bits.h"
#include "base/params.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/storage_rule.h"

#include <string.h>

#define MAX_BITS 40 /* of the elements of a block */

static llrt_status check_intervals(const llrt_padded_params *params) {
  LLRT_REQUIRE(params->n_intervals >= 0 && params->n_intervals <= LLRT_MAX_INTERVALS,
               "padded_shared: %d intervals, not 0..%d", params->n_intervals, LLRT_MAX_INTERVALS);
  for (int i = 0; i < params->n_intervals; i++) {
    int64_t interval = params->interval[i], padding = params->padding[i];
    LLRT_REQUIRE(bits_is_power_of_two(interval) && bits_is_power_of_two(padding) &&
                     interval <= 1ll << 40 && padding <= 1ll << 16,
                 "interval %lld, padding %lld: powers of two up to 2^40 and 2^16",
                 (long long)interval, (long long)padding);
    LLRT_REQUIRE(i == 0 || params->interval[i - 1] < interval, "intervals do not ascend");
  }
  return LLRT_OK;
}

static llrt_status check_shape(int rank, const int64_t *shape) {
  int bits = 0;
  LLRT_REQUIRE(rank >= 1 && rank <= LLRT_MAX_RANK && shape, "padded_shared needs a shape");
  for (int i = 0; i < rank; i++) {
    LLRT_REQUIRE(bits_is_power_of_two(shape[i]), "axis %d has %lld positions, no power of two", i,
                 (long long)shape[i]);
    bits += bits_log2(shape[i]);
  }
  LLRT_REQUIRE(bits <= MAX_BITS, "padded_shared: the shape has 2^%d elements, more than 2^%d", bits,
               MAX_BITS);
  return LLRT_OK;
}

/* ---- positions: offset (and block) -> dims ---- */

/* A swizzle of one phase is none. */
static llrt_status plain_map(const llrt_padded_params *params, const int64_t *shape,
                             llrt_layout *out) {
  llrt_swizzle_params plain = {
      .rank = params->rank, .vec = 1, .per_phase = 1, .max_phase = 1, .cluster = params->cluster};
  memcpy(plain.order, params->order, sizeof plain.order);
  LLRT_TRY(check_shape(params->rank, shape));
  return llrt_layout_swizzled_shared(&plain, shape, out);
}

/* The caller's map with axes in order, which it must reach all of. */
static llrt_status given_map(const llrt_padded_params *params, const int64_t *shape,
                             llrt_layout *out) {
  llrt_storage image;
  LLRT_TRY(llrt_storage_from_layout(params->linear, &image));
  *out = *params->linear;
  LLRT_REQUIRE(params->rank == out->n_out, "the map has %d out-dims, the shape rank %d", out->n_out,
               params->rank);
  for (int i = 0; i < out->n_in; i++)
    LLRT_REQUIRE(strcmp(out->in[i].name, "offset") == 0 || strcmp(out->in[i].name, "block") == 0,
                 "in-dim %s of the map is neither offset nor block", out->in[i].name);
  LLRT_REQUIRE(llrt_layout_in_bits(out) <= MAX_BITS,
               "padded_shared: the map has 2^%d places, more than 2^%d", llrt_layout_in_bits(out),
               MAX_BITS);
  for (int axis = 0; axis < out->n_out; axis++) {
    int64_t extent = 1ll << storage_tile_bits(&image, axis);
    LLRT_REQUIRE(!shape || shape[axis] == extent, "axis %d has %lld positions, its storage %lld",
                 axis, (long long)shape[axis], (long long)extent);
  }
  return LLRT_OK;
}

/* ---- digits ---- */

/* Where position 2^bit lies; floor(p / interval) is the sum of those of p's bits, so this says
 * all. */
static int64_t place_of(const llrt_padded_params *params, int bit) {
  int64_t position = 1ll << bit, place = position;
  for (int i = 0; i < params->n_intervals; i++)
    place += position / params->interval[i] * params->padding[i];
  return place;
}

static llrt_status add_digit(llrt_storage *out, const llrt_digit *digit) {
  if (out->n_digits == LLRT_MAX_DIGITS)
    return llrt_error(LLRT_UNSUPPORTED, "padded_shared: more than %d digits", LLRT_MAX_DIGITS);
  out->digit[out->n_digits++] = *digit;
  return LLRT_OK;
}

/* Each out bit's digit of two positions: bit[out bit] = {stride, target}. Zero columns are copies.
 */
static llrt_status list_bits(const llrt_padded_params *params, const llrt_layout *map,
                             llrt_digit *bit, llrt_storage *out) {
  uint64_t seen = 0;
  for (int i = 0, column = 0; i < map->n_in; i++) {
    bool block = strcmp(map->in[i].name, "block") == 0;
    for (int b = 0; b < map->in[i].bits; b++, column++) {
      uint64_t image = map->column[column];
      llrt_digit digit = {.extent = 2,
                          .stride = block ? 1ll << b : place_of(params, b),
                          .axis = LLRT_AXIS_REPLICA,
                          .target = block};
      if (image == 0) LLRT_TRY(add_digit(out, &digit));
      if (image == 0) continue;
      if (bits_count(image) != 1 || (image & seen))
        return llrt_error(LLRT_UNSUPPORTED, "padded_shared: basis %d of %s is no bit of its own", b,
                          map->in[i].name);
      seen |= image;
      bit[bits_lowest(image)] = digit;
    }
  }
  return LLRT_OK;
}

/* One digit for each run of an axis's bits whose strides double. An axis of one position has a
 * digit too: it fixes the extent. */
static llrt_status add_axis(const llrt_digit *bit, int bits, int axis, llrt_storage *out) {
  int at = 0;
  do {
    llrt_digit digit = bits ? bit[at] : (llrt_digit){.stride = 1};
    digit.axis = axis;
    digit.extent = bits ? 2 : 1;
    for (at++; at < bits && bit[at].target == digit.target &&
               bit[at].stride == digit.stride * digit.extent;
         at++)
      digit.extent *= 2;
    LLRT_TRY(add_digit(out, &digit));
  } while (at < bits);
  return LLRT_OK;
}

static llrt_status padded_shared(const llrt_padded_params *given, const int64_t *shape,
                                 llrt_storage *out) {
  llrt_padded_params own;
  const llrt_padded_params *params = &own;
  llrt_layout map;
  llrt_digit bit[LLRT_MAX_BITS] = {{0}};
  *out = (llrt_storage){0};
  LLRT_REQUIRE(given, "params: NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_padded_params, given, &own));
  LLRT_TRY(check_intervals(params));
  LLRT_TRY(params->linear ? given_map(params, shape, &map) : plain_map(params, shape, &map));
  out->rank = params->rank;
  int block = llrt_layout_in_index(&map, "block");
  if (block >= 0 && map.in[block].bits) {
    out->n_targets = 1;
    strcpy(out->target[0], "block");
  }
  LLRT_TRY(list_bits(params, &map, bit, out));
  for (int axis = 0; axis < out->rank; axis++) {
    char name[LLRT_NAME_BYTES];
    layout_axis_name(axis, name);
    int index = llrt_layout_out_index(&map, name);
    LLRT_TRY(add_axis(bit + llrt_layout_out_shift(&map, index), map.out[index].bits, axis, out));
  }
  return llrt_storage_validate(out);
}

llrt_status llrt_storage_padded_shared(const llrt_padded_params *params, const int64_t *shape,
                                       llrt_storage *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  llrt_storage result;
  llrt_status status = padded_shared(params, shape, &result);
  *out = status ? (llrt_storage){0} : result;
  return status;
}
