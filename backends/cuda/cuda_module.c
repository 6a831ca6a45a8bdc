/* PTX to what is loaded, loading and launching. */
#include "backends/cuda/cuda_device.h"

#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/kernel/launch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LOG_BYTES 768 /* what of the linker's log fits into an error message */

struct backend_module {
  void *handle;                   /* CUmodule */
  void *function;                 /* CUfunction */
  unsigned shared_bytes, cluster; /* cluster: blocks; 0: none */
  int64_t at_once;                /* blocks of clusters that stay; 0: any number */
};

/* Errors that mean "not for this GPU" rather than "the GPU failed". */
static llrt_status check_image(const cuda_driver *driver, cuda_result result,
                               const char *function) {
  llrt_status status = llrt_cuda_check(driver, result, function);
  bool foreign = result == CUDA_RESULT_INVALID_IMAGE || result == CUDA_RESULT_NO_BINARY_FOR_GPU ||
                 result == CUDA_RESULT_UNSUPPORTED_PTX_VERSION;
  return foreign ? llrt_error_prefix(LLRT_UNSUPPORTED, "the code is not for this GPU or driver")
                 : status;
}

/* An error log of the driver's compiler: its options. */
typedef struct jit_log {
  char text[LOG_BYTES];
  int options[2];
  void *values[2];
} jit_log;

static void begin_log(jit_log *log) {
  *log = (jit_log){.options = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_BYTES},
                   .values = {log->text, (void *)(uintptr_t)sizeof log->text}};
}

static llrt_status with_log(llrt_status status, const jit_log *log) {
  return status != LLRT_OK && log->text[0] ? llrt_error_prefix(status, "%.*s", LOG_BYTES, log->text)
                                           : status;
}

/* Code whose warps give registers to each other. What is to be linked may be called from elsewhere,
 * so that its compiler leaves that out ("setmaxnreg ignored to maintain compatibility across
 * compilation units") and has too few registers for what the others do: then products wait for each
 * other. Such code is compiled whole as it is loaded. */
static bool shifts_registers(const char *ptx) { return strstr(ptx, "setmaxnreg.") != NULL; }

static llrt_status copy_code(const void *code, size_t size, void **copy, size_t *copy_size) {
  *copy = memory_new(size);
  if (!*copy) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for code of %zu bytes", size);
  memcpy(*copy, code, size);
  *copy_size = size;
  return LLRT_OK;
}

/* Runs the driver's linker over one PTX text; copies the cubin, which is the link state's. */
static llrt_status link_ptx(const cuda_driver *driver, void *state, const void *code, size_t size,
                            void **linked, size_t *linked_size) {
  LLRT_TRY(check_image(driver,
                       driver->cuLinkAddData_v2(state, CUDA_JIT_INPUT_PTX, (void *)code, size,
                                                PLAN_ENTRY_NAME, 0, NULL, NULL),
                       "cuLinkAddData"));
  void *cubin = NULL;
  size_t cubin_size = 0;
  LLRT_TRY(
      check_image(driver, driver->cuLinkComplete(state, &cubin, &cubin_size), "cuLinkComplete"));
  return copy_code(cubin, cubin_size, linked, linked_size);
}

llrt_status llrt_cuda_link(llrt_device *base, const void *code, size_t size, void **linked,
                           size_t *linked_size) {
  const cuda_device *device = cuda_device_of(base);
  const cuda_driver *driver = &device->driver;
  *linked = NULL;
  *linked_size = 0;
  jit_log log;
  size++; /* PTX is text: its size counts the terminating zero */
  if (shifts_registers(code)) return LLRT_OK;
  int mode;
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  void *state = NULL;
  begin_log(&log);
  llrt_status status = CUDA_CALL(driver, cuLinkCreate_v2, 2, log.options, log.values, &state);
  if (status == LLRT_OK) {
    status = with_log(link_ptx(driver, state, code, size, linked, linked_size), &log);
    driver->cuLinkDestroy(state);
  }
  status = llrt_cuda_leave_relaxed(device, mode, status);
  if (status == LLRT_OK) return LLRT_OK;
  free(*linked);
  *linked = NULL;
  *linked_size = 0;
  return status;
}

/* With lazy loading (the default since CUDA 12) a function's code would reach the device at its
 * first launch, which stream capture forbids: load it now. */
static llrt_status load_function(const cuda_driver *driver, void *function) {
  if (driver->cuFuncLoad) return CUDA_CALL(driver, cuFuncLoad, function);
  int registers;
  return CUDA_CALL(driver, cuFuncGetAttribute, &registers, CUDA_FUNCTION_REGISTERS, function);
}

/* How many blocks of clusters the device has at once: of multiprocessors that lie together some may
 * be left over. Of 132 clusters of four and of eight had 120 where clusters of two had all. */
static llrt_status find_at_once(const cuda_driver *driver, const backend_code *code,
                                backend_module *module) {
  cuda_launch_attribute cluster = {.id = CUDA_LAUNCH_CLUSTER_DIMENSION,
                                   .value.cluster = {module->cluster, 1, 1}};
  const cuda_launch_config config = {.grid_x = module->cluster,
                                     .grid_y = 1,
                                     .grid_z = 1,
                                     .block_x = (unsigned)code->threads,
                                     .block_y = 1,
                                     .block_z = 1,
                                     .shared_bytes = module->shared_bytes,
                                     .attributes = &cluster,
                                     .n_attributes = 1};
  int clusters = 0;
  if (code->threads == 0 || module->cluster == 0 || !driver->cuOccupancyMaxActiveClusters)
    return LLRT_OK;
  LLRT_TRY(CUDA_CALL(driver, cuOccupancyMaxActiveClusters, &clusters, module->function, &config));
  module->at_once = (int64_t)clusters * module->cluster;
  return LLRT_OK;
}

/* Kernels take all their shared memory at the launch; above a limit they have to say so before. */
static llrt_status module_open(const cuda_driver *driver, const backend_code *code,
                               backend_module *module) {
  jit_log log;
  begin_log(&log);
  cuda_result loaded =
      driver->cuModuleLoadDataEx(&module->handle, code->data, 2, log.options, log.values);
  LLRT_TRY(with_log(check_image(driver, loaded, "cuModuleLoadDataEx"), &log));
  LLRT_TRY(CUDA_CALL(driver, cuModuleGetFunction, &module->function, module->handle, code->entry));
  module->shared_bytes = (unsigned)code->shared_bytes;
  module->cluster = (unsigned)code->cluster;
  if (module->cluster > 0 && !driver->cuLaunchKernelEx)
    return llrt_error(LLRT_UNSUPPORTED, "clusters: this driver has no cuLaunchKernelEx");
  if (code->boxes && !driver->cuTensorMapEncodeTiled)
    return llrt_error(LLRT_UNSUPPORTED,
                      "copies of boxes: this driver has no cuTensorMapEncodeTiled");
  if (code->shared_bytes > CUDA_SHARED_WITHOUT_ASKING)
    LLRT_TRY(CUDA_CALL(driver, cuFuncSetAttribute, module->function, CUDA_FUNCTION_DYNAMIC_SHARED,
                       code->shared_bytes));
  LLRT_TRY(find_at_once(driver, code, module));
  return load_function(driver, module->function);
}

static void module_close(const cuda_driver *driver, backend_module *module) {
  if (module->handle) driver->cuModuleUnload(module->handle);
  free(module);
}

llrt_status llrt_cuda_load(llrt_device *base, const backend_code *code, backend_module **out) {
  const cuda_device *device = cuda_device_of(base);
  *out = NULL;
  backend_module *module = memory_zeroed(1, sizeof *module);
  if (!module) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a loaded kernel");
  int mode;
  llrt_status status = llrt_cuda_enter_relaxed(device, &mode);
  if (status != LLRT_OK) {
    free(module);
    return status;
  }
  status = llrt_cuda_leave_relaxed(device, mode, module_open(&device->driver, code, module));
  if (status == LLRT_OK) *out = module;
  else module_close(&device->driver, module);
  return status;
}

void llrt_cuda_unload(llrt_device *base, backend_module *module) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  bool entered = llrt_cuda_enter_relaxed(device, &mode) == LLRT_OK;
  module_close(&device->driver, module);
  if (entered) llrt_cuda_leave_relaxed(device, mode, LLRT_OK);
}

static unsigned shared_bytes(const backend_module *module, const backend_launch *launch) {
  unsigned own = launch->shared_bytes > 0 ? (unsigned)launch->shared_bytes : module->shared_bytes;
  return (unsigned)launch->room_bytes > own ? (unsigned)launch->room_bytes : own;
}

static llrt_status launch_with_attributes(const cuda_device *device, const backend_module *module,
                                          const backend_launch *launch, void **parameters,
                                          void *stream) {
  const bool fewer = launch->stays && module->at_once > 0 && launch->blocks > module->at_once;
  cuda_launch_attribute attributes[2];
  unsigned n = 0;
  if (module->cluster > 0)
    attributes[n++] = (cuda_launch_attribute){.id = CUDA_LAUNCH_CLUSTER_DIMENSION,
                                              .value.cluster = {module->cluster, 1, 1}};
  if (launch->early && device->launches_early)
    attributes[n++] = (cuda_launch_attribute){.id = CUDA_LAUNCH_PROGRAMMATIC_SERIALIZATION,
                                              .value.programmatic_serialization = 1};
  const cuda_launch_config config = {.grid_x = (unsigned)(fewer ? module->at_once : launch->blocks),
                                     .grid_y = 1,
                                     .grid_z = 1,
                                     .block_x = (unsigned)launch->threads,
                                     .block_y = 1,
                                     .block_z = 1,
                                     .shared_bytes = shared_bytes(module, launch),
                                     .stream = stream,
                                     .attributes = attributes,
                                     .n_attributes = n};
  return CUDA_CALL(&device->driver, cuLaunchKernelEx, &config, module->function, parameters, NULL);
}

/* ---- tensor maps ---- */

typedef struct tensor_map {
  _Alignas(CUDA_TENSOR_MAP_ALIGNMENT) unsigned char bytes[CUDA_TENSOR_MAP_BYTES];
} tensor_map;

static uint64_t number_of(const plan_number *number, const uint64_t *args) {
  return number->arg < 0 ? (uint64_t)number->value : args[number->arg];
}

#define LINE_BYTES 128

/* In the device's context. Rows that begin inside lines are fetched line by line: by two lines at
 * once 1024 x 4096 x 4104 (bf16) takes 58.8 us on an H200, line by line 50.6
 * (docs/history/odd-pitches.md); so are those of which the plan says so (plan_box.single). Of a
 * tensor without elements nothing is copied, and there is no map of it. What one row is apart from
 * the next does not matter where there is but one. */
static llrt_status encode_map(const cuda_driver *driver, const plan_box *box, unsigned rows,
                              const uint64_t *args, tensor_map *map) {
  unsigned long long extent[PLAN_BOX_RANK], stride[PLAN_BOX_RANK - 1];
  unsigned size[PLAN_BOX_RANK], one[PLAN_BOX_RANK], rank = (unsigned)plan_box_rank(box);
  bool lines = !box->single;
  *map = (tensor_map){{0}};
  for (unsigned d = 0; d < rank; d++) {
    extent[d] = number_of(&box->extent[d], args);
    size[d] = d == 1 ? rows : box->size[d];
    one[d] = 1;
    if (extent[d] == 0) return LLRT_OK;
    if (d == 0) continue;
    stride[d - 1] =
        extent[d] == 1 ? 16 : number_of(&box->stride[d - 1], args) >> box->packed << box->bytes;
    lines &= extent[d] == 1 || stride[d - 1] % LINE_BYTES == 0;
  }
  return CUDA_CALL(driver, cuTensorMapEncodeTiled, map, CUDA_TENSOR_MAP_U8 + box->bytes, rank,
                   (void *)(uintptr_t)number_of(&box->address, args), extent, stride, size, one, 0,
                   box->swizzle, lines ? CUDA_TENSOR_MAP_PROMOTE_256 : CUDA_TENSOR_MAP_PROMOTE_128,
                   0);
}

/* Parameters behind the arguments. */
static llrt_status encode_maps(const cuda_driver *driver, const backend_launch *launch,
                               tensor_map *map, void **parameters) {
  int next = launch->n_boxes;
  for (int i = 0; i < launch->n_boxes; i++) {
    const plan_box *box = &launch->boxes[i];
    LLRT_TRY(encode_map(driver, box, box->size[1], launch->args, &map[i]));
    parameters[launch->n_args + i] = &map[i];
    if (!box->rest) continue;
    const int rows = plan_box_rest(box, (int64_t)number_of(&box->extent[1], launch->args));
    map[next] = (tensor_map){{0}};
    if (rows > 0) LLRT_TRY(encode_map(driver, box, (unsigned)rows, launch->args, &map[next]));
    parameters[launch->n_args + next] = &map[next];
    next++;
  }
  return LLRT_OK;
}

static llrt_status launch_module(const cuda_device *device, const backend_module *module,
                                 const backend_launch *launch, void **parameters, void *stream) {
  int32_t shared = (int32_t)shared_bytes(module, launch);
  if (shared == launch->room_bytes && shared > CUDA_SHARED_WITHOUT_ASKING)
    LLRT_TRY(CUDA_CALL(&device->driver, cuFuncSetAttribute, module->function,
                       CUDA_FUNCTION_DYNAMIC_SHARED, shared));
  if (module->cluster > 0 || (launch->early && device->launches_early))
    return launch_with_attributes(device, module, launch, parameters, stream);
  return CUDA_CALL(&device->driver, cuLaunchKernel, module->function, (unsigned)launch->blocks, 1,
                   1, (unsigned)launch->threads, 1, 1, shared_bytes(module, launch), stream,
                   parameters, NULL);
}

llrt_status llrt_cuda_launch(llrt_device *base, const backend_module *module,
                             const backend_launch *launch, void *stream) {
  const cuda_device *device = cuda_device_of(base);
  assert(launch->n_args <= PLAN_MAX_ARGS && launch->n_boxes <= PLAN_MAX_BOXES);
  void *parameters[PLAN_MAX_ARGS + PLAN_MAX_TENSOR_MAPS];
  tensor_map map[PLAN_MAX_TENSOR_MAPS];
  for (int i = 0; i < launch->n_args; i++) parameters[i] = (void *)&launch->args[i];
  LLRT_TRY(llrt_cuda_enter(device));
  llrt_status status = encode_maps(&device->driver, launch, map, parameters);
  if (status == LLRT_OK) status = launch_module(device, module, launch, parameters, stream);
  return llrt_cuda_leave(device, status);
}
