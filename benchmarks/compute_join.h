/* What reductions and scans make of ranges, one after the other. */
#ifndef LLRT_BENCHMARKS_COMPUTE_JOIN_H
#define LLRT_BENCHMARKS_COMPUTE_JOIN_H

#include "compute_ranges.h"

typedef struct joiner {
  int op, type; /* of a reduction */
  int64_t n;    /* joined */
  range so_far;
  double sum;          /* of magnitudes */
  double above, below; /* log2 of the largest, and of the smallest, product of any */
  int64_t true_ones, open_ones;
  int64_t first, last; /* of those that may be the extreme one */
  bool any;
} joiner;

/* op: of a reduction or scan, of arguments of this type. */
void join_begin(joiner *j, int op, int type);
void join_add(joiner *j, range x);
/* What has been joined. */
range join_value(const joiner *j);

#endif
