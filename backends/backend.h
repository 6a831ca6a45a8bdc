/* What a backend is: one table of functions over one kind of device. The runtime validates;
 * backends assert. Every function may be called from any thread. Streams are the vendor's handles.
 */
#ifndef LLRT_BACKENDS_BACKEND_H
#define LLRT_BACKENDS_BACKEND_H

#include "backends/meet.h"
#include "backends/sharing.h"
#include "base/parallel.h"
#include "jit/plan/kernel/launch.h"
#include "jit/plan/types/target.h"

#include <llrt/device.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef struct llrt_backend llrt_backend;
typedef struct backend_module backend_module; /* loaded code with its entry function resolved */
typedef struct backend_event backend_event;

#define BACKEND_KNOWN_BLOCKS 64

/* The common head of a device; each backend's own struct begins with it. */
struct llrt_device {
  const llrt_backend *backend;
  llrt_context *context; /* borrowed; set by runtime/device.c after open */
  plan_target target;
  llrt_device_info info;
  int driver_version; /* as its vendor counts, 12080 for CUDA 12.8; 0: there is none to tell */
  int clock_mhz;      /* of a multiprocessor, at most; 0: not known */
  atomic_uintptr_t known_block[BACKEND_KNOWN_BLOCKS]; /* runtime/reach.c; 0 at first */
};

typedef struct backend_launch {
  bool early;           /* the kernel waits by itself for what is before it on the stream
                           (target.facts.early_launches): its blocks may start as soon as that
                           allows it */
  bool stays;           /* blocks take the tiles of those that are not launched, too: no more are
                           launched than are on the device at once (backend_code.threads) */
  int64_t blocks;       /* > 0, < 2^31 */
  int32_t threads;      /* of a block */
  int32_t block_bytes;  /* what a block moves; 0: not known */
  int32_t shared_bytes; /* of a block, less than the kernel may use; 0: all of that */
  int32_t room_bytes;   /* of shared memory that a block takes at least, so that few of them are on
                           a multiprocessor at a time; 0: what it uses. Without meaning where blocks
                           have none */
  int32_t n_args;
  const uint64_t *args; /* one 64-bit kernel parameter each */
  int32_t n_boxes;
  const plan_box *boxes; /* their numbers are of args; one kernel parameter each behind these */
} backend_launch;

/* What a stream is at the moment. */
typedef struct backend_stream {
  bool capturing; /* work queued on it goes into a graph */
  uint64_t id; /* of this stream alone while the process lives, other than its handle; 0: the driver
                  gives none */
} backend_stream;

/* A kernel to load. */
typedef struct backend_code {
  const void *data; /* what backend->link made, or without link the compiler; a zero byte follows */
  size_t size;
  const char *entry;    /* the kernel's name */
  int32_t shared_bytes; /* of a block */
  int32_t cluster; /* blocks of a cluster, which divide those of every launch; 0: no clusters */
  int32_t threads; /* of a block, where launches stay (backend_launch.stays) in clusters; else 0 */
  bool boxes;      /* launches have boxes */
} backend_code;

typedef struct backend_open_params {
  void *driver_context;          /* as in llrt_device_params */
  const char *driver_library;    /* NULL: the vendor's names */
  const char *target;            /* as in llrt_device_params */
  const llrt_parallel *parallel; /* host: how blocks spread over cores; outlives the device */
} backend_open_params;

/* A host kernel's entry: runs blocks [begin, end). */
typedef void backend_host_entry(const uint64_t *args, int64_t begin, int64_t end);

struct llrt_backend {
  const char *name; /* "host", "cuda", "hip" */

  /* Number of devices. UNAVAILABLE when the driver is absent. library may be NULL. */
  llrt_status (*count)(const char *library, int *count);
  llrt_status (*open)(int ordinal, const backend_open_params *params, llrt_device **device);
  void (*close)(llrt_device *device);

  llrt_status (*allocate)(llrt_device *device, size_t bytes, void **memory);
  llrt_status (*release)(llrt_device *device, void *memory);
  llrt_status (*copy)(llrt_device *device, void *destination, const void *source, size_t bytes,
                      llrt_copy_kind kind, void *stream);
  llrt_status (*set)(llrt_device *device, void *memory, int value, size_t bytes, void *stream);
  /* Host memory that the device copies by itself. NULL (both): all of it is the device's. */
  llrt_status (*pin)(llrt_device *device, void *memory, size_t bytes);
  llrt_status (*unpin)(llrt_device *device, void *memory);
  llrt_status (*synchronize)(llrt_device *device, void *stream);
  llrt_status (*stream_state)(llrt_device *device, void *stream, backend_stream *state);

  /* *reached: false where the driver is sure that kernels on the device cannot use the address:
   * host memory that it does not know, on a device that reads no pageable memory. NULL: never sure.
   */
  llrt_status (*reaches)(llrt_device *device, const void *address, bool *reached);

  /* Memory in the order of a stream's work: first used by work queued on `stream` behind the call,
   * given back behind what is queued there. On a capturing stream these become nodes of the graph.
   * Neither waits. NULL, or false from orders_memory: the device cannot. */
  bool (*orders_memory)(const llrt_device *device);
  llrt_status (*allocate_on)(llrt_device *device, size_t bytes, void *stream, void **memory);
  llrt_status (*release_on)(llrt_device *device, void *memory, void *stream);
  /* Waits for all of the device's work; then the device keeps no more than keep_bytes that nobody
   * uses. NULL: there is nothing to wait for and nothing kept. */
  llrt_status (*trim)(llrt_device *device, size_t keep_bytes);

  llrt_status (*event_create)(llrt_device *device, backend_event **event);
  void (*event_destroy)(llrt_device *device, backend_event *event);
  llrt_status (*event_record)(llrt_device *device, backend_event *event, void *stream);
  llrt_status (*event_elapsed)(llrt_device *device, const backend_event *start,
                               const backend_event *stop, double *microseconds);
  /* Whether it has passed, without waiting; and: what is queued on `stream` from now on waits for
   * it. NULL where a device has no streams. */
  llrt_status (*event_done)(llrt_device *device, const backend_event *event, bool *done);
  llrt_status (*event_wait)(llrt_device *device, const backend_event *event, void *stream);

  /* Turns what the compiler made into what load takes on devices of this compute capability alone
   * (PTX into a cubin). *linked is malloc'ed; NULL: load takes the code as it is. No function: it
   * always does. */
  llrt_status (*link)(llrt_device *device, const void *code, size_t size, void **linked,
                      size_t *linked_size);
  /* Loads code and resolves `entry`, eagerly: nothing is left for the first launch. */
  llrt_status (*load)(llrt_device *device, const backend_code *code, backend_module **module);
  void (*unload)(llrt_device *device, backend_module *module);
  /* Launches; allocates nothing, never waits (the host: runs to completion). */
  llrt_status (*launch)(llrt_device *device, const backend_module *module,
                        const backend_launch *launch, void *stream);

  /* A stream of the device's own, whose blocks come behind those of others that wait for room, and
   * its end; work that is queued goes on. NULL: the device has no streams. */
  llrt_status (*stream_create)(llrt_device *device, void **stream);
  void (*stream_destroy)(llrt_device *device, void *stream);

  /* The device is the thread's current one between these, for libraries that ask for that (NCCL);
   * leave takes what enter gave, and passes the status of the work between them through. NULL: the
   * host. */
  llrt_status (*enter)(llrt_device *device, int *entry);
  llrt_status (*leave)(llrt_device *device, int entry, llrt_status status);

  /* The kernel by which ranks wait for each other (meet.h), and its launch; the host: *module is
   * NULL, and the call returns when all have come. NULL: the device has none. */
  llrt_status (*meet_load)(llrt_device *device, backend_module **module);
  llrt_status (*meet)(llrt_device *device, const backend_module *module, const backend_meet *meet,
                      void *stream);
  /* Memory that several processes see; NULL: the device has none. */
  const backend_sharing *sharing;
  /* A 64-bit word of host memory, 0, that kernels of the device reach at its address, so that it is
   * read here without waiting. NULL: meetings leave no notes. */
  llrt_status (*note_create)(llrt_device *device, uint64_t **note);
  void (*note_destroy)(llrt_device *device, uint64_t *note);
  /* From now on the device reaches what the backend's other device allocates. NULL: it does anyway,
   * or never. Errors: UNSUPPORTED. */
  llrt_status (*reach_peer)(llrt_device *device, llrt_device *peer);
};

/* Every backend (llrt_backend_<name> of backends/<name>), in the order in which "the best device"
 * is looked for; the host is last. */
#define LLRT_BACKENDS(X) X(cuda) X(hip) X(host)

#define LLRT_DECLARE_BACKEND(name) extern const llrt_backend llrt_backend_##name;
LLRT_BACKENDS(LLRT_DECLARE_BACKEND)
#undef LLRT_DECLARE_BACKEND

extern const llrt_backend *const llrt_backends[];
extern const int llrt_backend_count;

/* backends/host: the target of this machine; also what "host" means to plan_target_find's callers.
 */
llrt_status llrt_host_target(plan_target *target);

#endif
