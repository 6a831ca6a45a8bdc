/* What llrt_expressions does, by its first word. Each returns the program's exit status: 0 where
 * all is right. */
#ifndef LLRT_TESTS_PROOFS_H
#define LLRT_TESTS_PROOFS_H

#include <llrt/llrt.h>

typedef struct proof_options {
  const char *name; /* of the device */
  llrt_device *device;
  uint64_t seed, stride;
  int64_t count, rows, length, step; /* length: of rows that may have any; each step-th is alone */
  int threads;
  const char *only; /* a function or an expression; NULL: all */
} proof_options;

/* Random expressions against a reference with a bound for each node. */
int proof_draws(const proof_options *options);
/* The largest error of each function over all bit patterns, as a table. */
int proof_functions(const proof_options *options);
/* Rows of the catalogue alone, and at other alignments. */
int proof_rows(const proof_options *options);
/* How long the catalogue's expressions take to prepare, without a cache, as a table. */
int proof_prepare(const proof_options *options);

#endif
