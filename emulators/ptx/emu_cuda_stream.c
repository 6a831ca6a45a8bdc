/* Streams, events, captures and graphs of the emulated libcuda, over common/emu_driver.h. */
#include "emulators/common/emu_calls.h"
#include "emulators/common/emu_driver.h"
#include "emulators/ptx/emu_cuda.h"

#define PROTOTYPE(name, arguments) cuda_result name arguments;
EMU_CUDA_STREAMS(PROTOTYPE)
EMU_CUDA_GRAPHS(PROTOTYPE)
#undef PROTOTYPE

/* With `name` the stream of `handle`, or returns that there is none. */
#define STREAM(name, handle) \
  emu_stream *name; \
  int name##_error = emu_cuda_stream(handle, &name); \
  if (name##_error) return name##_error

cuda_result cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  EMU_ENTER(cuStreamCreateWithPriority);
  return emu_stream_create(emu_cuda_current(), flags, priority, stream);
}

cuda_result cuStreamCreate(void **stream, unsigned flags) {
  EMU_ENTER(cuStreamCreate);
  return emu_stream_create(emu_cuda_current(), flags, 0, stream);
}

cuda_result cuStreamDestroy_v2(void *stream) {
  EMU_ENTER(cuStreamDestroy_v2);
  return emu_stream_destroy(stream);
}

cuda_result cuStreamSynchronize(void *handle) {
  EMU_ENTER(cuStreamSynchronize);
  STREAM(stream, handle);
  return emu_stream_synchronize(stream);
}

cuda_result cuStreamQuery(void *handle) {
  EMU_ENTER(cuStreamQuery);
  STREAM(stream, handle);
  return emu_stream_query(stream);
}

cuda_result cuStreamWaitEvent(void *handle, void *event, unsigned flags) {
  EMU_ENTER(cuStreamWaitEvent);
  STREAM(stream, handle);
  return flags ? EMU_NOT_SUPPORTED : emu_stream_wait_event(stream, event);
}

cuda_result cuStreamGetId(void *handle, unsigned long long *id) {
  EMU_ENTER(cuStreamGetId);
  STREAM(stream, handle);
  *id = emu_stream_id(stream);
  return 0;
}

cuda_result cuStreamGetCtx(void *handle, void **context) {
  EMU_ENTER(cuStreamGetCtx);
  STREAM(stream, handle);
  *context = emu_stream_context(stream);
  return 0;
}

cuda_result cuStreamGetFlags(void *handle, unsigned *flags) {
  EMU_ENTER(cuStreamGetFlags);
  STREAM(stream, handle);
  *flags = emu_stream_flags(stream);
  return 0;
}

cuda_result cuStreamGetPriority(void *handle, int *priority) {
  EMU_ENTER(cuStreamGetPriority);
  STREAM(stream, handle);
  *priority = emu_stream_priority(stream);
  return 0;
}

cuda_result cuLaunchHostFunc(void *handle, void (*call)(void *), void *user) {
  EMU_ENTER(cuLaunchHostFunc);
  STREAM(stream, handle);
  return emu_queue_call(stream, call, user);
}

/* ---- events ---- */

cuda_result cuEventCreate(void **event, unsigned flags) {
  EMU_ENTER(cuEventCreate);
  return emu_cuda_current() ? emu_event_create(flags, event) : EMU_INVALID_CONTEXT;
}

cuda_result cuEventDestroy_v2(void *event) {
  EMU_ENTER(cuEventDestroy_v2);
  return emu_event_destroy(event);
}

cuda_result cuEventRecord(void *event, void *handle) {
  EMU_ENTER(cuEventRecord);
  STREAM(stream, handle);
  return emu_event_record(event, stream);
}

cuda_result cuEventQuery(void *event) {
  EMU_ENTER(cuEventQuery);
  return emu_event_query(event);
}

cuda_result cuEventSynchronize(void *event) {
  EMU_ENTER(cuEventSynchronize);
  return emu_event_synchronize(event);
}

cuda_result cuEventElapsedTime(float *milliseconds, void *start, void *stop) {
  EMU_ENTER(cuEventElapsedTime);
  return emu_event_elapsed(start, stop, milliseconds);
}

cuda_result cuEventElapsedTime_v2(float *milliseconds, void *start, void *stop) {
  EMU_ENTER(cuEventElapsedTime_v2);
  return emu_event_elapsed(start, stop, milliseconds);
}

/* ---- captures ---- */

cuda_result cuStreamBeginCapture_v2(void *handle, int mode) {
  EMU_ENTER(cuStreamBeginCapture_v2);
  STREAM(stream, handle);
  return emu_capture_begin(stream, mode);
}

cuda_result cuStreamEndCapture(void *handle, void **graph) {
  EMU_ENTER(cuStreamEndCapture);
  *graph = NULL;
  STREAM(stream, handle);
  return emu_capture_end(stream, graph);
}

cuda_result cuStreamIsCapturing(void *handle, int *status) {
  EMU_ENTER(cuStreamIsCapturing);
  STREAM(stream, handle);
  return emu_capture_status_of(stream, status);
}

cuda_result cuStreamGetCaptureInfo_v2(void *handle, int *status, unsigned long long *id,
                                      void **graph, void *const **nodes, size_t *n) {
  EMU_ENTER(cuStreamGetCaptureInfo_v2);
  STREAM(stream, handle);
  return emu_capture_info(stream, status, id, graph, nodes, n);
}

/* Edges bear no data: all are plain. */
cuda_result cuStreamGetCaptureInfo_v3(void *handle, int *status, unsigned long long *id,
                                      void **graph, void *const **nodes, const void **edges,
                                      size_t *n) {
  EMU_ENTER(cuStreamGetCaptureInfo_v3);
  STREAM(stream, handle);
  if (edges) *edges = NULL;
  return emu_capture_info(stream, status, id, graph, nodes, n);
}

cuda_result cuThreadExchangeStreamCaptureMode(int *mode) {
  EMU_ENTER(cuThreadExchangeStreamCaptureMode);
  return emu_capture_exchange(mode);
}

/* ---- graphs ---- */

cuda_result cuGraphInstantiate_v2(void **exec, void *graph, void **node, char *log, size_t bytes) {
  EMU_ENTER(cuGraphInstantiate_v2);
  if (node) *node = NULL;
  if (log && bytes > 0) log[0] = 0;
  return emu_exec_create(graph, 0, exec);
}

/* Uploads happen by themselves (2); priorities of nodes mean nothing here (8). */
cuda_result cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
  EMU_ENTER(cuGraphInstantiateWithFlags);
  *exec = NULL;
  if (flags & ~(unsigned long long)(EMU_GRAPH_FREES_ON_LAUNCH | 2 | 8)) return EMU_INVALID_VALUE;
  return emu_exec_create(graph, flags, exec);
}

cuda_result cuGraphLaunch(void *exec, void *handle) {
  EMU_ENTER(cuGraphLaunch);
  STREAM(stream, handle);
  return emu_exec_launch(exec, stream);
}

cuda_result cuGraphUpload(void *exec, void *handle) {
  EMU_ENTER(cuGraphUpload);
  STREAM(stream, handle);
  return emu_exec_is_one(exec) ? 0 : EMU_INVALID_VALUE;
}

cuda_result cuGraphExecDestroy(void *exec) {
  EMU_ENTER(cuGraphExecDestroy);
  return emu_exec_destroy(exec);
}

cuda_result cuGraphDestroy(void *graph) {
  EMU_ENTER(cuGraphDestroy);
  return emu_graph_destroy(graph);
}

cuda_result cuGraphGetNodes(void *graph, void **nodes, size_t *n) {
  EMU_ENTER(cuGraphGetNodes);
  return emu_graph_nodes(graph, nodes, n);
}

cuda_result cuGraphGetEdges(void *graph, void **from, void **to, size_t *n) {
  EMU_ENTER(cuGraphGetEdges);
  return emu_graph_edges(graph, from, to, n);
}

cuda_result cuGraphNodeGetType(void *node, int *type) {
  EMU_ENTER(cuGraphNodeGetType);
  return emu_node_type(node, type);
}

/* Parameters are not given back. */
cuda_result cuGraphKernelNodeGetParams_v2(void *node, cuda_kernel_node *params) {
  EMU_ENTER(cuGraphKernelNodeGetParams_v2);
  const emu_launch *launch = emu_node_launch(node);
  if (!launch) return EMU_INVALID_VALUE;
  *params = (cuda_kernel_node){.function = launch->function,
                               .grid_x = launch->blocks,
                               .grid_y = 1,
                               .grid_z = 1,
                               .block_x = launch->threads,
                               .block_y = 1,
                               .block_z = 1,
                               .shared_bytes = launch->shared_bytes};
  return 0;
}
