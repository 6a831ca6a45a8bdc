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

bool array_create(llrt_dtype dtype, int rank, const int64_t *shape, array *out,
                  array_error *error) {
  *out = (array){.dtype = dtype, .rank = rank};
  size_t bytes;
  if (!array_bytes(dtype, rank, shape, &bytes)) {
    *out = (array){0};
    return array_fail(error, "the shape is too large");
  }
  out->data = calloc(bytes > 0 ? bytes : 1, 1);
  if (!out->data) {
    *out = (array){0};
    return array_fail(error, "no memory for %zu bytes", bytes);
  }
  out->bytes = bytes;
  memcpy(out->shape, shape, (size_t)rank * sizeof *shape);
  return true;
}

void array_destroy(array *a) {
  free(a->data);
  *a = (array){0};
}

bool array_read_data(FILE *file, array *a, array_error *error) {
  if (fread(a->data, 1, a->bytes, file) == a->bytes) return true;
  return array_fail(error, "the data cannot be read: %s",
                    ferror(file) ? strerror(errno) : "the file ends early");
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
