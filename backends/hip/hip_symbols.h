/* The HIP functions that llrt calls, with llrt's own declarations of them: opaque handles are
 * pointers, hipError_t and the other enums are int (hip_runtime_api.h of ROCm 5 to 7, which agree
 * on these). */
#ifndef LLRT_BACKENDS_HIP_SYMBOLS_H
#define LLRT_BACKENDS_HIP_SYMBOLS_H

#include <stddef.h>

typedef int hip_result;

/* hipError_t */
#define HIP_RESULT_INVALID_VALUE 1
#define HIP_RESULT_OUT_OF_MEMORY 2
#define HIP_RESULT_NO_DEVICE 100
#define HIP_RESULT_INVALID_DEVICE 101
#define HIP_RESULT_INVALID_IMAGE 200
#define HIP_RESULT_NO_BINARY_FOR_GPU 209
#define HIP_RESULT_NOT_READY 600
#define HIP_RESULT_PEER_ENABLED 704

/* hipDeviceAttribute_t */
#define HIP_ATTRIBUTE_CLOCK_KHZ 5
#define HIP_ATTRIBUTE_L2_BYTES 19
#define HIP_ATTRIBUTE_MULTIPROCESSORS 63
#define HIP_ATTRIBUTE_PAGEABLE_ACCESS 65

/* hipMemcpyKind */
#define HIP_COPY_HOST_TO_DEVICE 1
#define HIP_COPY_DEVICE_TO_HOST 2
#define HIP_COPY_DEVICE_TO_DEVICE 3

/* hipMemPoolProps of ROCm 5.2 and later; zero at its end means the presets. */
#define HIP_ALLOCATION_PINNED 1 /* hipMemAllocationType */
#define HIP_HANDLE_POSIX_FD 1   /* hipMemAllocationHandleType */
#define HIP_LOCATION_DEVICE 1   /* hipMemLocationType */
#define HIP_POOL_RELEASE_THRESHOLD \
  4 /* hipMemPoolAttr: bytes that a pool keeps when streams synchronise */
typedef struct hip_pool_properties {
  int allocation_type, handle_types, location_type, location_id;
  void *security_attributes;
  size_t max_bytes;
  char reserved[96];
} hip_pool_properties;

#define HIP_STREAM_NON_BLOCKING 1 /* hipStreamNonBlocking */
#define HIP_STREAM_LAST 1000      /* a priority: the runtime takes the least that it has */
#define HIP_CAPTURE_RELAXED 2     /* hipStreamCaptureMode */
#define HIP_HOST_FOR_KERNELS 3    /* hipHostMallocPortable | hipHostMallocMapped */

/* hipPointerAttribute_t. The numbers of hipMemoryType changed with ROCm 6, so none is read; the
 * fields' places did not. */
typedef struct hip_pointer_attributes {
  int type, device;
  void *device_pointer, *host_pointer;
  int managed;
  unsigned flags;
} hip_pointer_attributes;

/* X(required, type, function, arguments). The struct of hipGetDeviceProperties changed with ROCm 6
 * and the function's name with it; hip_device.c says how both are read. */
#define HIP_SYMBOLS(X) \
  X(1, hip_result, hipInit, (unsigned flags)) \
  X(1, const char *, hipGetErrorName, (hip_result result)) \
  X(1, const char *, hipGetErrorString, (hip_result result)) \
  X(1, hip_result, hipGetDeviceCount, (int *count)) \
  X(1, hip_result, hipGetDevice, (int *device)) \
  X(1, hip_result, hipSetDevice, (int device)) \
  X(1, hip_result, hipDeviceGetName, (char *name, int size, int device)) \
  X(1, hip_result, hipDeviceGetAttribute, (int *value, int attribute, int device)) \
  X(1, hip_result, hipDeviceTotalMem, (size_t *bytes, int device)) \
  X(0, hip_result, hipGetDevicePropertiesR0600, (void *properties, int device)) \
  X(0, hip_result, hipGetDeviceProperties, (void *properties, int device)) \
  X(1, hip_result, hipMalloc, (void **memory, size_t bytes)) \
  X(1, hip_result, hipFree, (void *memory)) \
  X(0, hip_result, hipHostRegister, (void *memory, size_t bytes, unsigned flags)) \
  X(0, hip_result, hipHostUnregister, (void *memory)) \
  X(0, hip_result, hipHostMalloc, (void **memory, size_t bytes, unsigned flags)) \
  X(0, hip_result, hipHostFree, (void *memory)) \
  X(0, hip_result, hipDeviceCanAccessPeer, (int *can, int device, int peer)) \
  X(0, hip_result, hipDeviceEnablePeerAccess, (int peer, unsigned flags)) \
  X(0, hip_result, hipPointerGetAttributes, \
    (hip_pointer_attributes * attributes, const void *memory)) \
  X(0, hip_result, hipGetLastError, (void)) \
  X(1, hip_result, hipMemcpyAsync, \
    (void *destination, const void *source, size_t bytes, int kind, void *stream)) \
  X(1, hip_result, hipMemsetAsync, (void *memory, int value, size_t bytes, void *stream)) \
  X(1, hip_result, hipStreamSynchronize, (void *stream)) \
  X(0, hip_result, hipStreamCreateWithPriority, (void **stream, unsigned flags, int priority)) \
  X(0, hip_result, hipStreamDestroy, (void *stream)) \
  X(1, hip_result, hipStreamIsCapturing, (void *stream, int *status)) \
  X(0, hip_result, hipStreamGetId, (void *stream, unsigned long long *id)) \
  X(0, hip_result, hipThreadExchangeStreamCaptureMode, (int *mode)) \
  X(1, hip_result, hipDeviceSynchronize, (void)) \
  X(0, hip_result, hipMemPoolCreate, (void **pool, const hip_pool_properties *properties)) \
  X(0, hip_result, hipMemPoolDestroy, (void *pool)) \
  X(0, hip_result, hipMemPoolSetAttribute, (void *pool, int attribute, void *value)) \
  X(0, hip_result, hipMemPoolTrimTo, (void *pool, size_t keep_bytes)) \
  X(0, hip_result, hipMallocAsync, (void **memory, size_t bytes, void *stream)) \
  X(0, hip_result, hipMallocFromPoolAsync, \
    (void **memory, size_t bytes, void *pool, void *stream)) \
  X(0, hip_result, hipFreeAsync, (void *memory, void *stream)) \
  X(1, hip_result, hipEventCreateWithFlags, (void **event, unsigned flags)) \
  X(1, hip_result, hipEventDestroy, (void *event)) \
  X(1, hip_result, hipEventRecord, (void *event, void *stream)) \
  X(1, hip_result, hipEventSynchronize, (void *event)) \
  X(1, hip_result, hipEventQuery, (void *event)) \
  X(1, hip_result, hipStreamWaitEvent, (void *stream, void *event, unsigned flags)) \
  X(1, hip_result, hipEventElapsedTime, (float *milliseconds, void *start, void *stop)) \
  X(1, hip_result, hipModuleLoadData, (void **module, const void *image)) \
  X(1, hip_result, hipModuleUnload, (void *module)) \
  X(1, hip_result, hipModuleGetFunction, (void **function, void *module, const char *name)) \
  X(1, hip_result, hipModuleLaunchKernel, \
    (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, \
     void **extra))

#endif
