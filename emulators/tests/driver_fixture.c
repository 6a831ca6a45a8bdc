/* See driver_fixture.h. */
#include "driver_fixture.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void *driver_symbol(const tested_driver *driver, const char *name) {
  void *symbol = dlsym(driver->library, name);
  cr_assert_not_null(symbol, "%s: no %s", driver->name, name);
  return symbol;
}

static int retain(const tested_driver *driver, void **context) {
  int (*init)(unsigned) = (int (*)(unsigned))driver_symbol(driver, "cuInit");
  int (*call)(void **, int) =
      (int (*)(void **, int))driver_symbol(driver, "cuDevicePrimaryCtxRetain");
  cr_assert_eq(init(0), 0);
  return call(context, driver->device);
}

void driver_use(const tested_driver *driver) {
  void *context;
  if (strcmp(driver->name, "hip") == 0) {
    int (*use)(int) = (int (*)(int))driver_symbol(driver, "hipSetDevice");
    cr_assert_eq(use(driver->device), 0);
    return;
  }
  int (*use)(void *) = (int (*)(void *))driver_symbol(driver, "cuCtxSetCurrent");
  cr_assert_eq(retain(driver, &context), 0);
  cr_assert_eq(use(context), 0);
}

/* Beside the compiler library. */
static void find_library(const char *name, char *path, size_t size) {
  int folder = (int)(strrchr(LLRT_TEST_JIT_LIBRARY, '/') - LLRT_TEST_JIT_LIBRARY);
  snprintf(path, size, "%.*s/libllrt-emu-%s.so", folder, LLRT_TEST_JIT_LIBRARY, name);
}

void driver_open(const char *name, tested_driver *driver) {
  char path[4096];
  bool cuda = strcmp(name, "cuda") == 0;
  memset(driver, 0, sizeof *driver);
  find_library(name, path, sizeof path);
  driver->name = name;
  driver->device = cuda ? 0 : 1;
  driver->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  cr_assert(driver->library, "%s", dlerror());
#define DRIVER_LOAD(field, of_cuda, of_hip, arguments) \
  *(void **)&driver->field = driver_symbol(driver, cuda ? of_cuda : of_hip);
  DRIVER_FUNCTIONS(DRIVER_LOAD)
#undef DRIVER_LOAD
  *(void **)&driver->set_mode = driver_symbol(driver, "llrt_emu_set_mode");
  *(void **)&driver->calls = driver_symbol(driver, "llrt_emu_calls");
  *(void **)&driver->calls_reset = driver_symbol(driver, "llrt_emu_calls_reset");
  *(void **)&driver->fail = driver_symbol(driver, "llrt_emu_fail");
  driver_use(driver);
}

void driver_each(void (*body)(const tested_driver *driver)) {
  static const char *const names[] = {"cuda", "hip"};
  for (int i = 0; i < 2; i++) {
    tested_driver driver;
    driver_open(names[i], &driver);
    body(&driver);
    driver_close(&driver);
  }
}

void driver_close(tested_driver *driver) {
  driver->set_mode(EMU_IMMEDIATE);
  dlclose(driver->library);
}
