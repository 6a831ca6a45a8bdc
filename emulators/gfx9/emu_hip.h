/* What libllrt-emu-hip.so exports besides the functions that llrt itself calls, for tests that
 * look: those of common/emu_control.h, and HIP's functions for streams, graphs and pools, as
 * hip_runtime_api.h of ROCm 6 declares them, with handles as pointers and enums as int. */
#ifndef LLRT_EMULATORS_EMU_HIP_H
#define LLRT_EMULATORS_EMU_HIP_H

#include "backends/hip/hip_symbols.h"

#include <stdint.h>

/* hip_pointer_attributes.type, as ROCm 6 numbers hipMemoryType */
#define EMU_HIP_UNREGISTERED 0
#define EMU_HIP_HOST 1
#define EMU_HIP_DEVICE 2

/* X(function, arguments) */
#define EMU_HIP_STREAMS(X) \
  X(hipDeviceSynchronize, (void)) \
  X(hipStreamCreate, (void **stream)) \
  X(hipStreamCreateWithFlags, (void **stream, unsigned flags)) \
  X(hipStreamCreateWithPriority, (void **stream, unsigned flags, int priority)) \
  X(hipStreamDestroy, (void *stream)) \
  X(hipStreamSynchronize, (void *stream)) \
  X(hipStreamQuery, (void *stream)) \
  X(hipStreamWaitEvent, (void *stream, void *event, unsigned flags)) \
  X(hipStreamGetId, (void *stream, unsigned long long *id)) \
  X(hipStreamGetFlags, (void *stream, unsigned *flags)) \
  X(hipStreamGetPriority, (void *stream, int *priority)) \
  X(hipStreamGetDevice, (void *stream, int *device)) \
  X(hipEventCreate, (void **event)) \
  X(hipEventCreateWithFlags, (void **event, unsigned flags)) \
  X(hipEventDestroy, (void *event)) \
  X(hipEventRecord, (void *event, void *stream)) \
  X(hipEventQuery, (void *event)) \
  X(hipEventSynchronize, (void *event)) \
  X(hipEventElapsedTime, (float *milliseconds, void *start, void *stop)) \
  X(hipLaunchHostFunc, (void *stream, void (*call)(void *), void *user))
#define EMU_HIP_MEMORY(X) \
  X(hipMalloc, (void **memory, size_t bytes)) \
  X(hipFree, (void *memory)) \
  X(hipHostMalloc, (void **memory, size_t bytes, unsigned flags)) \
  X(hipHostFree, (void *memory)) \
  X(hipHostRegister, (void *memory, size_t bytes, unsigned flags)) \
  X(hipHostUnregister, (void *memory)) \
  X(hipMemcpy, (void *destination, const void *source, size_t bytes, int kind)) \
  X(hipMemcpyAsync, (void *destination, const void *source, size_t bytes, int kind, void *stream)) \
  X(hipMemcpyHtoDAsync, (void *destination, void *source, size_t bytes, void *stream)) \
  X(hipMemcpyDtoHAsync, (void *destination, void *source, size_t bytes, void *stream)) \
  X(hipMemcpyDtoDAsync, (void *destination, void *source, size_t bytes, void *stream)) \
  X(hipMemset, (void *memory, int value, size_t bytes)) \
  X(hipMemsetAsync, (void *memory, int value, size_t bytes, void *stream)) \
  X(hipMemsetD8Async, (void *memory, unsigned char value, size_t count, void *stream)) \
  X(hipMemsetD16Async, (void *memory, unsigned short value, size_t count, void *stream)) \
  X(hipMemsetD32Async, (void *memory, int value, size_t count, void *stream)) \
  X(hipPointerGetAttributes, (hip_pointer_attributes * attributes, const void *memory)) \
  X(hipMallocAsync, (void **memory, size_t bytes, void *stream)) \
  X(hipMallocFromPoolAsync, (void **memory, size_t bytes, void *pool, void *stream)) \
  X(hipFreeAsync, (void *memory, void *stream)) \
  X(hipMemPoolCreate, (void **pool, const hip_pool_properties *properties)) \
  X(hipMemPoolDestroy, (void *pool)) \
  X(hipMemPoolSetAttribute, (void *pool, int attribute, void *value)) \
  X(hipMemPoolGetAttribute, (void *pool, int attribute, void *value)) \
  X(hipMemPoolTrimTo, (void *pool, size_t keep_bytes)) \
  X(hipDeviceGetDefaultMemPool, (void **pool, int device)) \
  X(hipDeviceGetMemPool, (void **pool, int device)) \
  X(hipDeviceSetMemPool, (int device, void *pool))
#define EMU_HIP_GRAPHS(X) \
  X(hipStreamBeginCapture, (void *stream, int mode)) \
  X(hipStreamEndCapture, (void *stream, void **graph)) \
  X(hipStreamIsCapturing, (void *stream, int *status)) \
  X(hipStreamGetCaptureInfo, (void *stream, int *status, unsigned long long *id)) \
  X(hipStreamGetCaptureInfo_v2, (void *stream, int *status, unsigned long long *id, void **graph, \
                                 void *const **nodes, size_t *n)) \
  X(hipThreadExchangeStreamCaptureMode, (int *mode)) \
  X(hipGraphInstantiate, (void **exec, void *graph, void **node, char *log, size_t bytes)) \
  X(hipGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags)) \
  X(hipGraphLaunch, (void *exec, void *stream)) \
  X(hipGraphExecDestroy, (void *exec)) \
  X(hipGraphDestroy, (void *graph)) \
  X(hipGraphGetNodes, (void *graph, void **nodes, size_t *n)) \
  X(hipGraphGetEdges, (void *graph, void **from, void **to, size_t *n)) \
  X(hipGraphNodeGetType, (void *node, int *type))
#define EMU_HIP_SYMBOLS(X) EMU_HIP_STREAMS(X) EMU_HIP_MEMORY(X) EMU_HIP_GRAPHS(X)

#define EMU_HIP_API __attribute__((visibility("default")))

/* Inside the library: what a device has (NULL: there is no such device), the thread's device, a
 * stream of it. */
struct emu_context;
struct emu_stream;
struct emu_context *emu_hip_context(int device);
int emu_hip_current(void);
int emu_hip_stream(void *handle, struct emu_stream **stream);
#define EMU_HIP_DEVICES 2
#define EMU_HIP_BYTES ((size_t)1 << 30) /* of each device */

#endif
