/* Text -> expression: the signature and the statements. */
#include "base/bits.h"
#include "base/float_mode.h"
#include "base/memory.h"
#include "base/status.h"
#include "expression/parser.h"

#include <locale.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */

llrt_status expr_error_at(const expr_token *token, const char *format, ...) {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return llrt_error(LLRT_INVALID_ARGUMENT, "%d:%d: %s", token->line, token->column, message);
}

static const char *text_of(const expr_token *token) {
  return token->kind == EXPR_TOKEN_LINE ? "the line's end" : "the text's end";
}

static llrt_status unexpected(const expr_token *token, const char *wanted) {
  if (token->length == 0)
    return expr_error_at(token, "%s is missing at %s", wanted, text_of(token));
  return expr_error_at(token, "%s is missing before %.*s", wanted, token->length, token->text);
}

bool expr_peek(const expr_parser *p, const char *sign) {
  return expr_token_is(&p->lexer.token, sign);
}

llrt_status expr_accept(expr_parser *p, const char *sign, bool *found) {
  *found = expr_peek(p, sign);
  return *found ? expr_lexer_next(&p->lexer) : LLRT_OK;
}

llrt_status expr_expect(expr_parser *p, const char *sign) {
  if (!expr_peek(p, sign)) return unexpected(&p->lexer.token, sign);
  return expr_lexer_next(&p->lexer);
}

static llrt_status skip_lines(expr_parser *p) {
  while (p->lexer.token.kind == EXPR_TOKEN_LINE) LLRT_TRY(expr_lexer_next(&p->lexer));
  return LLRT_OK;
}

/* ---- names ---- */

bool expr_name_is(const char *name, const expr_token *token) {
  return strlen(name) == (size_t)token->length &&
         memcmp(name, token->text, (size_t)token->length) == 0;
}

int expr_find_axis(const llrt_expr *expr, const expr_token *name) {
  for (int a = 0; a < expr->n_axes; a++)
    if (expr_name_is(expr->axis[a].name, name)) return a;
  return -1;
}

llrt_status expr_take_name(expr_parser *p, char name[EXPR_NAME_BYTES]) {
  const expr_token *token = &p->lexer.token;
  if (token->kind != EXPR_TOKEN_NAME) return unexpected(token, "a name");
  if (token->length >= EXPR_NAME_BYTES)
    return expr_error_at(token, "a name of more than %d letters", EXPR_NAME_BYTES - 1);
  memcpy(name, token->text, (size_t)token->length);
  name[token->length] = 0;
  return expr_lexer_next(&p->lexer);
}

/* Tensors and scalars have names of their own. */
static llrt_status check_new(const llrt_expr *expr, const expr_token *token) {
  bool taken = expr_name_is("inf", token) || expr_name_is("nan", token);
  for (int i = 0; i < expr->n_tensors; i++) taken |= expr_name_is(expr->tensor[i].name, token);
  for (int i = 0; i < expr->n_scalars; i++) taken |= expr_name_is(expr->scalar[i].name, token);
  if (taken) return expr_error_at(token, "%.*s has a meaning already", token->length, token->text);
  return LLRT_OK;
}

/* ---- the signature ---- */

static llrt_status parse_axis(expr_parser *p, expr_tensor *tensor, expr_dim *dim) {
  llrt_expr *expr = p->expr;
  bool reversed, fixed;
  LLRT_TRY(expr_accept(p, "~", &reversed));
  const expr_token token = p->lexer.token;
  if (token.kind == EXPR_TOKEN_INTEGER && token.integer == 1 && !reversed && dim->n == 0)
    return expr_lexer_next(&p->lexer);
  int axis = token.kind == EXPR_TOKEN_NAME ? expr_find_axis(expr, &token) : -1;
  char name[EXPR_NAME_BYTES] = {0};
  LLRT_TRY(expr_take_name(p, name));
  if (axis < 0) {
    if (expr->n_axes == EXPR_MAX_AXES)
      return llrt_error(LLRT_UNSUPPORTED, "%d:%d: more than %d axes", token.line, token.column,
                        EXPR_MAX_AXES);
    axis = expr->n_axes++;
    memcpy(expr->axis[axis].name, name, sizeof name);
  }
  if (tensor->axes >> axis & 1) return expr_error_at(&token, "%s stands twice", name);
  LLRT_TRY(expr_accept(p, ":", &fixed));
  if (fixed) {
    const expr_token extent = p->lexer.token;
    if (extent.kind != EXPR_TOKEN_INTEGER || extent.integer < 1)
      return expr_error_at(&extent, "%s: no extent", name);
    if (expr->axis[axis].extent && expr->axis[axis].extent != extent.integer)
      return expr_error_at(&extent, "%s has extent %lld already", name,
                           (long long)expr->axis[axis].extent);
    expr->axis[axis].extent = extent.integer;
    LLRT_TRY(expr_lexer_next(&p->lexer));
  }
  tensor->axes |= (uint16_t)(1u << axis);
  dim->reversed |= (uint8_t)(reversed << dim->n);
  dim->axis[dim->n++] = (uint8_t)axis;
  return LLRT_OK;
}

/* [... t (g j:32) 1] */
static llrt_status parse_axes(expr_parser *p, expr_tensor *tensor) {
  bool group;
  LLRT_TRY(expr_expect(p, "["));
  LLRT_TRY(expr_accept(p, "...", &tensor->leading));
  if (tensor->leading) tensor->axes |= 1u << EXPR_LEADING;
  while (!expr_peek(p, "]")) {
    if (tensor->n_dims == LLRT_MAX_RANK)
      return expr_error_at(&p->lexer.token, "a tensor of more than %d axes", LLRT_MAX_RANK);
    expr_dim *dim = &tensor->dim[tensor->n_dims++];
    LLRT_TRY(expr_accept(p, "(", &group));
    do LLRT_TRY(parse_axis(p, tensor, dim));
    while (group && dim->n > 0 && !expr_peek(p, ")"));
    if (group) LLRT_TRY(expr_expect(p, ")"));
  }
  return expr_expect(p, "]");
}

static llrt_status parse_type(expr_parser *p, llrt_dtype *type) {
  char name[EXPR_NAME_BYTES] = {0};
  const expr_token token = p->lexer.token;
  LLRT_TRY(expr_take_name(p, name));
  if (llrt_dtype_parse(name, type) != LLRT_OK) return expr_error_at(&token, "%s is no type", name);
  return LLRT_OK;
}

static llrt_status parse_scalar(expr_parser *p, const expr_token *token, const char *name) {
  llrt_expr *expr = p->expr;
  llrt_dtype type;
  const expr_token at = p->lexer.token;
  LLRT_TRY(parse_type(p, &type));
  if (type != LLRT_F32 && type != LLRT_F64 && type != LLRT_I32 && type != LLRT_I64)
    return expr_error_at(&at, "numbers of a run are f32, f64, i32 or i64");
  if (expr->n_scalars == LLRT_EXPR_MAX_SCALARS)
    return llrt_error(LLRT_UNSUPPORTED, "%d:%d: more than %d numbers of a run", token->line,
                      token->column, LLRT_EXPR_MAX_SCALARS);
  expr_scalar *scalar = &expr->scalar[expr->n_scalars];
  memcpy(scalar->name, name, EXPR_NAME_BYTES);
  scalar->dtype = (uint8_t)type;
  expr->param[expr->n_params++] = (int8_t)(-1 - expr->n_scalars++);
  return LLRT_OK;
}

static llrt_status parse_tensor(expr_parser *p, const expr_token *token, const char *name,
                                bool output) {
  llrt_expr *expr = p->expr;
  bool typed;
  llrt_dtype type;
  if (expr->n_tensors == LLRT_EXPR_MAX_TENSORS)
    return llrt_error(LLRT_UNSUPPORTED, "%d:%d: more than %d tensors", token->line, token->column,
                      LLRT_EXPR_MAX_TENSORS);
  int number = expr->n_tensors++;
  expr_tensor *tensor = &expr->tensor[number];
  memcpy(tensor->name, name, EXPR_NAME_BYTES);
  snprintf(tensor->called, sizeof tensor->called, "tensor %s", name);
  tensor->output = output;
  tensor->node = UINT8_MAX;
  LLRT_TRY(parse_axes(p, tensor));
  if (!output) expr->param[expr->n_params++] = (int8_t)number;
  LLRT_TRY(expr_accept(p, ":", &typed));
  if (!typed) return LLRT_OK;
  LLRT_TRY(parse_type(p, &type));
  tensor->dtype = (uint8_t)type;
  return LLRT_OK;
}

static llrt_status parse_param(expr_parser *p, bool output) {
  char name[EXPR_NAME_BYTES] = {0};
  bool scalar = false;
  const expr_token token = p->lexer.token;
  LLRT_TRY(expr_take_name(p, name));
  LLRT_TRY(check_new(p->expr, &token));
  if (!output) LLRT_TRY(expr_accept(p, ":", &scalar));
  return scalar ? parse_scalar(p, &token, name) : parse_tensor(p, &token, name, output);
}

static llrt_status parse_params(expr_parser *p, bool output) {
  bool more, none = false;
  LLRT_TRY(expr_expect(p, "("));
  if (!output) LLRT_TRY(expr_accept(p, ")", &none));
  if (none) return LLRT_OK;
  do {
    LLRT_TRY(parse_param(p, output));
    LLRT_TRY(expr_accept(p, ",", &more));
  } while (more);
  return expr_expect(p, ")");
}

/* ---- the body ---- */

/* Assigns an output, if the name is one's. */
static llrt_status assign(expr_parser *p, const expr_token *token, int node) {
  llrt_expr *expr = p->expr;
  char names[EXPR_MAX_AXES * EXPR_NAME_BYTES];
  for (int t = expr->n_inputs; t < expr->n_tensors; t++) {
    expr_tensor *tensor = &expr->tensor[t];
    if (!expr_name_is(tensor->name, token)) continue;
    uint32_t beyond = expr->node[node].axes & ~(uint32_t)tensor->axes;
    expr_axes_text(expr, beyond, names, sizeof names);
    if (beyond)
      return expr_error_at(token, "%s has no axis %s: reduce that first", tensor->name, names);
    tensor->node = (uint8_t)node;
  }
  return LLRT_OK;
}

static llrt_status parse_statement(expr_parser *p) {
  llrt_expr *expr = p->expr;
  char name[EXPR_NAME_BYTES] = {0};
  const expr_token token = p->lexer.token;
  int node;
  LLRT_TRY(expr_take_name(p, name));
  bool taken = expr_find_axis(expr, &token) >= 0 || expr_name_is("inf", &token) ||
               expr_name_is("nan", &token);
  for (int i = 0; i < expr->n_inputs; i++) taken |= expr_name_is(expr->tensor[i].name, &token);
  for (int i = 0; i < expr->n_scalars; i++) taken |= expr_name_is(expr->scalar[i].name, &token);
  for (int i = 0; i < expr->n_statements; i++)
    taken |= expr_name_is(expr->statement[i].name, &token);
  if (taken) return expr_error_at(&token, "%s has a meaning already", name);
  LLRT_TRY(expr_expect(p, "="));
  LLRT_TRY(expr_parse_value(p, &node));
  if (expr->n_statements == EXPR_MAX_STATEMENTS)
    return llrt_error(LLRT_UNSUPPORTED, "%d:%d: more than %d statements", token.line, token.column,
                      EXPR_MAX_STATEMENTS);
  LLRT_TRY(assign(p, &token, node));
  expr_statement *statement = &expr->statement[expr->n_statements++];
  memcpy(statement->name, name, sizeof name);
  statement->node = (uint8_t)node;
  return LLRT_OK;
}

static llrt_status parse_body(expr_parser *p) {
  LLRT_TRY(expr_expect(p, "{"));
  for (;;) {
    LLRT_TRY(skip_lines(p));
    if (expr_peek(p, "}")) break;
    LLRT_TRY(parse_statement(p));
    bool ended = p->lexer.token.kind == EXPR_TOKEN_LINE || expr_peek(p, "}");
    if (!ended) LLRT_TRY(expr_expect(p, ";"));
  }
  LLRT_TRY(expr_lexer_next(&p->lexer));
  LLRT_TRY(skip_lines(p));
  if (p->lexer.token.kind != EXPR_TOKEN_END) return unexpected(&p->lexer.token, "the text's end");
  return LLRT_OK;
}

/* ---- the whole ---- */

static llrt_status check_outputs(const expr_parser *p, const expr_token *end) {
  const llrt_expr *expr = p->expr;
  for (int t = expr->n_inputs; t < expr->n_tensors; t++)
    if (expr->tensor[t].node == UINT8_MAX)
      return expr_error_at(end, "%s is never assigned", expr->tensor[t].name);
  return LLRT_OK;
}

static llrt_status parse(expr_parser *p, const char *text) {
  LLRT_TRY(expr_lexer_begin(&p->lexer, text));
  LLRT_TRY(skip_lines(p));
  const expr_token start = p->lexer.token;
  LLRT_TRY(parse_params(p, false));
  p->expr->n_inputs = p->expr->n_tensors;
  LLRT_TRY(skip_lines(p));
  LLRT_TRY(expr_expect(p, "->"));
  LLRT_TRY(skip_lines(p));
  LLRT_TRY(parse_params(p, true));
  LLRT_TRY(skip_lines(p));
  for (int i = 0; i < p->expr->n_tensors; i++)
    for (int a = 0; a < p->expr->n_axes; a++)
      if (strcmp(p->expr->tensor[i].name, p->expr->axis[a].name) == 0)
        return expr_error_at(&start, "%s is a tensor and an axis", p->expr->axis[a].name);
  for (int i = 0; i < p->expr->n_scalars; i++)
    for (int a = 0; a < p->expr->n_axes; a++)
      if (strcmp(p->expr->scalar[i].name, p->expr->axis[a].name) == 0)
        return expr_error_at(&start, "%s is a number and an axis", p->expr->axis[a].name);
  LLRT_TRY(parse_body(p));
  return check_outputs(p, &p->lexer.token);
}

/* An expression with the places of what is kept beside it. */
typedef struct whole {
  llrt_expr expr;
  _Atomic(expr_kept *) kept[EXPR_KEPT];
} whole;

static llrt_expr *new_expr(void) {
  whole *made = memory_zeroed(1, sizeof *made);
  if (!made) return NULL;
  made->expr.kept = made->kept;
  return &made->expr;
}

llrt_status llrt_expr_parse(const char *text, llrt_expr **out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "expr is NULL");
  *out = NULL;
  LLRT_REQUIRE(text, "text is NULL");
  llrt_expr *expr = new_expr();
  if (!expr) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for an expression");
  llrt_float_mode callers = llrt_float_mode_enter();
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  locale_t before = plain ? uselocale(plain) : (locale_t)0;
  expr_parser p = {.expr = expr};
  llrt_status status =
      plain ? parse(&p, text) : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a locale");
  if (plain) {
    uselocale(before);
    freelocale(plain);
  }
  llrt_float_mode_leave(callers);
  if (status == LLRT_OK) *out = expr;
  else free(expr);
  return status;
}

void llrt_expr_destroy(llrt_expr **expr) {
  if (!expr || !*expr) return;
  for (int i = 0; i < EXPR_KEPT; i++) {
    expr_kept *kept = atomic_load_explicit(&(*expr)->kept[i], memory_order_acquire);
    if (kept) kept->release(kept);
  }
  free(*expr);
  *expr = NULL;
}
