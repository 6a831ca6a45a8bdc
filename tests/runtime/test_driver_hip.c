/* The HIP backend over a fake libamdhip64: loading, architectures, error mapping, launching. */
#include "backends/backend.h"

#include <llrt/llrt.h>

#include "tests/runtime/driver_cases.h"

static llrt_context *context;
static fake_record *driver;

static void setup(void) {
  driver = fake_open(FAKE_HIP);
  cr_assert_eq(llrt_context_create(NULL, &context), LLRT_OK);
}

static void teardown(void) { llrt_context_destroy(&context); }

TestSuite(driver_hip, .init = setup, .fini = teardown);

static llrt_status open_fake(const char *name, const char *target, llrt_device **device) {
  llrt_device_params params = {.driver_library = FAKE_HIP, .target = target};
  return llrt_device_open(context, name, &params, device);
}

Test(driver_hip, missing_library_and_missing_symbol) {
  expect_unusable_libraries(context, "hip:0", "/nowhere/libamdhip64.so", FAKE_HIP_INCOMPLETE,
                            "hipModuleLaunchKernel");
}

/* What ROCm's library answers on a machine without an AMD GPU: 101 from one, 100 from the other. */
Test(driver_hip, a_library_without_a_gpu_is_unavailable) {
  llrt_device *device;
  int count = -1;
  driver->fail = "hipInit";
  driver->fail_code = 101;
  cr_expect_eq(open_fake("hip:0", NULL, &device), LLRT_UNAVAILABLE);
  cr_expect_eq(llrt_backend_hip.count(FAKE_HIP, &count), LLRT_OK);
  cr_expect_eq(count, 0);
  driver->fail = NULL;
  driver->devices = 0;
  cr_expect_eq(open_fake("hip:0", NULL, &device), LLRT_UNAVAILABLE);
  driver->fail = "hipInit";
  driver->fail_code = 700;
  cr_expect_eq(open_fake("hip:0", NULL, &device), LLRT_DEVICE);
}

Test(driver_hip, targets_follow_the_architecture) {
  static const struct {
    const char *architecture, *wanted, *target; /* target NULL: UNSUPPORTED */
    int old_properties;
  } rows[] = {
      {"gfx90a:sramecc+:xnack-", NULL, "gfx90a", 0},
      {"gfx90a", NULL, "gfx90a", 1},
      {"gfx942:sramecc+:xnack-", NULL, "gfx942", 0},
      {"gfx942", "gfx942", "gfx942", 1},
      {"gfx942", "gfx90a", NULL, 0},
      {"gfx950", NULL, NULL, 0},
      {"gfx1100", NULL, NULL, 1},
      {"", NULL, NULL, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    driver->architecture = rows[i].architecture;
    driver->old_properties = rows[i].old_properties;
    llrt_device *device;
    llrt_status status = open_fake("hip:0", rows[i].wanted, &device);
    cr_expect_eq(status, rows[i].target ? LLRT_OK : LLRT_UNSUPPORTED, "row %zu: %s", i,
                 llrt_last_error());
    if (status != LLRT_OK) continue;
    llrt_device_info info = {0};
    cr_expect_eq(llrt_device_get_info(device, &info), LLRT_OK);
    cr_expect_str_eq(info.target, rows[i].target);
    llrt_device_close(&device);
  }
}

Test(driver_hip, a_driver_context_is_refused) {
  llrt_device_params params = {.driver_library = FAKE_HIP, .driver_context = &params};
  llrt_device *device;
  cr_expect_eq(llrt_device_open(context, "hip:0", &params, &device), LLRT_UNSUPPORTED);
}

/* Work goes to the device that was opened, and the caller's current device is left as it was. */
Test(driver_hip, the_current_device_is_restored) {
  llrt_device *device;
  cr_assert_eq(open_fake("hip:1", NULL, &device), LLRT_OK);
  driver->current = 0;
  void *memory;
  cr_assert_eq(llrt_memory_allocate(device, 4, &memory), LLRT_OK);
  cr_expect_eq(driver->current, 0);
  cr_expect_eq(llrt_memory_free(device, memory), LLRT_OK);
  driver->fail = "hipMalloc";
  driver->fail_code = 2;
  cr_expect_eq(llrt_memory_allocate(device, 4, &memory), LLRT_OUT_OF_MEMORY);
  cr_expect_eq(driver->current, 0);
  driver->fail_code = 700;
  cr_expect_eq(llrt_memory_allocate(device, 4, &memory), LLRT_DEVICE);
  cr_expect_eq(llrt_last_vendor_code(), 700);
  expect_message("hipErrorIllegalAddress");
  llrt_device_close(&device);
}

Test(driver_hip, memory_and_events) {
  llrt_device *device;
  cr_assert_eq(open_fake("hip:0", NULL, &device), LLRT_OK);
  expect_memory(device);
  expect_events(device);
  cr_expect_eq(driver->events, 0);
  llrt_device_close(&device);
}

/* ROCm 6 says of host memory that devices have no address of it; ROCm 5 fails, and later calls of
 * the program's would hear of that. */
Test(driver_hip, host_memory_is_told_from_device_memory) {
  for (int old = 0; old < 2; old++) {
    llrt_device *device;
    char *memory;
    bool reached = false;
    driver->old_addresses = old;
    cr_assert_eq(open_fake("hip:0", NULL, &device), LLRT_OK);
    cr_assert_eq(llrt_memory_allocate(device, 64, (void **)&memory), LLRT_OK);
    cr_expect_eq(llrt_backend_hip.reaches(device, memory + 63, &reached), LLRT_OK);
    cr_expect(reached);
    cr_expect_eq(llrt_backend_hip.reaches(device, &reached, &reached), LLRT_OK);
    cr_expect(!reached);
    cr_expect_eq(driver->last_error, 0);
    cr_expect_eq(driver->current, 0);
    driver->fail = "hipPointerGetAttributes"; /* of which nothing follows */
    driver->fail_code = 700;
    cr_expect_eq(llrt_backend_hip.reaches(device, &reached, &reached), LLRT_OK);
    cr_expect(reached);
    driver->fail = NULL;
    cr_expect_eq(llrt_memory_free(device, memory), LLRT_OK);
    llrt_device_close(&device);
  }
}

Test(driver_hip, a_device_that_reads_pageable_memory_reaches_all) {
  llrt_device *device;
  bool reached = false;
  driver->pageable = 1;
  cr_assert_eq(open_fake("hip:0", NULL, &device), LLRT_OK);
  cr_expect_eq(llrt_backend_hip.reaches(device, &reached, &reached), LLRT_OK);
  cr_expect(reached);
  llrt_device_close(&device);
}

Test(driver_hip, load_and_launch) {
  llrt_device *device;
  cr_assert_eq(open_fake("hip:0", NULL, &device), LLRT_OK);
  const llrt_backend *backend = device->backend;
  cr_expect_null(backend->link);
  backend_module *module;
  cr_expect_eq(
      backend->load(device, &(backend_code){"junk", 5, "llrt_kernel", 0, 0, 0, false}, &module),
      LLRT_UNSUPPORTED);
  cr_expect_eq(
      backend->load(device, &(backend_code){"hsaco:", 7, "other", 0, 0, 0, false}, &module),
      LLRT_DEVICE);
  cr_assert_eq(
      backend->load(device, &(backend_code){"hsaco:", 7, "llrt_kernel", 0, 0, 0, false}, &module),
      LLRT_OK);
  uint64_t args[] = {7, UINT64_MAX};
  backend_launch launch = {.blocks = 5, .threads = 256, .n_args = 2, .args = args};
  driver->n_args = 2;
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_OK);
  cr_expect_eq(driver->blocks, 5);
  cr_expect_eq(driver->threads, 256);
  cr_expect_eq(driver->args[1], UINT64_MAX);
  launch.blocks = 1 << 24; /* 2^32 threads */
  cr_expect_eq(backend->launch(device, module, &launch, NULL), LLRT_UNSUPPORTED);
  cr_expect_eq(driver->launched, 1);
  backend->unload(device, module);
  cr_expect_eq(driver->modules, 0);
  llrt_device_close(&device);
}
