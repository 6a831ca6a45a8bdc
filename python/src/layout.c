/* Layouts: linear maps over F2, and their algebra by operators. */
#include "module.h"

PyTypeObject *LayoutType;

typedef struct Layout {
  PyObject_HEAD llrt_layout map;
} Layout;

static PyObject *layout_new(const llrt_layout *map) {
  Layout *self = PyObject_New(Layout, LayoutType);
  if (self) self->map = *map;
  return (PyObject *)self;
}

static PyObject *finish(llrt_status status, const llrt_layout *map) {
  return status ? raise_status(status) : layout_new(map);
}

static void layout_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

static PyObject *layout_str(PyObject *object) {
  const llrt_layout *map = &((Layout *)object)->map;
  size_t length;
  llrt_status status = llrt_layout_print(map, NULL, 0, &length);
  char *text = status ? NULL : PyMem_Malloc(length + 1);
  if (text) status = llrt_layout_print(map, text, length + 1, &length);
  PyObject *made = status ? raise_status(status)
                   : text ? PyUnicode_FromStringAndSize(text, (Py_ssize_t)length)
                          : PyErr_NoMemory();
  PyMem_Free(text);
  return made;
}

static PyObject *layout_repr(PyObject *object) {
  PyObject *text = layout_str(object),
           *made = text ? PyUnicode_FromFormat("llrt.layout(%R)", text) : NULL;
  Py_XDECREF(text);
  return made;
}

/* ---- operators ---- */

typedef llrt_status binary(const llrt_layout *a, const llrt_layout *b, llrt_layout *out);

static PyObject *combine(PyObject *a, PyObject *b, binary *operation) {
  if (Py_TYPE(a) != LayoutType || Py_TYPE(b) != LayoutType) Py_RETURN_NOTIMPLEMENTED;
  llrt_layout out;
  return finish(operation(&((Layout *)a)->map, &((Layout *)b)->map, &out), &out);
}

/* a @ b is a after b. */
static PyObject *layout_after(PyObject *a, PyObject *b) {
  if (Py_TYPE(a) != LayoutType || Py_TYPE(b) != LayoutType) Py_RETURN_NOTIMPLEMENTED;
  return combine(b, a, llrt_layout_compose);
}

static PyObject *layout_times(PyObject *a, PyObject *b) {
  return combine(a, b, llrt_layout_product);
}
static PyObject *layout_over(PyObject *a, PyObject *b) {
  return combine(a, b, llrt_layout_divide_right);
}

static PyObject *layout_invert(PyObject *object) {
  llrt_layout out;
  return finish(llrt_layout_invert(&((Layout *)object)->map, &out), &out);
}

static PyObject *method(PyObject *self, PyObject *other, binary *operation) {
  if (Py_TYPE(other) == LayoutType) return combine(self, other, operation);
  PyErr_SetString(PyExc_TypeError, "expected an llrt.Layout");
  return NULL;
}

static PyObject *layout_divide_left(PyObject *self, PyObject *b) {
  return method(self, b, llrt_layout_divide_left);
}
static PyObject *layout_solve(PyObject *self, PyObject *b) {
  return method(self, b, llrt_layout_solve);
}

static PyObject *layout_right_inverse(PyObject *object, PyObject *unused) {
  (void)unused;
  llrt_layout out;
  return finish(llrt_layout_right_inverse(&((Layout *)object)->map, &out), &out);
}

static PyObject *layout_compare(PyObject *a, PyObject *b, int op) {
  if (Py_TYPE(b) != LayoutType || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong(llrt_layout_equal(&((Layout *)a)->map, &((Layout *)b)->map) ==
                         (op == Py_EQ));
}

static Py_hash_t layout_hash(PyObject *object) {
  Py_hash_t hash = (Py_hash_t)llrt_layout_hash(&((Layout *)object)->map).low;
  return hash == -1 ? -2 : hash;
}

/* ---- evaluation ---- */

static int take_coordinates(const llrt_layout *map, PyObject *args, PyObject *names, uint64_t *at) {
  Py_ssize_t n = PyTuple_Size(args);
  if (n > map->n_in) return refuse("%zd coordinates for %d dims", n, map->n_in);
  Py_ssize_t used = n;
  for (int i = 0; i < map->n_in; i++) {
    PyObject *given = i < n   ? PyTuple_GetItem(args, i)
                      : names ? PyDict_GetItemString(names, map->in[i].name)
                              : NULL;
    used += i >= n && given;
    int64_t value = 0;
    if (given && take_int(given, map->in[i].name, 0, &value) < 0) return -1;
    if (value < 0) return refuse("coordinate %s is negative", map->in[i].name);
    at[i] = (uint64_t)value;
  }
  if (names && used - n != PyDict_Size(names))
    return refuse("a keyword names no dim of the layout, or one that stands already");
  return 0;
}

static PyObject *layout_call(PyObject *object, PyObject *args, PyObject *names) {
  const llrt_layout *map = &((Layout *)object)->map;
  uint64_t in[LLRT_MAX_IN_DIMS] = {0}, out[LLRT_MAX_OUT_DIMS];
  if (take_coordinates(map, args, names, in) < 0) return NULL;
  llrt_status status = llrt_layout_apply(map, in, out);
  if (status) return raise_status(status);
  PyObject *made = PyTuple_New(map->n_out);
  for (int i = 0; i < map->n_out && made; i++) {
    PyObject *number = PyLong_FromUnsignedLongLong(out[i]);
    if (!number || PyTuple_SetItem(made, i, number) < 0) Py_CLEAR(made);
  }
  return made;
}

static PyObject *dims(const llrt_dim *all, int n) {
  PyObject *made = PyDict_New();
  for (int i = 0; i < n && made; i++) {
    PyObject *size = PyLong_FromUnsignedLongLong(1ull << all[i].bits);
    if (!size || PyDict_SetItemString(made, all[i].name, size) < 0) Py_CLEAR(made);
    Py_XDECREF(size);
  }
  return made;
}

static PyObject *get_in(PyObject *object, void *unused) {
  (void)unused;
  return dims(((Layout *)object)->map.in, ((Layout *)object)->map.n_in);
}

static PyObject *get_out(PyObject *object, void *unused) {
  (void)unused;
  return dims(((Layout *)object)->map.out, ((Layout *)object)->map.n_out);
}

static PyObject *get_surjective(PyObject *object, void *unused) {
  (void)unused;
  return PyBool_FromLong(llrt_layout_is_surjective(&((Layout *)object)->map));
}

static PyObject *get_injective(PyObject *object, void *unused) {
  (void)unused;
  return PyBool_FromLong(llrt_layout_is_injective(&((Layout *)object)->map));
}

static PyObject *layout_storage(PyObject *object, PyObject *unused) {
  (void)unused;
  llrt_storage made;
  const llrt_layout *map = &((Layout *)object)->map;
  llrt_status status = llrt_storage_from_layout(map, &made);
  if (status) return raise_status(status);
  int64_t shape[LLRT_MAX_RANK];
  for (int i = 0; i < made.rank; i++) {
    char name[8] = {'d', 'i', 'm', (char)('0' + i), 0};
    shape[i] = 1ll << map->out[llrt_layout_out_index(map, name)].bits;
  }
  return (PyObject *)storage_new(&made, NULL, made.rank, shape);
}

static PyGetSetDef layout_attributes[] = {
    {"in_dims", get_in, NULL, "{name: positions} of what it maps from, minor to major.", NULL},
    {"out_dims", get_out, NULL, "{name: positions} of what it maps to, minor to major.", NULL},
    {"is_surjective", get_surjective, NULL, "Whether every position of the out-dims is reached.",
     NULL},
    {"is_injective", get_injective, NULL, "Whether no two positions map to one.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef layout_methods[] = {
    {"divide_left", layout_divide_left, METH_O,
     "divide_left(b)\n--\n\nC with self = b * C. Errors: ValueError."},
    {"solve", layout_solve, METH_O,
     "solve(b)\n--\n\nX with self @ X == b, free variables zero. Errors: ValueError."},
    {"right_inverse", layout_right_inverse, METH_NOARGS,
     "right_inverse()\n--\n\nX with self @ X the identity, free variables zero. Errors: ValueError "
     "where it is not surjective."},
    {"to_storage", layout_storage, METH_NOARGS,
     "to_storage()\n--\n\nThe layout's image as a storage: element index = the in-dims end to end. "
     "Errors: ValueError where it "
     "is not surjective."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot layout_slots[] = {
    {Py_tp_doc,
     "A linear map over F2 between bit spaces with names (llrt.layout). Immutable, hashable.\n\n"
     "a @ b: a after b.  a * b: the direct sum.  a / b: C with a = C * b.  ~a: the inverse.\n"
     "a(1, 2) or a(lane=3): the coordinates in the out-dims, a tuple; what is left out is 0."},
    {Py_tp_dealloc, layout_free},
    {Py_tp_str, layout_str},
    {Py_tp_repr, layout_repr},
    {Py_tp_richcompare, layout_compare},
    {Py_tp_hash, layout_hash},
    {Py_tp_call, layout_call},
    {Py_nb_matrix_multiply, layout_after},
    {Py_nb_multiply, layout_times},
    {Py_nb_true_divide, layout_over},
    {Py_nb_invert, layout_invert},
    {Py_tp_methods, layout_methods},
    {Py_tp_getset, layout_attributes},
    {0, NULL}};

PyType_Spec layout_spec = {"llrt.Layout", sizeof(Layout), 0, Py_TPFLAGS_DEFAULT, layout_slots};

/* layout(text, shape=None) */
PyObject *module_layout(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                        PyObject *names) {
  (void)module;
  static keyword words[] = {{"text", NULL}, {"shape", NULL}};
  static const signature what = {"layout", words, 2, 2, 1};
  PyObject *slots[2];
  int64_t shape[LLRT_MAX_RANK];
  int n = 0;
  if (take_arguments(&what, args, n_args, names, slots) < 0) return NULL;
  if (slots[1] && take_numbers(slots[1], "shape", LLRT_MAX_RANK, &n, shape) < 0) return NULL;
  const char *text = PyUnicode_Check(slots[0]) ? PyUnicode_AsUTF8AndSize(slots[0], NULL) : NULL;
  if (!text)
    return PyErr_Occurred() ? NULL : (PyErr_SetString(PyExc_TypeError, "text must be a str"), NULL);
  llrt_layout made;
  return finish(llrt_layout_parse(text, n, slots[1] ? shape : NULL, &made), &made);
}

PyObject *storage_to_layout(PyObject *object, PyObject *unused) {
  (void)unused;
  Storage *self = (Storage *)object;
  llrt_layout made;
  if (!self->has_shape)
    return refuse("the storage has no shape: llrt.storage(text, shape=...)"), NULL;
  return finish(llrt_storage_to_layout(&self->rule, self->rank, self->shape, &made), &made);
}
