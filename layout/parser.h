/* Tokens of the layout language, and what its grammars share. Errors are INVALID_ARGUMENT with
 * "column N: …", N counting characters from 1. */
#ifndef LLRT_LAYOUT_PARSER_H
#define LLRT_LAYOUT_PARSER_H

#include "layout/families.h"

#include <llrt/storage.h>

#define PARSER_MAX_DEPTH 16 /* of operations: a level takes about 4 KiB of stack */

/* Single characters are their own code. */
enum { TOKEN_END = 256, TOKEN_NAME, TOKEN_NUMBER, TOKEN_ARROW, TOKEN_BAD };

typedef struct parser {
  const char *text;
  int rank; /* what families are applied to; shape is NULL where none is given */
  const int64_t *shape;
  int depth; /* of operations that are being read */
  /* The token at hand. */
  int token;
  size_t start, length;
  uint64_t number;
  bool overflow; /* number is 2^64 or more */
} parser;

/* Begins at the first token. text is not NULL. */
void parser_init(parser *self, const char *text, int rank, const int64_t *shape);
/* Moves to the next token; at the end it stays there. */
void parser_next(parser *self);

size_t parser_column(const parser *self);
/* Whether the token is a name with this text. */
bool parser_at_name(const parser *self, const char *name);
/* Moves past the token if it is `token`; returns whether it was. */
bool parser_accept(parser *self, int token);

/* "column N: <message>" at the token at hand, or at a place noted before. */
llrt_status parser_fail(const parser *self, const char *message);
llrt_status parser_fail_at(size_t column, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Moves past what must be there, else fails with "expected …". */
llrt_status parser_expect(parser *self, int token);
llrt_status parser_name(parser *self, char *name); /* name[LLRT_NAME_BYTES], zero-filled */
llrt_status parser_integer(parser *self, int64_t *value);
llrt_status parser_unsigned(parser *self, uint64_t *value);
/* A power of two up to 2^64; *bits is its log2. */
llrt_status parser_size(parser *self, int *bits);
/* '[' number, … ']', at most LLRT_MAX_RANK of them. */
llrt_status parser_list(parser *self, family_list *list);

/* One of keys[n] and the '=' after it; *key is which. *given has a bit for each key that came
 * before: each comes once. `expected` is the message where there is none of them. */
llrt_status parser_key(parser *self, const char *const *keys, int n, const char *expected,
                       uint32_t *given, int *key);

/* layout := factor { '*' factor }, factor := literal | operation | family. At a token that
 * starts none, "unknown layout". */
llrt_status parse_layout(parser *self, llrt_layout *out);
/* Whether the token at hand names an operation. */
bool parse_is_operation(const parser *self);
/* operation := name '(' … ')' of the algebra, applied. */
llrt_status parse_operation(parser *self, llrt_layout *out);
/* Whether the token at hand names a family. */
bool parse_is_family(const parser *self);
/* family := name '(' … ')', applied to the parser's shape. */
llrt_status parse_family(parser *self, llrt_layout *out);

#endif
