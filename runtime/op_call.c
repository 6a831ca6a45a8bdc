/* What every one-line call does once it has its description:
 *   cache.c        the tensors' storages, checked once
 *   promise.c      what this call's addresses and strides keep: the class
 *   choose.c       the operation that serves the class
 *   prepare.c      the variant for this shape; planned and compiled at its first call
 *   launch_op.c    arguments, grid, launch */
#include "base/status.h"
#include "runtime/choose.h"
#include "runtime/context.h"
#include "runtime/policy.h"
#include "runtime/prepared.h"
#include "runtime/promise.h"

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
  llrt_op *op, *alternative;
  LLRT_TRY(llrt_choose(desc, set, &call, &op, &alternative));
  if (alternative && llrt_policy_of(device->context) == LLRT_COMPILE_BACKGROUND) {
    llrt_compile_behind(op, &call.tensor[0]);
    op = alternative;
  }
  int variant;
  llrt_status status = llrt_op_ready(op, &call.tensor[0], stream, &variant);
  if (status == LLRT_NOT_PREPARED && alternative) {
    op = alternative;
    status = llrt_op_ready(op, &call.tensor[0], stream, &variant);
  }
  LLRT_TRY(status);
  return llrt_op_launch_alone(op, variant, &call, stream);
}
