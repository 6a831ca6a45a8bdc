/* A libcuda whose GPUs are the PTX emulator: one device for each compute capability that llrt
 * compiles for. Streams are synchronous; a cubin is the PTX text, with a line before it that says
 * so.
 *
 * Environment: LLRT_EMU_STATS names a file to which every launch appends a line of JSON.
 * LLRT_EMU_LANES=apart: lanes that a branch parted stay so until they are synchronised.
 * LLRT_EMU_BLOCKS=reversed: blocks run from the last one down.
 * LLRT_EMU_UNITS=N: devices say that they have N multiprocessors.
 * LLRT_EMU_SHARED_KIB=N: no device's blocks have more than N KiB of shared memory (99: with the device of 8.0, one of
 * 8.6). A fault in a kernel is answered like a GPU's: the launch fails, and the error's description is the
 * fault. Unlike a GPU's it does not end the context, so that one test's fault is not the next
 * one's. */
#include "tests/emulators/ptx/emu_cuda.h"

#include "backends/cuda/cuda_symbols.h"
#include "tests/emulators/ptx/ptx.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROTOTYPE(required, name, arguments) cuda_result name arguments;
CUDA_SYMBOLS(PROTOTYPE)
#undef PROTOTYPE

#define INVALID_VALUE 1
#define INVALID_CONTEXT 201
#define INVALID_DEVICE 101
#define NOT_FOUND 500
#define LAUNCH_FAILED 719
#define MULTIPROCESSORS 2

static const struct {
  int major, minor, shared_kib;
} gpus[] = {{9, 0, 227}, {8, 9, 99}, {8, 0, 163}};
#define N_GPUS ((int)(sizeof gpus / sizeof gpus[0]))
#define TOTAL_BYTES ((size_t)4 << 30)

/* One lock for everything: launches run one after the other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static emu_memory memory;
static emu_counters last_counters;
static char contexts[N_GPUS];
static _Thread_local void *current[16];
static _Thread_local int n_current;
static _Thread_local char fault_text[768];

static cuda_result locked(bool done, cuda_result otherwise) {
  pthread_mutex_unlock(&lock);
  return done ? 0 : otherwise;
}

void llrt_emu_last_counters(emu_counters *counters) {
  pthread_mutex_lock(&lock);
  *counters = last_counters;
  pthread_mutex_unlock(&lock);
}

/* ---- errors ---- */

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_RESULT_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_RESULT_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", ""},
};

static const char *describe(cuda_result result, bool name) {
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    if (errors[i].code != result) continue;
    if (result == LAUNCH_FAILED && !name) return fault_text;
    return name ? errors[i].name : errors[i].text;
  }
  return NULL;
}

cuda_result cuGetErrorName(cuda_result result, const char **text) {
  *text = describe(result, true);
  return *text ? 0 : INVALID_VALUE;
}

cuda_result cuGetErrorString(cuda_result result, const char **text) {
  *text = describe(result, false);
  return *text ? 0 : INVALID_VALUE;
}

/* ---- devices and contexts ---- */

cuda_result cuInit(unsigned flags) { return flags == 0 ? 0 : INVALID_VALUE; }

cuda_result cuDriverGetVersion(int *version) {
  *version = CUDA_VERSION_OF_PROGRAMMATIC_CAPTURE;
  return 0;
}

cuda_result cuDeviceGetCount(int *count) {
  *count = N_GPUS;
  return 0;
}

cuda_result cuDeviceGet(cuda_ordinal *device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < N_GPUS ? 0 : INVALID_DEVICE;
}

cuda_result cuDeviceGetName(char *name, int size, cuda_ordinal device) {
  snprintf(name, (size_t)size, "PTX emulator %d.%d", gpus[device].major, gpus[device].minor);
  return 0;
}

/* What the environment's `name` says, where that is more than 0. */
static int setting(const char *name, int otherwise) {
  const char *set = getenv(name);
  int n = set ? atoi(set) : 0;
  return n > 0 ? n : otherwise;
}

static int most_shared(cuda_ordinal device) {
  int kib = setting("LLRT_EMU_SHARED_KIB", gpus[device].shared_kib);
  return (kib < gpus[device].shared_kib ? kib : gpus[device].shared_kib) << 10;
}

cuda_result cuDeviceGetAttribute(int *value, int attribute, cuda_ordinal device) {
  switch (attribute) {
    case CUDA_ATTRIBUTE_CAPABILITY_MAJOR: *value = gpus[device].major; return 0;
    case CUDA_ATTRIBUTE_CAPABILITY_MINOR: *value = gpus[device].minor; return 0;
    case CUDA_ATTRIBUTE_MULTIPROCESSORS: *value = setting("LLRT_EMU_UNITS", MULTIPROCESSORS); return 0;
    case CUDA_ATTRIBUTE_SHARED_BYTES: *value = most_shared(device); return 0;
    case CUDA_ATTRIBUTE_L2_BYTES: *value = 1 << 20; return 0;
    default: return INVALID_VALUE;
  }
}

cuda_result cuDeviceTotalMem_v2(size_t *bytes, cuda_ordinal device) {
  (void)device;
  *bytes = TOTAL_BYTES;
  return 0;
}

cuda_result cuDevicePrimaryCtxRetain(void **context, cuda_ordinal device) {
  *context = &contexts[device];
  return 0;
}

cuda_result cuDevicePrimaryCtxRelease_v2(cuda_ordinal device) {
  (void)device;
  return 0;
}

cuda_result cuCtxPushCurrent_v2(void *context) {
  if (!context || n_current == 16) return INVALID_CONTEXT;
  current[n_current++] = context;
  return 0;
}

cuda_result cuCtxPopCurrent_v2(void **context) {
  if (n_current == 0) return INVALID_CONTEXT;
  *context = current[--n_current];
  return 0;
}

cuda_result cuCtxGetDevice(cuda_ordinal *device) {
  if (n_current == 0) return INVALID_CONTEXT;
  *device = (cuda_ordinal)((char *)current[n_current - 1] - contexts);
  return 0;
}

/* ---- memory ---- */

cuda_result cuMemAlloc_v2(cuda_ptr *address, size_t bytes) {
  pthread_mutex_lock(&lock);
  *address = memory.used + bytes <= TOTAL_BYTES ? emu_memory_allocate(&memory, bytes) : 0;
  return locked(*address != 0, CUDA_RESULT_OUT_OF_MEMORY);
}

cuda_result cuMemFree_v2(cuda_ptr address) {
  pthread_mutex_lock(&lock);
  return locked(emu_memory_free(&memory, address), INVALID_VALUE);
}

cuda_result cuMemcpyHtoDAsync_v2(cuda_ptr destination, const void *source, size_t bytes,
                                 void *stream) {
  (void)stream;
  pthread_mutex_lock(&lock);
  return locked(emu_memory_write(&memory, destination, source, bytes), INVALID_VALUE);
}

cuda_result cuMemcpyDtoHAsync_v2(void *destination, cuda_ptr source, size_t bytes, void *stream) {
  (void)stream;
  pthread_mutex_lock(&lock);
  return locked(emu_memory_read(&memory, destination, source, bytes), INVALID_VALUE);
}

cuda_result cuMemcpyDtoDAsync_v2(cuda_ptr destination, cuda_ptr source, size_t bytes,
                                 void *stream) {
  (void)stream;
  pthread_mutex_lock(&lock);
  return locked(emu_memory_copy(&memory, destination, source, bytes), INVALID_VALUE);
}

cuda_result cuMemsetD8Async(cuda_ptr address, unsigned char value, size_t bytes, void *stream) {
  (void)stream;
  pthread_mutex_lock(&lock);
  return locked(emu_memory_set(&memory, address, value, bytes), INVALID_VALUE);
}

/* ---- streams and events ---- */

cuda_result cuCtxSynchronize(void) { return 0; }

cuda_result cuStreamSynchronize(void *stream) {
  (void)stream;
  return 0;
}

cuda_result cuStreamIsCapturing(void *stream, int *status) {
  (void)stream;
  *status = 0;
  return 0;
}

cuda_result cuEventCreate(void **event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof(struct timespec));
  return *event ? 0 : CUDA_RESULT_OUT_OF_MEMORY;
}

cuda_result cuEventDestroy_v2(void *event) {
  free(event);
  return 0;
}

cuda_result cuEventRecord(void *event, void *stream) {
  (void)stream;
  return clock_gettime(CLOCK_MONOTONIC, event) == 0 ? 0 : INVALID_VALUE;
}

cuda_result cuEventSynchronize(void *event) {
  (void)event;
  return 0;
}

cuda_result cuEventElapsedTime(float *milliseconds, void *start, void *stop) {
  const struct timespec *from = start, *to = stop;
  *milliseconds = (float)((double)(to->tv_sec - from->tv_sec) * 1e3 +
                          (double)(to->tv_nsec - from->tv_nsec) * 1e-6);
  return 0;
}

/* ---- tensor maps ---- */

/* Boxes of two or three dimensions, of unsigned numbers, without gaps; nothing is promised of the cache. */
cuda_result cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const unsigned long long *extents,
                                   const unsigned long long *strides, const unsigned *box,
                                   const unsigned *element_strides, int interleave, int swizzle, int promotion,
                                   int fill) {
  ptx_tensor_map made = {.magic = PTX_TENSOR_MAP_MAGIC, .log2_bytes = (uint8_t)type, .swizzle = (uint8_t)swizzle,
                         .address = (uint64_t)(uintptr_t)address, .rank = (uint8_t)rank, .extent = {1, 1, 1}, .box = {1, 1, 1}};
  bool fits = (uintptr_t)map % PTX_TENSOR_MAP_ALIGNMENT == 0 && (rank == 2 || rank == 3) && type >= 0 && type <= 2 && interleave == 0 &&
              swizzle >= 0 && swizzle <= 3 && promotion >= 0 && promotion <= 3 && fill == 0;
  fits &= address && made.address % 16 == 0;
  for (unsigned d = 0; fits && d < rank; d++) {
    fits &= extents[d] > 0 && extents[d] <= 1ull << 32 && box[d] > 0 && box[d] <= 256 && element_strides[d] == 1;
    made.extent[d] = extents[d];
    made.box[d] = (uint16_t)box[d];
    if (d == 0) continue;
    fits &= strides[d - 1] % 16 == 0 && strides[d - 1] < 1ull << 40;
    made.stride[d - 1] = strides[d - 1];
  }
  unsigned row = box[0] << type;
  fits &= row % 16 == 0 && (swizzle == 0 || row <= 16u << swizzle);
  if (n_current == 0) return INVALID_CONTEXT;
  if (!fits) return INVALID_VALUE;
  memset(map, 0, PTX_TENSOR_MAP_BYTES);
  memcpy(map, &made, sizeof made);
  return 0;
}

/* ---- modules ---- */

static const char cubin_head[] = "// cubin of the PTX emulator\n";

typedef struct link_state {
  char *log; /* the caller's */
  size_t log_bytes;
  char *cubin;
  size_t cubin_bytes;
} link_state;

static void find_log(link_state *state, unsigned n_options, const int *options, void **values) {
  for (unsigned i = 0; i < n_options; i++) {
    if (options[i] == CUDA_JIT_ERROR_LOG) state->log = values[i];
    if (options[i] == CUDA_JIT_ERROR_LOG_BYTES) state->log_bytes = (size_t)(uintptr_t)values[i];
  }
}

cuda_result cuLinkCreate_v2(unsigned n_options, int *options, void **values, void **link) {
  link_state *state = calloc(1, sizeof *state);
  if (!state) return CUDA_RESULT_OUT_OF_MEMORY;
  find_log(state, n_options, options, values);
  *link = state;
  return 0;
}

/* Parses, so that what is unknown is found where a driver would find it. */
cuda_result cuLinkAddData_v2(void *link, int type, void *data, size_t size, const char *name,
                             unsigned n_options, int *options, void **values) {
  link_state *state = link;
  const char *text = data;
  emu_fault fault;
  (void)name, (void)n_options, (void)options, (void)values;
  if (type != CUDA_JIT_INPUT_PTX || size == 0 || text[size - 1] != 0 || state->cubin) {
    return INVALID_VALUE;
  }
  ptx_module *module = ptx_module_parse(text, &fault);
  ptx_module_free(module);
  if (!module) {
    if (state->log) emu_fault_print(&fault, state->log, state->log_bytes);
    return CUDA_RESULT_INVALID_IMAGE;
  }
  state->cubin_bytes = sizeof cubin_head - 1 + size;
  state->cubin = malloc(state->cubin_bytes);
  if (!state->cubin) return CUDA_RESULT_OUT_OF_MEMORY;
  memcpy(state->cubin, cubin_head, sizeof cubin_head - 1);
  memcpy(state->cubin + sizeof cubin_head - 1, text, size);
  return 0;
}

cuda_result cuLinkComplete(void *link, void **cubin, size_t *size) {
  const link_state *state = link;
  *cubin = state->cubin;
  *size = state->cubin_bytes;
  return state->cubin ? 0 : INVALID_VALUE;
}

cuda_result cuLinkDestroy(void *link) {
  link_state *state = link;
  free(state->cubin);
  free(state);
  return 0;
}

/* Of what was linked, or of PTX. */
cuda_result cuModuleLoadDataEx(void **module, const void *image, unsigned n_options, int *options, void **values) {
  link_state state = {NULL};
  emu_fault fault;
  bool linked = strncmp(image, cubin_head, sizeof cubin_head - 1) == 0;
  *module = NULL;
  if (!linked && !strstr(image, ".version")) return CUDA_RESULT_INVALID_IMAGE;
  find_log(&state, n_options, options, values);
  *module = ptx_module_parse(image, &fault);
  if (!*module && state.log) emu_fault_print(&fault, state.log, state.log_bytes);
  return *module ? 0 : CUDA_RESULT_INVALID_IMAGE;
}

cuda_result cuModuleUnload(void *module) {
  ptx_module_free(module);
  return 0;
}

cuda_result cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = (void *)(uintptr_t)ptx_module_kernel(module, name);
  return *function ? 0 : NOT_FOUND;
}

cuda_result cuFuncGetAttribute(int *value, int attribute, void *function) {
  (void)function;
  *value = 32;
  return attribute == CUDA_FUNCTION_REGISTERS ? 0 : INVALID_VALUE;
}

cuda_result cuFuncSetAttribute(void *function, int attribute, int value) {
  cuda_ordinal device;
  if (cuCtxGetDevice(&device) != 0) return INVALID_CONTEXT;
  if (attribute != CUDA_FUNCTION_DYNAMIC_SHARED || value < 0 || value > most_shared(device)) return INVALID_VALUE;
  return ptx_kernel_allow_shared(function, (uint32_t)value) ? 0 : INVALID_VALUE;
}

cuda_result cuFuncLoad(void *function) {
  (void)function;
  return 0;
}

static void append_statistics(const emu_counters *counters) {
  const char *path = getenv("LLRT_EMU_STATS");
  FILE *file = path && *path ? fopen(path, "a") : NULL;
  if (!file) return;
  emu_counters_print(counters, "ptx", file);
  fclose(file);
}

static bool is_set_to(const char *name, const char *value) {
  const char *set = getenv(name);
  return set && strcmp(set, value) == 0;
}

static cuda_result launch(const void *function, const ptx_grid *asked) {
  emu_fault fault;
  ptx_grid own = *asked, *grid = &own;
  own.apart = is_set_to("LLRT_EMU_LANES", "apart");
  own.reversed = is_set_to("LLRT_EMU_BLOCKS", "reversed");
  if (grid->dynamic_shared > ptx_kernel_shared_limit(function)) return INVALID_VALUE;
  pthread_mutex_lock(&lock);
  bool done = ptx_launch(function, grid, &last_counters, &fault);
  append_statistics(&last_counters);
  if (!done) emu_fault_print(&fault, fault_text, sizeof fault_text);
  return locked(done, LAUNCH_FAILED);
}

cuda_result cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned shared_bytes, void *stream, void **parameters, void **extra) {
  (void)stream;
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || extra) return INVALID_VALUE;
  return launch(function, &(ptx_grid){.memory = &memory, .blocks = grid_x, .threads = block_x,
                                      .dynamic_shared = shared_bytes, .parameters = parameters});
}

/* Of attributes clusters alone, along x, up to the eight blocks that every device of 9.0 has. */
cuda_result cuLaunchKernelEx(const cuda_launch_config *config, void *function, void **parameters,
                             void **extra) {
  unsigned cluster = 1;
  bool programmatic = false;
  cuda_ordinal device;
  if (cuCtxGetDevice(&device) != 0) return INVALID_CONTEXT;
  for (unsigned i = 0; i < config->n_attributes; i++) {
    const cuda_launch_attribute *attribute = &config->attributes[i];
    if (attribute->id == CUDA_LAUNCH_PROGRAMMATIC_SERIALIZATION && gpus[device].major >= 9) {
      programmatic = attribute->value.programmatic_serialization != 0;
      continue;
    }
    if (attribute->id != CUDA_LAUNCH_CLUSTER_DIMENSION) return INVALID_VALUE;
    cluster = attribute->value.cluster.x;
    if (attribute->value.cluster.y != 1 || attribute->value.cluster.z != 1) return INVALID_VALUE;
  }
  if (config->grid_y != 1 || config->grid_z != 1 || config->block_y != 1 || config->block_z != 1 || extra)
    return INVALID_VALUE;
  if (cluster == 0 || cluster > 8 || config->grid_x % cluster) return INVALID_VALUE;
  if (cluster > 1 && gpus[device].major < 9) return INVALID_VALUE;
  return launch(function, &(ptx_grid){.memory = &memory, .blocks = config->grid_x,
                                      .threads = config->block_x, .cluster = cluster, .programmatic = programmatic,
                                      .dynamic_shared = config->shared_bytes, .parameters = parameters});
}
