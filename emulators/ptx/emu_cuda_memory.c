/* Memory, copies and pools of the emulated libcuda, over common/emu_driver.h. */
#include "emulators/common/emu_calls.h"
#include "emulators/common/emu_driver.h"
#include "emulators/ptx/emu_cuda.h"

#include <stdlib.h>
#include <string.h>

#define PROTOTYPE(name, arguments) cuda_result name arguments;
EMU_CUDA_MEMORY(PROTOTYPE)
#undef PROTOTYPE

#define STREAM(name, handle) \
  emu_stream *name; \
  int name##_error = emu_cuda_stream(handle, &name); \
  if (name##_error) return name##_error

static uint64_t address_of(const void *memory) { return (uintptr_t)memory; }

cuda_result cuMemAlloc_v2(cuda_ptr *memory, size_t bytes) {
  EMU_ENTER_UNSAFE(cuMemAlloc_v2);
  uint64_t address;
  int result = emu_allocate(emu_cuda_current(), bytes, &address);
  *memory = address;
  return result;
}

cuda_result cuMemFree_v2(cuda_ptr memory) {
  EMU_ENTER_UNSAFE(cuMemFree_v2);
  return memory ? emu_free(memory) : 0;
}

cuda_result cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  EMU_ENTER_UNSAFE(cuMemHostAlloc);
  (void)flags;
  *memory = bytes > 0 ? malloc(bytes) : NULL;
  if (!*memory) return bytes > 0 ? EMU_OUT_OF_MEMORY : EMU_INVALID_VALUE;
  int result = emu_pin(*memory, bytes);
  if (!result) return 0;
  free(*memory);
  *memory = NULL;
  return result;
}

cuda_result cuMemAllocHost_v2(void **memory, size_t bytes) {
  return cuMemHostAlloc(memory, bytes, 0);
}

cuda_result cuMemFreeHost(void *memory) {
  EMU_ENTER_UNSAFE(cuMemFreeHost);
  if (!emu_unpin(memory)) return EMU_INVALID_VALUE;
  free(memory);
  return 0;
}

cuda_result cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
  EMU_ENTER_UNSAFE(cuMemHostRegister_v2);
  (void)flags;
  return memory && bytes > 0 ? emu_pin(memory, bytes) : EMU_INVALID_VALUE;
}

cuda_result cuMemHostUnregister(void *memory) {
  EMU_ENTER_UNSAFE(cuMemHostUnregister);
  return emu_unpin(memory) ? 0 : EMU_INVALID_VALUE;
}

cuda_result cuMemGetInfo_v2(size_t *available, size_t *total) {
  EMU_ENTER(cuMemGetInfo_v2);
  emu_context *context = emu_cuda_current();
  if (!context) return EMU_INVALID_CONTEXT;
  emu_run_lock();
  *available = EMU_CUDA_BYTES - emu_context_memory(context)->used;
  emu_run_unlock();
  *total = EMU_CUDA_BYTES;
  return 0;
}

/* ---- copies ---- */

static cuda_result copy(void *handle, uint64_t to, uint64_t from, size_t bytes,
                        emu_copy_kind kind) {
  STREAM(stream, handle);
  return emu_queue_copy(stream, to, from, bytes, kind);
}

/* On the legacy stream, which is then waited for. */
static cuda_result copy_now(uint64_t to, uint64_t from, size_t bytes, emu_copy_kind kind) {
  STREAM(stream, NULL);
  int result = emu_queue_copy(stream, to, from, bytes, kind);
  return result ? result : emu_stream_synchronize(stream);
}

cuda_result cuMemcpy(cuda_ptr to, cuda_ptr from, size_t bytes) {
  EMU_ENTER_UNSAFE(cuMemcpy);
  return copy_now(to, from, bytes, EMU_COPY_ANY);
}

cuda_result cuMemcpyHtoD_v2(cuda_ptr to, const void *from, size_t bytes) {
  EMU_ENTER_UNSAFE(cuMemcpyHtoD_v2);
  return copy_now(to, address_of(from), bytes, EMU_COPY_TO_DEVICE);
}

cuda_result cuMemcpyDtoH_v2(void *to, cuda_ptr from, size_t bytes) {
  EMU_ENTER_UNSAFE(cuMemcpyDtoH_v2);
  return copy_now(address_of(to), from, bytes, EMU_COPY_FROM_DEVICE);
}

cuda_result cuMemcpyDtoD_v2(cuda_ptr to, cuda_ptr from, size_t bytes) {
  EMU_ENTER_UNSAFE(cuMemcpyDtoD_v2);
  return copy_now(to, from, bytes, EMU_COPY_ON_DEVICE);
}

cuda_result cuMemcpyAsync(cuda_ptr to, cuda_ptr from, size_t bytes, void *stream) {
  EMU_ENTER(cuMemcpyAsync);
  return copy(stream, to, from, bytes, EMU_COPY_ANY);
}

cuda_result cuMemcpyHtoDAsync_v2(cuda_ptr to, const void *from, size_t bytes, void *stream) {
  EMU_ENTER(cuMemcpyHtoDAsync_v2);
  return copy(stream, to, address_of(from), bytes, EMU_COPY_TO_DEVICE);
}

cuda_result cuMemcpyDtoHAsync_v2(void *to, cuda_ptr from, size_t bytes, void *stream) {
  EMU_ENTER(cuMemcpyDtoHAsync_v2);
  return copy(stream, address_of(to), from, bytes, EMU_COPY_FROM_DEVICE);
}

cuda_result cuMemcpyDtoDAsync_v2(cuda_ptr to, cuda_ptr from, size_t bytes, void *stream) {
  EMU_ENTER(cuMemcpyDtoDAsync_v2);
  return copy(stream, to, from, bytes, EMU_COPY_ON_DEVICE);
}

static cuda_result set(void *handle, cuda_ptr memory, unsigned value, unsigned width,
                       size_t count) {
  STREAM(stream, handle);
  return emu_queue_set(stream, memory, value, width, count);
}

cuda_result cuMemsetD8_v2(cuda_ptr memory, unsigned char value, size_t count) {
  EMU_ENTER_UNSAFE(cuMemsetD8_v2);
  return set(NULL, memory, value, 1, count);
}

cuda_result cuMemsetD32_v2(cuda_ptr memory, unsigned value, size_t count) {
  EMU_ENTER_UNSAFE(cuMemsetD32_v2);
  return set(NULL, memory, value, 4, count);
}

cuda_result cuMemsetD8Async(cuda_ptr memory, unsigned char value, size_t count, void *stream) {
  EMU_ENTER(cuMemsetD8Async);
  return set(stream, memory, value, 1, count);
}

cuda_result cuMemsetD16Async(cuda_ptr memory, unsigned short value, size_t count, void *stream) {
  EMU_ENTER(cuMemsetD16Async);
  return set(stream, memory, value, 2, count);
}

cuda_result cuMemsetD32Async(cuda_ptr memory, unsigned value, size_t count, void *stream) {
  EMU_ENTER(cuMemsetD32Async);
  return set(stream, memory, value, 4, count);
}

/* ---- what an address is: CUpointer_attribute ---- */

enum {
  OF_CONTEXT = 1,
  MEMORY_TYPE,
  DEVICE_POINTER,
  HOST_POINTER,
  BUFFER_ID = 7,
  IS_MANAGED,
  DEVICE_ORDINAL,
  IS_IPC_CAPABLE,
  RANGE_BEGIN,
  RANGE_BYTES,
  MAPPED,
  ALLOWED_HANDLES,
  ACCESS = 16,
  POOL
};
enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2 }; /* CUmemorytype */

/* Of an address that is none of the driver's (context NULL, not host): zeros, and device -2, as
 * cuPointerGetAttributes has it. */
static cuda_result describe(const emu_place *place, uint64_t address, int attribute, void *data) {
  bool known = place->context || place->host;
  switch (attribute) {
  case OF_CONTEXT: *(void **)data = place->context; return 0;
  case MEMORY_TYPE:
    *(unsigned *)data = !known ? 0 : place->host ? MEMORY_HOST : MEMORY_DEVICE;
    return 0;
  case DEVICE_POINTER: *(cuda_ptr *)data = known ? address : 0; return 0;
  case HOST_POINTER: *(void **)data = place->host ? (void *)(uintptr_t)address : NULL; return 0;
  case BUFFER_ID: *(unsigned long long *)data = place->id; return 0;
  case IS_MANAGED: *(int *)data = 0; return 0;
  case DEVICE_ORDINAL:
    *(int *)data = place->context ? emu_context_device(place->context) : -2;
    return 0;
  case IS_IPC_CAPABLE: *(char *)data = place->fd >= 0 && !place->pool; return 0;
  case RANGE_BEGIN: *(void **)data = known ? (void *)(uintptr_t)place->begin : NULL; return 0;
  case RANGE_BYTES: *(size_t *)data = place->bytes; return 0;
  case MAPPED: *(char *)data = known; return 0;
  case ALLOWED_HANDLES: *(unsigned long long *)data = 0; return 0;
  case ACCESS: *(int *)data = known ? 3 : 0; return 0;
  case POOL: *(void **)data = place->pool; return 0;
  default: return EMU_INVALID_VALUE;
  }
}

cuda_result cuPointerGetAttribute(void *data, int attribute, cuda_ptr address) {
  EMU_ENTER(cuPointerGetAttribute);
  emu_place place;
  if (!data || !emu_find_place(address, &place)) return EMU_INVALID_VALUE;
  return describe(&place, address, attribute, data);
}

cuda_result cuPointerGetAttributes(unsigned n, int *attributes, void **data, cuda_ptr address) {
  EMU_ENTER(cuPointerGetAttributes);
  emu_place place;
  int result = 0;
  if (!emu_find_place(address, &place)) memset(&place, 0, sizeof place);
  for (unsigned i = 0; i < n && !result; i++)
    result = describe(&place, address, attributes[i], data[i]);
  return result;
}

/* ---- pools ---- */

static cuda_result allocate(cuda_ptr *memory, size_t bytes, void *pool, void *handle) {
  uint64_t address;
  *memory = 0;
  STREAM(stream, handle);
  int result = emu_allocate_on(stream, pool, bytes, &address);
  *memory = address;
  return result;
}

cuda_result cuMemAllocAsync(cuda_ptr *memory, size_t bytes, void *stream) {
  EMU_ENTER(cuMemAllocAsync);
  return allocate(memory, bytes, NULL, stream);
}

cuda_result cuMemAllocFromPoolAsync(cuda_ptr *memory, size_t bytes, void *pool, void *stream) {
  EMU_ENTER(cuMemAllocFromPoolAsync);
  return pool ? allocate(memory, bytes, pool, stream) : EMU_INVALID_VALUE;
}

cuda_result cuMemFreeAsync(cuda_ptr memory, void *handle) {
  EMU_ENTER(cuMemFreeAsync);
  STREAM(stream, handle);
  return emu_free_on(stream, memory);
}

cuda_result cuMemPoolCreate(void **pool, const cuda_pool_properties *properties) {
  EMU_ENTER(cuMemPoolCreate);
  bool fits = properties->allocation_type == CUDA_ALLOCATION_PINNED &&
              properties->location_type == CUDA_LOCATION_DEVICE &&
              (properties->handle_types & ~CUDA_HANDLE_POSIX_FD) == 0;
  *pool = NULL;
  if (!fits) return EMU_INVALID_VALUE;
  return emu_pool_create(emu_cuda_primary(properties->location_id), properties->max_bytes, pool);
}

cuda_result cuMemPoolDestroy(void *pool) {
  EMU_ENTER(cuMemPoolDestroy);
  return emu_pool_destroy(pool);
}

cuda_result cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
  EMU_ENTER(cuMemPoolSetAttribute);
  return emu_pool_set(pool, attribute, value);
}

cuda_result cuMemPoolGetAttribute(void *pool, int attribute, void *value) {
  EMU_ENTER(cuMemPoolGetAttribute);
  return emu_pool_get(pool, attribute, value);
}

cuda_result cuMemPoolTrimTo(void *pool, size_t keep_bytes) {
  EMU_ENTER(cuMemPoolTrimTo);
  return emu_pool_trim(pool, keep_bytes);
}

/* Devices do not reach each other's memory. */
cuda_result cuMemPoolSetAccess(void *pool, const void *access, size_t count) {
  EMU_ENTER(cuMemPoolSetAccess);
  (void)pool, (void)access, (void)count;
  return EMU_NOT_SUPPORTED;
}

cuda_result cuMemPoolExportToShareableHandle(void *handle, void *pool, int type,
                                             unsigned long long flags) {
  EMU_ENTER(cuMemPoolExportToShareableHandle);
  (void)handle, (void)pool, (void)type, (void)flags;
  return EMU_NOT_SUPPORTED;
}

cuda_result cuDeviceGetDefaultMemPool(void **pool, cuda_ordinal device) {
  EMU_ENTER(cuDeviceGetDefaultMemPool);
  emu_context *context = emu_cuda_primary(device);
  *pool = context ? emu_pool_default(context) : NULL;
  return context ? 0 : EMU_INVALID_DEVICE;
}

cuda_result cuDeviceGetMemPool(void **pool, cuda_ordinal device) {
  EMU_ENTER(cuDeviceGetMemPool);
  emu_context *context = emu_cuda_primary(device);
  *pool = context ? emu_pool_current(context) : NULL;
  return context ? 0 : EMU_INVALID_DEVICE;
}

cuda_result cuDeviceSetMemPool(cuda_ordinal device, void *pool) {
  EMU_ENTER(cuDeviceSetMemPool);
  emu_context *context = emu_cuda_primary(device);
  return context ? emu_pool_make_current(context, pool) : EMU_INVALID_DEVICE;
}
