/* Loading HSACO and launching it. */
#include "backends/hip/hip_device.h"

#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/kernel/launch.h"

#include <assert.h>
#include <stdlib.h>

struct backend_module {
  void *handle;   /* hipModule_t */
  void *function; /* hipFunction_t */
};

static llrt_status module_open(const hip_driver *driver, const backend_code *code,
                               backend_module *module) {
  hip_result result = driver->hipModuleLoadData(&module->handle, code->data);
  llrt_status status = llrt_hip_check(driver, result, "hipModuleLoadData");
  if (result == HIP_RESULT_INVALID_IMAGE || result == HIP_RESULT_NO_BINARY_FOR_GPU) {
    return llrt_error_prefix(LLRT_UNSUPPORTED, "the code is not for this GPU or driver");
  }
  LLRT_TRY(status);
  return HIP_CALL(driver, hipModuleGetFunction, &module->function, module->handle, code->entry);
}

static void module_close(const hip_driver *driver, backend_module *module) {
  if (module->handle) driver->hipModuleUnload(module->handle);
  free(module);
}

llrt_status llrt_hip_load(llrt_device *base, const backend_code *code, backend_module **out) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  *out = NULL;
  LLRT_TRY(llrt_hip_enter_relaxed(device, &entry));
  backend_module *module = memory_zeroed(1, sizeof *module);
  if (!module)
    return llrt_hip_leave_relaxed(device, entry,
                                  llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a loaded kernel"));
  llrt_status status =
      llrt_hip_leave_relaxed(device, entry, module_open(&device->driver, code, module));
  if (status == LLRT_OK) *out = module;
  else module_close(&device->driver, module);
  return status;
}

void llrt_hip_unload(llrt_device *base, backend_module *module) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  bool entered = llrt_hip_enter_relaxed(device, &entry) == LLRT_OK;
  module_close(&device->driver, module);
  if (entered) llrt_hip_leave_relaxed(device, entry, LLRT_OK);
}

llrt_status llrt_hip_launch(llrt_device *base, const backend_module *module,
                            const backend_launch *launch, void *stream) {
  const hip_device *device = hip_device_of(base);
  assert(launch->n_args <= PLAN_MAX_ARGS);
  /* HIP counts a grid in threads, in 32 bits. */
  if (launch->blocks * launch->threads > UINT32_MAX) {
    return llrt_error(LLRT_UNSUPPORTED,
                      "%lld blocks of %d threads pass HIP's limit of 2^32 threads",
                      (long long)launch->blocks, launch->threads);
  }
  void *parameters[PLAN_MAX_ARGS];
  for (int i = 0; i < launch->n_args; i++) parameters[i] = (void *)&launch->args[i];
  int previous;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  llrt_status status =
      HIP_CALL(&device->driver, hipModuleLaunchKernel, module->function, (unsigned)launch->blocks,
               1, 1, (unsigned)launch->threads, 1, 1, 0, stream, parameters, NULL);
  return llrt_hip_leave(device, previous, status);
}
