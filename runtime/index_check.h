/* What the runtime knows of tensors' indices: which are legal, what of them belongs to a kernel's
 * class, and the shape that a storage sees behind them. */
#ifndef LLRT_RUNTIME_INDEX_CHECK_H
#define LLRT_RUNTIME_INDEX_CHECK_H

#include <llrt/tensor.h>

/* Checks what belongs to the class: kinds, axes, types, policies. `role` names the tensor in
 * messages; `written`: it is a destination. */
llrt_status llrt_index_check_class(const llrt_tensor *tensor, const char *role, bool written);

/* Checks the rest, before a run: data, strides, extents, counters. */
llrt_status llrt_index_check_values(const llrt_tensor *tensor, const char *role);

/* The class of an index: the same with everything else zero. */
llrt_index llrt_index_class(const llrt_index *index);

/* Whether the tensor has a pointer list, and the bytes that divide its addresses. */
bool llrt_index_has_pointers(const llrt_tensor *tensor, int64_t *alignment);

/* The extents that the tensor's storage sees: an index's own for its axis, 1 for folded axes and
 * that of a pointer list. */
void llrt_index_shape(const llrt_tensor *tensor, int64_t shape[LLRT_MAX_RANK]);

#endif
