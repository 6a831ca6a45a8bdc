#include "runtime/result.h"

#include "base/status.h"
#include "jit/plan/combine.h"
#include "runtime/context.h"
#include "runtime/validate.h"

#include <string.h>

static bool has_runtime_strides(const llrt_storage *storage) {
  bool found = false;
  for (int i = 0; storage && i < storage->n_digits; i++) {
    found |= storage->digit[i].stride == LLRT_STRIDE_RUNTIME;
  }
  return found;
}

llrt_status llrt_result_make(const llrt_tensor *source, const llrt_storage *storage, llrt_dtype dtype,
                             void *stream, llrt_tensor *made) {
  memset(made, 0, sizeof *made);
  LLRT_TRY(llrt_validate_tensors(source, 1, 0, stream));
  if (storage) LLRT_TRY(llrt_storage_validate(storage));
  LLRT_REQUIRE(!has_runtime_strides(storage),
               "the result's storage has run-time strides, which no tensor gives");
  llrt_tensor result = {.dtype = dtype ? dtype : source->dtype, .rank = source->rank,
                        .storage = storage, .device = source->device};
  memcpy(result.shape, source->shape, sizeof result.shape);
  size_t bytes;
  LLRT_TRY(llrt_tensor_bytes(&result, &bytes));
  if (bytes > 0) LLRT_TRY(llrt_context_allocate(result.device, bytes, stream, &result.data));
  *made = result;
  return LLRT_OK;
}

llrt_status llrt_result_settle(llrt_status status, const llrt_tensor *made, void *stream,
                               llrt_tensor *result) {
  if (status == LLRT_OK) {
    *result = *made;
  } else if (made->data) {
    llrt_context_release(made->device, made->data, stream);
  }
  return status;
}

llrt_status llrt_result_dtype(int op, llrt_dtype accumulate, llrt_dtype source, llrt_dtype *dtype) {
  LLRT_REQUIRE(op >= LLRT_COMBINE_SUM && op <= LLRT_COMBINE_ALL, "there is no combiner %d", op);
  llrt_dtype type = accumulate ? accumulate : combine_accumulator(op, source);
  if (*dtype == LLRT_DTYPE_NONE) *dtype = combine_result(op, source, type);
  return LLRT_OK;
}
