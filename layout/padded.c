/* Padded shared memory: its rule and its text. */
#include <llrt/storage_padded.h>

#include "base/bits.h"
#include "base/status.h"
#include "layout/storage_parser.h"

/* ---- the rule ---- */

static llrt_status check(const llrt_padded_params *params, const int64_t *shape) {
  LLRT_REQUIRE(params, "params: NULL");
  LLRT_REQUIRE(params->rank >= 1 && params->rank <= LLRT_MAX_RANK && shape,
               "padded_shared needs a shape");
  LLRT_REQUIRE(params->n_intervals >= 0 && params->n_intervals <= LLRT_MAX_INTERVALS,
               "padded_shared: %d intervals, not 0..%d", params->n_intervals, LLRT_MAX_INTERVALS);
  int bits = 0;
  uint32_t seen = 0;
  for (int i = 0; i < params->rank; i++) {
    LLRT_REQUIRE(bits_is_power_of_two(shape[i]), "axis %d has %lld positions, no power of two", i,
                 (long long)shape[i]);
    int axis = params->order[i];
    LLRT_REQUIRE(axis >= 0 && axis < params->rank && !(seen >> axis & 1),
                 "order does not list every axis once");
    seen |= 1u << axis;
    bits += bits_log2(shape[i]);
  }
  LLRT_REQUIRE(bits <= 40, "padded_shared: the shape has 2^%d elements, more than 2^40", bits);
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

/* Where position 2^bit lies; floor(p / interval) is the sum of those of p's bits, so this says
 * all. */
static int64_t place_of(const llrt_padded_params *params, int bit) {
  int64_t position = 1ll << bit, place = position;
  for (int i = 0; i < params->n_intervals; i++)
    place += position / params->interval[i] * params->padding[i];
  return place;
}

static bool is_boundary(const llrt_padded_params *params, int bit) {
  for (int i = 0; i < params->n_intervals; i++)
    if (params->interval[i] == 1ll << bit) return true;
  return false;
}

/* One digit for each run of an axis's bits that no interval cuts: between cuts, places double. */
static llrt_status padded_shared(const llrt_padded_params *params, const int64_t *shape,
                                 llrt_storage *out) {
  LLRT_TRY(check(params, shape));
  *out = (llrt_storage){.rank = params->rank};
  for (int i = 0, bit = 0; i < params->rank; i++) {
    int axis = params->order[i], end = bit + bits_log2(shape[axis]);
    do { /* an axis of one position has a digit too: it fixes the extent */
      if (out->n_digits == LLRT_MAX_DIGITS)
        return llrt_error(LLRT_UNSUPPORTED, "padded_shared: more than %d digits", LLRT_MAX_DIGITS);
      int first = bit;
      while (bit < end && (bit == first || !is_boundary(params, bit))) bit++;
      out->digit[out->n_digits++] = (llrt_digit){
          .extent = 1ll << (bit - first), .stride = place_of(params, first), .axis = axis};
    } while (bit < end);
  }
  return llrt_storage_validate(out);
}

llrt_status llrt_storage_padded_shared(const llrt_padded_params *params, const int64_t *shape,
                                       llrt_storage *out) {
  LLRT_REQUIRE(out, "out: NULL");
  llrt_storage result;
  llrt_status status = padded_shared(params, shape, &result);
  *out = status ? (llrt_storage){0} : result;
  return status;
}

/* ---- the text: padded_shared(interval_padding=[[64,8],…], order=[1,0]) ---- */

bool parse_is_padded(const parser *self) { return parser_at_name(self, "padded_shared"); }

/* pair := '[' interval ',' padding ']' */
static llrt_status parse_intervals(parser *self, llrt_padded_params *params) {
  LLRT_TRY(parser_expect(self, '['));
  if (parser_accept(self, ']')) return LLRT_OK;
  do {
    family_list pair;
    size_t column = parser_column(self);
    LLRT_TRY(parser_list(self, &pair));
    if (pair.n != 2) return parser_fail_at(column, "expected [interval, padding]");
    if (params->n_intervals == LLRT_MAX_INTERVALS)
      return parser_fail_at(column, "more than %d intervals", LLRT_MAX_INTERVALS);
    params->interval[params->n_intervals] = pair.value[0];
    params->padding[params->n_intervals++] = pair.value[1];
  } while (parser_accept(self, ','));
  return parser_expect(self, ']');
}

static llrt_status parse_order(parser *self, llrt_padded_params *params) {
  family_list order;
  size_t column = parser_column(self);
  LLRT_TRY(parser_list(self, &order));
  if (order.n != params->rank)
    return parser_fail_at(column, "order has %d entries, not %d", order.n, params->rank);
  for (int i = 0; i < order.n; i++)
    params->order[i] = order.value[i] < LLRT_MAX_RANK ? (int)order.value[i] : LLRT_MAX_RANK;
  return LLRT_OK;
}

llrt_status parse_padded(parser *self, llrt_storage *out) {
  llrt_padded_params params = {.rank = self->rank};
  for (int i = 0; i < params.rank; i++) params.order[i] = params.rank - 1 - i;
  size_t column = parser_column(self);
  bool given[2] = {false, false};
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  do {
    int key = parser_at_name(self, "interval_padding") ? 0 : 1;
    if (key == 1 && !parser_at_name(self, "order"))
      return parser_fail(self, "expected interval_padding or order");
    if (given[key]) return parser_fail(self, "this is given twice");
    given[key] = true;
    parser_next(self);
    LLRT_TRY(parser_expect(self, '='));
    LLRT_TRY(key == 0 ? parse_intervals(self, &params) : parse_order(self, &params));
  } while (parser_accept(self, ','));
  LLRT_TRY(parser_expect(self, ')'));
  if (!given[0]) return parser_fail_at(column, "padded_shared needs interval_padding");
  llrt_status status = llrt_storage_padded_shared(&params, self->shape, out);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}
