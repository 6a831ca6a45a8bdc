/* XXH3 of 128 bits as hexadecimal digits: against damage and mistakes, not against malice. */
#ifndef LLRT_TOOLS_MODEL_DIGEST_H
#define LLRT_TOOLS_MODEL_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 33 /* 32 digits and a zero */

typedef struct digest digest;

/* Bytes that come in parts. NULL: no memory. digest_end frees it. */
digest *digest_begin(void);
void digest_add(digest *d, const void *data, size_t bytes);
void digest_add_text(digest *d, const char *text); /* with its zero */
void digest_add_number(digest *d, uint64_t number);
void digest_end(digest *d, char out[DIGEST_SIZE]);

/* All at once. */
void digest_of(const void *data, size_t bytes, char out[DIGEST_SIZE]);

#endif
