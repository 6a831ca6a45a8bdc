/* The CUDA driver functions that llrt calls, with llrt's own declarations of them: opaque handles
 * are pointers, CUresult and the other enums are int. Names carry the ABI version that the
 * declarations are of (cuda.h of CUDA 12). */
#ifndef LLRT_BACKENDS_CUDA_SYMBOLS_H
#define LLRT_BACKENDS_CUDA_SYMBOLS_H

#include <stddef.h>

typedef int cuda_result;
typedef int cuda_ordinal;            /* CUdevice */
typedef unsigned long long cuda_ptr; /* CUdeviceptr */

/* CUresult */
#define CUDA_RESULT_INVALID_VALUE 1
#define CUDA_RESULT_OUT_OF_MEMORY 2
#define CUDA_RESULT_NO_DEVICE 100
#define CUDA_RESULT_INVALID_IMAGE 200
#define CUDA_RESULT_NO_BINARY_FOR_GPU 209
#define CUDA_RESULT_UNSUPPORTED_PTX_VERSION 222
#define CUDA_RESULT_NOT_READY 600
#define CUDA_RESULT_PEER_ENABLED 704 /* peer access is enabled already */

/* CUdevice_attribute */
#define CUDA_ATTRIBUTE_CLOCK_KHZ 13
#define CUDA_ATTRIBUTE_MULTIPROCESSORS 16
#define CUDA_ATTRIBUTE_L2_BYTES 38
#define CUDA_ATTRIBUTE_CAPABILITY_MAJOR 75
#define CUDA_ATTRIBUTE_CAPABILITY_MINOR 76
#define CUDA_ATTRIBUTE_PAGEABLE_ACCESS 88 /* kernels reach all of the host's memory */
/* Of a block that asks for more than CUDA_SHARED_WITHOUT_ASKING. */
#define CUDA_ATTRIBUTE_SHARED_BYTES 97

/* CUfunction_attribute, CUjit_option, CUjitInputType */
#define CUDA_FUNCTION_REGISTERS 4
#define CUDA_FUNCTION_DYNAMIC_SHARED 8
#define CUDA_SHARED_WITHOUT_ASKING (48 << 10) /* bytes of dynamic shared memory */
#define CUDA_JIT_ERROR_LOG 5
#define CUDA_JIT_ERROR_LOG_BYTES 6
#define CUDA_JIT_INPUT_PTX 1

/* CUlaunchAttribute, CUlaunchConfig */
#define CUDA_LAUNCH_CLUSTER_DIMENSION 4
#define CUDA_LAUNCH_PROGRAMMATIC_SERIALIZATION 6
#define CUDA_VERSION_OF_PROGRAMMATIC_CAPTURE 12030 /* graphs know of programmatic dependencies */
typedef struct cuda_launch_attribute {
  int id;
  char pad[4];
  union {
    char size[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int programmatic_serialization;
  } value;
} cuda_launch_attribute;
typedef struct cuda_launch_config {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void *stream;
  const cuda_launch_attribute *attributes;
  unsigned n_attributes;
} cuda_launch_config;

/* CUmemPoolProps of CUDA 11.2 and later, whose reserved end shrank as fields were added; zero there
 * means the presets. */
#define CUDA_ATTRIBUTE_MEMORY_POOLS 115
#define CUDA_ATTRIBUTE_POOL_HANDLES 119 /* bits: CUmemAllocationHandleType of pools */
#define CUDA_ALLOCATION_PINNED 1        /* CUmemAllocationType */
#define CUDA_HANDLE_POSIX_FD 1          /* CUmemAllocationHandleType */
#define CUDA_LOCATION_DEVICE 1          /* CUmemLocationType */
/* CUmemPool_attribute: bytes that a pool keeps when streams synchronise. */
#define CUDA_POOL_RELEASE_THRESHOLD 4
typedef struct cuda_pool_properties {
  int allocation_type, handle_types, location_type, location_id;
  void *security_attributes;
  size_t max_bytes;
  char reserved[96];
} cuda_pool_properties;

/* CUmemAllocationProp, CUmemAccessDesc, CUuuid, CUipcMemHandle */
#define CUDA_ATTRIBUTE_FD_HANDLES 103 /* allocations may be given as POSIX file descriptors */
#define CUDA_ACCESS_READ_WRITE 3
#define CUDA_IPC_PEER_ACCESS 1 /* opening lets the context at the peer's memory */
typedef struct cuda_allocation_properties {
  int type, handle_types, location_type, location_id;
  void *security_attributes;
  unsigned char flags[8];
} cuda_allocation_properties;
typedef struct cuda_access {
  int location_type, location_id, flags;
} cuda_access;
typedef struct cuda_uuid {
  char bytes[16];
} cuda_uuid;
typedef struct cuda_ipc_handle {
  char bytes[64];
} cuda_ipc_handle;

#define CUDA_HOST_FOR_KERNELS 3    /* CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP */
#define CUDA_STREAM_NON_BLOCKING 1 /* CUstream_flags */
#define CUDA_STREAM_LAST 1000      /* a priority: the driver takes the least that it has */
#define CUDA_CAPTURE_RELAXED 2     /* CUstreamCaptureMode */
#define CUDA_POINTER_MEMORY_TYPE 2 /* CUpointer_attribute */
#define CUDA_POINTER_IPC_CAPABLE 10

/* CUtensorMap, CUtensorMapDataType, CUtensorMapL2promotion. Values of the swizzle are log2 pieces
 * of 16 bytes. */
#define CUDA_TENSOR_MAP_BYTES 128
#define CUDA_TENSOR_MAP_ALIGNMENT 64
#define CUDA_TENSOR_MAP_U8 0 /* of wider numbers: + log2 bytes */
#define CUDA_TENSOR_MAP_PROMOTE_128 2
#define CUDA_TENSOR_MAP_PROMOTE_256 3

/* X(required, function, arguments) */
#define CUDA_SYMBOLS(X) \
  X(1, cuInit, (unsigned flags)) \
  X(0, cuDriverGetVersion, (int *version)) \
  X(1, cuGetErrorName, (cuda_result result, const char **text)) \
  X(1, cuGetErrorString, (cuda_result result, const char **text)) \
  X(1, cuDeviceGetCount, (int *count)) \
  X(1, cuDeviceGet, (cuda_ordinal * device, int ordinal)) \
  X(1, cuDeviceGetName, (char *name, int size, cuda_ordinal device)) \
  X(1, cuDeviceGetAttribute, (int *value, int attribute, cuda_ordinal device)) \
  X(1, cuDeviceTotalMem_v2, (size_t *bytes, cuda_ordinal device)) \
  X(1, cuDevicePrimaryCtxRetain, (void **context, cuda_ordinal device)) \
  X(1, cuDevicePrimaryCtxRelease_v2, (cuda_ordinal device)) \
  X(1, cuCtxPushCurrent_v2, (void *context)) \
  X(1, cuCtxPopCurrent_v2, (void **context)) \
  X(1, cuCtxGetDevice, (cuda_ordinal * device)) \
  X(0, cuDeviceCanAccessPeer, (int *can, cuda_ordinal device, cuda_ordinal peer)) \
  X(0, cuCtxEnablePeerAccess, (void *peer, unsigned flags)) \
  X(1, cuMemAlloc_v2, (cuda_ptr * memory, size_t bytes)) \
  X(1, cuMemFree_v2, (cuda_ptr memory)) \
  X(0, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags)) \
  X(0, cuMemFreeHost, (void *memory)) \
  X(0, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags)) \
  X(0, cuMemHostUnregister, (void *memory)) \
  X(0, cuDeviceGetUuid_v2, (cuda_uuid * uuid, cuda_ordinal device)) \
  X(0, cuMemGetAddressRange_v2, (cuda_ptr * begin, size_t *bytes, cuda_ptr address)) \
  X(0, cuIpcGetMemHandle, (cuda_ipc_handle * handle, cuda_ptr memory)) \
  X(0, cuIpcOpenMemHandle_v2, (cuda_ptr * memory, cuda_ipc_handle handle, unsigned flags)) \
  X(0, cuIpcCloseMemHandle, (cuda_ptr memory)) \
  X(0, cuMemGetAllocationGranularity, \
    (size_t *bytes, const cuda_allocation_properties *properties, int option)) \
  X(0, cuMemCreate, \
    (unsigned long long *allocation, size_t bytes, const cuda_allocation_properties *properties, \
     unsigned long long flags)) \
  X(0, cuMemRelease, (unsigned long long allocation)) \
  X(0, cuMemAddressReserve, \
    (cuda_ptr * address, size_t bytes, size_t alignment, cuda_ptr wanted, \
     unsigned long long flags)) \
  X(0, cuMemAddressFree, (cuda_ptr address, size_t bytes)) \
  X(0, cuMemMap, \
    (cuda_ptr address, size_t bytes, size_t offset, unsigned long long allocation, \
     unsigned long long flags)) \
  X(0, cuMemUnmap, (cuda_ptr address, size_t bytes)) \
  X(0, cuMemSetAccess, (cuda_ptr address, size_t bytes, const cuda_access *access, size_t count)) \
  X(0, cuMemExportToShareableHandle, \
    (void *handle, unsigned long long allocation, int type, unsigned long long flags)) \
  X(0, cuMemImportFromShareableHandle, (unsigned long long *allocation, void *handle, int type)) \
  X(1, cuMemcpyHtoDAsync_v2, \
    (cuda_ptr destination, const void *source, size_t bytes, void *stream)) \
  X(1, cuMemcpyDtoHAsync_v2, (void *destination, cuda_ptr source, size_t bytes, void *stream)) \
  X(1, cuMemcpyDtoDAsync_v2, (cuda_ptr destination, cuda_ptr source, size_t bytes, void *stream)) \
  X(1, cuMemsetD8Async, (cuda_ptr memory, unsigned char value, size_t bytes, void *stream)) \
  X(1, cuStreamSynchronize, (void *stream)) \
  X(0, cuStreamCreateWithPriority, (void **stream, unsigned flags, int priority)) \
  X(0, cuStreamDestroy_v2, (void *stream)) \
  X(1, cuStreamIsCapturing, (void *stream, int *status)) \
  X(0, cuStreamGetId, (void *stream, unsigned long long *id)) \
  X(0, cuThreadExchangeStreamCaptureMode, (int *mode)) \
  X(1, cuCtxSynchronize, (void)) \
  X(0, cuPointerGetAttribute, (void *data, int attribute, cuda_ptr address)) \
  X(0, cuMemPoolCreate, (void **pool, const cuda_pool_properties *properties)) \
  X(0, cuMemPoolDestroy, (void *pool)) \
  X(0, cuMemPoolSetAttribute, (void *pool, int attribute, void *value)) \
  X(0, cuMemPoolTrimTo, (void *pool, size_t keep_bytes)) \
  X(0, cuMemAllocAsync, (cuda_ptr * memory, size_t bytes, void *stream)) \
  X(0, cuMemAllocFromPoolAsync, (cuda_ptr * memory, size_t bytes, void *pool, void *stream)) \
  X(0, cuMemFreeAsync, (cuda_ptr memory, void *stream)) \
  X(1, cuEventCreate, (void **event, unsigned flags)) \
  X(1, cuEventDestroy_v2, (void *event)) \
  X(1, cuEventRecord, (void *event, void *stream)) \
  X(1, cuEventSynchronize, (void *event)) \
  X(1, cuEventQuery, (void *event)) \
  X(1, cuStreamWaitEvent, (void *stream, void *event, unsigned flags)) \
  X(1, cuEventElapsedTime, (float *milliseconds, void *start, void *stop)) \
  X(1, cuLinkCreate_v2, (unsigned n_options, int *options, void **values, void **link)) \
  X(1, cuLinkAddData_v2, \
    (void *link, int type, void *data, size_t size, const char *name, unsigned n_options, \
     int *options, void **values)) \
  X(1, cuLinkComplete, (void *link, void **cubin, size_t *size)) \
  X(1, cuLinkDestroy, (void *link)) \
  X(1, cuModuleLoadDataEx, \
    (void **module, const void *image, unsigned n_options, int *options, void **values)) \
  X(1, cuModuleUnload, (void *module)) \
  X(1, cuModuleGetFunction, (void **function, void *module, const char *name)) \
  X(1, cuFuncGetAttribute, (int *value, int attribute, void *function)) \
  X(1, cuFuncSetAttribute, (void *function, int attribute, int value)) \
  X(0, cuFuncLoad, (void *function)) \
  X(1, cuLaunchKernel, \
    (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, \
     void **extra)) \
  X(0, cuTensorMapEncodeTiled, \
    (void *map, int type, unsigned rank, void *address, const unsigned long long *extents, \
     const unsigned long long *strides, const unsigned *box, const unsigned *element_strides, \
     int interleave, int swizzle, int promotion, int fill)) \
  X(0, cuOccupancyMaxActiveClusters, \
    (int *clusters, void *function, const cuda_launch_config *config)) \
  X(0, cuLaunchKernelEx, \
    (const cuda_launch_config *config, void *function, void **parameters, void **extra))

#endif
