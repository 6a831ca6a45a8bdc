/* JSON text (RFC 8259) as a tree that knows where each value stands. Read strictly: UTF-8, no
 * comments, no key twice, at most JSON_MAX_DEPTH lists and objects inside each other, at most
 * JSON_MAX_KEYS keys in an object.
 *
 * Thread: a tree is read by any number of threads at once. */
#ifndef LLRT_BASE_JSON_H
#define LLRT_BASE_JSON_H

#include "base/text.h"

#include <llrt/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_MAX_DEPTH 64
#define JSON_MAX_BYTES (16 << 20)
#define JSON_MAX_KEYS 8192 /* each is compared with those before it */

typedef enum json_kind {
  JSON_NULL,
  JSON_BOOL,
  JSON_NUMBER,
  JSON_TEXT,
  JSON_LIST,
  JSON_OBJECT
} json_kind;

typedef struct json_value {
  json_kind kind;
  int32_t line, column; /* from 1; columns count bytes */
  int32_t index;        /* in its list or object, from 0 */
  int32_t n;            /* members */
  const char *key;      /* in its object, zero-terminated, without zeros inside; else NULL */
  const char *text;     /* TEXT: likewise; NUMBER: as it is written */
  double number;        /* NUMBER */
  int64_t integer;      /* NUMBER that is whole and fits; BOOL: 0, 1 */
  bool whole;           /* integer is the number */
  struct json_value *up, *first, *next; /* the tree: members in the order of the text */
} json_value;

typedef struct json_tree {
  json_value *root;
  void *memory;
} json_tree;

/* Reads all of `bytes` bytes. Ownership: json_free. Errors, `tree` being empty then:
 * INVALID_ARGUMENT, whose message begins with line and column; OUT_OF_MEMORY. */
llrt_status json_read(const char *json, size_t bytes, json_tree *tree);
void json_free(json_tree *tree);

/* The member of that key; NULL: there is none, or `value` is no object. */
const json_value *json_member(const json_value *value, const char *key);

/* The value that a path of keys with dots between leads to; NULL where it ends. */
const json_value *json_follow(const json_value *value, const char *path);

/* Adds where a value stands: `rows[0].out."a b"`; nothing for the root. */
void json_add_path(llrt_text *text, const json_value *value);

/* Adds the value as JSON on one line; `text` as a JSON string. */
void json_add(llrt_text *text, const json_value *value);
void json_add_string(llrt_text *text, const char *string);

/* Fails with "line:column: path: message". */
llrt_status json_error(llrt_status status, const json_value *value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
