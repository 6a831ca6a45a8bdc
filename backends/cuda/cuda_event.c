/* Events: a backend_event is the driver's CUevent itself. */
#include "backends/cuda/cuda_device.h"

#include "base/status.h"

llrt_status llrt_cuda_event_create(llrt_device *base, backend_event **event) {
  const cuda_device *device = cuda_device_of(base);
  *event = NULL;
  LLRT_TRY(llrt_cuda_enter(device));
  void *handle = NULL;
  llrt_status status = CUDA_CALL(&device->driver, cuEventCreate, &handle, 0);
  *event = handle;
  return llrt_cuda_leave(device, status);
}

void llrt_cuda_event_destroy(llrt_device *base, backend_event *event) {
  const cuda_device *device = cuda_device_of(base);
  if (llrt_cuda_enter(device) != LLRT_OK) return;
  device->driver.cuEventDestroy_v2(event);
  llrt_cuda_leave(device, LLRT_OK);
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
    status = CUDA_CALL(&device->driver, cuEventElapsedTime, &milliseconds, (void *)start,
                       (void *)stop);
  }
  *microseconds = (double)milliseconds * 1e3;
  return llrt_cuda_leave(device, status);
}
