#include "runtime/result.h"

#include "base/status.h"
#include "jit/plan/types/combine.h"
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

llrt_status llrt_result_check_dtype(llrt_dtype asked) {
  LLRT_REQUIRE(!asked || llrt_dtype_bits(asked), "params: the result's dtype is %d, which is none",
               (int)asked);
  return LLRT_OK;
}

/* Bytes of a result; what is wrong with it is said of the result. */
static llrt_status count_bytes(const llrt_tensor *result, size_t *bytes) {
  llrt_status status = result->storage ? llrt_storage_validate(result->storage) : LLRT_OK;
  if (status == LLRT_OK) status = llrt_tensor_bytes(result, bytes);
  return status == LLRT_OK ? LLRT_OK : llrt_error_prefix(status, "the result");
}

llrt_status llrt_result_make(const llrt_tensor *source, const llrt_storage *storage,
                             llrt_dtype dtype, void *stream, llrt_tensor *made) {
  memset(made, 0, sizeof *made);
  size_t bytes;
  LLRT_TRY(llrt_validate_tensors(source, 1, 0, stream));
  LLRT_TRY(llrt_result_check_dtype(dtype));
  llrt_tensor result = {.dtype = dtype ? dtype : source->dtype,
                        .rank = source->rank,
                        .storage = storage,
                        .device = source->device};
  memcpy(result.shape, source->shape, sizeof result.shape);
  LLRT_TRY(count_bytes(&result, &bytes));
  LLRT_REQUIRE(!has_runtime_strides(storage),
               "the result's storage has run-time strides, which no tensor gives");
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
