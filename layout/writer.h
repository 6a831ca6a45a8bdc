/* Printing into a caller's buffer by snprintf's rules: no allocation, the full length always
 * counted. */
#ifndef LLRT_LAYOUT_WRITER_H
#define LLRT_LAYOUT_WRITER_H

#include <llrt/storage.h>

typedef struct writer {
  char *buffer; /* NULL where size is 0 */
  size_t size;
  size_t length; /* of the whole text so far, written or not */
} writer;

void writer_add(writer *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The literal form of a well-formed layout. */
void writer_add_layout(writer *self, const llrt_layout *layout);

/* The shortest form that says a valid storage's rule. */
void writer_add_storage(writer *self, const llrt_storage *storage);

/* Checks a print function's arguments and makes an empty text of its buffer. */
llrt_status writer_start(char *buffer, size_t size, size_t *length, writer *out);

#endif
