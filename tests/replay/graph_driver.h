/* The vendor's driver for programs that know include/llrt alone: streams and graphs, by one name
 * for libcuda and libamdhip64, and for their emulators. Handles are void *; functions return the
 * driver's result, 0 for success. */
#ifndef LLRT_TESTS_GRAPH_DRIVER_H
#define LLRT_TESTS_GRAPH_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

/* X(field, CUDA's name, HIP's name, arguments) */
#define GRAPH_DRIVER_FUNCTIONS(X) \
  X(stream_create, "cuStreamCreate", "hipStreamCreateWithFlags", (void **stream, unsigned flags)) \
  X(stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy", (void *stream)) \
  X(stream_synchronize, "cuStreamSynchronize", "hipStreamSynchronize", (void *stream)) \
  X(begin, "cuStreamBeginCapture_v2", "hipStreamBeginCapture", (void *stream, int mode)) \
  X(end, "cuStreamEndCapture", "hipStreamEndCapture", (void *stream, void **graph)) \
  X(instantiate, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags", \
    (void **exec, void *graph, unsigned long long flags)) \
  X(launch, "cuGraphLaunch", "hipGraphLaunch", (void *exec, void *stream)) \
  X(exec_destroy, "cuGraphExecDestroy", "hipGraphExecDestroy", (void *exec)) \
  X(graph_destroy, "cuGraphDestroy", "hipGraphDestroy", (void *graph))

typedef struct graph_driver {
  void *library; /* NULL: not open */
#define GRAPH_DRIVER_FIELD(field, cuda, hip, arguments) int(*field) arguments;
  GRAPH_DRIVER_FUNCTIONS(GRAPH_DRIVER_FIELD)
#undef GRAPH_DRIVER_FIELD
} graph_driver;

#define GRAPH_STREAM_NON_BLOCKING 1u
#define GRAPH_CAPTURE_GLOBAL 0

/* For a device as llrt names it: "cuda:N", "hip:N", "cuda-emu:TARGET", "hip-emu:TARGET". The device
 * is the calling thread's from here on. False: *why says why not; its text is static. */
bool graph_driver_open(const char *device, graph_driver *driver, const char **why);

/* The library stays loaded: a stream's handle may outlive its last user. */
void graph_driver_close(graph_driver *driver);

/* Ends a capture of the stream and makes a graph of it that can be launched. */
int graph_driver_finish(const graph_driver *driver, void *stream, void **exec);

#endif
