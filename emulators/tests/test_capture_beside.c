/* What one thread does while another captures: nothing of llrt's breaks the capture, which is begun
 * by the preset of captures and so forbids every thread what is unsafe
 * (cuThreadExchangeStreamCaptureMode). */
#include "driver_fixture.h"

#include "tests/open_device.h"

#include <pthread.h>

enum { SIDE = 48, BYTES = SIDE * SIDE * 4, GLOBAL = 0 };

#define MUST(call) cr_assert_eq((call), 0, #call)
#define LLRT_MUST(call) cr_assert_eq((call), LLRT_OK, "%s: %s", #call, llrt_last_error())

typedef struct beside {
  const char *name;
  opened_device opened;
  tested_driver driver;
  void *captured, *eager; /* streams */
  llrt_storage columns;
  llrt_tensor source, destination, sum;
} beside;

static const struct {
  const char *device, *library;
  int ordinal;
} devices[] = {{"cuda-emu:sm_90a", "cuda", 0}, {"hip-emu:gfx942", "hip", 1}};

static void make(int device, beside *at) {
  memset(at, 0, sizeof *at);
  at->name = devices[device].device;
  at->opened = open_device(at->name);
  driver_open(devices[device].library, &at->driver);
  at->driver.device = devices[device].ordinal;
  driver_use(&at->driver);
  MUST(at->driver.stream_create(&at->captured, DRIVER_NON_BLOCKING));
  MUST(at->driver.stream_create(&at->eager, DRIVER_NON_BLOCKING));
  LLRT_MUST(llrt_storage_col_major(2, &at->columns));
  at->source = (llrt_tensor){
      .dtype = LLRT_F32, .rank = 2, .shape = {SIDE, SIDE}, .device = at->opened.device};
  at->destination = at->source;
  at->sum = (llrt_tensor){.dtype = LLRT_F32, .device = at->opened.device};
  LLRT_MUST(llrt_memory_allocate(at->opened.device, BYTES, &at->source.data));
  LLRT_MUST(llrt_memory_allocate(at->opened.device, BYTES, &at->destination.data));
  LLRT_MUST(llrt_memory_allocate(at->opened.device, 4, &at->sum.data));
  LLRT_MUST(llrt_memory_set(at->opened.device, at->source.data, 0, BYTES, at->eager));
  LLRT_MUST(llrt_convert_into(&at->source, &at->destination, NULL,
                              at->eager)); /* what the capture takes */
  MUST(at->driver.stream_synchronize(at->eager));
}

static void end(beside *at) {
  MUST(at->driver.synchronize());
  LLRT_MUST(llrt_memory_free(at->opened.device, at->source.data));
  LLRT_MUST(llrt_memory_free(at->opened.device, at->destination.data));
  LLRT_MUST(llrt_memory_free(at->opened.device, at->sum.data));
  MUST(at->driver.stream_destroy(at->captured));
  MUST(at->driver.stream_destroy(at->eager));
  close_device(&at->opened);
  driver_close(&at->driver);
}

/* ---- what the other thread does ---- */

static llrt_status allocate(beside *at) {
  void *memory;
  LLRT_MUST(llrt_memory_allocate(at->opened.device, 4096, &memory));
  return llrt_memory_free(at->opened.device, memory);
}

/* Compiles and loads. */
static llrt_status prepare(beside *at) {
  llrt_tensor tensors[] = {at->source, at->destination};
  tensors[1].storage = &at->columns;
  const llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
  llrt_op *op;
  LLRT_MUST(llrt_op_prepare(at->opened.device, &desc, &op));
  llrt_op_destroy(&op);
  return LLRT_OK;
}

/* Workspace is made besides. */
static llrt_status reduce(beside *at) {
  return llrt_reduce_into(&at->source, &at->sum, NULL, at->eager);
}

/* Saved and loaded, which the cache does not keep: the last reference unloads. */
static llrt_status load(beside *at) {
  const llrt_tensor tensors[] = {at->source, at->destination};
  const llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
  static char bytes[1 << 20];
  size_t size = sizeof bytes;
  llrt_op *op;
  LLRT_MUST(llrt_op_prepare(at->opened.device, &desc, &op));
  LLRT_MUST(llrt_op_save(op, bytes, &size));
  llrt_op_destroy(&op);
  LLRT_MUST(llrt_op_load(at->opened.device, bytes, size, &op));
  llrt_op_destroy(&op);
  return LLRT_OK;
}

/* A context of its own, with a device that is opened, used and closed: emulated work is done when
 * it is queued. */
static llrt_status use_another(beside *at) {
  opened_device opened = open_device(at->name);
  llrt_tensor source = at->source, destination = at->destination;
  source.device = destination.device = opened.device;
  llrt_status status = llrt_convert_into(&source, &destination, NULL, at->eager);
  close_device(&opened);
  return status;
}

static const struct {
  const char *name;
  llrt_status (*run)(beside *at);
} acts[] = {{"allocating", allocate},
            {"preparing", prepare},
            {"reducing", reduce},
            {"loading", load},
            {"another device", use_another}};
#define N_ACTS (int)(sizeof acts / sizeof *acts)

typedef struct task {
  beside *at;
  int act;    /* N_ACTS: the driver's own allocation, which is forbidden */
  bool after; /* and then the driver's own */
  int result;
} task;

static void *run(void *argument) {
  task *todo = argument;
  uint64_t memory;
  driver_use(&todo->at->driver);
  if (todo->act < N_ACTS) LLRT_MUST(acts[todo->act].run(todo->at));
  if (todo->after) todo->result = todo->at->driver.allocate(&memory, 256);
  return NULL;
}

/* Runs it on a thread while the convert is captured; what the end of the capture says. */
static int capture_beside(beside *at, task *todo) {
  const tested_driver *driver = &at->driver;
  pthread_t thread;
  void *graph;
  MUST(driver->begin(at->captured, GLOBAL));
  cr_assert_eq(pthread_create(&thread, NULL, run, todo), 0);
  pthread_join(thread, NULL);
  llrt_status status = llrt_convert_into(&at->source, &at->destination, NULL, at->captured);
  int result = driver->end(at->captured, &graph);
  cr_expect_eq(status == LLRT_OK, result == 0, "%s", llrt_last_error());
  if (!result) MUST(driver->graph_destroy(graph));
  return result;
}

static void check(beside *at) {
  for (int act = 0; act < N_ACTS; act++) {
    task todo = {.at = at, .act = act};
    cr_expect_eq(capture_beside(at, &todo), 0, "%s: %s broke another thread's capture", at->name,
                 acts[act].name);
    todo.after = true; /* the thread's own mode is as it was */
    cr_expect_eq(capture_beside(at, &todo), EMU_CAPTURE_INVALIDATED, "%s: %s", at->name,
                 acts[act].name);
    cr_expect_eq(todo.result, EMU_CAPTURE_UNSUPPORTED);
  }
}

static void each_device(void (*body)(beside *at)) {
  for (int d = 0; d < 2; d++) {
    beside at;
    make(d, &at);
    body(&at);
    end(&at);
  }
}

Test(capture_beside, what_is_unsafe, .timeout = 200) { each_device(check); }

/* ---- what was captured outlives its handle ---- */

/* An operation that was loaded from bytes, which no cache keeps. */
static llrt_op *load_again(beside *at, const llrt_op_desc *desc) {
  static char bytes[1 << 20];
  size_t size = sizeof bytes;
  llrt_op *op;
  LLRT_MUST(llrt_op_prepare(at->opened.device, desc, &op));
  LLRT_MUST(llrt_op_save(op, bytes, &size));
  llrt_op_destroy(&op);
  LLRT_MUST(llrt_op_load(at->opened.device, bytes, size, &op));
  return op;
}

static void check_handle(beside *at) {
  const tested_driver *driver = &at->driver;
  const llrt_tensor tensors[] = {at->source, at->destination};
  const llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
  llrt_op *op = load_again(at, &desc);
  void *graph, *exec;
  char found[BYTES];
  MUST(driver->begin(at->captured, GLOBAL));
  for (int i = 0; i < 2; i++) LLRT_MUST(llrt_op_run(op, at->captured, desc.tensors, 2, NULL));
  MUST(driver->end(at->captured, &graph));
  llrt_op_destroy(&op);
  MUST(driver->instantiate(&exec, graph, 0));
  MUST(driver->graph_destroy(graph));
  LLRT_MUST(llrt_memory_set(at->opened.device, at->destination.data, 0xff, BYTES, at->eager));
  cr_expect_eq(driver->launch(exec, at->eager), 0, "%s: the graph's kernel is gone", at->name);
  MUST(driver->stream_synchronize(at->eager));
  LLRT_MUST(llrt_memory_copy(at->opened.device, found, at->destination.data, BYTES,
                             LLRT_COPY_FROM_DEVICE, at->eager));
  for (int i = 0; i < BYTES; i++) cr_assert_eq(found[i], 0, "%s: byte %d", at->name, i);
  MUST(driver->exec_destroy(exec));
}
Test(capture_beside, handle, .timeout = 100) { each_device(check_handle); }
