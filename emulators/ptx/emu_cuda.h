/* What libllrt-emu-cuda.so exports besides the driver's functions that llrt itself calls, for tests
 * that look: functions of its own (and those of common/emu_control.h), and the driver's functions
 * for streams, graphs, pools and contexts, as cuda.h of CUDA 13 declares them, with handles as
 * pointers and enums as int. */
#ifndef LLRT_EMULATORS_EMU_CUDA_H
#define LLRT_EMULATORS_EMU_CUDA_H

#include "backends/cuda/cuda_symbols.h"
#include "emulators/common/emu_counters.h"

#include <stdint.h>

/* The counters of the last launch of this process; *counters is overwritten. */
#define EMU_CUDA_LAST_COUNTERS "llrt_emu_last_counters"
void llrt_emu_last_counters(emu_counters *counters);

/* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct cuda_kernel_node {
  void *function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void **parameters, **extra, *kernel, *context;
} cuda_kernel_node;

/* X(function, arguments) */
#define EMU_CUDA_CONTEXTS(X) \
  X(cuCtxCreate_v2, (void **context, unsigned flags, cuda_ordinal device)) \
  X(cuCtxCreate_v4, (void **context, void *params, unsigned flags, cuda_ordinal device)) \
  X(cuCtxDestroy_v2, (void *context)) \
  X(cuCtxPushCurrent_v2, (void *context)) \
  X(cuCtxPopCurrent_v2, (void **context)) \
  X(cuCtxSetCurrent, (void *context)) \
  X(cuCtxGetCurrent, (void **context)) \
  X(cuCtxGetDevice, (cuda_ordinal * device)) \
  X(cuDeviceCanAccessPeer, (int *can, cuda_ordinal device, cuda_ordinal peer)) \
  X(cuCtxEnablePeerAccess, (void *peer, unsigned flags)) \
  X(cuCtxGetId, (void *context, unsigned long long *id)) \
  X(cuCtxSynchronize, (void)) \
  X(cuDevicePrimaryCtxRetain, (void **context, cuda_ordinal device)) \
  X(cuDevicePrimaryCtxRelease_v2, (cuda_ordinal device)) \
  X(cuDevicePrimaryCtxReset_v2, (cuda_ordinal device)) \
  X(cuDevicePrimaryCtxGetState, (cuda_ordinal device, unsigned *flags, int *active))
#define EMU_CUDA_STREAMS(X) \
  X(cuStreamCreate, (void **stream, unsigned flags)) \
  X(cuStreamCreateWithPriority, (void **stream, unsigned flags, int priority)) \
  X(cuStreamDestroy_v2, (void *stream)) \
  X(cuStreamSynchronize, (void *stream)) \
  X(cuStreamQuery, (void *stream)) \
  X(cuStreamWaitEvent, (void *stream, void *event, unsigned flags)) \
  X(cuStreamGetId, (void *stream, unsigned long long *id)) \
  X(cuStreamGetCtx, (void *stream, void **context)) \
  X(cuStreamGetFlags, (void *stream, unsigned *flags)) \
  X(cuStreamGetPriority, (void *stream, int *priority)) \
  X(cuEventCreate, (void **event, unsigned flags)) \
  X(cuEventDestroy_v2, (void *event)) \
  X(cuEventRecord, (void *event, void *stream)) \
  X(cuEventQuery, (void *event)) \
  X(cuEventSynchronize, (void *event)) \
  X(cuEventElapsedTime, (float *milliseconds, void *start, void *stop)) \
  X(cuEventElapsedTime_v2, (float *milliseconds, void *start, void *stop)) \
  X(cuLaunchHostFunc, (void *stream, void (*call)(void *), void *user))
#define EMU_CUDA_MEMORY(X) \
  X(cuMemAlloc_v2, (cuda_ptr * memory, size_t bytes)) \
  X(cuMemFree_v2, (cuda_ptr memory)) \
  X(cuMemAllocHost_v2, (void **memory, size_t bytes)) \
  X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags)) \
  X(cuMemFreeHost, (void *memory)) \
  X(cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags)) \
  X(cuMemHostUnregister, (void *memory)) \
  X(cuMemGetInfo_v2, (size_t *available, size_t *total)) \
  X(cuMemcpy, (cuda_ptr destination, cuda_ptr source, size_t bytes)) \
  X(cuMemcpyAsync, (cuda_ptr destination, cuda_ptr source, size_t bytes, void *stream)) \
  X(cuMemcpyHtoD_v2, (cuda_ptr destination, const void *source, size_t bytes)) \
  X(cuMemcpyDtoH_v2, (void *destination, cuda_ptr source, size_t bytes)) \
  X(cuMemcpyDtoD_v2, (cuda_ptr destination, cuda_ptr source, size_t bytes)) \
  X(cuMemcpyHtoDAsync_v2, (cuda_ptr destination, const void *source, size_t bytes, void *stream)) \
  X(cuMemcpyDtoHAsync_v2, (void *destination, cuda_ptr source, size_t bytes, void *stream)) \
  X(cuMemcpyDtoDAsync_v2, (cuda_ptr destination, cuda_ptr source, size_t bytes, void *stream)) \
  X(cuMemsetD8_v2, (cuda_ptr memory, unsigned char value, size_t count)) \
  X(cuMemsetD32_v2, (cuda_ptr memory, unsigned value, size_t count)) \
  X(cuMemsetD8Async, (cuda_ptr memory, unsigned char value, size_t count, void *stream)) \
  X(cuMemsetD16Async, (cuda_ptr memory, unsigned short value, size_t count, void *stream)) \
  X(cuMemsetD32Async, (cuda_ptr memory, unsigned value, size_t count, void *stream)) \
  X(cuPointerGetAttribute, (void *data, int attribute, cuda_ptr address)) \
  X(cuPointerGetAttributes, (unsigned n, int *attributes, void **data, cuda_ptr address)) \
  X(cuMemAllocAsync, (cuda_ptr * memory, size_t bytes, void *stream)) \
  X(cuMemAllocFromPoolAsync, (cuda_ptr * memory, size_t bytes, void *pool, void *stream)) \
  X(cuMemFreeAsync, (cuda_ptr memory, void *stream)) \
  X(cuMemPoolCreate, (void **pool, const cuda_pool_properties *properties)) \
  X(cuMemPoolDestroy, (void *pool)) \
  X(cuMemPoolSetAttribute, (void *pool, int attribute, void *value)) \
  X(cuMemPoolGetAttribute, (void *pool, int attribute, void *value)) \
  X(cuMemPoolTrimTo, (void *pool, size_t keep_bytes)) \
  X(cuMemPoolSetAccess, (void *pool, const void *access, size_t count)) \
  X(cuMemPoolExportToShareableHandle, \
    (void *handle, void *pool, int type, unsigned long long flags)) \
  X(cuDeviceGetDefaultMemPool, (void **pool, cuda_ordinal device)) \
  X(cuDeviceGetMemPool, (void **pool, cuda_ordinal device)) \
  X(cuDeviceSetMemPool, (cuda_ordinal device, void *pool))
#define EMU_CUDA_GRAPHS(X) \
  X(cuStreamBeginCapture_v2, (void *stream, int mode)) \
  X(cuStreamEndCapture, (void *stream, void **graph)) \
  X(cuStreamIsCapturing, (void *stream, int *status)) \
  X(cuStreamGetCaptureInfo_v2, (void *stream, int *status, unsigned long long *id, void **graph, \
                                void *const **nodes, size_t *n)) \
  X(cuStreamGetCaptureInfo_v3, (void *stream, int *status, unsigned long long *id, void **graph, \
                                void *const **nodes, const void **edges, size_t *n)) \
  X(cuThreadExchangeStreamCaptureMode, (int *mode)) \
  X(cuGraphInstantiate_v2, (void **exec, void *graph, void **node, char *log, size_t bytes)) \
  X(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags)) \
  X(cuGraphLaunch, (void *exec, void *stream)) \
  X(cuGraphUpload, (void *exec, void *stream)) \
  X(cuGraphExecDestroy, (void *exec)) \
  X(cuGraphDestroy, (void *graph)) \
  X(cuGraphGetNodes, (void *graph, void **nodes, size_t *n)) \
  X(cuGraphGetEdges, (void *graph, void **from, void **to, size_t *n)) \
  X(cuGraphNodeGetType, (void *node, int *type)) \
  X(cuGraphKernelNodeGetParams_v2, (void *node, cuda_kernel_node *params))
#define EMU_CUDA_SHARING(X) \
  X(cuDeviceGetUuid_v2, (cuda_uuid * uuid, cuda_ordinal device)) \
  X(cuMemGetAddressRange_v2, (cuda_ptr * begin, size_t *bytes, cuda_ptr address)) \
  X(cuIpcGetMemHandle, (cuda_ipc_handle * handle, cuda_ptr memory)) \
  X(cuIpcOpenMemHandle_v2, (cuda_ptr * memory, cuda_ipc_handle handle, unsigned flags)) \
  X(cuIpcCloseMemHandle, (cuda_ptr memory)) \
  X(cuMemGetAllocationGranularity, \
    (size_t *bytes, const cuda_allocation_properties *properties, int option)) \
  X(cuMemCreate, (unsigned long long *allocation, size_t bytes, \
                  const cuda_allocation_properties *properties, unsigned long long flags)) \
  X(cuMemRelease, (unsigned long long allocation)) \
  X(cuMemAddressReserve, (cuda_ptr * address, size_t bytes, size_t alignment, cuda_ptr wanted, \
                          unsigned long long flags)) \
  X(cuMemAddressFree, (cuda_ptr address, size_t bytes)) \
  X(cuMemMap, (cuda_ptr address, size_t bytes, size_t offset, unsigned long long allocation, \
               unsigned long long flags)) \
  X(cuMemUnmap, (cuda_ptr address, size_t bytes)) \
  X(cuMemSetAccess, (cuda_ptr address, size_t bytes, const cuda_access *access, size_t count)) \
  X(cuMemExportToShareableHandle, \
    (void *handle, unsigned long long allocation, int type, unsigned long long flags)) \
  X(cuMemImportFromShareableHandle, (unsigned long long *allocation, void *handle, int type))
#define EMU_CUDA_SYMBOLS(X) \
  EMU_CUDA_SHARING(X) EMU_CUDA_CONTEXTS(X) EMU_CUDA_STREAMS(X) EMU_CUDA_MEMORY(X) EMU_CUDA_GRAPHS(X)

/* Inside the library: the thread's current context (NULL: none), the primary one of a device,
 * whether or not it is retained, and a stream of the current context. */
struct emu_context;
struct emu_stream;
struct emu_context *emu_cuda_current(void);
struct emu_context *emu_cuda_primary(cuda_ordinal device);
int emu_cuda_stream(void *handle, struct emu_stream **stream);
#define EMU_CUDA_DEVICES 8 /* at most; LLRT_EMU_DEVICES=N: there are N, 4 unless said */
#define EMU_CUDA_KINDS 4   /* which repeat */
#define EMU_CUDA_BYTES ((size_t)4 << 30) /* of each device */

#endif
