/* Memory that processes share, of the emulated libcuda: allocations are files in memory, so that
 * file descriptors stand for them; what cuMemAlloc gives lies in such files where LLRT_EMU_IPC=1
 * says so, and a handle of it names the process and its descriptor. */
#include "emulators/common/emu_calls.h"
#include "emulators/common/emu_driver.h"
#include "emulators/ptx/emu_cuda.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROTOTYPE(name, arguments) cuda_result name arguments;
EMU_CUDA_SHARING(PROTOTYPE)
#undef PROTOTYPE

#define GRANULARITY ((size_t)2 << 20)

/* Reserved addresses, and what is mapped there. */
typedef struct reservation {
  struct reservation *next;
  uint64_t address;
  size_t bytes;
  uint8_t *undefined; /* NULL: nothing is mapped */
} reservation;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static reservation *reservations;

static reservation *find(uint64_t address, size_t bytes) {
  reservation *at = reservations;
  while (at && (at->address != address || at->bytes != bytes)) at = at->next;
  return at;
}

cuda_result cuDeviceGetUuid_v2(cuda_uuid *uuid, cuda_ordinal device) {
  EMU_ENTER(cuDeviceGetUuid_v2);
  if (device < 0 || device >= EMU_CUDA_DEVICES) return EMU_INVALID_DEVICE;
  memset(uuid, 0, sizeof *uuid);
  snprintf(uuid->bytes, sizeof uuid->bytes, "emulated %d", device);
  return 0;
}

cuda_result cuMemGetAddressRange_v2(cuda_ptr *begin, size_t *bytes, cuda_ptr address) {
  EMU_ENTER(cuMemGetAddressRange_v2);
  emu_context *context = emu_cuda_current();
  if (!context) return EMU_INVALID_CONTEXT;
  emu_run_lock();
  const emu_range *range = emu_memory_find(emu_context_memory(context), address, 1);
  if (range && begin) *begin = range->address;
  if (range && bytes) *bytes = range->bytes;
  emu_run_unlock();
  return range ? 0 : EMU_INVALID_VALUE;
}

/* ---- virtual memory ---- */

cuda_result cuMemGetAllocationGranularity(size_t *bytes,
                                          const cuda_allocation_properties *properties,
                                          int option) {
  EMU_ENTER(cuMemGetAllocationGranularity);
  (void)properties, (void)option;
  *bytes = GRANULARITY;
  return 0;
}

/* An allocation is its descriptor, plus one. */
static int descriptor_of(unsigned long long allocation) { return (int)allocation - 1; }

cuda_result cuMemCreate(unsigned long long *allocation, size_t bytes,
                        const cuda_allocation_properties *properties, unsigned long long flags) {
  EMU_ENTER_UNSAFE(cuMemCreate);
  bool fits = flags == 0 && bytes > 0 && bytes % GRANULARITY == 0 &&
              properties->type == CUDA_ALLOCATION_PINNED &&
              properties->location_type == CUDA_LOCATION_DEVICE &&
              properties->handle_types == CUDA_HANDLE_POSIX_FD;
  if (!fits) return EMU_INVALID_VALUE;
  if (!emu_cuda_primary(properties->location_id)) return EMU_INVALID_DEVICE;
  int fd = bytes <= EMU_CUDA_BYTES ? emu_file_create(bytes) : -1;
  *allocation = (unsigned long long)fd + 1;
  return fd >= 0 ? 0 : EMU_OUT_OF_MEMORY;
}

cuda_result cuMemRelease(unsigned long long allocation) {
  EMU_ENTER_UNSAFE(cuMemRelease);
  return close(descriptor_of(allocation)) == 0 ? 0 : EMU_INVALID_VALUE;
}

cuda_result cuMemAddressReserve(cuda_ptr *address, size_t bytes, size_t alignment, cuda_ptr wanted,
                                unsigned long long flags) {
  EMU_ENTER_UNSAFE(cuMemAddressReserve);
  if (bytes == 0 || bytes % GRANULARITY || alignment || wanted || flags) return EMU_INVALID_VALUE;
  reservation *made = calloc(1, sizeof *made);
  void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!made || memory == MAP_FAILED) {
    if (memory != MAP_FAILED) munmap(memory, bytes);
    free(made);
    return EMU_OUT_OF_MEMORY;
  }
  *made = (reservation){.address = (uintptr_t)memory, .bytes = bytes};
  pthread_mutex_lock(&mutex);
  made->next = reservations;
  reservations = made;
  pthread_mutex_unlock(&mutex);
  *address = made->address;
  return 0;
}

cuda_result cuMemAddressFree(cuda_ptr address, size_t bytes) {
  EMU_ENTER_UNSAFE(cuMemAddressFree);
  pthread_mutex_lock(&mutex);
  reservation **link = &reservations, *found = find(address, bytes);
  while (found && *link != found) link = &(*link)->next;
  bool unused = found && !found->undefined;
  if (unused) *link = found->next;
  pthread_mutex_unlock(&mutex);
  if (!unused) return EMU_INVALID_VALUE;
  munmap((void *)(uintptr_t)address, bytes);
  free(found);
  return 0;
}

cuda_result cuMemMap(cuda_ptr address, size_t bytes, size_t offset, unsigned long long allocation,
                     unsigned long long flags) {
  EMU_ENTER_UNSAFE(cuMemMap);
  int fd = descriptor_of(allocation);
  if (offset || flags || emu_file_bytes(fd) != bytes) return EMU_INVALID_VALUE;
  pthread_mutex_lock(&mutex);
  reservation *found = find(address, bytes);
  bool mapped = false;
  if (found && !found->undefined) {
    void *shadow = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)bytes);
    mapped = shadow != MAP_FAILED && mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
    if (mapped) found->undefined = shadow;
    else if (shadow != MAP_FAILED) munmap(shadow, bytes);
  }
  pthread_mutex_unlock(&mutex);
  return mapped ? 0 : EMU_INVALID_VALUE;
}

/* Of all devices; none has work that uses it. */
static void take_from_devices(uint64_t address) {
  for (int device = 0; device < EMU_CUDA_DEVICES; device++) {
    emu_context *context = emu_cuda_primary(device);
    emu_wait_for_all(context);
    emu_run_lock();
    emu_memory_free(emu_context_memory(context), address);
    emu_run_unlock();
  }
}

cuda_result cuMemUnmap(cuda_ptr address, size_t bytes) {
  EMU_ENTER_UNSAFE(cuMemUnmap);
  pthread_mutex_lock(&mutex);
  reservation *found = find(address, bytes);
  uint8_t *undefined = found ? found->undefined : NULL;
  if (found) found->undefined = NULL;
  pthread_mutex_unlock(&mutex);
  if (!undefined) return EMU_INVALID_VALUE;
  take_from_devices(address);
  munmap(undefined, bytes);
  mmap((void *)(uintptr_t)address, bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return 0;
}

cuda_result cuMemSetAccess(cuda_ptr address, size_t bytes, const cuda_access *access,
                           size_t count) {
  EMU_ENTER_UNSAFE(cuMemSetAccess);
  pthread_mutex_lock(&mutex);
  const reservation *found = find(address, bytes);
  uint8_t *undefined = found ? found->undefined : NULL;
  pthread_mutex_unlock(&mutex);
  if (!undefined) return EMU_INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    emu_context *context = access[i].location_type == CUDA_LOCATION_DEVICE
                               ? emu_cuda_primary(access[i].location_id)
                               : NULL;
    if (!context || access[i].flags != CUDA_ACCESS_READ_WRITE) return EMU_INVALID_VALUE;
    emu_run_lock();
    emu_memory *memory = emu_context_memory(context);
    bool reached = emu_memory_find(memory, address, bytes) ||
                   emu_memory_borrow(memory, address, bytes, undefined);
    emu_run_unlock();
    if (!reached) return EMU_OUT_OF_MEMORY;
  }
  return 0;
}

cuda_result cuMemExportToShareableHandle(void *handle, unsigned long long allocation, int type,
                                         unsigned long long flags) {
  EMU_ENTER(cuMemExportToShareableHandle);
  int fd = type == CUDA_HANDLE_POSIX_FD && flags == 0
               ? fcntl(descriptor_of(allocation), F_DUPFD_CLOEXEC, 0)
               : -1;
  *(int *)handle = fd;
  return fd >= 0 ? 0 : EMU_INVALID_VALUE;
}

cuda_result cuMemImportFromShareableHandle(unsigned long long *allocation, void *handle, int type) {
  EMU_ENTER_UNSAFE(cuMemImportFromShareableHandle);
  int given = (int)(uintptr_t)handle;
  bool fits = type == CUDA_HANDLE_POSIX_FD && emu_file_bytes(given) > 0;
  int fd = fits ? fcntl(given, F_DUPFD_CLOEXEC, 0) : -1;
  *allocation = (unsigned long long)fd + 1;
  return fd >= 0 ? 0 : EMU_INVALID_VALUE;
}

/* ---- IPC ---- */

typedef struct ipc_name {
  char magic[16];
  int64_t process, fd;
  uint64_t bytes;
} ipc_name;
static const char ipc_magic[16] = "emulated memory";

_Static_assert(sizeof(ipc_name) <= sizeof(cuda_ipc_handle), "CUipcMemHandle");

cuda_result cuIpcGetMemHandle(cuda_ipc_handle *handle, cuda_ptr memory) {
  EMU_ENTER(cuIpcGetMemHandle);
  emu_place place;
  if (!emu_find_place(memory, &place) || place.begin != memory || place.pool)
    return EMU_INVALID_VALUE;
  if (place.fd < 0) return EMU_NOT_SUPPORTED;
  ipc_name name = {.process = getpid(), .fd = place.fd, .bytes = place.bytes};
  memcpy(name.magic, ipc_magic, sizeof ipc_magic);
  memset(handle, 0, sizeof *handle);
  memcpy(handle, &name, sizeof name);
  return 0;
}

/* An exporter that opens its own is answered as the driver does. */
cuda_result cuIpcOpenMemHandle_v2(cuda_ptr *memory, cuda_ipc_handle handle, unsigned flags) {
  EMU_ENTER_UNSAFE(cuIpcOpenMemHandle_v2);
  char path[64];
  ipc_name name;
  emu_context *context = emu_cuda_current();
  memcpy(&name, &handle, sizeof name);
  *memory = 0;
  if (!context) return EMU_INVALID_CONTEXT;
  if (flags != CUDA_IPC_PEER_ACCESS || memcmp(name.magic, ipc_magic, sizeof ipc_magic) != 0 ||
      name.process == getpid())
    return EMU_INVALID_VALUE;
  snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)name.process, (long long)name.fd);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return EMU_INVALID_VALUE;
  emu_run_lock();
  *memory = emu_memory_map_file(emu_context_memory(context), fd, name.bytes);
  emu_run_unlock();
  close(fd);
  return *memory ? 0 : EMU_INVALID_VALUE;
}

cuda_result cuIpcCloseMemHandle(cuda_ptr memory) {
  EMU_ENTER_UNSAFE(cuIpcCloseMemHandle);
  emu_context *context = emu_cuda_current();
  if (!context) return EMU_INVALID_CONTEXT;
  emu_wait_for_all(context);
  emu_run_lock();
  bool found = emu_memory_free(emu_context_memory(context), memory);
  emu_run_unlock();
  return found ? 0 : EMU_INVALID_VALUE;
}
