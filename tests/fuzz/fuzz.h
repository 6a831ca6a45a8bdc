/* What the fuzz targets share. Each defines the one function; it is linked with libFuzzer, or with
 * replay.c, which runs files. */
#ifndef LLRT_TESTS_FUZZ_H
#define LLRT_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* -1: the input is none of those that the target is about. 1: it was a finding, which is printed.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is left of the input; 0 once it is used up. */
typedef struct bytes {
  const uint8_t *data;
  size_t size, at;
} bytes;

uint8_t bytes_next(bytes *from);

/* Ends the program, as a finding, when what has to hold does not. */
#define FUZZ_CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      abort(); \
    } \
  } while (0)

#endif
