/* llrt_convert, from the call to the launch:
 *   validate.c     what can be said of the tensors alone
 *   op_call.c      what follows, for every operation:
 *   cache.c        their storages, checked once
 *   promise.c      what this call's addresses and strides keep: the class
 *   choose.c       the operation that serves the class
 *   prepare.c      the variant for this shape; planned and compiled at its first call
 *   launch_op.c    arguments, grid, launch; workspace.c, where the operation needs some */
#include "base/params.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/description.h"
#include "runtime/prepared.h"
#include "runtime/result.h"

#include <llrt/convert.h>

#include <stdlib.h>
#include <string.h>

/* The description without promises. */
static llrt_status describe(const llrt_tensor *source, const llrt_tensor *destination,
                            const llrt_convert_params *params, op_description *desc) {
  op_description_begin(desc, LLRT_OP_CONVERT, params->scale ? 3 : 2);
  desc->tensors[0] = *source;
  desc->tensors[1] = *destination;
  if (params->scale) desc->tensors[2] = *params->scale;
  LLRT_TRY(llrt_description_take_maps(params->maps, params->n_maps, desc));
  LLRT_TRY(llrt_validate_maps(desc->maps, desc->n_maps));
  bool scaled = llrt_map_of_scale(desc) != NULL;
  LLRT_REQUIRE(scaled == (params->scale != NULL),
               "params: a SCALE map and a scale tensor go together");
  return LLRT_OK;
}

/* The tensor's rule with the strides of this call as numbers: a kernel in place is made for its
 * strides, as for its shape. Where they do not bind the rule stays, and is refused by name. */
static void settle_strides(llrt_tensor *tensor, llrt_storage *settled) {
  llrt_storage_binding binding;
  bool open = false;
  for (int i = 0; tensor->storage && i < tensor->storage->n_digits; i++)
    open |= tensor->storage->digit[i].stride == LLRT_STRIDE_RUNTIME;
  if (!open || llrt_storage_bind(tensor->storage, tensor->rank, tensor->shape, tensor->strides,
                                 &binding) != LLRT_OK)
    return;
  *settled = *tensor->storage;
  for (int i = 0; i < settled->n_digits; i++)
    if (settled->digit[i].stride == LLRT_STRIDE_RUNTIME)
      settled->digit[i].stride = llabs(binding.stride[i]);
  tensor->storage = settled;
}

llrt_status llrt_convert_into(const llrt_tensor *source, const llrt_tensor *destination,
                              const llrt_convert_params *params, void *stream) {
  LLRT_ENTRY();
  LLRT_REQUIRE(source, "source is NULL");
  LLRT_REQUIRE(destination, "destination is NULL");
  op_description desc;
  llrt_convert_params own;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_convert_params, params, &own));
  LLRT_TRY(describe(source, destination, &own, &desc));
  desc.in_place = source->data && source->data == destination->data && source->n_indices == 0 &&
                  destination->n_indices == 0;
  const llrt_tensor *tensors = desc.tensors;
  llrt_storage settled[2];
  LLRT_TRY(llrt_validate_tensors(tensors, desc.n_tensors, 0, stream));
  LLRT_TRY(llrt_validate_cast(&desc));
  LLRT_TRY(llrt_validate_scale(&desc));
  for (int t = 0; t < 2 && desc.in_place; t++) settle_strides(&desc.tensors[t], &settled[t]);
  return llrt_op_call(&desc, NULL, stream);
}

llrt_status llrt_convert(const llrt_tensor *source, const llrt_storage *storage,
                         const llrt_convert_params *params, void *stream, llrt_tensor *result) {
  LLRT_ENTRY();
  LLRT_REQUIRE(result, "result is NULL");
  memset(result, 0, sizeof *result);
  LLRT_REQUIRE(source, "source is NULL");
  llrt_convert_params own;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_convert_params, params, &own));
  LLRT_TRY(llrt_validate_given_maps(own.maps, own.n_maps));
  llrt_tensor made;
  LLRT_TRY(llrt_result_make(source, storage, own.dtype, stream, &made));
  llrt_status status = llrt_convert_into(source, &made, &own, stream);
  return llrt_result_settle(status, &made, stream, result);
}

llrt_status llrt_tensor_free(llrt_tensor *tensor, void *stream) {
  LLRT_ENTRY();
  LLRT_REQUIRE(tensor, "tensor is NULL");
  llrt_tensor freed = *tensor;
  memset(tensor, 0, sizeof *tensor);
  if (!freed.data) return LLRT_OK;
  LLRT_REQUIRE(freed.device, "the tensor has no device");
  return llrt_context_release(freed.device, freed.data, stream);
}
