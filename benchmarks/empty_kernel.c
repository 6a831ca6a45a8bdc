#include "empty_kernel.h"

#include "cuda_driver.h"

#include <stdlib.h>

enum { PARAMETERS = 4 };

static const char ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry empty(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"
    "{\n  ret;\n}\n";

struct empty_kernel {
  cuda_driver driver;
  void *module, *function;
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                void **, void **);
};

empty_kernel *empty_kernel_create(const char *device_name) {
  int (*load)(void **, const void *), (*get_function)(void **, void *, const char *);
  empty_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) cuda_driver_must(-1, "memory");
  cuda_driver_open(device_name, &kernel->driver);
  *(void **)&load = cuda_driver_symbol(&kernel->driver, "cuModuleLoadData");
  *(void **)&get_function = cuda_driver_symbol(&kernel->driver, "cuModuleGetFunction");
  *(void **)&kernel->launch = cuda_driver_symbol(&kernel->driver, "cuLaunchKernel");
  cuda_driver_must(load(&kernel->module, ptx), "cuModuleLoadData");
  cuda_driver_must(get_function(&kernel->function, kernel->module, "empty"), "cuModuleGetFunction");
  return kernel;
}

void empty_kernel_destroy(empty_kernel *kernel) {
  int (*unload)(void *);
  *(void **)&unload = cuda_driver_symbol(&kernel->driver, "cuModuleUnload");
  cuda_driver_must(unload(kernel->module), "cuModuleUnload");
  cuda_driver_close(&kernel->driver);
  free(kernel);
}

void empty_kernel_launch(const empty_kernel *kernel, void *stream) {
  unsigned long long values[PARAMETERS] = {0};
  void *parameters[PARAMETERS];
  for (int i = 0; i < PARAMETERS; i++) parameters[i] = &values[i];
  cuda_driver_must(
      kernel->launch(kernel->function, 1, 1, 1, 128, 1, 1, 0, stream, parameters, NULL),
      "cuLaunchKernel");
}
