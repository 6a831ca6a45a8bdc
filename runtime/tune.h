/* Measuring candidates of an operation and keeping the fastest: what llrt_op_prepare_with does
 * (include/llrt/tune.h). */
#ifndef LLRT_RUNTIME_TUNE_H
#define LLRT_RUNTIME_TUNE_H

#include "runtime/prepared.h"

#include <llrt/tune.h>

/* Tunes an operation that is prepared for the shape of these tensors, and keeps what is chosen.
 * given: the description as the caller gave it. Errors: INVALID_ARGUMENT, UNSUPPORTED for tensors
 * that cannot be made up; what goes wrong later is told and changes nothing. */
llrt_status llrt_tune_op(llrt_op *op, const llrt_op_desc *given, const llrt_prepare_params *params);

/* ---- tune_bench.c, tune_fill.c: tensors of tuning's own, results, times ---- */

#define TUNE_MOST_FILLS 16

typedef struct tune_bench {
  llrt_device *device;
  const op_description *desc;
  op_call call; /* of tensors in memory of the bench's */
  llrt_index index[LLRT_MAX_TENSORS][LLRT_MAX_INDICES];
  uint64_t scalars[LLRT_MAX_TENSORS];
  size_t bytes[LLRT_MAX_TENSORS];
  bool written[LLRT_MAX_TENSORS];
  int n_fills; /* with other data each, for which results are compared */
  int filled;  /* number of the data that are there; -1: none are */
  char *input; /* host: data of one tensor, as far as they do not repeat */
  size_t input_bytes;
  char *result;  /* host: what is written, behind each other */
  char *planned; /* host: the same of the planned kernels, of every fill */
  size_t result_bytes;
  size_t moved_bytes; /* from and to the host, by one comparison */
  void *flush;        /* device: overwritten before each timed launch */
  size_t flush_bytes;
  llrt_event *start, *stop;
} tune_bench;

/* Memory and data for these tensors, which are complete but for memory. Errors: OUT_OF_MEMORY,
 * DEVICE, INVALID_ARGUMENT, UNSUPPORTED. What is there is to be given back in any event. */
llrt_status tune_bench_begin(const llrt_op *op, const llrt_op_desc *given, tune_bench *bench);
llrt_status tune_bench_allocate(tune_bench *bench);
void tune_bench_end(tune_bench *bench);

/* Every byte of what is written is the same; elements are as near as sums in another order are; or
 * they are not. */
typedef enum tune_results { TUNE_SAME_BITS, TUNE_OTHER_ORDER, TUNE_WRONG } tune_results;

/* Bytes of a tensor that is read, which are made on the host: what is behind them repeats. */
size_t tune_made_bytes(const tune_bench *bench, int tensor);

/* Data of this number in all that is read, unless they are there (what is written in place is
 * read), and other bytes than any result in what is written. */
llrt_status tune_fill(tune_bench *bench, int number);

/* Runs the variant on all data and keeps the results; or compares with those that were kept. */
llrt_status tune_bench_keep(tune_bench *bench, const llrt_op *op, int variant);
llrt_status tune_bench_compare(tune_bench *bench, const llrt_op *op, int variant,
                               tune_results *results);

/* One launch out of cold caches, microseconds. */
llrt_status tune_bench_time(tune_bench *bench, const llrt_op *op, int variant, double *us);

#endif
