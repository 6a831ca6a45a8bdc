#include "tools/common/array.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool array_describe(llrt_dtype dtype, int rank, const int64_t *shape, array *out,
                    array_error *error) {
  *out = (array){.dtype = dtype, .rank = rank};
  if (!array_bytes(dtype, rank, shape, &out->bytes)) {
    *out = (array){0};
    return array_fail(error, "the shape is too large");
  }
  memcpy(out->shape, shape, (size_t)rank * sizeof *shape);
  return true;
}

bool array_allocate(array *a, array_error *error) {
  a->data = aligned_alloc(LINE, (a->bytes / LINE + 1) * LINE);
  if (!a->data) return array_fail(error, "no memory for %zu bytes", a->bytes);
  memset(a->data, 0, a->bytes);
  return true;
}

bool array_create(llrt_dtype dtype, int rank, const int64_t *shape, array *out,
                  array_error *error) {
  if (!array_describe(dtype, rank, shape, out, error)) return false;
  if (array_allocate(out, error)) return true;
  *out = (array){0};
  return false;
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
  if (a->map) munmap(a->map, a->mapped);
  else free(a->data);
  free(a->stored_as);
  *a = (array){0};
}

/* ---- maps ---- */

#define LEAST_MAPPED ((size_t)1 << 20) /* bytes; fewer are copied */

static void file_is_gone(int signal) {
  static const char text[] = "llrt: a file was cut short, or its disk failed, while it was used\n";
  (void)signal;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

/* Maps the file from its beginning to the end of a's data, which begin where it stands. */
static bool map_file(FILE *file, array *a, int protection, int flags) {
  off_t start = ftello(file);
  int descriptor = fileno(file);
  struct stat about;
  int64_t align = llrt_dtype_bits(a->dtype) / 8;
  if (a->bytes < LEAST_MAPPED || start < 0 || descriptor < 0 || fstat(descriptor, &about) != 0)
    return false;
  if (!S_ISREG(about.st_mode) || (align > 1 && start % align != 0)) return false;
  size_t size = (size_t)start + a->bytes;
  if ((flags & MAP_SHARED) && posix_fallocate(descriptor, 0, (off_t)size) != 0) return false;
  void *map = mmap(NULL, size, protection, flags, descriptor, 0);
  if (map == MAP_FAILED) return false;
  signal(SIGBUS, file_is_gone);
  a->map = map;
  a->mapped = size;
  a->data = (char *)map + start;
  return true;
}

bool array_map_result(FILE *file, array *a) {
  a->in_result = fflush(file) == 0 && map_file(file, a, PROT_READ | PROT_WRITE, MAP_SHARED);
  return a->in_result;
}

bool array_read_data(FILE *file, llrt_dtype dtype, int rank, const int64_t *shape, array *out,
                     array_error *error) {
  if (!array_describe(dtype, rank, shape, out, error)) return false;
  if (map_file(file, out, PROT_READ, MAP_PRIVATE)) return true;
  if (array_allocate(out, error)) {
    if (fread(out->data, 1, out->bytes, file) == out->bytes) return true;
    array_fail(error, "the data cannot be read: %s",
               ferror(file) ? strerror(errno) : "the file ends early");
  }
  array_destroy(out);
  return false;
}

bool array_write_data(FILE *file, const array *a) {
  return !a->data || a->in_result || fwrite(a->data, 1, a->bytes, file) == a->bytes;
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
