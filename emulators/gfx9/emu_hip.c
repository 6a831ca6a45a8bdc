/* A libamdhip64 whose devices are emulators: device 0 is a gfx90a, device 1 a gfx942. Here are
 * devices, modules and launches; streams and memory have files of their own. What a launch did
 * wrong is told by hipGetErrorString. With LLRT_EMU_STATS=FILE every launch appends its counters to
 * FILE, a line of JSON; LLRT_EMU_STREAMS=MODE says when queued work runs (common/emu_control.h);
 * LLRT_EMU_POOLS=0: no memory in stream order, as before ROCm 5.2.
 *
 * Thread: any; one kernel at a time runs. */
#include "emulators/gfx9/emu_hip.h"
#include "emulators/common/emu_calls.h"
#include "emulators/common/emu_driver.h"
#include "emulators/gfx9/gfx9.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROTOTYPE(required, type, name, arguments) EMU_HIP_API type name arguments;
HIP_SYMBOLS(PROTOTYPE)
#undef PROTOTYPE

static const char *const architectures[] = {"gfx90a", "gfx942"};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static emu_context *contexts[EMU_HIP_DEVICES]; /* with the mutex */
static _Thread_local int current;

int emu_hip_current(void) { return current; }

emu_context *emu_hip_context(int device) {
  if (device < 0 || device >= EMU_HIP_DEVICES) return NULL;
  pthread_mutex_lock(&mutex);
  if (!contexts[device]) contexts[device] = emu_context_create(device, EMU_HIP_BYTES);
  emu_context *context = contexts[device];
  pthread_mutex_unlock(&mutex);
  return context;
}

int emu_hip_stream(void *handle, emu_stream **stream) {
  return emu_stream_find(emu_hip_context(current), handle, stream);
}

/* ---- the library ---- */

hip_result hipInit(unsigned flags) {
  EMU_ENTER(hipInit);
  return flags == 0 ? 0 : EMU_INVALID_VALUE;
}

static const struct {
  int code;
  const char *name, *text; /* text NULL: what the last failed work told */
} errors[] = {
#define ERROR_ROW(name, number, cuda, hip, text) {number, "hipError" hip, text},
    EMU_RESULTS(ERROR_ROW)
#undef ERROR_ROW
};

static int find_error(hip_result result) {
  int i = (int)(sizeof errors / sizeof errors[0]);
  while (--i >= 0 && errors[i].code != result) continue;
  return i;
}

const char *hipGetErrorName(hip_result result) {
  int i = find_error(result);
  return i < 0 ? "hipErrorUnknown" : errors[i].name;
}

const char *hipGetErrorString(hip_result result) {
  int i = find_error(result);
  if (i < 0) return "hipErrorUnknown";
  return errors[i].text && result != EMU_INVALID_IMAGE ? errors[i].text : emu_trouble();
}

hip_result hipGetDeviceCount(int *count) {
  EMU_ENTER(hipGetDeviceCount);
  *count = EMU_HIP_DEVICES;
  return 0;
}

hip_result hipGetDevice(int *device) {
  EMU_ENTER(hipGetDevice);
  *device = current;
  return 0;
}

hip_result hipSetDevice(int device) {
  EMU_ENTER(hipSetDevice);
  if (device < 0 || device >= EMU_HIP_DEVICES) return EMU_INVALID_DEVICE;
  current = device;
  return 0;
}

hip_result hipDeviceGetName(char *name, int size, int device) {
  EMU_ENTER(hipDeviceGetName);
  snprintf(name, (size_t)size, "emulated %s", architectures[device]);
  return 0;
}

hip_result hipDeviceGetAttribute(int *value, int attribute, int device) {
  EMU_ENTER(hipDeviceGetAttribute);
  (void)device;
  switch (attribute) {
  case HIP_ATTRIBUTE_MULTIPROCESSORS: *value = 1; return 0;
  case HIP_ATTRIBUTE_L2_BYTES: *value = 4 << 20; return 0;
  case HIP_ATTRIBUTE_CLOCK_KHZ: *value = 1000000; return 0;
  case HIP_ATTRIBUTE_PAGEABLE_ACCESS: *value = 0; return 0;
  default: return EMU_INVALID_VALUE;
  }
}

hip_result hipDeviceTotalMem(size_t *bytes, int device) {
  EMU_ENTER(hipDeviceTotalMem);
  (void)device;
  *bytes = EMU_HIP_BYTES;
  return 0;
}

/* 1160 and 396: where gcnArchName lies in ROCm 6's struct and in ROCm 5's. */
static hip_result properties_at(char *properties, int device, size_t offset) {
  if (device < 0 || device >= EMU_HIP_DEVICES) return EMU_INVALID_DEVICE;
  snprintf(properties, 256, "emulated %s", architectures[device]);
  snprintf(properties + offset, 64, "%s:sramecc+:xnack-", architectures[device]);
  return 0;
}

hip_result hipGetDevicePropertiesR0600(void *properties, int device) {
  EMU_ENTER(hipGetDevicePropertiesR0600);
  return properties_at(properties, device, 1160);
}

hip_result hipGetDeviceProperties(void *properties, int device) {
  EMU_ENTER(hipGetDeviceProperties);
  return properties_at(properties, device, 396);
}

/* ---- other devices' memory ---- */

hip_result hipDeviceCanAccessPeer(int *can, int device, int peer) {
  EMU_ENTER(hipDeviceCanAccessPeer);
  *can = 0;
  if (!emu_hip_context(device) || !emu_hip_context(peer)) return EMU_INVALID_DEVICE;
  *can = device != peer;
  return 0;
}

hip_result hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  EMU_ENTER(hipDeviceEnablePeerAccess);
  const emu_context *other = emu_hip_context(peer);
  if (flags) return EMU_INVALID_VALUE;
  if (!other || peer == current) return EMU_INVALID_DEVICE;
  return emu_context_reach(emu_hip_context(current), other) ? 0 : HIP_RESULT_PEER_ENABLED;
}

/* ---- kernels ---- */

/* Code on a device; its kernel's handle is the module's. What was launched or captured of it keeps
 * it after it was unloaded; running it then is a mistake that is told. */
typedef struct hip_module {
  gfx9_module *code;
  emu_context *context;
  _Atomic int holders; /* the user, launches */
  _Atomic bool unloaded;
} hip_module;

static void module_drop(hip_module *module) {
  if (atomic_fetch_sub(&module->holders, 1) != 1) return;
  emu_run_lock();
  gfx9_module_destroy(module->code);
  emu_run_unlock();
  free(module);
}

hip_result hipModuleLoadData(void **out, const void *image) {
  EMU_ENTER_UNSAFE(hipModuleLoadData);
  emu_fault fault;
  char text[512];
  emu_context *context = emu_hip_context(current);
  hip_module *module = calloc(1, sizeof *module);
  *out = NULL;
  if (!module) return EMU_OUT_OF_MEMORY;
  module->context = context;
  module->holders = 1;
  emu_run_lock();
  bool ok = gfx9_module_create(image, 0, architectures[current], "llrt_kernel",
                               emu_context_memory(context), &module->code, &fault);
  emu_run_unlock();
  if (ok) *out = module;
  if (ok) return 0;
  free(module);
  emu_fault_print(&fault, text, sizeof text);
  emu_set_trouble(text);
  return EMU_INVALID_IMAGE;
}

/* Waits for what may run it. */
hip_result hipModuleUnload(void *handle) {
  EMU_ENTER_UNSAFE(hipModuleUnload);
  hip_module *module = handle;
  emu_wait_for_all(module->context);
  atomic_store(&module->unloaded, true);
  module_drop(module);
  return 0;
}

hip_result hipModuleGetFunction(void **function, void *module, const char *name) {
  EMU_ENTER(hipModuleGetFunction);
  *function = module;
  return strcmp(name, gfx9_module_kernel(((hip_module *)module)->code)->name) == 0 ? 0
                                                                                   : EMU_NOT_FOUND;
}

static void report(const emu_counters *counters, const char *kernel) {
  const char *path = getenv("LLRT_EMU_STATS");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  emu_counters_print(counters, kernel, file);
  fclose(file);
}

enum { MAX_KERNARGS = 4096 };

typedef struct hip_launch {
  emu_launch base;
  hip_module *module;
  uint8_t kernargs[]; /* zero beyond what the parameters say */
} hip_launch;

static emu_range *find_peer(void *context, uint64_t address, size_t bytes) {
  return emu_context_find_peer(context, address, bytes);
}

static void rest(void *context, int polls) {
  (void)context;
  emu_run_rest(polls);
}

static int run_launch(emu_launch *base, char *trouble, size_t size) {
  const hip_launch *launch = (const hip_launch *)base;
  const hip_module *module = launch->module;
  emu_counters counters;
  emu_fault fault;
  if (atomic_load(&module->unloaded)) {
    snprintf(trouble, size, "the kernel's module was unloaded");
    return EMU_LAUNCH_FAILED;
  }
  const gfx9_system system = {.user = base->context, .find = find_peer, .rest = rest};
  const gfx9_launch run = {.system = &system,
                           .blocks = base->blocks,
                           .threads = base->threads,
                           .kernargs = launch->kernargs};
  bool ok = gfx9_run(module->code, &run, &counters, &fault);
  report(&counters, gfx9_module_kernel(module->code)->name);
  if (ok) return 0;
  emu_fault_print(&fault, trouble, size);
  return fault.kind == EMU_OUT_OF_RANGE ? EMU_ILLEGAL_ADDRESS : EMU_LAUNCH_FAILED;
}

static void destroy_launch(emu_launch *base) {
  module_drop(((hip_launch *)base)->module);
  free(base);
}

static hip_result make_launch(hip_module *module, unsigned blocks, unsigned threads,
                              void **parameters, hip_launch **out) {
  const gfx9_kernel *kernel = gfx9_module_kernel(module->code);
  *out = NULL;
  if (kernel->n_args < 0 || kernel->kernarg_bytes > MAX_KERNARGS) return EMU_INVALID_VALUE;
  hip_launch *launch = calloc(1, sizeof *launch + MAX_KERNARGS);
  if (!launch) return EMU_OUT_OF_MEMORY;
  for (int i = 0; i < kernel->n_args; i++) {
    const gfx9_arg *arg = &kernel->arg[i];
    if (arg->offset > MAX_KERNARGS || arg->bytes > MAX_KERNARGS - arg->offset) {
      free(launch);
      return EMU_INVALID_VALUE;
    }
    memcpy(launch->kernargs + arg->offset, parameters[i], arg->bytes);
  }
  launch->base = (emu_launch){.run = run_launch,
                              .destroy = destroy_launch,
                              .context = module->context,
                              .function = module,
                              .blocks = blocks,
                              .threads = threads,
                              .holders = 1};
  launch->module = module;
  atomic_fetch_add(&module->holders, 1);
  *out = launch;
  return 0;
}

hip_result hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned shared_bytes, void *handle, void **parameters,
                                 void **extra) {
  EMU_ENTER(hipModuleLaunchKernel);
  emu_stream *stream;
  hip_launch *launch;
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || shared_bytes || extra) {
    return EMU_INVALID_VALUE;
  }
  int result = emu_hip_stream(handle, &stream);
  if (!result) result = make_launch(function, grid_x, block_x, parameters, &launch);
  if (result) return result;
  result = emu_queue_launch(stream, &launch->base);
  emu_launch_release(&launch->base);
  return result;
}
