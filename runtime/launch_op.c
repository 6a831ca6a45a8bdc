/* The last step of every run: arguments and grid from the recipes, then the backend's launches. */
#include "runtime/context.h"
#include "runtime/launch_log.h"
#include "runtime/prepared.h"
#include "runtime/workspace.h"

#include "base/status.h"

/* A kernel may want shared memory for each of its index's values. */
static llrt_status share_by_values(const plan_launch *recipe, const plan_run *run,
                                   backend_launch *launch) {
  int64_t values = run->tensors[0].indices[0].extent;
  if (values > recipe->shared_bytes / recipe->value_bytes)
    return llrt_error(LLRT_UNSUPPORTED, "the index has %lld values, the kernel is for %d",
                      (long long)values, recipe->shared_bytes / recipe->value_bytes);
  launch->shared_bytes = (int32_t)values * recipe->value_bytes;
  return LLRT_OK;
}

/* *launched: whether stages before it were; then whether this one was, too. A stage beside others
 * waits at its end alone, and so begins early behind those alone. */
static llrt_status launch_stage(const llrt_op *op, int kernel, const plan_run *run, int32_t room,
                                void *stream, bool *launched) {
  const plan_launch *recipe = &op->variant[kernel].launch;
  uint64_t args[PLAN_MAX_ARGS];
  int64_t blocks;
  LLRT_TRY(plan_run_stage(recipe, run, args, &blocks));
  if (blocks == 0) return LLRT_OK;
  int64_t most = (int64_t)recipe->rounds * op->device->info.compute_units;
  if (recipe->cluster > 0) most -= most % recipe->cluster;
  if (most > 0 && blocks > most) blocks = most;
  const backend_module *module = atomic_load_explicit(&op->module[kernel], memory_order_acquire);
  bool may_begin = !recipe->beside || *launched;
  backend_launch launch = {.early = op->device->target.facts.early_launches && may_begin,
                           .stays = recipe->rounds > 0 && recipe->dealt == 0,
                           .blocks = blocks,
                           .threads = recipe->threads,
                           .block_bytes = recipe->block_bytes,
                           .room_bytes = room,
                           .n_args = recipe->n_args,
                           .args = args,
                           .n_boxes = recipe->n_boxes,
                           .boxes = recipe->box};
  if (recipe->value_bytes > 0) LLRT_TRY(share_by_values(recipe, run, &launch));
  *launched = true;
  return op->device->backend->launch(op->device, module, &launch, stream);
}

static llrt_status begin(const llrt_op *op, int variant, const op_call *call, plan_run *run) {
  if (op->desc.kind == LLRT_OP_COMPUTE)
    LLRT_TRY(llrt_validate_compute_halves(&op->desc, op->variant[variant].launch.later + 1, call));
  LLRT_TRY(plan_run_begin(&op->variant[variant].launch, call->tensor, call->binding, call->n, run));
  run->alpha = call->alpha;
  run->beta = call->beta;
  run->scalars = call->scalars;
  return LLRT_OK;
}

static llrt_status take_workspace(const llrt_run_params *params, plan_run *run) {
  if (run->workspace_bytes == 0) return LLRT_OK;
  LLRT_REQUIRE(params->workspace, "the operation needs %lld bytes of workspace",
               (long long)run->workspace_bytes);
  LLRT_REQUIRE(params->workspace_bytes >= (size_t)run->workspace_bytes,
               "the workspace has %zu bytes, the operation needs %lld", params->workspace_bytes,
               (long long)run->workspace_bytes);
  LLRT_REQUIRE((uintptr_t)params->workspace % LLRT_WORKSPACE_ALIGNMENT == 0,
               "the workspace's address is no multiple of %d", LLRT_WORKSPACE_ALIGNMENT);
  plan_run_place(run, params->workspace, (char *)params->workspace + run->zero_bytes);
  return LLRT_OK;
}

/* A graph that captures the launch has the code for as long as it lives. */
static llrt_status pin_captured(const llrt_op *op, void *stream) {
  kernel_cache *cache = &op->device->context->cache;
  if (!llrt_cache_may_unload(cache, (llrt_op *)op)) return LLRT_OK;
  backend_stream state;
  LLRT_TRY(op->device->backend->stream_state(op->device, stream, &state));
  if (state.capturing) llrt_cache_pin(cache, (llrt_op *)op);
  return LLRT_OK;
}

static llrt_status launch_each(const llrt_op *op, int variant, const plan_run *run, int32_t room,
                               void *stream) {
  bool launched = false;
  for (int i = 0; i <= op->variant[variant].launch.later; i++)
    LLRT_TRY(launch_stage(op, variant + i, run, room, stream, &launched));
  return LLRT_OK;
}

static llrt_status launch_stages(const llrt_op *op, int variant, const op_call *call,
                                 const plan_run *run, void *stream) {
  LLRT_TRY(pin_captured(op, stream));
  if (!llrt_launch_log_wanted(op)) return launch_each(op, variant, run, call->room_bytes, stream);
  launch_log log = {.op = op, .variant = variant, .call = call, .run = run, .stream = stream};
  llrt_launch_log_begin(&log);
  llrt_status status = launch_each(op, variant, run, call->room_bytes, stream);
  llrt_launch_log_end(&log, status);
  return status;
}

static llrt_status launch_in(const llrt_op *op, int variant, const op_call *call,
                             const llrt_run_params *params, void *stream) {
  plan_run run;
  LLRT_TRY(begin(op, variant, call, &run));
  LLRT_TRY(take_workspace(params, &run));
  LLRT_TRY(launch_stages(op, variant, call, &run, stream));
  if (!op->variant[variant].launch.workspace.clear || run.workspace_bytes == 0) return LLRT_OK;
  return op->device->backend->set(op->device, params->workspace, 0, (size_t)run.workspace_bytes,
                                  stream);
}

llrt_status llrt_op_launch(const llrt_op *op, int variant, const op_call *call,
                           const llrt_run_params *params, void *stream) {
  if (!params->own_workspace) return launch_in(op, variant, call, params, stream);
  LLRT_REQUIRE(params->own_workspace == 1, "own_workspace is %d, not 0 or 1",
               params->own_workspace);
  LLRT_REQUIRE(!params->workspace, "workspace is not NULL, and own_workspace is set");
  return llrt_op_launch_alone(op, variant, call, stream);
}

llrt_status llrt_op_launch_alone(const llrt_op *op, int variant, const op_call *call,
                                 void *stream) {
  plan_run run;
  workspace_loan loan;
  LLRT_TRY(begin(op, variant, call, &run));
  if (run.workspace_bytes == 0) return launch_stages(op, variant, call, &run, stream);
  LLRT_TRY(llrt_workspace_take(op->device, &run, stream, &loan));
  llrt_status status = launch_stages(op, variant, call, &run, stream);
  bool zeroes = !op->variant[variant].launch.workspace.clear;
  return llrt_workspace_return(&loan, status, zeroes);
}

llrt_status llrt_op_workspace_bytes(const llrt_op *op, const op_call *call, size_t *bytes) {
  int64_t most;
  *bytes = 0;
  for (int i = 0; i < atomic_load(&op->n_variants); i += 1 + op->variant[i].launch.later) {
    LLRT_TRY(
        plan_workspace_most(&op->variant[i].launch, call->tensor, call->binding, call->n, &most));
    if ((size_t)most > *bytes) *bytes = (size_t)most;
  }
  return LLRT_OK;
}
