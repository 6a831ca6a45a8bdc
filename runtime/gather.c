/* llrt_gather, llrt_scatter: views of a tensor through an index tensor, which convert does the rest
 * with. */
#include "base/params.h"
#include "base/status.h"
#include "runtime/index_check.h"
#include "runtime/result.h"
#include "runtime/validate.h"

#include <llrt/gather.h>

#include <string.h>

/* ---- the index tensor ---- */

static llrt_status check_index(const llrt_tensor *index) {
  LLRT_REQUIRE(index->dtype == LLRT_I32 || index->dtype == LLRT_I64,
               "the index has %s values; i32 and i64 are possible", llrt_dtype_name(index->dtype));
  LLRT_REQUIRE(index->rank >= 0 && index->rank <= LLRT_MAX_RANK,
               "the index's rank is %d, not 0 to %d", index->rank, LLRT_MAX_RANK);
  LLRT_REQUIRE(index->n_indices == 0, "the index has indices itself");
  for (int axis = 0; axis < index->rank; axis++)
    LLRT_REQUIRE(index->shape[axis] >= 0, "the index's shape[%d] is %lld, not 0 or more", axis,
                 (long long)index->shape[axis]);
  return LLRT_OK;
}

/* Whether an element's offset is a sum over axes of coordinate times stride, from an origin. */
static bool is_strided(const llrt_storage *storage) {
  bool strided = llrt_layout_in_bits(&storage->tile) == 0 && storage->swizzle.swizzle_len == 0;
  int digits[LLRT_MAX_RANK] = {0};
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    strided &= digit->target == 0 && !digit->reversed;
    if (digit->axis >= 0) strided &= ++digits[digit->axis] == 1;
  }
  return strided;
}

/* Where the index tensor's values lie: address of the first, stride by axis, in values. */
static llrt_status find_values(const llrt_tensor *index, const void **data,
                               int64_t strides[LLRT_MAX_RANK]) {
  llrt_storage row_major;
  llrt_storage_binding binding;
  const llrt_storage *storage = index->storage;
  if (!storage) LLRT_TRY(llrt_storage_row_major(index->rank, &row_major));
  if (!storage) storage = &row_major;
  LLRT_TRY(llrt_storage_validate(storage));
  llrt_status status =
      llrt_storage_bind(storage, index->rank, index->shape, index->strides, &binding);
  if (status != LLRT_OK) return llrt_error_prefix(status, "the index");
  if (!is_strided(storage))
    return llrt_error(LLRT_UNSUPPORTED,
                      "the index's storage has more than one stride an axis: convert "
                      "it to row_major first");
  for (int i = 0; i < storage->n_digits; i++)
    if (storage->digit[i].axis >= 0) strides[storage->digit[i].axis] = binding.stride[i];
  *data = (const char *)index->data + binding.origin[0] * (llrt_dtype_bits(index->dtype) / 8);
  return LLRT_OK;
}

/* ---- forms ---- */

static llrt_status set_device_extent(const llrt_tensor *index, int from, int to, llrt_view *view) {
  const int32_t **extent = &view->tensor.extent_ptr[to];
  LLRT_REQUIRE(!index->extent_ptr[from] || !*extent || *extent == index->extent_ptr[from],
               "axis %d: the index has another extent_ptr than the tensor that it stands on", to);
  if (index->extent_ptr[from]) *extent = index->extent_ptr[from];
  return LLRT_OK;
}

/* The index's axis `b` against the store's, which is not the gathered one. */
static llrt_status take_axis(const llrt_tensor *index, const int64_t *strides, int b,
                             llrt_view *view, llrt_index *made) {
  int64_t own = index->shape[b], stored = view->tensor.shape[b];
  LLRT_REQUIRE(
      own == stored || own == 1 || stored == 1,
      "the index's shape[%d] is %lld, the tensor's %lld: they are equal, or one of them is 1", b,
      (long long)own, (long long)stored);
  if (own == 1 && stored != 1) return LLRT_OK; /* one value for all */
  made->axes |= 1u << b;
  made->strides[b] = strides[b];
  if (own != stored) made->folded |= 1u << b;
  view->tensor.shape[b] = own;
  return set_device_extent(index, b, b, view);
}

static llrt_status shape_view(const llrt_tensor *index, const int64_t *strides, int form,
                              llrt_view *view, llrt_index *made) {
  int axis = made->axis, own = form == LLRT_GATHER_SELECT ? 0 : axis;
  LLRT_REQUIRE(form == LLRT_GATHER_TAKE_ALONG || form == LLRT_GATHER_SELECT, "there is no form %d",
               form);
  if (form == LLRT_GATHER_SELECT)
    LLRT_REQUIRE(index->rank == 1, "the index has rank %d, not 1: LLRT_GATHER_SELECT takes a list",
                 index->rank);
  else
    LLRT_REQUIRE(index->rank == view->tensor.rank, "the index has rank %d, the tensor %d",
                 index->rank, view->tensor.rank);
  made->extent = view->tensor.shape[axis];
  made->axes = 1u << axis;
  made->strides[axis] = strides[own];
  view->tensor.shape[axis] = index->shape[own];
  LLRT_TRY(set_device_extent(index, own, axis, view));
  for (int b = 0; b < index->rank && form == LLRT_GATHER_TAKE_ALONG; b++)
    if (b != axis) LLRT_TRY(take_axis(index, strides, b, view, made));
  return LLRT_OK;
}

/* ---- views ---- */

static llrt_status start_view(const llrt_tensor *store, int32_t axis, llrt_view *view) {
  LLRT_REQUIRE(store->rank >= 0 && store->rank <= LLRT_MAX_RANK,
               "the tensor's rank is %d, not 0 to %d", store->rank, LLRT_MAX_RANK);
  LLRT_REQUIRE(axis >= 0 && axis < store->rank, "axis is %d, the tensor has rank %d", axis,
               store->rank);
  LLRT_REQUIRE(store->shape[axis] >= 0, "the tensor's shape[%d] is %lld, not 0 or more", axis,
               (long long)store->shape[axis]);
  LLRT_TRY(llrt_index_check_class(store, "tensor", false));
  if (store->n_indices == LLRT_MAX_INDICES)
    return llrt_error(LLRT_UNSUPPORTED, "the tensor has %d indices already", LLRT_MAX_INDICES);
  if (store->extent_ptr[axis])
    return llrt_error(LLRT_UNSUPPORTED,
                      "the extent that an index is checked against lies in device memory");
  view->tensor = *store;
  view->tensor.indices = view->indices;
  for (int i = 0; i < store->n_indices; i++) view->indices[i] = store->indices[i];
  return LLRT_OK;
}

llrt_status llrt_gather_view(const llrt_tensor *store, const llrt_tensor *index, int32_t axis,
                             const llrt_gather_params *params, llrt_view *view) {
  LLRT_ENTRY();
  llrt_gather_params own;
  int64_t strides[LLRT_MAX_RANK] = {0};
  LLRT_REQUIRE(view, "view is NULL");
  memset(view, 0, sizeof *view);
  LLRT_REQUIRE(store, "the tensor is NULL");
  LLRT_REQUIRE(index, "index is NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_gather_params, params, &own));
  LLRT_TRY(check_index(index));
  LLRT_REQUIRE(index->device == store->device, "the index is on another device");
  LLRT_TRY(start_view(store, axis, view));
  llrt_index *made = &view->indices[view->tensor.n_indices++];
  *made = (llrt_index){
      .axis = axis, .out_of_range = own.out_of_range, .dtype = index->dtype, .report = own.report};
  LLRT_TRY(find_values(index, &made->data, strides));
  LLRT_TRY(shape_view(index, strides, own.form, view, made));
  return llrt_index_check_class(&view->tensor, "tensor", false);
}

/* ---- calls ---- */

/* *convert: what the elements go through on their way, NULL: nothing. */
static llrt_status find_convert(const llrt_gather_params *params,
                                const llrt_convert_params **convert) {
  llrt_gather_params own;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_gather_params, params, &own));
  *convert = own.convert;
  return LLRT_OK;
}

llrt_status llrt_gather_into(const llrt_tensor *source, const llrt_tensor *index, int32_t axis,
                             const llrt_tensor *destination, const llrt_gather_params *params,
                             void *stream) {
  LLRT_ENTRY();
  llrt_view view;
  const llrt_convert_params *convert;
  LLRT_TRY(llrt_gather_view(source, index, axis, params, &view));
  LLRT_TRY(find_convert(params, &convert));
  return llrt_convert_into(&view.tensor, destination, convert, stream);
}

llrt_status llrt_scatter_into(const llrt_tensor *source, const llrt_tensor *index, int32_t axis,
                              const llrt_tensor *destination, const llrt_gather_params *params,
                              void *stream) {
  LLRT_ENTRY();
  llrt_view view;
  const llrt_convert_params *convert;
  LLRT_TRY(llrt_gather_view(destination, index, axis, params, &view));
  LLRT_TRY(find_convert(params, &convert));
  return llrt_convert_into(source, &view.tensor, convert, stream);
}

/* Zeros where a REPORT leaves elements out. */
static llrt_status clear(const llrt_tensor *made, const llrt_index *index, void *stream) {
  size_t bytes;
  if (index->out_of_range != LLRT_RANGE_REPORT) return LLRT_OK;
  LLRT_TRY(llrt_tensor_bytes(made, &bytes));
  return llrt_memory_set(made->device, made->data, 0, bytes, stream);
}

llrt_status llrt_gather(const llrt_tensor *source, const llrt_tensor *index, int32_t axis,
                        const llrt_storage *storage, const llrt_gather_params *params, void *stream,
                        llrt_tensor *result) {
  LLRT_ENTRY();
  LLRT_REQUIRE(result, "result is NULL");
  memset(result, 0, sizeof *result);
  llrt_view view;
  LLRT_TRY(llrt_gather_view(source, index, axis, params, &view));
  const llrt_convert_params *given;
  llrt_convert_params convert;
  LLRT_TRY(find_convert(params, &given));
  LLRT_TRY(LLRT_PARAMS_READ(llrt_convert_params, given, &convert));
  LLRT_TRY(llrt_validate_given_maps(convert.maps, convert.n_maps));
  llrt_index *own = &view.indices[view.tensor.n_indices - 1];
  if (own->out_of_range == LLRT_RANGE_SKIP) own->out_of_range = LLRT_RANGE_ZERO;
  llrt_tensor made;
  LLRT_TRY(llrt_result_make(&view.tensor, storage, convert.dtype, stream, &made));
  llrt_status status = clear(&made, own, stream);
  if (status == LLRT_OK) status = llrt_convert_into(&view.tensor, &made, &convert, stream);
  return llrt_result_settle(status, &made, stream, result);
}
