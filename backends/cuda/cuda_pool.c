/* Memory in stream order: a pool of each device of llrt's own, so that what is kept in it is no
 * other library's (CUDA driver API, "Stream Ordered Memory Allocator"; drivers of CUDA 11.2 and
 * later). */
#include "backends/cuda/cuda_device.h"

#include "base/status.h"

static bool has_functions(const cuda_driver *driver) {
  return driver->cuMemPoolCreate && driver->cuMemPoolDestroy && driver->cuMemPoolSetAttribute &&
         driver->cuMemPoolTrimTo && driver->cuMemAllocAsync && driver->cuMemAllocFromPoolAsync &&
         driver->cuMemFreeAsync;
}

static int attribute_of(const cuda_device *device, int attribute) {
  int value = 0;
  return device->driver.cuDeviceGetAttribute(&value, attribute, device->ordinal) == 0 ? value : 0;
}

/* With handles that other processes can open where pools may have such, else without. */
static void *create_pool(const cuda_device *device) {
  const cuda_driver *driver = &device->driver;
  bool shares = attribute_of(device, CUDA_ATTRIBUTE_POOL_HANDLES) & CUDA_HANDLE_POSIX_FD;
  cuda_pool_properties properties = {.allocation_type = CUDA_ALLOCATION_PINNED,
                                     .handle_types = shares ? CUDA_HANDLE_POSIX_FD : 0,
                                     .location_type = CUDA_LOCATION_DEVICE,
                                     .location_id = device->ordinal};
  void *pool = NULL;
  if (driver->cuMemPoolCreate(&pool, &properties) == 0) return pool;
  properties.handle_types = 0;
  return driver->cuMemPoolCreate(&pool, &properties) == 0 ? pool : NULL;
}

void llrt_cuda_pool_open(cuda_device *device) {
  const cuda_driver *driver = &device->driver;
  unsigned long long all = ~0ull;
  if (!has_functions(driver) || !attribute_of(device, CUDA_ATTRIBUTE_MEMORY_POOLS)) return;
  if (llrt_cuda_enter(device) != LLRT_OK) return;
  device->pool = create_pool(device);
  if (device->pool &&
      driver->cuMemPoolSetAttribute(device->pool, CUDA_POOL_RELEASE_THRESHOLD, &all) != 0)
    llrt_cuda_pool_close(device);
  llrt_cuda_leave(device, LLRT_OK);
}

void llrt_cuda_pool_close(cuda_device *device) {
  if (device->pool) device->driver.cuMemPoolDestroy(device->pool);
  device->pool = NULL;
}

bool llrt_cuda_orders_memory(const llrt_device *base) { return cuda_device_of(base)->pool != NULL; }

/* A graph's memory is the graph's own and cannot be shared with other processes, so it takes the
 * presets. */
static llrt_status allocate(const cuda_device *device, size_t bytes, void *stream,
                            cuda_ptr *address) {
  const cuda_driver *driver = &device->driver;
  int capture = 0;
  LLRT_TRY(CUDA_CALL(driver, cuStreamIsCapturing, stream, &capture));
  if (capture != 0) return CUDA_CALL(driver, cuMemAllocAsync, address, bytes, stream);
  return CUDA_CALL(driver, cuMemAllocFromPoolAsync, address, bytes, device->pool, stream);
}

llrt_status llrt_cuda_allocate_on(llrt_device *base, size_t bytes, void *stream, void **memory) {
  const cuda_device *device = cuda_device_of(base);
  cuda_ptr address = 0;
  *memory = NULL;
  LLRT_TRY(llrt_cuda_enter(device));
  llrt_status status = llrt_cuda_leave(device, allocate(device, bytes, stream, &address));
  if (status == LLRT_OK) *memory = (void *)(uintptr_t)address;
  else if (address) device->driver.cuMemFreeAsync(address, stream);
  return status;
}

llrt_status llrt_cuda_release_on(llrt_device *base, void *memory, void *stream) {
  const cuda_device *device = cuda_device_of(base);
  LLRT_TRY(llrt_cuda_enter(device));
  cuda_ptr address = (cuda_ptr)(uintptr_t)memory;
  return llrt_cuda_leave(device, CUDA_CALL(&device->driver, cuMemFreeAsync, address, stream));
}

llrt_status llrt_cuda_trim(llrt_device *base, size_t keep_bytes) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  llrt_status status = CUDA_CALL(&device->driver, cuCtxSynchronize);
  if (status == LLRT_OK && device->pool)
    status = CUDA_CALL(&device->driver, cuMemPoolTrimTo, device->pool, keep_bytes);
  return llrt_cuda_leave_relaxed(device, mode, status);
}
