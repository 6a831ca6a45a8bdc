/* Views: what lies in a tensor's memory, said instead of guessed. */
#include "module.h"

#include <stdlib.h>

PyTypeObject *ViewType;

/* A view of what was borrowed; takes over what keeps it. */
static View *view_of(borrowed *from) {
  View *self = PyObject_New(View, ViewType);
  if (!self) return NULL;
  memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
  self->tensor = from->tensor;
  Py_INCREF(from->object);
  self->object = from->object;
  self->source = from->source;
  self->where = from->where;
  self->readonly = from->readonly;
  self->bytes = from->bytes;
  self->capsule = from->keep;
  self->buffer = from->buffer;
  from->keep = NULL;
  from->buffer = NULL;
  return self;
}

/* What ends a capsule may be Python code, and an exception may be on its way. */
static void view_free(PyObject *object) {
  View *self = (View *)object;
  PyTypeObject *type = Py_TYPE(object);
  PyObject *error, *value, *trace;
  PyErr_Fetch(&error, &value, &trace);
  give_back_buffer(self->buffer);
  Py_XDECREF(self->capsule);
  Py_XDECREF(self->storage);
  Py_XDECREF(self->keep);
  Py_XDECREF(self->object);
  PyErr_Restore(error, value, trace);
  PyObject_Free(object);
  Py_DECREF(type);
}

/* ---- making ---- */

/* The last axis of a row-major tensor counts elements of another width. */
static int rescale(borrowed *from, llrt_dtype dtype) {
  llrt_tensor *t = &from->tensor;
  int64_t old = llrt_dtype_bits(t->dtype), bits = llrt_dtype_bits(dtype);
  t->dtype = dtype;
  if (old == bits) return 0;
  if (t->storage || t->rank == 0)
    return refuse(
        "elements of another width need a contiguous tensor of at least one axis, or a shape");
  int64_t *last = &t->shape[t->rank - 1];
  if (*last * old % bits)
    return refuse("the last axis has %lld bits: no whole elements", (long long)(*last * old));
  *last = *last * old / bits;
  return 0;
}

static int set_shape(borrowed *from, PyObject *object) {
  int n;
  if (take_numbers(object, "shape", LLRT_MAX_RANK, &n, from->tensor.shape) < 0) return -1;
  from->tensor.rank = n;
  for (int i = 0; i < n; i++)
    if (from->tensor.shape[i] < 0)
      return refuse("shape[%d] is %lld, not 0 or more", i, (long long)from->tensor.shape[i]);
  return 0;
}

static int move_by(borrowed *from, PyObject *object) {
  int64_t offset;
  if (take_int(object, "offset", 0, &offset) < 0) return -1;
  if (offset < 0 || (uint64_t)offset > from->bytes)
    return refuse("offset %lld bytes is outside the tensor's %zu bytes", (long long)offset,
                  from->bytes);
  from->tensor.data = (char *)from->tensor.data + offset;
  from->bytes -= (size_t)offset;
  return 0;
}

/* The view's storage may be larger than memory that it was told to lie in: pads and copies count.
 */
static int check_bytes(const borrowed *from) {
  size_t bytes;
  llrt_status status = llrt_tensor_bytes(&from->tensor, &bytes);
  if (status) return raise_status(status), -1;
  if (bytes > from->bytes)
    return refuse("the view takes %zu bytes, the tensor has %zu", bytes, from->bytes);
  return 0;
}

/* {dtype, shape, storage, offset}: any of these looks at the memory alone, which must be without
 * gaps. */
static int reinterpret(borrowed *from, PyObject *const *slots, Storage **storage) {
  llrt_dtype dtype;
  if (take_dtype(slots[0], &dtype) < 0) return -1;
  bool memory = slots[1] || slots[2] || slots[3];
  if (memory && !from->is_view && from->tensor.storage && !from->dense)
    return refuse(
        "the tensor's elements are not contiguous: its memory cannot be seen as something else");
  if (slots[3] && move_by(from, slots[3]) < 0) return -1;
  if (memory) from->tensor.storage = NULL;
  if (dtype && slots[1]) from->tensor.dtype = dtype;
  else if (dtype && rescale(from, dtype) < 0) return -1;
  if (slots[1] && set_shape(from, slots[1]) < 0) return -1;
  if (slots[2]) {
    *storage = storage_for(slots[2], from->tensor.rank, from->tensor.shape);
    if (!*storage) return -1;
    from->tensor.storage = &(*storage)->rule;
  }
  return 0;
}

/* ---- indices and extents in device memory ---- */

static int attribute_int(PyObject *object, const char *name, int64_t preset, int64_t *value) {
  PyObject *found = PyObject_GetAttrString(object, name);
  int failed = found ? take_int(found, name, preset, value) : -1;
  Py_XDECREF(found);
  return failed;
}

/* Attribute `name`, a tensor, as a view that the list `kept` holds. */
static View *attribute_view(PyObject *object, const char *name, PyObject *kept) {
  PyObject *found = PyObject_GetAttrString(object, name);
  borrowed from;
  View *made = found && borrow(found, name, &from) == 0 ? view_of(&from) : NULL;
  Py_XDECREF(found);
  if (made && PyList_Append(kept, (PyObject *)made) < 0) Py_CLEAR(made);
  Py_XDECREF(made); /* the list's */
  return made;
}

/* The values' strides by the logical axes in `axes`, in order. */
static int index_strides(const View *values, llrt_index *index) {
  llrt_storage_binding binding;
  const llrt_tensor *t = &values->tensor;
  llrt_storage rows;
  llrt_status status = llrt_storage_row_major(t->rank, &rows);
  const llrt_storage *rule = t->storage ? t->storage : &rows;
  if (!status) status = llrt_storage_bind(rule, t->rank, t->shape, t->strides, &binding);
  if (status) return raise_status(status), -1;
  int axis = 0, axes = 0;
  for (int a = 0; a < LLRT_MAX_RANK; a++) axes += index->axes >> a & 1;
  if (axes != t->rank) return refuse("an index of %d axes has values along %d", t->rank, axes);
  for (int a = 0; a < LLRT_MAX_RANK; a++) {
    if (!(index->axes >> a & 1)) continue;
    for (int d = 0; d < rule->n_digits; d++)
      if (rule->digit[d].axis == axis) index->strides[a] = binding.stride[d];
    axis++;
  }
  return 0;
}

static int fill_index(PyObject *object, llrt_index *index, PyObject *kept) {
  int64_t axis, axes, folded, extent, range, pointer, alignment;
  if (attribute_int(object, "axis", 0, &axis) < 0 || attribute_int(object, "_axes", 0, &axes) < 0 ||
      attribute_int(object, "_folded", 0, &folded) < 0 ||
      attribute_int(object, "extent", 0, &extent) < 0 ||
      attribute_int(object, "_range", 0, &range) < 0 ||
      attribute_int(object, "pointer", 0, &pointer) < 0 ||
      attribute_int(object, "alignment", 0, &alignment) < 0)
    return -1;
  View *values = attribute_view(object, "values", kept);
  if (!values) return -1;
  *index = (llrt_index){.axis = (int32_t)axis,
                        .kind = pointer ? LLRT_INDEX_POINTER : LLRT_INDEX_COORDINATE,
                        .out_of_range = (int32_t)range,
                        .dtype = values->tensor.dtype,
                        .axes = (uint32_t)axes,
                        .folded = (uint32_t)folded,
                        .extent = extent,
                        .alignment = alignment,
                        .data = values->tensor.data};
  if (range == LLRT_RANGE_REPORT) {
    View *report = attribute_view(object, "report", kept);
    if (!report) return -1;
    if (report->tensor.dtype != LLRT_I32 || report->readonly)
      return refuse("report must be a writable int32 tensor");
    index->report = report->tensor.data;
  }
  return index_strides(values, index);
}

static int add_indices(View *self, PyObject *list, PyObject *kept) {
  Py_ssize_t n = PySequence_Size(list);
  if (n < 0) return -1;
  if (n > LLRT_MAX_INDICES) return refuse("%zd indices, the most is %d", n, LLRT_MAX_INDICES);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PySequence_GetItem(list, i);
    int failed = item ? fill_index(item, &self->indices[i], kept) : -1;
    Py_XDECREF(item);
    if (failed) return -1;
  }
  self->tensor.n_indices = (int32_t)n;
  self->tensor.indices = n ? self->indices : NULL;
  return 0;
}

/* {axis: a tensor with one int32 number}. */
static int add_extents(View *self, PyObject *table, PyObject *kept) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(table, &at, &key, &value)) {
    int32_t axis;
    borrowed from;
    if (take_axis(key, self->tensor.rank, &axis) < 0 || borrow(value, "extents", &from) < 0)
      return -1;
    View *made = view_of(&from);
    if (!made) return -1;
    int failed = PyList_Append(kept, (PyObject *)made);
    if (!failed && made->tensor.dtype != LLRT_I32) failed = refuse("extents are int32 tensors");
    if (!failed) self->tensor.extent_ptr[axis] = made->tensor.data;
    Py_DECREF(made);
    if (failed) return -1;
  }
  return 0;
}

PyObject *module_view(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)module;
  static keyword words[] = {{"t", NULL},       {"dtype", NULL},  {"shape", NULL},
                            {"storage", NULL}, {"offset", NULL}, {"indices", NULL},
                            {"extents", NULL}};
  static const signature what = {"view", words, 7, 4, 1};
  PyObject *slots[7];
  borrowed from;
  Storage *storage = NULL;
  if (take_arguments(&what, args, n, names, slots) < 0 || borrow(slots[0], "t", &from) < 0)
    return NULL;
  View *base = from.is_view ? (View *)slots[0] : NULL;
  View *self = reinterpret(&from, slots + 1, &storage) == 0 ? view_of(&from) : NULL;
  give_back(&from);
  if (!self) return NULL;
  self->keep = PyList_New(0);
  self->storage = storage                        ? (PyObject *)storage
                  : base && self->tensor.storage ? base->storage
                                                 : NULL;
  Py_XINCREF(self->storage);
  int failed = self->keep == NULL || (base && PyList_Append(self->keep, (PyObject *)base) < 0);
  if (self->tensor.n_indices)
    memcpy(self->indices, base->indices, sizeof self->indices),
        self->tensor.indices = self->indices;
  if (!failed && slots[5]) failed = add_indices(self, slots[5], self->keep);
  if (!failed && slots[6])
    failed = PyDict_Check(slots[6]) ? add_extents(self, slots[6], self->keep)
                                    : (PyErr_SetString(PyExc_TypeError, "extents is a dict"), -1);
  borrowed made;
  if (!failed) failed = borrow((PyObject *)self, "t", &made) < 0 || check_bytes(&made) < 0;
  if (failed) Py_CLEAR(self);
  return (PyObject *)self;
}

/* ---- attributes ---- */

static PyObject *get_shape(PyObject *object, void *unused) {
  (void)unused;
  return shape_tuple(((View *)object)->tensor.rank, ((View *)object)->tensor.shape);
}

static PyObject *get_dtype(PyObject *object, void *unused) {
  (void)unused;
  return PyUnicode_FromString(llrt_dtype_name(((View *)object)->tensor.dtype));
}

static PyObject *get_storage(PyObject *object, void *unused) {
  (void)unused;
  View *self = (View *)object;
  llrt_storage rows;
  if (self->storage) return Py_INCREF(self->storage), self->storage;
  if (!self->tensor.storage && llrt_storage_row_major(self->tensor.rank, &rows) != LLRT_OK)
    return NULL;
  return (PyObject *)storage_new(self->tensor.storage ? self->tensor.storage : &rows, NULL,
                                 self->tensor.rank,
                                 self->tensor.storage ? NULL : self->tensor.shape);
}

static PyObject *get_nbytes(PyObject *object, void *unused) {
  (void)unused;
  size_t bytes;
  llrt_status status = llrt_tensor_bytes(&((View *)object)->tensor, &bytes);
  return status ? raise_status(status) : PyLong_FromSize_t(bytes);
}

static PyObject *get_tensor(PyObject *object, void *unused) {
  (void)unused;
  PyObject *tensor = ((View *)object)->object;
  Py_INCREF(tensor);
  return tensor;
}

static PyObject *get_address(PyObject *object, void *unused) {
  (void)unused;
  return PyLong_FromVoidPtr(((View *)object)->tensor.data);
}

static PyObject *get_device(PyObject *object, void *unused) {
  (void)unused;
  llrt_device_info info = {0};
  llrt_status status = llrt_device_get_info(((View *)object)->tensor.device, &info);
  return status ? raise_status(status) : PyUnicode_FromString(info.name);
}

static PyObject *get_readonly(PyObject *object, void *unused) {
  (void)unused;
  return PyBool_FromLong(((View *)object)->readonly);
}

/* Whether tensors in memory say where its elements are or how many: indices, extents. */
static PyObject *get_through(PyObject *object, void *unused) {
  (void)unused;
  const llrt_tensor *t = &((View *)object)->tensor;
  bool through = t->n_indices > 0;
  for (int i = 0; i < t->rank; i++) through |= t->extent_ptr[i] != NULL;
  return PyBool_FromLong(through);
}

static PyGetSetDef view_attributes[] = {
    {"shape", get_shape, NULL, "Positions along each logical axis.", NULL},
    {"dtype", get_dtype, NULL, "Name of the elements' type.", NULL},
    {"storage", get_storage, NULL, "The rule by which they lie in memory, an llrt.Storage.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes from the first place to the end of the storage.", NULL},
    {"tensor", get_tensor, NULL, "The tensor whose memory it is.", NULL},
    {"data_ptr", get_address, NULL, "Address of place 0.", NULL},
    {"device", get_device, NULL, "Name of the device.", NULL},
    {"_through", get_through, NULL, NULL, NULL},
    {"readonly", get_readonly, NULL, "Whether nothing may be written there.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyObject *view_repr(PyObject *object) {
  PyObject *shape = get_shape(object, NULL), *storage = get_storage(object, NULL);
  PyObject *text = storage ? PyObject_GetAttrString(storage, "text") : NULL;
  PyObject *made =
      shape && text
          ? PyUnicode_FromFormat("llrt.view(%s, shape=%R, storage=%R)",
                                 llrt_dtype_name(((View *)object)->tensor.dtype), shape, text)
          : NULL;
  Py_XDECREF(text);
  Py_XDECREF(storage);
  Py_XDECREF(shape);
  return made;
}

static PyType_Slot view_slots[] = {{Py_tp_doc, "What lies in a tensor's memory: elements of a "
                                               "type, a shape, a storage (llrt.view). Immutable."},
                                   {Py_tp_dealloc, view_free},
                                   {Py_tp_repr, view_repr},
                                   {Py_tp_getset, view_attributes},
                                   {0, NULL}};

PyType_Spec view_spec = {"llrt.View", sizeof(View), 0, Py_TPFLAGS_DEFAULT, view_slots};
