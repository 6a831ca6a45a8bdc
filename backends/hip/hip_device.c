/* Opening an AMD device: the target that its architecture's name means. */
#include "backends/hip/hip_device.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

llrt_status llrt_hip_enter(const hip_device *device, int *previous) {
  LLRT_TRY(HIP_CALL(&device->driver, hipGetDevice, previous));
  if (*previous == device->ordinal) return LLRT_OK;
  return HIP_CALL(&device->driver, hipSetDevice, device->ordinal);
}

llrt_status llrt_hip_leave(const hip_device *device, int previous, llrt_status status) {
  if (previous == device->ordinal) return status;
  hip_result result = device->driver.hipSetDevice(previous);
  if (status != LLRT_OK) return status;
  return llrt_hip_check(&device->driver, result, "hipSetDevice");
}

/* HIP runtime API, hipThreadExchangeStreamCaptureMode. */
llrt_status llrt_hip_enter_relaxed(const hip_device *device, hip_entry *entry) {
  const hip_driver *driver = &device->driver;
  int mode = HIP_CAPTURE_RELAXED;
  *entry = (hip_entry){.mode = -1};
  LLRT_TRY(llrt_hip_enter(device, &entry->previous));
  if (driver->hipThreadExchangeStreamCaptureMode &&
      driver->hipThreadExchangeStreamCaptureMode(&mode) == 0)
    entry->mode = mode;
  return LLRT_OK;
}

llrt_status llrt_hip_leave_relaxed(const hip_device *device, hip_entry entry, llrt_status status) {
  if (entry.mode >= 0) device->driver.hipThreadExchangeStreamCaptureMode(&entry.mode);
  return llrt_hip_leave(device, entry.previous, status);
}

llrt_status llrt_hip_count(const char *library, int *count) {
  *count = 0;
  hip_driver driver;
  LLRT_TRY(llrt_hip_driver_load(library, &driver));
  llrt_status status = llrt_hip_driver_count(&driver, count);
  llrt_hip_driver_unload(&driver);
  return status;
}

/* The architecture's name ("gfx90a", without ":sramecc+:xnack-") is told by hipGetDeviceProperties
 * alone, in a struct of some hundred fields that differs between ROCm releases. Both layouts begin
 * with the device's name in 256 bytes and hold one more text that begins with "gfx" at a multiple
 * of 4: gcnArchName. Looking for that text depends on neither layout. */
static llrt_status read_architecture(const hip_driver *driver, int ordinal, char name[32]) {
  enum { NAME_BYTES = 256, STRUCT_BYTES = 8192 }; /* the real ones are below 1.5 KiB */
  char properties[STRUCT_BYTES] = {0};
  name[0] = 0;
  if (driver->hipGetDevicePropertiesR0600) {
    LLRT_TRY(HIP_CALL(driver, hipGetDevicePropertiesR0600, properties, ordinal));
  } else if (driver->hipGetDeviceProperties) {
    LLRT_TRY(HIP_CALL(driver, hipGetDeviceProperties, properties, ordinal));
  }
  for (size_t at = NAME_BYTES; at + 32 <= STRUCT_BYTES; at += 4) {
    if (strncmp(properties + at, "gfx", 3) != 0) continue;
    size_t length = strspn(properties + at, "gfx0123456789abcde");
    snprintf(name, 32, "%.*s", (int)(length < 31 ? length : 31), properties + at);
    return LLRT_OK;
  }
  return llrt_error(LLRT_UNSUPPORTED, "the HIP library does not tell the architecture of device %d",
                    ordinal);
}

static llrt_status choose_target(const hip_device *device, const char *wanted,
                                 plan_target *target) {
  char architecture[32];
  LLRT_TRY(read_architecture(&device->driver, device->ordinal, architecture));
  if (wanted) {
    LLRT_TRY(plan_target_find(wanted, target));
    if (strcmp(wanted, architecture) == 0) return LLRT_OK;
    return llrt_error(LLRT_UNSUPPORTED, "a %s cannot run code for %s", architecture, wanted);
  }
  if (plan_target_find(architecture, target) == LLRT_OK) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "no kernels are made for architecture %s", architecture);
}

static llrt_status fill_info(hip_device *device) {
  llrt_device_info *info = &device->base.info;
  const hip_driver *driver = &device->driver;
  snprintf(info->name, sizeof info->name, "hip:%d", device->ordinal);
  snprintf(info->target, sizeof info->target, "%s", device->base.target.name);
  LLRT_TRY(HIP_CALL(driver, hipDeviceGetName, info->description, sizeof info->description,
                    device->ordinal));
  LLRT_TRY(HIP_CALL(driver, hipDeviceTotalMem, &info->memory_bytes, device->ordinal));
  LLRT_TRY(HIP_CALL(driver, hipDeviceGetAttribute, &info->compute_units,
                    HIP_ATTRIBUTE_MULTIPROCESSORS, device->ordinal));
  int l2_bytes = 0, khz = 0;
  device->base.target.facts.units = info->compute_units;
  LLRT_TRY(
      HIP_CALL(driver, hipDeviceGetAttribute, &l2_bytes, HIP_ATTRIBUTE_L2_BYTES, device->ordinal));
  info->l2_bytes = (size_t)l2_bytes;
  device->base.target.facts.l2_bytes = l2_bytes;
  if (driver->hipDeviceGetAttribute(&khz, HIP_ATTRIBUTE_CLOCK_KHZ, device->ordinal) == 0)
    device->base.clock_mhz = khz / 1000;
  return LLRT_OK;
}

/* Whether kernels reach what malloc gave (XNACK); or the runtime says nothing of addresses. */
static bool reaches_all(const hip_device *device) {
  const hip_driver *driver = &device->driver;
  int pageable = 0;
  if (!driver->hipPointerGetAttributes) return true;
  hip_result result =
      driver->hipDeviceGetAttribute(&pageable, HIP_ATTRIBUTE_PAGEABLE_ACCESS, device->ordinal);
  return result != 0 || pageable != 0;
}

static llrt_status device_start(hip_device *device, int ordinal,
                                const backend_open_params *params) {
  LLRT_TRY(llrt_hip_driver_load(params->driver_library, &device->driver));
  int count = 0;
  LLRT_TRY(llrt_hip_driver_count(&device->driver, &count));
  if (ordinal >= count) {
    return llrt_error(LLRT_UNAVAILABLE, "no device hip:%d: the library finds %d", ordinal, count);
  }
  if (params->driver_context) {
    return llrt_error(LLRT_UNSUPPORTED, "HIP devices have no contexts to choose from");
  }
  device->ordinal = ordinal;
  LLRT_TRY(choose_target(device, params->target, &device->base.target));
  LLRT_TRY(fill_info(device));
  device->reaches_all = reaches_all(device);
  llrt_hip_pool_open(device);
  return LLRT_OK;
}

llrt_status llrt_hip_open(int ordinal, const backend_open_params *params, llrt_device **out) {
  *out = NULL;
  hip_device *device = memory_zeroed(1, sizeof *device);
  if (!device) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a device");
  device->base.backend = &llrt_backend_hip;
  llrt_status status = device_start(device, ordinal, params);
  if (status != LLRT_OK) {
    llrt_hip_close(&device->base);
    return status;
  }
  *out = &device->base;
  return LLRT_OK;
}

void llrt_hip_close(llrt_device *base) {
  hip_device *device = (hip_device *)base;
  llrt_hip_pool_close(device);
  llrt_hip_driver_unload(&device->driver);
  free(device);
}

const llrt_backend llrt_backend_hip = {
    .name = "hip",
    .count = llrt_hip_count,
    .open = llrt_hip_open,
    .close = llrt_hip_close,
    .allocate = llrt_hip_allocate,
    .release = llrt_hip_release,
    .copy = llrt_hip_copy,
    .set = llrt_hip_set,
    .pin = llrt_hip_pin,
    .unpin = llrt_hip_unpin,
    .synchronize = llrt_hip_synchronize,
    .stream_state = llrt_hip_stream_state,
    .reaches = llrt_hip_reaches,
    .orders_memory = llrt_hip_orders_memory,
    .allocate_on = llrt_hip_allocate_on,
    .release_on = llrt_hip_release_on,
    .trim = llrt_hip_trim,
    .event_create = llrt_hip_event_create,
    .event_destroy = llrt_hip_event_destroy,
    .event_record = llrt_hip_event_record,
    .event_elapsed = llrt_hip_event_elapsed,
    .event_done = llrt_hip_event_done,
    .event_wait = llrt_hip_event_wait,
    .link = NULL,
    .load = llrt_hip_load,
    .unload = llrt_hip_unload,
    .launch = llrt_hip_launch,
    .stream_create = llrt_hip_stream_create,
    .stream_destroy = llrt_hip_stream_destroy,
    .enter = llrt_hip_enter_device,
    .leave = llrt_hip_leave_device,
    .meet_load = llrt_hip_meet_load,
    .meet = llrt_hip_meet,
    .note_create = llrt_hip_note_create,
    .note_destroy = llrt_hip_note_destroy,
    .reach_peer = llrt_hip_reach_peer,
};
