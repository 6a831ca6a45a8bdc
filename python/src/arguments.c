/* Arguments of the module's functions. */
#include "module.h"

static int find_word(const signature *what, PyObject *name) {
  for (int i = 0; i < what->n_words; i++)
    if (what->words[i].interned == name) return i;
  for (int i = 0; i < what->n_words; i++)
    if (PyUnicode_Compare(name, what->words[i].interned) == 0) return i;
  return -1;
}

static int intern_words(const signature *what) {
  if (what->words[what->n_words - 1].interned) return 0;
  for (int i = 0; i < what->n_words; i++)
    if (!(what->words[i].interned = PyUnicode_InternFromString(what->words[i].name))) return -1;
  return 0;
}

/* An argument that is None counts as left out. */
static PyObject *given(PyObject *argument) { return argument == Py_None ? NULL : argument; }

static int take_named(const signature *what, PyObject *const *args, Py_ssize_t n_positional,
                      PyObject *names, PyObject **slots) {
  Py_ssize_t n = PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *name = PyTuple_GetItem(names, i);
    int word = find_word(what, name);
    if (word < 0) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", what->function,
                   name);
      return -1;
    }
    if (word < n_positional) {
      PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", what->function,
                   name);
      return -1;
    }
    slots[word] = given(args[i]);
  }
  return 0;
}

int take_arguments(const signature *what, PyObject *const *args, Py_ssize_t n, PyObject *names,
                   PyObject **slots) {
  if (intern_words(what) < 0) return -1;
  if (n > what->n_positional) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments (%zd given)",
                 what->function, what->n_positional, n);
    return -1;
  }
  memset(slots, 0, sizeof *slots * (size_t)what->n_words);
  for (Py_ssize_t i = 0; i < n; i++) slots[i] = given(args[i]);
  if (names && take_named(what, args + n, n, names, slots) < 0) return -1;
  for (int i = 0; i < what->n_required; i++) {
    if (slots[i]) continue;
    PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", what->function,
                 what->words[i].name);
    return -1;
  }
  return 0;
}

int take_int(PyObject *object, const char *name, int64_t preset, int64_t *value) {
  *value = preset;
  if (!object || object == Py_None) return 0;
  PyObject *number = PyNumber_Index(object);
  if (!number) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s must be an integer", name);
    return -1;
  }
  *value = PyLong_AsLongLong(number);
  Py_DECREF(number);
  if (*value != -1 || !PyErr_Occurred()) return 0;
  PyErr_Clear();
  return refuse("%s is too large", name);
}

int take_bool(PyObject *object, bool *value) {
  int truth = object ? PyObject_IsTrue(object) : 0;
  *value = truth > 0;
  return truth < 0 ? -1 : 0;
}

int take_numbers(PyObject *object, const char *name, int most, int *n, int64_t *values) {
  Py_ssize_t size = PyUnicode_Check(object) ? -1 : PySequence_Size(object);
  if (size < 0) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s must be a sequence of integers", name);
    return -1;
  }
  if (size > most) return refuse("%s has %zd entries, the most is %d", name, size, most);
  for (Py_ssize_t i = 0; i < size; i++) {
    PyObject *item = PySequence_GetItem(object, i);
    if (!item) return -1;
    int failed = take_int(item, name, 0, &values[i]);
    Py_DECREF(item);
    if (failed) return -1;
  }
  *n = (int)size;
  return 0;
}

static int count_axis(int64_t value, int rank, int32_t *axis) {
  int64_t counted = value < 0 ? value + rank : value;
  if (counted < 0 || counted >= rank)
    return refuse("axis %lld is none of %d", (long long)value, rank);
  *axis = (int32_t)counted;
  return 0;
}

int take_axis(PyObject *object, int rank, int32_t *axis) {
  int64_t value;
  return take_int(object, "axis", 0, &value) < 0 ? -1 : count_axis(value, rank, axis);
}

int take_axes(PyObject *object, int rank, uint32_t *axes) {
  *axes = 0;
  if (!object) return 0;
  int64_t values[LLRT_MAX_RANK];
  int n = 1;
  int failed = PyLong_Check(object) ? take_int(object, "axis", 0, values)
                                    : take_numbers(object, "axis", LLRT_MAX_RANK, &n, values);
  for (int i = 0; i < n && !failed; i++) {
    int32_t axis = 0;
    failed = count_axis(values[i], rank, &axis);
    if (!failed && *axes >> axis & 1) failed = refuse("axis %d stands twice", axis);
    if (!failed) *axes |= 1u << axis;
  }
  return failed;
}

/* {object: number of the dtype}, of everything that was asked for. */
static PyObject *known_dtypes;

static int ask_dtype(PyObject *object, llrt_dtype *dtype) {
  PyObject *name = PyObject_CallFunctionObjArgs(py_hooks.dtype, object, NULL);
  if (!name) return -1;
  const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
  llrt_status status = text ? llrt_dtype_parse(text, dtype) : LLRT_INVALID_ARGUMENT;
  Py_DECREF(name);
  if (text && status) raise_status(status);
  if (!text || status) return -1;
  PyObject *number = PyLong_FromLong(*dtype);
  if (!number || PyDict_SetItem(known_dtypes, object, number) < 0)
    PyErr_Clear(); /* not hashable: asked again */
  Py_XDECREF(number);
  return 0;
}

int take_dtype(PyObject *object, llrt_dtype *dtype) {
  *dtype = LLRT_DTYPE_NONE;
  if (!object) return 0;
  if (!known_dtypes && !(known_dtypes = PyDict_New())) return -1;
  PyObject *number = PyDict_GetItemWithError(known_dtypes, object);
  if (!number && PyErr_Occurred()) PyErr_Clear();
  if (!number) return ask_dtype(object, dtype);
  *dtype = (llrt_dtype)PyLong_AsLong(number);
  return 0;
}

PyObject *shape_tuple(int rank, const int64_t *shape) {
  PyObject *tuple = PyTuple_New(rank);
  for (int i = 0; i < rank && tuple; i++) {
    PyObject *number = PyLong_FromLongLong(shape[i]);
    if (number && PyTuple_SetItem(tuple, i, number) == 0) continue;
    Py_CLEAR(tuple);
  }
  return tuple;
}
