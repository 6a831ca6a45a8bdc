/* A libamdhip64 whose devices are emulators: device 0 is a gfx90a, device 1 a gfx942. Launches run
 * to the end in the call; streams and events are accepted and mean nothing. What a launch did wrong
 * is told by hipGetErrorString. With LLRT_EMU_STATS=FILE every launch appends its counters to FILE,
 * a line of JSON.
 *
 * Thread: any; one call at a time runs. */
#include "backends/hip/hip_symbols.h"
#include "tests/emulators/gfx9/gfx9.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define PROTOTYPE(required, type, name, arguments) API type name arguments;
HIP_SYMBOLS(PROTOTYPE)
#undef PROTOTYPE

enum { INVALID_VALUE = 1, INVALID_HANDLE = 400, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700,
       LAUNCH_FAILURE = 719, MEMORY_BYTES = 1 << 30 };

static const char *const architectures[] = {"gfx90a", "gfx942"};
#define N_DEVICES 2

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static emu_memory memory;
static _Thread_local int current;
static _Thread_local char trouble[512]; /* of this thread's last fault */

/* ---- the library ---- */

hip_result hipInit(unsigned flags) { return flags == 0 ? 0 : INVALID_VALUE; }

const char *hipGetErrorName(hip_result result) {
  switch (result) {
    case HIP_RESULT_OUT_OF_MEMORY: return "hipErrorOutOfMemory";
    case HIP_RESULT_INVALID_DEVICE: return "hipErrorInvalidDevice";
    case HIP_RESULT_INVALID_IMAGE: return "hipErrorInvalidImage";
    case INVALID_VALUE: return "hipErrorInvalidValue";
    case INVALID_HANDLE: return "hipErrorInvalidHandle";
    case NOT_FOUND: return "hipErrorNotFound";
    case ILLEGAL_ADDRESS: return "hipErrorIllegalAddress";
    case LAUNCH_FAILURE: return "hipErrorLaunchFailure";
    default: return "hipErrorUnknown";
  }
}

const char *hipGetErrorString(hip_result result) {
  bool told = result == ILLEGAL_ADDRESS || result == LAUNCH_FAILURE ||
      result == HIP_RESULT_INVALID_IMAGE;
  return told ? trouble : hipGetErrorName(result);
}

hip_result hipGetDeviceCount(int *count) {
  *count = N_DEVICES;
  return 0;
}

hip_result hipGetDevice(int *device) {
  *device = current;
  return 0;
}

hip_result hipSetDevice(int device) {
  if (device < 0 || device >= N_DEVICES) return HIP_RESULT_INVALID_DEVICE;
  current = device;
  return 0;
}

hip_result hipDeviceGetName(char *name, int size, int device) {
  snprintf(name, (size_t)size, "emulated %s", architectures[device]);
  return 0;
}

hip_result hipDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == HIP_ATTRIBUTE_MULTIPROCESSORS ? 1 : 4 << 20;
  bool known = attribute == HIP_ATTRIBUTE_MULTIPROCESSORS || attribute == HIP_ATTRIBUTE_L2_BYTES;
  return known ? 0 : INVALID_VALUE;
}

hip_result hipDeviceTotalMem(size_t *bytes, int device) {
  (void)device;
  *bytes = MEMORY_BYTES;
  return 0;
}

/* 1160 and 396: where gcnArchName lies in ROCm 6's struct and in ROCm 5's. */
static hip_result properties_at(char *properties, int device, size_t offset) {
  if (device < 0 || device >= N_DEVICES) return HIP_RESULT_INVALID_DEVICE;
  snprintf(properties, 256, "emulated %s", architectures[device]);
  snprintf(properties + offset, 64, "%s:sramecc+:xnack-", architectures[device]);
  return 0;
}

hip_result hipGetDevicePropertiesR0600(void *properties, int device) {
  return properties_at(properties, device, 1160);
}

hip_result hipGetDeviceProperties(void *properties, int device) {
  return properties_at(properties, device, 396);
}

/* ---- memory ---- */

hip_result hipMalloc(void **out, size_t bytes) {
  pthread_mutex_lock(&mutex);
  uint64_t address = bytes > MEMORY_BYTES - memory.used ? 0 : emu_memory_allocate(&memory, bytes);
  pthread_mutex_unlock(&mutex);
  *out = (void *)(uintptr_t)address;
  return address ? 0 : HIP_RESULT_OUT_OF_MEMORY;
}

hip_result hipFree(void *address) {
  pthread_mutex_lock(&mutex);
  bool found = !address || emu_memory_free(&memory, (uintptr_t)address);
  pthread_mutex_unlock(&mutex);
  return found ? 0 : INVALID_VALUE;
}

hip_result hipMemcpyAsync(void *destination, const void *source, size_t bytes, int kind,
                          void *stream) {
  uint64_t to = (uintptr_t)destination, from = (uintptr_t)source;
  bool done = false;
  (void)stream;
  pthread_mutex_lock(&mutex);
  if (kind == HIP_COPY_HOST_TO_DEVICE) done = emu_memory_write(&memory, to, source, bytes);
  if (kind == HIP_COPY_DEVICE_TO_HOST) done = emu_memory_read(&memory, destination, from, bytes);
  if (kind == HIP_COPY_DEVICE_TO_DEVICE) done = emu_memory_copy(&memory, to, from, bytes);
  pthread_mutex_unlock(&mutex);
  return done ? 0 : INVALID_VALUE;
}

hip_result hipMemsetAsync(void *destination, int value, size_t bytes, void *stream) {
  (void)stream;
  pthread_mutex_lock(&mutex);
  bool done = emu_memory_set(&memory, (uintptr_t)destination, value, bytes);
  pthread_mutex_unlock(&mutex);
  return done ? 0 : INVALID_VALUE;
}

/* ---- streams and events ---- */

hip_result hipDeviceSynchronize(void) { return 0; }

hip_result hipStreamSynchronize(void *stream) {
  (void)stream;
  return 0;
}

hip_result hipStreamIsCapturing(void *stream, int *status) {
  (void)stream;
  *status = 0;
  return 0;
}

hip_result hipEventCreateWithFlags(void **event, unsigned flags) {
  (void)flags;
  *event = malloc(1);
  return *event ? 0 : HIP_RESULT_OUT_OF_MEMORY;
}

hip_result hipEventDestroy(void *event) {
  free(event);
  return 0;
}

hip_result hipEventRecord(void *event, void *stream) {
  (void)stream;
  return event ? 0 : INVALID_HANDLE;
}

hip_result hipEventSynchronize(void *event) { return event ? 0 : INVALID_HANDLE; }

hip_result hipEventElapsedTime(float *milliseconds, void *start, void *stop) {
  *milliseconds = 0; /* no time passes on the emulated device */
  return start && stop ? 0 : INVALID_HANDLE;
}

/* ---- kernels ---- */

typedef struct hip_module {
  gfx9_module *code;
} hip_module;

static hip_result tell(const emu_fault *fault, hip_result result) {
  emu_fault_print(fault, trouble, sizeof trouble);
  return result;
}

hip_result hipModuleLoadData(void **out, const void *image) {
  emu_fault fault;
  hip_module *module = calloc(1, sizeof *module);
  if (!module) return HIP_RESULT_OUT_OF_MEMORY;
  pthread_mutex_lock(&mutex);
  bool ok = gfx9_module_create(image, 0, architectures[current], "llrt_kernel", &memory,
                               &module->code, &fault);
  pthread_mutex_unlock(&mutex);
  *out = ok ? module : NULL;
  if (ok) return 0;
  free(module);
  return tell(&fault, HIP_RESULT_INVALID_IMAGE);
}

hip_result hipModuleUnload(void *module) {
  pthread_mutex_lock(&mutex);
  gfx9_module_destroy(((hip_module *)module)->code);
  pthread_mutex_unlock(&mutex);
  free(module);
  return 0;
}

hip_result hipModuleGetFunction(void **function, void *module, const char *name) {
  *function = module;
  return strcmp(name, gfx9_module_kernel(((hip_module *)module)->code)->name) == 0 ? 0 : NOT_FOUND;
}

static void report(const emu_counters *counters, const char *kernel) {
  const char *path = getenv("LLRT_EMU_STATS");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  emu_counters_print(counters, kernel, file);
  fclose(file);
}

static hip_result launch(const hip_module *module, unsigned blocks, unsigned threads,
                         void **parameters) {
  const gfx9_kernel *kernel = gfx9_module_kernel(module->code);
  uint8_t kernargs[4096] = {0};
  emu_counters counters;
  emu_fault fault;
  if (kernel->n_args < 0 || kernel->kernarg_bytes > sizeof kernargs) return INVALID_VALUE;
  for (int i = 0; i < kernel->n_args; i++) {
    const gfx9_arg *arg = &kernel->arg[i];
    if (arg->offset > sizeof kernargs || arg->bytes > sizeof kernargs - arg->offset) {
      return INVALID_VALUE;
    }
    memcpy(kernargs + arg->offset, parameters[i], arg->bytes);
  }
  const gfx9_launch run = {.blocks = blocks, .threads = threads, .kernargs = kernargs};
  bool ok = gfx9_run(module->code, &run, &counters, &fault);
  report(&counters, kernel->name);
  if (ok) return 0;
  return tell(&fault, fault.kind == EMU_OUT_OF_RANGE ? ILLEGAL_ADDRESS : LAUNCH_FAILURE);
}

hip_result hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned shared_bytes, void *stream, void **parameters,
                                 void **extra) {
  (void)stream;
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || shared_bytes || extra) {
    return INVALID_VALUE;
  }
  pthread_mutex_lock(&mutex);
  hip_result result = launch(function, grid_x, block_x, parameters);
  pthread_mutex_unlock(&mutex);
  return result;
}
