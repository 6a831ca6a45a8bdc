/* What the benchmarks of operations along an axis and of value maps share: one operation from the
 * arena's source to its destination is compared in full, then timed beside a copy or a read of the
 * same run. */
#ifndef LLRT_BENCHMARKS_AXIS_BENCH_H
#define LLRT_BENCHMARKS_AXIS_BENCH_H

#include "arena.h"

#include "runtime/described.h"

typedef enum axis_reference { AXIS_OF_COPY, AXIS_OF_READ } axis_reference;

typedef struct axis_run {
  const char *name, *op;
  int axis;
  int64_t shape[2]; /* of the source; shape[1] runs fastest */
  int64_t size;     /* of the command line: bytes of one tensor */
  int64_t bytes;    /* that GB/s counts */
  axis_reference reference;
  llrt_tensor tensors[3]; /* source, destination, scales */
  bool scaled;            /* there are scales */
  llrt_op *op_prepared;
  llrt_run_params params;
  size_t source_bytes,
      result_bytes; /* result_bytes are compared, and those behind them must stay */
  /* How many elements of the result are wrong. */
  int64_t (*count_wrong)(const struct axis_run *r, const void *source, const void *result);
  const void *data; /* count_wrong's own */
} axis_run;

/* A row-major matrix of r->shape in device memory. */
llrt_tensor axis_matrix(const harness *h, const axis_run *r, llrt_dtype dtype, void *data);

/* Prepares the operation with coarse promises and its workspace; axis_run_fini waits and frees
 * them. */
llrt_status axis_run_prepare(harness *h, axis_run *r, op_description *desc);
void axis_run_fini(harness *h, axis_run *r);

/* Runs, compares, times, prints and records it. Returns whether it was right. */
bool axis_run_measure(harness *h, arena *a, const axis_run *r);

/* A subcommand: a list of cases, each of which begins with its name (const char *); or, where names
 * follow from the size, what lists and runs them. */
typedef struct axis_bench {
  const char *title;
  axis_reference reference;
  int64_t size; /* bytes of a tensor where the command line names none */
  const void *cases;
  size_t case_bytes;
  int n_cases;
  void (*begin)(harness *h, arena *a,
                int64_t size); /* before the cases of a size; NULL: nothing is to be done */
  bool (*run_case)(harness *h, arena *a, int64_t size,
                   const void *of); /* returns whether it was right */
  void (*list)(void);
  bool (*run_cases)(harness *h, arena *a, int64_t size); /* returns whether all were right */
} axis_bench;

/* The whole subcommand; returns its exit status. */
int axis_bench_main(const axis_bench *b, int argc, char *argv[]);

#endif
