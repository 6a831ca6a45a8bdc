/* Device memory that processes share: the driver's virtual memory functions, whose allocations go
 * as file descriptors, and CUDA IPC, whose handles are of whole allocations of cuMemAlloc. */
#include "backends/cuda/cuda_device.h"

#include "base/status.h"

#include <string.h>

_Static_assert(sizeof(cuda_ipc_handle) == BACKEND_IPC_BYTES, "CUipcMemHandle");
_Static_assert(sizeof(cuda_uuid) == BACKEND_UUID_BYTES, "CUuuid");

static bool has_virtual_memory(const cuda_driver *driver) {
  return driver->cuMemGetAllocationGranularity && driver->cuMemCreate && driver->cuMemRelease &&
         driver->cuMemAddressReserve && driver->cuMemAddressFree && driver->cuMemMap &&
         driver->cuMemUnmap && driver->cuMemSetAccess && driver->cuMemExportToShareableHandle &&
         driver->cuMemImportFromShareableHandle;
}

static bool has_ipc(const cuda_driver *driver) {
  return driver->cuIpcGetMemHandle && driver->cuIpcOpenMemHandle_v2 &&
         driver->cuIpcCloseMemHandle && driver->cuMemGetAddressRange_v2 &&
         driver->cuPointerGetAttribute;
}

/* ---- who a device is ---- */

static llrt_status read_uuid(const cuda_driver *driver, cuda_ordinal ordinal, cuda_uuid *uuid) {
  if (!driver->cuDeviceGetUuid_v2)
    return llrt_error(LLRT_UNSUPPORTED, "this driver gives devices no UUIDs");
  return CUDA_CALL(driver, cuDeviceGetUuid_v2, uuid, ordinal);
}

static llrt_status cuda_uuid_of(llrt_device *base, uint8_t uuid[BACKEND_UUID_BYTES]) {
  const cuda_device *device = cuda_device_of(base);
  cuda_uuid own;
  LLRT_TRY(read_uuid(&device->driver, device->ordinal, &own));
  memcpy(uuid, own.bytes, sizeof own.bytes);
  return LLRT_OK;
}

static llrt_status cuda_sees(llrt_device *base, const uint8_t uuid[BACKEND_UUID_BYTES],
                             bool *seen) {
  const cuda_driver *driver = &cuda_device_of(base)->driver;
  int count = 0;
  *seen = false;
  LLRT_TRY(CUDA_CALL(driver, cuDeviceGetCount, &count));
  for (int i = 0; i < count && !*seen; i++) {
    cuda_ordinal ordinal;
    cuda_uuid other;
    LLRT_TRY(CUDA_CALL(driver, cuDeviceGet, &ordinal, i));
    LLRT_TRY(read_uuid(driver, ordinal, &other));
    *seen = memcmp(other.bytes, uuid, sizeof other.bytes) == 0;
  }
  return LLRT_OK;
}

/* ---- virtual memory ---- */

static cuda_allocation_properties properties_of(const cuda_device *device) {
  return (cuda_allocation_properties){.type = CUDA_ALLOCATION_PINNED,
                                      .handle_types = CUDA_HANDLE_POSIX_FD,
                                      .location_type = CUDA_LOCATION_DEVICE,
                                      .location_id = device->ordinal};
}

/* Maps an allocation, which becomes the mapping's, and lets the device at it. */
static llrt_status map(const cuda_device *device, unsigned long long allocation, size_t bytes,
                       backend_mapping *mapping) {
  const cuda_driver *driver = &device->driver;
  const cuda_access access = {.location_type = CUDA_LOCATION_DEVICE,
                              .location_id = device->ordinal,
                              .flags = CUDA_ACCESS_READ_WRITE};
  cuda_ptr address = 0;
  bool mapped = false;
  llrt_status status = CUDA_CALL(driver, cuMemAddressReserve, &address, bytes, 0, 0, 0);
  if (status == LLRT_OK) {
    status = CUDA_CALL(driver, cuMemMap, address, bytes, 0, allocation, 0);
    mapped = status == LLRT_OK;
  }
  if (mapped) status = CUDA_CALL(driver, cuMemSetAccess, address, bytes, &access, 1);
  if (status == LLRT_OK) {
    *mapping = (backend_mapping){
        .address = (void *)(uintptr_t)address, .bytes = bytes, .allocation = allocation};
    return LLRT_OK;
  }
  if (mapped) driver->cuMemUnmap(address, bytes);
  if (address) driver->cuMemAddressFree(address, bytes);
  driver->cuMemRelease(allocation);
  return status;
}

static llrt_status check_virtual_memory(const cuda_device *device) {
  int can = 0;
  if (has_virtual_memory(&device->driver) &&
      device->driver.cuDeviceGetAttribute(&can, CUDA_ATTRIBUTE_FD_HANDLES, device->ordinal) == 0 &&
      can)
    return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "%s has no memory that file descriptors stand for",
                    device->base.info.name);
}

static llrt_status create(const cuda_device *device, size_t bytes, backend_mapping *mapping) {
  const cuda_driver *driver = &device->driver;
  const cuda_allocation_properties properties = properties_of(device);
  unsigned long long allocation;
  size_t step = 0;
  LLRT_TRY(CUDA_CALL(driver, cuMemGetAllocationGranularity, &step, &properties, 0));
  if (step == 0 || bytes > SIZE_MAX - step)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no device memory for %zu bytes", bytes);
  bytes = (bytes + step - 1) / step * step;
  LLRT_TRY(CUDA_CALL(driver, cuMemCreate, &allocation, bytes, &properties, 0));
  return map(device, allocation, bytes, mapping);
}

static llrt_status cuda_create(llrt_device *base, size_t bytes, backend_mapping *mapping) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  *mapping = (backend_mapping){.address = NULL};
  LLRT_TRY(check_virtual_memory(device));
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  return llrt_cuda_leave_relaxed(device, mode, create(device, bytes, mapping));
}

static llrt_status cuda_export_fd(llrt_device *base, const backend_mapping *mapping, int *fd) {
  const cuda_device *device = cuda_device_of(base);
  LLRT_TRY(llrt_cuda_enter(device));
  return llrt_cuda_leave(device, CUDA_CALL(&device->driver, cuMemExportToShareableHandle, fd,
                                           mapping->allocation, CUDA_HANDLE_POSIX_FD, 0));
}

/* A refusal of what another process sent is the caller's mistake, not the device's. */
static llrt_status as_argument(llrt_status status, const char *what) {
  if (status != LLRT_DEVICE) return status;
  return llrt_error_prefix(LLRT_INVALID_ARGUMENT, "%s", what);
}

static llrt_status import_fd(const cuda_device *device, int fd, size_t bytes,
                             backend_mapping *mapping) {
  unsigned long long allocation;
  LLRT_TRY(CUDA_CALL(&device->driver, cuMemImportFromShareableHandle, &allocation,
                     (void *)(uintptr_t)fd, CUDA_HANDLE_POSIX_FD));
  return map(device, allocation, bytes, mapping);
}

static llrt_status cuda_import_fd(llrt_device *base, int fd, size_t bytes,
                                  backend_mapping *mapping) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  *mapping = (backend_mapping){.address = NULL};
  LLRT_TRY(check_virtual_memory(device));
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  llrt_status status = import_fd(device, fd, bytes, mapping);
  return as_argument(llrt_cuda_leave_relaxed(device, mode, status),
                     "the descriptor does not name such memory, or the device does not reach it");
}

/* ---- IPC ---- */

/* Why the driver would hand nothing over, said before it is asked. */
static llrt_status check_capable(const cuda_driver *driver, cuda_ptr address) {
  int capable = 0; /* the driver may write fewer bytes */
  LLRT_TRY(as_argument(
      CUDA_CALL(driver, cuPointerGetAttribute, &capable, CUDA_POINTER_IPC_CAPABLE, address),
      "memory is no address of the driver's"));
  if (capable) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "memory is of a stream-ordered pool or of virtual memory functions, of which "
                    "drivers give no IPC handles: share llrt_memory_create_shared's");
}

static llrt_status export_ipc(const cuda_driver *driver, cuda_ptr address,
                              uint8_t handle[BACKEND_IPC_BYTES], uint64_t *offset,
                              uint64_t *bytes) {
  cuda_ipc_handle made;
  cuda_ptr begin = 0;
  size_t size = 0;
  LLRT_TRY(check_capable(driver, address));
  LLRT_TRY(CUDA_CALL(driver, cuMemGetAddressRange_v2, &begin, &size, address));
  LLRT_TRY(CUDA_CALL(driver, cuIpcGetMemHandle, &made, begin));
  memcpy(handle, made.bytes, sizeof made.bytes);
  *offset = address - begin;
  *bytes = size;
  return LLRT_OK;
}

static llrt_status cuda_export_ipc(llrt_device *base, const void *memory,
                                   uint8_t handle[BACKEND_IPC_BYTES], uint64_t *offset,
                                   uint64_t *bytes) {
  const cuda_device *device = cuda_device_of(base);
  if (!has_ipc(&device->driver)) return llrt_error(LLRT_UNSUPPORTED, "this driver has no IPC");
  LLRT_TRY(llrt_cuda_enter(device));
  return llrt_cuda_leave(
      device, export_ipc(&device->driver, (cuda_ptr)(uintptr_t)memory, handle, offset, bytes));
}

static llrt_status import_ipc(const cuda_driver *driver, const uint8_t handle[BACKEND_IPC_BYTES],
                              backend_mapping *mapping) {
  cuda_ipc_handle given;
  cuda_ptr address = 0;
  size_t size = 0;
  memcpy(given.bytes, handle, sizeof given.bytes);
  LLRT_TRY(CUDA_CALL(driver, cuIpcOpenMemHandle_v2, &address, given, CUDA_IPC_PEER_ACCESS));
  llrt_status status = CUDA_CALL(driver, cuMemGetAddressRange_v2, NULL, &size, address);
  *mapping = (backend_mapping){.address = (void *)(uintptr_t)address, .bytes = size, .ipc = true};
  if (status == LLRT_OK) return LLRT_OK;
  driver->cuIpcCloseMemHandle(address);
  *mapping = (backend_mapping){.address = NULL};
  return status;
}

static llrt_status cuda_import_ipc(llrt_device *base, const uint8_t handle[BACKEND_IPC_BYTES],
                                   backend_mapping *mapping) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  *mapping = (backend_mapping){.address = NULL};
  if (!has_ipc(&device->driver)) return llrt_error(LLRT_UNSUPPORTED, "this driver has no IPC");
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  llrt_status status = import_ipc(&device->driver, handle, mapping);
  return as_argument(llrt_cuda_leave_relaxed(device, mode, status),
                     "the handle names no memory that this process can open");
}

static void cuda_unmap(llrt_device *base, backend_mapping *mapping) {
  const cuda_device *device = cuda_device_of(base);
  const cuda_driver *driver = &device->driver;
  cuda_ptr address = (cuda_ptr)(uintptr_t)mapping->address;
  int mode;
  if (llrt_cuda_enter_relaxed(device, &mode) != LLRT_OK) return;
  if (mapping->ipc) {
    driver->cuIpcCloseMemHandle(address);
  } else {
    driver->cuMemUnmap(address, mapping->bytes);
    driver->cuMemAddressFree(address, mapping->bytes);
    driver->cuMemRelease(mapping->allocation);
  }
  llrt_cuda_leave_relaxed(device, mode, LLRT_OK);
}

const backend_sharing llrt_cuda_sharing = {
    .uuid = cuda_uuid_of,
    .sees = cuda_sees,
    .create = cuda_create,
    .export_fd = cuda_export_fd,
    .import_fd = cuda_import_fd,
    .export_ipc = cuda_export_ipc,
    .import_ipc = cuda_import_ipc,
    .unmap = cuda_unmap,
};
