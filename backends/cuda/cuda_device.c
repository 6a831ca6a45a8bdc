/* Opening a CUDA device: its context, and the target that its compute capability means. */
#include "backends/cuda/cuda_device.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

llrt_status llrt_cuda_enter(const cuda_device *device) {
  return CUDA_CALL(&device->driver, cuCtxPushCurrent_v2, device->context);
}

llrt_status llrt_cuda_leave(const cuda_device *device, llrt_status status) {
  void *popped;
  cuda_result result = device->driver.cuCtxPopCurrent_v2(&popped);
  if (status != LLRT_OK) return status;
  return llrt_cuda_check(&device->driver, result, "cuCtxPopCurrent");
}

llrt_status llrt_cuda_count(const char *library, int *count) {
  *count = 0;
  cuda_driver driver;
  LLRT_TRY(llrt_cuda_driver_load(library, &driver));
  llrt_status status = CUDA_CALL(&driver, cuDeviceGetCount, count);
  llrt_cuda_driver_unload(&driver);
  return status;
}

/* Whether a device of compute capability `capability` (10 * major + minor) runs PTX for `target`:
 * PTX runs on its own capability and all later ones, but "a" targets on their own alone (PTX ISA,
 * .target). */
static bool capability_runs(int capability, const char *target) {
  static const struct {
    const char *name;
    int least, most;
  } targets[] = {{"sm_80", 80, 1 << 20}, {"sm_89", 89, 1 << 20}, {"sm_90a", 90, 90}};
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    if (strcmp(targets[i].name, target) == 0) {
      return capability >= targets[i].least && capability <= targets[i].most;
    }
  }
  return false;
}

static llrt_status choose_target(const cuda_device *device, const char *wanted,
                                 plan_target *target) {
  int major = 0, minor = 0;
  LLRT_TRY(CUDA_CALL(&device->driver, cuDeviceGetAttribute, &major, CUDA_ATTRIBUTE_CAPABILITY_MAJOR,
                     device->ordinal));
  LLRT_TRY(CUDA_CALL(&device->driver, cuDeviceGetAttribute, &minor, CUDA_ATTRIBUTE_CAPABILITY_MINOR,
                     device->ordinal));
  static const char *const best_first[] = {"sm_90a", "sm_89", "sm_80"};
  int capability = 10 * major + minor;
  if (wanted) {
    LLRT_TRY(plan_target_find(wanted, target));
    if (capability_runs(capability, wanted)) return LLRT_OK;
    return llrt_error(LLRT_UNSUPPORTED, "compute capability %d.%d cannot run code for %s", major,
                      minor, wanted);
  }
  for (int i = 0; i < 3; i++) {
    if (capability_runs(capability, best_first[i])) return plan_target_find(best_first[i], target);
  }
  return llrt_error(LLRT_UNSUPPORTED, "compute capability %d.%d is below 8.0, the least supported",
                    major, minor);
}

/* Devices that run one target's code differ in how much shared memory a block may have: 163 KiB at compute capability
 * 8.0, 99 at 8.6 (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"). */
static llrt_status limit_shared_memory(const cuda_device *device, plan_target *target) {
  int bytes = 0;
  LLRT_TRY(CUDA_CALL(&device->driver, cuDeviceGetAttribute, &bytes, CUDA_ATTRIBUTE_SHARED_BYTES, device->ordinal));
  if (bytes < target->shared_bytes) target->shared_bytes = bytes;
  return LLRT_OK;
}

static llrt_status fill_info(cuda_device *device, int ordinal) {
  llrt_device_info *info = &device->base.info;
  const cuda_driver *driver = &device->driver;
  snprintf(info->name, sizeof info->name, "cuda:%d", ordinal);
  snprintf(info->target, sizeof info->target, "%s", device->base.target.name);
  LLRT_TRY(CUDA_CALL(driver, cuDeviceGetName, info->description, sizeof info->description,
                     device->ordinal));
  LLRT_TRY(CUDA_CALL(driver, cuDeviceTotalMem_v2, &info->memory_bytes, device->ordinal));
  LLRT_TRY(CUDA_CALL(driver, cuDeviceGetAttribute, &info->compute_units,
                     CUDA_ATTRIBUTE_MULTIPROCESSORS, device->ordinal));
  int l2_bytes = 0;
  LLRT_TRY(CUDA_CALL(driver, cuDeviceGetAttribute, &l2_bytes, CUDA_ATTRIBUTE_L2_BYTES,
                     device->ordinal));
  info->l2_bytes = (size_t)l2_bytes;
  return LLRT_OK;
}

/* The caller's context must be one of this device, or kernels would load for one GPU and run on
 * another. */
static llrt_status check_caller_context(const cuda_device *device) {
  LLRT_TRY(llrt_cuda_enter(device));
  cuda_ordinal owner = -1;
  llrt_status status = CUDA_CALL(&device->driver, cuCtxGetDevice, &owner);
  LLRT_TRY(llrt_cuda_leave(device, status));
  LLRT_REQUIRE(owner == device->ordinal, "driver_context belongs to CUDA device %d, not to %d",
               owner, device->ordinal);
  return LLRT_OK;
}

static llrt_status take_context(cuda_device *device, void *caller_context) {
  if (caller_context) {
    device->context = caller_context;
    return check_caller_context(device);
  }
  LLRT_TRY(CUDA_CALL(&device->driver, cuDevicePrimaryCtxRetain, &device->context, device->ordinal));
  device->primary = true;
  return LLRT_OK;
}

static bool can_launch_early(const cuda_device *device) {
  const cuda_driver *driver = &device->driver;
  int version = 0;
  if (!device->base.target.early_launches || !driver->cuLaunchKernelEx || !driver->cuDriverGetVersion) return false;
  return driver->cuDriverGetVersion(&version) == 0 && version >= CUDA_VERSION_OF_PROGRAMMATIC_CAPTURE;
}

static llrt_status device_start(cuda_device *device, int ordinal,
                                const backend_open_params *params) {
  LLRT_TRY(llrt_cuda_driver_load(params->driver_library, &device->driver));
  int count = 0;
  LLRT_TRY(CUDA_CALL(&device->driver, cuDeviceGetCount, &count));
  if (ordinal >= count) {
    return llrt_error(LLRT_UNAVAILABLE, "no device cuda:%d: the driver has %d", ordinal, count);
  }
  LLRT_TRY(CUDA_CALL(&device->driver, cuDeviceGet, &device->ordinal, ordinal));
  LLRT_TRY(choose_target(device, params->target, &device->base.target));
  LLRT_TRY(limit_shared_memory(device, &device->base.target));
  device->launches_early = can_launch_early(device);
  LLRT_TRY(fill_info(device, ordinal));
  LLRT_TRY(take_context(device, params->driver_context));
  llrt_cuda_pool_open(device);
  return LLRT_OK;
}

llrt_status llrt_cuda_open(int ordinal, const backend_open_params *params, llrt_device **out) {
  *out = NULL;
  cuda_device *device = calloc(1, sizeof *device);
  if (!device) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a device");
  device->base.backend = &llrt_backend_cuda;
  llrt_status status = device_start(device, ordinal, params);
  if (status != LLRT_OK) {
    llrt_cuda_close(&device->base);
    return status;
  }
  *out = &device->base;
  return LLRT_OK;
}

void llrt_cuda_close(llrt_device *base) {
  cuda_device *device = (cuda_device *)base;
  llrt_cuda_pool_close(device);
  if (device->primary) device->driver.cuDevicePrimaryCtxRelease_v2(device->ordinal);
  llrt_cuda_driver_unload(&device->driver);
  free(device);
}

const llrt_backend llrt_backend_cuda = {
    .name = "cuda",
    .count = llrt_cuda_count,
    .open = llrt_cuda_open,
    .close = llrt_cuda_close,
    .allocate = llrt_cuda_allocate,
    .release = llrt_cuda_release,
    .copy = llrt_cuda_copy,
    .set = llrt_cuda_set,
    .synchronize = llrt_cuda_synchronize,
    .stream_state = llrt_cuda_stream_state,
    .orders_memory = llrt_cuda_orders_memory,
    .allocate_on = llrt_cuda_allocate_on,
    .release_on = llrt_cuda_release_on,
    .trim = llrt_cuda_trim,
    .event_create = llrt_cuda_event_create,
    .event_destroy = llrt_cuda_event_destroy,
    .event_record = llrt_cuda_event_record,
    .event_elapsed = llrt_cuda_event_elapsed,
    .link = llrt_cuda_link,
    .load = llrt_cuda_load,
    .unload = llrt_cuda_unload,
    .launch = llrt_cuda_launch,
};
