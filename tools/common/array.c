#include "tools/common/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (UINT64_C(1) << 62)

bool array_fail(array_error *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  return false;
}

bool array_bytes(llrt_dtype dtype, int rank, const int64_t *shape, size_t *bytes) {
  uint64_t elements = 1;
  bool too_large = false;
  *bytes = 0;
  for (int axis = 0; axis < rank; axis++) {
    if (shape[axis] < 0) return false;
    if (shape[axis] == 0) return true;
  }
  for (int axis = 0; axis < rank; axis++) {
    too_large |= elements > MAX_BYTES / (uint64_t)shape[axis];
    elements = too_large ? 1 : elements * (uint64_t)shape[axis];
  }
  unsigned bits = (unsigned)llrt_dtype_bits(dtype);
  if (too_large || bits == 0 || elements > MAX_BYTES / bits) return false;
  *bytes = (size_t)((elements * bits + 7) / 8);
  return true;
}

#define LINE ((size_t)64) /* bytes to whose multiple data are aligned: operations run on them */

bool array_create(llrt_dtype dtype, int rank, const int64_t *shape, array *out,
                  array_error *error) {
  *out = (array){.dtype = dtype, .rank = rank};
  size_t bytes;
  if (!array_bytes(dtype, rank, shape, &bytes)) {
    *out = (array){0};
    return array_fail(error, "the shape is too large");
  }
  size_t lines = bytes / LINE + 1;
  out->data = aligned_alloc(LINE, lines * LINE);
  if (!out->data) {
    *out = (array){0};
    return array_fail(error, "no memory for %zu bytes", bytes);
  }
  memset(out->data, 0, bytes);
  out->bytes = bytes;
  memcpy(out->shape, shape, (size_t)rank * sizeof *shape);
  return true;
}

bool array_store_as(array *a, const char *text, int rank, const int64_t *shape,
                    array_error *error) {
  array_forget_storage(a);
  a->stored_as = strdup(text);
  if (!a->stored_as) return array_fail(error, "no memory for a storage's text");
  a->logical_rank = rank;
  memcpy(a->logical_shape, shape, (size_t)rank * sizeof *shape);
  return true;
}

void array_forget_storage(array *a) {
  free(a->stored_as);
  a->stored_as = NULL;
}

void array_destroy(array *a) {
  free(a->data);
  free(a->stored_as);
  *a = (array){0};
}

bool array_read_data(FILE *file, array *a, array_error *error) {
  if (fread(a->data, 1, a->bytes, file) == a->bytes) return true;
  return array_fail(error, "the data cannot be read: %s",
                    ferror(file) ? strerror(errno) : "the file ends early");
}

#define FIRST_PIECE ((size_t)1 << 22) /* bytes; pieces grow by the factor 2 */

/* Reads up to `bytes` bytes into *data, which grows as they come; NULL without memory. */
static size_t read_growing(FILE *file, size_t bytes, char **data) {
  size_t room = bytes < FIRST_PIECE ? bytes : FIRST_PIECE, read = 0;
  *data = aligned_alloc(LINE, (room / LINE + 1) * LINE);
  while (*data) {
    read += fread(*data + read, 1, room - read, file);
    if (read < room || read == bytes) break;
    room = bytes - room < room ? bytes : 2 * room;
    char *larger = aligned_alloc(LINE, (room / LINE + 1) * LINE);
    if (larger) memcpy(larger, *data, read);
    free(*data);
    *data = larger;
  }
  return read;
}

bool array_read_stream(FILE *file, llrt_dtype dtype, int rank, const int64_t *shape, array *out,
                       array_error *error) {
  size_t bytes;
  char *data;
  *out = (array){0};
  if (!array_bytes(dtype, rank, shape, &bytes))
    return array_fail(error, "the header's shape is too large");
  size_t read = read_growing(file, bytes, &data);
  if (!data) return array_fail(error, "no memory for %zu bytes", bytes);
  if (read == bytes && fgetc(file) == EOF && !ferror(file)) {
    *out = (array){.dtype = dtype, .rank = rank, .data = data, .bytes = bytes};
    memcpy(out->shape, shape, (size_t)rank * sizeof *shape);
    return true;
  }
  free(data);
  if (ferror(file)) return array_fail(error, "the data cannot be read: %s", strerror(errno));
  return array_fail(error, "the header promises %zu bytes of data, %s", bytes,
                    read < bytes ? "fewer come" : "more come");
}

bool array_file_size(FILE *file, uint64_t *size, array_error *error) {
  off_t here = ftello(file);
  off_t end = -1;
  *size = 0;
  if (here >= 0 && fseeko(file, 0, SEEK_END) == 0) end = ftello(file);
  if (end < 0 || fseeko(file, here, SEEK_SET) != 0)
    return array_fail(error, "the length cannot be found: %s", strerror(errno));
  *size = (uint64_t)end;
  return true;
}
