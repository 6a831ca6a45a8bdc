/* Canonical layouts of wgmma as text: wgmma_shared(major=k, swizzle_bytes=128, element_bits=16). */
#include "base/status.h"
#include "layout/storage_parser.h"

#include <llrt/matrix.h>

bool parse_is_matrix(const parser *self) { return parser_at_name(self, "wgmma_shared"); }

/* What has been read. */
typedef struct matrix_text {
  llrt_matrix matrix;
  family_list extents; /* mn, k; none: those of the parser's shape */
} matrix_text;

enum { MAJOR, SWIZZLE_BYTES, ELEMENT_BITS, LEADING_BYTES, STRIDE_BYTES, EXTENTS, N_KEYS };
static const char *const keys[N_KEYS] = {"major",         "swizzle_bytes", "element_bits",
                                         "leading_bytes", "stride_bytes",  "extents"};

static llrt_status parse_major(parser *self, llrt_matrix *out) {
  out->mn_major = parser_at_name(self, "mn");
  if (!out->mn_major && !parser_at_name(self, "k")) return parser_fail(self, "expected k or mn");
  parser_next(self);
  return LLRT_OK;
}

static llrt_status parse_small(parser *self, int32_t *out) {
  size_t column = parser_column(self);
  int64_t value;
  LLRT_TRY(parser_integer(self, &value));
  if (value > INT32_MAX) return parser_fail_at(column, "the number is too large");
  *out = (int32_t)value;
  return LLRT_OK;
}

static llrt_status parse_value(parser *self, int key, matrix_text *out) {
  switch (key) {
  case MAJOR: return parse_major(self, &out->matrix);
  case SWIZZLE_BYTES: return parse_small(self, &out->matrix.swizzle_bytes);
  case ELEMENT_BITS: return parse_small(self, &out->matrix.element_bits);
  case LEADING_BYTES: return parser_integer(self, &out->matrix.leading_bytes);
  case STRIDE_BYTES: return parser_integer(self, &out->matrix.stride_bytes);
  default: return parser_list(self, &out->extents);
  }
}

static llrt_status parse_parameters(parser *self, matrix_text *out) {
  size_t column = parser_column(self);
  uint32_t given = 0;
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  do {
    int key;
    LLRT_TRY(
        parser_key(self, keys, N_KEYS,
                   "expected major, swizzle_bytes, element_bits, leading_bytes, stride_bytes or "
                   "extents",
                   &given, &key));
    LLRT_TRY(parse_value(self, key, out));
  } while (parser_accept(self, ','));
  LLRT_TRY(parser_expect(self, ')'));
  for (int key = MAJOR; key <= ELEMENT_BITS; key++)
    if (!(given >> key & 1)) return parser_fail_at(column, "wgmma_shared needs %s", keys[key]);
  return LLRT_OK;
}

/* wgmma_shared '(' key '=' value { ',' key '=' value } ')' */
llrt_status parse_matrix(parser *self, llrt_storage *out) {
  size_t column = parser_column(self);
  matrix_text text = {.extents = {.n = 0}};
  LLRT_TRY(parse_parameters(self, &text));
  const int64_t *extent = text.extents.n ? text.extents.value : self->shape;
  int rank = text.extents.n ? text.extents.n : self->shape ? self->rank : 0;
  if (rank != 2)
    return parser_fail_at(column, "wgmma_shared needs a shape or extents of 2 axes, mn and k");
  for (int axis = 0; self->shape && axis < 2; axis++)
    if (self->rank != 2 || self->shape[axis] != extent[axis])
      return parser_fail_at(column, "the extents are not the shape's");
  llrt_status status = llrt_matrix_storage(&text.matrix, extent[0], extent[1], out);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}
