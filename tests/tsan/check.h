/* What ends a program at the first call that fails. */
#ifndef LLRT_TESTS_TSAN_CHECK_H
#define LLRT_TESTS_TSAN_CHECK_H

#include <llrt/llrt.h>

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) \
  do { \
    if ((call) != LLRT_OK) { \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, llrt_last_error()); \
      exit(1); \
    } \
  } while (0)

#endif
