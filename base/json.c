#include "base/json.h"

#include "base/float_mode.h"
#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values stand in one array, whose size commas and brackets bound; texts behind each other. */
typedef struct reader {
  const char *at, *end, *line_begin;
  int32_t line;
  json_value *free;
  char *text;
} reader;

static llrt_status fail(const reader *r, const char *message) {
  return llrt_error(LLRT_INVALID_ARGUMENT, "%d:%d: %s", r->line, (int)(r->at - r->line_begin) + 1,
                    message);
}

static void skip_space(reader *r) {
  for (; r->at < r->end; r->at++) {
    if (*r->at == '\n') {
      r->line++;
      r->line_begin = r->at + 1;
    } else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r') {
      return;
    }
  }
}

static bool next_is(const reader *r, char sign) { return r->at < r->end && *r->at == sign; }

static bool accept(reader *r, char sign) {
  if (!next_is(r, sign)) return false;
  r->at++;
  return true;
}

/* ---- strings ---- */

/* Bytes of the well-formed UTF-8 character at `at` (Unicode 3.9, D92); 0: there is none. */
static size_t character_bytes(const unsigned char *at, size_t left) {
  if (at[0] < 0x80) return 1;
  size_t n = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  if (at[0] < 0xc2 || at[0] > 0xf4 || n > left) return 0;
  for (size_t i = 1; i < n; i++)
    if (at[i] < 0x80 || at[i] > 0xbf) return 0;
  unsigned first = (unsigned)at[0] << 8 | at[1];
  bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
  bool beyond = (first >= 0xeda0 && at[0] == 0xed) || first >= 0xf490;
  return overlong || beyond ? 0 : n;
}

static void put_character(reader *r, uint32_t code) {
  if (code < 0x80) {
    *r->text++ = (char)code;
  } else if (code < 0x800) {
    *r->text++ = (char)(0xc0 | code >> 6);
    *r->text++ = (char)(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *r->text++ = (char)(0xe0 | code >> 12);
    *r->text++ = (char)(0x80 | (code >> 6 & 0x3f));
    *r->text++ = (char)(0x80 | (code & 0x3f));
  } else {
    *r->text++ = (char)(0xf0 | code >> 18);
    *r->text++ = (char)(0x80 | (code >> 12 & 0x3f));
    *r->text++ = (char)(0x80 | (code >> 6 & 0x3f));
    *r->text++ = (char)(0x80 | (code & 0x3f));
  }
}

static bool read_hex(reader *r, uint32_t *code) {
  *code = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    if (r->at == r->end) return false;
    char c = *r->at;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return false;
    *code = *code << 4 | (uint32_t)digit;
  }
  return true;
}

/* What stands behind a backslash. */
static llrt_status read_escape(reader *r) {
  static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  const char *found = r->at < r->end && *r->at ? strchr(names, *r->at) : NULL;
  if (found) {
    *r->text++ = meanings[found - names];
    r->at++;
    return LLRT_OK;
  }
  uint32_t code, low = 0;
  if (!accept(r, 'u') || !read_hex(r, &code)) return fail(r, "no escape of JSON's");
  if (code == 0) return fail(r, "a zero inside of a text");
  if (code >= 0xd800 && code < 0xe000) {
    if (code >= 0xdc00 || !accept(r, '\\') || !accept(r, 'u') || !read_hex(r, &low) ||
        low < 0xdc00 || low > 0xdfff)
      return fail(r, "half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
  }
  put_character(r, code);
  return LLRT_OK;
}

static llrt_status read_string(reader *r, const char **string) {
  *string = r->text;
  if (!accept(r, '"')) return fail(r, "a text is missing");
  while (!accept(r, '"')) {
    if (r->at == r->end) return fail(r, "a text does not end");
    const unsigned char *at = (const unsigned char *)r->at;
    if (*at < 0x20) return fail(r, "a control character inside of a text");
    if (accept(r, '\\')) {
      LLRT_TRY(read_escape(r));
      continue;
    }
    size_t n = character_bytes(at, (size_t)(r->end - r->at));
    if (n == 0) return fail(r, "no UTF-8");
    memcpy(r->text, r->at, n);
    r->text += n;
    r->at += n;
  }
  *r->text++ = 0;
  return LLRT_OK;
}

/* ---- numbers ---- */

static bool digits(reader *r) {
  const char *begin = r->at;
  while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
  return r->at > begin;
}

static double to_double(const char *text) {
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), old = uselocale(c);
  double value = strtod(text, NULL);
  uselocale(old);
  if (c) freelocale(c);
  return value;
}

static llrt_status read_number(reader *r, json_value *value) {
  const char *begin = r->at;
  accept(r, '-');
  bool zero = next_is(r, '0'), whole = true;
  if (zero ? (void)r->at++, false : !digits(r)) return fail(r, "no value");
  if (accept(r, '.')) {
    whole = false;
    if (!digits(r)) return fail(r, "a number ends at its point");
  }
  if (accept(r, 'e') || accept(r, 'E')) {
    whole = false;
    if (!accept(r, '-')) accept(r, '+');
    if (!digits(r)) return fail(r, "a number's exponent is missing");
  }
  value->kind = JSON_NUMBER;
  value->text = r->text;
  memcpy(r->text, begin, (size_t)(r->at - begin));
  r->text += r->at - begin;
  *r->text++ = 0;
  value->number = to_double(value->text);
  errno = 0;
  value->integer = strtoll(value->text, NULL, 10);
  value->whole = whole && errno == 0;
  if (!value->whole) value->integer = 0;
  return LLRT_OK;
}

/* ---- values ---- */

static bool word(reader *r, const char *name) {
  size_t n = strlen(name);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, name, n) != 0) return false;
  r->at += n;
  return true;
}

static llrt_status read_value(reader *r, json_value *value, int depth);

static json_value *new_value(reader *r, json_value *up, json_value **last) {
  json_value *value = r->free++;
  *value = (json_value){.up = up, .index = up ? up->n++ : 0};
  if (up && *last) (*last)->next = value;
  else if (up) up->first = value;
  *last = value;
  return value;
}

static llrt_status read_key(reader *r, json_value *member) {
  skip_space(r);
  if (member->index >= JSON_MAX_KEYS) return fail(r, "too many keys in one object");
  reader key = *r;
  LLRT_TRY(read_string(r, &member->key));
  for (const json_value *other = member->up->first; other != member; other = other->next)
    if (strcmp(other->key, member->key) == 0) return fail(&key, "this key stands here twice");
  skip_space(r);
  return accept(r, ':') ? LLRT_OK : fail(r, ": is missing behind a key");
}

static llrt_status read_members(reader *r, json_value *value, char close, int depth) {
  json_value *last = NULL;
  if (depth == JSON_MAX_DEPTH) return fail(r, "too deep");
  r->at++;
  skip_space(r);
  if (accept(r, close)) return LLRT_OK;
  do {
    json_value *member = new_value(r, value, &last);
    if (value->kind == JSON_OBJECT) LLRT_TRY(read_key(r, member));
    LLRT_TRY(read_value(r, member, depth + 1));
    skip_space(r);
  } while (accept(r, ','));
  return accept(r, close) ? LLRT_OK
                          : fail(r, close == ']' ? ", or ] is missing" : ", or } is missing");
}

static llrt_status read_value(reader *r, json_value *value, int depth) {
  skip_space(r);
  value->line = r->line;
  value->column = (int32_t)(r->at - r->line_begin) + 1;
  if (next_is(r, '{') || next_is(r, '[')) {
    bool object = next_is(r, '{');
    value->kind = object ? JSON_OBJECT : JSON_LIST;
    return read_members(r, value, object ? '}' : ']', depth);
  }
  if (next_is(r, '"')) {
    value->kind = JSON_TEXT;
    return read_string(r, &value->text);
  }
  if (word(r, "null")) return LLRT_OK;
  value->kind = JSON_BOOL;
  if (word(r, "true")) {
    value->integer = 1;
    return LLRT_OK;
  }
  return word(r, "false") ? LLRT_OK : read_number(r, value);
}

llrt_status json_read(const char *json, size_t bytes, json_tree *tree) {
  *tree = (json_tree){0};
  LLRT_REQUIRE(bytes <= JSON_MAX_BYTES, "1:1: %zu bytes of JSON, more than %d", bytes,
               JSON_MAX_BYTES);
  size_t values = 1;
  for (size_t i = 0; i < bytes; i++) values += json[i] == ',' || json[i] == '[' || json[i] == '{';
  /* Of a text at most as many bytes as of its JSON; a zero behind it stands for a quote, and behind
   * a number for what ends it. */
  tree->memory = memory_new(values * sizeof *tree->root + bytes + 1);
  if (!tree->memory) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %zu values", values);
  reader r = {.at = json, .end = json + bytes, .line_begin = json, .line = 1, .free = tree->memory};
  r.text = (char *)(r.free + values);
  json_value *last = NULL;
  tree->root = new_value(&r, NULL, &last);
  llrt_status status = read_value(&r, tree->root, 0);
  skip_space(&r);
  if (!status && r.at < r.end) status = fail(&r, "something behind the end");
  if (status) json_free(tree);
  return status;
}

void json_free(json_tree *tree) {
  free(tree->memory);
  *tree = (json_tree){0};
}

/* ---- looking ---- */

const json_value *json_member(const json_value *value, const char *key) {
  if (!value || value->kind != JSON_OBJECT) return NULL;
  for (const json_value *member = value->first; member; member = member->next)
    if (strcmp(member->key, key) == 0) return member;
  return NULL;
}

const json_value *json_follow(const json_value *value, const char *path) {
  while (value && *path) {
    size_t n = strcspn(path, ".");
    const json_value *member = value->kind == JSON_OBJECT ? value->first : NULL;
    while (member && (strlen(member->key) != n || memcmp(member->key, path, n) != 0))
      member = member->next;
    value = member;
    path += n + (path[n] == '.');
  }
  return value;
}

static bool is_plain(const char *key) {
  for (const char *at = key; *at; at++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *at))
      return false;
  return *key;
}

void json_add_path(llrt_text *text, const json_value *value) {
  if (!value->up) return;
  json_add_path(text, value->up);
  if (!value->key) {
    llrt_text_add(text, "[%d]", value->index);
    return;
  }
  llrt_text_add(text, value->up->up ? "." : "");
  if (is_plain(value->key)) llrt_text_add(text, "%s", value->key);
  else json_add_string(text, value->key);
}

void json_add_string(llrt_text *text, const char *string) {
  static const char hex[] = "0123456789abcdef";
  llrt_text_add(text, "\"");
  for (const char *at = string; *at; at++) {
    unsigned char c = (unsigned char)*at;
    if (c == '"' || c == '\\') llrt_text_add(text, "\\%c", c);
    else if (c < 0x20 || c == 0x7f) llrt_text_add(text, "\\u00%c%c", hex[c >> 4], hex[c & 15]);
    else llrt_text_add(text, "%c", c);
  }
  llrt_text_add(text, "\"");
}

void json_add(llrt_text *text, const json_value *value) {
  bool object = value->kind == JSON_OBJECT;
  switch (value->kind) {
  case JSON_NULL: llrt_text_add(text, "null"); break;
  case JSON_BOOL: llrt_text_add(text, value->integer ? "true" : "false"); break;
  case JSON_NUMBER: llrt_text_add(text, "%s", value->text); break;
  case JSON_TEXT: json_add_string(text, value->text); break;
  case JSON_LIST:
  case JSON_OBJECT:
    llrt_text_add(text, object ? "{" : "[");
    for (const json_value *member = value->first; member; member = member->next) {
      if (member != value->first) llrt_text_add(text, ", ");
      if (object) {
        json_add_string(text, member->key);
        llrt_text_add(text, ": ");
      }
      json_add(text, member);
    }
    llrt_text_add(text, object ? "}" : "]");
  }
}

llrt_status json_error(llrt_status status, const json_value *value, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  llrt_text path;
  llrt_text_init(&path);
  json_add_path(&path, value);
  llrt_status done = llrt_error(status, "%d:%d: %s%s%s", value->line, value->column,
                                path.length ? path.data : "", path.length ? ": " : "", message);
  llrt_text_fini(&path);
  return done;
}
