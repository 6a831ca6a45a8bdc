#include "base/status.h"
#include "runtime/index_check.h"

#include <llrt/tensor.h>

llrt_status llrt_tensor_bytes(const llrt_tensor *tensor, size_t *bytes) {
  LLRT_ENTRY();
  LLRT_REQUIRE(bytes, "bytes is NULL");
  *bytes = 0;
  LLRT_REQUIRE(tensor, "tensor is NULL");
  int bits = llrt_dtype_bits(tensor->dtype);
  LLRT_REQUIRE(bits != 0, "the tensor's dtype is %d, which is none", (int)tensor->dtype);
  LLRT_REQUIRE(tensor->rank >= 0 && tensor->rank <= LLRT_MAX_RANK,
               "the tensor's rank is %d, not 0 to %d", tensor->rank, LLRT_MAX_RANK);
  llrt_storage row_major;
  const llrt_storage *storage = tensor->storage;
  if (!storage) {
    LLRT_TRY(llrt_storage_row_major(tensor->rank, &row_major));
    storage = &row_major;
  }
  llrt_storage_binding binding;
  int64_t shape[LLRT_MAX_RANK];
  LLRT_TRY(llrt_index_check_class(tensor, "tensor", false));
  llrt_index_shape(tensor, shape);
  LLRT_TRY(llrt_storage_bind(storage, tensor->rank, shape, tensor->strides, &binding));
  size_t total;
  LLRT_REQUIRE(!__builtin_mul_overflow((size_t)binding.span, (size_t)bits, &total),
               "the tensor has more than 2^64 bits");
  *bytes = total / 8 + (total % 8 != 0);
  return LLRT_OK;
}
