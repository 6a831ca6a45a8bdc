/* What stands in statements: Python's operators and precedence, calls, names. */
#include "expression/parser.h"

#include "base/bits.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

static llrt_status parse_level(expr_parser *p, int precedence, int *node);

/* ---- calls ---- */

/* The axis that the token names. */
static llrt_status take_axis(expr_parser *p, const char *function, int *axis) {
  const expr_token token = p->lexer.token;
  *axis = token.kind == EXPR_TOKEN_NAME ? expr_find_axis(p->expr, &token) : -1;
  bool extreme = strcmp(function, "max") == 0 || strcmp(function, "min") == 0;
  if (*axis < 0 && extreme)
    return expr_error_at(&token, "%.*s is no axis: %simum(x, %.*s)", token.length, token.text,
                         function, token.length, token.text);
  if (*axis < 0) return expr_error_at(&token, "%.*s is no axis", token.length, token.text);
  return expr_lexer_next(&p->lexer);
}

/* n, or (h, w), behind "axis=" if that is there. */
static llrt_status take_axes(expr_parser *p, const char *function, uint16_t *axes) {
  int axis;
  bool found, list;
  if (p->lexer.token.kind == EXPR_TOKEN_NAME && expr_name_is("axis", &p->lexer.token) &&
      expr_find_axis(p->expr, &p->lexer.token) < 0) {
    LLRT_TRY(expr_lexer_next(&p->lexer));
    LLRT_TRY(expr_expect(p, "="));
  }
  LLRT_TRY(expr_accept(p, "(", &list));
  do {
    const expr_token token = p->lexer.token;
    LLRT_TRY(take_axis(p, function, &axis));
    if (*axes >> axis & 1)
      return expr_error_at(&token, "%s stands twice", p->expr->axis[axis].name);
    *axes |= (uint16_t)(1u << axis);
    found = false;
    if (list) LLRT_TRY(expr_accept(p, ",", &found));
  } while (found);
  return list ? expr_expect(p, ")") : LLRT_OK;
}

static llrt_status take_rounding(expr_parser *p, uint8_t *rounding) {
  static const char *const names[] = {"nearest", "up", "down"};
  bool more;
  LLRT_TRY(expr_accept(p, ",", &more));
  if (!more) return LLRT_OK;
  const expr_token key = p->lexer.token;
  if (key.kind != EXPR_TOKEN_NAME || !expr_name_is("round", &key))
    return expr_error_at(&key, "round=nearest, round=up or round=down is what may stand here");
  LLRT_TRY(expr_lexer_next(&p->lexer));
  LLRT_TRY(expr_expect(p, "="));
  const expr_token value = p->lexer.token;
  for (uint8_t i = 0; i < 3; i++)
    if (value.kind == EXPR_TOKEN_NAME && expr_name_is(names[i], &value)) {
      *rounding = i;
      return expr_lexer_next(&p->lexer);
    }
  return expr_error_at(&value, "%.*s is no rounding: nearest, up or down", value.length,
                       value.text);
}

/* Any of ", exclusive=True" and ", reverse=False", as Python has them. */
static llrt_status take_scan_options(expr_parser *p, uint8_t *options) {
  static const char *const names[] = {"exclusive", "reverse"};
  bool more, on;
  for (int taken = 0;;) {
    int option = 0;
    LLRT_TRY(expr_accept(p, ",", &more));
    if (!more) return LLRT_OK;
    const expr_token key = p->lexer.token;
    while (option < 2 && !(key.kind == EXPR_TOKEN_NAME && expr_name_is(names[option], &key)))
      option++;
    if (option == 2 || taken >> option & 1)
      return expr_error_at(&key, "exclusive=True or reverse=True, each once, may stand here");
    taken |= 1 << option;
    LLRT_TRY(expr_lexer_next(&p->lexer));
    LLRT_TRY(expr_expect(p, "="));
    const expr_token value = p->lexer.token;
    on = value.kind == EXPR_TOKEN_NAME && expr_name_is("True", &value);
    if (!on && !(value.kind == EXPR_TOKEN_NAME && expr_name_is("False", &value)))
      return expr_error_at(&value, "%s is True or False", names[option]);
    if (on) *options |= (uint8_t)(1 << option);
    LLRT_TRY(expr_lexer_next(&p->lexer));
  }
}

/* A type's name as a token. */
static llrt_dtype type_of(const expr_token *token) {
  for (int t = 1; t < LLRT_DTYPE_COUNT; t++)
    if (expr_name_is(llrt_dtype_name((llrt_dtype)t), token)) return (llrt_dtype)t;
  return LLRT_DTYPE_NONE;
}

/* What stands behind a call's first argument. */
static llrt_status take_rest(expr_parser *p, expr_node *node) {
  const expr_operator_row *row = expr_row_of(node->op);
  int argument;
  for (int i = 1; i < row->arguments; i++) {
    LLRT_TRY(expr_expect(p, ","));
    LLRT_TRY(parse_level(p, 1, &argument));
    node->arg[node->n_args++] = (uint8_t)argument;
  }
  if (row->family == EXPR_REDUCE || row->family == EXPR_SCAN) {
    LLRT_TRY(expr_expect(p, ","));
    LLRT_TRY(take_axes(p, row->text, &node->reduced));
    return row->family == EXPR_SCAN ? take_scan_options(p, &node->rounding) : LLRT_OK;
  }
  if (node->op == EXPR_FLIP) {
    LLRT_TRY(expr_expect(p, ","));
    LLRT_TRY(take_axis(p, row->text, &argument));
    node->slot = (uint8_t)argument;
  }
  if (node->op == EXPR_BITCAST) {
    LLRT_TRY(expr_expect(p, ","));
    node->type = (uint8_t)type_of(&p->lexer.token);
    if (p->lexer.token.kind != EXPR_TOKEN_NAME || !node->type)
      return expr_error_at(&p->lexer.token, "%.*s is no type", p->lexer.token.length,
                           p->lexer.token.text);
    return expr_lexer_next(&p->lexer);
  }
  return node->op == EXPR_CAST && node->type == LLRT_E8M0 ? take_rounding(p, &node->rounding)
                                                          : LLRT_OK;
}

static int find_call(const expr_token *name, llrt_dtype *type) {
  *type = type_of(name);
  if (*type) return EXPR_CAST;
  for (int op = 1; op < EXPR_OPERATORS; op++) {
    const expr_operator_row *row = expr_row_of(op);
    if (row->family >= EXPR_CALL && *row->text && expr_name_is(row->text, name)) return op;
  }
  return EXPR_NONE;
}

static llrt_status parse_call(expr_parser *p, const expr_token *name, int *node) {
  llrt_dtype type;
  int argument;
  expr_node call = {.op = (uint8_t)find_call(name, &type), .n_args = 1};
  call.type = (uint8_t)type;
  if (!call.op) return expr_error_at(name, "there is no function %.*s", name->length, name->text);
  LLRT_TRY(expr_expect(p, "("));
  LLRT_TRY(parse_level(p, 1, &argument));
  call.arg[0] = (uint8_t)argument;
  LLRT_TRY(take_rest(p, &call));
  LLRT_TRY(expr_expect(p, ")"));
  return expr_add_node(p, name, call, node);
}

/* ---- names and numbers ---- */

static llrt_status find_name(expr_parser *p, const expr_token *name, int *node) {
  const llrt_expr *expr = p->expr;
  for (int i = 0; i < expr->n_statements; i++)
    if (expr_name_is(expr->statement[i].name, name)) {
      *node = expr->statement[i].node;
      return LLRT_OK;
    }
  for (int i = 0; i < expr->n_inputs; i++)
    if (expr_name_is(expr->tensor[i].name, name))
      return expr_add_node(p, name, (expr_node){.op = EXPR_TENSOR, .slot = (uint8_t)i}, node);
  for (int i = 0; i < expr->n_scalars; i++)
    if (expr_name_is(expr->scalar[i].name, name))
      return expr_add_node(p, name, (expr_node){.op = EXPR_SCALAR, .slot = (uint8_t)i}, node);
  int axis = expr_find_axis(expr, name);
  if (axis >= 0)
    return expr_add_node(p, name, (expr_node){.op = EXPR_POSITION, .slot = (uint8_t)axis}, node);
  if (expr_name_is("inf", name))
    return expr_add_node(p, name, (expr_node){.op = EXPR_NUMBER, .number = INFINITY}, node);
  if (expr_name_is("nan", name))
    return expr_add_node(p, name, (expr_node){.op = EXPR_NUMBER, .number = (double)NAN}, node);
  return expr_error_at(name, "%.*s is not known here", name->length, name->text);
}

static llrt_status parse_primary(expr_parser *p, int *node) {
  const expr_token token = p->lexer.token;
  LLRT_TRY(expr_lexer_next(&p->lexer));
  if (expr_token_is(&token, "(")) {
    LLRT_TRY(parse_level(p, 1, node));
    return expr_expect(p, ")");
  }
  if (token.kind == EXPR_TOKEN_INTEGER)
    return expr_add_node(p, &token, (expr_node){.op = EXPR_INTEGER, .integer = token.integer},
                         node);
  if (token.kind == EXPR_TOKEN_NUMBER)
    return expr_add_node(p, &token, (expr_node){.op = EXPR_NUMBER, .number = token.number}, node);
  if (token.kind != EXPR_TOKEN_NAME) return expr_error_at(&token, "a value is missing here");
  return expr_peek(p, "(") ? parse_call(p, &token, node) : find_name(p, &token, node);
}

/* x[p=0], any number of times. */
static llrt_status parse_postfix(expr_parser *p, int *node) {
  bool found;
  LLRT_TRY(parse_primary(p, node));
  for (;;) {
    const expr_token token = p->lexer.token;
    int axis;
    LLRT_TRY(expr_accept(p, "[", &found));
    if (!found) return LLRT_OK;
    LLRT_TRY(take_axis(p, "[]", &axis));
    LLRT_TRY(expr_expect(p, "="));
    const expr_token position = p->lexer.token;
    if (position.kind != EXPR_TOKEN_INTEGER) return expr_error_at(&position, "no position");
    LLRT_TRY(expr_lexer_next(&p->lexer));
    LLRT_TRY(expr_expect(p, "]"));
    expr_node at = {.op = EXPR_AT,
                    .n_args = 1,
                    .arg = {(uint8_t)*node},
                    .slot = (uint8_t)axis,
                    .integer = position.integer};
    LLRT_TRY(expr_add_node(p, &token, at, node));
  }
}

static llrt_status parse_sign(expr_parser *p, int *node) {
  const expr_token token = p->lexer.token;
  int op = expr_token_is(&token, "-") ? EXPR_NEGATE : expr_token_is(&token, "~") ? EXPR_INVERT : 0;
  if (!op) return parse_postfix(p, node);
  LLRT_TRY(expr_lexer_next(&p->lexer));
  LLRT_TRY(parse_level(p, expr_row_of(op)->precedence, node));
  return expr_add_node(p, &token,
                       (expr_node){.op = (uint8_t)op, .n_args = 1, .arg = {(uint8_t)*node}}, node);
}

/* ---- precedence ---- */

static int find_binary(const expr_token *token) {
  for (int op = 1; op < EXPR_OPERATORS; op++) {
    const expr_operator_row *row = expr_row_of(op);
    if (row->family == EXPR_BINARY && expr_token_is(token, row->text)) return op;
  }
  return EXPR_NONE;
}

/* Operators of this precedence or a higher one, from the left. */
static llrt_status parse_operators(expr_parser *p, int precedence, int *node) {
  LLRT_TRY(parse_sign(p, node));
  bool compared = false;
  for (;;) {
    const expr_token token = p->lexer.token;
    int op = find_binary(&token), right;
    if (!op || expr_row_of(op)->precedence < precedence) return LLRT_OK;
    bool compares = expr_row_of(op)->typing == EXPR_TYPED_COMPARED;
    if (compares && compared)
      return expr_error_at(&token, "comparisons do not chain: (a < b) & (b < c)");
    compared |= compares;
    LLRT_TRY(expr_lexer_next(&p->lexer));
    LLRT_TRY(parse_level(p, expr_row_of(op)->precedence + 1, &right));
    expr_node binary = {.op = (uint8_t)op, .n_args = 2, .arg = {(uint8_t)*node, (uint8_t)right}};
    LLRT_TRY(expr_add_node(p, &token, binary, node));
  }
}

static llrt_status parse_level(expr_parser *p, int precedence, int *node) {
  if (p->depth == EXPR_MAX_DEPTH)
    return llrt_error(LLRT_UNSUPPORTED, "%d:%d: more than %d levels of parentheses and signs",
                      p->lexer.token.line, p->lexer.token.column, EXPR_MAX_DEPTH);
  p->depth++;
  llrt_status status = parse_operators(p, precedence, node);
  p->depth--;
  return status;
}

llrt_status expr_parse_value(expr_parser *p, int *node) { return parse_level(p, 1, node); }
