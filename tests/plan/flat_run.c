#include "flat_run.h"
#include "jit/interpret/plan_interpret.h"

#include <criterion/criterion.h>
#include <string.h>

llrt_dtype flat_opaque(int bits) {
  return bits == 8 ? LLRT_B8 : bits == 16 ? LLRT_B16 : bits == 32 ? LLRT_B32 : LLRT_B64;
}

static size_t array_bytes(const flat_array *array, int64_t elements) {
  return (size_t)(elements * llrt_dtype_bits(array->dtype) / 8);
}

static llrt_tensor tensor_of(const flat_array *array, int64_t elements,
                             const llrt_storage *storage) {
  return (llrt_tensor){.data = array->data,
                       .dtype = array->dtype,
                       .rank = 1,
                       .shape = {elements},
                       .storage = storage};
}

void flat_interpret(const plan_kernel *kernel, const flat_array *arrays, int n, int64_t elements,
                    const char *what) {
  llrt_storage storage;
  llrt_storage_binding binding[FLAT_MAX_ARRAYS];
  llrt_tensor tensor[FLAT_MAX_ARRAYS];
  cr_assert_eq(llrt_storage_row_major(1, &storage), LLRT_OK);
  for (int t = 0; t < n; t++) {
    tensor[t] = tensor_of(&arrays[t], elements, &storage);
    cr_assert_eq(llrt_storage_bind(&storage, 1, tensor[t].shape, tensor[t].strides, &binding[t]),
                 LLRT_OK);
  }
  memset(arrays[FLAT_RESULT].data, 0xEE, array_bytes(&arrays[FLAT_RESULT], elements));
  cr_assert_eq(plan_interpret(kernel, tensor, binding, n), LLRT_OK, "%s: %s", what,
               llrt_last_error());
}

void flat_run(llrt_device *device, const llrt_op *op, const flat_array *arrays, int n,
              int64_t elements, const char *what) {
  llrt_storage storage;
  llrt_tensor tensor[FLAT_MAX_ARRAYS];
  cr_assert_eq(llrt_storage_row_major(1, &storage), LLRT_OK);
  memset(arrays[FLAT_RESULT].data, 0xEE, array_bytes(&arrays[FLAT_RESULT], elements));
  for (int t = 0; t < n; t++) {
    size_t bytes = array_bytes(&arrays[t], elements);
    tensor[t] = tensor_of(&arrays[t], elements, &storage);
    tensor[t].device = device;
    cr_assert_eq(llrt_memory_allocate(device, bytes, &tensor[t].data), LLRT_OK);
    llrt_memory_copy(device, tensor[t].data, arrays[t].data, bytes, LLRT_COPY_TO_DEVICE, NULL);
  }
  cr_assert_eq(llrt_op_run(op, NULL, tensor, n, NULL), LLRT_OK, "%s: %s", what, llrt_last_error());
  llrt_memory_copy(device, arrays[FLAT_RESULT].data, tensor[FLAT_RESULT].data,
                   array_bytes(&arrays[FLAT_RESULT], elements), LLRT_COPY_FROM_DEVICE, NULL);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK, "%s: %s", what, llrt_last_error());
  for (int t = 0; t < n; t++) llrt_memory_free(device, tensor[t].data);
}
