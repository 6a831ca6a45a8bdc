/* Streams, events, captures and graphs of the emulated libamdhip64, over common/emu_driver.h. */
#include "emulators/common/emu_calls.h"
#include "emulators/common/emu_driver.h"
#include "emulators/gfx9/emu_hip.h"

#define PROTOTYPE(name, arguments) EMU_HIP_API hip_result name arguments;
EMU_HIP_STREAMS(PROTOTYPE)
EMU_HIP_GRAPHS(PROTOTYPE)
#undef PROTOTYPE

/* With `name` the stream of `handle`, or returns that there is none. */
#define STREAM(name, handle) \
  emu_stream *name; \
  int name##_error = emu_hip_stream(handle, &name); \
  if (name##_error) return name##_error

hip_result hipDeviceSynchronize(void) {
  EMU_ENTER(hipDeviceSynchronize);
  return emu_context_synchronize(emu_hip_context(emu_hip_current()));
}

hip_result hipStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  EMU_ENTER(hipStreamCreateWithPriority);
  return emu_stream_create(emu_hip_context(emu_hip_current()), flags, priority, stream);
}

hip_result hipStreamCreateWithFlags(void **stream, unsigned flags) {
  EMU_ENTER(hipStreamCreateWithFlags);
  return emu_stream_create(emu_hip_context(emu_hip_current()), flags, 0, stream);
}

hip_result hipStreamCreate(void **stream) {
  EMU_ENTER(hipStreamCreate);
  return emu_stream_create(emu_hip_context(emu_hip_current()), 0, 0, stream);
}

hip_result hipStreamDestroy(void *stream) {
  EMU_ENTER(hipStreamDestroy);
  return emu_stream_destroy(stream);
}

hip_result hipStreamSynchronize(void *handle) {
  EMU_ENTER(hipStreamSynchronize);
  STREAM(stream, handle);
  return emu_stream_synchronize(stream);
}

hip_result hipStreamQuery(void *handle) {
  EMU_ENTER(hipStreamQuery);
  STREAM(stream, handle);
  return emu_stream_query(stream);
}

hip_result hipStreamWaitEvent(void *handle, void *event, unsigned flags) {
  EMU_ENTER(hipStreamWaitEvent);
  STREAM(stream, handle);
  return flags ? EMU_NOT_SUPPORTED : emu_stream_wait_event(stream, event);
}

hip_result hipStreamGetId(void *handle, unsigned long long *id) {
  EMU_ENTER(hipStreamGetId);
  STREAM(stream, handle);
  *id = emu_stream_id(stream);
  return 0;
}

hip_result hipStreamGetFlags(void *handle, unsigned *flags) {
  EMU_ENTER(hipStreamGetFlags);
  STREAM(stream, handle);
  *flags = emu_stream_flags(stream);
  return 0;
}

hip_result hipStreamGetPriority(void *handle, int *priority) {
  EMU_ENTER(hipStreamGetPriority);
  STREAM(stream, handle);
  *priority = emu_stream_priority(stream);
  return 0;
}

hip_result hipStreamGetDevice(void *handle, int *device) {
  EMU_ENTER(hipStreamGetDevice);
  STREAM(stream, handle);
  *device = emu_context_device(emu_stream_context(stream));
  return 0;
}

hip_result hipLaunchHostFunc(void *handle, void (*call)(void *), void *user) {
  EMU_ENTER(hipLaunchHostFunc);
  STREAM(stream, handle);
  return emu_queue_call(stream, call, user);
}

/* ---- events ---- */

hip_result hipEventCreateWithFlags(void **event, unsigned flags) {
  EMU_ENTER(hipEventCreateWithFlags);
  return emu_event_create(flags, event);
}

hip_result hipEventCreate(void **event) {
  EMU_ENTER(hipEventCreate);
  return emu_event_create(0, event);
}

hip_result hipEventDestroy(void *event) {
  EMU_ENTER(hipEventDestroy);
  return emu_event_destroy(event);
}

hip_result hipEventRecord(void *event, void *handle) {
  EMU_ENTER(hipEventRecord);
  STREAM(stream, handle);
  return emu_event_record(event, stream);
}

hip_result hipEventQuery(void *event) {
  EMU_ENTER(hipEventQuery);
  return emu_event_query(event);
}

hip_result hipEventSynchronize(void *event) {
  EMU_ENTER(hipEventSynchronize);
  return emu_event_synchronize(event);
}

hip_result hipEventElapsedTime(float *milliseconds, void *start, void *stop) {
  EMU_ENTER(hipEventElapsedTime);
  return emu_event_elapsed(start, stop, milliseconds);
}

/* ---- captures ---- */

hip_result hipStreamBeginCapture(void *handle, int mode) {
  EMU_ENTER(hipStreamBeginCapture);
  STREAM(stream, handle);
  return emu_capture_begin(stream, mode);
}

hip_result hipStreamEndCapture(void *handle, void **graph) {
  EMU_ENTER(hipStreamEndCapture);
  *graph = NULL;
  STREAM(stream, handle);
  return emu_capture_end(stream, graph);
}

hip_result hipStreamIsCapturing(void *handle, int *status) {
  EMU_ENTER(hipStreamIsCapturing);
  STREAM(stream, handle);
  return emu_capture_status_of(stream, status);
}

hip_result hipStreamGetCaptureInfo(void *handle, int *status, unsigned long long *id) {
  EMU_ENTER(hipStreamGetCaptureInfo);
  STREAM(stream, handle);
  return emu_capture_info(stream, status, id, NULL, NULL, NULL);
}

hip_result hipStreamGetCaptureInfo_v2(void *handle, int *status, unsigned long long *id,
                                      void **graph, void *const **nodes, size_t *n) {
  EMU_ENTER(hipStreamGetCaptureInfo_v2);
  STREAM(stream, handle);
  return emu_capture_info(stream, status, id, graph, nodes, n);
}

hip_result hipThreadExchangeStreamCaptureMode(int *mode) {
  EMU_ENTER(hipThreadExchangeStreamCaptureMode);
  return emu_capture_exchange(mode);
}

/* ---- graphs ---- */

hip_result hipGraphInstantiate(void **exec, void *graph, void **node, char *log, size_t bytes) {
  EMU_ENTER(hipGraphInstantiate);
  if (node) *node = NULL;
  if (log && bytes > 0) log[0] = 0;
  return emu_exec_create(graph, 0, exec);
}

/* Uploads happen by themselves (2); priorities of nodes mean nothing here (8). */
hip_result hipGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
  EMU_ENTER(hipGraphInstantiateWithFlags);
  *exec = NULL;
  if (flags & ~(unsigned long long)(EMU_GRAPH_FREES_ON_LAUNCH | 2 | 8)) return EMU_INVALID_VALUE;
  return emu_exec_create(graph, flags, exec);
}

hip_result hipGraphLaunch(void *exec, void *handle) {
  EMU_ENTER(hipGraphLaunch);
  STREAM(stream, handle);
  return emu_exec_launch(exec, stream);
}

hip_result hipGraphExecDestroy(void *exec) {
  EMU_ENTER(hipGraphExecDestroy);
  return emu_exec_destroy(exec);
}

hip_result hipGraphDestroy(void *graph) {
  EMU_ENTER(hipGraphDestroy);
  return emu_graph_destroy(graph);
}

hip_result hipGraphGetNodes(void *graph, void **nodes, size_t *n) {
  EMU_ENTER(hipGraphGetNodes);
  return emu_graph_nodes(graph, nodes, n);
}

hip_result hipGraphGetEdges(void *graph, void **from, void **to, size_t *n) {
  EMU_ENTER(hipGraphGetEdges);
  return emu_graph_edges(graph, from, to, n);
}

hip_result hipGraphNodeGetType(void *node, int *type) {
  EMU_ENTER(hipGraphNodeGetType);
  return emu_node_type(node, type);
}
