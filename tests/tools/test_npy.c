/* .npy files: round trips, headers by other writers, and damage at every byte. */
#include "memory_file.h"

#include "tools/common/npy.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool read_bytes(const void *data, size_t size, array *out, array_error *error) {
  FILE *file = memory_file_open(data, size);
  bool done = npy_read(file, out, error);
  fclose(file);
  return done;
}

/* A version 1.0 file with this header text and `data_bytes` bytes of data. */
static memory_file make_file(const char *header, size_t data_bytes) {
  size_t length = strlen(header);
  memory_file made = {calloc(10 + length + data_bytes + 1, 1), 10 + length + data_bytes};
  memcpy(made.data, "\x93NUMPY\x01\x00", 8);
  made.data[8] = (char)(length & 0xff);
  made.data[9] = (char)(length >> 8);
  memcpy(made.data + 10, header, length);
  return made;
}

static const struct {
  llrt_dtype dtype;
  int rank;
  int64_t shape[4];
  bool col_major;
} round_trips[] = {
    {LLRT_F64, 2, {3, 5}, false},    {LLRT_F32, 1, {7}, false},
    {LLRT_F16, 3, {2, 3, 4}, false}, {LLRT_I64, 2, {3, 5}, true},
    {LLRT_I32, 0, {0}, false},       {LLRT_I16, 1, {0}, false},
    {LLRT_I8, 2, {0, 4}, false},     {LLRT_U64, 4, {1, 2, 1, 3}, false},
    {LLRT_U32, 2, {5, 1}, true},     {LLRT_U16, 1, {9}, false},
    {LLRT_U8, 2, {33, 65}, false},   {LLRT_BOOL, 1, {4}, false},
    {LLRT_B128, 1, {3}, false},      {LLRT_B16, 1, {3}, false},
};

Test(npy, round_trip) {
  for (size_t i = 0; i < sizeof round_trips / sizeof round_trips[0]; i++) {
    array a = memory_file_sample(round_trips[i].dtype, round_trips[i].rank, round_trips[i].shape);
    array b;
    array_error error;
    a.col_major = round_trips[i].col_major;
    memory_file file = memory_file_write(npy_write, &a);
    cr_assert(read_bytes(file.data, file.size, &b, &error), "case %zu: %s", i, error.text);
    cr_assert(memory_file_same(&a, &b), "case %zu", i);
    cr_assert_eq((file.size - a.bytes) % 64, 0, "the data are aligned to 64 bytes");
    array_destroy(&a);
    array_destroy(&b);
    free(file.data);
  }
}

/* Types that NumPy lacks come back as unsigned integers of their width. */
Test(npy, foreign_types) {
  static const struct {
    llrt_dtype written, read;
    int64_t columns;
  } cases[] = {{LLRT_BF16, LLRT_U16, 6}, {LLRT_E4M3, LLRT_U8, 6}, {LLRT_E2M1, LLRT_U8, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    array a = memory_file_sample(cases[i].written, 2, (int64_t[]){2, 6});
    array b;
    array_error error;
    memory_file file = memory_file_write(npy_write, &a);
    cr_assert(read_bytes(file.data, file.size, &b, &error), "%s", error.text);
    cr_assert_eq(b.dtype, cases[i].read);
    cr_assert_eq(b.shape[1], cases[i].columns);
    cr_assert_arr_eq(a.data, b.data, a.bytes);
    array_destroy(&a);
    array_destroy(&b);
    free(file.data);
  }
}

static const struct {
  const char *header;
  size_t data_bytes;
  const char *why; /* part of the message; NULL: is read */
} headers[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24, NULL},
    {"{\"shape\":(2,3,),\"descr\":\"<f4\",\"fortran_order\":True}", 24, NULL},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1, NULL},
    {"{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", 2, NULL},
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", 24, "big-endian"},
    {"{'descr': '|f4', 'fortran_order': False, 'shape': (2, 3), }", 24, "'|f4'"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", 24, "'<c8'"},
    {"{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }", 24, "'<U3'"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", 24, "'|O'"},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }", 24, "records"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (6,), }", 24, "fortran_order"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", 24, "no size"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6), }", 24, "malformed"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': [6], }", 24, "no tuple"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", 24, "malformed"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,) ", 24, "malformed"},
    {"{'descr': '<f4', 'fortran_order': False, }", 24, "lacks"},
    {"{'descr': '<f4', 'descr': '<f4', 'shape': (6,), }", 24, "twice"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}", 24, "unknown key"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), } x", 24, "goes on"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6), }", 24, "axes"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", 24, "promises 28"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", 24, "promises 20"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", 0, "large"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,), }", 0, "large"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 0, "no size"},
    {"", 24, "no dictionary"},
};

Test(npy, headers) {
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
    memory_file file = make_file(headers[i].header, headers[i].data_bytes);
    array a;
    array_error error = {""};
    bool done = read_bytes(file.data, file.size, &a, &error);
    cr_expect_eq(done, headers[i].why == NULL, "%s: %s", headers[i].header, error.text);
    if (!done) {
      cr_expect(headers[i].why && strstr(error.text, headers[i].why), "%s: %s", headers[i].header,
                error.text);
      cr_expect_null(a.data);
    }
    array_destroy(&a);
    free(file.data);
  }
}

Test(npy, longer_length_field) {
  static const char text[] = "{'descr': '|i1', 'fortran_order': False, 'shape': (2,)}";
  unsigned char bytes[12 + sizeof text + 1] = "\x93NUMPY\x02\x00";
  array a;
  array_error error;
  bytes[8] = sizeof text - 1;
  memcpy(bytes + 12, text, sizeof text - 1);
  for (int version = 2; version <= 3; version++) {
    bytes[6] = (unsigned char)version;
    cr_assert(read_bytes(bytes, 12 + sizeof text - 1 + 2, &a, &error), "%s", error.text);
    cr_assert_eq(a.shape[0], 2);
    array_destroy(&a);
  }
  bytes[6] = 4;
  cr_assert_not(read_bytes(bytes, sizeof bytes, &a, &error));
  memset(bytes + 6, 2, 1);
  memset(bytes + 8, 0xff, 4);
  cr_assert_not(read_bytes(bytes, sizeof bytes, &a, &error), "a header of 4 GiB");
}

/* No prefix of a file is a file. */
Test(npy, truncated) {
  array a = memory_file_sample(LLRT_F32, 2, (int64_t[]){3, 4}), b;
  array_error error;
  memory_file file = memory_file_write(npy_write, &a);
  for (size_t size = 0; size < file.size; size++)
    cr_assert_not(read_bytes(file.data, size, &b, &error), "%zu bytes are read", size);
  array_destroy(&a);
  free(file.data);
}

/* Whatever one byte becomes, the file is refused or read; the sanitizers watch. */
Test(npy, flipped_bytes) {
  array a = memory_file_sample(LLRT_F32, 2, (int64_t[]){3, 4}), b;
  array_error error;
  memory_file file = memory_file_write(npy_write, &a);
  for (size_t at = 0; at < file.size - a.bytes; at++) {
    char kept = file.data[at];
    for (int value = 0; value < 256; value++) {
      file.data[at] = (char)value;
      bool done = read_bytes(file.data, file.size, &b, &error);
      cr_assert(!done || b.bytes == a.bytes, "byte %zu as %d", at, value);
      array_destroy(&b);
    }
    file.data[at] = kept;
  }
  array_destroy(&a);
  free(file.data);
}

/* The same through a pipe that another process fills. */
static bool read_pipe(const char *data, size_t size, array *out, array_error *error) {
  int ends[2];
  cr_assert_eq(pipe(ends), 0);
  pid_t writer = fork();
  if (writer == 0) {
    close(ends[0]);
    while (size > 0) {
      ssize_t written = write(ends[1], data, size);
      if (written <= 0) _exit(0);
      data += written;
      size -= (size_t)written;
    }
    _exit(0);
  }
  close(ends[1]);
  FILE *file = fdopen(ends[0], "rb");
  bool done = npy_read(file, out, error);
  fclose(file);
  waitpid(writer, NULL, 0);
  return done;
}

/* Pieces grow: 4, 8 and 16 MiB, and what is left; a byte less and a byte more are refused, and so
 * is a header that promises what never comes. */
Test(npy, pipes) {
  static const int64_t elements[] = {0, 1, 100, 1 << 22, (1 << 22) + 1, 30000001};
  array_error error;
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
    array a = memory_file_sample(LLRT_U8, 1, &elements[i]), b;
    memory_file file = memory_file_write(npy_write, &a);
    cr_assert(read_pipe(file.data, file.size, &b, &error), "%s", error.text);
    cr_expect(memory_file_same(&a, &b), "%lld bytes", (long long)elements[i]);
    array_destroy(&b);
    if (elements[i] > 0) {
      cr_expect_not(read_pipe(file.data, file.size - 1, &b, &error));
      cr_expect(strstr(error.text, "fewer come"), "%s", error.text);
    }
    file.data = realloc(file.data, file.size + 1);
    file.data[file.size] = 0;
    cr_expect_not(read_pipe(file.data, file.size + 1, &b, &error));
    cr_expect(strstr(error.text, "more come"), "%s", error.text);
    cr_expect_null(b.data);
    array_destroy(&a);
    free(file.data);
  }
  memory_file file = make_file("{'descr': '|u1', 'fortran_order': False, "
                               "'shape': (1125899906842624,)}",
                               10);
  array b;
  cr_expect_not(read_pipe(file.data, file.size, &b, &error));
  cr_expect(strstr(error.text, "fewer come"), "%s", error.text);
  free(file.data);
}
