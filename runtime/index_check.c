#include "runtime/index_check.h"

#include "base/bits.h"
#include "base/params.h"
#include "base/status.h"

#include <string.h>

static llrt_status check_type(const llrt_index *index, const char *role, int number) {
  bool pointer = index->kind == LLRT_INDEX_POINTER;
  bool known = pointer ? index->dtype == LLRT_I64 || index->dtype == LLRT_U64
                       : index->dtype == LLRT_I32 || index->dtype == LLRT_I64;
  LLRT_REQUIRE(known, "the %s's index %d has %s values; %s are possible", role, number,
               llrt_dtype_name(index->dtype), pointer ? "i64 and u64" : "i32 and i64");
  return LLRT_OK;
}

static llrt_status check_policy(const llrt_index *index, const char *role, int number,
                                bool written) {
  LLRT_REQUIRE(index->out_of_range >= LLRT_RANGE_SKIP && index->out_of_range <= LLRT_RANGE_REPORT,
               "the %s's index %d: there is no way %d to treat values out of range", role, number,
               index->out_of_range);
  LLRT_REQUIRE(!written || index->out_of_range != LLRT_RANGE_ZERO,
               "the %s's index %d: values out of range have no place to write zeros to", role,
               number);
  LLRT_REQUIRE(!written || index->out_of_range != LLRT_RANGE_CLAMP,
               "the %s's index %d: clamping would send several elements to one place", role,
               number);
  LLRT_REQUIRE(index->kind != LLRT_INDEX_POINTER || index->out_of_range != LLRT_RANGE_CLAMP,
               "the %s's index %d: addresses cannot be clamped", role, number);
  return LLRT_OK;
}

static llrt_status check_index(const llrt_tensor *tensor, const char *role, int number,
                               bool written) {
  const llrt_index *index = &tensor->indices[number];
  LLRT_REQUIRE(index->kind == LLRT_INDEX_COORDINATE || index->kind == LLRT_INDEX_POINTER,
               "the %s's index %d: there is no kind %d", role, number, index->kind);
  LLRT_REQUIRE(index->axis >= 0 && index->axis < tensor->rank,
               "the %s's index %d is on axis %d, the tensor has rank %d", role, number, index->axis,
               tensor->rank);
  LLRT_REQUIRE(llrt_params_are_zero(index->reserved, sizeof index->reserved),
               "the %s's index %d: a reserved field is not 0", role, number);
  uint32_t all = (uint32_t)bits_mask(tensor->rank);
  LLRT_REQUIRE(!((index->axes | index->folded) & ~all),
               "the %s's index %d names an axis past the last, %d", role, number, tensor->rank - 1);
  LLRT_REQUIRE(!(index->folded >> index->axis & 1), "the %s's index %d folds its own axis", role,
               number);
  LLRT_REQUIRE(index->alignment >= 0 &&
                   (index->alignment == 0 || bits_is_power_of_two(index->alignment)),
               "the %s's index %d: alignment %lld is no power of two", role, number,
               (long long)index->alignment);
  LLRT_TRY(check_type(index, role, number));
  return check_policy(index, role, number, written);
}

llrt_status llrt_index_check_class(const llrt_tensor *tensor, const char *role, bool written) {
  LLRT_REQUIRE(tensor->n_indices >= 0 && tensor->n_indices <= LLRT_MAX_INDICES,
               "the %s has %d indices, not 0 to %d", role, tensor->n_indices, LLRT_MAX_INDICES);
  LLRT_REQUIRE(tensor->n_indices == 0 || tensor->indices, "the %s's indices are NULL", role);
  uint32_t axes = 0, folded = 0;
  int pointers = 0;
  for (int i = 0; i < tensor->n_indices; i++) {
    const llrt_index *index = &tensor->indices[i];
    LLRT_TRY(check_index(tensor, role, i, written));
    LLRT_REQUIRE(!(axes >> index->axis & 1), "the %s has two indices on axis %d", role,
                 index->axis);
    axes |= 1u << index->axis;
    folded |= index->folded;
    pointers += index->kind == LLRT_INDEX_POINTER;
  }
  LLRT_REQUIRE(!(axes & folded), "the %s has an index on an axis that another folds", role);
  LLRT_REQUIRE(pointers <= 1, "the %s has %d pointer lists", role, pointers);
  return LLRT_OK;
}

llrt_status llrt_index_check_values(const llrt_tensor *tensor, const char *role) {
  bool empty = false; /* then no value is read */
  for (int axis = 0; axis < tensor->rank; axis++) empty |= tensor->shape[axis] == 0;
  for (int i = 0; i < tensor->n_indices; i++) {
    const llrt_index *index = &tensor->indices[i];
    unsigned bytes = (unsigned)llrt_dtype_bits(index->dtype) / 8;
    LLRT_REQUIRE(index->data || empty, "the %s's index %d has data NULL", role, i);
    LLRT_REQUIRE((uintptr_t)index->data % bytes == 0,
                 "the %s's index %d is not aligned to its values", role, i);
    LLRT_REQUIRE(index->extent >= 0, "the %s's index %d has extent %lld, not 0 or more", role, i,
                 (long long)index->extent);
    LLRT_REQUIRE(index->out_of_range != LLRT_RANGE_CLAMP || index->extent > 0 || empty,
                 "the %s's index %d clamps to an axis without positions", role, i);
    for (int axis = 0; axis < tensor->rank; axis++)
      LLRT_REQUIRE(!(index->axes >> axis & 1) || index->strides[axis] >= 0,
                   "the %s's index %d has stride %lld along axis %d, not 0 or more", role, i,
                   (long long)index->strides[axis], axis);
    bool reports = index->out_of_range == LLRT_RANGE_REPORT;
    LLRT_REQUIRE(!reports || index->report, "the %s's index %d reports to NULL", role, i);
    LLRT_REQUIRE(!reports || (uintptr_t)index->report % sizeof(int32_t) == 0,
                 "the %s's index %d reports to an address that is no multiple of 4", role, i);
  }
  return LLRT_OK;
}

llrt_index llrt_index_class(const llrt_index *index) {
  return (llrt_index){.axis = index->axis,
                      .kind = index->kind,
                      .out_of_range = index->out_of_range,
                      .dtype = index->dtype == LLRT_U64 ? LLRT_I64 : index->dtype,
                      .axes = index->axes,
                      .folded = index->folded};
}

bool llrt_index_has_pointers(const llrt_tensor *tensor, int64_t *alignment) {
  for (int i = 0; i < tensor->n_indices; i++) {
    if (tensor->indices[i].kind != LLRT_INDEX_POINTER) continue;
    *alignment = tensor->indices[i].alignment;
    if (*alignment == 0) *alignment = bits_max(llrt_dtype_bits(tensor->dtype) / 8, 1);
    return true;
  }
  return false;
}

void llrt_index_shape(const llrt_tensor *tensor, int64_t shape[LLRT_MAX_RANK]) {
  memcpy(shape, tensor->shape, LLRT_MAX_RANK * sizeof *shape);
  for (int i = 0; i < tensor->n_indices; i++) {
    const llrt_index *index = &tensor->indices[i];
    shape[index->axis] = index->kind == LLRT_INDEX_POINTER ? 1 : index->extent;
    for (int axis = 0; axis < tensor->rank; axis++)
      if (index->folded >> axis & 1) shape[axis] = 1;
  }
}
