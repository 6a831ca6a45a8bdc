/* A growing text buffer. After a failed allocation it stays empty of the rest and remembers. */
#ifndef LLRT_BASE_TEXT_H
#define LLRT_BASE_TEXT_H

#include <llrt/status.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct llrt_text {
  char *data; /* zero-terminated once anything was added; NULL before */
  size_t length, capacity;
  bool failed;
} llrt_text;

void llrt_text_init(llrt_text *text);
void llrt_text_fini(llrt_text *text);
void llrt_text_add(llrt_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void llrt_text_add_list(llrt_text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
void llrt_text_add_bytes(llrt_text *text, const void *bytes, size_t size);
/* Copies the text with its zero into buffer (NULL: nothing), of `size` bytes; *length, which may be
 * NULL: without the zero. Errors: INVALID_ARGUMENT where there is no room. */
llrt_status llrt_text_copy(const llrt_text *text, char *buffer, size_t size, size_t *length);
/* OK, or OUT_OF_MEMORY when an addition was lost. */
llrt_status llrt_text_status(const llrt_text *text);

#endif
