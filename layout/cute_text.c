/* CuTe notation: `((8,2),(4,4)):((8,64),(1,4))`, and `Swizzle<1,4,3> o …`. Each member of the
 * outermost tuple is an axis; its numbers, from left to right, are digits from the fastest on. The
 * swizzle and an offset count in the units of the strides. */
#include "layout/storage_parser.h"

#include "base/status.h"

#include <string.h>

#define MAX_SHAPE_TOKENS 64 /* parentheses and numbers of one tuple */

/* A nested tuple: its numbers, and the parentheses as they stood. */
typedef struct tuple {
  int n_numbers, n_tokens;
  int64_t number[LLRT_MAX_DIGITS];
  int member[LLRT_MAX_DIGITS]; /* of the outermost tuple */
  char token[MAX_SHAPE_TOKENS];
} tuple;

bool parse_is_cute(const parser *self) {
  return self->token == '(' || self->token == TOKEN_NUMBER || parser_at_name(self, "Swizzle");
}

static llrt_status note_token(const parser *self, char token, tuple *out) {
  if (out->n_tokens == MAX_SHAPE_TOKENS) return parser_fail(self, "the tuple is too long");
  out->token[out->n_tokens++] = token;
  return LLRT_OK;
}

static llrt_status add_number(parser *self, int member, tuple *out) {
  if (out->n_numbers == LLRT_MAX_DIGITS)
    return parser_fail_at(parser_column(self), "more than %d numbers", LLRT_MAX_DIGITS);
  LLRT_TRY(note_token(self, '#', out));
  out->member[out->n_numbers] = member;
  return parser_integer(self, &out->number[out->n_numbers++]);
}

/* number | '(' tuple { ',' tuple } ')', without recursion: depth counts the parentheses. */
static llrt_status parse_tuple(parser *self, tuple *out) {
  int depth = 0, member = 0;
  *out = (tuple){.n_numbers = 0};
  for (;;) {
    while (self->token == '(') {
      LLRT_TRY(note_token(self, '(', out));
      parser_next(self);
      depth++;
    }
    LLRT_TRY(add_number(self, member, out));
    while (depth > 0 && self->token == ')') {
      LLRT_TRY(note_token(self, ')', out));
      parser_next(self);
      depth--;
    }
    if (depth == 0) return LLRT_OK;
    if (self->token != ',') return parser_expect(self, ')');
    parser_next(self);
    if (depth == 1) member++;
  }
}

/* 'Swizzle' '<' B ',' M ',' S '>' 'o': B bits from bit M on, XORed with those S higher. */
static llrt_status parse_swizzle_prefix(parser *self, llrt_swizzle *out) {
  parser_next(self);
  LLRT_TRY(parser_expect(self, '<'));
  LLRT_TRY(parse_swizzle_bits(self, &out->swizzle_len));
  LLRT_TRY(parser_expect(self, ','));
  LLRT_TRY(parse_swizzle_bits(self, &out->per_element));
  LLRT_TRY(parser_expect(self, ','));
  LLRT_TRY(parse_swizzle_bits(self, &out->atom_len));
  LLRT_TRY(parser_expect(self, '>'));
  if (!parser_at_name(self, "o")) return parser_fail(self, "expected 'o'");
  parser_next(self);
  return LLRT_OK;
}

/* number 'o': an offset between swizzle and layout. Leaves the parser where it was when there is
 * none. */
static llrt_status parse_offset(parser *self, int64_t *offset) {
  parser ahead = *self;
  if (self->token != TOKEN_NUMBER) return LLRT_OK;
  parser_next(&ahead);
  if (!parser_at_name(&ahead, "o")) return LLRT_OK;
  LLRT_TRY(parser_integer(self, offset));
  parser_next(self);
  return LLRT_OK;
}

static llrt_status make_digits(size_t column, const tuple *shape, const tuple *strides,
                               llrt_storage *out) {
  int rank = shape->member[shape->n_numbers - 1] + 1;
  if (rank > LLRT_MAX_RANK)
    return parser_fail_at(column, "%d axes are more than %d", rank, LLRT_MAX_RANK);
  out->rank = rank;
  for (int i = 0; i < shape->n_numbers; i++) {
    if (shape->number[i] == 0) return parser_fail_at(column, "an extent is 1 or more");
    out->digit[out->n_digits++] = (llrt_digit){
        .extent = shape->number[i], .stride = strides->number[i], .axis = shape->member[i]};
  }
  return LLRT_OK;
}

llrt_status parse_cute(parser *self, llrt_storage *out) {
  size_t column = parser_column(self);
  tuple shape, strides;
  *out = (llrt_storage){.rank = 0};
  if (parser_at_name(self, "Swizzle")) LLRT_TRY(parse_swizzle_prefix(self, &out->swizzle));
  LLRT_TRY(parse_offset(self, &out->offset[0]));
  LLRT_TRY(parse_tuple(self, &shape));
  LLRT_TRY(parser_expect(self, ':'));
  size_t at_strides = parser_column(self);
  LLRT_TRY(parse_tuple(self, &strides));
  if (shape.n_tokens != strides.n_tokens ||
      memcmp(shape.token, strides.token, (size_t)shape.n_tokens) != 0)
    return parser_fail_at(at_strides, "the strides do not have the form of the shape");
  LLRT_TRY(make_digits(column, &shape, &strides, out));
  llrt_status status = llrt_storage_validate(out);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}
