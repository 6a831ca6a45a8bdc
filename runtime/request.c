#include "runtime/request.h"

#include "backends/backend.h"
#include "base/status.h"
#include "runtime/description.h"
#include "runtime/validate.h"

#include <string.h>

static llrt_status find_target(const char *name, plan_target *target) {
  return strcmp(name, "host") == 0 ? llrt_host_target(target) : plan_target_find(name, target);
}

/* Where all extents are known: that they fit. */
static llrt_status check_known_shape(const op_description *desc, const storage_set *set,
                                     int index) {
  const llrt_storage *storage = &set->storage[index];
  llrt_tensor tensor = desc->tensors[index];
  llrt_storage_binding binding;
  if (storage->pad == LLRT_PAD_NONE) return LLRT_OK; /* the planner checks what fits */
  if (tensor.n_indices) return LLRT_OK;              /* an index brings its extent at the run */
  if (desc->kind == LLRT_OP_DOT) return LLRT_OK;     /* promises are of the axes, not of a tensor */
  for (int axis = 0; axis < tensor.rank; axis++) {
    const llrt_promise *promise = &desc->promises[index].shape[axis];
    if (promise->max == 0 || promise->min != promise->max) return LLRT_OK;
    tensor.shape[axis] = promise->max;
  }
  return llrt_storage_bind(storage, tensor.rank, tensor.shape, tensor.strides, &binding);
}

llrt_status llrt_request_take(const char *target, const llrt_op_desc *given, op_request *asked) {
  op_description *desc = &asked->desc;
  LLRT_REQUIRE(target, "target is NULL");
  LLRT_TRY(llrt_description_take(given, desc));
  LLRT_TRY(llrt_validate_desc(desc));
  llrt_description_normalise(desc);
  LLRT_TRY(find_target(target, &asked->target));
  LLRT_TRY(llrt_storage_set_init(desc->tensors, desc->n_tensors, desc->dot.roles, &asked->set));
  for (int i = 0; i < desc->n_tensors; i++) {
    LLRT_TRY(check_known_shape(desc, &asked->set, i));
    desc->tensors[i] = llrt_storage_set_tensor(&asked->set, i, desc->tensors[i].dtype);
  }
  return LLRT_OK;
}
