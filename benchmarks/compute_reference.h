/* Expressions evaluated element by element in double, with what rounding may make of each node: the
 * reference for kernels, in tests and benchmarks. It knows nothing of plans, programs or their
 * order of joins. */
#ifndef LLRT_BENCHMARKS_COMPUTE_REFERENCE_H
#define LLRT_BENCHMARKS_COMPUTE_REFERENCE_H

#include "compute_ranges.h"

/* Extents of the named axes, and of "..." as one axis. */
typedef struct reference {
  const llrt_expr *expr;
  int64_t extent[EXPR_MAX_AXES + 1];
  const double *input[LLRT_EXPR_MAX_TENSORS]; /* row-major over the tensor's axes, leading first */
  llrt_dtype type[LLRT_EXPR_MAX_TENSORS];     /* of tensors */
  double scalar[LLRT_EXPR_MAX_SCALARS];
  int computes[LLRT_EXPR_MAX_NODES]; /* reference_type */
  range *value[LLRT_EXPR_MAX_NODES]; /* row-major over the axes along which it varies */
} reference;

/* Evaluates every node. Ownership: reference_fini. */
void reference_run(reference *r);
void reference_fini(reference *r);

/* Positions of tensor t, and what its element number `at` (row-major) is to be. */
int64_t reference_count(const reference *r, int t);
range reference_element(const reference *r, int t, int64_t at);

/* Whether an element's value (NaN: one) is what the range allows, once it is cast to `type`. */
bool reference_allows(llrt_dtype type, range expected, double got);

#endif
