/* See lexer.h. */
#include "expression/lexer.h"

#include "base/status.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void advance(expr_lexer *lexer, int n) {
  for (int i = 0; i < n; i++) {
    bool line = *lexer->at == '\n';
    lexer->line += line;
    lexer->column = line ? 1 : lexer->column + 1;
    lexer->at++;
  }
}

/* Blanks and comments; true where a line that counts ended among them. */
static bool skip(expr_lexer *lexer) {
  bool ended = false;
  for (;;) {
    char c = *lexer->at;
    if (c == '#')
      while (*lexer->at && *lexer->at != '\n') advance(lexer, 1);
    else if (c == '\n' && lexer->depth == 0) ended = true, advance(lexer, 1);
    else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') advance(lexer, 1);
    else return ended;
  }
}

/* Digits, a point, an exponent; 0x for integers. */
static llrt_status number(expr_lexer *lexer, expr_token *token) {
  const char *from = lexer->at;
  char *end;
  bool hex = from[0] == '0' && (from[1] == 'x' || from[1] == 'X');
  bool real = false;
  for (const char *c = from; !hex && (is_digit(*c) || *c == '.' || *c == 'e' || *c == 'E' ||
                                      ((*c == '+' || *c == '-') && (c[-1] == 'e' || c[-1] == 'E')));
       c++)
    real |= !is_digit(*c) && *c != '+' && *c != '-';
  errno = 0;
  if (real) token->number = strtod(from, &end);
  else token->integer = (int64_t)strtoull(from, &end, hex ? 16 : 10);
  token->kind = real ? EXPR_TOKEN_NUMBER : EXPR_TOKEN_INTEGER;
  token->length = (int)(end - from);
  LLRT_REQUIRE(token->length > 0 && !is_letter(*end), "%d:%d: not a number", token->line,
               token->column);
  LLRT_REQUIRE(real ? isfinite(token->number) : errno == 0 && token->integer >= 0,
               "%d:%d: %.*s is too large", token->line, token->column, token->length, from);
  return LLRT_OK;
}

/* Of a character of UTF-8; 0: none begins here. */
static int bytes_of_character(const char *at) {
  unsigned char first = (unsigned char)*at;
  int bytes = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first > 0xF4) return 0;
  for (int i = 1; i < bytes; i++)
    if (((unsigned char)at[i] & 0xC0) != 0x80) return 0;
  return bytes;
}

static llrt_status sign(expr_lexer *lexer, expr_token *token) {
  static const char *const signs[] = {"...", "->", "//", "<<", ">>", "<=", ">=", "==", "!=", "(",
                                      ")",   "[",  "]",  "{",  "}",  ",",  ":",  ";",  "=",  "+",
                                      "-",   "*",  "/",  "%",  "&",  "|",  "^",  "<",  ">",  "~"};
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    size_t length = strlen(signs[i]);
    if (strncmp(lexer->at, signs[i], length) != 0) continue;
    token->kind = EXPR_TOKEN_SIGN;
    token->length = (int)length;
    if (*signs[i] == '(' || *signs[i] == '[') lexer->depth++;
    if ((*signs[i] == ')' || *signs[i] == ']') && lexer->depth > 0) lexer->depth--;
    return LLRT_OK;
  }
  int bytes = bytes_of_character(lexer->at);
  if (bytes == 0)
    return llrt_error(LLRT_INVALID_ARGUMENT, "%d:%d: a byte that begins no character: 0x%02x",
                      token->line, token->column, (unsigned char)*lexer->at);
  return llrt_error(LLRT_INVALID_ARGUMENT, "%d:%d: a character that no expression has: %.*s",
                    token->line, token->column, bytes, lexer->at);
}

llrt_status expr_lexer_next(expr_lexer *lexer) {
  expr_token token = {.line = lexer->line, .column = lexer->column, .text = lexer->at};
  if (skip(lexer)) {
    token.kind = EXPR_TOKEN_LINE;
    lexer->token = token;
    return LLRT_OK;
  }
  token = (expr_token){.line = lexer->line, .column = lexer->column, .text = lexer->at};
  char c = *lexer->at;
  if (is_letter(c)) {
    token.kind = EXPR_TOKEN_NAME;
    while (is_letter(lexer->at[token.length]) || is_digit(lexer->at[token.length])) token.length++;
  } else if (is_digit(c) || (c == '.' && is_digit(lexer->at[1]))) {
    LLRT_TRY(number(lexer, &token));
  } else if (c) {
    LLRT_TRY(sign(lexer, &token));
  }
  advance(lexer, token.length);
  lexer->token = token;
  return LLRT_OK;
}

llrt_status expr_lexer_begin(expr_lexer *lexer, const char *text) {
  *lexer = (expr_lexer){.at = text, .line = 1, .column = 1};
  return expr_lexer_next(lexer);
}

bool expr_token_is(const expr_token *token, const char *sign) {
  return token->kind == EXPR_TOKEN_SIGN && (size_t)token->length == strlen(sign) &&
         memcmp(token->text, sign, (size_t)token->length) == 0;
}
