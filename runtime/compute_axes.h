/* Tensors with the axes that an expression's signature gives them -> with those of the operation.
 * Private to runtime. */
#ifndef LLRT_RUNTIME_COMPUTE_AXES_H
#define LLRT_RUNTIME_COMPUTE_AXES_H

#include "jit/plan/types/description.h"

/* Positions of the named axes, and of those that "..." holds, counted from the last; -1: not known.
 */
typedef struct compute_extents {
  int32_t n_leading;
  int64_t named[EXPR_MAX_AXES], leading[LLRT_MAX_RANK];
} compute_extents;

/* From the tensors that there are (NULL: none). Errors: INVALID_ARGUMENT where they disagree. */
llrt_status compute_find_extents(const llrt_expr *expr, const llrt_tensor *const *tensors,
                                 compute_extents *out);

/* Tensor `number` of the operation from what its name is bound to, with a storage of the
 * operation's axes. Errors: UNSUPPORTED for storages that cannot be split so. */
llrt_status compute_expand(const llrt_expr *expr, const expr_program *program, int number,
                           const llrt_tensor *from, const compute_extents *extents,
                           llrt_storage *storage, llrt_tensor *out);

/* The dim of the expression that axis a of a bound tensor of that rank is; NULL: one that "..."
 * holds. */
const expr_dim *compute_dim_of(const llrt_expr *expr, int tensor, int rank, int a);
/* The axis of the operation that it is, of several the slowest; -1: it has one position. */
int compute_axis_of(const llrt_expr *expr, const expr_program *program, int tensor, int rank,
                    int a);

/* The same tensor's indices and counts in device memory, along the operation's axes; indices:
 * LLRT_MAX_INDICES, which *out borrows. Errors: UNSUPPORTED where the expression splits, reverses
 * or moves along the axis that an index or a count is of. */
llrt_status compute_expand_indices(const llrt_expr *expr, const expr_program *program, int number,
                                   const llrt_tensor *from, const compute_extents *extents,
                                   llrt_index *indices, llrt_tensor *out);

/* Counts of an input that no value uses, if `unread` is one, hold for all of the operation's
 * tensors that have the axis. Errors: as above; INVALID_ARGUMENT where those have another one. */
llrt_status compute_expand_unread(const llrt_expr *expr, const expr_program *program, int unread,
                                  const llrt_tensor *from, llrt_tensor *tensors);

/* The axes that the tensors of a compute lack, from its program. */
void compute_set_groups(op_description *desc);

/* Of a call's tensors: axes that are one in memory become one (compute_merge.c). What is computed,
 * and where, stays. */
void compute_merge_axes(op_description *desc);

/* The shape of output t of the expression. Errors: INVALID_ARGUMENT where an extent is not known.
 */
llrt_status compute_output_shape(const llrt_expr *expr, int t, const compute_extents *extents,
                                 llrt_tensor *out);

#endif
