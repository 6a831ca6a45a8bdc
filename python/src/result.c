/* Tensors out: of the framework that brought the first tensor in, in memory of its own allocator.
 */
#include "module.h"

#include <stdlib.h>

/* ---- frameworks with the exchange API ---- */

/* A framework's tensor under another shape, strides and type. */
typedef struct reshaped {
  DLManagedTensorVersioned tensor;
  DLManagedTensorVersioned *inner;
  int64_t numbers[2 * LLRT_MAX_RANK];
} reshaped;

static void free_reshaped(DLManagedTensorVersioned *self) {
  reshaped *made = self->manager_ctx;
  if (made->inner->deleter) made->inner->deleter(made->inner);
  free(made);
}

static void set_error(void *context, const char *kind, const char *message) {
  (void)context;
  PyErr_Format(strcmp(kind, "MemoryError") == 0 ? PyExc_MemoryError : PyExc_RuntimeError, "%s",
               message);
}

/* How memory of `bytes` bytes is seen by the framework. */
typedef struct form {
  DLDataType type;
  int rank;
  int64_t shape[LLRT_MAX_RANK], strides[LLRT_MAX_RANK]; /* elements of the type */
  const char *name;                                     /* of the type, for other frameworks */
} form;

static DLManagedTensorVersioned *allocate(const borrowed *like, const form *f) {
  int64_t n = 1;
  for (int i = 0; i < f->rank; i++) n *= f->shape[i];
  DLTensor prototype = {
      .device = like->where, .ndim = f->rank, .dtype = f->type, .shape = (int64_t *)f->shape};
  DLManagedTensorVersioned *made = NULL;
  if (like->source->api->managed_tensor_allocator(&prototype, &made, NULL, set_error) != 0)
    return NULL;
  return made;
}

static DLManagedTensorVersioned *with_strides(DLManagedTensorVersioned *inner, const form *f) {
  reshaped *made = malloc(sizeof *made);
  if (!made) {
    inner->deleter(inner);
    return (DLManagedTensorVersioned *)PyErr_NoMemory();
  }
  made->inner = inner;
  made->tensor = *inner;
  made->tensor.manager_ctx = made;
  made->tensor.deleter = free_reshaped;
  memcpy(made->numbers, f->shape, sizeof f->shape);
  memcpy(made->numbers + LLRT_MAX_RANK, f->strides, sizeof f->strides);
  made->tensor.dl_tensor.shape = made->numbers;
  made->tensor.dl_tensor.strides = made->numbers + LLRT_MAX_RANK;
  return &made->tensor;
}

static PyObject *allocate_exchanged(const borrowed *like, const form *f, bool strided,
                                    void **data) {
  DLManagedTensorVersioned *made = allocate(like, f);
  if (made && strided) made = with_strides(made, f);
  if (!made) return NULL;
  void *object = NULL;
  *data = (char *)made->dl_tensor.data + made->dl_tensor.byte_offset;
  return like->source->api->managed_tensor_to_py_object_no_sync(made, &object) == 0 ? object : NULL;
}

/* ---- all others: by the hook ---- */

static PyObject *allocate_by_hook(const borrowed *like, const form *f, bool strided, void **data) {
  PyObject *shape = shape_tuple(f->rank, f->shape);
  PyObject *strides = strided ? shape_tuple(f->rank, f->strides) : Py_None, *made = NULL;
  if (!strided) Py_INCREF(strides);
  PyObject *name = PyUnicode_FromString(f->name);
  borrowed from;
  if (shape && strides && name)
    made = PyObject_CallFunctionObjArgs(py_hooks.empty, like->object, name, shape, strides, NULL);
  Py_XDECREF(name);
  Py_XDECREF(strides);
  Py_XDECREF(shape);
  if (!made) return NULL;
  if (borrow(made, "the result", &from) < 0) return Py_DECREF(made), NULL;
  *data = from.tensor.data;
  give_back(&from);
  return made;
}

/* ---- how a result is shown ---- */

/* The framework's type for elements of this one: its own, else whole bytes or words of the same
 * width. */
static void choose_type(form *f, llrt_dtype dtype) {
  static const llrt_dtype words[] = {LLRT_U8, LLRT_U16, LLRT_U32, LLRT_U64};
  int bits = llrt_dtype_bits(dtype);
  f->name = llrt_dtype_name(dtype);
  if (bits >= 8 && dlpack_type(dtype, &f->type)) return;
  llrt_dtype word = LLRT_U8;
  for (int i = 0; i < 4; i++)
    if (bits == 8 << i) word = words[i];
  f->name = llrt_dtype_name(word);
  dlpack_type(word, &f->type);
}

static void row_strides(form *f) {
  int64_t stride = 1;
  for (int i = f->rank - 1; i >= 0; i--) {
    f->strides[i] = stride;
    stride *= f->shape[i];
  }
}

/* Strides that the storage gives on the shape; false where they are the row-major ones. */
static bool storage_strides(const Storage *storage, const llrt_storage_binding *binding, form *f) {
  form rows = *f;
  row_strides(&rows);
  bool differ = false;
  for (int d = 0; d < storage->rule.n_digits; d++)
    f->strides[storage->rule.digit[d].axis] = binding->stride[d];
  for (int i = 0; i < f->rank; i++) differ |= f->shape[i] > 1 && f->strides[i] != rows.strides[i];
  return differ;
}

static bool has_gaps(const form *f, int64_t span) {
  int64_t n = 1;
  for (int i = 0; i < f->rank; i++) n *= f->shape[i];
  return span != n;
}

static void make_flat(form *f, int64_t bytes) {
  int64_t item = f->type.bits / 8;
  if (bytes % item) {
    f->type = (DLDataType){kDLUInt, 8, 1};
    f->name = "u8";
    item = 1;
  }
  f->rank = 1;
  f->shape[0] = bytes / item;
}

/* Rows of 4-bit elements are rows of bytes. */
static bool pack_rows(form *f, llrt_dtype dtype, bool e2m1_pairs) {
  int last = f->rank - 1;
  if (last < 0 || f->shape[last] % 2) return false;
  f->shape[last] /= 2;
  if (dtype == LLRT_E2M1 && e2m1_pairs) f->type = (DLDataType){kDLFloat4_e2m1fn, 4, 2};
  return true;
}

/* Fills the form; *strided: with its strides, else contiguous. */
static int choose_form(const llrt_tensor *t, const Storage *storage, int64_t bytes, bool e2m1_pairs,
                       form *f, bool *strided) {
  *strided = false;
  choose_type(f, t->dtype);
  f->rank = t->rank;
  memcpy(f->shape, t->shape, sizeof f->shape);
  bool rows = !storage;
  if (storage && storage->strided) {
    llrt_storage_binding binding;
    llrt_status status = llrt_storage_bind(&storage->rule, t->rank, t->shape, NULL, &binding);
    if (status) return raise_status(status), -1;
    bool differ = storage_strides(storage, &binding, f);
    rows = !differ;
    *strided = differ && llrt_dtype_bits(t->dtype) >= 8 && !has_gaps(f, binding.span);
  }
  if (rows && llrt_dtype_bits(t->dtype) == 4) rows = pack_rows(f, t->dtype, e2m1_pairs);
  if (!rows && !*strided) make_flat(f, bytes);
  return 0;
}

/* as_=(dtype, shape): the same bytes under these. */
static int apply_as(PyObject *as, int64_t bytes, form *f) {
  llrt_dtype dtype;
  int64_t n = 1;
  if (!PyTuple_Check(as) || PyTuple_Size(as) != 2) {
    PyErr_SetString(PyExc_TypeError, "as_ is a tuple (dtype, shape)");
    return -1;
  }
  if (take_dtype(PyTuple_GetItem(as, 0), &dtype) < 0) return -1;
  choose_type(f, dtype);
  if (take_numbers(PyTuple_GetItem(as, 1), "as_'s shape", LLRT_MAX_RANK, &f->rank, f->shape) < 0)
    return -1;
  for (int i = 0; i < f->rank; i++) n *= f->shape[i];
  if (n * f->type.bits / 8 == bytes) return 0;
  return refuse("as_ has %lld bytes, the result %lld", (long long)(n * f->type.bits / 8),
                (long long)bytes);
}

PyObject *make_result(const borrowed *like, llrt_dtype dtype, int rank, const int64_t *shape,
                      const Storage *storage, PyObject *as, borrowed *out) {
  memset(out, 0, sizeof *out);
  llrt_tensor *t = &out->tensor;
  t->dtype = dtype;
  t->rank = rank;
  memcpy(t->shape, shape, sizeof *shape * (size_t)rank);
  t->storage = storage ? &storage->rule : NULL;
  t->device = like->tensor.device;
  form f = {0};
  bool strided;
  llrt_status status = llrt_tensor_bytes(t, &out->bytes);
  if (status) return raise_status(status);
  if (choose_form(t, storage, (int64_t)out->bytes, like->source->api != NULL, &f, &strided) < 0)
    return NULL;
  if (as && (strided = false, apply_as(as, (int64_t)out->bytes, &f)) < 0) return NULL;
  out->source = like->source;
  out->where = like->where;
  return like->source->api ? allocate_exchanged(like, &f, strided, &t->data)
                           : allocate_by_hook(like, &f, strided, &t->data);
}

/* ---- destinations ---- */

int check_writable(const borrowed *out, const char *name) {
  if (out->readonly) return refuse("%s is read-only", name);
  const llrt_tensor *t = &out->tensor;
  for (int i = 0; i < t->rank && !out->is_view; i++)
    if (t->storage && t->shape[i] > 1 && t->strides[i] == 0)
      return refuse("%s has several elements in one place: axis %d has stride 0", name, i);
  return 0;
}

/* Memory without a better name: integers without a sign of the elements' width. */
static bool is_memory_of(llrt_dtype dtype, int bits) {
  return llrt_dtype_bits(dtype) == bits &&
         ((dtype >= LLRT_U64 && dtype <= LLRT_U8) || dtype >= LLRT_B4);
}

static bool same_shape(const llrt_tensor *t, int rank, const int64_t *shape) {
  return t->rank == rank && memcmp(t->shape, shape, sizeof *shape * (size_t)rank) == 0;
}

/* A plain tensor as the memory of a destination with this storage. */
static int lay_over(borrowed *out, llrt_dtype dtype, int rank, const int64_t *shape,
                    Storage *storage) {
  llrt_tensor *t = &out->tensor;
  if (t->storage && !(out->dense && storage))
    return refuse("out is not contiguous: a storage describes all of its memory");
  t->dtype = dtype;
  t->rank = rank;
  memcpy(t->shape, shape, sizeof *shape * (size_t)rank);
  t->storage = storage ? &storage->rule : NULL;
  size_t bytes;
  llrt_status status =
      storage ? storage_tensor_bytes(storage, t, &bytes) : llrt_tensor_bytes(t, &bytes);
  if (status) return raise_status(status), -1;
  if (bytes > out->bytes)
    return refuse("the result takes %zu bytes, out has %zu", bytes, out->bytes);
  return 0;
}

/* A type that was asked for, else the tensor's own where that is one, else `preset`. */
static llrt_dtype type_for(const borrowed *out, llrt_dtype asked, llrt_dtype preset, bool shaped) {
  if (asked) return asked;
  return shaped && !is_memory_of(out->tensor.dtype, llrt_dtype_bits(preset)) ? out->tensor.dtype
                                                                             : preset;
}

static int lay_given(borrowed *out, Storage *storage, llrt_dtype dtype, llrt_dtype preset, int rank,
                     const int64_t *shape) {
  if (check_writable(out, "out") < 0) return -1;
  if (out->is_view) {
    if (storage) return refuse("out is a view, which says its storage itself");
    if (dtype && dtype != out->tensor.dtype)
      return refuse("out is a view, which says its dtype itself");
    return 0;
  }
  bool shaped = same_shape(&out->tensor, rank, shape);
  llrt_dtype type = type_for(out, dtype, preset, shaped);
  if (!storage && shaped && llrt_dtype_bits(type) == llrt_dtype_bits(out->tensor.dtype)) {
    out->tensor.dtype = type;
    return 0;
  }
  if (!storage && llrt_dtype_bits(type) >= 8) {
    PyObject *wanted = shape_tuple(rank, shape);
    PyObject *message =
        wanted ? PyUnicode_FromFormat(
                     "out has another shape or width than the result, %s%R: name the storage "
                     "of its memory (to=...)",
                     llrt_dtype_name(type), wanted)
               : NULL;
    const char *text = message ? PyUnicode_AsUTF8AndSize(message, NULL) : NULL;
    if (text) refuse("%s", text);
    Py_XDECREF(message);
    Py_XDECREF(wanted);
    return -1;
  }
  return lay_over(out, type, rank, shape, storage);
}

int take_destination(const borrowed *like, PyObject *given, PyObject *to, PyObject *as,
                     llrt_dtype dtype, llrt_dtype preset, int rank, const int64_t *shape,
                     borrowed *out, PyObject **object) {
  Storage *storage = to ? storage_for(to, rank, shape) : NULL;
  if (to && !storage) return -1;
  if (!given) {
    *object = make_result(like, dtype ? dtype : preset, rank, shape, storage, as, out);
    return *object ? 0 : -1;
  }
  if (as) return refuse("out and as_ do not go together");
  if (borrow(given, "out", out) < 0) return -1;
  if (join_device(like->where, like->tensor.device, out, "out") < 0 ||
      lay_given(out, storage, dtype, preset, rank, shape) < 0)
    return give_back(out), -1;
  Py_INCREF(given);
  *object = given;
  return 0;
}
