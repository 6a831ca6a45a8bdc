/* What the targets of readers of arrays share. */
#ifndef LLRT_TESTS_FUZZ_ARRAY_H
#define LLRT_TESTS_FUZZ_ARRAY_H

#include "tests/fuzz/fuzz.h"

#include "tools/common/array.h"

#include <stdbool.h>
#include <string.h>

typedef bool fuzz_reader(FILE *file, array *out, array_error *error);
typedef bool fuzz_writer(FILE *file, const array *from, array_error *error);

/* Whether the bytes are a file that the reader takes. Where not, it has said why and kept nothing.
 */
static inline bool fuzz_read(fuzz_reader *read, const void *data, size_t size, array *out) {
  array_error error;
  FILE *file = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : fopen("/dev/null", "rb");
  FUZZ_CHECK(file);
  bool done = read(file, out, &error);
  fclose(file);
  FUZZ_CHECK(done || (strnlen(error.text, sizeof error.text) > 0 && !out->data && !out->stored_as));
  return done;
}

static inline bool fuzz_lie_alike(const array *a, const array *b) {
  if (!a->stored_as || !b->stored_as) return !a->stored_as && !b->stored_as;
  return strcmp(a->stored_as, b->stored_as) == 0 && a->logical_rank == b->logical_rank &&
         memcmp(a->logical_shape, b->logical_shape, sizeof a->logical_shape) == 0;
}

/* What is read is written, and reads back the same. */
static inline void fuzz_read_back(fuzz_reader *read, fuzz_writer *write, const uint8_t *data,
                                  size_t size) {
  array first, second;
  array_error error;
  char *written = NULL;
  size_t length = 0;
  if (!fuzz_read(read, data, size, &first)) return;
  FUZZ_CHECK(first.bytes <= size);
  FILE *file = open_memstream(&written, &length);
  FUZZ_CHECK(file && write(file, &first, &error));
  fclose(file);
  FUZZ_CHECK(fuzz_read(read, written, length, &second));
  FUZZ_CHECK(first.dtype == second.dtype && first.rank == second.rank);
  FUZZ_CHECK(first.col_major == second.col_major && first.bytes == second.bytes);
  FUZZ_CHECK(fuzz_lie_alike(&first, &second));
  FUZZ_CHECK(memcmp(first.shape, second.shape, sizeof first.shape) == 0);
  FUZZ_CHECK(memcmp(first.data, second.data, first.bytes) == 0);
  array_destroy(&first);
  array_destroy(&second);
  free(written);
}

#endif
