#include "layout/parser.h"

#include "base/bits.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The size of an out-dim of 64 bits, which no uint64_t holds. */
#define TWO_TO_64 "18446744073709551616"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void parser_init(parser *self, const char *text, int rank, const int64_t *shape) {
  *self = (parser){.text = text, .rank = rank, .shape = shape};
  parser_next(self);
}

static void scan_name(parser *self) {
  const char *text = self->text + self->start;
  while (is_letter(text[self->length]) || is_digit(text[self->length])) self->length++;
  self->token = TOKEN_NAME;
}

static void scan_number(parser *self) {
  const char *text = self->text + self->start;
  self->number = 0;
  self->overflow = false;
  for (; is_digit(text[self->length]); self->length++) {
    uint64_t digit = (uint64_t)(text[self->length] - '0');
    self->overflow |= __builtin_mul_overflow(self->number, 10, &self->number);
    self->overflow |= __builtin_add_overflow(self->number, digit, &self->number);
  }
  self->token = TOKEN_NUMBER;
}

void parser_next(parser *self) {
  self->start += self->length;
  while (is_space(self->text[self->start])) self->start++;
  self->length = 0;
  const char *text = self->text + self->start;
  if (text[0] == 0) {
    self->token = TOKEN_END;
  } else if (is_letter(text[0])) {
    scan_name(self);
  } else if (is_digit(text[0])) {
    scan_number(self);
  } else if (text[0] == '-' && text[1] == '>') {
    self->token = TOKEN_ARROW;
    self->length = 2;
  } else {
    self->token = strchr("{}[]():,=@*+<>", text[0]) ? text[0] : TOKEN_BAD;
    self->length = 1;
  }
}

size_t parser_column(const parser *self) { return self->start + 1; }

bool parser_at_name(const parser *self, const char *name) {
  return self->token == TOKEN_NAME && strlen(name) == self->length &&
         memcmp(self->text + self->start, name, self->length) == 0;
}

bool parser_accept(parser *self, int token) {
  if (self->token != token) return false;
  parser_next(self);
  return true;
}

llrt_status parser_fail_at(size_t column, const char *format, ...) {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return llrt_error(LLRT_INVALID_ARGUMENT, "column %zu: %s", column, message);
}

llrt_status parser_fail(const parser *self, const char *message) {
  return parser_fail_at(parser_column(self), "%s", message);
}

llrt_status parser_expect(parser *self, int token) {
  if (parser_accept(self, token)) return LLRT_OK;
  if (token == TOKEN_ARROW) return parser_fail(self, "expected '->'");
  if (token == TOKEN_END && self->token == '(')
    return parser_fail(self, "expected the end: what stands before takes no parameters");
  if (token == TOKEN_END) return parser_fail(self, "expected the end");
  return parser_fail_at(parser_column(self), "expected '%c'", token);
}

llrt_status parser_name(parser *self, char *name) {
  memset(name, 0, LLRT_NAME_BYTES);
  if (self->token != TOKEN_NAME) return parser_fail(self, "expected a name");
  if (self->length >= LLRT_NAME_BYTES)
    return parser_fail_at(parser_column(self), "a name has at most %d characters",
                          LLRT_NAME_BYTES - 1);
  memcpy(name, self->text + self->start, self->length);
  parser_next(self);
  return LLRT_OK;
}

llrt_status parser_unsigned(parser *self, uint64_t *value) {
  *value = self->number;
  if (self->token != TOKEN_NUMBER) return parser_fail(self, "expected a number");
  if (self->overflow) return parser_fail(self, "the number is too large");
  parser_next(self);
  return LLRT_OK;
}

llrt_status parser_integer(parser *self, int64_t *value) {
  parser before = *self;
  uint64_t number;
  LLRT_TRY(parser_unsigned(self, &number));
  if (number > INT64_MAX) return parser_fail(&before, "the number is too large");
  *value = (int64_t)number;
  return LLRT_OK;
}

llrt_status parser_size(parser *self, int *bits) {
  bool is_number = self->token == TOKEN_NUMBER;
  bool is_full = is_number && self->length == strlen(TWO_TO_64) &&
                 memcmp(self->text + self->start, TWO_TO_64, self->length) == 0;
  if (!is_number) return parser_fail(self, "expected a number");
  if (!is_full && (self->overflow || bits_count(self->number) != 1))
    return parser_fail(self, "a size is a power of two up to 2^64");
  *bits = is_full ? 64 : bits_lowest(self->number);
  parser_next(self);
  return LLRT_OK;
}

llrt_status parser_list(parser *self, family_list *list) {
  LLRT_TRY(parser_expect(self, '['));
  list->n = 0;
  if (parser_accept(self, ']')) return LLRT_OK;
  do {
    if (list->n == LLRT_MAX_RANK)
      return parser_fail_at(parser_column(self), "more than %d entries", LLRT_MAX_RANK);
    LLRT_TRY(parser_integer(self, &list->value[list->n]));
    list->n++;
  } while (parser_accept(self, ','));
  return parser_expect(self, ']');
}

llrt_status parser_key(parser *self, const char *const *keys, int n, const char *expected,
                       uint32_t *given, int *key) {
  *key = 0;
  while (*key < n && !parser_at_name(self, keys[*key])) ++*key;
  if (*key == n) return parser_fail(self, expected);
  if (*given >> *key & 1) return parser_fail(self, "this is given twice");
  *given |= 1u << *key;
  parser_next(self);
  return parser_expect(self, '=');
}
