/* What the parser's files share. Private to expression.
 *
 *   parse.c       the signature and the statements
 *   parse_body.c  what stands in statements: nodes by precedence
 *   nodes.c       nodes, and what is checked of each as it is made */
#ifndef LLRT_EXPRESSION_PARSER_H
#define LLRT_EXPRESSION_PARSER_H

#include "expression/expression.h"
#include "expression/lexer.h"

typedef struct expr_parser {
  expr_lexer lexer;
  llrt_expr *expr;
  int depth; /* of parentheses and calls around what is parsed */
} expr_parser;

#define EXPR_MAX_DEPTH 64

/* The token is `sign`, and is passed. */
llrt_status expr_expect(expr_parser *p, const char *sign);
bool expr_peek(const expr_parser *p, const char *sign);
/* Passes it if it is there. */
llrt_status expr_accept(expr_parser *p, const char *sign, bool *found);
/* An error at a token. */
llrt_status expr_error_at(const expr_token *token, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Copies a name. Errors: INVALID_ARGUMENT where it is no name, or too long. */
llrt_status expr_take_name(expr_parser *p, char name[EXPR_NAME_BYTES]);

/* The axis of that name; -1: there is none. */
int expr_find_axis(const llrt_expr *expr, const expr_token *name);
bool expr_name_is(const char *name, const expr_token *token);

/* parse_body.c: an expression from the token on; *node. */
llrt_status expr_parse_value(expr_parser *p, int *node);

/* nodes.c: appends a node after checks of axes; the same leaf is made once. Errors: at `token`. */
llrt_status expr_add_node(expr_parser *p, const expr_token *token, expr_node node, int *number);
/* "n", "n and k": the names of axes in a set. */
void expr_axes_text(const llrt_expr *expr, uint32_t axes, char *text, int size);

#endif
