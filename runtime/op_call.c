/* What every one-line call does once it has its description:
 *   cache.c        the tensors' storages, checked once
 *   promise.c      what this call's addresses and strides keep: the class
 *   choose.c       the operation that serves the class
 *   prepare.c      the variant for this shape; planned and compiled at its first call
 *   launch_op.c    arguments, grid, launch */
#include "base/status.h"
#include "runtime/choose.h"
#include "runtime/context.h"
#include "runtime/launch_log.h"
#include "runtime/policy.h"
#include "runtime/prepared.h"
#include "runtime/promise.h"
#include "runtime/reach.h"
#include "runtime/tuned.h"

/* Of a variant that was not loaded before the call waited for the compiler, or for the disk. */
static const char *cache_word(const llrt_op *op, uint64_t loaded, int variant) {
  if (loaded >> variant & 1) return "hit";
  return atomic_load(&op->from_disk) >> variant & 1 ? "disk" : "miss";
}

/* By the operation, or while that is not ready by the alternative, which may be NULL. */
static llrt_status run(llrt_op *op, llrt_op *alternative, op_call *call, void *stream) {
  if (alternative && llrt_policy_of(op->device->context) == LLRT_COMPILE_BACKGROUND) {
    llrt_compile_behind(op, &call->tensor[0]);
    op = alternative;
  }
  int variant;
  llrt_op *chosen = op;
  bool told = llrt_launch_log_wanted(op);
  uint64_t loaded = told ? llrt_op_loaded(op) : 0;
  llrt_status status = llrt_op_ready(op, &call->tensor[0], stream, &variant);
  if (status == LLRT_NOT_PREPARED && alternative) {
    op = alternative;
    status = llrt_op_ready(op, &call->tensor[0], stream, &variant);
  }
  LLRT_TRY(status);
  const llrt_op *tuned = llrt_tuned_for(op, &call->tensor[0]);
  if (tuned != op) return llrt_op_launch_alone(tuned, 0, call, stream);
  if (told) call->cache = op == chosen ? cache_word(op, loaded, variant) : "hit";
  return llrt_op_launch_alone(op, variant, call, stream);
}

static llrt_status call_with(op_description *desc, storage_set *set, void *stream) {
  const llrt_tensor *tensors = desc->tensors;
  op_call call;
  LLRT_TRY(llrt_validate_shapes(desc, tensors, set, &call));
  if (call.empty) return LLRT_OK;
  LLRT_TRY(llrt_validate_memory(desc, set, &call));
  LLRT_TRY(llrt_check_reach(&call, set, stream));

  llrt_promises_coarse(&call, set, desc);
  llrt_op *op, *alternative;
  LLRT_TRY(llrt_choose(desc, set, &call, &op, &alternative));
  llrt_status status = run(op, alternative, &call, stream);
  llrt_op_release(op);
  llrt_op_release(alternative);
  return status;
}

static llrt_status get_set(op_description *desc, llrt_hash *key, storage_set **set) {
  kernel_cache *cache = &desc->tensors[0].device->context->cache;
  *set = key && (key->low | key->high) ? llrt_cache_find_set(cache, *key) : NULL;
  if (*set) return LLRT_OK;
  LLRT_TRY(llrt_cache_get_set(cache, desc->tensors, desc->n_tensors, desc->dot.roles, set));
  if (key) *key = (*set)->key;
  return LLRT_OK;
}

static llrt_status call_on(op_description *desc, llrt_hash *set_key, void *stream) {
  llrt_device *device = desc->tensors[0].device;
  storage_set *set;
  LLRT_TRY(get_set(desc, set_key, &set));
  llrt_status status = call_with(desc, set, stream);
  llrt_storage_set_release(set);
  llrt_cache_enforce(&device->context->cache);
  return status;
}

llrt_status llrt_op_call(op_description *desc, llrt_hash *set_key, void *stream) {
  llrt_status status = call_on(desc, set_key, stream);
  return status == LLRT_OK ? LLRT_OK
                           : llrt_log_failure(desc->tensors[0].device, desc->kind, status);
}
