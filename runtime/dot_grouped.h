/* Grouped products (llrt_dot_params.ends): their shapes, and what they do not take. */
#ifndef LLRT_RUNTIME_DOT_GROUPED_H
#define LLRT_RUNTIME_DOT_GROUPED_H

#include "jit/plan/types/description.h"

/* The extents of experts, M, N, K, and *own: `ends` without the leading zero that there may be.
 * Errors: INVALID_ARGUMENT, naming the argument. */
llrt_status llrt_dot_grouped_shape(const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d,
                                   const llrt_tensor *ends, int64_t extent[LLRT_MAX_RANK],
                                   llrt_tensor *own);

/* Rank and experts of the result of the form of sums, whose `ends` have no leading zero. */
llrt_status llrt_dot_grouped_sums(const llrt_tensor *a, const llrt_tensor *b,
                                  const llrt_tensor *ends, llrt_tensor *d);

/* Tensors, types and storages of a grouped description: what a dot checks is checked. */
llrt_status llrt_validate_grouped(const op_description *desc);

#endif
