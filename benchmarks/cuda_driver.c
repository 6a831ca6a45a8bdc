#include "cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cuda_driver_must(int result, const char *what) {
  if (result == 0) return;
  fprintf(stderr, "%s: driver error %d\n", what, result);
  exit(1);
}

void *cuda_driver_symbol(const cuda_driver *driver, const char *name) {
  void *symbol = dlsym(driver->library, name);
  if (!symbol) cuda_driver_must(-1, name);
  return symbol;
}

void cuda_driver_open(const char *device_name, cuda_driver *driver) {
  int (*init)(unsigned), (*device_get)(int *, int), (*retain)(void **, int), (*push)(void *);
  const char *colon = strchr(device_name, ':');
  driver->library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver->library) cuda_driver_must(-1, "libcuda.so.1");
  *(void **)&init = cuda_driver_symbol(driver, "cuInit");
  *(void **)&device_get = cuda_driver_symbol(driver, "cuDeviceGet");
  *(void **)&retain = cuda_driver_symbol(driver, "cuDevicePrimaryCtxRetain");
  *(void **)&push = cuda_driver_symbol(driver, "cuCtxPushCurrent_v2");
  cuda_driver_must(init(0), "cuInit");
  cuda_driver_must(device_get(&driver->device, colon ? atoi(colon + 1) : 0), "cuDeviceGet");
  cuda_driver_must(retain(&driver->context, driver->device), "cuDevicePrimaryCtxRetain");
  cuda_driver_must(push(driver->context), "cuCtxPushCurrent");
}

void cuda_driver_close(cuda_driver *driver) {
  int (*pop)(void **), (*release)(int);
  *(void **)&pop = cuda_driver_symbol(driver, "cuCtxPopCurrent_v2");
  *(void **)&release = cuda_driver_symbol(driver, "cuDevicePrimaryCtxRelease_v2");
  cuda_driver_must(pop(&driver->context), "cuCtxPopCurrent");
  cuda_driver_must(release(driver->device), "cuDevicePrimaryCtxRelease");
  dlclose(driver->library);
}
