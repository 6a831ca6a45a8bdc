/* Memory of the host that processes share: memory files, whose size cannot shrink, so that nobody
 * faults in what he has mapped. */
#include "backends/host/host_device.h"

#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static llrt_status host_uuid(llrt_device *device, uint8_t uuid[BACKEND_UUID_BYTES]) {
  (void)device;
  memset(uuid, 0, BACKEND_UUID_BYTES);
  return LLRT_OK;
}

static llrt_status host_sees(llrt_device *device, const uint8_t uuid[BACKEND_UUID_BYTES],
                             bool *seen) {
  static const uint8_t zeros[BACKEND_UUID_BYTES];
  (void)device;
  *seen = memcmp(uuid, zeros, sizeof zeros) == 0;
  return LLRT_OK;
}

static size_t round_to_pages(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return bytes > SIZE_MAX - page ? 0 : (bytes + page - 1) / page * page;
}

/* Takes the descriptor. */
static llrt_status map(int fd, size_t bytes, backend_mapping *mapping) {
  void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) {
    close(fd);
    return llrt_error(LLRT_OUT_OF_MEMORY, "%zu bytes of shared memory: %s", bytes, strerror(errno));
  }
  *mapping = (backend_mapping){.address = address, .bytes = bytes, .allocation = (uint64_t)fd};
  return LLRT_OK;
}

static llrt_status host_create(llrt_device *device, size_t bytes, backend_mapping *mapping) {
  (void)device;
  size_t rounded = round_to_pages(bytes);
  *mapping = (backend_mapping){.address = NULL};
  if (rounded == 0 || rounded > INT64_MAX)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no host memory for %zu bytes", bytes);
  int fd = memory_file("llrt-shared");
  if (fd < 0) return llrt_error(LLRT_UNSUPPORTED, "a file of memory: %s", strerror(errno));
  if (ftruncate(fd, (off_t)rounded) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    close(fd);
    return llrt_error(LLRT_OUT_OF_MEMORY, "%zu bytes of shared memory: %s", rounded,
                      strerror(errno));
  }
  return map(fd, rounded, mapping);
}

static llrt_status duplicate(int fd, int *out) {
  *out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (*out >= 0) return LLRT_OK;
  return llrt_error(errno == EBADF ? LLRT_INVALID_ARGUMENT : LLRT_DEVICE, "descriptor %d: %s", fd,
                    strerror(errno));
}

static llrt_status host_export_fd(llrt_device *device, const backend_mapping *mapping, int *fd) {
  (void)device;
  return duplicate((int)mapping->allocation, fd);
}

static llrt_status host_import_fd(llrt_device *device, int fd, size_t bytes,
                                  backend_mapping *mapping) {
  struct stat status;
  int seals = fcntl(fd, F_GET_SEALS), own;
  (void)device;
  *mapping = (backend_mapping){.address = NULL};
  LLRT_REQUIRE(seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &status) == 0,
               "descriptor %d is none of shared memory", fd);
  LLRT_REQUIRE((uint64_t)status.st_size == bytes,
               "descriptor %d is of %lld bytes, the handle of %zu", fd, (long long)status.st_size,
               bytes);
  LLRT_TRY(duplicate(fd, &own));
  return map(own, bytes, mapping);
}

static void host_unmap(llrt_device *device, backend_mapping *mapping) {
  (void)device;
  munmap(mapping->address, mapping->bytes);
  close((int)mapping->allocation);
}

const backend_sharing llrt_host_sharing = {
    .uuid = host_uuid,
    .sees = host_sees,
    .create = host_create,
    .export_fd = host_export_fd,
    .import_fd = host_import_fd,
    .unmap = host_unmap,
};
