/* Device memory, copies and streams. The driver aligns allocations to 256 bytes (CUDA programming
 * guide, device memory accesses). */
#include "backends/cuda/cuda_device.h"

#include "base/status.h"

static cuda_ptr ptr_of(const void *address) { return (cuda_ptr)(uintptr_t)address; }

llrt_status llrt_cuda_allocate(llrt_device *base, size_t bytes, void **memory) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  *memory = NULL;
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  cuda_ptr address = 0;
  llrt_status status = CUDA_CALL(&device->driver, cuMemAlloc_v2, &address, bytes);
  status = llrt_cuda_leave_relaxed(device, mode, status);
  if (status == LLRT_OK) *memory = (void *)(uintptr_t)address;
  else if (address) device->driver.cuMemFree_v2(address);
  return status;
}

llrt_status llrt_cuda_release(llrt_device *base, void *memory) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  llrt_status status = llrt_cuda_enter_relaxed(device, &mode);
  if (status == LLRT_OK)
    return llrt_cuda_leave_relaxed(device, mode,
                                   CUDA_CALL(&device->driver, cuMemFree_v2, ptr_of(memory)));
  device->driver.cuMemFree_v2(ptr_of(memory));
  return status;
}

static llrt_status copy(const cuda_driver *driver, void *destination, const void *source,
                        size_t bytes, llrt_copy_kind kind, void *stream) {
  switch (kind) {
  case LLRT_COPY_TO_DEVICE:
    return CUDA_CALL(driver, cuMemcpyHtoDAsync_v2, ptr_of(destination), source, bytes, stream);
  case LLRT_COPY_FROM_DEVICE:
    return CUDA_CALL(driver, cuMemcpyDtoHAsync_v2, destination, ptr_of(source), bytes, stream);
  case LLRT_COPY_ON_DEVICE:
    return CUDA_CALL(driver, cuMemcpyDtoDAsync_v2, ptr_of(destination), ptr_of(source), bytes,
                     stream);
  }
  return llrt_error(LLRT_INTERNAL, "copy kind %d passed validation", (int)kind);
}

llrt_status llrt_cuda_copy(llrt_device *base, void *destination, const void *source, size_t bytes,
                           llrt_copy_kind kind, void *stream) {
  const cuda_device *device = cuda_device_of(base);
  LLRT_TRY(llrt_cuda_enter(device));
  return llrt_cuda_leave(device, copy(&device->driver, destination, source, bytes, kind, stream));
}

llrt_status llrt_cuda_set(llrt_device *base, void *memory, int value, size_t bytes, void *stream) {
  const cuda_device *device = cuda_device_of(base);
  LLRT_TRY(llrt_cuda_enter(device));
  return llrt_cuda_leave(device, CUDA_CALL(&device->driver, cuMemsetD8Async, ptr_of(memory),
                                           (unsigned char)value, bytes, stream));
}

llrt_status llrt_cuda_pin(llrt_device *base, void *memory, size_t bytes) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  if (!device->driver.cuMemHostRegister_v2 || !device->driver.cuMemHostUnregister)
    return llrt_error(LLRT_UNSUPPORTED, "the driver pins no memory of others");
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  llrt_status status = CUDA_CALL(&device->driver, cuMemHostRegister_v2, memory, bytes, 0);
  return llrt_cuda_leave_relaxed(device, mode, status);
}

llrt_status llrt_cuda_unpin(llrt_device *base, void *memory) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  LLRT_REQUIRE(device->driver.cuMemHostUnregister, "memory is not pinned");
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  llrt_status status = CUDA_CALL(&device->driver, cuMemHostUnregister, memory);
  return llrt_cuda_leave_relaxed(device, mode, status);
}

llrt_status llrt_cuda_synchronize(llrt_device *base, void *stream) {
  const cuda_device *device = cuda_device_of(base);
  LLRT_TRY(llrt_cuda_enter(device));
  return llrt_cuda_leave(device, CUDA_CALL(&device->driver, cuStreamSynchronize, stream));
}

llrt_status llrt_cuda_stream_state(llrt_device *base, void *stream, backend_stream *state) {
  const cuda_device *device = cuda_device_of(base);
  *state = (backend_stream){0};
  LLRT_TRY(llrt_cuda_enter(device));
  int capture = 0; /* CU_STREAM_CAPTURE_STATUS_NONE */
  unsigned long long id = 0;
  llrt_status status = CUDA_CALL(&device->driver, cuStreamIsCapturing, stream, &capture);
  state->capturing = capture != 0;
  if (status == LLRT_OK && !state->capturing && device->driver.cuStreamGetId)
    status = CUDA_CALL(&device->driver, cuStreamGetId, stream, &id);
  state->id = id;
  return llrt_cuda_leave(device, status);
}

llrt_status llrt_cuda_reaches(llrt_device *base, const void *address, bool *reached) {
  const cuda_device *device = cuda_device_of(base);
  *reached = true;
  if (device->reaches_all) return LLRT_OK;
  LLRT_TRY(llrt_cuda_enter(device));
  int type = 0;
  cuda_result result =
      device->driver.cuPointerGetAttribute(&type, CUDA_POINTER_MEMORY_TYPE, ptr_of(address));
  *reached = result != CUDA_RESULT_INVALID_VALUE;
  return llrt_cuda_leave(device, LLRT_OK);
}
