/* Each call of a vendor's driver fails in turn, over fake libraries: every function of llrt's gives
 * a status, nothing that the driver gave is lost, and all of it works behind that. Calls that give
 * something back fail, too, having done so. */
#include "convert_fixture.h"

#include "tests/runtime/cache_folder.h"
#include "tests/runtime/driver_cases.h"

typedef struct vendor {
  const char *library, *device, *target;
  int codes[3]; /* what a failing call answers, by turns: no memory, an illegal address, unknown */
} vendor;

static const vendor vendors[] = {
    {FAKE_CUDA, "cuda:0", "sm_90a", {2, 700, 999}},
    {FAKE_HIP, "hip:0", "gfx90a", {2, 700, 999}},
};

typedef struct kernel_bytes {
  char *bytes;
  size_t size;
} kernel_bytes;

/* A saved conversion of the fixture's matrices for the target. */
static kernel_bytes make_kernel(const char *target) {
  fixture at;
  kernel_bytes made = {0};
  fixture_make(&at, &fixture_params);
  llrt_tensor tensors[] = {at.source, at.destination};
  tensors[0].device = tensors[1].device = NULL;
  llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
  cr_assert_eq(
      llrt_op_compile(at.context, target, &desc, LLRT_EMIT_KERNEL, &made.bytes, &made.size),
      LLRT_OK, "%s", llrt_last_error());
  fixture_end(&at);
  return made;
}

/* Counts what fails, and goes on. */
static void tally(llrt_status status, int *failed) {
  if (status == LLRT_OK) return;
  cr_expect_neq(status, LLRT_INTERNAL, "%s", llrt_last_error());
  cr_expect(llrt_last_error()[0], "a status without a message");
  ++*failed;
}

static void use_memory(llrt_device *device, int *failed) {
  void *memory = NULL;
  char back[4];
  tally(llrt_memory_allocate(device, 4, &memory), failed);
  if (!memory) return;
  tally(llrt_memory_copy(device, memory, "abc", 4, LLRT_COPY_TO_DEVICE, NULL), failed);
  tally(llrt_memory_set(device, memory, 'x', 1, NULL), failed);
  tally(llrt_memory_copy(device, memory, memory, 2, LLRT_COPY_ON_DEVICE, NULL), failed);
  tally(llrt_memory_copy(device, back, memory, 4, LLRT_COPY_FROM_DEVICE, NULL), failed);
  tally(llrt_stream_synchronize(device, NULL), failed);
  tally(llrt_memory_free(device, memory), failed);
}

static void use_events(llrt_device *device, int *failed) {
  llrt_event *start = NULL, *stop = NULL;
  double microseconds;
  tally(llrt_event_create(device, &start), failed);
  tally(llrt_event_create(device, &stop), failed);
  if (start) tally(llrt_event_record(start, NULL), failed);
  if (stop) tally(llrt_event_record(stop, NULL), failed);
  if (start && stop && *failed == 0) tally(llrt_event_elapsed(start, stop, &microseconds), failed);
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
}

static void use_kernel(llrt_device *device, const kernel_bytes *kernel, int *failed) {
  void *memory = NULL;
  llrt_op *op = NULL;
  llrt_storage col_major;
  llrt_tensor result = {0};
  cr_assert_eq(llrt_storage_col_major(2, &col_major), LLRT_OK);
  tally(llrt_memory_allocate(device, 2 * ELEMENTS * sizeof(float), &memory), failed);
  if (!memory) return;
  llrt_tensor from = {
      .data = memory, .dtype = LLRT_F32, .rank = 2, .shape = {ROWS, COLUMNS}, .device = device};
  llrt_tensor tensors[] = {from, from};
  tensors[1].data = (float *)memory + ELEMENTS;
  tensors[1].storage = &col_major;
  tally(llrt_op_load(device, kernel->bytes, kernel->size, &op), failed);
  if (op) tally(llrt_op_run(op, NULL, tensors, 2, NULL), failed);
  llrt_op_destroy(&op);
  llrt_status status = llrt_convert(&from, &col_major, NULL, NULL, &result);
  tally(status, failed);
  if (status == LLRT_OK) tally(llrt_tensor_free(&result, NULL), failed);
  tally(llrt_memory_free(device, memory), failed);
}

/* ---- calls whose kernels come from a folder, and are compiled where it has none ---- */

enum { LONG_ROW = 1 << 18, LONG_ROWS = 4, DOT_M = 16, DOT_K = 4096, DOT_N = 64 };

/* Nothing is read of it: launches of a fake driver are recorded, and that is all. */
static float numbers[LONG_ROWS * LONG_ROW], sums[64];

static llrt_tensor of_numbers(llrt_device *device, int64_t rows, int64_t columns) {
  return (llrt_tensor){
      .data = numbers, .dtype = LLRT_F32, .rank = 2, .shape = {rows, columns}, .device = device};
}

static void tally_result(llrt_status status, llrt_tensor *made, int *failed) {
  tally(status, failed);
  if (status == LLRT_OK) tally(llrt_tensor_free(made, NULL), failed);
}

/* Blocks share the rows, the columns and K, for which they take workspace. */
static void use_one_line(llrt_device *device, int *failed) {
  llrt_tensor in = of_numbers(device, LONG_ROWS, LONG_ROW), a = of_numbers(device, DOT_M, DOT_K),
              b = of_numbers(device, DOT_K, DOT_N), made = {0};
  const llrt_reduce_params sum = {.axes = 2};
  const llrt_scan_params scan = {.axis = 1};
  tally_result(llrt_reduce(&in, NULL, &sum, NULL, &made), &made, failed);
  tally_result(llrt_scan(&in, NULL, &scan, NULL, &made), &made, failed);
  tally_result(llrt_dot(&a, &b, NULL, NULL, NULL, &made), &made, failed);
}

static void run_with_workspace(llrt_device *device, const llrt_op *op, const llrt_tensor tensors[2],
                               int *failed) {
  llrt_run_params params = {.size = sizeof params};
  llrt_status status = llrt_op_workspace(op, tensors, 2, &params.workspace_bytes);
  tally(status, failed);
  if (status != LLRT_OK) return;
  cr_expect_gt(params.workspace_bytes, 0);
  tally(llrt_memory_allocate(device, params.workspace_bytes, &params.workspace), failed);
  if (!params.workspace) return;
  tally(llrt_memory_set(device, params.workspace, 0, params.workspace_bytes, NULL), failed);
  tally(llrt_op_run(op, NULL, tensors, 2, &params), failed);
  tally(llrt_memory_free(device, params.workspace), failed);
}

static void save_and_load(llrt_device *device, const llrt_op *op, int *failed) {
  llrt_op *again = NULL;
  llrt_kernel_info info = {0};
  size_t size = 0;
  tally(llrt_op_save(op, NULL, &size), failed);
  char *bytes = malloc(size + 1);
  tally(llrt_op_save(op, bytes, &size), failed);
  tally(llrt_kernel_inspect(bytes, size, device, &info), failed);
  tally(llrt_op_load(device, bytes, size, &again), failed);
  llrt_op_destroy(&again);
  free(bytes);
}

static void use_prepared(llrt_device *device, int *failed) {
  llrt_op *op = NULL;
  llrt_tensor tensors[] = {of_numbers(device, LONG_ROWS, LONG_ROW),
                           of_numbers(device, LONG_ROWS, 1)};
  tensors[1].data = sums;
  const llrt_op_desc desc = {.kind = LLRT_OP_REDUCE,
                             .n_tensors = 2,
                             .tensors = tensors,
                             .combine = {.op = LLRT_COMBINE_SUM, .axes = 2}};
  tally(llrt_op_prepare(device, &desc, &op), failed);
  if (!op) return;
  run_with_workspace(device, op, tensors, failed);
  save_and_load(device, op, failed);
  llrt_op_destroy(&op);
}

/* What was called before is called again while the stream captures: kernels are there. */
static void use_capture(llrt_device *device, fake_record *driver, int *failed) {
  llrt_tensor in = of_numbers(device, ROWS, COLUMNS), out = in;
  llrt_storage columns;
  cr_assert_eq(llrt_storage_col_major(2, &columns), LLRT_OK);
  out.data = numbers + ELEMENTS;
  out.storage = &columns;
  tally(llrt_convert_into(&in, &out, NULL, NULL), failed);
  driver->capturing = 1;
  int before = *failed;
  llrt_status status = llrt_convert_into(&in, &out, NULL, NULL);
  driver->capturing = 0;
  if (before == 0) tally(status, failed);
}

/* As memory of the host's that the program has registered, which kernels reach. */
static void register_numbers(fake_record *driver) {
  driver->block[0].begin = (char *)numbers;
  driver->block[0].bytes = sizeof numbers;
  driver->block[1].begin = (char *)sums;
  driver->block[1].bytes = sizeof sums;
}

static int use_calls(const vendor *v, fake_record *driver, const char *folder) {
  const llrt_cache_params cache = {.size = sizeof cache, .dir = folder};
  const llrt_context_params params = {
      .size = sizeof params, .jit_library = LLRT_TEST_JIT_LIBRARY, .cache = &cache};
  const llrt_device_params of_device = {.driver_library = v->library};
  llrt_context *context = NULL;
  llrt_device *device = NULL;
  int failed = 0;
  register_numbers(driver);
  cr_assert_eq(llrt_context_create(&params, &context), LLRT_OK);
  tally(llrt_device_open(context, v->device, &of_device, &device), &failed);
  if (device) {
    use_one_line(device, &failed);
    use_prepared(device, &failed);
    use_capture(device, driver, &failed);
    tally(llrt_context_trim(context, 0), &failed);
  }
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return failed;
}

/* How many of its calls failed. */
static int use_all(const vendor *v, const kernel_bytes *kernel) {
  llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  llrt_device_params of_device = {.driver_library = v->library};
  llrt_context *context = NULL;
  llrt_device *device = NULL;
  int failed = 0;
  cr_assert_eq(llrt_context_create(&params, &context), LLRT_OK);
  tally(llrt_device_open(context, v->device, &of_device, &device), &failed);
  if (device) {
    llrt_device_info info = {0};
    tally(llrt_device_get_info(device, &info), &failed);
    use_memory(device, &failed);
    use_events(device, &failed);
    use_kernel(device, kernel, &failed);
    tally(llrt_context_trim(context, 0), &failed);
  }
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return failed;
}

/* What a failing call of the driver's has left pushed is the driver's. */
static void expect_nothing_held(const vendor *v, fake_record *driver, int n) {
  cr_expect(
      driver->modules == 0 && driver->events == 0 && driver->retained == 0 &&
          driver->allocations == 0 && driver->links == 0,
      "%s, call %d, %s: %d modules, %d events, %d contexts, %d allocations, %d links are left",
      v->device, n, driver->failed, driver->modules, driver->events, driver->retained,
      driver->allocations, driver->links);
  driver->modules = driver->events = driver->retained = driver->current = 0;
  driver->allocations = driver->links = 0;
}

/* One way of using a device: all of it, or calls with a folder of kernels. */
typedef struct fault_use {
  const vendor *v;
  fake_record *driver;
  const kernel_bytes *kernel; /* NULL: calls */
  const char *folder;
} fault_use;

static int use(const fault_use *at) {
  return at->kernel ? use_all(at->v, at->kernel) : use_calls(at->v, at->driver, at->folder);
}

static void fail_each(const fault_use *at, const char *what) {
  fake_record *driver = at->driver;
  int n = 1, seen = 0;
  for (;; n++) {
    driver->calls = 0;
    driver->fail_at = n;
    driver->fail_code = at->v->codes[n % 3];
    int failed = use(at);
    bool reached = driver->calls >= n;
    driver->fail_at = 0;
    expect_nothing_held(at->v, driver, n);
    cr_expect(reached || failed == 0, "%s fails by itself: %s", at->v->device, llrt_last_error());
    cr_expect_eq(use(at), 0, "%s, behind a fault at call %d, %s: %s", at->v->device, n,
                 driver->failed, llrt_last_error());
    expect_nothing_held(at->v, driver, n);
    if (!reached) break;
    seen += failed > 0;
  }
  fprintf(stderr, "%s, %s: %d calls of the driver failed in turn, %d were told\n", at->v->device,
          what, n - 1, seen);
  cr_expect_gt(n, 30);
}

static void fail_with_kernel(const vendor *v) {
  kernel_bytes kernel = make_kernel(v->target);
  const fault_use at = {.v = v, .driver = fake_open(v->library), .kernel = &kernel};
  fail_each(&at, "memory, events, a kernel");
  llrt_buffer_free(&kernel.bytes);
}

static void fail_with_calls(const vendor *v) {
  const fault_use at = {.v = v, .driver = fake_open(v->library), .folder = cache_folder_begin()};
  cr_assert_eq(use(&at), 0, "%s", llrt_last_error()); /* fills the folder */
  fail_each(&at, "reduce, scan, dot, prepare, save, load, capture");
  cache_folder_end();
}

Test(driver_faults, cuda, .timeout = 300) { fail_with_kernel(&vendors[0]); }
Test(driver_faults, hip, .timeout = 300) { fail_with_kernel(&vendors[1]); }
Test(driver_faults, cuda_calls, .timeout = 300) { fail_with_calls(&vendors[0]); }
Test(driver_faults, hip_calls, .timeout = 300) { fail_with_calls(&vendors[1]); }
