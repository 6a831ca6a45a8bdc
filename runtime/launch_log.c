#include "runtime/launch_log.h"

#include "base/bits.h"
#include "base/float_mode.h"
#include "base/status.h"
#include "base/text.h"
#include "jit/plan/types/combine.h"
#include "runtime/op_text.h"

#include <string.h>

/* ---- timing ---- */

void llrt_launch_log_begin(launch_log *log) {
  llrt_device *device = log->op->device;
  const llrt_backend *backend = device->backend;
  backend_stream state = {.capturing = true};
  log->start = log->stop = NULL;
  log->timed = false;
  if (backend->stream_state(device, log->stream, &state) != LLRT_OK) state.capturing = true;
  log->captured = state.capturing;
  if (log->captured || backend->event_create(device, &log->start) != LLRT_OK) return;
  if (backend->event_create(device, &log->stop) != LLRT_OK) return;
  log->timed = backend->event_record(device, log->start, log->stream) == LLRT_OK;
}

/* Waits for the stages; below 0: their time is not known. */
static double measure(launch_log *log) {
  llrt_device *device = log->op->device;
  const llrt_backend *backend = device->backend;
  double us = -1;
  if (log->timed && backend->event_record(device, log->stop, log->stream) == LLRT_OK &&
      backend->event_elapsed(device, log->start, log->stop, &us) != LLRT_OK)
    us = -1;
  if (log->start) backend->event_destroy(device, log->start);
  if (log->stop) backend->event_destroy(device, log->stop);
  return us;
}

/* ---- sizes ---- */

/* Positions of a dot's tensor along an axis of the operation: LLRT_GROUP_ALL is an axis that it
 * does not have. */
static int64_t dot_positions(const launch_log *log, int tensor, int axis) {
  int32_t group = log->op->desc.dot.group[tensor][axis];
  int64_t extent = log->call->tensor[0].shape[axis]; /* of the operation: llrt_validate_shapes */
  return group == LLRT_GROUP_ALL ? 1 : bits_ceil_div(extent, group > 1 ? group : 1);
}

static bool has_axis(const launch_log *log, int tensor, int axis) {
  return log->op->desc.kind != LLRT_OP_DOT ||
         log->op->desc.dot.group[tensor][axis] != LLRT_GROUP_ALL;
}

static int64_t positions(const launch_log *log, int tensor, int axis) {
  bool dot = log->op->desc.kind == LLRT_OP_DOT;
  return dot ? dot_positions(log, tensor, axis) : log->call->tensor[tensor].shape[axis];
}

/* Of the tensor's elements, each once. */
static double bytes_of(const launch_log *log, int tensor) {
  double bytes = log->call->bits[tensor] / 8.0;
  for (int axis = 0; axis < log->op->set->rank; axis++)
    bytes *= (double)positions(log, tensor, axis);
  return bytes;
}

/* ---- the prediction ---- */

/* By the model that chose the variant (jit/plan/cost/predict.c: memory and instructions; for dots
 * the clocks of turns and tiles); below 0: a loaded operation has none. */
static double predict(const launch_log *log) {
  const llrt_device *device = log->op->device;
  const kernel_variant *first = &log->op->variant[log->variant];
  const plan_launch *launch =
      plan_launch_decides(&first->launch, &first[first->launch.later].launch);
  double units = device->info.compute_units, clocks = log->op->variant[log->variant].clocks,
         widest = 0;
  for (int i = 0; i < log->op->set->n; i++)
    if (bytes_of(log, i) > widest) widest = bytes_of(log, i);
  if (device->clock_mhz <= 0 || units <= 0) return -1;
  if (launch->pace.units > 0)
    return (double)plan_launch_clocks(launch, &log->call->tensor[0], device->info.compute_units) /
           PACE_MHZ;
  if (log->op->desc.kind == LLRT_OP_DOT || clocks <= 0) return -1;
  double covered =
      plan_launch_covered_bytes(launch, log->call->tensor, log->call->binding, log->op->set->n);
  return clocks * (covered > widest ? covered : widest) / units / device->clock_mhz;
}

/* ---- the line ---- */

static void add_storage(const llrt_storage *storage, llrt_text *text) {
  char printed[512];
  if (llrt_storage_print(storage, printed, sizeof printed, NULL) != LLRT_OK) strcpy(printed, "...");
  for (const char *at = printed; *at; at++)
    if (*at != ' ') llrt_text_add_bytes(text, at, 1);
}

/* source=f32[64x32]:row_major@256: type, shape, storage; the largest power of two up to 256 that
 * divides the address. */
static void add_tensor(const launch_log *log, int i, llrt_text *text) {
  const llrt_tensor *tensor = &log->call->tensor[i];
  uintptr_t address = (uintptr_t)tensor->data | 256;
  const char *parted = "";
  llrt_text_add(text, " %s=%s[", llrt_tensor_word(&log->op->desc, i),
                llrt_dtype_name(tensor->dtype));
  for (int axis = 0; axis < log->op->set->rank; axis++) {
    if (!has_axis(log, i, axis)) continue;
    llrt_text_add(text, "%s%lld", parted, (long long)positions(log, i, axis));
    parted = "x";
  }
  llrt_text_add(text, "]:");
  add_storage(&log->op->set->storage[i], text);
  llrt_text_add(text, "@%lld", (long long)(address & -address));
  if (tensor->n_indices) llrt_text_add(text, "+%dindices", tensor->n_indices);
}

static void add_number(const char *key, double number, llrt_text *text) {
  if (number < 0) llrt_text_add(text, " %s=-", key);
  else llrt_text_add(text, " %s=%.2f", key, number);
}

static void add_operation(const launch_log *log, llrt_text *text) {
  const op_description *desc = &log->op->desc;
  bool combines = desc->kind == LLRT_OP_REDUCE || desc->kind == LLRT_OP_SCAN;
  llrt_text_add(text, "launch op=%s", llrt_op_kind_name(desc->kind));
  if (combines)
    llrt_text_add(text, " combine=%s axes=0x%x", combine_name((int)desc->combine.op),
                  desc->combine.axes);
  if (desc->in_place) llrt_text_add(text, " in_place=1");
  if (desc->n_maps) llrt_text_add(text, " maps=%d", desc->n_maps);
}

/* 1/3: the first of three variants, as `llrt explain` counts them. */
static void add_variant(const launch_log *log, llrt_text *text) {
  int n = atomic_load(&log->op->n_variants), variants = 0, own = 0;
  for (int i = 0; i < n; i++) {
    variants += log->op->variant[i].launch.stage == 0;
    if (i == log->variant) own = variants;
  }
  llrt_text_add(text, " variant=%d/%d", own, variants);
}

static void add_launch(const launch_log *log, double measured, llrt_text *text) {
  const llrt_op *op = log->op;
  const plan_launch *launch = &op->variant[log->variant].launch;
  double bytes = 0;
  for (int i = 0; i < op->set->n; i++) bytes += bytes_of(log, i);
  add_operation(log, text);
  llrt_text_add(text, " device=%s target=%s kernel=%08x", op->device->info.name,
                op->device->target.name, (unsigned)op->code_hash[log->variant]);
  add_variant(log, text);
  llrt_text_add(text, " cache=%s", log->call->cache ? log->call->cache : "prepared");
  for (int i = 0; i < op->set->n; i++) add_tensor(log, i, text);
  llrt_text_add(text, " bytes=%.0f launches=%d workspace=%lld captured=%d", bytes,
                launch->later + 1, (long long)log->run->workspace_bytes, log->captured);
  add_number("predicted_us", predict(log), text);
  add_number("measured_us", measured, text);
}

static void tell(launch_log *log, llrt_status status) {
  double measured = measure(log);
  if (status != LLRT_OK) return;
  llrt_text text;
  llrt_text_init(&text);
  add_launch(log, measured, &text);
  if (text.data) llrt_log(&log->op->device->context->log, LLRT_LOG_VERBOSE, "%s", text.data);
  llrt_text_fini(&text);
}

/* The caller's floating-point mode may trap what times and their digits take. */
void llrt_launch_log_end(launch_log *log, llrt_status status) {
  llrt_float_mode callers = llrt_float_mode_enter();
  tell(log, status);
  llrt_float_mode_leave(callers);
}

/* ---- failures ---- */

llrt_status llrt_log_failure(llrt_device *device, llrt_op_kind kind, llrt_status status) {
  context_log *log = &device->context->log;
  if (status == LLRT_OK || !llrt_log_wants(log, LLRT_LOG_ERROR)) return status;
  llrt_text text;
  llrt_text_init(&text);
  for (const char *at = llrt_last_error(); *at; at++)
    llrt_text_add(&text, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
  llrt_log(log, LLRT_LOG_ERROR, "failed op=%s device=%s status=%s message=\"%s\"",
           llrt_op_kind_name(kind), device->info.name, llrt_status_name(status),
           text.data ? text.data : "");
  llrt_text_fini(&text);
  return status;
}
