/* Tensors of other libraries: DLPack's exchange API where their type has it, the buffer protocol
 * for numpy and whatever else has no __dlpack__, else __dlpack__. Nothing is copied, and nobody
 * waits for a stream. */
#include "module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- element types ---- */

bool dlpack_type(llrt_dtype dtype, DLDataType *type) {
  *type = (DLDataType){.lanes = 1};
  return llrt_dtype_to_dlpack(dtype, &type->code, &type->bits) == LLRT_OK;
}

/* ---- shape, strides and bytes, the same for all ways in ---- */

static int64_t count(int rank, const int64_t *shape) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= shape[i];
  return n;
}

/* Elements from the lowest to one past the highest, after axes that count down were turned. */
static int64_t reach(int rank, const int64_t *shape, const int64_t *strides) {
  int64_t last = 0;
  for (int i = 0; i < rank; i++) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return last + 1;
}

/* Tensors without elements are, whatever strides they come with: frameworks give them any, 0 too.
 */
static bool is_row_major(int rank, const int64_t *shape, const int64_t *strides) {
  int64_t expected = 1;
  if (count(rank, shape) == 0) return true;
  for (int i = rank - 1; i >= 0; i--) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

/* Two elements of 4 bits to a byte: the last axis counts elements instead of pairs. */
static int unpack_pairs(llrt_tensor *t) {
  int last = t->rank - 1;
  bool empty = count(t->rank, t->shape) == 0;
  if (last < 0 || (!empty && t->shape[last] > 1 && t->strides[last] != 1))
    return refuse("pairs of 4-bit elements must lie side by side along the last axis");
  for (int i = 0; i < last; i++) t->strides[i] *= 2;
  t->shape[last] *= 2;
  t->strides[last] = 1;
  return 0;
}

/* The tensor's rule out of its strides. */
static int settle(borrowed *out) {
  llrt_tensor *t = &out->tensor;
  int bits = llrt_dtype_bits(t->dtype);
  int64_t n = count(t->rank, t->shape), lowest = 0;
  out->dense = true;
  if (!is_row_major(t->rank, t->shape, t->strides)) {
    if (strided_rule(t->rank, t->shape, t->strides, &t->storage, &lowest) < 0) return -1;
    t->data = (char *)t->data + lowest * bits / 8;
    out->dense = reach(t->rank, t->shape, t->strides) == n;
    n = reach(t->rank, t->shape, t->strides);
  }
  out->bytes = (size_t)(n * bits + 7) / 8;
  return 0;
}

static int set_device(borrowed *out) {
  out->tensor.device = device_of(out->where, out->source->api != NULL);
  return out->tensor.device ? 0 : -1;
}

/* ---- DLPack ---- */

static int from_dltensor(const DLTensor *dl, borrowed *out) {
  llrt_tensor *t = &out->tensor;
  if (dl->ndim > LLRT_MAX_RANK) return refuse("%d axes, the most is %d", dl->ndim, LLRT_MAX_RANK);
  int32_t positions;
  if (llrt_dtype_from_dlpack(dl->dtype.code, dl->dtype.bits, dl->dtype.lanes, &t->dtype,
                             &positions) != LLRT_OK)
    return refuse("DLPack type code %d of %d bits and %d lanes is no type of llrt's",
                  dl->dtype.code, dl->dtype.bits, dl->dtype.lanes);
  t->data = (char *)dl->data + dl->byte_offset;
  t->rank = dl->ndim;
  int64_t stride = 1;
  for (int i = dl->ndim - 1; i >= 0; i--) {
    t->shape[i] = dl->shape[i];
    t->strides[i] = dl->strides ? dl->strides[i] : stride;
    stride *= dl->shape[i];
  }
  if (positions == 2 && unpack_pairs(t) < 0) return -1;
  out->where = dl->device;
  return set_device(out) < 0 ? -1 : settle(out);
}

static int take_versioned(PyObject *capsule, borrowed *out) {
  DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
  if (!managed) return -1;
  if (managed->version.major != DLPACK_MAJOR_VERSION)
    return refuse("DLPack %u.%u tensors are not known here", managed->version.major,
                  managed->version.minor);
  if (managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED &&
      managed->dl_tensor.dtype.bits < 8)
    return refuse("elements of less than a byte must be packed");
  out->readonly = managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY;
  return from_dltensor(&managed->dl_tensor, out);
}

static int take_capsule(PyObject *capsule, borrowed *out) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) return take_versioned(capsule, out);
  DLManagedTensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
  return managed ? from_dltensor(&managed->dl_tensor, out) : -1;
}

/* object.__dlpack__(stream=..., max_version=(1, 3)), less what an older one does not know. */
static PyObject *ask_capsule(PyObject *object) {
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
  PyObject *stream =
      method ? PyObject_CallFunctionObjArgs(py_hooks.producer_stream, object, NULL) : NULL;
  PyObject *none = stream ? PyTuple_New(0) : NULL, *names = none ? PyDict_New() : NULL,
           *capsule = NULL;
  PyObject *version =
      names ? Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION) : NULL;
  if (version && PyDict_SetItemString(names, "max_version", version) == 0 &&
      (stream == Py_None || PyDict_SetItemString(names, "stream", stream) == 0)) {
    capsule = PyObject_Call(method, none, names);
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      if (PyDict_DelItemString(names, "max_version") == 0)
        capsule = PyObject_Call(method, none, names);
    }
  }
  Py_XDECREF(version);
  Py_XDECREF(names);
  Py_XDECREF(none);
  Py_XDECREF(stream);
  Py_XDECREF(method);
  return capsule;
}

/* A capsule that nobody takes the tensor out of frees it when it is freed itself: that is the
 * consumer's way to borrow. */
static int borrow_capsule(PyObject *object, borrowed *out) {
  out->keep = ask_capsule(object);
  return out->keep ? take_capsule(out->keep, out) : -1;
}

static int borrow_exchanged(PyObject *object, borrowed *out) {
  DLTensor dl;
  if (out->source->api->dltensor_from_py_object_no_sync(object, &dl) != 0) return -1;
  return from_dltensor(&dl, out);
}

/* ---- the buffer protocol ----
 * Part of the stable ABI from Python 3.11 on; 3.10 exports the same functions and the same struct,
 * so that they are found by name instead of linked. */

typedef struct buffer {
  void *data;
  PyObject *object;
  Py_ssize_t bytes, item;
  int readonly, rank;
  char *format;
  Py_ssize_t *shape, *strides, *suboffsets;
  void *internal;
} buffer;

enum {
  BUFFER_RECORDS_RO = 0x0010 | 0x0008 | 0x0004
}; /* strides, shape, format; read-only will do */

static int (*get_buffer)(PyObject *object, buffer *view, int flags);
static void (*release_buffer)(buffer *view);

static int find_buffer_functions(void) {
  if (get_buffer && release_buffer) return 0;
  *(void **)&get_buffer = dlsym(RTLD_DEFAULT, "PyObject_GetBuffer");
  *(void **)&release_buffer = dlsym(RTLD_DEFAULT, "PyBuffer_Release");
  if (get_buffer && release_buffer) return 0;
  PyErr_SetString(PyExc_RuntimeError, "this Python has no buffer protocol");
  return -1;
}

static llrt_dtype integer_of(bool is_signed, Py_ssize_t bytes) {
  static const llrt_dtype all[2][4] = {{LLRT_U8, LLRT_U16, LLRT_U32, LLRT_U64},
                                       {LLRT_I8, LLRT_I16, LLRT_I32, LLRT_I64}};
  for (int i = 0; i < 4; i++)
    if (bytes == 1 << i) return all[is_signed][i];
  return LLRT_DTYPE_NONE;
}

/* A format of the struct module; bits where it has no type here. */
static llrt_dtype dtype_of_format(const char *format, Py_ssize_t item) {
  static const char letters[] = "efd?";
  static const llrt_dtype meaning[] = {LLRT_F16, LLRT_F32, LLRT_F64, LLRT_BOOL};
  if (!format) return LLRT_U8;
  if (strchr("@=<^", *format) && *format) format++;
  if (*format && !format[1]) {
    const char *at = strchr(letters, *format);
    if (at) return meaning[at - letters];
    if (strchr("bhilqn", *format)) return integer_of(true, item);
    if (strchr("BHILQNc", *format)) return integer_of(false, item);
  }
  llrt_dtype complex = LLRT_DTYPE_NONE;
  int32_t positions;
  if (*format == 'Z' && item <= 16)
    llrt_dtype_from_dlpack(kDLComplex, (uint8_t)(8 * item), 1, &complex, &positions);
  return complex;
}

static int from_buffer(const buffer *view, borrowed *out) {
  llrt_tensor *t = &out->tensor;
  if (view->rank > LLRT_MAX_RANK)
    return refuse("%d axes, the most is %d", view->rank, LLRT_MAX_RANK);
  t->dtype = dtype_of_format(view->format, view->item);
  if (t->dtype == LLRT_DTYPE_NONE)
    return refuse("elements of format '%s', %zd bytes each, are no type of llrt's", view->format,
                  view->item);
  t->data = view->data;
  t->rank = view->rank;
  for (int i = 0; i < view->rank; i++) {
    t->shape[i] = view->shape ? view->shape[i] : view->bytes / view->item;
    Py_ssize_t stride = view->strides ? view->strides[i] : view->item;
    if (t->shape[i] > 1 && stride % view->item)
      return refuse("axis %d has a stride of %zd bytes: no whole elements", i, stride);
    t->strides[i] = stride / view->item;
  }
  out->readonly = view->readonly;
  out->where = (DLDevice){kDLCPU, 0};
  return set_device(out) < 0 ? -1 : settle(out);
}

static int borrow_buffer(PyObject *object, borrowed *out) {
  buffer *view = find_buffer_functions() == 0 ? PyMem_Malloc(sizeof *view) : NULL;
  if (!view) return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
  if (get_buffer(object, view, BUFFER_RECORDS_RO) == 0) {
    out->buffer = view;
    return from_buffer(view, out);
  }
  PyMem_Free(view);
  return -1;
}

/* ---- any object ---- */

enum { MAX_TYPES = 32 };
static source_type *sources[MAX_TYPES];

static const DLPackExchangeAPI *find_api(PyTypeObject *type) {
  PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
  const DLPackExchangeAPI *api =
      capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
  Py_XDECREF(capsule);
  PyErr_Clear();
  while (api && api->header.version.major != DLPACK_MAJOR_VERSION)
    api = (const DLPackExchangeAPI *)api->header.prev_api;
  return api && api->dltensor_from_py_object_no_sync ? api : NULL;
}

static bool is_numpy(PyTypeObject *type) {
  PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
  bool is =
      module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "numpy") == 0;
  Py_XDECREF(module);
  PyErr_Clear();
  return is;
}

static source_type *learn(PyObject *object) {
  source_type *made = PyMem_Malloc(sizeof *made);
  if (!made) return (source_type *)PyErr_NoMemory();
  PyTypeObject *type = Py_TYPE(object);
  *made = (source_type){.type = type, .api = find_api(type)};
  bool has_dlpack = PyObject_HasAttrString((PyObject *)type, "__dlpack__");
  made->kind = made->api                       ? SOURCE_API
               : is_numpy(type) || !has_dlpack ? SOURCE_BUFFER
                                               : SOURCE_DLPACK;
  Py_INCREF(type);
  return made;
}

/* What is known of the object's type. Kept for good where there is room: views and results point to
 * it. */
static const source_type *source_of(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  int i = 0;
  for (; i < MAX_TYPES && sources[i]; i++)
    if (sources[i]->type == type) return sources[i];
  if (i == MAX_TYPES) {
    PyErr_SetString(PyExc_RuntimeError, "tensors of more than 32 types in one process");
    return NULL;
  }
  return sources[i] = learn(object);
}

static void borrow_view(View *view, borrowed *out) {
  out->tensor = view->tensor;
  out->object = view->object;
  out->source = view->source;
  out->where = view->where;
  out->readonly = view->readonly;
  out->bytes = view->bytes;
  out->is_view = true;
  out->dense = false;
}

/* Errors of the object itself become TypeError with the argument's name. */
static int blame(PyObject *object, const char *name) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_AttributeError))
    return -1;
  PyErr_Clear();
  PyObject *type_name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
  if (type_name)
    PyErr_Format(PyExc_TypeError, "%s: '%U' is no tensor: neither DLPack nor the buffer protocol",
                 name, type_name);
  Py_XDECREF(type_name);
  return -1;
}

int borrow(PyObject *object, const char *name, borrowed *out) {
  memset(out, 0, sizeof *out);
  if (Py_TYPE(object) == ViewType) return borrow_view((View *)object, out), 0;
  out->object = object;
  out->source = source_of(object);
  if (!out->source) return -1;
  int failed = out->source->kind == SOURCE_API      ? borrow_exchanged(object, out)
               : out->source->kind == SOURCE_BUFFER ? borrow_buffer(object, out)
                                                    : borrow_capsule(object, out);
  if (!failed) return 0;
  give_back(out);
  return blame(object, name);
}

void give_back_buffer(void *held) {
  if (!held) return;
  release_buffer(held);
  PyMem_Free(held);
}

/* What ends a capsule may be Python code, and an exception may be on its way. */
static void end_held(borrowed *from) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  Py_CLEAR(from->keep);
  give_back_buffer(from->buffer);
  from->buffer = NULL;
  PyErr_Restore(type, value, trace);
}

void give_back(borrowed *from) {
  if (from->keep || from->buffer) end_held(from);
}

/* ---- streams and workspace ---- */

int stream_of(const borrowed *from, PyObject *asked, void **stream) {
  *stream = NULL;
  if (asked) {
    *stream = PyLong_AsVoidPtr(asked);
    return PyErr_Occurred() ? -1 : 0;
  }
  if (device_is_host(from->where)) return 0;
  if (from->source->api)
    return from->source->api->current_work_stream(from->where.device_type, from->where.device_id,
                                                  stream);
  PyObject *number = PyLong_FromLong(from->where.device_id);
  PyObject *found =
      number ? PyObject_CallFunctionObjArgs(py_hooks.stream, from->object, number, NULL) : NULL;
  Py_XDECREF(number);
  if (!found) return -1;
  *stream = PyLong_AsVoidPtr(found);
  Py_DECREF(found);
  return PyErr_Occurred() ? -1 : 0;
}

/* The framework that this thread's call belongs to. */
static _Thread_local const DLPackExchangeAPI *working_for;
static _Thread_local DLDevice working_on;

void workspace_from(const borrowed *from) {
  working_for = from->source->api;
  working_on = from->where;
}

/* Memory that the context holds: workspace is kept for each stream, so there is little of it. The
 * allocator and its deleters are C functions of DLPack, called without the interpreter's lock:
 * calls that compile have let it go. */
typedef struct held {
  struct held *next;
  void *data;
  DLManagedTensorVersioned *managed;
} held;

static held *all_held;
static pthread_mutex_t holding = PTHREAD_MUTEX_INITIALIZER;

static void ignore_error(void *context, const char *kind, const char *message) {
  (void)context, (void)kind, (void)message;
}

void *workspace_allocate(void *user, llrt_device *device, size_t bytes, void *stream) {
  (void)user, (void)device, (void)stream;
  int64_t shape[] = {(int64_t)bytes}, strides[] = {1};
  DLTensor like = {.device = working_on,
                   .ndim = 1,
                   .dtype = {kDLUInt, 8, 1},
                   .shape = shape,
                   .strides = strides};
  held *made = working_for ? malloc(sizeof *made) : NULL;
  if (!made) return NULL;
  if (working_for->managed_tensor_allocator(&like, &made->managed, NULL, ignore_error) != 0)
    return free(made), NULL;
  made->data = (char *)made->managed->dl_tensor.data + made->managed->dl_tensor.byte_offset;
  pthread_mutex_lock(&holding);
  made->next = all_held;
  all_held = made;
  pthread_mutex_unlock(&holding);
  return made->data;
}

static held *take_out(void *memory) {
  held *found = NULL;
  pthread_mutex_lock(&holding);
  held **at = &all_held;
  while (*at && (*at)->data != memory) at = &(*at)->next;
  if ((found = *at)) *at = found->next;
  pthread_mutex_unlock(&holding);
  return found;
}

void workspace_release(void *user, llrt_device *device, void *memory, void *stream) {
  (void)user, (void)device, (void)stream;
  held *found = take_out(memory);
  if (!found) return;
  if (found->managed->deleter) found->managed->deleter(found->managed);
  free(found);
}
