/* Memory that several processes see: handles, checked before a backend sees them. */
#include "backends/backend.h"
#include "base/memory.h"
#include "base/status.h"
#include "runtime/context.h"

#include <llrt/share.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct llrt_shared {
  llrt_device *device;
  backend_mapping mapping;
  void *memory; /* inside of the mapping, where a handle names a part of it */
  size_t bytes;
};

/* Of this process: its number, and what tells it from an earlier one of that number. */
static uint64_t process_id(void) {
  static uint64_t begun;
  uint64_t known = __atomic_load_n(&begun, __ATOMIC_RELAXED);
  if (!known) {
    struct timespec now;
    uint64_t none = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    known = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) << 22 | 1 << 22;
    if (!__atomic_compare_exchange_n(&begun, &none, known, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
      known = none;
  }
  return known ^ (uint64_t)getpid();
}

static llrt_status sharing_of(const llrt_device *device, const backend_sharing **sharing) {
  *sharing = device->backend->sharing;
  if (*sharing) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "%s has no memory that processes share", device->info.name);
}

static int32_t backend_number(const llrt_device *device) {
  int32_t number = 0;
  while (llrt_backends[number] != device->backend) number++;
  return number;
}

static llrt_status new_shared(llrt_device *device, llrt_shared **out) {
  *out = memory_zeroed(1, sizeof **out);
  if (!*out) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a mapping");
  (*out)->device = device;
  return LLRT_OK;
}

llrt_status llrt_memory_create_shared(llrt_device *device, size_t bytes, llrt_shared **out) {
  LLRT_ENTRY();
  const backend_sharing *sharing;
  llrt_shared *shared;
  LLRT_REQUIRE(out, "shared is NULL");
  *out = NULL;
  LLRT_REQUIRE(device, "device is NULL");
  LLRT_REQUIRE(bytes > 0, "bytes is 0");
  LLRT_TRY(sharing_of(device, &sharing));
  LLRT_TRY(new_shared(device, &shared));
  llrt_status status = sharing->create(device, bytes, &shared->mapping);
  shared->memory = shared->mapping.address;
  shared->bytes = shared->mapping.bytes;
  if (status == LLRT_OK) *out = shared;
  else llrt_shared_destroy(&shared);
  return status;
}

llrt_status llrt_shared_get(const llrt_shared *shared, void **memory, size_t *bytes) {
  LLRT_ENTRY();
  LLRT_REQUIRE(shared, "shared is NULL");
  if (memory) *memory = shared->memory;
  if (bytes) *bytes = shared->bytes;
  return LLRT_OK;
}

static llrt_status begin_handle(llrt_device *device, const backend_sharing *sharing,
                                llrt_handle_kind kind, llrt_memory_handle *handle) {
  *handle = (llrt_memory_handle){
      .kind = kind, .backend = backend_number(device), .exporter = process_id()};
  return sharing->uuid(device, handle->device);
}

llrt_status llrt_shared_export(const llrt_shared *shared, llrt_memory_handle *handle, int *fd) {
  LLRT_ENTRY();
  LLRT_REQUIRE(handle && fd, "handle or fd is NULL");
  *fd = -1;
  LLRT_REQUIRE(shared, "shared is NULL");
  LLRT_REQUIRE(!shared->mapping.ipc,
               "shared was imported by an IPC handle, which is not passed on");
  llrt_device *device = shared->device;
  LLRT_TRY(begin_handle(device, device->backend->sharing, LLRT_HANDLE_FD, handle));
  handle->bytes = shared->bytes;
  return device->backend->sharing->export_fd(device, &shared->mapping, fd);
}

llrt_status llrt_memory_export(llrt_device *device, const void *memory, size_t bytes,
                               llrt_memory_handle *handle) {
  LLRT_ENTRY();
  const backend_sharing *sharing;
  uint64_t whole;
  LLRT_REQUIRE(device, "device is NULL");
  LLRT_REQUIRE(memory && handle, "memory or handle is NULL");
  LLRT_REQUIRE(bytes > 0, "bytes is 0");
  LLRT_TRY(sharing_of(device, &sharing));
  if (!sharing->export_ipc)
    return llrt_error(LLRT_UNSUPPORTED,
                      "%s has no handles of memory that was not made to be shared "
                      "(llrt_memory_create_shared)",
                      device->info.name);
  LLRT_TRY(begin_handle(device, sharing, LLRT_HANDLE_IPC, handle));
  LLRT_TRY(sharing->export_ipc(device, memory, handle->driver, &handle->offset, &whole));
  LLRT_REQUIRE(handle->offset <= whole && bytes <= whole - handle->offset,
               "%zu bytes at %llu of an allocation of %llu", bytes,
               (unsigned long long)handle->offset, (unsigned long long)whole);
  handle->bytes = bytes;
  return LLRT_OK;
}

static llrt_status check_handle(const llrt_device *device, const llrt_memory_handle *handle,
                                int fd) {
  bool known = handle->kind == LLRT_HANDLE_FD || handle->kind == LLRT_HANDLE_IPC;
  for (size_t i = 0; i < sizeof handle->reserved / sizeof *handle->reserved; i++)
    known &= handle->reserved[i] == 0;
  LLRT_REQUIRE(known && handle->bytes > 0 && handle->bytes <= INT64_MAX,
               "handle is none that this version makes");
  LLRT_REQUIRE(handle->backend == backend_number(device),
               "handle is of memory of another kind of device than %s", device->info.name);
  if (handle->kind == LLRT_HANDLE_FD) {
    LLRT_REQUIRE(fd >= 0 && fcntl(fd, F_GETFD) >= 0, "fd is %d, no open descriptor", fd);
    LLRT_REQUIRE(handle->offset == 0, "handle is none that this version makes");
    return LLRT_OK;
  }
  LLRT_REQUIRE(fd == -1, "fd is %d, and the handle needs none: -1", fd);
  LLRT_REQUIRE(handle->exporter != process_id(),
               "handle was made by this process, which knows the memory's address");
  return LLRT_OK;
}

static llrt_status check_seen(llrt_device *device, const backend_sharing *sharing,
                              const uint8_t uuid[BACKEND_UUID_BYTES]) {
  bool seen;
  LLRT_TRY(sharing->sees(device, uuid, &seen));
  if (seen) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "the memory is on the device %02x%02x%02x%02x-…, which this process does not "
                    "see (CUDA_VISIBLE_DEVICES?)",
                    uuid[0], uuid[1], uuid[2], uuid[3]);
}

static llrt_status import(const llrt_memory_handle *handle, int fd, const backend_sharing *sharing,
                          llrt_shared *shared) {
  llrt_device *device = shared->device;
  if (handle->kind == LLRT_HANDLE_FD)
    LLRT_TRY(sharing->import_fd(device, fd, handle->bytes, &shared->mapping));
  else LLRT_TRY(sharing->import_ipc(device, handle->driver, &shared->mapping));
  const backend_mapping *mapping = &shared->mapping;
  LLRT_REQUIRE(handle->offset <= mapping->bytes && handle->bytes <= mapping->bytes - handle->offset,
               "the handle is of %llu bytes at %llu, the memory has %zu",
               (unsigned long long)handle->bytes, (unsigned long long)handle->offset,
               mapping->bytes);
  shared->memory = (char *)mapping->address + handle->offset;
  shared->bytes = handle->bytes;
  return LLRT_OK;
}

llrt_status llrt_memory_import(llrt_device *device, const llrt_memory_handle *handle, int fd,
                               llrt_shared **out) {
  LLRT_ENTRY();
  const backend_sharing *sharing;
  llrt_shared *shared;
  LLRT_REQUIRE(out, "shared is NULL");
  *out = NULL;
  LLRT_REQUIRE(device && handle, "device or handle is NULL");
  LLRT_TRY(sharing_of(device, &sharing));
  LLRT_TRY(check_handle(device, handle, fd));
  LLRT_TRY(check_seen(device, sharing, handle->device));
  if (handle->kind == LLRT_HANDLE_IPC && !sharing->import_ipc)
    return llrt_error(LLRT_UNSUPPORTED, "%s has no IPC", device->info.name);
  LLRT_TRY(new_shared(device, &shared));
  llrt_status status = import(handle, fd, sharing, shared);
  if (status == LLRT_OK) *out = shared;
  else llrt_shared_destroy(&shared);
  return status;
}

void llrt_shared_destroy(llrt_shared **address) {
  if (!address || !*address) return;
  llrt_shared *shared = *address;
  *address = NULL;
  if (shared->mapping.address)
    shared->device->backend->sharing->unmap(shared->device, &shared->mapping);
  free(shared);
}
