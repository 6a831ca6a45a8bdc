/* Finding libcuda, and what its result codes mean to llrt. */
#include "backends/cuda/cuda_device.h"

#include "base/status.h"

static const char library_name[] = "NVIDIA driver library";

static const llrt_library_symbol symbols[] = {
#define CUDA_SYMBOL(required, name, arguments) {#name, offsetof(cuda_driver, name), required},
    CUDA_SYMBOLS(CUDA_SYMBOL)
#undef CUDA_SYMBOL
};

llrt_status llrt_cuda_check(const cuda_driver *driver, cuda_result result, const char *function) {
  if (result == 0) return LLRT_OK;
  const char *name = NULL, *text = NULL;
  driver->cuGetErrorName(result, &name);
  driver->cuGetErrorString(result, &text);
  llrt_status status = result == CUDA_RESULT_OUT_OF_MEMORY ? LLRT_OUT_OF_MEMORY : LLRT_DEVICE;
  return llrt_error_vendor(status, result, "%s: %s (%s)", function, name ? name : "unknown error",
                           text ? text : "no description");
}

static llrt_status driver_start(cuda_driver *driver) {
  LLRT_TRY(llrt_library_resolve(&driver->library, library_name, symbols,
                                sizeof symbols / sizeof symbols[0], driver));
  llrt_status status = CUDA_CALL(driver, cuInit, 0);
  if (status != LLRT_OK) {
    return llrt_error_prefix(LLRT_UNAVAILABLE, "the %s is present but unusable", library_name);
  }
  return LLRT_OK;
}

llrt_status llrt_cuda_driver_load(const char *path, cuda_driver *driver) {
  static const char *const usual[] = {"libcuda.so.1", "libcuda.so"};
  *driver = (cuda_driver){0};
  LLRT_TRY(llrt_library_open(library_name, path ? &path : usual, path ? 1 : 2, &driver->library));
  llrt_status status = driver_start(driver);
  if (status != LLRT_OK) llrt_cuda_driver_unload(driver);
  return status;
}

void llrt_cuda_driver_unload(cuda_driver *driver) { llrt_library_close(&driver->library); }
