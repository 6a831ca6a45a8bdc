#include "memory_file.h"

#include <criterion/criterion.h>

#include <string.h>

memory_file memory_file_write(memory_writer *write, const array *a) {
  memory_file made = {0};
  array_error error;
  FILE *stream = open_memstream(&made.data, &made.size);
  cr_assert_not_null(stream);
  cr_assert(write(stream, a, &error), "%s", error.text);
  cr_assert_eq(fclose(stream), 0);
  return made;
}

FILE *memory_file_open(const void *data, size_t size) {
  FILE *stream = size > 0 ? fmemopen((void *)data, size, "rb") : fopen("/dev/null", "rb");
  cr_assert_not_null(stream);
  return stream;
}

array memory_file_sample(llrt_dtype dtype, int rank, const int64_t *shape) {
  array a;
  array_error error;
  cr_assert(array_create(dtype, rank, shape, &a, &error), "%s", error.text);
  for (size_t i = 0; i < a.bytes; i++) ((unsigned char *)a.data)[i] = (unsigned char)(i + 1);
  return a;
}

bool memory_file_same(const array *a, const array *b) {
  return a->dtype == b->dtype && a->rank == b->rank && a->col_major == b->col_major &&
         a->bytes == b->bytes && memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
         memcmp(a->data, b->data, a->bytes) == 0;
}
