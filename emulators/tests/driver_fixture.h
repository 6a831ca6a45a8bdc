/* An emulated driver for tests of the driver itself: functions that libcuda and libamdhip64 both
 * have, by one name. Device addresses are integers; handles are pointers. */
#ifndef LLRT_TESTS_DRIVER_FIXTURE_H
#define LLRT_TESTS_DRIVER_FIXTURE_H

#include "emulators/common/emu_control.h"
#include "emulators/common/emu_results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(field, CUDA's name, HIP's name, arguments) */
#define DRIVER_FUNCTIONS(X) \
  X(synchronize, "cuCtxSynchronize", "hipDeviceSynchronize", (void)) \
  X(stream_create, "cuStreamCreate", "hipStreamCreateWithFlags", (void **stream, unsigned flags)) \
  X(stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy", (void *stream)) \
  X(stream_synchronize, "cuStreamSynchronize", "hipStreamSynchronize", (void *stream)) \
  X(stream_query, "cuStreamQuery", "hipStreamQuery", (void *stream)) \
  X(stream_wait, "cuStreamWaitEvent", "hipStreamWaitEvent", \
    (void *stream, void *event, unsigned flags)) \
  X(stream_id, "cuStreamGetId", "hipStreamGetId", (void *stream, unsigned long long *id)) \
  X(event_create, "cuEventCreate", "hipEventCreateWithFlags", (void **event, unsigned flags)) \
  X(event_destroy, "cuEventDestroy_v2", "hipEventDestroy", (void *event)) \
  X(event_record, "cuEventRecord", "hipEventRecord", (void *event, void *stream)) \
  X(event_query, "cuEventQuery", "hipEventQuery", (void *event)) \
  X(event_synchronize, "cuEventSynchronize", "hipEventSynchronize", (void *event)) \
  X(event_elapsed, "cuEventElapsedTime", "hipEventElapsedTime", \
    (float *milliseconds, void *start, void *stop)) \
  X(call, "cuLaunchHostFunc", "hipLaunchHostFunc", \
    (void *stream, void (*call)(void *), void *user)) \
  X(allocate, "cuMemAlloc_v2", "hipMalloc", (uint64_t *memory, size_t bytes)) \
  X(release, "cuMemFree_v2", "hipFree", (uint64_t memory)) \
  X(allocate_host, "cuMemHostAlloc", "hipHostMalloc", \
    (void **memory, size_t bytes, unsigned flags)) \
  X(release_host, "cuMemFreeHost", "hipHostFree", (void *memory)) \
  X(send, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", \
    (uint64_t to, const void *from, size_t bytes, void *stream)) \
  X(fetch, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", \
    (void *to, uint64_t from, size_t bytes, void *stream)) \
  X(copy, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync", \
    (uint64_t to, uint64_t from, size_t bytes, void *stream)) \
  X(set, "cuMemsetD32Async", "hipMemsetD32Async", \
    (uint64_t memory, int value, size_t count, void *stream)) \
  X(allocate_on, "cuMemAllocAsync", "hipMallocAsync", \
    (uint64_t *memory, size_t bytes, void *stream)) \
  X(allocate_from, "cuMemAllocFromPoolAsync", "hipMallocFromPoolAsync", \
    (uint64_t *memory, size_t bytes, void *pool, void *stream)) \
  X(release_on, "cuMemFreeAsync", "hipFreeAsync", (uint64_t memory, void *stream)) \
  X(pool_create, "cuMemPoolCreate", "hipMemPoolCreate", (void **pool, const void *properties)) \
  X(pool_destroy, "cuMemPoolDestroy", "hipMemPoolDestroy", (void *pool)) \
  X(pool_set, "cuMemPoolSetAttribute", "hipMemPoolSetAttribute", \
    (void *pool, int attribute, void *value)) \
  X(pool_get, "cuMemPoolGetAttribute", "hipMemPoolGetAttribute", \
    (void *pool, int attribute, void *value)) \
  X(pool_trim, "cuMemPoolTrimTo", "hipMemPoolTrimTo", (void *pool, size_t keep_bytes)) \
  X(pool_default, "cuDeviceGetDefaultMemPool", "hipDeviceGetDefaultMemPool", \
    (void **pool, int device)) \
  X(begin, "cuStreamBeginCapture_v2", "hipStreamBeginCapture", (void *stream, int mode)) \
  X(end, "cuStreamEndCapture", "hipStreamEndCapture", (void *stream, void **graph)) \
  X(is_capturing, "cuStreamIsCapturing", "hipStreamIsCapturing", (void *stream, int *status)) \
  X(capture_info, "cuStreamGetCaptureInfo_v2", "hipStreamGetCaptureInfo_v2", \
    (void *stream, int *status, unsigned long long *id, void **graph, void *const **nodes, \
     size_t *n)) \
  X(exchange, "cuThreadExchangeStreamCaptureMode", "hipThreadExchangeStreamCaptureMode", \
    (int *mode)) \
  X(instantiate, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags", \
    (void **exec, void *graph, unsigned long long flags)) \
  X(launch, "cuGraphLaunch", "hipGraphLaunch", (void *exec, void *stream)) \
  X(exec_destroy, "cuGraphExecDestroy", "hipGraphExecDestroy", (void *exec)) \
  X(graph_destroy, "cuGraphDestroy", "hipGraphDestroy", (void *graph)) \
  X(graph_nodes, "cuGraphGetNodes", "hipGraphGetNodes", (void *graph, void **nodes, size_t *n)) \
  X(graph_edges, "cuGraphGetEdges", "hipGraphGetEdges", \
    (void *graph, void **from, void **to, size_t *n)) \
  X(node_type, "cuGraphNodeGetType", "hipGraphNodeGetType", (void *node, int *type))

typedef struct tested_driver {
  const char *name; /* "cuda", "hip" */
  void *library;
  int device;
#define DRIVER_FIELD(field, cuda, hip, arguments) int(*field) arguments;
  DRIVER_FUNCTIONS(DRIVER_FIELD)
#undef DRIVER_FIELD
  void (*set_mode)(emu_mode mode);
  unsigned long (*calls)(const char *name);
  void (*calls_reset)(void);
  void (*fail)(const char *name, int code, int after);
} tested_driver;

#define DRIVER_NON_BLOCKING 1u
#define DRIVER_LEGACY NULL
#define DRIVER_PER_THREAD ((void *)2)

/* Opens "cuda" or "hip", which llrt may have loaded already; a device of it is then the thread's.
 */
void driver_open(const char *name, tested_driver *driver);
/* Makes the device the current one of another thread. */
void driver_use(const tested_driver *driver);
void driver_close(tested_driver *driver);

/* Calls body for each driver. */
void driver_each(void (*body)(const tested_driver *driver));

/* A function of the library that is not among those above. */
void *driver_symbol(const tested_driver *driver, const char *name);

#endif
