/* llrt_reduce: what it adds to a description and a call (op_call.c). */
#include "base/bits.h"
#include "base/params.h"
#include "base/status.h"
#include "layout/storage_rule.h"
#include "runtime/prepared.h"
#include "runtime/result.h"

#include <llrt/reduce.h>

#include <string.h>

llrt_status llrt_reduce_keep_axes(const llrt_tensor *tensor, int rank, uint32_t axes,
                                  llrt_storage *storage, llrt_tensor *kept) {
  LLRT_ENTRY();
  LLRT_REQUIRE(kept && storage, "kept or storage is NULL");
  memset(kept, 0, sizeof *kept);
  LLRT_REQUIRE(tensor, "tensor is NULL");
  LLRT_REQUIRE(rank >= 0 && rank <= LLRT_MAX_RANK && axes >> rank == 0, "axes is 0x%x, the rank %d",
               axes, rank);
  int dropped = rank - bits_count(axes);
  LLRT_REQUIRE(tensor->rank == rank || tensor->rank == dropped,
               "the result has rank %d: with the reduced axes it has %d, without %d", tensor->rank,
               rank, dropped);
  *kept = *tensor;
  if (tensor->rank == rank) return LLRT_OK;
  int8_t to[LLRT_MAX_RANK] = {0};
  for (int a = 0, from = 0; a < rank; a++) {
    bool reduced = axes >> a & 1;
    kept->shape[a] = reduced ? 1 : tensor->shape[from];
    kept->strides[a] = reduced ? 0 : tensor->strides[from];
    kept->extent_ptr[a] = reduced ? NULL : tensor->extent_ptr[from];
    if (!reduced) to[from++] = (int8_t)a;
  }
  llrt_storage own;
  if (tensor->storage) own = *tensor->storage;
  else LLRT_TRY(llrt_storage_row_major(dropped, &own));
  LLRT_TRY(llrt_storage_validate(&own));
  LLRT_REQUIRE(own.rank == dropped, "the result has rank %d, its storage rank %d", dropped,
               own.rank);
  LLRT_TRY(storage_renumber(&own, to, rank, storage));
  kept->rank = rank;
  kept->storage = storage;
  return LLRT_OK;
}

static llrt_status take_params(const llrt_tensor *source, const llrt_reduce_params *params,
                               llrt_reduce_params *out) {
  LLRT_TRY(LLRT_PARAMS_READ(llrt_reduce_params, params, out));
  LLRT_REQUIRE(source->rank > 0 && source->rank <= LLRT_MAX_RANK,
               "the source has rank %d, not 1 to %d", source->rank, LLRT_MAX_RANK);
  if (!out->op) out->op = LLRT_COMBINE_SUM;
  LLRT_REQUIRE(out->op >= LLRT_COMBINE_SUM && out->op <= LLRT_COMBINE_ALL,
               "there is no combiner %d", (int)out->op);
  if (!out->axes) out->axes = (uint32_t)bits_mask(source->rank);
  LLRT_REQUIRE(out->axes >> source->rank == 0, "params: axes is 0x%x, the source has rank %d",
               out->axes, source->rank);
  return LLRT_OK;
}

/* Rank and shape of a result, in the numbers of its own axes. */
static llrt_status check_result(const llrt_tensor *source, uint32_t axes, const llrt_tensor *result,
                                const char *role) {
  int dropped = source->rank - bits_count(axes);
  bool whole = result->rank == source->rank;
  LLRT_REQUIRE(whole || result->rank == dropped,
               "the %s has rank %d: with the axes that are reduced it has %d, without them %d",
               role, result->rank, source->rank, dropped);
  for (int a = 0, own = 0; a < source->rank; a++) {
    bool reduced = axes >> a & 1;
    if (reduced && !whole) continue;
    int64_t extent = result->shape[own];
    LLRT_REQUIRE(!reduced || extent == 1, "the %s's shape[%d] is %lld, not 1: the axis is reduced",
                 role, own, (long long)extent);
    LLRT_REQUIRE(reduced || extent == source->shape[a],
                 "the %s's shape[%d] is %lld, the source's shape[%d] %lld", role, own,
                 (long long)extent, a, (long long)source->shape[a]);
    own++;
  }
  return LLRT_OK;
}

/* ---- axes of one position ---- */

/* Row-major, without an index, by the tensor's shape alone. */
static bool is_plain(const llrt_tensor *tensor) {
  llrt_storage rows;
  if (tensor->n_indices != 0) return false;
  if (!tensor->storage) return true;
  return tensor->storage->rank == tensor->rank &&
         llrt_storage_row_major(tensor->rank, &rows) == LLRT_OK &&
         llrt_storage_equal(tensor->storage, &rows);
}

/* How many of the last axes have one position; not all of them. */
static int count_last_ones(const llrt_tensor *source) {
  int n = 0;
  while (n < source->rank - 1 && source->shape[source->rank - 1 - n] == 1 &&
         !source->extent_ptr[source->rank - 1 - n])
    n++;
  return n;
}

/* The last n axes become the first ones. */
static void turn_axes(const llrt_tensor *tensor, int n, llrt_tensor *turned) {
  *turned = *tensor;
  turned->storage = NULL;
  for (int a = 0; a < tensor->rank; a++) {
    int from = (a + tensor->rank - n) % tensor->rank;
    turned->shape[a] = tensor->shape[from];
    turned->extent_ptr[a] = tensor->extent_ptr[from];
  }
}

/* A reduce as it was asked for. */
typedef struct reduce_call {
  const llrt_tensor *source, *result[2]; /* result[1]: the values tensor, or NULL */
  llrt_op_combine combine;
} reduce_call;

static llrt_status describe(const reduce_call *call, llrt_storage storage[2],
                            op_description *desc) {
  op_description_begin(desc, LLRT_OP_REDUCE, call->result[1] ? 3 : 2);
  desc->tensors[0] = *call->source;
  desc->combine = call->combine;
  for (int i = 0; i < desc->n_tensors - 1; i++)
    LLRT_TRY(llrt_reduce_keep_axes(call->result[i], call->source->rank, call->combine.axes,
                                   &storage[i], &desc->tensors[1 + i]));
  return LLRT_OK;
}

/* Kernels take side by side what lies along the last axis. Row-major memory is the same wherever
 * axes of one position stand, and so is the number of a position that is found: if the last axes
 * have one position, they are described as the first ones. Precondition: the call is valid. */
static llrt_status turn_ones(const reduce_call *call, llrt_storage storage[2],
                             op_description *desc) {
  int ones = count_last_ones(call->source), rank = call->source->rank;
  llrt_tensor tensor[3];
  reduce_call turned = {.source = &tensor[0], .combine = call->combine};
  if (ones == 0 || !is_plain(call->source)) return LLRT_OK;
  turn_axes(call->source, ones, &tensor[0]);
  uint32_t axes = call->combine.axes, last = axes >> (rank - ones);
  turned.combine.axes = (axes << ones | last) & (uint32_t)bits_mask(rank);
  for (int i = 0; i < 2 && call->result[i]; i++) {
    if (!is_plain(call->result[i])) return LLRT_OK;
    bool whole = call->result[i]->rank == rank;
    turn_axes(call->result[i], whole ? ones : ones - bits_count(last), &tensor[1 + i]);
    turned.result[i] = &tensor[1 + i];
  }
  return describe(&turned, storage, desc);
}

llrt_status llrt_reduce_into(const llrt_tensor *source, const llrt_tensor *destination,
                             const llrt_reduce_params *params, void *stream) {
  LLRT_ENTRY();
  LLRT_REQUIRE(source, "source is NULL");
  LLRT_REQUIRE(destination, "destination is NULL");
  llrt_reduce_params own;
  llrt_storage storage[2];
  LLRT_TRY(take_params(source, params, &own));
  LLRT_TRY(check_result(source, own.axes, destination, "destination"));
  if (own.values) LLRT_TRY(check_result(source, own.axes, own.values, "values tensor"));
  static const char *const called[LLRT_MAX_TENSORS] = {[2] = "values tensor"};
  LLRT_ENTRY_NAMES(called);
  op_description desc;
  reduce_call call = {source,
                      {destination, own.values},
                      {.op = own.op, .accumulate = own.accumulate, .axes = own.axes}};
  LLRT_TRY(describe(&call, storage, &desc));
  LLRT_TRY(llrt_validate_tensors(desc.tensors, desc.n_tensors, 0, stream));
  LLRT_TRY(llrt_validate_desc(&desc));
  LLRT_TRY(turn_ones(&call, storage, &desc));
  return llrt_op_call(&desc, NULL, stream);
}

/* The source as far as the result takes after it. */
static llrt_tensor result_shape(const llrt_tensor *source, const llrt_reduce_params *params) {
  llrt_tensor shape = {.dtype = source->dtype, .device = source->device};
  for (int a = 0; a < source->rank; a++) {
    bool reduced = params->axes >> a & 1;
    if (!reduced || params->keep_axes) shape.shape[shape.rank++] = reduced ? 1 : source->shape[a];
  }
  return shape;
}

llrt_status llrt_reduce(const llrt_tensor *source, const llrt_storage *storage,
                        const llrt_reduce_params *params, void *stream, llrt_tensor *result) {
  LLRT_ENTRY();
  LLRT_REQUIRE(result, "result is NULL");
  memset(result, 0, sizeof *result);
  LLRT_REQUIRE(source, "source is NULL");
  llrt_reduce_params own;
  LLRT_TRY(take_params(source, params, &own));
  llrt_dtype dtype = own.dtype;
  LLRT_TRY(llrt_result_dtype((int)own.op, own.accumulate, source->dtype, &dtype));
  LLRT_TRY(llrt_validate_tensors(source, 1, 0, stream));
  llrt_tensor shape = result_shape(source, &own), made;
  LLRT_TRY(llrt_result_make(&shape, storage, dtype, stream, &made));
  return llrt_result_settle(llrt_reduce_into(source, &made, &own, stream), &made, stream, result);
}
