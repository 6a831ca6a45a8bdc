/* Memory, copies and pools of the emulated libamdhip64, over common/emu_driver.h. */
#include "emulators/common/emu_calls.h"
#include "emulators/common/emu_driver.h"
#include "emulators/gfx9/emu_hip.h"

#include <stdlib.h>

#define PROTOTYPE(name, arguments) EMU_HIP_API hip_result name arguments;
EMU_HIP_MEMORY(PROTOTYPE)
#undef PROTOTYPE

#define STREAM(name, handle) \
  emu_stream *name; \
  int name##_error = emu_hip_stream(handle, &name); \
  if (name##_error) return name##_error

static uint64_t address_of(const void *memory) { return (uintptr_t)memory; }

hip_result hipMalloc(void **memory, size_t bytes) {
  EMU_ENTER_UNSAFE(hipMalloc);
  uint64_t address = 0;
  int result = bytes > 0 ? emu_allocate(emu_hip_context(emu_hip_current()), bytes, &address) : 0;
  *memory = (void *)(uintptr_t)address;
  return result;
}

hip_result hipFree(void *memory) {
  EMU_ENTER_UNSAFE(hipFree);
  return memory ? emu_free(address_of(memory)) : 0;
}

hip_result hipHostMalloc(void **memory, size_t bytes, unsigned flags) {
  EMU_ENTER_UNSAFE(hipHostMalloc);
  (void)flags;
  *memory = bytes > 0 ? malloc(bytes) : NULL;
  if (!*memory) return bytes > 0 ? EMU_OUT_OF_MEMORY : 0;
  int result = emu_pin(*memory, bytes);
  if (!result) return 0;
  free(*memory);
  *memory = NULL;
  return result;
}

hip_result hipHostFree(void *memory) {
  EMU_ENTER_UNSAFE(hipHostFree);
  if (memory && !emu_unpin(memory)) return EMU_INVALID_VALUE;
  free(memory);
  return 0;
}

hip_result hipHostRegister(void *memory, size_t bytes, unsigned flags) {
  EMU_ENTER_UNSAFE(hipHostRegister);
  (void)flags;
  return memory && bytes > 0 ? emu_pin(memory, bytes) : EMU_INVALID_VALUE;
}

hip_result hipHostUnregister(void *memory) {
  EMU_ENTER_UNSAFE(hipHostUnregister);
  return emu_unpin(memory) ? 0 : EMU_INVALID_VALUE;
}

/* ---- copies ---- */

/* Kinds are hipMemcpyKind's: 4 is whatever the addresses say. Host to host (0) is nothing that llrt
 * does. */
static hip_result copy(emu_stream *stream, void *to, const void *from, size_t bytes, int kind) {
  static const emu_copy_kind kinds[] = {[HIP_COPY_HOST_TO_DEVICE] = EMU_COPY_TO_DEVICE,
                                        [HIP_COPY_DEVICE_TO_HOST] = EMU_COPY_FROM_DEVICE,
                                        [HIP_COPY_DEVICE_TO_DEVICE] = EMU_COPY_ON_DEVICE,
                                        [4] = EMU_COPY_ANY};
  if (kind < 1 || kind > 4) return EMU_INVALID_VALUE;
  return emu_queue_copy(stream, address_of(to), address_of(from), bytes, kinds[kind]);
}

hip_result hipMemcpy(void *to, const void *from, size_t bytes, int kind) {
  EMU_ENTER_UNSAFE(hipMemcpy);
  STREAM(stream, NULL);
  int result = copy(stream, to, from, bytes, kind);
  return result ? result : emu_stream_synchronize(stream);
}

hip_result hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *handle) {
  EMU_ENTER(hipMemcpyAsync);
  STREAM(stream, handle);
  return copy(stream, to, from, bytes, kind);
}

hip_result hipMemcpyHtoDAsync(void *to, void *from, size_t bytes, void *handle) {
  EMU_ENTER(hipMemcpyHtoDAsync);
  STREAM(stream, handle);
  return copy(stream, to, from, bytes, HIP_COPY_HOST_TO_DEVICE);
}

hip_result hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, void *handle) {
  EMU_ENTER(hipMemcpyDtoHAsync);
  STREAM(stream, handle);
  return copy(stream, to, from, bytes, HIP_COPY_DEVICE_TO_HOST);
}

hip_result hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, void *handle) {
  EMU_ENTER(hipMemcpyDtoDAsync);
  STREAM(stream, handle);
  return copy(stream, to, from, bytes, HIP_COPY_DEVICE_TO_DEVICE);
}

static hip_result set(void *handle, void *memory, unsigned value, unsigned width, size_t count) {
  STREAM(stream, handle);
  return emu_queue_set(stream, address_of(memory), value, width, count);
}

hip_result hipMemset(void *memory, int value, size_t bytes) {
  EMU_ENTER_UNSAFE(hipMemset);
  return set(NULL, memory, (unsigned)value, 1, bytes);
}

hip_result hipMemsetAsync(void *memory, int value, size_t bytes, void *stream) {
  EMU_ENTER(hipMemsetAsync);
  return set(stream, memory, (unsigned)value, 1, bytes);
}

hip_result hipMemsetD8Async(void *memory, unsigned char value, size_t count, void *stream) {
  EMU_ENTER(hipMemsetD8Async);
  return set(stream, memory, value, 1, count);
}

hip_result hipMemsetD16Async(void *memory, unsigned short value, size_t count, void *stream) {
  EMU_ENTER(hipMemsetD16Async);
  return set(stream, memory, value, 2, count);
}

hip_result hipMemsetD32Async(void *memory, int value, size_t count, void *stream) {
  EMU_ENTER(hipMemsetD32Async);
  return set(stream, memory, (unsigned)value, 4, count);
}

/* As in ROCm 6, memory that HIP does not know of is "unregistered" (0), and no error. */
hip_result hipPointerGetAttributes(hip_pointer_attributes *attributes, const void *memory) {
  EMU_ENTER(hipPointerGetAttributes);
  emu_place place;
  if (!attributes || !memory) return EMU_INVALID_VALUE;
  bool known = emu_find_place(address_of(memory), &place);
  *attributes = (hip_pointer_attributes){
      .type = !known       ? EMU_HIP_UNREGISTERED
              : place.host ? EMU_HIP_HOST
                           : EMU_HIP_DEVICE,
      .device = known && !place.host ? emu_context_device(place.context) : 0};
  void *same = (void *)(uintptr_t)memory;
  if (known) attributes->device_pointer = same;
  if (!known || place.host) attributes->host_pointer = same;
  return 0;
}

/* ---- pools ---- */

static hip_result allocate(void **memory, size_t bytes, void *pool, void *handle) {
  uint64_t address;
  *memory = NULL;
  STREAM(stream, handle);
  int result = emu_allocate_on(stream, pool, bytes, &address);
  *memory = (void *)(uintptr_t)address;
  return result;
}

hip_result hipMallocAsync(void **memory, size_t bytes, void *stream) {
  EMU_ENTER(hipMallocAsync);
  return allocate(memory, bytes, NULL, stream);
}

hip_result hipMallocFromPoolAsync(void **memory, size_t bytes, void *pool, void *stream) {
  EMU_ENTER(hipMallocFromPoolAsync);
  return pool ? allocate(memory, bytes, pool, stream) : EMU_INVALID_VALUE;
}

hip_result hipFreeAsync(void *memory, void *handle) {
  EMU_ENTER(hipFreeAsync);
  STREAM(stream, handle);
  return emu_free_on(stream, address_of(memory));
}

hip_result hipMemPoolCreate(void **pool, const hip_pool_properties *properties) {
  EMU_ENTER(hipMemPoolCreate);
  bool fits = properties->allocation_type == HIP_ALLOCATION_PINNED &&
              properties->location_type == HIP_LOCATION_DEVICE &&
              (properties->handle_types & ~HIP_HANDLE_POSIX_FD) == 0;
  *pool = NULL;
  if (!fits) return EMU_INVALID_VALUE;
  return emu_pool_create(emu_hip_context(properties->location_id), properties->max_bytes, pool);
}

hip_result hipMemPoolDestroy(void *pool) {
  EMU_ENTER(hipMemPoolDestroy);
  return emu_pool_destroy(pool);
}

hip_result hipMemPoolSetAttribute(void *pool, int attribute, void *value) {
  EMU_ENTER(hipMemPoolSetAttribute);
  return emu_pool_set(pool, attribute, value);
}

hip_result hipMemPoolGetAttribute(void *pool, int attribute, void *value) {
  EMU_ENTER(hipMemPoolGetAttribute);
  return emu_pool_get(pool, attribute, value);
}

hip_result hipMemPoolTrimTo(void *pool, size_t keep_bytes) {
  EMU_ENTER(hipMemPoolTrimTo);
  return emu_pool_trim(pool, keep_bytes);
}

hip_result hipDeviceGetDefaultMemPool(void **pool, int device) {
  EMU_ENTER(hipDeviceGetDefaultMemPool);
  emu_context *context = emu_hip_context(device);
  *pool = context ? emu_pool_default(context) : NULL;
  return context ? 0 : EMU_INVALID_DEVICE;
}

hip_result hipDeviceGetMemPool(void **pool, int device) {
  EMU_ENTER(hipDeviceGetMemPool);
  emu_context *context = emu_hip_context(device);
  *pool = context ? emu_pool_current(context) : NULL;
  return context ? 0 : EMU_INVALID_DEVICE;
}

hip_result hipDeviceSetMemPool(int device, void *pool) {
  EMU_ENTER(hipDeviceSetMemPool);
  emu_context *context = emu_hip_context(device);
  return context ? emu_pool_make_current(context, pool) : EMU_INVALID_DEVICE;
}
