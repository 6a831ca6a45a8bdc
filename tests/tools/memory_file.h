/* Files in memory, for reader tests. */
#ifndef LLRT_TESTS_TOOLS_MEMORY_FILE_H
#define LLRT_TESTS_TOOLS_MEMORY_FILE_H

#include "tools/common/array.h"

typedef struct memory_file {
  char *data; /* malloc'ed */
  size_t size;
} memory_file;

typedef bool memory_writer(FILE *file, const array *a, array_error *error);

/* The bytes that `write` makes of an array. */
memory_file memory_file_write(memory_writer *write, const array *a);

/* Opens bytes for reading; any size, 0 too. */
FILE *memory_file_open(const void *data, size_t size);

/* An array whose bytes are numbered from 1. */
array memory_file_sample(llrt_dtype dtype, int rank, const int64_t *shape);

/* Whether type, shape, order and bytes are the same. */
bool memory_file_same(const array *a, const array *b);

#endif
