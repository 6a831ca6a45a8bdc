#include "base/text.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256

void llrt_text_init(llrt_text *text) { *text = (llrt_text){0}; }

void llrt_text_fini(llrt_text *text) {
  free(text->data);
  *text = (llrt_text){0};
}

/* Makes room for `more` bytes and the terminating zero; false once an allocation has failed. */
static bool text_reserve(llrt_text *text, size_t more) {
  if (text->failed) return false;
  size_t needed = text->length + more + 1;
  if (needed <= text->capacity) return true;
  size_t capacity = text->capacity ? text->capacity : FIRST_CAPACITY;
  while (capacity < needed) capacity *= 2;
  char *data = memory_resize(text->data, capacity);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void llrt_text_add_list(llrt_text *text, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  if (length >= 0 && text_reserve(text, (size_t)length)) {
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  }
  va_end(again);
}

void llrt_text_add(llrt_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  llrt_text_add_list(text, format, arguments);
  va_end(arguments);
}

void llrt_text_add_bytes(llrt_text *text, const void *bytes, size_t size) {
  if (!text_reserve(text, size)) return;
  if (size) memcpy(text->data + text->length, bytes, size);
  text->length += size;
  text->data[text->length] = 0;
}

llrt_status llrt_text_status(const llrt_text *text) {
  return text->failed
             ? llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %zu bytes of text", text->length)
             : LLRT_OK;
}

llrt_status llrt_text_copy(const llrt_text *text, char *buffer, size_t size, size_t *length) {
  if (length) *length = text->length;
  if (!buffer) return LLRT_OK;
  LLRT_REQUIRE(text->length < size, "the text has %zu characters, buffer has room for %zu bytes",
               text->length, size);
  memcpy(buffer, text->data, text->length + 1);
  return LLRT_OK;
}
