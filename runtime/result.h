/* Tensors that calls allocate for their results. */
#ifndef LLRT_RUNTIME_RESULT_H
#define LLRT_RUNTIME_RESULT_H

#include <llrt/tensor.h>

/* INVALID_ARGUMENT unless `asked`, a result's type in a call's params, is a type or NONE. */
llrt_status llrt_result_check_dtype(llrt_dtype asked);

/* A tensor of source's logical shape, on its device, in memory from the context's allocator,
 * unwritten. storage NULL: row_major; dtype NONE: the source's. Errors: INVALID_ARGUMENT for a
 * source or a storage that is none, and for run-time strides, which no tensor gives; OUT_OF_MEMORY.
 */
llrt_status llrt_result_make(const llrt_tensor *source, const llrt_storage *storage,
                             llrt_dtype dtype, void *stream, llrt_tensor *made);

/* Hands `made` to *result where `status` is OK, else frees it; returns status. */
llrt_status llrt_result_settle(llrt_status status, const llrt_tensor *made, void *stream,
                               llrt_tensor *result);

/* Where *dtype is NONE, sets it to the type that combiner `op` gives of elements of type `source`,
 * accumulated in `accumulate` (NONE: the combiner's own). Errors: INVALID_ARGUMENT for an op that
 * is none. */
llrt_status llrt_result_dtype(int op, llrt_dtype accumulate, llrt_dtype source, llrt_dtype *dtype);

#endif
