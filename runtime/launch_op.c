/* The last step of every run: arguments and grid from the recipe, then the backend's launch. */
#include "runtime/prepared.h"

#include "base/status.h"

llrt_status llrt_op_launch(const llrt_op *op, int variant, const op_call *call, void *stream) {
  const plan_launch *recipe = &op->variant[variant].launch;
  uint64_t args[PLAN_MAX_ARGS];
  int64_t blocks;
  LLRT_TRY(plan_launch_bind(recipe, call->tensor, call->binding, call->n, args, &blocks));
  const backend_module *module = atomic_load_explicit(&op->module[variant], memory_order_acquire);
  backend_launch launch = {
      .blocks = blocks, .threads = recipe->threads, .n_args = recipe->n_args, .args = args};
  return op->device->backend->launch(op->device, module, &launch, stream);
}
