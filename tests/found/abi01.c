/* libllrt.so.0: the structs of llrt 0.1 in front of the library that this build makes, for programs
 * from outside that still speak them (checkers through ctypes, which are not in this tree). Only
 * what those call; not installed. Structs are the old ones below; each call copies them and goes on
 * to libllrt.so.0.2, opened from the same folder. In 0.1 an alpha and a beta were numbers of which
 * 0 counted as 1. */
#include <llrt/llrt.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLD_TENSORS = 8, OLD_MAPS = 4, OLD_INDICES = 4 };

typedef struct old_storage {
  int32_t rank, n_digits;
  llrt_digit digit[LLRT_MAX_DIGITS];
  llrt_layout tile;
  llrt_swizzle swizzle;
  int32_t pad;
  uint64_t pad_value;
  int32_t n_targets;
  char target[LLRT_MAX_TARGETS][LLRT_NAME_BYTES];
  int64_t offset[LLRT_MAX_TARGETS + 1];
} old_storage;

typedef struct old_index {
  int32_t axis, kind, out_of_range;
  llrt_dtype dtype;
  uint32_t axes, folded;
  int64_t extent, alignment;
  const void *data;
  int64_t strides[LLRT_MAX_RANK];
  int32_t *report;
} old_index;

typedef struct old_tensor {
  void *data;
  llrt_dtype dtype;
  int32_t rank;
  int64_t shape[LLRT_MAX_RANK], strides[LLRT_MAX_RANK];
  const old_storage *storage;
  llrt_device *device;
  const old_index *indices;
  int32_t n_indices;
  const int32_t *extent_ptr[LLRT_MAX_RANK];
} old_tensor;

typedef struct old_map {
  llrt_map_kind kind;
  uint64_t constant;
  uint8_t perm[32];
  int64_t group[LLRT_MAX_RANK];
} old_map;

typedef struct old_convert_params {
  llrt_dtype dtype;
  int32_t n_maps;
  old_map maps[OLD_MAPS];
  const old_tensor *scale;
} old_convert_params;

typedef struct old_gather_params {
  int32_t form, out_of_range;
  int32_t *report;
  old_convert_params convert;
} old_gather_params;

typedef struct old_reduce_params {
  llrt_combiner op;
  uint32_t axes;
  llrt_dtype accumulate, dtype;
  bool keep_axes;
  const old_tensor *values;
} old_reduce_params;

typedef struct old_scan_params {
  llrt_combiner op;
  int32_t axis;
  bool exclusive, reverse;
  llrt_dtype accumulate, dtype;
} old_scan_params;

typedef struct old_tensor_promise {
  llrt_promise address, shape[LLRT_MAX_RANK], stride[LLRT_MAX_RANK];
  llrt_index_promise index[OLD_INDICES];
} old_tensor_promise;

typedef struct old_combine {
  llrt_combiner op;
  llrt_dtype accumulate;
  uint32_t axes;
  bool exclusive, reverse;
} old_combine;

typedef struct old_op_dot {
  uint32_t roles;
  int32_t group[OLD_TENSORS][LLRT_MAX_RANK];
  double alpha, beta;
  llrt_dtype accumulate;
  uint8_t scale_range[2][2], word_bits[2][32];
  bool tf32, fast_accumulate;
} old_op_dot;

typedef struct old_op_desc {
  llrt_op_kind kind;
  int32_t n_tensors;
  old_tensor tensors[OLD_TENSORS];
  old_tensor_promise promises[OLD_TENSORS];
  bool in_place;
  int32_t n_maps;
  old_map maps[OLD_MAPS];
  old_combine combine;
  old_op_dot dot;
} old_op_desc;

typedef struct old_run_params {
  void *workspace;
  size_t workspace_bytes;
} old_run_params;

typedef struct old_dot_scaling {
  const old_tensor *scale, *zero, *global;
  int64_t group[2];
  uint8_t word_bits[32], range_low, range_high;
} old_dot_scaling;

typedef struct old_dot_params {
  double alpha, beta;
  const old_tensor *c, *bias;
  old_dot_scaling a, b;
  llrt_dtype accumulate, dtype;
  bool tf32, fast_accumulate;
  int32_t n_maps;
  old_map maps[OLD_MAPS];
  const old_tensor *add, *scale;
} old_dot_params;

typedef struct old_pack_params {
  llrt_dtype dtype, scale;
  int64_t group[2];
  llrt_dtype other;
  uint8_t range_low, range_high;
  int32_t n_batch;
  llrt_dtype zero;
} old_pack_params;

typedef struct old_packing {
  old_storage storages[3];
  int32_t n_maps;
  old_map map;
  uint8_t word_bits[32];
} old_packing;

typedef struct old_context_params {
  void *alloc_user;
  void *(*allocate)(void *user, llrt_device *device, size_t bytes, void *stream);
  void (*release)(void *user, llrt_device *device, void *memory, void *stream);
  void *log_user;
  void (*log)(void *user, const char *line); /* told nothing */
  int threads;
  void *parallel_user;
  llrt_parallel_for *parallel_for;
  const char *jit_library;
  int no_compile;
} old_context_params;

typedef struct old_device_params {
  void *driver_context;
  const char *driver_library, *target;
} old_device_params;

/* ---- the library ---- */

/* clang-format off */
#define FUNCTIONS(X) \
  X(context_create) X(convert_into) X(device_open) X(dot_into) X(dot_pack) X(gather_into) \
  X(last_error) \
  X(memory_allocate) X(memory_copy) X(memory_free) X(op_prepare) X(op_run) X(reduce_into) \
  X(scan_into) \
  X(scatter_into) X(storage_offset) X(storage_parse) X(stream_synchronize) X(tensor_bytes) \
  X(version)
/* clang-format on */

static struct {
#define POINTER(name) __typeof__(llrt_##name) *name;
  FUNCTIONS(POINTER)
#undef POINTER
} real;

#define TEXT_OF(x) #x
#define FILE_OF(major, minor) "libllrt.so." TEXT_OF(major) "." TEXT_OF(minor)

static void find(void *library, const char *name, void *pointer) {
  void *address = library ? dlsym(library, name) : NULL;
  if (!address) {
    fprintf(stderr, "libllrt.so.0 for tests: no %s: %s\n", name, dlerror());
    exit(1);
  }
  memcpy(pointer, &address, sizeof address);
}

__attribute__((constructor)) static void open_library(void) {
  static const char file[] = FILE_OF(LLRT_VERSION_MAJOR, LLRT_VERSION_MINOR);
  char path[4096];
  Dl_info info;
  if (!dladdr(file, &info) || !info.dli_fname) return;
  const char *slash = strrchr(info.dli_fname, '/');
  int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
  snprintf(path, sizeof path, "%.*s%s", folder, info.dli_fname, file);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
#define FIND(name) find(library, "llrt_" #name, &real.name);
  FUNCTIONS(FIND)
#undef FIND
}

/* ---- structs ---- */

typedef struct moved {
  llrt_tensor tensor;
  llrt_storage storage;
  llrt_index index[OLD_INDICES];
} moved;

static void move_storage(const old_storage *from, llrt_storage *to) {
  memset(to, 0, sizeof *to);
  memcpy(to, from, sizeof *from);
}

static const llrt_tensor *move_tensor(const old_tensor *from, moved *to) {
  if (!from) return NULL;
  memset(to, 0, sizeof *to);
  memcpy(&to->tensor, from, sizeof *from);
  if (from->storage) {
    move_storage(from->storage, &to->storage);
    to->tensor.storage = &to->storage;
  }
  for (int i = 0; from->indices && i < from->n_indices && i < OLD_INDICES; i++)
    memcpy(&to->index[i], &from->indices[i], sizeof from->indices[i]);
  to->tensor.indices = from->indices ? to->index : NULL;
  return &to->tensor;
}

/* maps: OLD_MAPS of them. */
static const llrt_map *move_maps(const old_map *from, int n, llrt_map *maps) {
  memset(maps, 0, OLD_MAPS * sizeof *maps);
  for (int i = 0; i < n && i < OLD_MAPS; i++) memcpy(&maps[i], &from[i], sizeof from[i]);
  return maps;
}

typedef struct convert_call {
  llrt_convert_params params;
  llrt_map maps[OLD_MAPS];
  moved scale;
} convert_call;

static const llrt_convert_params *move_convert(const old_convert_params *from, convert_call *to) {
  if (!from) return NULL;
  to->params = (llrt_convert_params){.size = sizeof to->params,
                                     .dtype = from->dtype,
                                     .n_maps = from->n_maps,
                                     .maps = move_maps(from->maps, from->n_maps, to->maps),
                                     .scale = move_tensor(from->scale, &to->scale)};
  return &to->params;
}

static llrt_dot_scaling move_scaling(const old_dot_scaling *from, moved tensors[3]) {
  llrt_dot_scaling to = {.scale = move_tensor(from->scale, &tensors[0]),
                         .zero = move_tensor(from->zero, &tensors[1]),
                         .global = move_tensor(from->global, &tensors[2]),
                         .group = {from->group[0], from->group[1]},
                         .range_low = from->range_low,
                         .range_high = from->range_high};
  memcpy(to.word_bits, from->word_bits, sizeof to.word_bits);
  return to;
}

/* ---- calls ---- */

#define EXPORT(name) __asm__("llrt_" #name) __attribute__((visibility("default")))

const char *old_version(void) EXPORT(version);
const char *old_version(void) { return real.version(); }

const char *old_last_error(void) EXPORT(last_error);
const char *old_last_error(void) { return real.last_error(); }

llrt_status old_context_create(const old_context_params *from, llrt_context **context)
    EXPORT(context_create);
llrt_status old_context_create(const old_context_params *from, llrt_context **context) {
  static const char old_name[] = "libllrt-jit.so.0";
  char jit[4096];
  if (!from) return real.context_create(NULL, context);
  llrt_context_params to = {.size = sizeof to,
                            .allocator = {from->alloc_user, from->allocate, from->release, {NULL}},
                            .parallel_user = from->parallel_user,
                            .parallel_for = from->parallel_for,
                            .jit_library = from->jit_library,
                            .threads = from->threads,
                            .compile =
                                from->no_compile ? LLRT_COMPILE_FORBIDDEN : LLRT_COMPILE_NOW};
  size_t length = from->jit_library ? strlen(from->jit_library) : 0;
  if (length >= strlen(old_name) &&
      strcmp(from->jit_library + length - strlen(old_name), old_name) == 0) {
    snprintf(jit, sizeof jit, "%s.%d", from->jit_library, LLRT_VERSION_MINOR);
    to.jit_library = jit;
  }
  return real.context_create(&to, context);
}

llrt_status old_device_open(llrt_context *context, const char *name, const old_device_params *from,
                            llrt_device **device) EXPORT(device_open);
llrt_status old_device_open(llrt_context *context, const char *name, const old_device_params *from,
                            llrt_device **device) {
  llrt_device_params to = {.size = sizeof to};
  if (from) {
    to.driver_context = from->driver_context;
    to.driver_library = from->driver_library;
    to.target = from->target;
  }
  return real.device_open(context, name, &to, device);
}

llrt_status old_memory_allocate(llrt_device *device, size_t bytes, void **memory)
    EXPORT(memory_allocate);
llrt_status old_memory_allocate(llrt_device *device, size_t bytes, void **memory) {
  return real.memory_allocate(device, bytes, memory);
}

llrt_status old_memory_free(llrt_device *device, void *memory) EXPORT(memory_free);
llrt_status old_memory_free(llrt_device *device, void *memory) {
  return real.memory_free(device, memory);
}

llrt_status old_memory_copy(llrt_device *device, void *to, const void *from, size_t bytes,
                            llrt_copy_kind kind, void *stream) EXPORT(memory_copy);
llrt_status old_memory_copy(llrt_device *device, void *to, const void *from, size_t bytes,
                            llrt_copy_kind kind, void *stream) {
  return real.memory_copy(device, to, from, bytes, kind, stream);
}

llrt_status old_stream_synchronize(llrt_device *device, void *stream) EXPORT(stream_synchronize);
llrt_status old_stream_synchronize(llrt_device *device, void *stream) {
  return real.stream_synchronize(device, stream);
}

llrt_status old_storage_parse(const char *text, int rank, const int64_t *shape, old_storage *out)
    EXPORT(storage_parse);
llrt_status old_storage_parse(const char *text, int rank, const int64_t *shape, old_storage *out) {
  llrt_storage made;
  llrt_status status = real.storage_parse(text, rank, shape, &made);
  memcpy(out, &made, sizeof *out);
  return status;
}

int64_t old_storage_offset(const old_storage *storage, const llrt_storage_binding *binding,
                           const int64_t *coords) EXPORT(storage_offset);
int64_t old_storage_offset(const old_storage *storage, const llrt_storage_binding *binding,
                           const int64_t *coords) {
  llrt_storage to;
  move_storage(storage, &to);
  return real.storage_offset(&to, binding, coords);
}

llrt_status old_tensor_bytes(const old_tensor *tensor, size_t *bytes) EXPORT(tensor_bytes);
llrt_status old_tensor_bytes(const old_tensor *tensor, size_t *bytes) {
  moved to;
  return real.tensor_bytes(move_tensor(tensor, &to), bytes);
}

llrt_status old_convert_into(const old_tensor *source, const old_tensor *destination,
                             const old_convert_params *params, void *stream) EXPORT(convert_into);
llrt_status old_convert_into(const old_tensor *source, const old_tensor *destination,
                             const old_convert_params *params, void *stream) {
  moved from, to;
  convert_call call;
  return real.convert_into(move_tensor(source, &from), move_tensor(destination, &to),
                           move_convert(params, &call), stream);
}

typedef __typeof__(llrt_gather_into) gather_function; /* scatter's type, too */

static llrt_status gather_by(gather_function *by, const old_tensor *source, const old_tensor *index,
                             int32_t axis, const old_tensor *destination,
                             const old_gather_params *params, void *stream) {
  moved from, at, to;
  convert_call call;
  llrt_gather_params own = {.size = sizeof own};
  if (params) {
    own.form = params->form;
    own.out_of_range = params->out_of_range;
    own.report = params->report;
    own.convert = move_convert(&params->convert, &call);
  }
  return by(move_tensor(source, &from), move_tensor(index, &at), axis,
            move_tensor(destination, &to), &own, stream);
}

llrt_status old_gather_into(const old_tensor *source, const old_tensor *index, int32_t axis,
                            const old_tensor *destination, const old_gather_params *params,
                            void *stream) EXPORT(gather_into);
llrt_status old_gather_into(const old_tensor *source, const old_tensor *index, int32_t axis,
                            const old_tensor *destination, const old_gather_params *params,
                            void *stream) {
  return gather_by(real.gather_into, source, index, axis, destination, params, stream);
}

llrt_status old_scatter_into(const old_tensor *source, const old_tensor *index, int32_t axis,
                             const old_tensor *destination, const old_gather_params *params,
                             void *stream) EXPORT(scatter_into);
llrt_status old_scatter_into(const old_tensor *source, const old_tensor *index, int32_t axis,
                             const old_tensor *destination, const old_gather_params *params,
                             void *stream) {
  return gather_by(real.scatter_into, source, index, axis, destination, params, stream);
}

llrt_status old_reduce_into(const old_tensor *source, const old_tensor *destination,
                            const old_reduce_params *params, void *stream) EXPORT(reduce_into);
llrt_status old_reduce_into(const old_tensor *source, const old_tensor *destination,
                            const old_reduce_params *params, void *stream) {
  moved from, to, values;
  llrt_reduce_params own = {.size = sizeof own};
  if (params)
    own = (llrt_reduce_params){.size = sizeof own,
                               .op = params->op,
                               .axes = params->axes,
                               .accumulate = params->accumulate,
                               .dtype = params->dtype,
                               .keep_axes = params->keep_axes,
                               .values = move_tensor(params->values, &values)};
  return real.reduce_into(move_tensor(source, &from), move_tensor(destination, &to), &own, stream);
}

llrt_status old_scan_into(const old_tensor *source, const old_tensor *destination,
                          const old_scan_params *params, void *stream) EXPORT(scan_into);
llrt_status old_scan_into(const old_tensor *source, const old_tensor *destination,
                          const old_scan_params *params, void *stream) {
  moved from, to;
  llrt_scan_params own = {.size = sizeof own};
  if (params)
    own = (llrt_scan_params){.size = sizeof own,
                             .op = params->op,
                             .axis = params->axis,
                             .exclusive = params->exclusive,
                             .reverse = params->reverse,
                             .accumulate = params->accumulate,
                             .dtype = params->dtype};
  return real.scan_into(move_tensor(source, &from), move_tensor(destination, &to), &own, stream);
}

llrt_status old_dot_into(const old_tensor *a, const old_tensor *b, const old_tensor *d,
                         const old_dot_params *params, void *stream) EXPORT(dot_into);
llrt_status old_dot_into(const old_tensor *a, const old_tensor *b, const old_tensor *d,
                         const old_dot_params *params, void *stream) {
  static const double one = 1;
  moved operand[3], scaling[2][3], other[4];
  llrt_map maps[OLD_MAPS];
  llrt_dot_params own = {.size = sizeof own};
  if (params)
    own = (llrt_dot_params){.size = sizeof own,
                            .alpha = params->alpha != 0 ? &params->alpha : NULL,
                            .beta = params->beta != 0 ? &params->beta : &one,
                            .c = move_tensor(params->c, &other[0]),
                            .bias = move_tensor(params->bias, &other[1]),
                            .a = move_scaling(&params->a, scaling[0]),
                            .b = move_scaling(&params->b, scaling[1]),
                            .accumulate = params->accumulate,
                            .dtype = params->dtype,
                            .tf32 = params->tf32,
                            .fast_accumulate = params->fast_accumulate,
                            .n_maps = params->n_maps,
                            .maps = move_maps(params->maps, params->n_maps, maps),
                            .add = move_tensor(params->add, &other[2]),
                            .scale = move_tensor(params->scale, &other[3])};
  return real.dot_into(move_tensor(a, &operand[0]), move_tensor(b, &operand[1]),
                       move_tensor(d, &operand[2]), &own, stream);
}

llrt_status old_dot_pack(const old_pack_params *params, const char *target, llrt_dot_role operand,
                         old_packing *packing) EXPORT(dot_pack);
llrt_status old_dot_pack(const old_pack_params *params, const char *target, llrt_dot_role operand,
                         old_packing *packing) {
  llrt_dot_packing made = {.size = sizeof made};
  llrt_dot_pack_params own = {.size = sizeof own};
  if (params) memcpy(&own.dtype, params, sizeof *params); /* the same fields behind the size */
  llrt_status status = real.dot_pack(params ? &own : NULL, target, operand, &made);
  for (int i = 0; i < 3; i++)
    memcpy(&packing->storages[i], &made.storages[i], sizeof packing->storages[i]);
  packing->n_maps = made.n_maps;
  memcpy(&packing->map, &made.map, sizeof packing->map);
  memcpy(packing->word_bits, made.word_bits, sizeof packing->word_bits);
  return status;
}

static llrt_op_dot move_dot(const old_op_dot *from) {
  llrt_op_dot to = {.roles = from->roles,
                    .accumulate = from->accumulate,
                    .group = (const int32_t(*)[LLRT_MAX_RANK])from->group,
                    .alpha = from->alpha != 0 ? from->alpha : 1,
                    .beta = from->beta != 0 ? from->beta : 1,
                    .tf32 = from->tf32,
                    .fast_accumulate = from->fast_accumulate};
  to.has_alpha = to.alpha != 1;
  to.has_beta = to.beta != 1;
  memcpy(to.scale_range, from->scale_range, sizeof to.scale_range);
  memcpy(to.word_bits, from->word_bits, sizeof to.word_bits);
  return to;
}

llrt_status old_op_prepare(llrt_device *device, const old_op_desc *from, llrt_op **op)
    EXPORT(op_prepare);
llrt_status old_op_prepare(llrt_device *device, const old_op_desc *from, llrt_op **op) {
  moved operand[OLD_TENSORS];
  llrt_tensor tensors[OLD_TENSORS];
  llrt_tensor_promise promises[OLD_TENSORS] = {0};
  llrt_map maps[OLD_MAPS];
  if (!from) return real.op_prepare(device, NULL, op);
  for (int i = 0; i < from->n_tensors && i < OLD_TENSORS; i++) {
    tensors[i] = *move_tensor(&from->tensors[i], &operand[i]);
    memcpy(&promises[i], &from->promises[i], sizeof from->promises[i]);
  }
  const old_combine *combine = &from->combine;
  llrt_op_desc to = {.size = sizeof to,
                     .kind = from->kind,
                     .n_tensors = from->n_tensors,
                     .tensors = tensors,
                     .promises = promises,
                     .maps = move_maps(from->maps, from->n_maps, maps),
                     .n_maps = from->n_maps,
                     .in_place = from->in_place,
                     .combine = {.op = combine->op,
                                 .accumulate = combine->accumulate,
                                 .axes = combine->axes,
                                 .exclusive = combine->exclusive,
                                 .reverse = combine->reverse},
                     .dot = from->kind == LLRT_OP_DOT ? move_dot(&from->dot) : (llrt_op_dot){0}};
  return real.op_prepare(device, &to, op);
}

llrt_status old_op_run(const llrt_op *op, void *stream, const old_tensor *tensors, int n,
                       const old_run_params *params) EXPORT(op_run);
llrt_status old_op_run(const llrt_op *op, void *stream, const old_tensor *tensors, int n,
                       const old_run_params *params) {
  moved operand[OLD_TENSORS];
  llrt_tensor to[OLD_TENSORS];
  llrt_run_params own = {.size = sizeof own};
  for (int i = 0; i < n && i < OLD_TENSORS; i++) to[i] = *move_tensor(&tensors[i], &operand[i]);
  if (params) {
    own.workspace = params->workspace;
    own.workspace_bytes = params->workspace_bytes;
  }
  return real.op_run(op, stream, to, n, &own);
}
