/* See trial_ways.h. */
#include "tests/expression/trial_ways.h"

#include "base/status.h"
#include "tests/replay/graph_driver.h"

#include <stdlib.h>
#include <string.h>

/* ---- prepared ---- */

static bool toss(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 63;
}

static void forget(llrt_promise *promise, uint64_t *state) {
  if (toss(state)) *promise = (llrt_promise){0};
}

static void forget_some(llrt_op_desc *desc, uint64_t state) {
  bool shapes = toss(&state); /* else extents alone are forgotten, or all else alone */
  for (int t = 0; t < desc->n_tensors; t++) {
    llrt_tensor_promise *promise = &desc->promises[t];
    for (int a = 0; a < desc->tensors[t].rank; a++) {
      if (shapes || toss(&state)) forget(&promise->shape[a], &state);
      if (!shapes || toss(&state)) forget(&promise->stride[a], &state);
    }
    for (int i = 0; i < desc->tensors[t].n_indices; i++)
      if (toss(&state)) promise->index[i] = (llrt_index_promise){0};
    forget(&promise->address, &state);
  }
}

static void promise_extents(llrt_op_desc *desc) {
  for (int t = 0; t < desc->n_tensors; t++)
    for (int a = 0; a < desc->tensors[t].rank; a++) {
      llrt_promise *shape = &desc->promises[t].shape[a];
      if (!desc->tensors[t].extent_ptr[a]) shape->min = shape->max = desc->tensors[t].shape[a];
    }
}

static llrt_status promise(trial_way way, uint64_t seed, llrt_op_desc *desc) {
  if (way == TRIAL_UNPROMISED) return LLRT_OK;
  LLRT_TRY(llrt_op_promise_coarse(desc));
  if (way == TRIAL_SOME || way == TRIAL_SAVED) forget_some(desc, seed * 0x9E3779B97F4A7C15u);
  if (way == TRIAL_EXACT) promise_extents(desc);
  return LLRT_OK;
}

/* The operation by way of its bytes. */
static llrt_status save_and_load(llrt_device *device, llrt_op **op) {
  size_t size = 0;
  LLRT_TRY(llrt_op_save(*op, NULL, &size));
  void *bytes = malloc(size);
  llrt_status status = llrt_op_save(*op, bytes, &size);
  llrt_op_destroy(op);
  if (status == LLRT_OK) status = llrt_op_load(device, bytes, size, op);
  free(bytes);
  return status;
}

static llrt_status run(const llrt_op *op, void *stream, const llrt_op_desc *desc) {
  llrt_run_params params = {.size = sizeof params, .scalars = desc->scalars, .own_workspace = 1};
  return llrt_op_run(op, stream, desc->tensors, desc->n_tensors, &params);
}

/* ---- captured ---- */

static llrt_status check(int result, const char *what) {
  return result == 0 ? LLRT_OK : llrt_error(LLRT_DEVICE, "%s: the driver's error %d", what, result);
}

static llrt_status replay(const graph_driver *driver, void *captured, void *replayed) {
  void *exec = NULL;
  LLRT_TRY(check(graph_driver_finish(driver, captured, &exec), "end of capture"));
  llrt_status status = check(driver->launch(exec, replayed), "launch of a graph");
  if (status == LLRT_OK) status = check(driver->stream_synchronize(replayed), "a graph");
  driver->exec_destroy(exec);
  return status;
}

static llrt_status capture(const graph_driver *driver, void *captured, void *replayed,
                           const llrt_op *op, const llrt_op_desc *desc) {
  void *graph = NULL;
  LLRT_TRY(check(driver->begin(captured, GRAPH_CAPTURE_GLOBAL), "begin of capture"));
  llrt_status status = run(op, captured, desc);
  if (status == LLRT_OK) return replay(driver, captured, replayed);
  if (driver->end(captured, &graph) == 0 && graph) driver->graph_destroy(graph);
  return status;
}

/* On one stream into a graph, which another one replays. The host has neither. */
static llrt_status run_captured(llrt_device *device, const llrt_op *op, const llrt_op_desc *desc) {
  llrt_device_info info = {0};
  graph_driver driver = {0};
  const char *why;
  void *stream[2] = {NULL, NULL};
  LLRT_TRY(llrt_device_get_info(device, &info));
  if (!graph_driver_open(info.name, &driver, &why)) return run(op, NULL, desc);
  llrt_status status = llrt_stream_synchronize(device, NULL);
  for (int i = 0; i < 2 && status == LLRT_OK; i++)
    status = check(driver.stream_create(&stream[i], GRAPH_STREAM_NON_BLOCKING), "a stream");
  if (status == LLRT_OK) status = capture(&driver, stream[0], stream[1], op, desc);
  for (int i = 0; i < 2; i++)
    if (stream[i]) driver.stream_destroy(stream[i]);
  graph_driver_close(&driver);
  return status;
}

/* ---- either ---- */

static llrt_status run_prepared(trial_way way, llrt_device *device, const llrt_op_desc *desc) {
  llrt_op *op = NULL;
  llrt_status status = llrt_op_prepare(device, desc, &op);
  if (status == LLRT_OK && way == TRIAL_SAVED) status = save_and_load(device, &op);
  if (status == LLRT_OK)
    status = way == TRIAL_CAPTURED ? run_captured(device, op, desc) : run(op, NULL, desc);
  if (status == LLRT_OK) status = llrt_stream_synchronize(device, NULL);
  llrt_op_destroy(&op);
  return status;
}

static llrt_status call_prepared(trial_way way, llrt_device *device, uint64_t seed,
                                 const llrt_expr *expr, const llrt_arg *args, int n) {
  llrt_op_desc *desc = NULL;
  LLRT_TRY(llrt_compute_describe(expr, args, n, NULL, &desc));
  llrt_status status = promise(way, seed, desc);
  if (status == LLRT_OK) status = run_prepared(way, device, desc);
  llrt_op_desc_destroy(&desc);
  return status;
}

/* ---- again ---- */

enum { MOST_ARGS = LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS };

/* A call's tensors in memory of their own, of which nothing is known. */
typedef struct elsewhere {
  llrt_device *device;
  llrt_arg arg[MOST_ARGS];
  llrt_tensor tensor[MOST_ARGS];
  void *memory[MOST_ARGS];
} elsewhere;

/* As far off a multiple of 64 bytes as before; what is in place stays so. A tensor without elements
 * has no place: another one may begin where it does. */
static llrt_status move(elsewhere *e, const llrt_arg *args, int i) {
  llrt_tensor *tensor = &e->tensor[i];
  size_t bytes, off = (uintptr_t)args[i].tensor->data % 64;
  *tensor = *args[i].tensor;
  e->arg[i].tensor = tensor;
  for (int k = 0; k < i; k++) {
    if (!args[k].tensor || args[k].tensor->data != args[i].tensor->data) continue;
    LLRT_TRY(llrt_tensor_bytes(args[k].tensor, &bytes));
    if (bytes == 0) continue;
    tensor->data = e->tensor[k].data;
    return LLRT_OK;
  }
  LLRT_TRY(llrt_tensor_bytes(tensor, &bytes));
  LLRT_TRY(llrt_memory_allocate(e->device, bytes + 128, &e->memory[i]));
  LLRT_TRY(llrt_memory_set(e->device, e->memory[i], 1, bytes + 128, NULL));
  tensor->data = (char *)e->memory[i] + off;
  return LLRT_OK;
}

static bool reports(const llrt_arg *args, int n) {
  bool any = false;
  for (int i = 0; i < n; i++)
    for (int k = 0; args[i].tensor && k < args[i].tensor->n_indices; k++)
      any |= args[i].tensor->indices[k].report != NULL;
  return any;
}

static llrt_status call_elsewhere(llrt_device *device, const llrt_expr *expr, const llrt_arg *args,
                                  int n) {
  elsewhere e = {.device = device};
  llrt_status status = LLRT_OK;
  memcpy(e.arg, args, (size_t)n * sizeof *args);
  for (int i = 0; i < n && status == LLRT_OK; i++)
    if (args[i].tensor) status = move(&e, args, i);
  if (status == LLRT_OK) status = llrt_compute_into(expr, e.arg, n, NULL, NULL);
  if (status == LLRT_OK) status = llrt_stream_synchronize(device, NULL);
  for (int i = 0; i < n; i++)
    if (e.memory[i]) llrt_memory_free(device, e.memory[i]);
  return status;
}

llrt_status trial_call(trial_way way, llrt_device *device, uint64_t seed, const llrt_expr *expr,
                       const llrt_arg *args, int n) {
  if (way == TRIAL_AGAIN && !reports(args, n)) LLRT_TRY(call_elsewhere(device, expr, args, n));
  else if (way != TRIAL_AT_ONCE && way != TRIAL_AGAIN)
    return call_prepared(way, device, seed, expr, args, n);
  LLRT_TRY(llrt_compute_into(expr, args, n, NULL, NULL));
  return llrt_stream_synchronize(device, NULL);
}
