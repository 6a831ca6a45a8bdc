/* The extension module llrt._llrt: tensors of any framework in, calls of the public C API, tensors
 * out.
 *
 * Limited API of Python 3.10. All state is in `py`, which the interpreter's lock guards; texts that
 * were parsed, rules of strides and types of tensors are kept for the life of the process. */
#ifndef LLRT_PYTHON_MODULE_H
#define LLRT_PYTHON_MODULE_H

#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlpack/dlpack.h>
#include <llrt/llrt.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* What Python hands over at import (llrt/_hooks.py). All are strong references. */
typedef struct hooks {
  PyObject *errors; /* {status number: exception type} */
  PyObject *dtype;  /* (object) -> name of an llrt dtype */
  PyObject *empty;  /* (like, dtype name, shape, strides or None) -> a tensor of like's framework */
  PyObject *stream; /* (tensor, device number) -> its framework's current stream, an int */
  PyObject *producer_stream; /* (tensor) -> what to pass to __dlpack__(stream=...), or None to pass
                                nothing */
  PyObject *jit_library;     /* path, or None */
  PyObject *remedy; /* (exception, function, values, names of the last of them): adds what to do */
} hooks;

extern hooks py_hooks;

/* ---- errors.c ---- */

/* Sets the exception of a status with the C message. Returns NULL. */
PyObject *raise_status(llrt_status status);
/* Sets the exception that stands for INVALID_ARGUMENT, with a message of our own. Returns -1. */
int refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- arguments.c ---- */

/* One argument of a function; `interned` is filled at the first call. */
typedef struct keyword {
  const char *name;
  PyObject *interned;
} keyword;

/* A function's arguments: the first n_positional may stand without a name, the first n_required
 * must be there. */
typedef struct signature {
  const char *function;
  keyword *words;
  int n_words, n_positional, n_required;
} signature;

/* slots[n_words] = the arguments, borrowed; NULL where one is left out or None. Returns 0, or -1
 * with TypeError. */
int take_arguments(const signature *what, PyObject *const *args, Py_ssize_t n, PyObject *names,
                   PyObject **slots);

/* None and NULL give the preset. -1 with an exception. */
int take_int(PyObject *object, const char *name, int64_t preset, int64_t *value);
int take_bool(PyObject *object, bool *value);
/* A sequence of at most `most` numbers. */
int take_numbers(PyObject *object, const char *name, int most, int *n, int64_t *values);
/* An axis, counted from the end where it is negative. */
int take_axis(PyObject *object, int rank, int32_t *axis);
/* None: all (0); else a number or a sequence of them: bit a for axis a. */
int take_axes(PyObject *object, int rank, uint32_t *axes);
/* A name, or what the hook knows a name for. NULL gives LLRT_DTYPE_NONE. */
int take_dtype(PyObject *object, llrt_dtype *dtype);
PyObject *shape_tuple(int rank, const int64_t *shape);

/* A function's answer. Where it is NotPrepared, the message gets the line that prepares the call.
 * (errors.c) */
PyObject *with_remedy(PyObject *made, const signature *what, PyObject *const *args, Py_ssize_t n,
                      PyObject *names);

/* ---- context.c ---- */

/* The device that runs operations on memory of this kind, opened at first use; NULL with an
 * exception. `own_allocator`: workspace comes from the framework that calls (workspace_from). */
llrt_device *device_of(DLDevice where, bool own_allocator);
llrt_context *context_of(bool own_allocator);
struct borrowed;
/* Argument `name` of a call on `device`, which is the one at `where`: a tensor that another
 * framework has there is used on the call's handle. -1 with an exception that names both devices
 * where the tensor is on another one. */
int join_device(DLDevice where, llrt_device *device, struct borrowed *other, const char *name);
/* Whether a call on the device runs to its end before it returns. */
bool device_is_host(DLDevice where);

/* ---- calling: a call that may compile, or runs long on the host, leaves the interpreter to other
 * threads ---- */

typedef struct call_state {
  PyThreadState *thread;
} call_state;
void call_begin(call_state *state, bool is_long);
void call_end(call_state *state);
/* Whether a call of this class was made before; notes it. */
bool call_is_known(uint64_t class_of_call);
void calls_forget(void);

/* ---- source.c: tensors in ---- */

typedef enum source_kind { SOURCE_API, SOURCE_BUFFER, SOURCE_DLPACK } source_kind;

/* What is known of a Python type. */
typedef struct source_type {
  PyTypeObject *type;
  source_kind kind;
  const DLPackExchangeAPI *api; /* SOURCE_API */
} source_type;

/* A tensor for the time of a call. */
typedef struct borrowed {
  llrt_tensor tensor;
  PyObject *object; /* borrowed: whose memory it is, not the view of it */
  const source_type *source;
  DLDevice where;
  bool readonly, is_view;
  bool dense; /* elements fill `bytes` bytes from tensor.data without gaps, in some order of axes */
  size_t bytes;   /* of memory from tensor.data on */
  PyObject *keep; /* capsule, or NULL */
  void *buffer;   /* struct buffer, or NULL */
} borrowed;

/* Borrows any tensor or view; `name` is the argument's. -1 with an exception; nothing to release
 * then. */
int borrow(PyObject *object, const char *name, borrowed *out);
void give_back(borrowed *from);
/* The stream on which its framework works now, or the one that is asked for. */
int stream_of(const borrowed *from, PyObject *asked, void **stream);
/* Memory for workspace comes from this tensor's framework until the next call. */
void workspace_from(const borrowed *from);
void *workspace_allocate(void *user, llrt_device *device, size_t bytes, void *stream);
void workspace_release(void *user, llrt_device *device, void *memory, void *stream);

/* ---- rules.c: storages ---- */

/* The interned rule of these strides (elements), NULL for row_major; *lowest is what to add to the
 * address, in elements: axes that count down begin at their last position. strides are made
 * positive. */
int strided_rule(int rank, const int64_t *shape, int64_t *strides, const llrt_storage **rule,
                 int64_t *lowest);

typedef struct Storage {
  PyObject_HEAD llrt_storage rule;
  PyObject *text;                 /* as it was given; NULL where it is the result of an operation */
  bool has_shape, strided, fixed; /* fixed: no stride is a tensor's own */
  int32_t rank;
  int64_t shape[LLRT_MAX_RANK];
  /* What storage_tensor_bytes said last. */
  llrt_dtype known_dtype;
  int64_t known_shape[LLRT_MAX_RANK];
  size_t known_bytes;
} Storage;

extern PyTypeObject *StorageType, *LayoutType, *ViewType, *OpType;

/* A text or a Storage, for tensors of this shape. Borrowed from the cache or from `object`. NULL
 * with an exception. */
Storage *storage_for(PyObject *object, int rank, const int64_t *shape);
Storage *storage_new(const llrt_storage *rule, PyObject *text, int rank, const int64_t *shape);
/* llrt_tensor_bytes of a tensor with this storage and without indices; the last answer is kept. */
llrt_status storage_tensor_bytes(Storage *storage, const llrt_tensor *tensor, size_t *bytes);
/* Forgets parsed texts; for llrt.cache.forget_texts(). */
void texts_forget(void);

/* ---- view.c ---- */

typedef struct View {
  PyObject_HEAD llrt_tensor tensor;
  llrt_index indices[LLRT_MAX_INDICES];
  PyObject *object;  /* whose memory it is */
  PyObject *storage; /* Storage or NULL */
  PyObject *keep;    /* tuple of what indices and extents borrow, or NULL */
  const source_type *source;
  DLDevice where;
  bool readonly;
  size_t bytes;
  PyObject *capsule;
  void *buffer;
} View;

void give_back_buffer(void *held);
/* DLPack's type for one of ours; false where it has none. */
bool dlpack_type(llrt_dtype dtype, DLDataType *type);
PyObject *storage_to_layout(PyObject *object, PyObject *unused);

/* ---- result.c: tensors out ---- */

/* A new tensor of like's framework, described in *out, whose elements lie as `storage` says (NULL:
 * row_major). Strided ones have the shape, others are flat. `as` NULL or (dtype, shape). Returns a
 * new reference. */
PyObject *make_result(const borrowed *like, llrt_dtype dtype, int rank, const int64_t *shape,
                      const Storage *storage, PyObject *as, borrowed *out);
/* The destination: `given` (checked) or a new tensor. *object is a new reference to what the call
 * returns. */
int take_destination(const borrowed *like, PyObject *given, PyObject *to, PyObject *as,
                     llrt_dtype dtype, llrt_dtype preset, int rank, const int64_t *shape,
                     borrowed *out, PyObject **object);
int check_writable(const borrowed *out, const char *name);

/* ---- describe.c: descriptions, prepared ---- */

typedef struct request {
  llrt_op_kind kind;
  int n;
  llrt_tensor tensors[16];
  llrt_map maps[LLRT_MAX_MAPS];
  int n_maps;
  bool in_place;
  llrt_op_combine combine;
  const llrt_dot_params *dot; /* DOT: tensors are a, b, d */
} request;

llrt_status request_prepare(const request *what, llrt_device *device, llrt_op **op);
/* Addresses are promised no further than Python's libraries allocate. */
void weaken_promises(llrt_tensor_promise *promises, int n);
llrt_status request_compile(const request *what, llrt_context *context, const char *target,
                            llrt_emit emit, char **bytes, size_t *size);
void set_maps(llrt_convert_params *params, const llrt_map *maps, int n);
void set_dot_maps(llrt_dot_params *params, const llrt_map *maps, int n);

/* ---- the module's functions and types ---- */

typedef PyObject *fast_function(PyObject *module, PyObject *const *args, Py_ssize_t n,
                                PyObject *names);
fast_function module_view, module_convert, module_convert_in_place, module_gather, module_scatter,
    module_reduce, module_scan, module_compute, module_dot, module_dot_pack, module_storage,
    module_layout;
PyObject *module_load(PyObject *module, PyObject *args);
PyObject *module_convert_in_c(PyObject *module, PyObject *args);
PyObject *module_op_in_c(PyObject *module, PyObject *args);
PyObject *module_repack_bind(PyObject *module, PyObject *args);
PyObject *module_repack_describe(PyObject *module, PyObject *capsule);
PyObject *module_repack_text(PyObject *module, PyObject *capsule);
PyObject *module_repack_run(PyObject *module, PyObject *args);
PyObject *module_recipes(PyObject *module, PyObject *unused);
PyObject *module_shared_create(PyObject *module, PyObject *args);
PyObject *module_shared_export(PyObject *module, PyObject *capsule);
PyObject *module_memory_export(PyObject *module, PyObject *args);
PyObject *module_shared_import(PyObject *module, PyObject *args);
PyObject *module_sharding_read(PyObject *module, PyObject *args);
PyObject *module_sharding_part(PyObject *module, PyObject *args);
PyObject *module_sharding_placed(PyObject *module, PyObject *args);
PyObject *module_comm_signal_bytes(PyObject *module, PyObject *args);
PyObject *module_comm_create(PyObject *module, PyObject *args);
PyObject *module_comm_status(PyObject *module, PyObject *args);
PyObject *module_reshard_prepare(PyObject *module, PyObject *args);
PyObject *module_reshard_run(PyObject *module, PyObject *args);
PyObject *module_reshard_explain(PyObject *module, PyObject *args);
int64_t nanoseconds(void);
PyObject *module_name_device(PyObject *module, PyObject *args);
extern PyType_Spec storage_spec, layout_spec, view_spec, op_spec;

/* What a function does with its request, instead of running it. */
typedef struct intent {
  PyObject *target; /* explain, compile: a name; prepare: NULL */
  llrt_emit emit;
} intent;
extern const intent *current_intent; /* NULL: run. Set while prepare and explain call a function */

#endif
