/* Memory in stream order: a pool of each device of llrt's own, so that what is kept in it is no
 * other library's (HIP runtime API, "Stream Ordered Memory Allocator"; ROCm 5.2 and later). */
#include "backends/hip/hip_device.h"

#include "base/status.h"

static bool has_functions(const hip_driver *driver) {
  return driver->hipMemPoolCreate && driver->hipMemPoolDestroy && driver->hipMemPoolSetAttribute &&
         driver->hipMemPoolTrimTo && driver->hipMallocAsync && driver->hipMallocFromPoolAsync &&
         driver->hipFreeAsync;
}

/* With handles that other processes can open where the runtime makes such pools, else without. */
static void *create_pool(const hip_device *device) {
  hip_pool_properties properties = {.allocation_type = HIP_ALLOCATION_PINNED,
                                    .handle_types = HIP_HANDLE_POSIX_FD,
                                    .location_type = HIP_LOCATION_DEVICE,
                                    .location_id = device->ordinal};
  void *pool = NULL;
  if (device->driver.hipMemPoolCreate(&pool, &properties) == 0) return pool;
  properties.handle_types = 0;
  return device->driver.hipMemPoolCreate(&pool, &properties) == 0 ? pool : NULL;
}

void llrt_hip_pool_open(hip_device *device) {
  const hip_driver *driver = &device->driver;
  unsigned long long all = ~0ull;
  hip_entry entry;
  if (!has_functions(driver) || llrt_hip_enter_relaxed(device, &entry) != LLRT_OK) return;
  device->pool = create_pool(device);
  if (device->pool &&
      driver->hipMemPoolSetAttribute(device->pool, HIP_POOL_RELEASE_THRESHOLD, &all) != 0)
    llrt_hip_pool_close(device);
  llrt_hip_leave_relaxed(device, entry, LLRT_OK);
}

void llrt_hip_pool_close(hip_device *device) {
  hip_entry entry;
  if (!device->pool || llrt_hip_enter_relaxed(device, &entry) != LLRT_OK) return;
  device->driver.hipMemPoolDestroy(device->pool);
  device->pool = NULL;
  llrt_hip_leave_relaxed(device, entry, LLRT_OK);
}

bool llrt_hip_orders_memory(const llrt_device *base) { return hip_device_of(base)->pool != NULL; }

/* A graph's memory is the graph's own and cannot be shared with other processes, so it takes the
 * presets. */
static llrt_status allocate(const hip_device *device, size_t bytes, void *stream, void **memory) {
  const hip_driver *driver = &device->driver;
  int capture = 0;
  LLRT_TRY(HIP_CALL(driver, hipStreamIsCapturing, stream, &capture));
  if (capture != 0) return HIP_CALL(driver, hipMallocAsync, memory, bytes, stream);
  return HIP_CALL(driver, hipMallocFromPoolAsync, memory, bytes, device->pool, stream);
}

llrt_status llrt_hip_allocate_on(llrt_device *base, size_t bytes, void *stream, void **memory) {
  const hip_device *device = hip_device_of(base);
  int previous;
  *memory = NULL;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  llrt_status status = llrt_hip_leave(device, previous, allocate(device, bytes, stream, memory));
  if (status != LLRT_OK && *memory) device->driver.hipFreeAsync(*memory, stream);
  if (status != LLRT_OK) *memory = NULL;
  return status;
}

llrt_status llrt_hip_release_on(llrt_device *base, void *memory, void *stream) {
  const hip_device *device = hip_device_of(base);
  int previous;
  LLRT_TRY(llrt_hip_enter(device, &previous));
  return llrt_hip_leave(device, previous, HIP_CALL(&device->driver, hipFreeAsync, memory, stream));
}

llrt_status llrt_hip_trim(llrt_device *base, size_t keep_bytes) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  LLRT_TRY(llrt_hip_enter_relaxed(device, &entry));
  llrt_status status = HIP_CALL(&device->driver, hipDeviceSynchronize);
  if (status == LLRT_OK && device->pool)
    status = HIP_CALL(&device->driver, hipMemPoolTrimTo, device->pool, keep_bytes);
  return llrt_hip_leave_relaxed(device, entry, status);
}
