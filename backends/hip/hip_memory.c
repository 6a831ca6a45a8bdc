/* Device memory, copies and streams. hipMalloc aligns to 4 KiB; 256 bytes are promised. */
#include "backends/hip/hip_device.h"

#include "base/status.h"

llrt_status llrt_hip_allocate(llrt_device *base, size_t bytes, void **memory) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  *memory = NULL;
  LLRT_TRY(llrt_hip_enter_relaxed(device, &entry));
  llrt_status status =
      llrt_hip_leave_relaxed(device, entry, HIP_CALL(&device->driver, hipMalloc, memory, bytes));
  if (status != LLRT_OK && *memory) device->driver.hipFree(*memory);
  if (status != LLRT_OK) *memory = NULL;
  return status;
}

llrt_status llrt_hip_release(llrt_device *base, void *memory) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  llrt_status status = llrt_hip_enter_relaxed(device, &entry);
  if (status == LLRT_OK)
    return llrt_hip_leave_relaxed(device, entry, HIP_CALL(&device->driver, hipFree, memory));
  device->driver.hipFree(memory);
  return status;
}

llrt_status llrt_hip_copy(llrt_device *base, void *destination, const void *source, size_t bytes,
                          llrt_copy_kind kind, void *stream) {
  static const int kinds[] = {[LLRT_COPY_TO_DEVICE] = HIP_COPY_HOST_TO_DEVICE,
                              [LLRT_COPY_FROM_DEVICE] = HIP_COPY_DEVICE_TO_HOST,
                              [LLRT_COPY_ON_DEVICE] = HIP_COPY_DEVICE_TO_DEVICE};
  const hip_device *device = hip_device_of(base);
  int previous;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  return llrt_hip_leave(
      device, previous,
      HIP_CALL(&device->driver, hipMemcpyAsync, destination, source, bytes, kinds[kind], stream));
}

llrt_status llrt_hip_set(llrt_device *base, void *memory, int value, size_t bytes, void *stream) {
  const hip_device *device = hip_device_of(base);
  int previous;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  return llrt_hip_leave(
      device, previous,
      HIP_CALL(&device->driver, hipMemsetAsync, memory, value & 0xff, bytes, stream));
}

llrt_status llrt_hip_pin(llrt_device *base, void *memory, size_t bytes) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  if (!device->driver.hipHostRegister || !device->driver.hipHostUnregister)
    return llrt_error(LLRT_UNSUPPORTED, "the driver pins no memory of others");
  LLRT_TRY(llrt_hip_enter_relaxed(device, &entry));
  llrt_status status = HIP_CALL(&device->driver, hipHostRegister, memory, bytes, 0);
  return llrt_hip_leave_relaxed(device, entry, status);
}

llrt_status llrt_hip_unpin(llrt_device *base, void *memory) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  LLRT_REQUIRE(device->driver.hipHostUnregister, "memory is not pinned");
  LLRT_TRY(llrt_hip_enter_relaxed(device, &entry));
  llrt_status status = HIP_CALL(&device->driver, hipHostUnregister, memory);
  return llrt_hip_leave_relaxed(device, entry, status);
}

llrt_status llrt_hip_synchronize(llrt_device *base, void *stream) {
  const hip_device *device = hip_device_of(base);
  int previous;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  return llrt_hip_leave(device, previous, HIP_CALL(&device->driver, hipStreamSynchronize, stream));
}

llrt_status llrt_hip_stream_state(llrt_device *base, void *stream, backend_stream *state) {
  const hip_device *device = hip_device_of(base);
  int previous, capture = 0; /* hipStreamCaptureStatusNone */
  unsigned long long id = 0;
  *state = (backend_stream){0};
  LLRT_TRY(llrt_hip_enter(device, &previous));
  llrt_status status = HIP_CALL(&device->driver, hipStreamIsCapturing, stream, &capture);
  state->capturing = capture != 0;
  if (status == LLRT_OK && !state->capturing && device->driver.hipStreamGetId)
    status = HIP_CALL(&device->driver, hipStreamGetId, stream, &id);
  state->id = id;
  return llrt_hip_leave(device, previous, status);
}

/* Of memory that it does not know ROCm 5 answers with an error, which later calls of
 * hipGetLastError would tell again; ROCm 6 with no address for devices (HIP runtime API,
 * hipPointerGetAttributes). */
llrt_status llrt_hip_reaches(llrt_device *base, const void *address, bool *reached) {
  const hip_device *device = hip_device_of(base);
  const hip_driver *driver = &device->driver;
  int previous;
  *reached = true;
  if (device->reaches_all) return LLRT_OK;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  hip_pointer_attributes found = {0};
  hip_result result = driver->hipPointerGetAttributes(&found, address);
  *reached = result == 0 ? found.device_pointer != NULL : result != HIP_RESULT_INVALID_VALUE;
  if (result != 0 && driver->hipGetLastError) driver->hipGetLastError();
  return llrt_hip_leave(device, previous, LLRT_OK);
}
