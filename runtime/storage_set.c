#include "runtime/storage_set.h"

#include "base/hash.h"
#include "base/params.h"
#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/types/dot_type.h"
#include "layout/storage_rule.h"
#include "runtime/index_check.h"

#include <stdlib.h>
#include <string.h>

/* ---- the key: the fields that count, end to end ---- */

#define DIM_BYTES (LLRT_NAME_BYTES + 1)
#define RAW_BYTES \
  (8 + LLRT_MAX_DIGITS * 24 + (LLRT_MAX_IN_DIMS + LLRT_MAX_OUT_DIMS) * DIM_BYTES + 2 + \
   LLRT_MAX_BITS * 8 + sizeof(llrt_swizzle) + 4 + 8 + 4 + 8 + 4 + \
   LLRT_MAX_TARGETS * (LLRT_NAME_BYTES + 8) + 4 + LLRT_MAX_INDICES * sizeof(llrt_index))

typedef struct raw_bytes {
  size_t size;
  unsigned char data[RAW_BYTES]; /* of one tensor */
} raw_bytes;

static void put(raw_bytes *raw, const void *field, size_t size) {
  memcpy(raw->data + raw->size, field, size);
  raw->size += size;
}

static void put_dims(raw_bytes *raw, const llrt_dim *dims, int n) {
  for (int i = 0; i < n; i++) {
    put(raw, dims[i].name, LLRT_NAME_BYTES);
    put(raw, &dims[i].bits, 1);
  }
}

static bool layout_is_readable(const llrt_layout *layout) {
  if (layout->n_in > LLRT_MAX_IN_DIMS || layout->n_out > LLRT_MAX_OUT_DIMS) return false;
  int bits = 0;
  for (int i = 0; i < layout->n_in; i++) bits += layout->in[i].bits;
  return bits <= LLRT_MAX_BITS;
}

static void put_layout(raw_bytes *raw, const llrt_layout *layout) {
  int bits = 0;
  for (int i = 0; i < layout->n_in; i++) bits += layout->in[i].bits;
  put(raw, &layout->n_in, 1);
  put(raw, &layout->n_out, 1);
  put_dims(raw, layout->in, layout->n_in);
  put_dims(raw, layout->out, layout->n_out);
  put(raw, layout->column, (size_t)bits * sizeof layout->column[0]);
}

static void put_storage(raw_bytes *raw, const llrt_storage *storage) {
  put(raw, &storage->rank, sizeof storage->rank);
  put(raw, &storage->n_digits, sizeof storage->n_digits);
  for (int i = 0; i < storage->n_digits; i++) {
    put(raw, &storage->digit[i].extent, sizeof storage->digit[i].extent);
    put(raw, &storage->digit[i].stride, sizeof storage->digit[i].stride);
    put(raw, &storage->digit[i].axis, sizeof storage->digit[i].axis);
    put(raw, &storage->digit[i].target, sizeof storage->digit[i].target);
    put(raw, &storage->digit[i].reversed, sizeof storage->digit[i].reversed);
  }
  put_layout(raw, &storage->tile);
  put(raw, &storage->swizzle, sizeof storage->swizzle);
  put(raw, &storage->pad, sizeof storage->pad);
  put(raw, &storage->pad_value, sizeof storage->pad_value);
  put(raw, &storage->n_targets, sizeof storage->n_targets);
  put(raw, storage->target, (size_t)storage->n_targets * sizeof storage->target[0]);
  put(raw, storage->offset, (size_t)(storage->n_targets + 1) * sizeof storage->offset[0]);
}

static uint32_t device_extents(const llrt_tensor *tensor) {
  uint32_t axes = 0;
  for (int axis = 0; axis < tensor->rank; axis++)
    if (tensor->extent_ptr[axis]) axes |= 1u << axis;
  return axes;
}

static llrt_status put_indices(raw_bytes *raw, const llrt_tensor *tensor, const char *role) {
  LLRT_REQUIRE(tensor->n_indices >= 0 && tensor->n_indices <= LLRT_MAX_INDICES,
               "the %s has %d indices, not 0 to %d", role, tensor->n_indices, LLRT_MAX_INDICES);
  put(raw, &tensor->n_indices, sizeof tensor->n_indices);
  for (int i = 0; i < tensor->n_indices; i++) {
    const llrt_index class = llrt_index_class(&tensor->indices[i]);
    const int32_t numbers[] = {class.axis,           class.kind,          class.out_of_range,
                               (int32_t)class.dtype, (int32_t)class.axes, (int32_t)class.folded};
    put(raw, numbers, sizeof numbers);
  }
  return LLRT_OK;
}

static llrt_status put_tensor(raw_bytes *raw, const llrt_tensor *tensor, const char *role) {
  const llrt_storage *storage = tensor->storage;
  LLRT_TRY(put_indices(raw, tensor, role));
  const uint32_t on_device = device_extents(tensor);
  put(raw, &on_device, sizeof on_device);
  if (!storage) {
    const int32_t row_major[2] = {tensor->rank, -1}; /* no storage has -1 digits */
    put(raw, row_major, sizeof row_major);
    return LLRT_OK;
  }
  bool readable = storage->n_digits >= 0 && storage->n_digits <= LLRT_MAX_DIGITS &&
                  storage->n_targets >= 0 && storage->n_targets <= LLRT_MAX_TARGETS &&
                  layout_is_readable(&storage->tile);
  LLRT_REQUIRE(readable, "the %s's storage is malformed", role);
  LLRT_REQUIRE(llrt_params_are_zero(storage->reserved, sizeof storage->reserved),
               "the %s's storage: a reserved field is not 0", role);
  put_storage(raw, storage);
  return LLRT_OK;
}

llrt_status llrt_storage_set_key(const llrt_tensor *tensors, int n, uint32_t roles,
                                 llrt_hash *key) {
  llrt_hash parts[1 + LLRT_MAX_TENSORS] = {{.low = roles}};
  for (int i = 0; i < n; i++) {
    raw_bytes raw;
    raw.size = 0;
    LLRT_TRY(put_tensor(&raw, &tensors[i], op_tensor_called(roles, i)));
    parts[1 + i] = llrt_hash_bytes(raw.data, raw.size);
  }
  *key = llrt_hash_bytes(parts, (size_t)(1 + n) * sizeof *parts);
  return LLRT_OK;
}

/* ---- the set ---- */

static bool is_packed(const llrt_storage *storage) {
  for (int i = 0; i < storage->n_digits; i++) {
    if (storage->digit[i].stride != LLRT_STRIDE_PACKED) return false;
  }
  return true;
}

static llrt_status add_storage(const llrt_tensor *tensor, int index, storage_set *set) {
  llrt_storage *storage = &set->storage[index];
  const char *role = op_tensor_called(set->roles, index);
  if (tensor->storage) {
    llrt_status status = storage_representative(tensor->storage, storage);
    if (status != LLRT_OK) return llrt_error_prefix(status, "the %s's storage", role);
    if (storage->n_targets)
      return llrt_error(LLRT_UNSUPPORTED,
                        "the %s's storage has axes other than memory, which operations cannot move",
                        role);
  } else {
    LLRT_TRY(llrt_storage_row_major(tensor->rank, storage));
  }
  LLRT_REQUIRE(storage->rank == tensor->rank, "the %s has rank %d, its storage rank %d", role,
               tensor->rank, storage->rank);
  set->hash[index] = llrt_storage_hash(storage);
  set->open_strides[index] = storage_open_strides(storage);
  set->packed[index] = is_packed(storage);
  set->device_extents[index] = device_extents(tensor);
  set->n_indices[index] = tensor->n_indices;
  for (int i = 0; i < tensor->n_indices; i++)
    set->index[index][i] = llrt_index_class(&tensor->indices[i]);
  return LLRT_OK;
}

llrt_status llrt_storage_set_init(const llrt_tensor *tensors, int n, uint32_t roles,
                                  storage_set *set) {
  memset(set, 0, sizeof *set);
  LLRT_TRY(llrt_storage_set_key(tensors, n, roles, &set->key));
  set->roles = roles;
  set->n = n;
  set->rank = tensors[0].rank;
  for (int i = 0; i < n; i++) LLRT_TRY(add_storage(&tensors[i], i, set));
  return LLRT_OK;
}

storage_set *llrt_storage_set_retain(storage_set *set) {
  atomic_fetch_add(&set->references, 1);
  return set;
}

void llrt_storage_set_release(storage_set *set) {
  if (set && atomic_fetch_sub(&set->references, 1) == 1) free(set);
}

storage_set *llrt_storage_set_hold(const storage_set *set) {
  if (atomic_load(&set->references) > 0) return llrt_storage_set_retain((storage_set *)set);
  storage_set *copy = memory_new(sizeof *copy);
  if (!copy) return NULL;
  memcpy(copy, set, sizeof *copy);
  atomic_init(&copy->references, 1);
  return copy;
}

llrt_tensor llrt_storage_set_tensor(const storage_set *set, int index, llrt_dtype dtype) {
  static const int32_t somewhere = 0; /* only that there is an address counts */
  llrt_tensor tensor = {.dtype = dtype,
                        .rank = set->rank,
                        .storage = &set->storage[index],
                        .indices = set->n_indices[index] ? set->index[index] : NULL,
                        .n_indices = set->n_indices[index]};
  for (int axis = 0; axis < set->rank; axis++)
    if (set->device_extents[index] >> axis & 1) tensor.extent_ptr[axis] = &somewhere;
  return tensor;
}
