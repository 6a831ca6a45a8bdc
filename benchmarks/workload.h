/* The conversions that are measured, each with its own statement of what is right.
 *
 * Every workload is linear: bit i of the offset in one storage stands for the bits column[i] of the
 * offset in the other. Both the columns and the expressions for llrt are written down here, from
 * different sources: the columns from the definition (the PTX manual for fragments), so that a
 * result is never checked by the code that made it. */
#ifndef LLRT_BENCHMARKS_WORKLOAD_H
#define LLRT_BENCHMARKS_WORKLOAD_H

#include <llrt/tensor.h>

#define WORKLOAD_TEXT 4096

typedef struct workload {
  char name[48];
  llrt_dtype dtype;
  int bits; /* log2 elements */
  int rank;
  int64_t shape[2];
  char from[WORKLOAD_TEXT], to[WORKLOAD_TEXT]; /* storage expressions */
  /* destination[o] = source[XOR of column[i] over the set bits i of o]; with `backward`,
   * source[o] = destination[that]. */
  bool backward;
  uint64_t column[LLRT_MAX_BITS];
} workload;

/* Number of workloads; number `index` of tensors of `bytes` bytes. */
int workload_count(void);
void workload_make(int index, int64_t bytes, uint64_t seed, workload *out);

#endif
