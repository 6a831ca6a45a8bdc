/* The literal form, products, and the entry to the layout language. */
#include "layout/parser.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"

#include <stdio.h>

/* Bases come before the out-dims that give them meaning, so they wait here. */
typedef struct literal {
  int n_bases;
  struct {
    size_t column; /* in the text */
    int n;
    uint64_t coordinate[LLRT_MAX_OUT_DIMS];
  } basis[LLRT_MAX_BITS];
} literal;

/* basis := '[' [ number { ',' number } ] ']' */
static llrt_status parse_basis(parser *self, literal *bases) {
  if (bases->n_bases == LLRT_MAX_BITS)
    return parser_fail_at(parser_column(self), "more than %d basis vectors", LLRT_MAX_BITS);
  int at = bases->n_bases++;
  bases->basis[at].column = parser_column(self);
  bases->basis[at].n = 0;
  LLRT_TRY(parser_expect(self, '['));
  if (parser_accept(self, ']')) return LLRT_OK;
  do {
    int n = bases->basis[at].n++;
    if (n == LLRT_MAX_OUT_DIMS)
      return parser_fail_at(parser_column(self), "more than %d coordinates", LLRT_MAX_OUT_DIMS);
    LLRT_TRY(parser_unsigned(self, &bases->basis[at].coordinate[n]));
  } while (parser_accept(self, ','));
  return parser_expect(self, ']');
}

/* in := name ':' '[' [ basis { ',' basis } ] ']' */
static llrt_status parse_in(parser *self, literal *bases, llrt_layout *out) {
  size_t column = parser_column(self);
  char name[LLRT_NAME_BYTES];
  LLRT_TRY(parser_name(self, name));
  LLRT_TRY(parser_expect(self, ':'));
  LLRT_TRY(parser_expect(self, '['));
  int first = bases->n_bases;
  if (!parser_accept(self, ']')) {
    do {
      LLRT_TRY(parse_basis(self, bases));
    } while (parser_accept(self, ','));
    LLRT_TRY(parser_expect(self, ']'));
  }
  llrt_status status = llrt_layout_add_in(out, name, bases->n_bases - first);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}

/* out := name ':' size */
static llrt_status parse_out(parser *self, llrt_layout *out) {
  size_t column = parser_column(self);
  char name[LLRT_NAME_BYTES];
  int bits;
  LLRT_TRY(parser_name(self, name));
  LLRT_TRY(parser_expect(self, ':'));
  LLRT_TRY(parser_size(self, &bits));
  llrt_status status = llrt_layout_add_out(out, name, bits);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}

/* Packs the waiting bases into columns, now that the out-dims are known. */
static llrt_status place_bases(const literal *bases, llrt_layout *out) {
  for (int b = 0; b < bases->n_bases; b++) {
    if (bases->basis[b].n != out->n_out)
      return parser_fail_at(bases->basis[b].column, "%d coordinates for %d out-dims",
                            bases->basis[b].n, out->n_out);
    uint64_t column = 0;
    for (int i = 0, shift = 0; i < out->n_out; shift += out->out[i++].bits) {
      uint64_t coordinate = bases->basis[b].coordinate[i];
      if (coordinate & ~bits_mask(out->out[i].bits))
        return parser_fail_at(bases->basis[b].column, "coordinate %llu is outside %s",
                              (unsigned long long)coordinate, out->out[i].name);
      if (coordinate) column |= coordinate << shift;
    }
    out->column[b] = column;
  }
  return LLRT_OK;
}

/* literal := '{' … '}' '->' '[' … ']', the token at hand being '{'. */
static llrt_status parse_literal(parser *self, llrt_layout *out) {
  literal bases = {.n_bases = 0};
  *out = (llrt_layout){0};
  LLRT_TRY(parser_expect(self, '{'));
  if (!parser_accept(self, '}')) {
    do {
      LLRT_TRY(parse_in(self, &bases, out));
    } while (parser_accept(self, ','));
    LLRT_TRY(parser_expect(self, '}'));
  }
  LLRT_TRY(parser_expect(self, TOKEN_ARROW));
  LLRT_TRY(parser_expect(self, '['));
  if (!parser_accept(self, ']')) {
    do {
      LLRT_TRY(parse_out(self, out));
    } while (parser_accept(self, ','));
    LLRT_TRY(parser_expect(self, ']'));
  }
  return place_bases(&bases, out);
}

static llrt_status parse_factor(parser *self, llrt_layout *out) {
  if (self->token == '{') return parse_literal(self, out);
  if (parse_is_operation(self)) return parse_operation(self, out);
  if (parse_is_family(self)) return parse_family(self, out);
  if (self->token != TOKEN_NAME) return parser_fail(self, "expected a layout");
  return parser_fail_at(parser_column(self), "unknown layout '%.*s'", (int)self->length,
                        self->text + self->start);
}

/* *out = *out * the factor after each '*'. */
static llrt_status parse_product(parser *self, llrt_layout *out) {
  LLRT_TRY(parse_factor(self, out));
  for (;;) {
    size_t column = parser_column(self);
    llrt_layout factor;
    if (!parser_accept(self, '*')) return LLRT_OK;
    LLRT_TRY(parse_factor(self, &factor));
    llrt_status status = llrt_layout_product(out, &factor, out);
    if (status) return llrt_error_prefix(status, "column %zu", column);
  }
}

llrt_status parse_layout(parser *self, llrt_layout *out) {
  if (self->depth == PARSER_MAX_DEPTH)
    return parser_fail_at(parser_column(self), "operations are nested deeper than %d",
                          PARSER_MAX_DEPTH);
  self->depth++;
  llrt_status status = parse_product(self, out);
  self->depth--;
  return status;
}

static llrt_status parse(const char *text, int rank, const int64_t *shape, llrt_layout *out) {
  LLRT_REQUIRE(text, "text: NULL");
  LLRT_REQUIRE(rank >= 0 && rank <= LLRT_MAX_RANK, "rank %d is not in 0..%d", rank, LLRT_MAX_RANK);
  parser self;
  parser_init(&self, text, rank, shape);
  LLRT_TRY(parse_layout(&self, out));
  return parser_expect(&self, TOKEN_END);
}

llrt_status llrt_layout_parse(const char *text, int rank, const int64_t *shape, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(parse(text, rank, shape, &result), &result, out);
}
