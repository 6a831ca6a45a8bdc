/* A libcuda whose GPUs are the PTX emulator: one device for each compute capability that llrt
 * compiles for. A cubin is the PTX text, with a line before it that says so. Here are devices,
 * modules and launches; contexts, streams and memory have files of their own.
 *
 * Environment: LLRT_EMU_STATS names a file to which every launch appends a line of JSON.
 * LLRT_EMU_STREAMS=MODE: when queued work runs (common/emu_control.h).
 * LLRT_EMU_SAVE=DIR: writes the PTX of every module to DIR, named by its hash.
 * LLRT_EMU_LANES=apart: lanes that a branch parted stay so until they are synchronised.
 * LLRT_EMU_BLOCKS=reversed: blocks run from the last one down.
 * LLRT_EMU_POOLS=0: devices have no memory in stream order, as before CUDA 11.2.
 * LLRT_EMU_IPC=1: memory of cuMemAlloc may be opened by other processes.
 * LLRT_EMU_UNITS=N: devices say that they have N multiprocessors.
 * LLRT_EMU_SHARED_KIB=N: no device's blocks have more than N KiB of shared memory (99: with the
 * device of 8.0, one of 8.6).
 * LLRT_EMU_DEVICES=N: there are N of them, up to 8, the fifth like the first.
 * LLRT_EMU_MINOR=N: the device of 8.0 is one of 8.N. A fault in a kernel is answered like a GPU's:
 * the launch fails, and the error's description is the fault. Unlike a GPU's it does not end the
 * context, so that one test's fault is not the next one's. */
#include "emulators/ptx/emu_cuda.h"

#include "emulators/common/emu_calls.h"
#include "emulators/common/emu_driver.h"
#include "emulators/ptx/ptx.h"

#define XXH_INLINE_ALL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define PROTOTYPE(required, name, arguments) cuda_result name arguments;
CUDA_SYMBOLS(PROTOTYPE)
#undef PROTOTYPE

#define MULTIPROCESSORS 2

typedef struct emulated_gpu {
  int major, minor, shared_kib;
} emulated_gpu;
static const emulated_gpu gpus[EMU_CUDA_KINDS] = {
    {9, 0, 227}, {8, 9, 99}, {8, 0, 163}, {12, 0, 99}};

/* What the environment's `name` says, where that is more than 0. */
static int setting(const char *name, int otherwise) {
  const char *set = getenv(name);
  int n = set ? atoi(set) : 0;
  return n > 0 ? n : otherwise;
}

static const emulated_gpu *gpu_of(int device) { return &gpus[device % EMU_CUDA_KINDS]; }

static int count_devices(void) {
  int n = setting("LLRT_EMU_DEVICES", EMU_CUDA_KINDS);
  return n < EMU_CUDA_DEVICES ? n : EMU_CUDA_DEVICES;
}

static int minor_of(int device) {
  bool ampere = gpu_of(device)->major == 8 && gpu_of(device)->minor == 0;
  return ampere ? setting("LLRT_EMU_MINOR", 0) : gpu_of(device)->minor;
}

static int capability_of(int device) { return 10 * gpu_of(device)->major + minor_of(device); }

static emu_counters last_counters; /* with the run lock */

void llrt_emu_last_counters(emu_counters *counters) {
  emu_run_lock();
  *counters = last_counters;
  emu_run_unlock();
}

/* ---- errors ---- */

static const struct {
  int code;
  const char *name, *text; /* text NULL: what the last failed work told */
} errors[] = {
#define ERROR_ROW(name, number, cuda, hip, text) {number, "CUDA_ERROR_" cuda, text},
    EMU_RESULTS(ERROR_ROW)
#undef ERROR_ROW
};

static const char *describe(cuda_result result, bool name) {
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    if (errors[i].code != result) continue;
    if (name) return errors[i].name;
    return errors[i].text ? errors[i].text : emu_trouble();
  }
  return NULL;
}

cuda_result cuGetErrorName(cuda_result result, const char **text) {
  *text = describe(result, true);
  return *text ? 0 : EMU_INVALID_VALUE;
}

cuda_result cuGetErrorString(cuda_result result, const char **text) {
  *text = describe(result, false);
  return *text ? 0 : EMU_INVALID_VALUE;
}

/* ---- devices and contexts ---- */

cuda_result cuInit(unsigned flags) {
  EMU_ENTER(cuInit);
  return flags == 0 ? 0 : EMU_INVALID_VALUE;
}

cuda_result cuDriverGetVersion(int *version) {
  EMU_ENTER(cuDriverGetVersion);
  *version = CUDA_VERSION_OF_PROGRAMMATIC_CAPTURE;
  return 0;
}

cuda_result cuDeviceGetCount(int *count) {
  EMU_ENTER(cuDeviceGetCount);
  *count = count_devices();
  return 0;
}

cuda_result cuDeviceGet(cuda_ordinal *device, int ordinal) {
  EMU_ENTER(cuDeviceGet);
  *device = ordinal;
  return ordinal >= 0 && ordinal < count_devices() ? 0 : EMU_INVALID_DEVICE;
}

cuda_result cuDeviceGetName(char *name, int size, cuda_ordinal device) {
  EMU_ENTER(cuDeviceGetName);
  snprintf(name, (size_t)size, "PTX emulator %d.%d", gpu_of(device)->major, minor_of(device));
  return 0;
}

static int most_shared(cuda_ordinal device) {
  int kib = setting("LLRT_EMU_SHARED_KIB", gpu_of(device)->shared_kib);
  return (kib < gpu_of(device)->shared_kib ? kib : gpu_of(device)->shared_kib) << 10;
}

cuda_result cuDeviceGetAttribute(int *value, int attribute, cuda_ordinal device) {
  EMU_ENTER(cuDeviceGetAttribute);
  switch (attribute) {
  case CUDA_ATTRIBUTE_CAPABILITY_MAJOR: *value = gpu_of(device)->major; return 0;
  case CUDA_ATTRIBUTE_CAPABILITY_MINOR: *value = minor_of(device); return 0;
  case CUDA_ATTRIBUTE_MULTIPROCESSORS:
    *value = setting("LLRT_EMU_UNITS", MULTIPROCESSORS);
    return 0;
  case CUDA_ATTRIBUTE_SHARED_BYTES: *value = most_shared(device); return 0;
  case CUDA_ATTRIBUTE_L2_BYTES: *value = 1 << 20; return 0;
  case CUDA_ATTRIBUTE_CLOCK_KHZ: *value = 1000000; return 0;
  case CUDA_ATTRIBUTE_PAGEABLE_ACCESS: *value = 0; return 0;
  case CUDA_ATTRIBUTE_MEMORY_POOLS: *value = emu_pools_are_there(); return 0;
  case CUDA_ATTRIBUTE_FD_HANDLES: *value = 1; return 0;
  case CUDA_ATTRIBUTE_POOL_HANDLES: *value = CUDA_HANDLE_POSIX_FD; return 0;
  default: return EMU_INVALID_VALUE;
  }
}

cuda_result cuDeviceTotalMem_v2(size_t *bytes, cuda_ordinal device) {
  EMU_ENTER(cuDeviceTotalMem_v2);
  (void)device;
  *bytes = EMU_CUDA_BYTES;
  return 0;
}

/* ---- tensor maps ---- */

/* Boxes of two or three dimensions, of unsigned numbers, without gaps; nothing is promised of the
 * cache. */
cuda_result cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                                   const unsigned long long *extents,
                                   const unsigned long long *strides, const unsigned *box,
                                   const unsigned *element_strides, int interleave, int swizzle,
                                   int promotion, int fill) {
  EMU_ENTER(cuTensorMapEncodeTiled);
  ptx_tensor_map made = {.magic = PTX_TENSOR_MAP_MAGIC,
                         .log2_bytes = (uint8_t)type,
                         .swizzle = (uint8_t)swizzle,
                         .address = (uint64_t)(uintptr_t)address,
                         .rank = (uint8_t)rank,
                         .extent = {1, 1, 1},
                         .box = {1, 1, 1}};
  bool fits = (uintptr_t)map % PTX_TENSOR_MAP_ALIGNMENT == 0 && (rank == 2 || rank == 3) &&
              type >= 0 && type <= 2 && interleave == 0 && swizzle >= 0 && swizzle <= 3 &&
              promotion >= 0 && promotion <= 3 && fill == 0;
  fits &= address && made.address % 16 == 0;
  for (unsigned d = 0; fits && d < rank; d++) {
    fits &= extents[d] > 0 && extents[d] <= 1ull << 32 && box[d] > 0 && box[d] <= 256 &&
            element_strides[d] == 1;
    made.extent[d] = extents[d];
    made.box[d] = (uint16_t)box[d];
    if (d == 0) continue;
    fits &= strides[d - 1] % 16 == 0 && strides[d - 1] < 1ull << 40;
    made.stride[d - 1] = strides[d - 1];
  }
  unsigned row = box[0] << type;
  fits &= row % 16 == 0 && (swizzle == 0 || row <= 16u << swizzle);
  if (!emu_cuda_current()) return EMU_INVALID_CONTEXT;
  if (!fits) return EMU_INVALID_VALUE;
  memset(map, 0, PTX_TENSOR_MAP_BYTES);
  memcpy(map, &made, sizeof made);
  return 0;
}

/* ---- modules ---- */

static const char cubin_head[] = "// cubin of the PTX emulator for ";

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
  EMU_ENTER(cuLinkCreate_v2);
  link_state *state = calloc(1, sizeof *state);
  if (!state) return EMU_OUT_OF_MEMORY;
  find_log(state, n_options, options, values);
  *link = state;
  return 0;
}

/* Parses, so that what is unknown is found where a driver would find it. */
cuda_result cuLinkAddData_v2(void *link, int type, void *data, size_t size, const char *name,
                             unsigned n_options, int *options, void **values) {
  EMU_ENTER(cuLinkAddData_v2);
  link_state *state = link;
  const char *text = data;
  emu_fault fault;
  (void)name, (void)n_options, (void)options, (void)values;
  if (type != CUDA_JIT_INPUT_PTX || size == 0 || text[size - 1] != 0 || state->cubin) {
    return EMU_INVALID_VALUE;
  }
  ptx_module *module = ptx_module_parse(text, &fault);
  ptx_module_free(module);
  if (!module) {
    if (state->log) emu_fault_print(&fault, state->log, state->log_bytes);
    return EMU_INVALID_IMAGE;
  }
  emu_context *context = emu_cuda_current();
  if (!context) return EMU_INVALID_CONTEXT;
  char head[sizeof cubin_head + 16];
  int length =
      snprintf(head, sizeof head, "%s%d\n", cubin_head, capability_of(emu_context_device(context)));
  state->cubin_bytes = (size_t)length + size;
  state->cubin = malloc(state->cubin_bytes);
  if (!state->cubin) return EMU_OUT_OF_MEMORY;
  memcpy(state->cubin, head, (size_t)length);
  memcpy(state->cubin + length, text, size);
  return 0;
}

cuda_result cuLinkComplete(void *link, void **cubin, size_t *size) {
  EMU_ENTER(cuLinkComplete);
  const link_state *state = link;
  *cubin = state->cubin;
  *size = state->cubin_bytes;
  return state->cubin ? 0 : EMU_INVALID_VALUE;
}

cuda_result cuLinkDestroy(void *link) {
  EMU_ENTER(cuLinkDestroy);
  link_state *state = link;
  free(state->cubin);
  free(state);
  return 0;
}

/* Code of a context. Functions, and what was launched or captured of them, keep it after it was
 * unloaded; running it then is a mistake that is told. */
typedef struct cuda_module {
  ptx_module *code;
  emu_context *context;
  _Atomic int holders; /* the user, launches */
  _Atomic bool unloaded;
  struct cuda_function *functions; /* with the run lock */
} cuda_module;

typedef struct cuda_function {
  struct cuda_function *next;
  cuda_module *module;
  ptx_kernel *kernel;
} cuda_function;

static void module_drop(cuda_module *module) {
  if (atomic_fetch_sub(&module->holders, 1) != 1) return;
  while (module->functions) {
    cuda_function *next = module->functions->next;
    free(module->functions);
    module->functions = next;
  }
  ptx_module_free(module->code);
  free(module);
}

/* Two processes that save one text write the same bytes. */
static void save_text(const char *text) {
  const char *folder = getenv("LLRT_EMU_SAVE");
  char path[4096];
  if (!folder) return;
  snprintf(path, sizeof path, "%s/%016llx.ptx", folder,
           (unsigned long long)XXH3_64bits(text, strlen(text)));
  FILE *file = fopen(path, "w");
  if (!file) return;
  fputs(text, file);
  fclose(file);
}

/* A cubin runs on its own compute capability and later ones of the same major number. */
static bool cubin_runs_on(const char *image, int capability) {
  int linked_for = atoi(image + sizeof cubin_head - 1);
  return linked_for / 10 == capability / 10 && linked_for <= capability;
}

/* Of what was linked, or of PTX. */
cuda_result cuModuleLoadDataEx(void **out, const void *image, unsigned n_options, int *options,
                               void **values) {
  EMU_ENTER_UNSAFE(cuModuleLoadDataEx);
  link_state state = {NULL};
  emu_fault fault;
  bool linked = strncmp(image, cubin_head, sizeof cubin_head - 1) == 0;
  emu_context *context = emu_cuda_current();
  *out = NULL;
  if (!context) return EMU_INVALID_CONTEXT;
  if (!linked && !strstr(image, ".version")) return EMU_INVALID_IMAGE;
  if (linked && !cubin_runs_on(image, capability_of(emu_context_device(context))))
    return EMU_INVALID_IMAGE;
  find_log(&state, n_options, options, values);
  cuda_module *module = calloc(1, sizeof *module);
  if (!module) return EMU_OUT_OF_MEMORY;
  *module =
      (cuda_module){.code = ptx_module_parse(image, &fault), .context = context, .holders = 1};
  if (!module->code && state.log) emu_fault_print(&fault, state.log, state.log_bytes);
  if (module->code &&
      ptx_module_runs_on(module->code, capability_of(emu_context_device(context)))) {
    save_text(linked ? strstr(image, ".version") : image);
    *out = module;
    return 0;
  }
  module_drop(module);
  return EMU_INVALID_IMAGE;
}

/* Waits for what may run it. */
cuda_result cuModuleUnload(void *handle) {
  EMU_ENTER_UNSAFE(cuModuleUnload);
  cuda_module *module = handle;
  emu_wait_for_all(module->context);
  atomic_store(&module->unloaded, true);
  module_drop(module);
  return 0;
}

cuda_result cuModuleGetFunction(void **out, void *handle, const char *name) {
  EMU_ENTER(cuModuleGetFunction);
  cuda_module *module = handle;
  ptx_kernel *kernel = (ptx_kernel *)(uintptr_t)ptx_module_kernel(module->code, name);
  *out = NULL;
  if (!kernel) return EMU_NOT_FOUND;
  cuda_function *function = calloc(1, sizeof *function);
  if (!function) return EMU_OUT_OF_MEMORY;
  emu_run_lock();
  *function = (cuda_function){.next = module->functions, .module = module, .kernel = kernel};
  module->functions = function;
  emu_run_unlock();
  *out = function;
  return 0;
}

cuda_result cuFuncGetAttribute(int *value, int attribute, void *function) {
  EMU_ENTER(cuFuncGetAttribute);
  (void)function;
  *value = 32;
  return attribute == CUDA_FUNCTION_REGISTERS ? 0 : EMU_INVALID_VALUE;
}

cuda_result cuFuncSetAttribute(void *handle, int attribute, int value) {
  EMU_ENTER(cuFuncSetAttribute);
  cuda_function *function = handle;
  const emu_context *context = emu_cuda_current();
  if (!context) return EMU_INVALID_CONTEXT;
  if (attribute != CUDA_FUNCTION_DYNAMIC_SHARED || value < 0 ||
      value > most_shared(emu_context_device(context)))
    return EMU_INVALID_VALUE;
  return ptx_kernel_allow_shared(function->kernel, (uint32_t)value) ? 0 : EMU_INVALID_VALUE;
}

cuda_result cuFuncLoad(void *function) {
  EMU_ENTER_UNSAFE(cuFuncLoad);
  (void)function;
  return 0;
}

/* ---- launches ---- */

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

typedef struct cuda_launch {
  emu_launch base;
  const cuda_function *function;
  ptx_grid grid;
  void *parameter[PTX_MAX_PARAMS]; /* in `bytes` */
  uint8_t bytes[];
} cuda_launch;

static emu_range *find_peer(void *context, uint64_t address, size_t bytes) {
  return emu_context_find_peer(context, address, bytes);
}

static void rest(void *context, int polls) {
  (void)context;
  emu_run_rest(polls);
}

/* Of a kernel that may run beside those in front of it, or let those behind it start: what is known
 * of the former, and where it is noted what it touches. false: no memory. */
static bool begin_front(cuda_launch *launch, ptx_front **touched) {
  ptx_grid *grid = &launch->grid;
  void **kept = emu_front();
  bool lets = kept && ptx_kernel_lets_start(launch->function->kernel);
  grid->front = kept && grid->programmatic ? *kept : NULL;
  grid->may_be_beside = !kept && grid->programmatic;
  grid->touched = lets ? touched : NULL;
  if (lets) *touched = grid->front ? ptx_front_copy(grid->front) : ptx_front_new();
  return !lets || *touched;
}

static void end_front(cuda_launch *launch, ptx_front *touched) {
  void **kept = emu_front();
  launch->grid.front = NULL;
  if (!kept) return;
  free(*kept);
  *kept = touched;
}

static int run_launch(emu_launch *base, char *trouble, size_t size) {
  cuda_launch *launch = (cuda_launch *)base;
  const ptx_system system = {.user = base->context, .find = find_peer, .rest = rest};
  emu_fault fault;
  if (atomic_load(&launch->function->module->unloaded)) {
    snprintf(trouble, size, "the kernel's module was unloaded");
    return EMU_LAUNCH_FAILED;
  }
  launch->grid.memory = emu_context_memory(base->context);
  launch->grid.system = &system;
  ptx_front *touched = NULL;
  if (!begin_front(launch, &touched)) return EMU_OUT_OF_MEMORY;
  bool done = ptx_launch(launch->function->kernel, &launch->grid, &last_counters, &fault);
  end_front(launch, touched);
  append_statistics(&last_counters);
  if (done) return 0;
  emu_fault_print(&fault, trouble, size);
  return EMU_LAUNCH_FAILED;
}

static void destroy_launch(emu_launch *base) {
  module_drop(((cuda_launch *)base)->function->module);
  free(base);
}

/* Arguments are copied, as a driver does. */
static cuda_launch *make_launch(cuda_function *function, const ptx_grid *grid, void **parameters) {
  uint32_t offset[PTX_MAX_PARAMS], bytes[PTX_MAX_PARAMS], total;
  uint32_t n = ptx_kernel_parameters(function->kernel, offset, bytes, &total);
  cuda_launch *launch = calloc(1, sizeof *launch + total);
  if (!launch) return NULL;
  launch->base = (emu_launch){.run = run_launch,
                              .destroy = destroy_launch,
                              .context = function->module->context,
                              .function = function,
                              .blocks = grid->blocks,
                              .threads = grid->threads,
                              .shared_bytes = grid->dynamic_shared,
                              .holders = 1};
  launch->function = function;
  launch->grid = *grid;
  launch->grid.parameters = launch->parameter;
  for (uint32_t i = 0; i < n; i++) {
    launch->parameter[i] = launch->bytes + offset[i];
    memcpy(launch->bytes + offset[i], parameters[i], bytes[i]);
  }
  atomic_fetch_add(&function->module->holders, 1);
  return launch;
}

static cuda_result launch(cuda_function *function, void *handle, const ptx_grid *asked,
                          void **parameters) {
  ptx_grid grid = *asked;
  emu_stream *stream;
  int result = emu_cuda_stream(handle, &stream);
  if (result) return result;
  grid.apart = is_set_to("LLRT_EMU_LANES", "apart");
  grid.reversed = is_set_to("LLRT_EMU_BLOCKS", "reversed");
  if (grid.dynamic_shared > ptx_kernel_shared_limit(function->kernel)) return EMU_INVALID_VALUE;
  cuda_launch *made = make_launch(function, &grid, parameters);
  if (!made) return EMU_OUT_OF_MEMORY;
  result = emu_queue_launch(stream, &made->base);
  emu_launch_release(&made->base);
  return result;
}

cuda_result cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned shared_bytes, void *stream, void **parameters, void **extra) {
  EMU_ENTER(cuLaunchKernel);
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || extra) return EMU_INVALID_VALUE;
  const ptx_grid grid = {.blocks = grid_x, .threads = block_x, .dynamic_shared = shared_bytes};
  return launch(function, stream, &grid, parameters);
}

#define TOGETHER \
  18 /* multiprocessors that have clusters in common; the last of a device may be fewer */

cuda_result cuOccupancyMaxActiveClusters(int *clusters, void *function,
                                         const cuda_launch_config *config) {
  EMU_ENTER(cuOccupancyMaxActiveClusters);
  (void)function;
  if (!emu_cuda_current()) return EMU_INVALID_CONTEXT;
  if (config->n_attributes != 1 || config->attributes[0].id != CUDA_LAUNCH_CLUSTER_DIMENSION ||
      config->attributes[0].value.cluster.x == 0)
    return EMU_INVALID_VALUE;
  const int blocks = (int)config->attributes[0].value.cluster.x,
            units = setting("LLRT_EMU_UNITS", MULTIPROCESSORS);
  *clusters = units / TOGETHER * (TOGETHER / blocks) + units % TOGETHER / blocks;
  return 0;
}

/* Of attributes clusters alone, along x, up to the eight blocks that every device of 9.0 has. */
cuda_result cuLaunchKernelEx(const cuda_launch_config *config, void *function, void **parameters,
                             void **extra) {
  unsigned cluster = 1;
  bool programmatic = false;
  EMU_ENTER(cuLaunchKernelEx);
  const emu_context *context = emu_cuda_current();
  if (!context) return EMU_INVALID_CONTEXT;
  cuda_ordinal device = emu_context_device(context);
  for (unsigned i = 0; i < config->n_attributes; i++) {
    const cuda_launch_attribute *attribute = &config->attributes[i];
    if (attribute->id == CUDA_LAUNCH_PROGRAMMATIC_SERIALIZATION && gpu_of(device)->major >= 9) {
      programmatic = attribute->value.programmatic_serialization != 0;
      continue;
    }
    if (attribute->id != CUDA_LAUNCH_CLUSTER_DIMENSION) return EMU_INVALID_VALUE;
    cluster = attribute->value.cluster.x;
    if (attribute->value.cluster.y != 1 || attribute->value.cluster.z != 1)
      return EMU_INVALID_VALUE;
  }
  if (config->grid_y != 1 || config->grid_z != 1 || config->block_y != 1 || config->block_z != 1 ||
      extra)
    return EMU_INVALID_VALUE;
  if (cluster == 0 || cluster > 8 || config->grid_x % cluster) return EMU_INVALID_VALUE;
  if (cluster > 1 && gpu_of(device)->major < 9) return EMU_INVALID_VALUE;
  const ptx_grid grid = {.blocks = config->grid_x,
                         .threads = config->block_x,
                         .cluster = cluster,
                         .programmatic = programmatic,
                         .dynamic_shared = config->shared_bytes};
  return launch(function, config->stream, &grid, parameters);
}
