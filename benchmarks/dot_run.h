/* What the benchmarks of products share: matrices with their numbers on the host, and a product
 * that is prepared, compared at places spread over its result, and timed by single launches with
 * nothing in the caches. Failures end the process. */
#ifndef LLRT_BENCHMARKS_DOT_RUN_H
#define LLRT_BENCHMARKS_DOT_RUN_H

#include "flushed.h"

#include "runtime/described.h"

#include <llrt/dot.h>

/* A matrix on the device and its bytes on the host. All zero: there is none. */
typedef struct device_matrix {
  llrt_tensor tensor;
  unsigned char *host;
  size_t bytes;
} device_matrix;

/* Memory on both sides for a matrix whose tensor has dtype, shape and storage. */
void device_matrix_allocate(harness *h, device_matrix *x);
/* The host's bytes to the device; done when it returns. */
void device_matrix_upload(harness *h, const device_matrix *x);
void device_matrix_free(harness *h, device_matrix *x);
/* The number at an offset, elements. */
double device_matrix_number(const device_matrix *x, int64_t at);

/* Whether `got` is a sum that may be off by `error`, rounded to a type. */
bool dot_is_near(llrt_dtype type, double got, double sum, double error);

typedef struct dot_case {
  const char *name, *fields; /* fields: of the JSON record, what was multiplied */
  const described_dot *call;
  device_matrix *d;
  int64_t elements, places; /* of D; how many of them are compared, if it has so many */
  bool (*is_right_at)(const void *data, int64_t element); /* called by several threads */
  bool (*is_whole_right)(
      harness *h,
      const void *data); /* of all of D, on the host; with --whole; NULL: not looked at */
  const void *data;
  double operations;
  size_t weight_bytes; /* 0: their speed is not told */
} dot_case;

/* Prepares, compares, and times unless the options say check_only; the last launch has to leave
 * what the first one did. Prints a line and records. False: wrong. */
bool dot_run(harness *h, const flushed *f, const dot_case *c);

/* The columns' names above those lines. */
void dot_run_title(const harness *h, const char *first, bool weights);

#endif
