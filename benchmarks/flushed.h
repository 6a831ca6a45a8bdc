/* Times of single launches with nothing in the caches: before each, memory of twice the L2 is
 * overwritten. The timer's own cost is in them; an empty kernel tells it. */
#ifndef LLRT_BENCHMARKS_FLUSHED_H
#define LLRT_BENCHMARKS_FLUSHED_H

#include "harness.h"

typedef struct flushed {
  harness *h;
  void *memory; /* that is overwritten */
  size_t bytes;
} flushed;

void flushed_init(harness *h, flushed *f);
void flushed_fini(flushed *f);

/* Microseconds of one launch(data), at most harness_options.repeat samples in its budget. */
harness_statistic flushed_measure(const flushed *f, void (*launch)(const void *data),
                                  const void *data);

/* The same of an empty kernel, on CUDA devices; zero elsewhere. Prints it. */
harness_statistic flushed_floor(const flushed *f);

#endif
