#include "runtime/promise.h"

#include "backends/backend.h"
#include "base/bits.h"
#include "base/status.h"
#include "runtime/index_check.h"

#include <string.h>

/* More alignment changes no plan: on a GPU the widest access of one lane, on the host a line, which stores
 * past the caches fill. */
static int64_t coarse_bytes(const llrt_tensor *tensor) {
  return tensor->device && tensor->device->target.isa != PLAN_ISA_HOST ? 16 : 64;
}

/* Values of indices are loaded in accesses of at most so many bytes. */
#define INDEX_ACCESS_BYTES 16

/* Extents below this are compiled in: heads, head sizes, block sizes, channels. A tile along such an axis
 * has to end where the axis does, which only a kernel that knows the extent can do without waste. */
#define SMALL_EXTENT 1024

/* Of a dot: rows that the narrow side of a matrix instruction holds, and what divides tiles along N and K. */
#define DOT_FEW_ROWS 16
#define DOT_MULTIPLE 256

/* The largest power of two that divides x, at most `most` (a power of two). */
static int64_t coarse_multiple(int64_t x, int64_t most) {
  int64_t power = x & -x;
  return power == 0 || power > most ? most : power;
}

/* Whether digit i's stride is open and of an axis. A replica's is PACKED: it follows from those inside. */
static bool is_promised(const storage_set *set, int tensor, int i) {
  return set->open_strides[tensor] >> i & 1 && set->storage[tensor].digit[i].axis >= 0;
}

/* Per axis, what all its open strides together are a multiple of: of a tensor without elements anything. */
static void coarse_strides(const op_call *call, const storage_set *set, int tensor,
                           llrt_tensor_promise *promises) {
  const llrt_storage *storage = &set->storage[tensor];
  int64_t most = coarse_bytes(&call->tensor[tensor]) * 8 / call->bits[tensor];
  for (int axis = 0; axis < set->rank; axis++) promises->stride[axis].multiple = most;
  for (int i = 0; i < storage->n_digits && !call->empty; i++) {
    if (!is_promised(set, tensor, i)) continue;
    int64_t *multiple = &promises->stride[storage->digit[i].axis].multiple;
    *multiple = coarse_multiple(call->binding[tensor].stride[i], *multiple);
  }
}

/* A number that divides the tensor's address, or each of its pointer list. */
static int64_t address_multiple(const llrt_tensor *tensor) {
  int64_t alignment;
  if (llrt_index_has_pointers(tensor, &alignment)) return alignment;
  return (int64_t)(uintptr_t)tensor->data;
}

/* Whether an axis beside `along` has a stride that counts. */
static bool steps_along(const llrt_tensor *tensor, const llrt_index *index, int axis, int along) {
  return axis != along && index->axes >> axis & 1 && tensor->shape[axis] > 1;
}

/* The axis along which values follow each other, and what divides all else, up to the widest access. */
static llrt_index_promise coarse_index(const llrt_tensor *tensor, const llrt_index *index) {
  int along = -1, bytes = llrt_dtype_bits(index->dtype) / 8;
  for (int axis = 0; axis < tensor->rank; axis++)
    if (steps_along(tensor, index, axis, -1) && index->strides[axis] == 1) along = axis;
  if (along < 0) return (llrt_index_promise){0};
  int64_t multiple = coarse_multiple((int64_t)(uintptr_t)index->data, INDEX_ACCESS_BYTES);
  for (int axis = 0; axis < tensor->rank; axis++)
    if (steps_along(tensor, index, axis, along))
      multiple = coarse_multiple(index->strides[axis] * bytes, multiple);
  return (llrt_index_promise){.along = along + 1, .multiple = (int32_t)multiple};
}

static void coarse_indices(const llrt_tensor *tensor, llrt_tensor_promise *promises) {
  memset(promises->index, 0, sizeof promises->index);
  for (int i = 0; i < tensor->n_indices; i++)
    if (tensor->indices[i].kind == LLRT_INDEX_COORDINATE)
      promises->index[i] = coarse_index(tensor, &tensor->indices[i]);
}

static bool acts_on_words(const llrt_op_desc *desc) {
  return desc->n_maps > 0 && desc->maps[desc->n_maps - 1].kind == LLRT_MAP_WORD_BITS;
}

/* Extents of a dot's axes: rows as they come from call to call, so in three classes; others as far as vectors and
 * tiles divide them. */
static void coarse_dot_extents(const llrt_tensor *first, llrt_promise shape[LLRT_MAX_RANK]) {
  for (int axis = 0; axis < first->rank; axis++) {
    int64_t extent = first->shape[axis];
    bool rows = axis == first->rank - 3, few = rows && extent <= DOT_FEW_ROWS;
    shape[axis] = (llrt_promise){.multiple = axis > first->rank - 3 ? coarse_multiple(extent, DOT_MULTIPLE) : 0,
                                 .max = rows && extent <= 1 ? 1
                                        : few               ? DOT_FEW_ROWS
                                        : extent <= INT32_MAX ? INT32_MAX : 0};
  }
}

void llrt_promises_coarse(const op_call *call, const storage_set *set, llrt_op_desc *desc) {
  llrt_tensor_promise *promises = desc->promises;
  int64_t in_word = acts_on_words(desc) ? bits_max(32 / call->bits[1], 1) : 1;
  for (int i = 0; i < call->n; i++) {
    const llrt_tensor *tensor = &call->tensor[i];
    promises[i].address.multiple = coarse_multiple(address_multiple(tensor), coarse_bytes(tensor));
    if (desc->kind == LLRT_OP_DOT && i == 0) coarse_dot_extents(tensor, promises[0].shape);
    for (int axis = 0; axis < tensor->rank && desc->kind != LLRT_OP_DOT; axis++) {
      int64_t extent = tensor->shape[axis];
      llrt_promise *shape = &promises[i].shape[axis];
      shape->max = extent <= INT32_MAX ? INT32_MAX : 0;
      if (in_word > 1) shape->multiple = coarse_multiple(extent, in_word);
      bool small = extent < SMALL_EXTENT && !call->empty; /* an empty tensor's may be odd */
      if (call->empty) shape->multiple = coarse_multiple(extent, bits_max(in_word, 2));
      if (extent > 0 && (small || desc->in_place)) *shape = (llrt_promise){0, extent, extent};
    }
    coarse_strides(call, set, i, &promises[i]);
    coarse_indices(tensor, &promises[i]);
  }
}

void llrt_promises_exact(const op_call *call, llrt_tensor_promise *promises) {
  for (int i = 0; i < call->n; i++)
    for (int axis = 0; axis < call->tensor[i].rank; axis++) {
      int64_t extent = call->tensor[i].shape[axis];
      promises[i].shape[axis] = (llrt_promise){extent, extent, extent};
    }
}

bool llrt_promises_fix_extents(const llrt_op_desc *desc, int rank) {
  bool fixed = false;
  for (int i = 0; i < desc->n_tensors; i++)
    for (int axis = 0; axis < rank; axis++) {
      const llrt_promise *shape = &desc->promises[i].shape[axis];
      fixed |= shape->max > 0 && shape->min == shape->max;
    }
  return fixed;
}

void llrt_promises_open_extents(llrt_op_desc *desc, int rank) {
  int64_t in_word = acts_on_words(desc) ? bits_max(32 / llrt_dtype_bits(desc->tensors[1].dtype), 1) : 1;
  for (int i = 0; i < desc->n_tensors; i++)
    for (int axis = 0; axis < rank; axis++) {
      llrt_promise *shape = &desc->promises[i].shape[axis];
      if (shape->max == 0 || shape->min != shape->max) continue;
      *shape = (llrt_promise){in_word > 1 ? coarse_multiple(shape->max, in_word) : 0, 0, INT32_MAX};
    }
}

/* ---- classes ---- */

static int64_t full_stride(const llrt_tensor *tensor) {
  return coarse_bytes(tensor) * 8 / llrt_dtype_bits(tensor->dtype);
}

static bool is_full_address(const llrt_tensor *tensor, const llrt_tensor_promise *promises) {
  return promises->address.multiple >= coarse_bytes(tensor);
}

static bool are_full_strides(const llrt_tensor *tensor, const llrt_tensor_promise *promises, int rank) {
  bool full = true;
  for (int axis = 0; axis < rank; axis++) full &= promises->stride[axis].multiple >= full_stride(tensor);
  for (int i = 0; i < tensor->n_indices; i++)
    full &= !promises->index[i].along || promises->index[i].multiple >= INDEX_ACCESS_BYTES;
  return full;
}

/* Addresses are multiples of an element's bytes. */
static void forget_address(const llrt_tensor *tensor, llrt_tensor_promise *promises) {
  promises->address.multiple = bits_max(llrt_dtype_bits(tensor->dtype) / 8, 1);
}

static void forget_strides(llrt_tensor_promise *promises) {
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) promises->stride[axis].multiple = 1;
  memset(promises->index, 0, sizeof promises->index);
}

void llrt_promises_classes(const storage_set *set, llrt_op_desc *desc) {
  for (int i = 0; i < set->n && desc->kind != LLRT_OP_DOT; i++) {
    const llrt_tensor *tensor = &desc->tensors[i];
    if (!is_full_address(tensor, &desc->promises[i])) forget_address(tensor, &desc->promises[i]);
    if (!are_full_strides(tensor, &desc->promises[i], set->rank)) forget_strides(&desc->promises[i]);
  }
}

void llrt_promises_widen(const storage_set *set, llrt_op_desc *desc) {
  bool addresses = true, strides = true;
  for (int i = 0; i < set->n; i++) {
    addresses &= is_full_address(&desc->tensors[i], &desc->promises[i]);
    strides &= are_full_strides(&desc->tensors[i], &desc->promises[i], set->rank);
  }
  for (int i = 0; i < set->n; i++) {
    if (!addresses) forget_address(&desc->tensors[i], &desc->promises[i]);
    if (!strides) forget_strides(&desc->promises[i]);
  }
}

static bool implies(const llrt_promise *kept, const llrt_promise *promise) {
  int64_t multiple = kept->max > 0 && kept->min == kept->max ? kept->max : kept->multiple;
  bool divides = promise->multiple <= 1 || (multiple > 0 && multiple % promise->multiple == 0);
  return divides && kept->min >= promise->min && (promise->max == 0 || (kept->max > 0 && kept->max <= promise->max));
}

static bool index_implies(const llrt_index_promise *kept, const llrt_index_promise *promise) {
  if (!promise->along) return true;
  return kept->along == promise->along && kept->multiple % bits_max(promise->multiple, 1) == 0;
}

bool llrt_promises_imply(const llrt_tensor_promise *kept, const llrt_tensor_promise *promises, int n, int rank) {
  for (int i = 0; i < n; i++) {
    if (promises[i].address.multiple > 1 && kept[i].address.multiple % promises[i].address.multiple != 0) return false;
    for (int axis = 0; axis < rank; axis++) {
      if (!implies(&kept[i].shape[axis], &promises[i].shape[axis])) return false;
      int64_t stride = promises[i].stride[axis].multiple;
      if (stride > 1 && kept[i].stride[axis].multiple % stride != 0) return false;
    }
    for (int k = 0; k < LLRT_MAX_INDICES; k++)
      if (!index_implies(&kept[i].index[k], &promises[i].index[k])) return false;
  }
  return true;
}

/* ---- checks ---- */

static bool keeps_multiple(int64_t value, const llrt_promise *promise) {
  return promise->multiple <= 1 || value % promise->multiple == 0;
}

static llrt_status check_strides(const op_call *call, const storage_set *set, int tensor,
                                 const llrt_tensor_promise *promises) {
  const llrt_storage *storage = &set->storage[tensor];
  for (int i = 0; i < storage->n_digits; i++) {
    if (!is_promised(set, tensor, i)) continue;
    int axis = storage->digit[i].axis;
    int64_t stride = call->binding[tensor].stride[i];
    if (keeps_multiple(stride, &promises->stride[axis])) continue;
    return llrt_error(LLRT_OUT_OF_CLASS, "the %s's stride of axis %d is %lld, no multiple of %lld",
                      llrt_tensor_role(set->roles, tensor), axis, (long long)stride,
                      (long long)promises->stride[axis].multiple);
  }
  return LLRT_OK;
}

static llrt_status check_shape(const llrt_tensor *tensor, const char *role,
                               const llrt_tensor_promise *promises) {
  for (int axis = 0; axis < tensor->rank; axis++) {
    const llrt_promise *promise = &promises->shape[axis];
    int64_t extent = tensor->shape[axis];
    bool within = extent >= promise->min && (promise->max == 0 || extent <= promise->max);
    if (within && keeps_multiple(extent, promise)) continue;
    return llrt_error(LLRT_OUT_OF_CLASS,
                      "the %s's shape[%d] is %lld, promised: multiple of %lld, at least %lld, at "
                      "most %lld (0: no bound)",
                      role, axis, (long long)extent, (long long)promise->multiple,
                      (long long)promise->min, (long long)promise->max);
  }
  return LLRT_OK;
}

static llrt_status check_indices(const llrt_tensor *tensor, const char *role,
                                 const llrt_tensor_promise *promises) {
  for (int i = 0; i < tensor->n_indices; i++) {
    const llrt_index_promise *promise = &promises->index[i];
    const llrt_index *index = &tensor->indices[i];
    int64_t bytes = llrt_dtype_bits(index->dtype) / 8, multiple = bits_max(promise->multiple, 1);
    int along = promise->along - 1;
    if (along < 0) continue;
    bool kept = (uintptr_t)index->data % (uintptr_t)multiple == 0;
    if (steps_along(tensor, index, along, -1)) kept &= index->strides[along] == 1;
    for (int axis = 0; axis < tensor->rank; axis++)
      if (steps_along(tensor, index, axis, along)) kept &= index->strides[axis] * bytes % multiple == 0;
    if (!kept)
      return llrt_error(LLRT_OUT_OF_CLASS,
                        "the %s's index %d: values were promised to follow each other along axis %d, and "
                        "all else to be a multiple of %lld bytes",
                        role, i, along, (long long)multiple);
  }
  return LLRT_OK;
}

llrt_status llrt_promises_check(const op_call *call, const storage_set *set,
                                const llrt_tensor_promise *promises) {
  for (int i = 0; i < call->n; i++) {
    const llrt_tensor *tensor = &call->tensor[i];
    const char *role = llrt_tensor_role(set->roles, i);
    int64_t address = address_multiple(tensor);
    if (!keeps_multiple(address, &promises[i].address)) {
      return llrt_error(LLRT_OUT_OF_CLASS, "the %s's address 0x%llx is no multiple of %lld bytes",
                        role, (long long)address, (long long)promises[i].address.multiple);
    }
    LLRT_TRY(check_shape(tensor, role, &promises[i]));
    LLRT_TRY(check_strides(call, set, i, &promises[i]));
    LLRT_TRY(check_indices(tensor, role, &promises[i]));
  }
  return LLRT_OK;
}

/* With data unknown (NULL) nothing is promised about addresses. */
static void forget_unknown_addresses(const llrt_op_desc *desc, llrt_tensor_promise *promises) {
  for (int i = 0; i < desc->n_tensors; i++) {
    int64_t alignment;
    if (llrt_index_has_pointers(&desc->tensors[i], &alignment)) continue;
    if (!desc->tensors[i].data) promises[i].address.multiple = 0;
  }
}

llrt_status llrt_op_promise_coarse(llrt_op_desc *desc) {
  LLRT_REQUIRE(desc, "desc is NULL");
  for (int i = 0; i < LLRT_MAX_TENSORS; i++) desc->promises[i] = (llrt_tensor_promise){0};
  LLRT_TRY(llrt_validate_desc(desc));
  storage_set set;
  LLRT_TRY(llrt_storage_set_init(desc->tensors, desc->n_tensors, desc->dot.roles, &set));
  op_call call;
  LLRT_TRY(llrt_validate_shapes(desc, desc->tensors, &set, &call));
  llrt_promises_coarse(&call, &set, desc);
  forget_unknown_addresses(desc, desc->promises);
  return LLRT_OK;
}
