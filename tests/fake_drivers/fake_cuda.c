/* A libcuda without a GPU: device memory is host memory, a cubin is the PTX text with "cubin:"
 * before it, launches are recorded. */
#include "fake_driver.h"

#include "backends/cuda/cuda_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fake_record *fake_driver(void);
#define PROTOTYPE(required, name, arguments) cuda_result name arguments;
CUDA_SYMBOLS(PROTOTYPE)
#undef PROTOTYPE

static fake_record record = {.devices = 1, .major = 9, .minor = 0, .most_shared = 227 << 10};
static char context, cubin[128];

fake_record *fake_driver(void) { return &record; }

#define FAIL_IF_ASKED \
  if (fake_fails(&record, __func__)) return record.fail_code
/* The answer of a call that gives something back, which it does all the same. */
#define ANSWER (fake_fails(&record, __func__) ? record.fail_code : 0)

cuda_result cuInit(unsigned flags) {
  FAIL_IF_ASKED;
  return flags == 0 ? 0 : 1;
}

cuda_result cuGetErrorName(cuda_result result, const char **text) {
  *text = result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : NULL;
  return result == 700 ? 0 : 1;
}

cuda_result cuGetErrorString(cuda_result result, const char **text) {
  *text = result == 700 ? "an illegal memory access was encountered" : NULL;
  return result == 700 ? 0 : 1;
}

cuda_result cuDeviceGetCount(int *count) {
  FAIL_IF_ASKED;
  *count = record.devices;
  return 0;
}

cuda_result cuDeviceGet(cuda_ordinal *device, int ordinal) {
  FAIL_IF_ASKED;
  *device = ordinal;
  return ordinal < record.devices ? 0 : 101;
}

cuda_result cuDeviceGetName(char *name, int size, cuda_ordinal device) {
  FAIL_IF_ASKED;
  snprintf(name, (size_t)size, "Fake GPU %d", device);
  return 0;
}

cuda_result cuDeviceGetAttribute(int *value, int attribute, cuda_ordinal device) {
  FAIL_IF_ASKED;
  (void)device;
  switch (attribute) {
  case CUDA_ATTRIBUTE_CAPABILITY_MAJOR: *value = record.major; return 0;
  case CUDA_ATTRIBUTE_CAPABILITY_MINOR: *value = record.minor; return 0;
  case CUDA_ATTRIBUTE_MULTIPROCESSORS: *value = 132; return 0;
  case CUDA_ATTRIBUTE_L2_BYTES: *value = 50 << 20; return 0;
  case CUDA_ATTRIBUTE_SHARED_BYTES: *value = record.most_shared; return 0;
  default: return 1;
  }
}

cuda_result cuDeviceTotalMem_v2(size_t *bytes, cuda_ordinal device) {
  FAIL_IF_ASKED;
  (void)device;
  *bytes = (size_t)1 << 30;
  return 0;
}

cuda_result cuDevicePrimaryCtxRetain(void **out, cuda_ordinal device) {
  FAIL_IF_ASKED;
  (void)device;
  record.retained++;
  *out = &context;
  return 0;
}

cuda_result cuDevicePrimaryCtxRelease_v2(cuda_ordinal device) {
  (void)device;
  record.retained--;
  return ANSWER;
}

cuda_result cuCtxPushCurrent_v2(void *pushed) {
  FAIL_IF_ASKED;
  record.current++;
  return pushed ? 0 : 201;
}

cuda_result cuCtxPopCurrent_v2(void **popped) {
  record.current--;
  *popped = &context;
  return ANSWER;
}

cuda_result cuCtxGetDevice(cuda_ordinal *device) {
  FAIL_IF_ASKED;
  *device = 0;
  return 0;
}

cuda_result cuMemAlloc_v2(cuda_ptr *memory, size_t bytes) {
  FAIL_IF_ASKED;
  *memory = (uintptr_t)malloc(bytes);
  record.allocations += *memory != 0;
  return *memory ? 0 : CUDA_RESULT_OUT_OF_MEMORY;
}

cuda_result cuMemFree_v2(cuda_ptr memory) {
  record.allocations -= memory != 0;
  free((void *)(uintptr_t)memory);
  return ANSWER;
}

cuda_result cuMemcpyHtoDAsync_v2(cuda_ptr destination, const void *source, size_t bytes,
                                 void *stream) {
  FAIL_IF_ASKED;
  (void)stream;
  memcpy((void *)(uintptr_t)destination, source, bytes);
  return 0;
}

cuda_result cuMemcpyDtoHAsync_v2(void *destination, cuda_ptr source, size_t bytes, void *stream) {
  FAIL_IF_ASKED;
  (void)stream;
  memcpy(destination, (void *)(uintptr_t)source, bytes);
  return 0;
}

cuda_result cuMemcpyDtoDAsync_v2(cuda_ptr destination, cuda_ptr source, size_t bytes,
                                 void *stream) {
  FAIL_IF_ASKED;
  (void)stream;
  memcpy((void *)(uintptr_t)destination, (void *)(uintptr_t)source, bytes);
  return 0;
}

cuda_result cuMemsetD8Async(cuda_ptr memory, unsigned char value, size_t bytes, void *stream) {
  FAIL_IF_ASKED;
  (void)stream;
  memset((void *)(uintptr_t)memory, value, bytes);
  return 0;
}

cuda_result cuCtxSynchronize(void) {
  FAIL_IF_ASKED;
  return 0;
}

cuda_result cuStreamSynchronize(void *stream) {
  FAIL_IF_ASKED;
  (void)stream;
  return 0;
}

cuda_result cuStreamIsCapturing(void *stream, int *status) {
  FAIL_IF_ASKED;
  (void)stream;
  *status = record.capturing;
  return 0;
}

cuda_result cuEventCreate(void **event, unsigned flags) {
  FAIL_IF_ASKED;
  (void)flags;
  record.events++;
  *event = malloc(1);
  return 0;
}

cuda_result cuEventDestroy_v2(void *event) {
  record.events--;
  free(event);
  return ANSWER;
}

cuda_result cuEventRecord(void *event, void *stream) {
  FAIL_IF_ASKED;
  (void)event, (void)stream;
  return 0;
}

cuda_result cuEventSynchronize(void *event) {
  FAIL_IF_ASKED;
  (void)event;
  return 0;
}

cuda_result cuEventQuery(void *event) {
  FAIL_IF_ASKED;
  (void)event;
  return 0;
}

cuda_result cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  FAIL_IF_ASKED;
  (void)stream, (void)event, (void)flags;
  return 0;
}

cuda_result cuEventElapsedTime(float *milliseconds, void *start, void *stop) {
  FAIL_IF_ASKED;
  (void)start, (void)stop;
  *milliseconds = 1.5f;
  return 0;
}

/* The link state is the log buffer that the caller gave as first option. */
cuda_result cuLinkCreate_v2(unsigned n_options, int *options, void **values, void **link) {
  FAIL_IF_ASKED;
  if (n_options != 2 || options[0] != CUDA_JIT_ERROR_LOG) return 1;
  *link = values[0];
  record.links++;
  return 0;
}

cuda_result cuLinkAddData_v2(void *link, int type, void *data, size_t size, const char *name,
                             unsigned n_options, int *options, void **values) {
  (void)name, (void)n_options, (void)options, (void)values;
  if (fake_fails(&record, __func__)) {
    strcpy(link, "ptxas fatal: line 3: unknown opcode");
    return record.fail_code;
  }
  const char *text = data;
  if (type != CUDA_JIT_INPUT_PTX || text[size - 1] != 0) return 1;
  snprintf(record.code, sizeof record.code, "%s", text);
  snprintf(cubin, sizeof cubin, "cubin:%s", text);
  return 0;
}

cuda_result cuLinkComplete(void *link, void **out, size_t *size) {
  FAIL_IF_ASKED;
  (void)link;
  *out = cubin;
  *size = strlen(cubin) + 1;
  record.linked++;
  return 0;
}

cuda_result cuLinkDestroy(void *link) {
  (void)link;
  record.links--;
  return ANSWER;
}

cuda_result cuModuleLoadDataEx(void **module, const void *image, unsigned n_options, int *options,
                               void **values) {
  bool ptx = strstr(image, "setmaxnreg") != NULL;
  if (n_options != 2 || options[0] != CUDA_JIT_ERROR_LOG) return 1;
  if (ptx && record.fail && strcmp(record.fail, __func__) == 0)
    strcpy(values[0], "ptxas fatal: line 4: unknown opcode");
  FAIL_IF_ASKED;
  if (!ptx && strncmp(image, "cubin:", 6) != 0) return CUDA_RESULT_INVALID_IMAGE;
  *module = malloc(1);
  record.modules++;
  return 0;
}

cuda_result cuModuleUnload(void *module) {
  free(module);
  record.modules--;
  return ANSWER;
}

cuda_result cuModuleGetFunction(void **function, void *module, const char *name) {
  FAIL_IF_ASKED;
  *function = module;
  return strcmp(name, "llrt_kernel") == 0 ? 0 : 500;
}

cuda_result cuFuncGetAttribute(int *value, int attribute, void *function) {
  FAIL_IF_ASKED;
  (void)attribute, (void)function;
  *value = 32;
  return 0;
}

cuda_result cuFuncSetAttribute(void *function, int attribute, int value) {
  FAIL_IF_ASKED;
  (void)function;
  if (attribute != CUDA_FUNCTION_DYNAMIC_SHARED) return 1;
  record.dynamic_shared = value;
  return 0;
}

cuda_result cuFuncLoad(void *function) {
  FAIL_IF_ASKED;
  (void)function;
  return 0;
}

#ifndef FAKE_WITHOUT_LAUNCH
cuda_result cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned shared_bytes, void *stream, void **parameters, void **extra) {
  FAIL_IF_ASKED;
  (void)function, (void)stream, (void)extra;
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || record.current != 1) return 1;
  record.blocks = grid_x;
  record.threads = block_x;
  record.shared_bytes = shared_bytes;
  record.cluster = 0;
  record.early = false;
  for (int i = 0; i < record.n_args; i++) memcpy(&record.args[i], parameters[i], sizeof(uint64_t));
  record.launched++;
  return 0;
}

/* A map begins with its address plus what else there is, as one number. */
cuda_result cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                                   const unsigned long long *extents,
                                   const unsigned long long *strides, const unsigned *box,
                                   const unsigned *element_strides, int interleave, int swizzle,
                                   int promotion, int fill) {
  FAIL_IF_ASKED;
  if (record.current == 0) return 201;
  if (rank < 2 || rank > 3 || interleave || fill || promotion < 0 || element_strides[0] != 1 ||
      (uintptr_t)map % 64)
    return 1;
  record.promotion = promotion;
  *(uint64_t *)map = (uintptr_t)address + extents[0] + 10 * extents[1] + 100 * strides[0] +
                     1000 * box[0] + 10000 * box[1] + 100000 * (unsigned)type +
                     1000000 * (unsigned)swizzle;
  if (rank == 3)
    *(uint64_t *)map +=
        10000000 * extents[2] + 100000000 * strides[1] + 1000000000 * (uint64_t)box[2];
  return 0;
}

cuda_result cuLaunchKernelEx(const cuda_launch_config *config, void *function, void **parameters,
                             void **extra) {
  FAIL_IF_ASKED;
  unsigned cluster = 0;
  bool early = false;
  for (unsigned i = 0; i < config->n_attributes; i++) {
    const cuda_launch_attribute *attribute = &config->attributes[i];
    if (attribute->id == CUDA_LAUNCH_PROGRAMMATIC_SERIALIZATION) {
      early = attribute->value.programmatic_serialization == 1;
      continue;
    }
    if (attribute->id != CUDA_LAUNCH_CLUSTER_DIMENSION) return 1;
    if (attribute->value.cluster.y != 1 || attribute->value.cluster.z != 1) return 1;
    cluster = attribute->value.cluster.x;
  }
  cuda_result result = cuLaunchKernel(function, config->grid_x, config->grid_y, config->grid_z,
                                      config->block_x, config->block_y, config->block_z,
                                      config->shared_bytes, config->stream, parameters, extra);
  record.cluster = cluster;
  record.early = early;
  return result;
}
#endif
