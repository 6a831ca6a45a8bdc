/* Digests of what cases compile, for scripts/digest: LLRT_TEST_DIGEST is the file to which they go.
 * The compiler library that tells them (tests/digest/observer.h) stands beside the program. */
#ifndef LLRT_TESTS_CONFORMANCE_DIGEST_LOG_H
#define LLRT_TESTS_CONFORMANCE_DIGEST_LOG_H

#include "tests/digest/observer.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct digest_log {
  char library[4096];
  FILE *records; /* NULL: none are asked for */
  llrt_digest_take_fn *take;
  const char *llvm;
} digest_log;

/* By the environment; false, with a line that says why, where a file or a library cannot be had. */
bool digest_log_open(digest_log *log);

/* "suite target llvm plan ir object title": of what was compiled since the last call, 0 where
 * nothing was. */
void digest_log_add(const digest_log *log, const char *suite, const char *target,
                    const char *title);

/* False: something could not be written. */
bool digest_log_close(digest_log *log);

#endif
