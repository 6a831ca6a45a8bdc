/* Events: a backend_event is the library's hipEvent_t itself. */
#include "backends/hip/hip_device.h"

#include "base/status.h"

llrt_status llrt_hip_event_create(llrt_device *base, backend_event **event) {
  const hip_device *device = hip_device_of(base);
  int previous;
  *event = NULL;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  void *handle = NULL;
  llrt_status status = HIP_CALL(&device->driver, hipEventCreateWithFlags, &handle, 0);
  status = llrt_hip_leave(device, previous, status);
  if (status == LLRT_OK) *event = handle;
  else if (handle) device->driver.hipEventDestroy(handle);
  return status;
}

void llrt_hip_event_destroy(llrt_device *base, backend_event *event) {
  const hip_device *device = hip_device_of(base);
  int previous;
  bool entered = llrt_hip_enter(device, &previous) == LLRT_OK;
  device->driver.hipEventDestroy(event);
  if (entered) llrt_hip_leave(device, previous, LLRT_OK);
}

llrt_status llrt_hip_event_record(llrt_device *base, backend_event *event, void *stream) {
  const hip_device *device = hip_device_of(base);
  int previous;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  return llrt_hip_leave(device, previous, HIP_CALL(&device->driver, hipEventRecord, event, stream));
}

llrt_status llrt_hip_event_elapsed(llrt_device *base, const backend_event *start,
                                   const backend_event *stop, double *microseconds) {
  const hip_device *device = hip_device_of(base);
  int previous;
  *microseconds = 0;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  float milliseconds = 0;
  llrt_status status = HIP_CALL(&device->driver, hipEventSynchronize, (void *)stop);
  if (status == LLRT_OK) {
    status =
        HIP_CALL(&device->driver, hipEventElapsedTime, &milliseconds, (void *)start, (void *)stop);
  }
  *microseconds = (double)milliseconds * 1e3;
  return llrt_hip_leave(device, previous, status);
}

llrt_status llrt_hip_event_done(llrt_device *base, const backend_event *event, bool *done) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  *done = false;
  LLRT_TRY(llrt_hip_enter_relaxed(device, &entry));
  hip_result result = device->driver.hipEventQuery((void *)event);
  *done = result == 0;
  bool answered = result == 0 || result == HIP_RESULT_NOT_READY;
  return llrt_hip_leave_relaxed(
      device, entry, answered ? LLRT_OK : llrt_hip_check(&device->driver, result, "hipEventQuery"));
}

llrt_status llrt_hip_event_wait(llrt_device *base, const backend_event *event, void *stream) {
  const hip_device *device = hip_device_of(base);
  int previous;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  return llrt_hip_leave(device, previous,
                        HIP_CALL(&device->driver, hipStreamWaitEvent, stream, (void *)event, 0));
}
