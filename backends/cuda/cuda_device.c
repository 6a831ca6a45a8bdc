/* Opening a CUDA device: its context, and the target that its compute capability means. */
#include "backends/cuda/cuda_device.h"

#include "base/memory.h"
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

/* CUDA driver API, cuThreadExchangeStreamCaptureMode. -1: the mode was left as it is. */
int llrt_cuda_relax(const cuda_driver *driver) {
  int mode = CUDA_CAPTURE_RELAXED;
  if (!driver->cuThreadExchangeStreamCaptureMode) return -1;
  return driver->cuThreadExchangeStreamCaptureMode(&mode) == 0 ? mode : -1;
}

void llrt_cuda_restore(const cuda_driver *driver, int mode) {
  if (mode >= 0) driver->cuThreadExchangeStreamCaptureMode(&mode);
}

llrt_status llrt_cuda_enter_relaxed(const cuda_device *device, int *mode) {
  LLRT_TRY(llrt_cuda_enter(device));
  *mode = llrt_cuda_relax(&device->driver);
  return LLRT_OK;
}

llrt_status llrt_cuda_leave_relaxed(const cuda_device *device, int mode, llrt_status status) {
  llrt_cuda_restore(&device->driver, mode);
  return llrt_cuda_leave(device, status);
}

llrt_status llrt_cuda_count(const char *library, int *count) {
  *count = 0;
  cuda_driver driver;
  LLRT_TRY(llrt_cuda_driver_load(library, &driver));
  llrt_status status = CUDA_CALL(&driver, cuDeviceGetCount, count);
  llrt_cuda_driver_unload(&driver);
  return status;
}

static llrt_status read_capability(const cuda_device *device, int *capability) {
  int major = 0, minor = 0;
  LLRT_TRY(CUDA_CALL(&device->driver, cuDeviceGetAttribute, &major, CUDA_ATTRIBUTE_CAPABILITY_MAJOR,
                     device->ordinal));
  LLRT_TRY(CUDA_CALL(&device->driver, cuDeviceGetAttribute, &minor, CUDA_ATTRIBUTE_CAPABILITY_MINOR,
                     device->ordinal));
  *capability = 10 * major + minor;
  return LLRT_OK;
}

static llrt_status choose_target(const cuda_device *device, const char *wanted,
                                 plan_target *target) {
  int capability;
  LLRT_TRY(read_capability(device, &capability));
  int major = capability / 10, minor = capability % 10;
  if (wanted) {
    LLRT_TRY(plan_target_find(wanted, target));
    target->facts.capability = capability;
    if (plan_target_runs_on(target, capability)) return LLRT_OK;
    return llrt_error(LLRT_UNSUPPORTED, "compute capability %d.%d cannot run code for %s", major,
                      minor, wanted);
  }
  const plan_target *best = NULL, *row;
  for (int i = 0; (row = plan_target_at(i)); i++)
    if (plan_target_runs_on(row, capability)) best = row;
  if (best) {
    *target = *best;
    target->facts.capability = capability;
    return LLRT_OK;
  }
  return llrt_error(LLRT_UNSUPPORTED, "compute capability %d.%d is below 8.0, the least supported",
                    major, minor);
}

/* Devices that run one target's code differ in how much shared memory a block may have: 163 KiB at
 * compute capability 8.0, 99 at 8.6 (CUDA C++ Programming Guide, "Technical Specifications per
 * Compute Capability"); no kernel takes more than the target's reference has. */
static llrt_status read_shared_memory(const cuda_device *device, device_facts *facts) {
  int bytes = 0;
  LLRT_TRY(CUDA_CALL(&device->driver, cuDeviceGetAttribute, &bytes, CUDA_ATTRIBUTE_SHARED_BYTES,
                     device->ordinal));
  if (bytes < facts->shared_bytes) facts->shared_bytes = bytes;
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
  int l2_bytes = 0, khz = 0;
  device->base.target.facts.units = info->compute_units;
  LLRT_TRY(
      CUDA_CALL(driver, cuDeviceGetAttribute, &l2_bytes, CUDA_ATTRIBUTE_L2_BYTES, device->ordinal));
  info->l2_bytes = (size_t)l2_bytes;
  device->base.target.facts.l2_bytes = l2_bytes;
  if (driver->cuDeviceGetAttribute(&khz, CUDA_ATTRIBUTE_CLOCK_KHZ, device->ordinal) == 0)
    device->base.clock_mhz = khz / 1000;
  if (driver->cuDriverGetVersion) driver->cuDriverGetVersion(&device->base.driver_version);
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
  if (!device->base.target.facts.early_launches || !driver->cuLaunchKernelEx ||
      !driver->cuDriverGetVersion)
    return false;
  return driver->cuDriverGetVersion(&version) == 0 &&
         version >= CUDA_VERSION_OF_PROGRAMMATIC_CAPTURE;
}

/* Whether kernels reach what malloc gave; or the driver says nothing of addresses. */
static bool reaches_all(const cuda_device *device) {
  const cuda_driver *driver = &device->driver;
  int pageable = 0;
  if (!driver->cuPointerGetAttribute) return true;
  cuda_result result =
      driver->cuDeviceGetAttribute(&pageable, CUDA_ATTRIBUTE_PAGEABLE_ACCESS, device->ordinal);
  return result != 0 || pageable != 0;
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
  LLRT_TRY(read_shared_memory(device, &device->base.target.facts));
  device->launches_early = can_launch_early(device);
  device->reaches_all = reaches_all(device);
  LLRT_TRY(fill_info(device, ordinal));
  int mode = llrt_cuda_relax(&device->driver);
  llrt_status status = take_context(device, params->driver_context);
  if (status == LLRT_OK) llrt_cuda_pool_open(device);
  llrt_cuda_restore(&device->driver, mode);
  return status;
}

llrt_status llrt_cuda_open(int ordinal, const backend_open_params *params, llrt_device **out) {
  *out = NULL;
  cuda_device *device = memory_zeroed(1, sizeof *device);
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
  int mode = device->context ? llrt_cuda_relax(&device->driver) : -1;
  llrt_cuda_pool_close(device);
  if (device->primary) device->driver.cuDevicePrimaryCtxRelease_v2(device->ordinal);
  llrt_cuda_restore(&device->driver, mode);
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
    .pin = llrt_cuda_pin,
    .unpin = llrt_cuda_unpin,
    .synchronize = llrt_cuda_synchronize,
    .stream_state = llrt_cuda_stream_state,
    .reaches = llrt_cuda_reaches,
    .orders_memory = llrt_cuda_orders_memory,
    .allocate_on = llrt_cuda_allocate_on,
    .release_on = llrt_cuda_release_on,
    .trim = llrt_cuda_trim,
    .event_create = llrt_cuda_event_create,
    .event_destroy = llrt_cuda_event_destroy,
    .event_record = llrt_cuda_event_record,
    .event_elapsed = llrt_cuda_event_elapsed,
    .event_done = llrt_cuda_event_done,
    .event_wait = llrt_cuda_event_wait,
    .link = llrt_cuda_link,
    .load = llrt_cuda_load,
    .unload = llrt_cuda_unload,
    .launch = llrt_cuda_launch,
    .stream_create = llrt_cuda_stream_create,
    .stream_destroy = llrt_cuda_stream_destroy,
    .enter = llrt_cuda_enter_device,
    .leave = llrt_cuda_leave_device,
    .meet_load = llrt_cuda_meet_load,
    .meet = llrt_cuda_meet,
    .sharing = &llrt_cuda_sharing,
    .note_create = llrt_cuda_note_create,
    .note_destroy = llrt_cuda_note_destroy,
    .reach_peer = llrt_cuda_reach_peer,
};
