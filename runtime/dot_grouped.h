/* Grouped products (llrt_dot_params.ends, .experts): their shapes, and what they do not take. */
#ifndef LLRT_RUNTIME_DOT_GROUPED_H
#define LLRT_RUNTIME_DOT_GROUPED_H

#include "jit/plan/types/description.h"

/* What says which positions are whose. */
typedef struct dot_grouping {
  const llrt_tensor *ends, *experts; /* one of both, or neither */
} dot_grouping;

static inline bool llrt_dot_is_grouped(const dot_grouping *by) { return by->ends || by->experts; }

/* The extents of experts, M, N, K, and *own: `ends` without the leading zero that there may be, or
 * `experts`, which have the operation's axis *axis. Errors: INVALID_ARGUMENT, naming the argument.
 */
llrt_status llrt_dot_grouped_shape(const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d,
                                   const dot_grouping *by, int64_t extent[LLRT_MAX_RANK],
                                   llrt_tensor *own, int *axis);

/* Rank and experts of the result of the form of sums, whose `ends` have no leading zero. */
llrt_status llrt_dot_grouped_sums(const llrt_tensor *a, const llrt_tensor *b,
                                  const dot_grouping *by, llrt_tensor *d);

/* Tensors, types and storages of a grouped description: what a dot checks is checked. */
llrt_status llrt_validate_grouped(const op_description *desc);

#endif
