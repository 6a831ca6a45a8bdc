/* Contexts and devices.
 *
 * A context holds what devices and kernels share: the kernel cache, the allocator, the log, the
 * threads of the host device. Contexts are independent of each other. A device belongs to one
 * context and is the one that runs an operation; memory is any address that this device can reach.
 * Host memory that a kernel would fault on is INVALID_ARGUMENT where the driver can tell (CUDA);
 * else that fault is a DEVICE error, and ends the driver's context.
 */
#ifndef LLRT_DEVICE_H
#define LLRT_DEVICE_H

#include <llrt/cache.h>
#include <llrt/log.h>
#include <llrt/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llrt_context llrt_context;
typedef struct llrt_device llrt_device;
typedef struct llrt_event llrt_event;

/* Where one-line calls take device memory from: for results that they allocate, and for workspace.
 * Workspace of calls on one stream is allocated once and kept; on a capturing stream every call
 * allocates and releases its own, so that an allocator may put it into the graph's pool. */
typedef struct llrt_allocator {
  void *user;
  /* Returns `bytes` bytes (> 0) on the device, aligned to 256, or NULL. `stream` is the call's: the
   * memory is first used by work queued there. */
  void *(*allocate)(void *user, llrt_device *device, size_t bytes, void *stream);
  /* Takes back what allocate returned; work queued on `stream` may still use it. */
  void (*release)(void *user, llrt_device *device, void *memory, void *stream);
  void *reserved[2]; /* NULL */
} llrt_allocator;

/* Runs body(user_data, begin, end) over disjoint ranges that together cover [0, count), possibly in
 * parallel, and returns when all are done. */
typedef void llrt_parallel_for(void *user, int64_t count,
                               void (*body)(void *body_data, int64_t begin, int64_t end),
                               void *body_data);

/* When one-line calls compile. Prepare compiles whatever it is asked for, under each of the first
 * three. Where memory ends, llrt's own requests give OUT_OF_MEMORY; LLVM's abort the process, which
 * compiling beforehand and NEVER or FORBIDDEN avoid. */
typedef enum llrt_compile_policy {
  LLRT_COMPILE_NOW = 0, /* in the call that first needs a kernel */
  LLRT_COMPILE_BACKGROUND =
      1, /* the same where nothing serves the call; a kernel that would serve it better than one
            that is there is compiled on a thread of the context's while that one serves */
  LLRT_COMPILE_NEVER =
      2, /* what is there serves; else the call is NOT_PREPARED, and says what to prepare */
  LLRT_COMPILE_FORBIDDEN = 3 /* nothing is compiled, whoever asks: UNAVAILABLE. Saved kernels run */
} llrt_compile_policy;

struct llrt_op_desc;

/* A kernel that was compiled. All is the library's, for the time of the call. */
typedef struct llrt_compile_event {
  size_t size; /* of this struct, as the library knows it */
  llrt_device *device;
  const struct llrt_op_desc
      *desc;        /* operation, storages, types and promises; no data; may be prepared again */
  const char *text; /* the same in a line of text */
  double milliseconds;
  int32_t background; /* 1: on the context's thread */
  int32_t reserved;
} llrt_compile_event;

/* NULL and all-zero: the presets. */
typedef struct llrt_context_params {
  size_t size;
  llrt_allocator allocator; /* all-zero: the driver's, in stream order; of older ones than CUDA 11.2
                               and ROCm 5.2 blocks that the context keeps */
  void *log_user;
  llrt_log_function *log; /* NULL: the program is told nothing */
  void *parallel_user;
  llrt_parallel_for *parallel_for; /* NULL: threads of the library (llrt.h) */
  const char *jit_library;         /* path of libllrt-jit.so; NULL: beside libllrt.so, then the
                                      loader's search path */
  int32_t threads;                 /* host threads per launch, the caller's among them, at most
                                      one for each core that the process may use; 0: all those */
  llrt_compile_policy compile;     /* see there; llrt_context_set_compile */
  void *compile_user;
  void (*on_compile)(void *user,
                     const llrt_compile_event *event); /* NULL: nobody is told. From any thread; it
                                                          must not call into the context */
  int32_t fix_extents;      /* non-zero: one-line calls compile extents below 1024 in, for up to 16
                               shapes of a pair of storages: faster where a tile ends with an axis,
                               at a compile for each shape */
  llrt_log_level log_level; /* of `log`; llrt_context_set_log_level */
  uint64_t
      most_kernels; /* that stay loaded for one-line calls; 0: any number. A call that compiles one
                       too many unloads those that were not used for longest, which may wait for the
                       device. Not counted, and never unloaded: kernels of operations that a handle
                       is held of (llrt_op_prepare), and what a capture has launched */
  const llrt_cache_params *cache; /* kernels on disk, and how much memory they take (cache.h) */
} llrt_context_params;

/* Creates a context. Cost: microseconds; the compiler is not loaded. Ownership: destroy with
 * llrt_context_destroy. Thread: any. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_context_create(const llrt_context_params *params, llrt_context **context);

/* Frees the context and its cached kernels, clears *context; NULL is accepted, and so is a pointer
 * to NULL. Precondition: its devices and operations are destroyed and their launches finished.
 * Thread: one, the last. */
LLRT_API void llrt_context_destroy(llrt_context **context);

/* Sets the policy of calls that begin after it: LLRT_COMPILE_NEVER once everything is warm. Thread:
 * any. Errors: INVALID_ARGUMENT. */
LLRT_API llrt_status llrt_context_set_compile(llrt_context *context, llrt_compile_policy policy);

/* Sets the level of the program's log function; LLRT_LOG's stays what it is. Thread: any. Errors:
 * INVALID_ARGUMENT. */
LLRT_API llrt_status llrt_context_set_log_level(llrt_context *context, llrt_log_level level);

/* Gives memory back that nobody uses: workspace that one-line calls keep for each stream, and of
 * the driver's pools all but keep_bytes a device. Waits for the work of the context's devices. What
 * calls need later is allocated again. What captured calls allocated is their graphs', and stays.
 * Precondition: no call of the context is running on another thread, and no stream of the context's
 * devices captures: waiting would break the capture. Thread: one. Errors: DEVICE. */
LLRT_API llrt_status llrt_context_trim(llrt_context *context, size_t keep_bytes);

/* What a context's kernels take, and what they were found by. */
typedef struct llrt_context_stats {
  size_t size;            /* set by the caller, or 0 */
  uint64_t kernels;       /* loaded now */
  uint64_t bytes;         /* of memory that operations, their code and their storages take now */
  uint64_t compiles;      /* since the context was made, as all that follows */
  uint64_t lookups, hits; /* of operations in memory by calls; those that found one */
  uint64_t unloaded;      /* operations that went because of most_kernels or memory_bytes */
  uint64_t disk_hits, disk_misses; /* files looked for: found, and not */
  uint64_t disk_written;
  uint64_t disk_ignored; /* damaged, or not to be trusted */
  uint64_t disk_removed; /* files that went because of disk_bytes */
} llrt_context_stats;

/* The numbers now; other threads may be changing them. Thread: any. Errors: INVALID_ARGUMENT for
 * NULL alone. */
LLRT_API llrt_status llrt_context_get_stats(llrt_context *context, llrt_context_stats *stats);

typedef struct llrt_device_params {
  size_t size;
  void *driver_context;       /* CUcontext to use instead of the primary one; NULL: the primary */
  const char *driver_library; /* path of the driver's library; NULL: the vendor's names in turn */
  const char *target; /* compile for this target instead of the device's own; NULL: its own */
} llrt_device_params;

/* Opens a device by name: "host", "cuda:N", "hip:N" (N the driver's ordinal; without it 0).
 * params may be NULL. Each open retains: opening one device twice with equal params gives the same
 * handle again, to be closed as often as it was opened; its kernels live until the last close.
 * Thread: any. Errors: INVALID_ARGUMENT (name), UNAVAILABLE (no driver library or no such device:
 * the message lists every path tried), UNSUPPORTED (an architecture llrt has no target for, or a
 * target that the device cannot run), DEVICE. */
LLRT_API llrt_status llrt_device_open(llrt_context *context, const char *name,
                                      const llrt_device_params *params, llrt_device **device);

/* Closes the handle and clears *device; NULL is accepted. Precondition of the last close: its work
 * has finished, its memory is freed, its events and operations are destroyed. */
LLRT_API void llrt_device_close(llrt_device **device);

typedef struct llrt_device_info {
  size_t size;           /* set by the caller, or 0 */
  char name[32];         /* "cuda:0" */
  char description[96];  /* the vendor's name of it */
  char target[32];       /* what llrt compiles for: "sm_90a", "gfx90a", "x86-64-v3" */
  int32_t compute_units; /* SMs, CUs, host threads */
  int32_t reserved;
  size_t memory_bytes; /* total; 0 where unknown */
  size_t l2_bytes;     /* 0 where unknown */
} llrt_device_info;

/* What the device is, as it was when it was opened. Errors: INVALID_ARGUMENT for NULL alone. */
LLRT_API llrt_status llrt_device_get_info(const llrt_device *device, llrt_device_info *info);

/* Calls visit for each device that this machine could open, host last, on the calling thread. A
 * backend without a driver is passed over silently. Each device is opened and closed for it.
 * visit's `why` is NULL for a usable device, else the reason it is not; both texts live for the
 * call of visit alone. Thread: any. Errors: INVALID_ARGUMENT for NULL alone; `user` may be NULL. */
LLRT_API llrt_status llrt_device_enumerate(llrt_context *context, void *user,
                                           void (*visit)(void *user, const char *name,
                                                         const char *why));

/* ---- memory, streams and events: thin, for callers who have no driver API at hand ----
 * `stream` is CUstream or hipStream_t as void *, NULL for the default stream; on the host it must
 * be NULL and everything is synchronous. Errors of all of them: INVALID_ARGUMENT for NULL and for a
 * stream on the host; DEVICE, with the driver's own code in llrt_last_vendor_code. */

/* `bytes` bytes (> 0) of device memory with any content, aligned to 256. Ownership:
 * llrt_memory_free on the same device. Errors: also OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_memory_allocate(llrt_device *device, size_t bytes, void **memory);

/* Gives back what llrt_memory_allocate gave; NULL is accepted. Precondition: no queued work uses
 * it. */
LLRT_API llrt_status llrt_memory_free(llrt_device *device, void *memory);

typedef enum llrt_copy_kind {
  LLRT_COPY_TO_DEVICE = 0,   /* destination on the device, source in host memory */
  LLRT_COPY_FROM_DEVICE = 1, /* source on the device, destination in host memory */
  LLRT_COPY_ON_DEVICE = 2    /* both on the device */
} llrt_copy_kind;

/* Queues a copy of `bytes` bytes (0: nothing happens), which do not overlap. With pageable host
 * memory it returns when the host memory may be reused; pinned memory is the caller's to leave
 * alone until the stream is done. */
LLRT_API llrt_status llrt_memory_copy(llrt_device *device, void *destination, const void *source,
                                      size_t bytes, llrt_copy_kind kind, void *stream);

/* Queues setting `bytes` bytes (0: nothing happens) to the low eight bits of `value`. */
LLRT_API llrt_status llrt_memory_set(llrt_device *device, void *memory, int value, size_t bytes,
                                     void *stream);

/* Pins `bytes` bytes (> 0) of host memory, which no other call has pinned, until llrt_memory_unpin
 * of the same address: copies to and from it are queued and go by the device's own engines. Nothing
 * happens on the host. Cost: the system gives all of the memory at once. Errors: also UNSUPPORTED
 * where the driver has no such function. */
LLRT_API llrt_status llrt_memory_pin(llrt_device *device, void *memory, size_t bytes);

/* Precondition: no queued work uses it. NULL is accepted. */
LLRT_API llrt_status llrt_memory_unpin(llrt_device *device, void *memory);

/* Waits until all work queued on the stream is done. Errors: DEVICE also for earlier launches,
 * whose errors surface here. */
LLRT_API llrt_status llrt_stream_synchronize(llrt_device *device, void *stream);

/* Sets *capturing: 1 where work that is queued on the stream goes into a graph. Then nothing that a
 * call needs may be compiled, and host memory that a copy reads is read when the graph is replayed.
 */
LLRT_API llrt_status llrt_stream_is_capturing(llrt_device *device, void *stream,
                                              int32_t *capturing);

/* Events mark a place in a stream. Ownership: llrt_event_destroy, before the device is closed; it
 * clears *event and accepts NULL. Thread: one at a time for each event. Errors: also OUT_OF_MEMORY.
 */
LLRT_API llrt_status llrt_event_create(llrt_device *device, llrt_event **event);
LLRT_API void llrt_event_destroy(llrt_event **event);

/* Marks where the stream is now, instead of where the event stood before. */
LLRT_API llrt_status llrt_event_record(llrt_event *event, void *stream);

/* Waits for `stop`; then *microseconds = the device's time between the two places, 0 on error.
 * Errors: INVALID_ARGUMENT when one was never recorded or devices differ. */
LLRT_API llrt_status llrt_event_elapsed(const llrt_event *start, const llrt_event *stop,
                                        double *microseconds);

#ifdef __cplusplus
}
#endif
#endif
