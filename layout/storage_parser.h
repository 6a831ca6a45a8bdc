/* What the grammars of storages share, beside the tokens. */
#ifndef LLRT_LAYOUT_STORAGE_PARSER_H
#define LLRT_LAYOUT_STORAGE_PARSER_H

#include "layout/parser.h"
#include "layout/storage_rule.h"

/* Any storage, applied to the parser's rank and shape. */
llrt_status parse_storage(parser *self, llrt_storage *out);
/* A target's name; a new one is added to the storage. 0 is memory. */
llrt_status parse_target(parser *self, llrt_storage *out, int16_t *target);
/* A number of bits of a swizzle. */
llrt_status parse_swizzle_bits(parser *self, uint8_t *bits);
/* What follows `pad=`: a number or `keep`. */
llrt_status parse_pad(parser *self, llrt_storage *out);

/* Whether the token at hand begins TIRx notation (S, swizzle), CuTe notation (a parenthesis, a
 * number, Swizzle), a named storage; and reading it. */
bool parse_is_tirx(const parser *self);
llrt_status parse_tirx(parser *self, llrt_storage *out);
bool parse_is_cute(const parser *self);
llrt_status parse_cute(parser *self, llrt_storage *out);
bool parse_is_named(const parser *self);
llrt_status parse_named(parser *self, llrt_storage *out);

/* wgmma_shared(…), applied to the parser's shape, or to its own extents. */
bool parse_is_matrix(const parser *self);
llrt_status parse_matrix(parser *self, llrt_storage *out);

/* padded_shared(…), applied to the parser's shape. */
bool parse_is_padded(const parser *self);
llrt_status parse_padded(parser *self, llrt_storage *out);

#endif
