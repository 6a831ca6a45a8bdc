/* Memory that several processes see, for ranks that are processes (llrt/reshard.h).
 *
 * Two ways. Memory that is made to be shared (llrt_memory_create_shared) goes as a file descriptor,
 * which one process sends to another over a Unix socket (SCM_RIGHTS). Memory that a program has
 * anyway, from cuMemAlloc or cudaMalloc, goes as a handle of plain bytes (CUDA IPC):
 * llrt_memory_export. Either way the other process calls llrt_memory_import and gets an address of
 * its own.
 *
 * Who exports outlives who imports: it frees its memory when all others have destroyed theirs.
 * What is done on both sides at a time is the caller's to order, by llrt_comm or otherwise. A
 * process that dies while others have its memory mapped may cost them their driver context. */
#ifndef LLRT_SHARE_H
#define LLRT_SHARE_H

#include <llrt/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory mapped into this process, which others map, too. */
typedef struct llrt_shared llrt_shared;

typedef enum llrt_handle_kind {
  LLRT_HANDLE_FD = 1, /* with a file descriptor */
  LLRT_HANDLE_IPC = 2 /* by itself */
} llrt_handle_kind;

/* What one process sends to another, as bytes. Filled by the library, to be left as it is. */
typedef struct llrt_memory_handle {
  int32_t kind;       /* llrt_handle_kind */
  int32_t backend;    /* of the device that the memory lies on */
  uint64_t bytes;     /* of the memory */
  uint64_t offset;    /* where it begins in the allocation, which is handed over whole */
  uint8_t device[16]; /* the device's UUID; of the host zeros */
  uint64_t exporter;  /* the process that made the handle */
  uint8_t driver[64]; /* the driver's handle; of FD zeros */
  int64_t reserved[4];
} llrt_memory_handle;

/* `bytes` bytes, rounded up to what the device maps at a time (CUDA: 2 MiB), with any content, on
 * the host or by the driver's virtual memory functions; for kernels and copies of `device` like
 * any other memory of it. Not for llrt_memory_free. Another device of this process reaches it by
 * an import of its own. Ownership: llrt_shared_destroy before the device is closed. Errors:
 * INVALID_ARGUMENT, OUT_OF_MEMORY, DEVICE, UNSUPPORTED where the device cannot. */
LLRT_API llrt_status llrt_memory_create_shared(llrt_device *device, size_t bytes,
                                               llrt_shared **shared);

/* Where it lies in this process, and how large it is; either may be NULL. */
LLRT_API llrt_status llrt_shared_get(const llrt_shared *shared, void **memory, size_t *bytes);

/* A handle and a file descriptor, which the caller closes when it is sent. Errors: INVALID_ARGUMENT
 * for what llrt_memory_import made of an IPC handle, DEVICE. */
LLRT_API llrt_status llrt_shared_export(const llrt_shared *shared, llrt_memory_handle *handle,
                                        int *fd);

/* A handle of `bytes` bytes at `memory`, which lie in one allocation of cuMemAlloc (cudaMalloc):
 * the driver hands over all of it, so that who imports could reach what is beside. Errors:
 * UNSUPPORTED for memory of stream-ordered pools and of virtual memory functions, which drivers do
 * not hand over in this way, and for the host; INVALID_ARGUMENT, DEVICE. */
LLRT_API llrt_status llrt_memory_export(llrt_device *device, const void *memory, size_t bytes,
                                        llrt_memory_handle *handle);

/* Maps what another process exported, for kernels and copies of `device`, be the memory on this
 * device or on a peer; devices are told by their UUIDs, whatever their numbers are here. fd is the
 * descriptor of an FD handle, which stays the caller's; else -1. An IPC handle is not imported by
 * the process that made it: there the address will do. Ownership: llrt_shared_destroy before the
 * device is closed. Errors: INVALID_ARGUMENT for a handle or descriptor that is none, or of
 * another size; UNSUPPORTED for memory on a device that this process does not see, or that
 * `device` does not reach; DEVICE. */
LLRT_API llrt_status llrt_memory_import(llrt_device *device, const llrt_memory_handle *handle,
                                        int fd, llrt_shared **shared);

/* Unmaps it and clears *shared; NULL is accepted. Precondition: no queued work uses it. */
LLRT_API void llrt_shared_destroy(llrt_shared **shared);

#ifdef __cplusplus
}
#endif
#endif
