/* Tables of the suite, each in a file of its own. A row stands for a case: what is added goes to
 * the end of its table. */
#ifndef LLRT_TESTS_CONFORMANCE_ROWS_H
#define LLRT_TESTS_CONFORMANCE_ROWS_H

#include "../dot/dot_problem.h"

#include <llrt/llrt.h>

extern const dot_problem dot_rows[];
extern const int dot_rows_count;

typedef struct reduce_row {
  const char *source, *destination, *values; /* values NULL: none */
  int rank;
  int64_t shape[4];
  uint32_t axes;
  llrt_combiner op;
  llrt_dtype from, to; /* to NONE: what llrt_reduce gives */
  llrt_dtype accumulate;
  bool keeps, special; /* special: NaN, infinities and zeros of both signs are among the elements */
  int32_t count; /* > 0: so many positions along the first reduced axis, says device memory; < 0:
                    none */
} reduce_row;

extern const reduce_row reduce_rows[];
extern const int reduce_rows_count;

typedef enum gather_call { GATHER_INTO, GATHER_NEW, SCATTER_INTO } gather_call;

/* Of a gather `store` is the source and `dense` the result, of a scatter the destination and the
 * source. */
typedef struct gather_case {
  gather_call call;
  llrt_gather_form form;
  llrt_out_of_range range;
  llrt_dtype dtype, to, values; /* to NONE: the same; values: of the index */
  int rank, axis;
  int64_t store_shape[3], index_shape[3];
  const char *store, *index, *dense;
} gather_case;

extern const gather_case gather_rows[];
extern const int gather_rows_count;

#endif
