/* What a context holds, and what its devices' files share. */
#ifndef LLRT_RUNTIME_CONTEXT_H
#define LLRT_RUNTIME_CONTEXT_H

#include "backends/backend.h"
#include "runtime/block_pool.h"
#include "runtime/cache.h"
#include "runtime/disk_cache.h"
#include "runtime/jit_library.h"
#include "runtime/log.h"
#include "runtime/workspace.h"

#include <llrt/op.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* One open device with the params that it was opened by; device.c counts who holds it. */
typedef struct open_device {
  llrt_device *device;
  int references, ordinal;
  void *driver_context;
  char *driver_library, *target; /* NULL where the params had NULL */
  struct open_device *next;
} open_device;

/* Kernels that are to be compiled behind calls (runtime/policy.c), and the thread that does it,
 * once there was one. */
typedef struct compile_wish compile_wish;
typedef struct compile_queue {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  pthread_t thread;
  pid_t process; /* which the thread is of */
  bool started, ends;
  compile_wish *first;
  const llrt_device *current; /* whose kernel is being compiled; NULL: none */
} compile_queue;

struct llrt_context {
  llrt_allocator allocator;
  context_log log;
  llrt_parallel parallel;
  bool fix_extents;
  atomic_int compile; /* llrt_compile_policy */
  void *compile_user;
  void (*on_compile)(void *user, const llrt_compile_event *event);
  compile_queue behind;
  jit_library jit;
  kernel_cache cache;
  disk_cache disk;
  atomic_uint_fast64_t compiles;
  pthread_mutex_t tuning; /* held by who times candidates: one operation at a time */
  workspace_keeper workspaces;
  block_pool blocks;             /* of devices that have no memory in stream order */
  pthread_mutex_t devices_mutex; /* over the list, its counts, and opening itself */
  open_device *devices;
  bool held_much; /* kernels took so much that the system is to have it back at the end */
};

/* Before kernels are dropped for good. */
void llrt_context_note_memory(llrt_context *context);

/* A stream that suits the device: NULL on the host. */
llrt_status llrt_validate_stream(const llrt_device *device, const void *stream);

/* Memory by the context's allocator; else in the stream's order, by the driver where it can, and
 * where it cannot of the context's blocks. Released behind what is queued on `stream`. Errors:
 * OUT_OF_MEMORY, DEVICE; on a capturing stream of a driver that cannot allocate in a graph
 * NOT_PREPARED, and UNSUPPORTED of a release. */
llrt_status llrt_context_allocate(llrt_device *device, size_t bytes, void *stream, void **memory);
llrt_status llrt_context_release(llrt_device *device, void *memory, void *stream);

#endif
