/* How a backend shares memory between processes (include/llrt/share.h). The runtime validates what
 * callers give; what comes from other processes, backends see first. */
#ifndef LLRT_BACKENDS_SHARING_H
#define LLRT_BACKENDS_SHARING_H

#include <llrt/device.h>

#include <stdbool.h>
#include <stdint.h>

#define BACKEND_IPC_BYTES 64
#define BACKEND_UUID_BYTES 16

/* Memory that is mapped into this process. */
typedef struct backend_mapping {
  void *address; /* NULL: not mapped */
  size_t bytes;
  uint64_t allocation; /* the backend's: a driver's handle, a descriptor */
  bool ipc;
} backend_mapping;

typedef struct backend_sharing {
  /* Whom a device is, and whether this process sees the device of another one's. */
  llrt_status (*uuid)(llrt_device *device, uint8_t uuid[BACKEND_UUID_BYTES]);
  llrt_status (*sees)(llrt_device *device, const uint8_t uuid[BACKEND_UUID_BYTES], bool *seen);

  /* bytes > 0. On failure nothing is left in *mapping. */
  llrt_status (*create)(llrt_device *device, size_t bytes, backend_mapping *mapping);
  llrt_status (*export_fd)(llrt_device *device, const backend_mapping *mapping, int *fd);
  /* `bytes` are those of the exporter's mapping; the descriptor is duplicated. Errors:
   * INVALID_ARGUMENT for a descriptor of something else. */
  llrt_status (*import_fd)(llrt_device *device, int fd, size_t bytes, backend_mapping *mapping);

  /* The allocation that holds the address: its driver's handle, where the address lies in it, and
   * its size. NULL: the backend has no such handles. Errors: UNSUPPORTED, with the reason. */
  llrt_status (*export_ipc)(llrt_device *device, const void *memory,
                            uint8_t handle[BACKEND_IPC_BYTES], uint64_t *offset, uint64_t *bytes);
  llrt_status (*import_ipc)(llrt_device *device, const uint8_t handle[BACKEND_IPC_BYTES],
                            backend_mapping *mapping);

  /* What is mapped, of all three. */
  void (*unmap)(llrt_device *device, backend_mapping *mapping);
} backend_sharing;

#endif
