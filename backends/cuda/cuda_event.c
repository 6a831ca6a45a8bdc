/* Events: a backend_event is the driver's CUevent itself. */
#include "backends/cuda/cuda_device.h"

#include "base/status.h"

llrt_status llrt_cuda_event_create(llrt_device *base, backend_event **event) {
  const cuda_device *device = cuda_device_of(base);
  *event = NULL;
  LLRT_TRY(llrt_cuda_enter(device));
  void *handle = NULL;
  llrt_status status = CUDA_CALL(&device->driver, cuEventCreate, &handle, 0);
  status = llrt_cuda_leave(device, status);
  if (status == LLRT_OK) *event = handle;
  else if (handle) device->driver.cuEventDestroy_v2(handle);
  return status;
}

void llrt_cuda_event_destroy(llrt_device *base, backend_event *event) {
  const cuda_device *device = cuda_device_of(base);
  bool entered = llrt_cuda_enter(device) == LLRT_OK;
  device->driver.cuEventDestroy_v2(event);
  if (entered) llrt_cuda_leave(device, LLRT_OK);
}

llrt_status llrt_cuda_event_record(llrt_device *base, backend_event *event, void *stream) {
  const cuda_device *device = cuda_device_of(base);
  LLRT_TRY(llrt_cuda_enter(device));
  return llrt_cuda_leave(device, CUDA_CALL(&device->driver, cuEventRecord, event, stream));
}

llrt_status llrt_cuda_event_elapsed(llrt_device *base, const backend_event *start,
                                    const backend_event *stop, double *microseconds) {
  const cuda_device *device = cuda_device_of(base);
  *microseconds = 0;
  LLRT_TRY(llrt_cuda_enter(device));
  float milliseconds = 0;
  llrt_status status = CUDA_CALL(&device->driver, cuEventSynchronize, (void *)stop);
  if (status == LLRT_OK) {
    status =
        CUDA_CALL(&device->driver, cuEventElapsedTime, &milliseconds, (void *)start, (void *)stop);
  }
  *microseconds = (double)milliseconds * 1e3;
  return llrt_cuda_leave(device, status);
}

llrt_status llrt_cuda_event_done(llrt_device *base, const backend_event *event, bool *done) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  *done = false;
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  cuda_result result = device->driver.cuEventQuery((void *)event);
  *done = result == 0;
  bool answered = result == 0 || result == CUDA_RESULT_NOT_READY;
  return llrt_cuda_leave_relaxed(
      device, mode, answered ? LLRT_OK : llrt_cuda_check(&device->driver, result, "cuEventQuery"));
}

llrt_status llrt_cuda_event_wait(llrt_device *base, const backend_event *event, void *stream) {
  const cuda_device *device = cuda_device_of(base);
  LLRT_TRY(llrt_cuda_enter(device));
  return llrt_cuda_leave(device,
                         CUDA_CALL(&device->driver, cuStreamWaitEvent, stream, (void *)event, 0));
}
