/* The CUDA backend over a fake libcuda: loading, contexts, targets, error mapping, linking. */
#include "backends/cuda/cuda_device.h"

#include <llrt/llrt.h>

#include "runtime/described.h"
#include "tests/runtime/driver_cases.h"

static llrt_context *context;
static fake_record *driver;

static void setup(void) {
  driver = fake_open(FAKE_CUDA);
  cr_assert_eq(llrt_context_create(NULL, &context), LLRT_OK);
}

static void teardown(void) { llrt_context_destroy(&context); }

TestSuite(driver_cuda, .init = setup, .fini = teardown);

static llrt_status open_fake(const char *name, const char *target, llrt_device **device) {
  llrt_device_params params = {.driver_library = FAKE_CUDA, .target = target};
  return llrt_device_open(context, name, &params, device);
}

Test(driver_cuda, missing_library_and_missing_symbol) {
  expect_unusable_libraries(context, "cuda:0", "/nowhere/libcuda.so.1", FAKE_CUDA_INCOMPLETE,
                            "cuLaunchKernel");
}

Test(driver_cuda, unusable_driver_is_unavailable) {
  driver->fail = "cuInit";
  driver->fail_code = 100;
  llrt_device *device;
  cr_expect_eq(open_fake("cuda:0", NULL, &device), LLRT_UNAVAILABLE);
  expect_message("cuInit");
  cr_expect_eq(llrt_last_vendor_code(), 100);
}

Test(driver_cuda, ordinals_past_the_count_are_unavailable) {
  llrt_device *device;
  cr_expect_eq(open_fake("cuda:1", NULL, &device), LLRT_UNAVAILABLE);
  driver->devices = 0;
  cr_expect_eq(open_fake("cuda:0", NULL, &device), LLRT_UNAVAILABLE);
  cr_expect_eq(driver->retained, 0);
}

Test(driver_cuda, targets_follow_the_compute_capability) {
  static const struct {
    int major, minor;
    const char *wanted, *target; /* target NULL: UNSUPPORTED */
  } rows[] = {
      {7, 5, NULL, NULL},       {8, 0, NULL, "sm_80"},     {8, 6, NULL, "sm_80"},
      {8, 7, NULL, "sm_80"},    {8, 9, NULL, "sm_89"},     {9, 0, NULL, "sm_90a"},
      {10, 0, NULL, "sm_90"},   {12, 1, NULL, "sm_90"},    {9, 0, "sm_80", "sm_80"},
      {9, 0, "sm_90", "sm_90"}, {10, 3, "sm_89", "sm_89"}, {8, 9, "sm_90", NULL},
      {9, 0, "sm_89", "sm_89"}, {8, 0, "sm_89", NULL},     {8, 9, "sm_90a", NULL},
      {10, 0, "sm_90a", NULL},  {9, 0, "gfx90a", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    driver->major = rows[i].major;
    driver->minor = rows[i].minor;
    llrt_device *device;
    llrt_status status = open_fake("cuda:0", rows[i].wanted, &device);
    cr_expect_eq(status, rows[i].target ? LLRT_OK : LLRT_UNSUPPORTED, "row %zu: %s", i,
                 llrt_last_error());
    if (status != LLRT_OK) continue;
    llrt_device_info info = {0};
    cr_expect_eq(llrt_device_get_info(device, &info), LLRT_OK);
    cr_expect_str_eq(info.target, rows[i].target);
    llrt_device_close(&device);
  }
  cr_expect_eq(driver->retained, 0);
}

Test(driver_cuda, blocks_have_what_target_and_device_have) {
  static const struct {
    int major, minor, device_kib, kib;
  } rows[] = {{8, 0, 163, 163}, {8, 6, 99, 99},    {8, 7, 163, 163}, {8, 9, 99, 99},
              {9, 0, 227, 227}, {10, 0, 227, 227}, {12, 0, 99, 99}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    driver->major = rows[i].major;
    driver->minor = rows[i].minor;
    driver->most_shared = rows[i].device_kib << 10;
    llrt_device *device;
    cr_assert_eq(open_fake("cuda:0", NULL, &device), LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(device->target.facts.shared_bytes, rows[i].kib << 10, "row %zu: %d", i,
                 device->target.facts.shared_bytes);
    llrt_device_close(&device);
  }
}

Test(driver_cuda, info_is_the_drivers) {
  llrt_device *device;
  cr_assert_eq(open_fake("cuda", NULL, &device), LLRT_OK);
  llrt_device_info info = {0};
  cr_expect_eq(llrt_device_get_info(device, &info), LLRT_OK);
  cr_expect_str_eq(info.name, "cuda:0");
  cr_expect_str_eq(info.description, "Fake GPU 0");
  cr_expect_eq(info.compute_units, 132);
  cr_expect_eq(info.memory_bytes, (size_t)1 << 30);
  cr_expect_eq(info.l2_bytes, (size_t)50 << 20);
  llrt_device_close(&device);
}

Test(driver_cuda, opening_twice_gives_one_handle) {
  llrt_device *first, *second, *other;
  cr_assert_eq(open_fake("cuda:0", NULL, &first), LLRT_OK);
  cr_assert_eq(open_fake("cuda", NULL, &second), LLRT_OK);
  cr_assert_eq(open_fake("cuda:0", "sm_80", &other), LLRT_OK);
  cr_expect_eq(first, second);
  cr_expect_neq(first, other);
  llrt_device_close(&first);
  cr_expect_eq(driver->retained, 2);
  llrt_device_close(&second);
  cr_expect_eq(driver->retained, 1);
  llrt_device_close(&other);
  cr_expect_eq(driver->retained, 0);
}

Test(driver_cuda, a_callers_context_is_not_retained) {
  int callers_context;
  llrt_device_params params = {.driver_library = FAKE_CUDA, .driver_context = &callers_context};
  llrt_device *device;
  cr_assert_eq(llrt_device_open(context, "cuda:0", &params, &device), LLRT_OK);
  cr_expect_eq(driver->retained, 0);
  llrt_device_close(&device);
  driver->devices = 2; /* the fake context is of device 0 */
  cr_expect_eq(llrt_device_open(context, "cuda:1", &params, &device), LLRT_INVALID_ARGUMENT);
  expect_message("driver_context");
}

Test(driver_cuda, memory_and_events) {
  llrt_device *device;
  cr_assert_eq(open_fake("cuda:0", NULL, &device), LLRT_OK);
  expect_memory(device);
  expect_events(device);
  cr_expect_eq(driver->events, 0);
  cr_expect_eq(driver->current, 0);
  llrt_device_close(&device);
}

/* A driver's error comes back as DEVICE with its name, text and code, and the context is popped. */
Test(driver_cuda, driver_errors_are_mapped) {
  llrt_device *device;
  cr_assert_eq(open_fake("cuda:0", NULL, &device), LLRT_OK);
  void *memory = NULL;
  char byte = 0;
  driver->fail = "cuMemAlloc_v2";
  driver->fail_code = 2;
  cr_expect_eq(llrt_memory_allocate(device, 4, &memory), LLRT_OUT_OF_MEMORY);
  driver->fail_code = 700;
  cr_expect_eq(llrt_memory_allocate(device, 4, &memory), LLRT_DEVICE);
  cr_expect_null(memory);
  cr_expect_eq(llrt_last_vendor_code(), 700);
  expect_message("CUDA_ERROR_ILLEGAL_ADDRESS");
  expect_message("an illegal memory access was encountered");
  driver->fail = "cuMemcpyHtoDAsync_v2";
  cr_expect_eq(llrt_memory_copy(device, &byte, &byte, 1, LLRT_COPY_TO_DEVICE, NULL), LLRT_DEVICE);
  driver->fail = "cuMemsetD8Async";
  cr_expect_eq(llrt_memory_set(device, &byte, 0, 1, NULL), LLRT_DEVICE);
  driver->fail = "cuStreamSynchronize";
  cr_expect_eq(llrt_stream_synchronize(device, NULL), LLRT_DEVICE);
  driver->fail = "cuCtxPushCurrent_v2";
  cr_expect_eq(llrt_stream_synchronize(device, NULL), LLRT_DEVICE);
  driver->fail = NULL;
  cr_expect_eq(driver->current, 0);
  llrt_device_close(&device);
}

Test(driver_cuda, link_load_launch) {
  llrt_device *device;
  cr_assert_eq(open_fake("cuda:0", NULL, &device), LLRT_OK);
  const llrt_backend *backend = device->backend;
  void *cubin;
  size_t size;
  cr_assert_eq(backend->link(device, ".version 8", strlen(".version 8"), &cubin, &size), LLRT_OK);
  cr_expect_str_eq(cubin, "cubin:.version 8");
  backend_module *module;
  cr_assert_eq(backend->load(device,
                             &(backend_code){cubin, size, "llrt_kernel", 60000, 0, 0, false},
                             &module),
               LLRT_OK);
  cr_expect_eq(driver->dynamic_shared, 60000, "more than 48 KiB have to be asked for");
  uint64_t args[] = {7, UINT64_MAX};
  backend_launch launch = {.blocks = 5, .threads = 128, .n_args = 2, .args = args};
  driver->n_args = 2;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK);
  cr_expect_eq(driver->blocks, 5);
  cr_expect_eq(driver->threads, 128);
  cr_expect_eq(driver->shared_bytes, 60000);
  cr_expect_eq(driver->args[0], 7);
  cr_expect_eq(driver->args[1], UINT64_MAX);
  cr_expect_eq(driver->cluster, 0);
  cr_expect(!driver->early);
  launch.room_bytes = 50000; /* it has more than that */
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK);
  cr_expect(driver->shared_bytes == 60000 && driver->dynamic_shared == 60000);
  launch.room_bytes = 100000;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK);
  cr_expect(driver->shared_bytes == 100000 && driver->dynamic_shared == 100000);
  launch.room_bytes = 0;
  launch.early = true; /* stages of targets that do not wait for each other do not overlap */
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK);
  cr_expect(!driver->early);
  ((cuda_device *)device)->launches_early = true;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK);
  cr_expect(driver->early && driver->cluster == 0);
  backend_code clustered = {cubin, size, "llrt_kernel", 1000, 4, 0, false};
  backend_module *clusters;
  cr_assert_eq(backend->load(device, &clustered, &clusters), LLRT_OK, "%s", llrt_last_error());
  launch.blocks = 8;
  cr_expect_eq(backend->launch(device, clusters, &launch, NULL), LLRT_OK);
  cr_expect(driver->early && driver->cluster == 4);
  launch.early = false;
  cr_expect_eq(driver->blocks, 8);
  cr_expect_eq(driver->shared_bytes, 1000);
  driver->fail = "cuLaunchKernelEx";
  driver->fail_code = 700;
  cr_expect_eq(backend->launch(device, clusters, &launch, NULL), LLRT_DEVICE);
  backend->unload(device, clusters);
  driver->fail = "cuLaunchKernel";
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_DEVICE);
  backend->unload(device, module);
  cr_expect_eq(driver->modules, 0);
  cr_expect_eq(driver->current, 0);
  free(cubin);
  llrt_device_close(&device);
}

/* Of numbers that are known and of arguments; of a tensor without elements there is no map. */
Test(driver_cuda, boxes) {
  llrt_device *device;
  backend_module *module;
  cr_assert_eq(open_fake("cuda:0", NULL, &device), LLRT_OK);
  const llrt_backend *backend = device->backend;
  backend_code code = {"cubin:x", 8, "llrt_kernel", 0, 0, 0, true};
  cr_assert_eq(backend->load(device, &code, &module), LLRT_OK, "%s", llrt_last_error());
  plan_box box = {.bytes = 1,
                  .swizzle = 3,
                  .size = {4, 5},
                  .address = {.arg = 0},
                  .stride = {{.arg = 1}},
                  .extent = {{.arg = -1, .value = 7}, {.arg = 2}}};
  uint64_t args[] = {1 << 30, 8, 9};
  backend_launch launch = {
      .blocks = 1, .threads = 32, .n_args = 3, .args = args, .n_boxes = 1, .boxes = &box};
  driver->n_args = 4;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(driver->args[3], (1 << 30) + 7 + 90 + 1600 + 4000 + 50000 + 100000 + 3000000);
  cr_expect_eq(driver->promotion, 2, "rows that begin inside lines are fetched line by line");
  args[1] = 64;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(driver->promotion, 3, "whole lines are fetched two by two");
  box.single = 1;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(driver->promotion, 2, "or line by line, where the plan says so");
  box.single = 0;
  args[1] = 8;
  box.size[2] = 1; /* planes of rows */
  box.extent[2] = (plan_number){.arg = 2};
  box.stride[1] = (plan_number){.arg = 1};
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(driver->args[3], (1ull << 30) + 7 + 90 + 1600 + 4000 + 50000 + 100000 + 3000000 +
                                    90000000 + 1600000000 + 1000000000);
  box.size[2] = 0;
  args[2] = 1; /* one row: its distance from the next is any that is legal */
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(driver->args[3], (1 << 30) + 7 + 10 + 1600 + 4000 + 50000 + 100000 + 3000000);
  args[2] = 0;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(driver->args[3], 0);
  box.size[1] = 32;
  box.rest = 1; /* a last tile that lacks rows has a map of its own, others have none */
  driver->n_args = 5;
  args[2] = 9 + 32;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(driver->args[3] - driver->args[4], (32 - 9) * 10000);
  args[2] = 2 * 32;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(driver->args[4], 0);
  args[2] = 9;
  driver->fail = "cuTensorMapEncodeTiled";
  driver->fail_code = 1;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_DEVICE);
  backend->unload(device, module);
  ((cuda_device *)device)->driver.cuTensorMapEncodeTiled = NULL;
  cr_expect_eq(backend->load(device, &code, &module), LLRT_UNSUPPORTED);
  expect_message("cuTensorMapEncodeTiled");
  cr_expect_eq(driver->current, 0);
  llrt_device_close(&device);
}

Test(driver_cuda, clusters_need_a_newer_driver) {
  llrt_device *device;
  cr_assert_eq(open_fake("cuda:0", NULL, &device), LLRT_OK);
  backend_module *module = (backend_module *)&device;
  ((cuda_device *)device)->driver.cuLaunchKernelEx = NULL;
  cr_expect_eq(device->backend->load(
                   device, &(backend_code){"cubin:x", 8, "llrt_kernel", 0, 2, 0, false}, &module),
               LLRT_UNSUPPORTED);
  expect_message("cuLaunchKernelEx");
  cr_expect_null(module);
  cr_expect_eq(driver->modules, 0);
  llrt_device_close(&device);
}

Test(driver_cuda, failing_links_and_loads_leave_nothing) {
  llrt_device *device;
  cr_assert_eq(open_fake("cuda:0", NULL, &device), LLRT_OK);
  const llrt_backend *backend = device->backend;
  void *cubin = &cubin;
  size_t size;
  driver->fail = "cuLinkAddData_v2";
  driver->fail_code = 218;
  cr_expect_eq(backend->link(device, "x", 1, &cubin, &size), LLRT_DEVICE);
  cr_expect_null(cubin);
  expect_message("ptxas fatal: line 3: unknown opcode");
  driver->fail_code = 222; /* a driver older than the PTX */
  cr_expect_eq(backend->link(device, "x", 1, &cubin, &size), LLRT_UNSUPPORTED);

  backend_module *module = (backend_module *)&cubin;
  driver->fail = NULL;
  cr_expect_eq(backend->load(device,
                             &(backend_code){"not a cubin", 12, "llrt_kernel", 0, 0, 0, false},
                             &module),
               LLRT_UNSUPPORTED);
  cr_expect_null(module);
  cr_expect_eq(
      backend->load(device, &(backend_code){"cubin:x", 8, "another_name", 0, 0, 0, false}, &module),
      LLRT_DEVICE);
  driver->fail = "cuFuncLoad";
  driver->fail_code = 700;
  backend_code large = {"cubin:x", 8, "llrt_kernel", 60000, 0, 0, false};
  cr_expect_eq(backend->load(device, &large, &module), LLRT_DEVICE);
  driver->fail = "cuFuncSetAttribute";
  cr_expect_eq(backend->load(device, &large, &module), LLRT_DEVICE);
  cr_expect_eq(driver->modules, 0);
  cr_expect_eq(driver->current, 0);
  llrt_device_close(&device);
}

/* Code that changes its registers is compiled as a whole where it is loaded: no linker sees it. */
Test(driver_cuda, code_that_shifts_registers_is_loaded_as_it_is) {
  static const char ptx[] = ".version 8.0\nsetmaxnreg.inc.sync.aligned.u32 240;\n";
  llrt_device *device;
  cr_assert_eq(open_fake("cuda:0", NULL, &device), LLRT_OK);
  const llrt_backend *backend = device->backend;
  int linked = driver->linked;
  void *code;
  size_t size;
  cr_assert_eq(backend->link(device, ptx, sizeof ptx - 1, &code, &size), LLRT_OK);
  cr_expect_null(code);
  cr_expect_eq(size, 0);
  cr_expect_eq(driver->linked, linked);
  backend_module *module;
  backend_code whole = {ptx, sizeof ptx - 1, "llrt_kernel", 0, 0, 0, false};
  cr_assert_eq(backend->load(device, &whole, &module), LLRT_OK);
  backend->unload(device, module);
  driver->fail = "cuModuleLoadDataEx";
  driver->fail_code = 218;
  cr_expect_eq(backend->load(device, &whole, &module), LLRT_DEVICE);
  expect_message("ptxas fatal: line 4: unknown opcode");
  cr_expect_eq(driver->modules, 0);
  free(code);
  llrt_device_close(&device);
}

/* A context that has the compiler, and the fake device in it. */
static llrt_context *open_compiling(llrt_device **device) {
  llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  llrt_device_params device_params = {.driver_library = FAKE_CUDA};
  llrt_context *compiling;
  cr_assert_eq(llrt_context_create(&params, &compiling), LLRT_OK);
  cr_assert_eq(llrt_device_open(compiling, "cuda:0", &device_params, device), LLRT_OK);
  return compiling;
}

/* One conversion through the compiler and the fake driver: refused while capturing, compiled and
 * launched after, and launched in capture once it is ready. */
Test(driver_cuda, capture) {
  llrt_device *device;
  llrt_context *compiling = open_compiling(&device);
  _Alignas(16) static char in[64], out[64];
  llrt_tensor source = {.data = in, .dtype = LLRT_U8, .rank = 1, .shape = {64}, .device = device};
  llrt_tensor destination = source;
  destination.data = out;
  llrt_cache_stats stats = {0};
  driver->capturing = 1;
  cr_expect_eq(llrt_convert_into(&source, &destination, NULL, NULL), LLRT_NOT_PREPARED);
  llrt_context_get_cache_stats(compiling, &stats);
  cr_expect_eq(stats.compiles, 0);
  driver->capturing = 0;
  cr_expect_eq(llrt_convert_into(&source, &destination, NULL, NULL), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect(strstr(driver->code, "LLVM NVPTX"), "%s", driver->code);
  driver->capturing = 1;
  cr_expect_eq(llrt_convert_into(&source, &destination, NULL, NULL), LLRT_OK);
  cr_expect_eq(driver->launched, 2);
  cr_expect_eq(driver->linked, 1);
  llrt_device_close(&device); /* drops its kernels */
  cr_expect_eq(driver->modules, 0);
  llrt_context_destroy(&compiling);
}

/* An indexed convert whose extent lies in device memory, prepared before: it launches in capture,
 * and of what the index and the count point to the host reads nothing. */
Test(driver_cuda, capture_with_index_and_count) {
  llrt_device *device;
  llrt_context *compiling = open_compiling(&device);
  _Alignas(16) static char in[128], out[64];
  llrt_index index = {.axis = 0, .dtype = LLRT_I32, .axes = 1, .extent = 8, .strides = {1}};
  index.data = (const void *)(uintptr_t)0x40000; /* device memory, which the host must not touch */
  llrt_tensor tensors[2] = {{.data = in, .dtype = LLRT_U8, .rank = 2, .shape = {4, 16}}};
  tensors[0].device = device;
  tensors[1] = tensors[0];
  tensors[1].data = out;
  tensors[1].extent_ptr[0] = (const int32_t *)(uintptr_t)0x50000;
  tensors[0].indices = &index;
  tensors[0].n_indices = 1;
  driver->capturing = 1;
  cr_expect_eq(llrt_convert_into(&tensors[0], &tensors[1], NULL, NULL), LLRT_NOT_PREPARED);
  cr_expect_eq(driver->launched, 0);

  driver->capturing = 0;
  op_description desc = {
      .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {tensors[0], tensors[1]}};
  llrt_op *op;
  cr_assert_eq(described_promise(&desc), LLRT_OK);
  cr_assert_eq(described_prepare(device, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  int linked = driver->linked;
  driver->capturing = 1;
  for (int i = 0; i < 3; i++) {
    cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(driver->launched, i + 1);
  }
  cr_expect_eq(llrt_convert_into(&tensors[0], &tensors[1], NULL, NULL), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect_eq(driver->linked, linked, "nothing is compiled in a capture");
  driver->capturing = 0;
  llrt_op_destroy(&op);
  llrt_device_close(&device);
  cr_expect_eq(driver->modules, 0);
  llrt_context_destroy(&compiling);
}
