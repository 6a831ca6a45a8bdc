/* Streams of llrt's own, and the thread's current context for other libraries. */
#include "backends/cuda/cuda_device.h"

#include "base/status.h"

llrt_status llrt_cuda_stream_create(llrt_device *base, void **stream) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  *stream = NULL;
  if (!device->driver.cuStreamCreateWithPriority || !device->driver.cuStreamDestroy_v2)
    return llrt_error(LLRT_UNSUPPORTED, "this driver makes no streams");
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  void *made = NULL;
  llrt_status status = CUDA_CALL(&device->driver, cuStreamCreateWithPriority, &made,
                                 CUDA_STREAM_NON_BLOCKING, CUDA_STREAM_LAST);
  status = llrt_cuda_leave_relaxed(device, mode, status);
  if (status == LLRT_OK) *stream = made;
  else if (made) device->driver.cuStreamDestroy_v2(made);
  return status;
}

void llrt_cuda_stream_destroy(llrt_device *base, void *stream) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  bool entered = llrt_cuda_enter_relaxed(device, &mode) == LLRT_OK;
  device->driver.cuStreamDestroy_v2(stream);
  if (entered) llrt_cuda_leave_relaxed(device, mode, LLRT_OK);
}

llrt_status llrt_cuda_enter_device(llrt_device *base, int *entry) {
  *entry = 0;
  return llrt_cuda_enter(cuda_device_of(base));
}

llrt_status llrt_cuda_leave_device(llrt_device *base, int entry, llrt_status status) {
  (void)entry;
  return llrt_cuda_leave(cuda_device_of(base), status);
}
