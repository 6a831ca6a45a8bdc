/* What emulated drivers have in common, below the names of CUDA and HIP: contexts with memory of
 * their own, streams, events, stream-ordered pools, captures and graphs. Results are emu_result's
 * numbers, as int.
 *
 * Handles that users give are checked: what is none of these objects is INVALID_HANDLE,
 * INVALID_CONTEXT or INVALID_VALUE, as the driver would say. Thread: any. */
#ifndef LLRT_EMULATORS_EMU_DRIVER_H
#define LLRT_EMULATORS_EMU_DRIVER_H

#include "emulators/common/emu_memory.h"
#include "emulators/common/emu_results.h"

typedef struct emu_context emu_context;
typedef struct emu_stream emu_stream;
typedef struct emu_event emu_event;
typedef struct emu_pool emu_pool;
typedef struct emu_graph emu_graph;
typedef struct emu_exec emu_exec;
typedef struct emu_node emu_node;

/* What the last failed work of this thread's calls was told to be: for errors whose text is NULL.
 */
const char *emu_trouble(void);
void emu_set_trouble(const char *text);

/* ---- contexts (emu_contexts.c) ---- */

/* With memory of at most total_bytes. NULL: no memory. */
emu_context *emu_context_create(int device, size_t total_bytes);
bool emu_context_is_one(const void *handle);
int emu_context_device(const emu_context *context);
uint64_t emu_context_id(const emu_context *context);

/* Waits for all work, then frees the memory, and with `destroy` the context. */
int emu_context_reset(emu_context *context, bool destroy);

/* Waits for all work of the context's streams. */
int emu_context_synchronize(emu_context *context);

/* The same without telling what failed, and whatever is captured. */
void emu_wait_for_all(emu_context *context);

/* Memory that loaded code may put its own into; between emu_run_lock and emu_run_unlock. */
emu_memory *emu_context_memory(emu_context *context);
/* Pinned memory of the host, and that of other devices' contexts that the context reaches, by
 * emu_context_reach; NULL: none.
 * Between these two, too, and emu_run_rest gives others a turn in between: what was found before
 * may be gone.
 */
struct emu_range *emu_context_find_peer(emu_context *context, uint64_t address, size_t bytes);
void emu_run_rest(int polls); /* longer when it has been in vain often */
/* From now on the context reaches memory of the peer's device; false: it did before. */
bool emu_context_reach(emu_context *context, const emu_context *peer);
void emu_run_lock(void);
void emu_run_unlock(void);

/* ---- streams (emu_streams.c) ---- */

#define EMU_STREAM_NON_BLOCKING 1u
#define EMU_STREAM_LEGACY ((void *)1)
#define EMU_STREAM_PER_THREAD ((void *)2)

int emu_stream_create(emu_context *context, unsigned flags, int priority, void **stream);
int emu_stream_destroy(void *handle);

/* The stream that a user's handle means: NULL and EMU_STREAM_LEGACY are the legacy stream of
 * `current`. */
int emu_stream_find(emu_context *current, void *handle, emu_stream **stream);
emu_context *emu_stream_context(const emu_stream *stream);
uint64_t emu_stream_id(const emu_stream *stream);
unsigned emu_stream_flags(const emu_stream *stream);
int emu_stream_priority(const emu_stream *stream);

int emu_stream_synchronize(emu_stream *stream);
int emu_stream_query(emu_stream *stream);
int emu_stream_wait_event(emu_stream *stream, void *event);

/* ---- events (emu_events.c) ---- */

#define EMU_EVENT_WITHOUT_TIME 2u

int emu_event_create(unsigned flags, void **event);
int emu_event_destroy(void *event);
int emu_event_record(void *event, emu_stream *stream);
int emu_event_query(void *event);
int emu_event_synchronize(void *event);
int emu_event_elapsed(void *start, void *stop, float *milliseconds);

/* ---- work (emu_work.c) ---- */

/* A kernel with its arguments. Kept by those who hold it; `run` is called by one thread at a time
 * of the process. */
typedef struct emu_launch {
  int (*run)(struct emu_launch *launch, char *trouble, size_t size);
  void (*destroy)(struct emu_launch *launch);
  emu_context *context; /* that the code was loaded in */
  void *function;       /* the user's handle */
  unsigned blocks, threads, shared_bytes;
  _Atomic int holders; /* beginning with 1, the maker */
} emu_launch;

void emu_launch_release(emu_launch *launch);

/* While a kernel runs: what its stream keeps of the kernels in front of it for those behind it, by
 * `free`, until something else runs there. NULL: it runs in a graph. */
void **emu_front(void);

/* Queues it; the caller's hold stays the caller's. */
int emu_queue_launch(emu_stream *stream, emu_launch *launch);
int emu_queue_call(emu_stream *stream, void (*call)(void *), void *user);

/* Which side is host memory; EMU_COPY_ANY: whatever the addresses say. */
typedef enum emu_copy_kind {
  EMU_COPY_ANY,
  EMU_COPY_TO_DEVICE,
  EMU_COPY_FROM_DEVICE,
  EMU_COPY_ON_DEVICE
} emu_copy_kind;
/* Pageable host memory is read before this returns, and written. */
int emu_queue_copy(emu_stream *stream, uint64_t to, uint64_t from, size_t bytes,
                   emu_copy_kind kind);
/* `count` numbers of 1, 2 or 4 bytes. */
int emu_queue_set(emu_stream *stream, uint64_t to, uint32_t value, unsigned width, size_t count);

/* ---- memory (emu_blocks.c, emu_pools.c) ---- */

int emu_allocate(emu_context *context, size_t bytes, uint64_t *address);
/* Of any memory of the process; waits for its context's work. */
int emu_free(uint64_t address);

/* LLRT_EMU_IPC=1 in the environment: what emu_allocate gives lies in files, which other processes
 * can open. */
bool emu_shares_memory(void);

/* Host memory that copies reach without waiting for the caller. */
int emu_pin(void *memory, size_t bytes);
bool emu_unpin(void *memory);

/* LLRT_EMU_POOLS=0 in the environment: as with a driver that has no memory in stream order. */
bool emu_pools_are_there(void);
int emu_pool_create(emu_context *context, size_t most_bytes, void **pool);
int emu_pool_destroy(void *pool);
emu_pool *emu_pool_default(emu_context *context);
emu_pool *emu_pool_current(emu_context *context);
int emu_pool_make_current(emu_context *context, void *pool);
int emu_pool_get(void *pool, int attribute, void *value);
int emu_pool_set(void *pool, int attribute, const void *value);
int emu_pool_trim(void *pool, size_t keep_bytes);

/* pool NULL: the stream's device's current one. */
int emu_allocate_on(emu_stream *stream, void *pool, size_t bytes, uint64_t *address);
int emu_free_on(emu_stream *stream, uint64_t address);

typedef struct emu_place {
  emu_context *context;
  emu_pool *pool; /* NULL: not of one */
  uint64_t begin, id;
  size_t bytes;
  bool host; /* pinned */
  int fd;    /* of memory in a file; else -1 */
} emu_place;

/* The allocation that holds an address; false: none. */
bool emu_find_place(uint64_t address, emu_place *place);

/* ---- capture (emu_capture.c) ---- */

typedef enum emu_capture_mode {
  EMU_CAPTURE_GLOBAL,
  EMU_CAPTURE_THREAD_LOCAL,
  EMU_CAPTURE_RELAXED
} emu_capture_mode;
typedef enum emu_capture_status {
  EMU_CAPTURE_NONE,
  EMU_CAPTURE_ACTIVE,
  EMU_CAPTURE_BROKEN
} emu_capture_status;

/* CAPTURE_UNSUPPORTED, which ends the captures that forbid it, for a call that is not safe while
 * others capture. */
int emu_capture_forbids(void);
#define EMU_ENTER_UNSAFE(function) \
  do { \
    EMU_ENTER(function); \
    int emu_forbidden = emu_capture_forbids(); \
    if (emu_forbidden) return emu_forbidden; \
  } while (0)

int emu_capture_begin(emu_stream *stream, int mode);
int emu_capture_end(emu_stream *stream, void **graph);
int emu_capture_exchange(int *mode);
int emu_capture_status_of(emu_stream *stream, int *status);
/* Any of the outputs may be NULL. *nodes lives until the stream's next call. */
int emu_capture_info(emu_stream *stream, int *status, unsigned long long *id, void **graph,
                     void *const **nodes, size_t *n);

/* ---- graphs (emu_graphs.c) ---- */

int emu_graph_destroy(void *graph);
int emu_graph_nodes(void *graph, void **nodes, size_t *n);
int emu_graph_edges(void *graph, void **from, void **to, size_t *n);
int emu_node_type(void *node, int *type);
const emu_launch *emu_node_launch(void *node); /* NULL: no kernel */

#define EMU_GRAPH_FREES_ON_LAUNCH 1u
int emu_exec_create(void *graph, unsigned long long flags, void **exec);
int emu_exec_destroy(void *exec);
int emu_exec_launch(void *exec, emu_stream *stream);
bool emu_exec_is_one(const void *exec);

#endif
