/* An array read from or written to a file: shape, dtype and bytes in host memory.
 *
 * Functions return true when done; otherwise false, with one line in error->text that says why, and
 * their output zeroed. */
#ifndef LLRT_TOOLS_COMMON_ARRAY_H
#define LLRT_TOOLS_COMMON_ARRAY_H

#include <llrt/tensor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct array {
  llrt_dtype dtype;
  int32_t rank;
  int64_t shape[LLRT_MAX_RANK];
  bool col_major; /* dim0 is fastest in data; otherwise the last axis is */
  void *data;     /* malloc'ed, aligned to 64 bytes, or inside of `map`; 4-bit elements two a byte,
                     the first in the low nibble */
  size_t bytes;
  char *stored_as; /* malloc'ed: data are the memory of this storage, of a tensor of logical_shape;
                      NULL: elements lie as shape and col_major say */
  int32_t logical_rank;
  int64_t logical_shape[LLRT_MAX_RANK];
  void *map; /* of a file, so many bytes; what was read may not be written. NULL: there is none */
  size_t mapped;
  bool in_result; /* the map is of the file that the array is written to */
} array;

typedef struct array_error {
  char text[512];
} array_error;

/* Formats error->text and returns false: `return array_fail(error, "…", …);` */
bool array_fail(array_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes of a packed array, the last byte filled up. False when the product of the extents or the
 * bytes pass 2^62, or an extent is negative. */
bool array_bytes(llrt_dtype dtype, int rank, const int64_t *shape, size_t *bytes);

/* The type and shape, row-major, of data that are to come: a->data is NULL. */
bool array_describe(llrt_dtype dtype, int rank, const int64_t *shape, array *out,
                    array_error *error);

/* Zeroed data for what *a is. */
bool array_allocate(array *a, array_error *error);

/* Both. */
bool array_create(llrt_dtype dtype, int rank, const int64_t *shape, array *out, array_error *error);

/* Says that a's data are the memory of the storage that `text` describes. */
bool array_store_as(array *a, const char *text, int rank, const int64_t *shape, array_error *error);

/* Takes it back: the elements lie as shape says. */
void array_forget_storage(array *a);

/* Frees what *a holds and zeroes it; an all-zero array is accepted. */
void array_destroy(array *a);

/* Makes *out of the type and shape with the bytes from where `file` stands: a map of the file,
 * which takes no memory that the system cannot take back, where they are many and lie as elements
 * must; else they are read. Precondition: the file's length was found to be enough, so that a
 * damaged header cannot ask for more memory than the file has bytes. A mapped file that somebody
 * cuts short ends the program, with a message. */
bool array_read_data(FILE *file, llrt_dtype dtype, int rank, const int64_t *shape, array *out,
                     array_error *error);

/* Data for what *a is that are the bytes of `file` (opened for both) from where it stands, and on
 * its disk when they were written there. False: it is no such file, or has no room; *a is as it
 * was.
 */
bool array_map_result(FILE *file, array *a);

/* Writes what a->data has: NULL, which is to come, and what is the file's own, not. */
bool array_write_data(FILE *file, const array *a);

/* The same for a file whose length nobody knows, such as a pipe: makes *out of the type and shape
 * with no more memory than twice what comes, and wants the file to end there. */
bool array_read_stream(FILE *file, llrt_dtype dtype, int rank, const int64_t *shape, array *out,
                       array_error *error);

/* The length of a seekable file in bytes. */
bool array_file_size(FILE *file, uint64_t *size, array_error *error);

#endif
