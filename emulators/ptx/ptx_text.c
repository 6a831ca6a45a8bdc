/* See ptx_text.h. */
#include "emulators/ptx/ptx_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void skip_line(ptx_parser *parser) {
  while (*parser->at && *parser->at != '\n') parser->at++;
}

static void skip_comment(ptx_parser *parser) {
  for (parser->at += 2; *parser->at; parser->at++) {
    if (*parser->at == '\n') parser->line++;
    if (parser->at[0] == '*' && parser->at[1] == '/') {
      parser->at += 2;
      return;
    }
  }
}

static void skip_blank(ptx_parser *parser) {
  for (;;) {
    if (parser->at[0] == '/' && parser->at[1] == '/') {
      skip_line(parser);
    } else if (parser->at[0] == '/' && parser->at[1] == '*') {
      skip_comment(parser);
    } else if (isspace((unsigned char)*parser->at)) {
      parser->line += *parser->at++ == '\n';
    } else {
      return;
    }
  }
}

static bool in_word(const char *at) {
  return isalnum((unsigned char)*at) || (*at && strchr("_.$%", *at)) ||
         (at[0] == ':' && at[1] == ':');
}

void ptx_next(ptx_parser *parser) {
  size_t n = 0;
  skip_blank(parser);
  parser->token_at = parser->at;
  if (*parser->at == '"') {
    for (parser->at++; *parser->at && *parser->at != '"'; parser->at++) {
      if (n < PTX_WORD - 1) parser->token[n++] = *parser->at;
    }
    if (*parser->at) parser->at++;
  } else {
    while (in_word(parser->at) && n < PTX_WORD - 2) {
      if (*parser->at == ':') parser->token[n++] = *parser->at++;
      parser->token[n++] = *parser->at++;
    }
    if (n == 0 && *parser->at) parser->token[n++] = *parser->at++;
  }
  parser->token[n] = 0;
}

bool ptx_refuse(ptx_parser *parser, const char *what, const char *word) {
  emu_fault_set(parser->fault, EMU_UNKNOWN, "%s %.80s", what, *word ? word : "(end of text)");
  parser->fault->line = parser->line;
  return false;
}

bool ptx_accept(ptx_parser *parser, char c) {
  if (!ptx_at(parser, c)) return false;
  ptx_next(parser);
  return true;
}

bool ptx_expect(ptx_parser *parser, char c) {
  char what[16] = {'\'', c, '\'', ' ', 'n', 'o', 't', 0};
  return ptx_accept(parser, c) || ptx_refuse(parser, what, parser->token);
}

bool ptx_is_number(const ptx_parser *parser) {
  return isdigit((unsigned char)parser->token[0]) || ptx_at(parser, '-');
}

bool ptx_number(ptx_parser *parser, int64_t *value) {
  bool negative = ptx_accept(parser, '-');
  const char *text = parser->token;
  char *end;
  if (!isdigit((unsigned char)text[0])) return ptx_refuse(parser, "number not", text);
  bool hexadecimal = text[0] == '0' && text[1] && strchr("fFdD", text[1]);
  uint64_t bits = hexadecimal ? strtoull(text + 2, &end, 16) : strtoull(text, &end, 0);
  if (*end == 'U') end++;
  if (*end || (hexadecimal && negative)) return ptx_refuse(parser, "number", text);
  *value = (int64_t)(negative ? -bits : bits);
  ptx_next(parser);
  return true;
}

bool ptx_grow(void *array, int n, int *capacity, size_t size) {
  if (n < *capacity) return true;
  int larger = *capacity ? 2 * *capacity : 64;
  void *old, *grown;
  memcpy(&old, array, sizeof old);
  grown = realloc(old, (size_t)larger * size);
  if (!grown) return false;
  memcpy(array, &grown, sizeof grown);
  *capacity = larger;
  return true;
}
