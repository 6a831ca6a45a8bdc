#include "ptx_kernel.h"

#include "cuda_driver.h"

#include <stdlib.h>

struct ptx_kernel {
  cuda_driver driver;
  void *module, *function;
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
};

ptx_kernel *ptx_kernel_create(const char *device_name, const char *ptx, const char *entry) {
  int (*load)(void **, const void *), (*get_function)(void **, void *, const char *);
  ptx_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) cuda_driver_must(-1, "memory");
  cuda_driver_open(device_name, &kernel->driver);
  *(void **)&load = cuda_driver_symbol(&kernel->driver, "cuModuleLoadData");
  *(void **)&get_function = cuda_driver_symbol(&kernel->driver, "cuModuleGetFunction");
  *(void **)&kernel->launch = cuda_driver_symbol(&kernel->driver, "cuLaunchKernel");
  cuda_driver_must(load(&kernel->module, ptx), "cuModuleLoadData");
  cuda_driver_must(get_function(&kernel->function, kernel->module, entry), "cuModuleGetFunction");
  return kernel;
}

void ptx_kernel_destroy(ptx_kernel *kernel) {
  int (*unload)(void *);
  *(void **)&unload = cuda_driver_symbol(&kernel->driver, "cuModuleUnload");
  cuda_driver_must(unload(kernel->module), "cuModuleUnload");
  cuda_driver_close(&kernel->driver);
  free(kernel);
}

void ptx_kernel_launch(const ptx_kernel *kernel, unsigned blocks, unsigned threads,
                       void **parameters, void *stream) {
  cuda_driver_must(
      kernel->launch(kernel->function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL),
      "cuLaunchKernel");
}
