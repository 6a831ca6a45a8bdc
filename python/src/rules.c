/* Storages: the rules of strides, interned; texts, parsed once; the Python type. */
#include "module.h"

#include <stdlib.h>

/* ---- strides ---- */

typedef struct rule {
  uint64_t key;
  llrt_storage *storage;
} rule;

enum { RULES = 4096 };
static rule rules[RULES]; /* open addressing; a full table makes no more */

static llrt_storage *make_rule(int rank, const int *order, bool packed, uint32_t reversed) {
  llrt_storage *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->rank = made->n_digits = rank;
  for (int i = 0; i < rank; i++)
    made->digit[i] = (llrt_digit){
        .extent = LLRT_EXTENT_REST,
        .stride = packed || (i == 0 && order[0] >= 8) ? LLRT_STRIDE_PACKED : LLRT_STRIDE_RUNTIME,
        .axis = order[i] & 7,
        .reversed = reversed >> (order[i] & 7) & 1};
  return made;
}

static const llrt_storage *intern(int rank, const int *order, bool packed, uint32_t reversed) {
  uint64_t key = 1 + (uint64_t)rank + ((uint64_t)packed << 4) + ((uint64_t)reversed << 8);
  for (int i = 0; i < rank; i++) key = key * 17 + (uint64_t)order[i];
  size_t at = (size_t)(key * 0x9E3779B97F4A7C15u >> 52) % RULES;
  for (int probe = 0; probe < RULES; probe++, at = (at + 1) % RULES) {
    if (rules[at].key == key) return rules[at].storage;
    if (rules[at].storage) continue;
    if (!(rules[at].storage = make_rule(rank, order, packed, reversed)))
      return (llrt_storage *)PyErr_NoMemory();
    rules[at].key = key;
    return rules[at].storage;
  }
  PyErr_SetString(PyExc_RuntimeError, "more than 4096 kinds of strides in one process");
  return NULL;
}

/* Axes from the smallest stride to the largest; of equal ones the last axis first, those of one
 * position last of all. */
static void sort_axes(int rank, const int64_t *shape, const int64_t *strides, int *order) {
  for (int i = 0; i < rank; i++) {
    int axis = rank - 1 - i, at = i;
    bool one = shape[axis] == 1;
    for (; at > 0; at--) {
      int before = order[at - 1];
      bool before_one = shape[before] == 1;
      if (before_one == one ? one || strides[before] <= strides[axis] : !before_one) break;
      order[at] = before;
    }
    order[at] = axis;
  }
}

static bool is_packed(int rank, const int64_t *shape, const int64_t *strides, const int *order) {
  int64_t expected = 1;
  for (int i = 0; i < rank; i++) {
    if (shape[order[i]] != 1 && strides[order[i]] != expected) return false;
    expected *= shape[order[i]];
  }
  return true;
}

int strided_rule(int rank, const int64_t *shape, int64_t *strides, const llrt_storage **out,
                 int64_t *lowest) {
  uint32_t reversed = 0;
  int order[LLRT_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    if (shape[i] == 1) strides[i] = 0;
    if (strides[i] >= 0) continue;
    reversed |= 1u << i;
    *lowest += (shape[i] - 1) * strides[i];
    strides[i] = -strides[i];
  }
  sort_axes(rank, shape, strides, order);
  bool packed = is_packed(rank, shape, strides, order);
  /* Marked by 8: a first digit whose stride is 1 for every tensor of the class. */
  if (!packed && shape[order[0]] != 1 && strides[order[0]] == 1) order[0] |= 8;
  *out = intern(rank, order, packed, reversed);
  return *out ? 0 : -1;
}

/* ---- the Python type ---- */

PyTypeObject *StorageType;

/* One digit for each axis, without tile, copies or a swizzle: then a tensor's strides say it all.
 * Digits that take the rest of their axis leave nothing to pad. */
static bool is_strided(const llrt_storage *s) {
  if (s->tile.n_in || s->swizzle.swizzle_len || s->n_targets || s->offset[0] ||
      s->n_digits != s->rank)
    return false;
  uint32_t seen = 0;
  for (int i = 0; i < s->n_digits; i++) {
    if (s->pad && s->digit[i].extent != LLRT_EXTENT_REST) return false;
    if (s->digit[i].axis < 0 || s->digit[i].reversed || s->digit[i].stride == LLRT_STRIDE_RUNTIME)
      return false;
    seen |= 1u << s->digit[i].axis;
  }
  return seen == (1u << s->rank) - 1;
}

static bool has_runtime_strides(const llrt_storage *s) {
  for (int i = 0; i < s->n_digits; i++)
    if (s->digit[i].stride == LLRT_STRIDE_RUNTIME) return true;
  return false;
}

Storage *storage_new(const llrt_storage *rule_of, PyObject *text, int rank, const int64_t *shape) {
  Storage *self = PyObject_New(Storage, StorageType);
  if (!self) return NULL;
  self->rule = *rule_of;
  Py_XINCREF(text);
  self->text = text;
  self->has_shape = shape != NULL;
  self->rank = rank;
  for (int i = 0; i < rank && shape; i++) self->shape[i] = shape[i];
  self->strided = is_strided(rule_of);
  self->fixed = !has_runtime_strides(rule_of);
  self->known_dtype = LLRT_DTYPE_NONE;
  return self;
}

static void storage_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  Py_XDECREF(((Storage *)object)->text);
  PyObject_Free(object);
  Py_DECREF(type);
}

/* ---- texts ---- */

/* {text: {rank: Storage} or {shape: Storage}}: a named storage without a parameter that is taken
 * from the shape is the same on all shapes. */
static PyObject *texts;
enum { MAX_SHAPES = 512 }; /* of one text: then they are forgotten */

void texts_forget(void) {
  if (texts) PyDict_Clear(texts);
}

static const llrt_named_storage *named(const char *text) {
  size_t length = strcspn(text, "( \t");
  for (int i = 0; i < llrt_storage_named_count(); i++) {
    const llrt_named_storage *entry = llrt_storage_named_at(i);
    if (strlen(entry->name) == length && strncmp(entry->name, text, length) == 0) return entry;
  }
  return NULL;
}

static bool needs_shape(const char *text) {
  const llrt_named_storage *entry = named(text);
  if (!entry || strcmp(entry->name, "tiled") == 0) return true;
  for (int i = 0; i < LLRT_NAMED_MAX_PARAMS; i++)
    if (entry->param[i].name && entry->param[i].preset == LLRT_NAMED_EXTENT) return true;
  return false;
}

/* The key of a text's entry, a new reference. */
static PyObject *entry_key(PyObject *entries, const char *text, int rank, const int64_t *shape) {
  PyObject *shaped = PyDict_GetItemString(entries, "shaped");
  bool by_shape = shaped ? shaped == Py_True : needs_shape(text);
  if (!shaped && PyDict_SetItemString(entries, "shaped", by_shape ? Py_True : Py_False) < 0)
    return NULL;
  return by_shape ? shape_tuple(rank, shape) : PyLong_FromLong(rank);
}

static Storage *parse(PyObject *text, const char *bytes, int rank, const int64_t *shape) {
  llrt_storage made;
  llrt_status status = llrt_storage_parse(bytes, rank, shape, &made);
  if (status) return (Storage *)raise_status(status);
  if (made.rank != rank) {
    refuse("storage '%s' has %d axes, the tensor %d", bytes, made.rank, rank);
    return NULL;
  }
  return storage_new(&made, text, rank, shape);
}

static Storage *parse_into(PyObject *entries, PyObject *key, PyObject *text, const char *bytes,
                           int rank, const int64_t *shape) {
  Storage *made = parse(text, bytes, rank, shape);
  if (!made) return NULL;
  if (PyDict_Size(entries) > MAX_SHAPES) PyDict_Clear(entries);
  int failed = PyDict_SetItem(entries, key, (PyObject *)made);
  Py_DECREF(made); /* the dictionary's */
  return failed ? NULL : made;
}

/* The last few answers, looked at before any dictionary: {text, rank, shape where it matters}. */
typedef struct recent {
  PyObject *text;
  Storage *storage;
  bool by_shape;
} recent;
enum { RECENT = 8 };
static recent last[RECENT];
static unsigned next_recent;

static Storage *find_recent(PyObject *text, int rank, const int64_t *shape) {
  for (int i = 0; i < RECENT; i++) {
    Storage *s = last[i].storage;
    if (last[i].text != text || s->rank != rank) continue;
    if (!last[i].by_shape || memcmp(s->shape, shape, sizeof *shape * (size_t)rank) == 0) return s;
  }
  return NULL;
}

static void remember(PyObject *text, Storage *storage, bool by_shape) {
  recent *slot = &last[next_recent++ % RECENT], old = *slot;
  Py_INCREF(text);
  Py_INCREF(storage);
  *slot = (recent){text, storage, by_shape};
  Py_XDECREF(old.text);
  Py_XDECREF(old.storage);
}

static Storage *from_text(PyObject *text, int rank, const int64_t *shape) {
  Storage *found = find_recent(text, rank, shape);
  if (found) return found;
  const char *bytes = PyUnicode_AsUTF8AndSize(text, NULL);
  if (!bytes || (!texts && !(texts = PyDict_New()))) return NULL;
  PyObject *entries = PyDict_GetItemWithError(texts, text);
  if (!entries) {
    entries = PyDict_New();
    if (!entries || PyDict_SetItem(texts, text, entries) < 0) return Py_XDECREF(entries), NULL;
    Py_DECREF(entries);
  }
  PyObject *key = entry_key(entries, bytes, rank, shape);
  if (!key) return NULL;
  found = (Storage *)PyDict_GetItemWithError(entries, key);
  if (!found && !PyErr_Occurred()) found = parse_into(entries, key, text, bytes, rank, shape);
  if (found) remember(text, found, !PyLong_Check(key));
  Py_DECREF(key);
  return found;
}

Storage *storage_for(PyObject *object, int rank, const int64_t *shape) {
  if (PyUnicode_Check(object)) return from_text(object, rank, shape);
  if (Py_TYPE(object) != StorageType) {
    PyErr_SetString(PyExc_TypeError, "a storage is a text or an llrt.Storage");
    return NULL;
  }
  Storage *self = (Storage *)object;
  if (self->rule.rank == rank) return self;
  refuse("the storage has %d axes, the tensor %d", self->rule.rank, rank);
  return NULL;
}

llrt_status storage_tensor_bytes(Storage *storage, const llrt_tensor *tensor, size_t *bytes) {
  size_t extents = sizeof *tensor->shape * (size_t)tensor->rank;
  if (storage->known_dtype != tensor->dtype ||
      memcmp(storage->known_shape, tensor->shape, extents) != 0) {
    storage->known_dtype = LLRT_DTYPE_NONE;
    llrt_status status = llrt_tensor_bytes(tensor, &storage->known_bytes);
    if (status) return status;
    memcpy(storage->known_shape, tensor->shape, extents);
    if (storage->fixed) storage->known_dtype = tensor->dtype;
  }
  *bytes = storage->known_bytes;
  return LLRT_OK;
}

/* ---- its methods ---- */

static PyObject *print_storage(const llrt_storage *rule_of) {
  size_t length;
  llrt_status status = llrt_storage_print(rule_of, NULL, 0, &length);
  char *text = status ? NULL : PyMem_Malloc(length + 1);
  if (text) status = llrt_storage_print(rule_of, text, length + 1, &length);
  PyObject *made = status ? raise_status(status)
                   : text ? PyUnicode_FromStringAndSize(text, (Py_ssize_t)length)
                          : PyErr_NoMemory();
  PyMem_Free(text);
  return made;
}

static PyObject *storage_str(PyObject *object) { return print_storage(&((Storage *)object)->rule); }

static PyObject *get_text(PyObject *object, void *unused) {
  (void)unused;
  Storage *self = (Storage *)object;
  if (!self->text) return print_storage(&self->rule);
  Py_INCREF(self->text);
  return self->text;
}

static PyObject *get_rank(PyObject *object, void *unused) {
  (void)unused;
  return PyLong_FromLong(((Storage *)object)->rule.rank);
}

static PyObject *get_shape(PyObject *object, void *unused) {
  (void)unused;
  Storage *self = (Storage *)object;
  if (!self->has_shape) Py_RETURN_NONE;
  return shape_tuple(self->rank, self->shape);
}

static int bind(Storage *self, llrt_storage_binding *binding) {
  if (!self->has_shape) return refuse("the storage has no shape: llrt.storage(text, shape=...)");
  llrt_status status = llrt_storage_bind(&self->rule, self->rank, self->shape, NULL, binding);
  if (!status) return 0;
  raise_status(status);
  return -1;
}

static PyObject *get_span(PyObject *object, void *unused) {
  (void)unused;
  llrt_storage_binding binding;
  return bind((Storage *)object, &binding) < 0 ? NULL : PyLong_FromLongLong(binding.span);
}

static PyObject *storage_offset(PyObject *object, PyObject *args) {
  Storage *self = (Storage *)object;
  llrt_storage_binding binding;
  int64_t at[LLRT_MAX_RANK];
  int n;
  if (bind(self, &binding) < 0 || take_numbers(args, "a coordinate", LLRT_MAX_RANK, &n, at) < 0)
    return NULL;
  if (n != self->rank) return refuse("%d coordinates for %d axes", n, self->rank), NULL;
  for (int i = 0; i < n; i++) {
    if (at[i] < 0) at[i] += self->shape[i];
    if (at[i] < 0 || at[i] >= self->shape[i]) {
      PyErr_Format(PyExc_IndexError, "coordinate %d is not in [0, %lld)", i,
                   (long long)self->shape[i]);
      return NULL;
    }
  }
  return PyLong_FromLongLong(llrt_storage_offset(&self->rule, &binding, at));
}

static PyObject *storage_bytes(PyObject *object, PyObject *dtype_object) {
  llrt_dtype dtype;
  llrt_storage_binding binding;
  int64_t bytes;
  if (take_dtype(dtype_object, &dtype) < 0 || bind((Storage *)object, &binding) < 0) return NULL;
  llrt_status status = llrt_storage_bytes(&binding, llrt_dtype_bits(dtype), &bytes);
  return status ? raise_status(status) : PyLong_FromLongLong(bytes);
}

static PyObject *storage_compare(PyObject *a, PyObject *b, int op) {
  if (Py_TYPE(b) != StorageType || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  bool equal = llrt_storage_equal(&((Storage *)a)->rule, &((Storage *)b)->rule);
  return PyBool_FromLong(equal == (op == Py_EQ));
}

static Py_hash_t storage_hash(PyObject *object) {
  Py_hash_t hash = (Py_hash_t)llrt_storage_hash(&((Storage *)object)->rule).low;
  return hash == -1 ? -2 : hash;
}

/* storage.on(shape): the same rule with a shape. */
static PyObject *storage_on(PyObject *object, PyObject *shape_object) {
  Storage *self = (Storage *)object;
  int64_t shape[LLRT_MAX_RANK];
  int n;
  if (take_numbers(shape_object, "shape", LLRT_MAX_RANK, &n, shape) < 0) return NULL;
  if (n != self->rule.rank)
    return refuse("the storage has %d axes, the shape %d", self->rule.rank, n), NULL;
  Storage *made = storage_new(&self->rule, self->text, n, shape);
  llrt_storage_binding binding;
  if (made && bind(made, &binding) < 0) Py_CLEAR(made);
  return (PyObject *)made;
}

/* The axes from the fastest to the slowest of a storage that is_strided and packed. */
static PyObject *packed_order(const Storage *self) {
  int64_t order[LLRT_MAX_RANK];
  for (int i = 0; i < self->rule.n_digits; i++) order[i] = self->rule.digit[i].axis;
  return shape_tuple(self->rule.rank, order);
}

/* _units(): (units, copies, order) of a rule whose span is copies times the product of the extents
 * rounded up to the units; order: the axes from the fastest on where the strides say it all, else
 * None. None for all other rules. */
static PyObject *storage_units(PyObject *object, PyObject *unused) {
  (void)unused;
  Storage *self = (Storage *)object;
  const llrt_storage *s = &self->rule;
  int64_t unit[LLRT_MAX_RANK],
      copies = 1ll << (llrt_layout_in_bits(&s->tile) - llrt_layout_rank(&s->tile));
  bool open[LLRT_MAX_RANK] = {false};
  for (int a = 0; a < s->rank; a++) {
    char name[8] = {'d', 'i', 'm', (char)('0' + a), 0};
    int at = llrt_layout_out_index(&s->tile, name);
    unit[a] = at < 0 ? 1 : 1ll << s->tile.out[at].bits;
  }
  if (s->swizzle.swizzle_len || s->n_targets || s->offset[0]) Py_RETURN_NONE;
  for (int i = 0; i < s->n_digits; i++) {
    const llrt_digit *d = &s->digit[i];
    if (d->stride != LLRT_STRIDE_PACKED) Py_RETURN_NONE;
    if (d->axis < 0) copies *= d->extent;
    else if (d->extent == LLRT_EXTENT_REST) open[d->axis] = true;
    else unit[d->axis] *= d->extent;
  }
  for (int a = 0; a < s->rank; a++)
    if (!open[a]) Py_RETURN_NONE;
  PyObject *units = shape_tuple(s->rank, unit),
           *order = self->strided ? packed_order(self) : Py_None;
  if (!self->strided) Py_INCREF(order);
  return Py_BuildValue("(NLN)", units, (long long)copies, order);
}

/* _strides(): the strides on the storage's shape where they say it all, else None. */
static PyObject *storage_strides(PyObject *object, PyObject *unused) {
  (void)unused;
  Storage *self = (Storage *)object;
  llrt_storage_binding binding;
  int64_t strides[LLRT_MAX_RANK];
  if (bind(self, &binding) < 0) return NULL;
  if (!self->strided) Py_RETURN_NONE;
  for (int i = 0; i < self->rule.n_digits; i++)
    strides[self->rule.digit[i].axis] = binding.stride[i];
  return shape_tuple(self->rank, strides);
}

static PyGetSetDef storage_attributes[] = {
    {"text", get_text, NULL, "The text that it was parsed from, else its literal form.", NULL},
    {"rank", get_rank, NULL, "Axes.", NULL},
    {"shape", get_shape, NULL, "Positions along each axis, or None where it has no shape.", NULL},
    {"span", get_span, NULL,
     "Elements from place 0 to one past the last, pads and copies included. Needs a shape.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef storage_methods[] = {
    {"offset", storage_offset, METH_VARARGS,
     "offset(*coords)\n--\n\nThe place in memory, in elements, of the element at these coordinates "
     "(of its first copy).\n"
     "Needs a shape. Errors: IndexError.\n\n>>> llrt.storage('col_major', shape=(4, 8)).offset(1, "
     "2)\n9"},
    {"bytes", storage_bytes, METH_O,
     "bytes(dtype)\n--\n\nBytes of a tensor of this type and the storage's shape, pads "
     "included.\n\n"
     ">>> llrt.storage('marlin_w4', shape=(64, 64)).bytes('u4')\n2048"},
    {"on", storage_on, METH_O,
     "on(shape)\n--\n\nThe same rule with this shape. Errors: ValueError where it does not take "
     "the shape.\n\n"
     ">>> llrt.storage('row_major', shape=(2, 2)).on((4, 8)).span\n32"},
    {"_units", storage_units, METH_NOARGS, NULL},
    {"_strides", storage_strides, METH_NOARGS, NULL},
    {"to_layout", storage_to_layout, METH_NOARGS,
     "to_layout()\n--\n\nThe storage on its shape as a map over F2 from places to elements "
     "(llrt.Layout).\n"
     "Errors: Unsupported where it is not linear.\n\n"
     ">>> llrt.storage('row_major', shape=(2, 2)).to_layout()\n"
     "llrt.layout('{m: [[0,1],[1,0]]} -> [dim0:2, dim1:2]')"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot storage_slots[] = {{Py_tp_doc,
                                       "The rule by which a tensor lies in memory (llrt.storage). "
                                       "Immutable, hashable; equal where it places every\n"
                                       "tensor alike."},
                                      {Py_tp_dealloc, storage_free},
                                      {Py_tp_str, storage_str},
                                      {Py_tp_richcompare, storage_compare},
                                      {Py_tp_hash, storage_hash},
                                      {Py_tp_methods, storage_methods},
                                      {Py_tp_getset, storage_attributes},
                                      {0, NULL}};

PyType_Spec storage_spec = {"llrt.Storage", sizeof(Storage), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, storage_slots};

/* storage(text, shape=None, rank=None) */
PyObject *module_storage(PyObject *module, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *names) {
  (void)module;
  static keyword words[] = {{"text", NULL}, {"shape", NULL}, {"rank", NULL}};
  static const signature what = {"storage", words, 3, 2, 1};
  PyObject *slots[3];
  int64_t shape[LLRT_MAX_RANK], rank = 0;
  int n = 0;
  if (take_arguments(&what, args, n_args, names, slots) < 0) return NULL;
  if (slots[1] && take_numbers(slots[1], "shape", LLRT_MAX_RANK, &n, shape) < 0) return NULL;
  if (take_int(slots[2], "rank", n, &rank) < 0) return NULL;
  if (rank < 0 || rank > LLRT_MAX_RANK || (slots[1] && rank != n))
    return refuse("rank is %lld, not 0 to %d or the axes of shape", (long long)rank, LLRT_MAX_RANK),
           NULL;
  const char *text = PyUnicode_Check(slots[0]) ? PyUnicode_AsUTF8AndSize(slots[0], NULL) : NULL;
  if (!text)
    return PyErr_Occurred() ? NULL : (PyErr_SetString(PyExc_TypeError, "text must be a str"), NULL);
  const llrt_named_storage *entry = named(text);
  if (!slots[1] && rank == 0 && entry)
    for (const char *c = entry->dims; *c; c++) rank += *c != ' ';
  llrt_storage made;
  llrt_status status = llrt_storage_parse(text, (int)rank, slots[1] ? shape : NULL, &made);
  if (status) return raise_status(status);
  llrt_storage_binding binding;
  if (slots[1] && made.rank == n && (status = llrt_storage_bind(&made, n, shape, NULL, &binding)))
    return raise_status(status);
  return (PyObject *)storage_new(&made, slots[0], made.rank,
                                 slots[1] && made.rank == n ? shape : NULL);
}
