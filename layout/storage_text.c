/* Reading storages: names, images of layouts, and the literal that any rule can be written in. */
#include "base/status.h"
#include "layout/check.h"
#include "layout/storage_parser.h"

#include <string.h>

/* strided [ '(' '[' number, … ']' ')' ]: given strides make the rank; without, the tensor's. */
static llrt_status parse_strided(parser *self, llrt_storage *out) {
  parser_next(self);
  if (!parser_accept(self, '(')) return llrt_storage_strided(self->rank, NULL, out);
  size_t column = parser_column(self);
  family_list strides;
  LLRT_TRY(parser_list(self, &strides));
  LLRT_TRY(parser_expect(self, ')'));
  if (self->rank && strides.n != self->rank)
    return parser_fail_at(column, "%d strides for rank %d", strides.n, self->rank);
  return llrt_storage_strided(strides.n, strides.value, out);
}

/* An axis: dim0, dim1, …; or `replica`. */
static llrt_status parse_axis(parser *self, int32_t *axis) {
  size_t column = parser_column(self);
  char name[LLRT_NAME_BYTES], wanted[LLRT_NAME_BYTES];
  LLRT_TRY(parser_name(self, name));
  *axis = LLRT_AXIS_REPLICA;
  if (strcmp(name, "replica") == 0) return LLRT_OK;
  for (*axis = 0; *axis < LLRT_MAX_RANK; (*axis)++) {
    layout_axis_name(*axis, wanted);
    if (strcmp(name, wanted) == 0) return LLRT_OK;
  }
  return parser_fail_at(column, "'%s' is no axis: dim0..dim%d", name, LLRT_MAX_RANK - 1);
}

/* Either of two things: a keyword with a meaning, or a number. */
static llrt_status parse_number_or(parser *self, const char *keyword, int64_t meaning,
                                   int64_t *value) {
  if (!parser_at_name(self, keyword)) return parser_integer(self, value);
  *value = meaning;
  parser_next(self);
  return LLRT_OK;
}

llrt_status parse_target(parser *self, llrt_storage *out, int16_t *target) {
  size_t column = parser_column(self);
  char name[LLRT_NAME_BYTES];
  LLRT_TRY(parser_name(self, name));
  *target = 0;
  if (strcmp(name, STORAGE_MEMORY) == 0) return LLRT_OK;
  for (*target = 1; *target <= out->n_targets; (*target)++)
    if (strcmp(out->target[*target - 1], name) == 0) return LLRT_OK;
  if (out->n_targets == LLRT_MAX_TARGETS)
    return parser_fail_at(column, "more than %d targets", LLRT_MAX_TARGETS);
  memcpy(out->target[out->n_targets++], name, LLRT_NAME_BYTES);
  return LLRT_OK;
}

/* digit := axis ':' ( number | rest ) [ reversed ] [ '@' ( number | packed | runtime ) ] [ 'on'
 * target ] */
static llrt_status parse_digit(parser *self, llrt_storage *out, llrt_digit *digit) {
  LLRT_TRY(parse_axis(self, &digit->axis));
  LLRT_TRY(parser_expect(self, ':'));
  size_t column = parser_column(self);
  bool rest = parser_at_name(self, "rest");
  LLRT_TRY(parse_number_or(self, "rest", LLRT_EXTENT_REST, &digit->extent));
  if (!rest && digit->extent == 0) return parser_fail_at(column, "a digit has 1 position or more");
  digit->reversed = parser_at_name(self, "reversed");
  if (digit->reversed) parser_next(self);
  digit->stride = LLRT_STRIDE_PACKED;
  if (parser_accept(self, '@'))
    LLRT_TRY(parser_at_name(self, "runtime")
                 ? parse_number_or(self, "runtime", LLRT_STRIDE_RUNTIME, &digit->stride)
                 : parse_number_or(self, "packed", LLRT_STRIDE_PACKED, &digit->stride));
  if (!parser_at_name(self, "on")) return LLRT_OK;
  parser_next(self);
  return parse_target(self, out, &digit->target);
}

/* "[" [digit {"," digit}] "]" */
static llrt_status parse_digits(parser *self, llrt_storage *out) {
  LLRT_TRY(parser_expect(self, '['));
  if (parser_accept(self, ']')) return LLRT_OK;
  do {
    if (out->n_digits == LLRT_MAX_DIGITS)
      return parser_fail_at(parser_column(self), "more than %d digits", LLRT_MAX_DIGITS);
    LLRT_TRY(parse_digit(self, out, &out->digit[out->n_digits]));
    out->n_digits++;
  } while (parser_accept(self, ','));
  return parser_expect(self, ']');
}

static llrt_status parse_tile(parser *self, llrt_storage *out) {
  size_t column = parser_column(self);
  llrt_layout tile;
  llrt_storage image;
  LLRT_TRY(parse_layout(self, &tile));
  llrt_status status = llrt_storage_from_layout(&tile, &image);
  if (status) return llrt_error_prefix(status, "column %zu", column);
  out->tile = image.tile;
  return LLRT_OK;
}

static llrt_status parse_rank(parser *self, llrt_storage *out) {
  size_t column = parser_column(self);
  int64_t rank;
  LLRT_TRY(parser_integer(self, &rank));
  if (rank > LLRT_MAX_RANK) return parser_fail_at(column, "the rank is at most %d", LLRT_MAX_RANK);
  out->rank = (int32_t)rank;
  return LLRT_OK;
}

llrt_status parse_swizzle_bits(parser *self, uint8_t *bits) {
  size_t column = parser_column(self);
  int64_t value;
  LLRT_TRY(parser_integer(self, &value));
  if (value > STORAGE_MAX_SPAN_BITS)
    return parser_fail_at(column, "a swizzle has at most %d bits", STORAGE_MAX_SPAN_BITS);
  *bits = (uint8_t)value;
  return LLRT_OK;
}

/* '[' per_element ',' swizzle_len ',' atom_len [ ',' up ] ']' */
static llrt_status parse_swizzle(parser *self, llrt_storage *out) {
  LLRT_TRY(parser_expect(self, '['));
  LLRT_TRY(parse_swizzle_bits(self, &out->swizzle.per_element));
  LLRT_TRY(parser_expect(self, ','));
  LLRT_TRY(parse_swizzle_bits(self, &out->swizzle.swizzle_len));
  LLRT_TRY(parser_expect(self, ','));
  LLRT_TRY(parse_swizzle_bits(self, &out->swizzle.atom_len));
  if (parser_accept(self, ',')) {
    if (!parser_at_name(self, "up")) return parser_fail(self, "expected up");
    parser_next(self);
    out->swizzle.upward = 1;
  }
  return parser_expect(self, ']');
}

/* '[' number [ 'on' target ] { ',' … } ']' */
static llrt_status parse_offsets(parser *self, llrt_storage *out) {
  LLRT_TRY(parser_expect(self, '['));
  do {
    int64_t value;
    int16_t target = 0;
    LLRT_TRY(parser_integer(self, &value));
    if (parser_at_name(self, "on")) {
      parser_next(self);
      LLRT_TRY(parse_target(self, out, &target));
    }
    out->offset[target] = value;
  } while (parser_accept(self, ','));
  return parser_expect(self, ']');
}

llrt_status parse_pad(parser *self, llrt_storage *out) {
  out->pad = LLRT_PAD_KEEP;
  out->pad_value = 0;
  if (parser_at_name(self, "keep")) {
    parser_next(self);
    return LLRT_OK;
  }
  out->pad = LLRT_PAD_VALUE;
  return parser_unsigned(self, &out->pad_value);
}

/* The parts of a rule written out: each at most once, in any order. */
static const char *const parts[] = {"rank", "digits", "tile", "swizzle", "offset", "pad"};
enum { N_PARTS = sizeof parts / sizeof parts[0] };

static llrt_status parse_part(parser *self, llrt_storage *out, uint32_t *given) {
  static llrt_status (*const parse[N_PARTS])(parser *self, llrt_storage *out) = {
      parse_rank, parse_digits, parse_tile, parse_swizzle, parse_offsets, parse_pad};
  int part;
  LLRT_TRY(parser_key(self, parts, N_PARTS, "expected rank, digits, tile, swizzle, offset or pad",
                      given, &part));
  return parse[part](self, out);
}

/* storage '(' part { ',' part } ')' */
static llrt_status parse_rule(parser *self, llrt_storage *out) {
  size_t column = parser_column(self);
  uint32_t given = 0;
  *out = (llrt_storage){.rank = self->rank};
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  do {
    LLRT_TRY(parse_part(self, out, &given));
  } while (parser_accept(self, ','));
  LLRT_TRY(parser_expect(self, ')'));
  llrt_status status = llrt_storage_validate(out);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}

/* tiled '(' list ',' layout ',' order '=' list ')': the layout is applied to the shape of a tile.
 */
static llrt_status parse_tiled(parser *self, llrt_storage *out) {
  size_t column = parser_column(self);
  family_list shape, axes;
  llrt_layout layout;
  int order[LLRT_MAX_RANK] = {0};
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  LLRT_TRY(parser_list(self, &shape));
  LLRT_TRY(parser_expect(self, ','));
  parser inside = *self;
  inside.rank = shape.n;
  inside.shape = shape.value;
  LLRT_TRY(parse_layout(&inside, &layout));
  inside.rank = self->rank;
  inside.shape = self->shape;
  *self = inside;
  LLRT_TRY(parser_expect(self, ','));
  if (!parser_at_name(self, "order")) return parser_fail(self, "expected order");
  parser_next(self);
  LLRT_TRY(parser_expect(self, '='));
  LLRT_TRY(parser_list(self, &axes));
  LLRT_TRY(parser_expect(self, ')'));
  if (axes.n != layout.n_out || shape.n != layout.n_out)
    return parser_fail_at(column, "the tile has %d axes, its layout %d, order %d", shape.n,
                          layout.n_out, axes.n);
  for (int i = 0; i < axes.n; i++)
    order[i] = (int)(axes.value[i] < LLRT_MAX_RANK ? axes.value[i] : -1);
  llrt_status status = llrt_storage_tiled(&layout, order, out);
  if (status) return llrt_error_prefix(status, "column %zu", column);
  for (int axis = 0; axis < out->rank; axis++)
    if (shape.value[axis] != 1ll << out->tile.out[axis].bits)
      return parser_fail_at(column, "axis %d of the tile is %lld, of its layout %lld", axis,
                            (long long)shape.value[axis], 1ll << out->tile.out[axis].bits);
  return LLRT_OK;
}

static llrt_status parse_image(parser *self, llrt_storage *out) {
  size_t column = parser_column(self);
  if (self->token == TOKEN_NAME && !parse_is_family(self) && !parse_is_operation(self))
    return parser_fail_at(column, "unknown storage or layout '%.*s'", (int)self->length,
                          self->text + self->start);
  llrt_layout layout;
  LLRT_TRY(parse_layout(self, &layout));
  llrt_status status = llrt_storage_from_layout(&layout, out);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}

/* transposed '(' storage ')': of a tensor whose last two axes have changed places. */
static llrt_status parse_transposed(parser *self, llrt_storage *out) {
  size_t column = parser_column(self);
  int64_t shape[LLRT_MAX_RANK];
  int8_t to[LLRT_MAX_RANK];
  llrt_storage storage;
  if (self->depth == PARSER_MAX_DEPTH)
    return parser_fail_at(column, "storages are nested deeper than %d", PARSER_MAX_DEPTH);
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  parser inside = *self;
  inside.depth++;
  if (self->shape && self->rank >= 2) {
    memcpy(shape, self->shape, (size_t)self->rank * sizeof *shape);
    shape[self->rank - 2] = self->shape[self->rank - 1];
    shape[self->rank - 1] = self->shape[self->rank - 2];
    inside.shape = shape;
  }
  LLRT_TRY(parse_storage(&inside, &storage));
  inside.depth--;
  inside.shape = self->shape;
  *self = inside;
  if (storage.rank < 2)
    return parser_fail_at(column, "a storage of rank %d has no two axes", storage.rank);
  for (int a = 0; a < LLRT_MAX_RANK; a++) to[a] = (int8_t)a;
  to[storage.rank - 1] = (int8_t)(storage.rank - 2);
  to[storage.rank - 2] = (int8_t)(storage.rank - 1);
  LLRT_TRY(storage_renumber(&storage, to, storage.rank, out));
  return parser_expect(self, ')');
}

llrt_status parse_storage(parser *self, llrt_storage *out) {
  if (parser_at_name(self, "storage")) return parse_rule(self, out);
  if (parser_at_name(self, "transposed")) return parse_transposed(self, out);
  if (parser_at_name(self, "strided")) return parse_strided(self, out);
  if (parser_at_name(self, "tiled")) return parse_tiled(self, out);
  if (parse_is_tirx(self)) return parse_tirx(self, out);
  if (parse_is_cute(self)) return parse_cute(self, out);
  if (parse_is_padded(self)) return parse_padded(self, out);
  if (parse_is_matrix(self)) return parse_matrix(self, out);
  if (parse_is_named(self)) return parse_named(self, out);
  return parse_image(self, out);
}

static llrt_status parse(const char *text, int rank, const int64_t *shape, llrt_storage *out) {
  LLRT_REQUIRE(text, "text: NULL");
  LLRT_REQUIRE(rank >= 0 && rank <= LLRT_MAX_RANK, "rank %d is not in 0..%d", rank, LLRT_MAX_RANK);
  parser self;
  parser_init(&self, text, rank, shape);
  LLRT_TRY(parse_storage(&self, out));
  return parser_expect(&self, TOKEN_END);
}

llrt_status llrt_storage_parse(const char *text, int rank, const int64_t *shape,
                               llrt_storage *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  llrt_storage result;
  llrt_status status = parse(text, rank, shape, &result);
  *out = status ? (llrt_storage){0} : result;
  return status;
}
