#include "empty_kernel.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 4 };

static const char ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry empty(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"
    "{\n  ret;\n}\n";

/* X(field, symbol, parameters): the few driver functions used, with handles as void *. */
#define DRIVER_LIST(X)                                                                     \
  X(init, "cuInit", (unsigned))                                                            \
  X(device_get, "cuDeviceGet", (int *, int))                                               \
  X(retain, "cuDevicePrimaryCtxRetain", (void **, int))                                    \
  X(release, "cuDevicePrimaryCtxRelease_v2", (int))                                        \
  X(push, "cuCtxPushCurrent_v2", (void *))                                                 \
  X(pop, "cuCtxPopCurrent_v2", (void **))                                                  \
  X(load, "cuModuleLoadData", (void **, const void *))                                     \
  X(unload, "cuModuleUnload", (void *))                                                    \
  X(get_function, "cuModuleGetFunction", (void **, void *, const char *))                  \
  X(launch, "cuLaunchKernel",                                                              \
    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
     void **, void **))

struct empty_kernel {
  void *library, *context, *module, *function;
  int device;
#define DRIVER_FIELD(field, symbol, parameters) int(*field) parameters;
  DRIVER_LIST(DRIVER_FIELD)
#undef DRIVER_FIELD
};

static void must(int result, const char *what) {
  if (result == 0) return;
  fprintf(stderr, "%s: driver error %d\n", what, result);
  exit(1);
}

static void load_driver(empty_kernel *kernel) {
  kernel->library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!kernel->library) must(-1, "libcuda.so.1");
#define DRIVER_LOAD(field, symbol, parameters)               \
  *(void **)&kernel->field = dlsym(kernel->library, symbol); \
  if (!kernel->field) must(-1, symbol);
  DRIVER_LIST(DRIVER_LOAD)
#undef DRIVER_LOAD
}

empty_kernel *empty_kernel_create(const char *device_name) {
  empty_kernel *kernel = calloc(1, sizeof *kernel);
  const char *colon = strchr(device_name, ':');
  if (!kernel) must(-1, "memory");
  load_driver(kernel);
  must(kernel->init(0), "cuInit");
  must(kernel->device_get(&kernel->device, colon ? atoi(colon + 1) : 0), "cuDeviceGet");
  must(kernel->retain(&kernel->context, kernel->device), "cuDevicePrimaryCtxRetain");
  must(kernel->push(kernel->context), "cuCtxPushCurrent");
  must(kernel->load(&kernel->module, ptx), "cuModuleLoadData");
  must(kernel->get_function(&kernel->function, kernel->module, "empty"), "cuModuleGetFunction");
  return kernel;
}

void empty_kernel_destroy(empty_kernel *kernel) {
  must(kernel->unload(kernel->module), "cuModuleUnload");
  must(kernel->pop(&kernel->context), "cuCtxPopCurrent");
  must(kernel->release(kernel->device), "cuDevicePrimaryCtxRelease");
  dlclose(kernel->library);
  free(kernel);
}

void empty_kernel_launch(const empty_kernel *kernel) {
  unsigned long long values[PARAMETERS] = {0};
  void *parameters[PARAMETERS];
  for (int i = 0; i < PARAMETERS; i++) parameters[i] = &values[i];
  must(kernel->launch(kernel->function, 1, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL),
       "cuLaunchKernel");
}
