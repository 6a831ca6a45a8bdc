/* What every one-line call does once it has its description:
 *   cache.c        the tensors' storages, checked once; the operation of their class
 *   promise.c      what this call's addresses and strides keep: the class
 *   prepare.c      the variant for this shape; planned and compiled at its first call
 *   launch_op.c    arguments, grid, launch */
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/prepared.h"
#include "runtime/promise.h"

/* The operation of the call's class: small extents compiled in, as long as there are not too many. */
static llrt_status find_op(llrt_device *device, llrt_op_desc *desc, storage_set *set, llrt_op **op) {
  kernel_cache *cache = &device->context->cache;
  if (!desc->in_place && llrt_promises_fix_extents(desc, set->rank)) {
    LLRT_TRY(llrt_cache_get_fixed_op(cache, device, desc, set, op));
    if (*op) return LLRT_OK;
    llrt_promises_open_extents(desc, set->rank);
  }
  return llrt_cache_get_op(cache, device, desc, set, op);
}

llrt_status llrt_op_call(llrt_op_desc *desc, void *stream) {
  const llrt_tensor *tensors = desc->tensors;
  llrt_device *device = tensors[0].device;
  storage_set *set;
  LLRT_TRY(llrt_cache_get_set(&device->context->cache, tensors, desc->n_tensors, desc->dot.roles, &set));
  op_call call;
  LLRT_TRY(llrt_validate_shapes(desc, tensors, set, &call));
  if (call.empty) return LLRT_OK;
  LLRT_TRY(llrt_validate_memory(desc, set, &call));

  llrt_promises_coarse(&call, set, desc);
  llrt_op *op;
  LLRT_TRY(find_op(device, desc, set, &op));
  int variant;
  LLRT_TRY(llrt_op_ready(op, &call.tensor[0], stream, &variant));
  return llrt_op_launch_alone(op, variant, &call, stream);
}
