/* Text of an expression -> tokens with their places. Private to expression. */
#ifndef LLRT_EXPRESSION_LEXER_H
#define LLRT_EXPRESSION_LEXER_H

#include <llrt/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum expr_token_kind {
  EXPR_TOKEN_END = 0,
  EXPR_TOKEN_NAME,
  EXPR_TOKEN_INTEGER,
  EXPR_TOKEN_NUMBER,
  EXPR_TOKEN_SIGN, /* operators and punctuation: its text */
  EXPR_TOKEN_LINE  /* the end of a line outside parentheses and brackets */
} expr_token_kind;

typedef struct expr_token {
  expr_token_kind kind;
  const char *text; /* in the source */
  int length, line, column;
  int64_t integer;
  double number;
} expr_token;

typedef struct expr_lexer {
  const char *at;
  int line, column;
  int depth;        /* of parentheses and brackets */
  expr_token token; /* the one that is looked at */
} expr_lexer;

/* Begins, and looks at the first token. Errors: as next. */
llrt_status expr_lexer_begin(expr_lexer *lexer, const char *text);
/* Looks at the next token. Errors: INVALID_ARGUMENT for what is none. */
llrt_status expr_lexer_next(expr_lexer *lexer);

bool expr_token_is(const expr_token *token, const char *sign);

#endif
