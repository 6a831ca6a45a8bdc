/* Streams of llrt's own, and the thread's current device for other libraries. */
#include "backends/hip/hip_device.h"

#include "base/status.h"

llrt_status llrt_hip_stream_create(llrt_device *base, void **stream) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  *stream = NULL;
  if (!device->driver.hipStreamCreateWithPriority || !device->driver.hipStreamDestroy)
    return llrt_error(LLRT_UNSUPPORTED, "this library makes no streams");
  LLRT_TRY(llrt_hip_enter_relaxed(device, &entry));
  void *made = NULL;
  llrt_status status = HIP_CALL(&device->driver, hipStreamCreateWithPriority, &made,
                                HIP_STREAM_NON_BLOCKING, HIP_STREAM_LAST);
  status = llrt_hip_leave_relaxed(device, entry, status);
  if (status == LLRT_OK) *stream = made;
  else if (made) device->driver.hipStreamDestroy(made);
  return status;
}

void llrt_hip_stream_destroy(llrt_device *base, void *stream) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  bool entered = llrt_hip_enter_relaxed(device, &entry) == LLRT_OK;
  device->driver.hipStreamDestroy(stream);
  if (entered) llrt_hip_leave_relaxed(device, entry, LLRT_OK);
}

llrt_status llrt_hip_enter_device(llrt_device *base, int *entry) {
  return llrt_hip_enter(hip_device_of(base), entry);
}

llrt_status llrt_hip_leave_device(llrt_device *base, int entry, llrt_status status) {
  return llrt_hip_leave(hip_device_of(base), entry, status);
}
