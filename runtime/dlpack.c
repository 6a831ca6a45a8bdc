/* DLPack's tensors and llrt's: the same memory, described twice. */
#include "base/memory.h"
#include "base/status.h"
#include "third_party/dlpack/dlpack.h"

#include <llrt/llrt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- element types ---- */

static const struct {
  uint8_t code, bits;
  llrt_dtype dtype;
} types[] = {
    {kDLFloat, 64, LLRT_F64},
    {kDLFloat, 32, LLRT_F32},
    {kDLFloat, 16, LLRT_F16},
    {kDLBfloat, 16, LLRT_BF16},
    {kDLInt, 64, LLRT_I64},
    {kDLInt, 32, LLRT_I32},
    {kDLInt, 16, LLRT_I16},
    {kDLInt, 8, LLRT_I8},
    {kDLInt, 4, LLRT_I4},
    {kDLUInt, 64, LLRT_U64},
    {kDLUInt, 32, LLRT_U32},
    {kDLUInt, 16, LLRT_U16},
    {kDLUInt, 8, LLRT_U8},
    {kDLUInt, 4, LLRT_U4},
    {kDLBool, 8, LLRT_BOOL},
    {kDLFloat8_e4m3fn, 8, LLRT_E4M3},
    {kDLFloat8_e5m2, 8, LLRT_E5M2},
    {kDLFloat8_e4m3fnuz, 8, LLRT_E4M3FNUZ},
    {kDLFloat8_e5m2fnuz, 8, LLRT_E5M2FNUZ},
    {kDLFloat8_e8m0fnu, 8, LLRT_E8M0},
    {kDLFloat4_e2m1fn, 4, LLRT_E2M1},
    {kDLComplex, 32, LLRT_B32},
    {kDLComplex, 64, LLRT_B64},
    {kDLComplex, 128, LLRT_B128},
};
enum { TYPES = sizeof types / sizeof *types };

static llrt_dtype dtype_of_width(int bits) {
  static const llrt_dtype widths[] = {LLRT_B4, LLRT_B8, LLRT_B16, LLRT_B32, LLRT_B64, LLRT_B128};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    if (llrt_dtype_bits(widths[i]) == bits) return widths[i];
  return LLRT_DTYPE_NONE;
}

static llrt_dtype dtype_of(int code, int bits) {
  for (int i = 0; i < TYPES; i++)
    if (types[i].code == code && types[i].bits == bits) return types[i].dtype;
  return LLRT_DTYPE_NONE;
}

/* Two lanes of 4 bits are two elements; any other number of lanes is one element of bits. */
static llrt_status take_type(int code, int bits, int lanes, llrt_dtype *dtype, int32_t *positions) {
  bool pair = bits == 4 && lanes == 2;
  *positions = pair ? 2 : 1;
  *dtype = pair || lanes == 1 ? dtype_of(code, bits) : LLRT_DTYPE_NONE;
  if (*dtype == LLRT_DTYPE_NONE) *dtype = dtype_of_width(pair ? bits : bits * lanes);
  if (*dtype != LLRT_DTYPE_NONE) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "DLPack's type %d of %d bits and %d lanes is none of llrt's",
                    code, bits, lanes);
}

llrt_status llrt_dtype_from_dlpack(uint8_t code, uint8_t bits, uint16_t lanes, llrt_dtype *dtype,
                                   int32_t *positions) {
  LLRT_ENTRY();
  LLRT_REQUIRE(dtype && positions, "%s is NULL", dtype ? "positions" : "dtype");
  return take_type(code, bits, lanes, dtype, positions);
}

static llrt_status give_type(llrt_dtype dtype, uint8_t *code, uint8_t *bits) {
  for (int i = 0; i < TYPES; i++) {
    if (types[i].dtype != dtype) continue;
    *code = types[i].code;
    *bits = types[i].bits;
    return LLRT_OK;
  }
  return llrt_error(LLRT_UNSUPPORTED, "DLPack has no type for %s", llrt_dtype_name(dtype));
}

llrt_status llrt_dtype_to_dlpack(llrt_dtype dtype, uint8_t *code, uint8_t *bits) {
  LLRT_ENTRY();
  LLRT_REQUIRE(code && bits, "%s is NULL", code ? "bits" : "code");
  *code = *bits = 0;
  return give_type(dtype, code, bits);
}

/* ---- devices ---- */

static bool device_of(const llrt_device *device, DLDevice *where) {
  llrt_device_info info = {0};
  int number = 0;
  *where = (DLDevice){kDLCPU, 0};
  if (!device) return true;
  if (llrt_device_get_info(device, &info) != LLRT_OK) return false;
  if (strcmp(info.name, "host") == 0) return true;
  if (sscanf(info.name, "cuda:%d", &number) == 1) *where = (DLDevice){kDLCUDA, number};
  else if (sscanf(info.name, "hip:%d", &number) == 1) *where = (DLDevice){kDLROCM, number};
  else return false;
  return true;
}

/* Whether the device may work on memory that lies there: pinned and managed memory is anybody's. */
static bool reaches(const llrt_device *device, DLDevice memory) {
  DLDevice own;
  if (!device) return true;
  if (!device_of(device, &own)) return false;
  bool pinned = memory.device_type == kDLCUDAHost || memory.device_type == kDLROCMHost ||
                memory.device_type == kDLCUDAManaged;
  return pinned || (own.device_type == memory.device_type && own.device_id == memory.device_id);
}

/* ---- in ---- */

/* Tensors without elements are, whatever their strides. */
static bool is_row_major(const llrt_tensor *t) {
  int64_t expected = 1;
  for (int i = 0; i < t->rank; i++)
    if (t->shape[i] == 0) return true;
  for (int i = t->rank - 1; i >= 0; i--) {
    if (t->shape[i] != 1 && t->strides[i] != expected) return false;
    expected *= t->shape[i];
  }
  return true;
}

/* Strides of either sign as a rule of counting digits and an address of offset 0. A stride of 1 is
 * the rule's, others are the tensor's. */
static llrt_status settle(llrt_tensor *t, llrt_storage *storage) {
  int64_t lowest = 0;
  int bits = llrt_dtype_bits(t->dtype);
  uint32_t reversed = 0;
  if (is_row_major(t)) return LLRT_OK;
  for (int i = 0; i < t->rank; i++) {
    if (t->shape[i] <= 1) t->strides[i] = 0;
    if (t->strides[i] >= 0) continue;
    reversed |= 1u << i;
    lowest += (t->shape[i] - 1) * t->strides[i];
    t->strides[i] = -t->strides[i];
  }
  if (lowest * bits % 8)
    return llrt_error(LLRT_UNSUPPORTED, "the first element in memory begins inside a byte");
  LLRT_TRY(llrt_storage_strided(t->rank, NULL, storage));
  for (int d = 0; d < storage->n_digits; d++) {
    int axis = storage->digit[d].axis;
    storage->digit[d].reversed = reversed >> axis & 1;
    if (t->strides[axis] == 1) storage->digit[d].stride = 1;
  }
  t->data = (char *)t->data + lowest * bits / 8;
  t->storage = storage;
  return LLRT_OK;
}

static llrt_status read_axes(const DLTensor *dl, int32_t positions, llrt_tensor *t) {
  int64_t stride = 1;
  t->rank = dl->ndim;
  for (int i = dl->ndim - 1; i >= 0; i--) {
    LLRT_REQUIRE(dl->shape[i] >= 0, "shape[%d] is %lld, not 0 or more", i, (long long)dl->shape[i]);
    t->shape[i] = dl->shape[i];
    t->strides[i] = dl->strides ? dl->strides[i] : stride;
    if (__builtin_mul_overflow(stride, dl->shape[i] ? dl->shape[i] : 1, &stride))
      return llrt_error(LLRT_INVALID_ARGUMENT, "the shape has 2^63 elements or more");
  }
  if (positions == 1) return LLRT_OK;
  int last = t->rank - 1;
  if (last < 0 || (t->shape[last] > 1 && t->strides[last] != 1))
    return llrt_error(LLRT_UNSUPPORTED, "pairs of 4 bits lie side by side along the last axis");
  for (int i = 0; i < last; i++) t->strides[i] *= 2;
  t->shape[last] *= 2;
  t->strides[last] = 1;
  return LLRT_OK;
}

llrt_status llrt_tensor_from_dlpack(const struct DLManagedTensorVersioned *managed,
                                    llrt_device *device, llrt_storage *storage, llrt_tensor *tensor,
                                    int32_t *read_only) {
  LLRT_ENTRY();
  LLRT_REQUIRE(tensor, "tensor is NULL");
  *tensor = (llrt_tensor){0};
  if (read_only) *read_only = 0;
  LLRT_REQUIRE(managed && storage, "%s is NULL", managed ? "storage" : "managed");
  const DLTensor *dl = &managed->dl_tensor;
  if (managed->version.major != DLPACK_MAJOR_VERSION)
    return llrt_error(LLRT_UNSUPPORTED, "DLPack %u.%u is not known here", managed->version.major,
                      managed->version.minor);
  if (dl->ndim < 0 || dl->ndim > LLRT_MAX_RANK)
    return llrt_error(LLRT_UNSUPPORTED, "%d axes, the most is %d", dl->ndim, LLRT_MAX_RANK);
  LLRT_REQUIRE(dl->ndim == 0 || dl->shape, "the shape is NULL");
  int32_t positions;
  llrt_tensor made = {.data = (char *)dl->data + dl->byte_offset, .device = device};
  LLRT_TRY(take_type(dl->dtype.code, dl->dtype.bits, dl->dtype.lanes, &made.dtype, &positions));
  if (managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED && dl->dtype.bits < 8)
    return llrt_error(LLRT_UNSUPPORTED, "elements of less than a byte are padded");
  LLRT_REQUIRE(reaches(device, dl->device),
               "the memory is on DLPack's device %d:%d, not on this one",
               (int)dl->device.device_type, (int)dl->device.device_id);
  int bytes = llrt_dtype_bits(made.dtype) / 8;
  LLRT_REQUIRE(bytes < 2 || (uintptr_t)made.data % (uintptr_t)bytes == 0,
               "the data are not aligned to elements of %d bytes", bytes);
  LLRT_TRY(read_axes(dl, positions, &made));
  LLRT_TRY(settle(&made, storage));
  *tensor = made;
  if (read_only) *read_only = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return LLRT_OK;
}

/* ---- out ---- */

typedef struct exported {
  DLManagedTensorVersioned tensor;
  void (*release)(void *owner);
  void *owner;
  int64_t shape[LLRT_MAX_RANK], strides[LLRT_MAX_RANK];
} exported;

static void delete_exported(DLManagedTensorVersioned *self) {
  exported *made = self->manager_ctx;
  if (made->release) made->release(made->owner);
  free(made);
}

/* Elements from one position of each axis to the next, and where coordinate 0 lies; false where
 * there is more to say. */
static bool strides_of(const llrt_tensor *t, int64_t *strides, int64_t *origin) {
  llrt_storage row_major;
  llrt_storage_binding binding;
  const llrt_storage *s = t->storage;
  uint32_t seen = 0;
  if (!s && llrt_storage_row_major(t->rank, &row_major) == LLRT_OK) s = &row_major;
  if (!s || t->n_indices || s->tile.n_in || s->swizzle.swizzle_len || s->n_targets || s->pad)
    return false;
  for (int a = 0; a < t->rank; a++)
    if (t->extent_ptr[a]) return false;
  if (llrt_storage_bind(s, t->rank, t->shape, t->strides, &binding) != LLRT_OK) return false;
  memset(strides, 0, LLRT_MAX_RANK * sizeof *strides);
  for (int d = 0; d < s->n_digits; d++) {
    int axis = s->digit[d].axis;
    if (axis < 0 || seen >> axis & 1) return false;
    seen |= 1u << axis;
    strides[axis] = binding.stride[d];
  }
  for (int a = 0; a < t->rank; a++)
    if (!(seen >> a & 1) && t->shape[a] > 1) return false;
  *origin = binding.origin[0];
  return true;
}

llrt_status llrt_tensor_to_dlpack(const llrt_tensor *tensor, int32_t read_only,
                                  void (*release)(void *owner), void *owner,
                                  struct DLManagedTensorVersioned **managed) {
  LLRT_ENTRY();
  int64_t strides[LLRT_MAX_RANK], origin = 0;
  DLDevice where;
  DLDataType type = {.lanes = 1};
  LLRT_REQUIRE(managed, "managed is NULL");
  *managed = NULL;
  LLRT_REQUIRE(tensor, "tensor is NULL");
  LLRT_REQUIRE(tensor->rank >= 0 && tensor->rank <= LLRT_MAX_RANK, "rank is %d, not 0 to %d",
               tensor->rank, LLRT_MAX_RANK);
  LLRT_TRY(give_type(tensor->dtype, &type.code, &type.bits));
  if (!device_of(tensor->device, &where))
    return llrt_error(LLRT_UNSUPPORTED, "DLPack has no such device");
  int bits = type.bits;
  if (!strides_of(tensor, strides, &origin) || origin * bits % 8)
    return llrt_error(LLRT_UNSUPPORTED, "the tensor is more than strides: convert it first");
  exported *made = memory_zeroed(1, sizeof *made);
  if (!made) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a DLPack tensor");
  made->release = release;
  made->owner = owner;
  memcpy(made->shape, tensor->shape, sizeof made->shape);
  memcpy(made->strides, strides, sizeof strides);
  made->tensor =
      (DLManagedTensorVersioned){.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
                                 .manager_ctx = made,
                                 .deleter = delete_exported,
                                 .flags = read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0,
                                 .dl_tensor = {.data = tensor->data,
                                               .device = where,
                                               .ndim = tensor->rank,
                                               .dtype = type,
                                               .shape = made->shape,
                                               .strides = made->strides,
                                               .byte_offset = (uint64_t)(origin * bits / 8)}};
  *managed = &made->tensor;
  return LLRT_OK;
}
