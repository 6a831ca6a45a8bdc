/* A libamdhip64 without a GPU: device memory is host memory, launches are recorded. */
#include "fake_driver.h"

#include "backends/hip/hip_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fake_record *fake_driver(void);
#define PROTOTYPE(required, type, name, arguments) type name arguments;
HIP_SYMBOLS(PROTOTYPE)
#undef PROTOTYPE

static fake_record record = {.devices = 2, .architecture = "gfx90a:sramecc+:xnack-"};

fake_record *fake_driver(void) { return &record; }

#define FAIL_IF_ASKED \
  if (fake_fails(&record, __func__)) return record.fail_code
/* The answer of a call that gives something back, which it does all the same. */
#define ANSWER (fake_fails(&record, __func__) ? record.fail_code : 0)

hip_result hipInit(unsigned flags) {
  FAIL_IF_ASKED;
  return flags == 0 ? 0 : 1;
}

const char *hipGetErrorName(hip_result result) {
  return result == 700 ? "hipErrorIllegalAddress" : "hipErrorUnknown";
}

const char *hipGetErrorString(hip_result result) {
  return result == 700 ? "an illegal memory access was encountered" : "unknown";
}

hip_result hipGetDeviceCount(int *count) {
  FAIL_IF_ASKED;
  *count = record.devices;
  return record.devices ? 0 : HIP_RESULT_NO_DEVICE;
}

hip_result hipGetDevice(int *device) {
  FAIL_IF_ASKED;
  *device = record.current;
  return 0;
}

hip_result hipSetDevice(int device) {
  FAIL_IF_ASKED;
  record.current = device;
  return 0;
}

hip_result hipDeviceGetName(char *name, int size, int device) {
  FAIL_IF_ASKED;
  snprintf(name, (size_t)size, "Fake Instinct %d", device);
  return 0;
}

hip_result hipDeviceGetAttribute(int *value, int attribute, int device) {
  FAIL_IF_ASKED;
  (void)device;
  switch (attribute) {
  case HIP_ATTRIBUTE_MULTIPROCESSORS: *value = 104; return 0;
  case HIP_ATTRIBUTE_L2_BYTES: *value = 8 << 20; return 0;
  case HIP_ATTRIBUTE_PAGEABLE_ACCESS: *value = record.pageable; return 0;
  default: return 1;
  }
}

hip_result hipDeviceTotalMem(size_t *bytes, int device) {
  FAIL_IF_ASKED;
  (void)device;
  *bytes = (size_t)1 << 30;
  return 0;
}

/* Offsets of gcnArchName: 1160 in hipDeviceProp_tR0600 (ROCm 6), 396 in ROCm 5's struct. The name
 * before it begins as an architecture would, to mislead a careless search. */
hip_result hipGetDevicePropertiesR0600(void *properties, int device) {
  FAIL_IF_ASKED;
  (void)device;
  snprintf(properties, 256, "gfx1100 lookalike");
  char *place = (char *)properties + (record.old_properties ? 396 : 1160);
  snprintf(place, 64, "%s", record.architecture);
  return 0;
}

hip_result hipGetDeviceProperties(void *properties, int device) {
  FAIL_IF_ASKED;
  return hipGetDevicePropertiesR0600(properties, device);
}

/* The held block that the address lies in; -1: none. NULL: a place that is free. */
static int find_block(const char *address) {
  int i = FAKE_MAX_BLOCKS;
  while (--i >= 0) {
    const char *begin = record.block[i].begin;
    if (address ? begin && address >= begin && address < begin + record.block[i].bytes : !begin)
      break;
  }
  return i;
}

hip_result hipMalloc(void **memory, size_t bytes) {
  FAIL_IF_ASKED;
  int place = find_block(NULL);
  *memory = place < 0 ? NULL : malloc(bytes);
  if (!*memory) return HIP_RESULT_OUT_OF_MEMORY;
  record.block[place].begin = *memory;
  record.block[place].bytes = bytes;
  record.allocations++;
  return 0;
}

hip_result hipFree(void *memory) {
  if (!memory) return ANSWER;
  int place = find_block(memory);
  if (place < 0) return HIP_RESULT_INVALID_VALUE;
  record.block[place].begin = NULL;
  record.allocations--;
  free(memory);
  return ANSWER;
}

hip_result hipPointerGetAttributes(hip_pointer_attributes *attributes, const void *memory) {
  FAIL_IF_ASKED;
  int place = find_block(memory);
  *attributes = (hip_pointer_attributes){0};
  if (place >= 0) attributes->device_pointer = (void *)(uintptr_t)memory;
  if (place < 0 && record.old_addresses) return record.last_error = HIP_RESULT_INVALID_VALUE;
  return 0;
}

hip_result hipGetLastError(void) {
  int told = record.last_error;
  record.last_error = 0;
  return told;
}

hip_result hipMemcpyAsync(void *destination, const void *source, size_t bytes, int kind,
                          void *stream) {
  FAIL_IF_ASKED;
  (void)stream;
  memcpy(destination, source, bytes);
  return kind >= HIP_COPY_HOST_TO_DEVICE && kind <= HIP_COPY_DEVICE_TO_DEVICE ? 0 : 1;
}

hip_result hipMemsetAsync(void *memory, int value, size_t bytes, void *stream) {
  FAIL_IF_ASKED;
  (void)stream;
  memset(memory, value, bytes);
  return 0;
}

hip_result hipDeviceSynchronize(void) {
  FAIL_IF_ASKED;
  return 0;
}

hip_result hipStreamSynchronize(void *stream) {
  FAIL_IF_ASKED;
  (void)stream;
  return 0;
}

hip_result hipStreamIsCapturing(void *stream, int *status) {
  FAIL_IF_ASKED;
  (void)stream;
  *status = record.capturing;
  return 0;
}

hip_result hipEventCreateWithFlags(void **event, unsigned flags) {
  FAIL_IF_ASKED;
  (void)flags;
  record.events++;
  *event = malloc(1);
  return 0;
}

hip_result hipEventDestroy(void *event) {
  record.events--;
  free(event);
  return ANSWER;
}

hip_result hipEventRecord(void *event, void *stream) {
  FAIL_IF_ASKED;
  (void)event, (void)stream;
  return 0;
}

hip_result hipEventSynchronize(void *event) {
  FAIL_IF_ASKED;
  (void)event;
  return 0;
}

hip_result hipEventQuery(void *event) {
  FAIL_IF_ASKED;
  (void)event;
  return 0;
}

hip_result hipStreamWaitEvent(void *stream, void *event, unsigned flags) {
  FAIL_IF_ASKED;
  (void)stream, (void)event, (void)flags;
  return 0;
}

hip_result hipEventElapsedTime(float *milliseconds, void *start, void *stop) {
  FAIL_IF_ASKED;
  (void)start, (void)stop;
  *milliseconds = 1.5f;
  return 0;
}

hip_result hipModuleLoadData(void **module, const void *image) {
  FAIL_IF_ASKED;
  if (strncmp(image, "hsaco:", 6) != 0 && strncmp(image, "\177ELF", 4) != 0)
    return HIP_RESULT_INVALID_IMAGE;
  snprintf(record.code, sizeof record.code, "%s", (const char *)image);
  *module = malloc(1);
  record.modules++;
  return 0;
}

hip_result hipModuleUnload(void *module) {
  free(module);
  record.modules--;
  return ANSWER;
}

hip_result hipModuleGetFunction(void **function, void *module, const char *name) {
  FAIL_IF_ASKED;
  *function = module;
  return strcmp(name, "llrt_kernel") == 0 ? 0 : 500;
}

#ifndef FAKE_WITHOUT_LAUNCH
hip_result hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned shared_bytes, void *stream, void **parameters,
                                 void **extra) {
  FAIL_IF_ASKED;
  (void)function, (void)shared_bytes, (void)stream, (void)extra;
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1) return 1;
  record.blocks = grid_x;
  record.threads = block_x;
  for (int i = 0; i < record.n_args; i++) memcpy(&record.args[i], parameters[i], sizeof(uint64_t));
  record.launched++;
  return 0;
}
#endif
