/* llrt._llrt: functions, types, devices, the cache. */
#include "functions.h"

#include "documents.h"

hooks py_hooks;

/* _set_hooks(errors, dtype, empty, stream, producer_stream, jit_library, remedy) */
static PyObject *module_set_hooks(PyObject *module, PyObject *args) {
  (void)module;
  hooks h;
  if (!PyArg_ParseTuple(args, "OOOOOOO", &h.errors, &h.dtype, &h.empty, &h.stream,
                        &h.producer_stream, &h.jit_library, &h.remedy))
    return NULL;
  PyObject *all[] = {h.errors,          h.dtype,       h.empty, h.stream,
                     h.producer_stream, h.jit_library, h.remedy};
  for (int i = 0; i < 7; i++) Py_INCREF(all[i]);
  py_hooks = h;
  Py_RETURN_NONE;
}

/* _with_intent(function, args, keywords, target or None, emit): what prepare and explain do. */
static PyObject *module_with_intent(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *function, *given, *names, *target;
  int emit;
  if (!PyArg_ParseTuple(args, "OO!O!Oi", &function, &PyTuple_Type, &given, &PyDict_Type, &names,
                        &target, &emit))
    return NULL;
  intent now = {target == Py_None ? NULL : target, (llrt_emit)emit};
  const intent *before = current_intent;
  current_intent = &now;
  PyObject *made = PyObject_Call(function, given, names);
  current_intent = before;
  return made;
}

/* ---- devices ---- */

static void add_device(void *user, const char *name, const char *why) {
  PyObject *list = user, *one = Py_BuildValue("(sz)", name, why);
  if (one) PyList_Append(list, one);
  Py_XDECREF(one);
}

static PyObject *module_devices(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  llrt_context *context = context_of(false);
  PyObject *list = context ? PyList_New(0) : NULL;
  llrt_status status = list ? llrt_device_enumerate(context, list, add_device) : LLRT_OK;
  if (status) raise_status(status);
  if (PyErr_Occurred()) Py_CLEAR(list);
  return list;
}

static PyObject *module_device_info(PyObject *module, PyObject *args) {
  (void)module;
  int type, number;
  if (!PyArg_ParseTuple(args, "ii", &type, &number)) return NULL;
  llrt_device *device = device_of((DLDevice){(DLDeviceType)type, number}, false);
  llrt_device_info info = {0};
  if (!device) return NULL;
  llrt_status status = llrt_device_get_info(device, &info);
  if (status) return raise_status(status);
  return Py_BuildValue("{s:s,s:s,s:s,s:i,s:n,s:n}", "name", info.name, "description",
                       info.description, "target", info.target, "compute_units",
                       (int)info.compute_units, "memory_bytes", (Py_ssize_t)info.memory_bytes,
                       "l2_bytes", (Py_ssize_t)info.l2_bytes);
}

/* ---- memory of a device, for tests and for who has no framework ---- */

static PyObject *module_allocate(PyObject *module, PyObject *args) {
  (void)module;
  int type, number;
  Py_ssize_t bytes;
  void *memory = NULL;
  if (!PyArg_ParseTuple(args, "iin", &type, &number, &bytes)) return NULL;
  llrt_device *device = device_of((DLDevice){(DLDeviceType)type, number}, false);
  if (!device) return NULL;
  llrt_status status = llrt_memory_allocate(device, (size_t)bytes, &memory);
  return status ? raise_status(status) : PyLong_FromVoidPtr(memory);
}

static PyObject *module_free(PyObject *module, PyObject *args) {
  (void)module;
  int type, number;
  PyObject *address;
  if (!PyArg_ParseTuple(args, "iiO", &type, &number, &address)) return NULL;
  llrt_device *device = device_of((DLDevice){(DLDeviceType)type, number}, false);
  void *memory = PyLong_AsVoidPtr(address);
  if (!device || PyErr_Occurred()) return NULL;
  llrt_status status = llrt_memory_free(device, memory);
  if (status) return raise_status(status);
  Py_RETURN_NONE;
}

/* _copy(type, number, to, from, bytes, kind): waits. */
static PyObject *module_copy(PyObject *module, PyObject *args) {
  (void)module;
  int type, number, kind;
  PyObject *to, *from;
  Py_ssize_t bytes;
  if (!PyArg_ParseTuple(args, "iiOOni", &type, &number, &to, &from, &bytes, &kind)) return NULL;
  llrt_device *device = device_of((DLDevice){(DLDeviceType)type, number}, false);
  void *destination = PyLong_AsVoidPtr(to), *source = PyLong_AsVoidPtr(from);
  if (!device || PyErr_Occurred()) return NULL;
  llrt_status status =
      llrt_memory_copy(device, destination, source, (size_t)bytes, (llrt_copy_kind)kind, NULL);
  if (!status) status = llrt_stream_synchronize(device, NULL);
  if (status) return raise_status(status);
  Py_RETURN_NONE;
}

static PyObject *module_synchronize(PyObject *module, PyObject *args) {
  (void)module;
  int type, number;
  PyObject *stream;
  if (!PyArg_ParseTuple(args, "iiO", &type, &number, &stream)) return NULL;
  llrt_device *device = device_of((DLDevice){(DLDeviceType)type, number}, false);
  void *where = PyLong_AsVoidPtr(stream);
  if (!device || PyErr_Occurred()) return NULL;
  call_state state;
  call_begin(&state, true);
  llrt_status status = llrt_stream_synchronize(device, where);
  call_end(&state);
  if (status) return raise_status(status);
  Py_RETURN_NONE;
}

/* ---- the cache: of both contexts ---- */

static PyObject *module_cache_stats(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  unsigned long long sums[3] = {0};
  for (int i = 0; i < 2; i++) {
    llrt_context *context = context_of(i);
    llrt_cache_stats stats = {0};
    if (!context) return NULL;
    llrt_status status = llrt_context_get_cache_stats(context, &stats);
    if (status) return raise_status(status);
    sums[0] += stats.kernels, sums[1] += stats.compiles, sums[2] += stats.hits;
  }
  return Py_BuildValue("{s:K,s:K,s:K}", "kernels", sums[0], "compiles", sums[1], "hits", sums[2]);
}

static PyObject *module_cache_policy(PyObject *module, PyObject *args) {
  (void)module;
  int policy;
  if (!PyArg_ParseTuple(args, "i", &policy)) return NULL;
  for (int i = 0; i < 2; i++) {
    llrt_context *context = context_of(i);
    llrt_status status =
        context ? llrt_context_set_compile(context, (llrt_compile_policy)policy) : LLRT_OK;
    if (status) raise_status(status);
    if (!context || status) return NULL;
  }
  Py_RETURN_NONE;
}

static PyObject *module_cache_trim(PyObject *module, PyObject *args) {
  (void)module;
  Py_ssize_t keep;
  if (!PyArg_ParseTuple(args, "n", &keep)) return NULL;
  for (int i = 0; i < 2; i++) {
    llrt_context *context = context_of(i);
    if (!context) return NULL;
    call_state state;
    call_begin(&state, true);
    llrt_status status = llrt_context_trim(context, (size_t)keep);
    call_end(&state);
    if (status) return raise_status(status);
  }
  Py_RETURN_NONE;
}

static PyObject *module_forget_texts(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  texts_forget();
  Py_RETURN_NONE;
}

/* Nothing, for who measures what a call costs before it does anything. */
static PyObject *module_nothing(PyObject *module, PyObject *const *args, Py_ssize_t n,
                                PyObject *names) {
  (void)module, (void)args, (void)n, (void)names;
  Py_RETURN_NONE;
}

static PyObject *module_storage_names(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *list = PyList_New(0);
  for (int i = 0; i < llrt_storage_named_count() && list; i++) {
    const llrt_named_storage *entry = llrt_storage_named_at(i);
    PyObject *one = Py_BuildValue("(ssss)", entry->name, entry->dims, entry->widths, entry->source);
    if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
    Py_XDECREF(one);
  }
  return list;
}

#define FAST(name, function, document) \
  {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS, document}

static PyMethodDef functions[] = {
    FAST("view", module_view, document_view),
    FAST("convert", module_convert, document_convert),
    FAST("convert_", module_convert_in_place, document_convert_in_place),
    FAST("gather", module_gather, document_gather),
    FAST("scatter", module_scatter, document_scatter),
    FAST("storage", module_storage, document_storage),
    FAST("layout", module_layout, document_layout),
    FAST("reduce", module_reduce, NULL),
    FAST("scan", module_scan, NULL),
    FAST("compute", module_compute, document_compute),
    FAST("dot", module_dot, NULL),
    FAST("dot_packing", module_dot_pack, NULL),
    FAST("_nothing", module_nothing, NULL),
    {"_set_hooks", module_set_hooks, METH_VARARGS, NULL},
    {"_with_intent", module_with_intent, METH_VARARGS, NULL},
    {"_convert_in_c", module_convert_in_c, METH_VARARGS, NULL},
    {"_op_in_c", module_op_in_c, METH_VARARGS, NULL},
    {"_load", module_load, METH_VARARGS, NULL},
    {"_repack_bind", module_repack_bind, METH_VARARGS, NULL},
    {"_repack_describe", module_repack_describe, METH_O, NULL},
    {"_repack_text", module_repack_text, METH_O, NULL},
    {"_repack_run", module_repack_run, METH_VARARGS, NULL},
    {"_recipes", module_recipes, METH_NOARGS, NULL},
    {"_shared_create", module_shared_create, METH_VARARGS, NULL},
    {"_shared_export", module_shared_export, METH_O, NULL},
    {"_memory_export", module_memory_export, METH_VARARGS, NULL},
    {"_shared_import", module_shared_import, METH_VARARGS, NULL},
    {"_sharding_read", module_sharding_read, METH_VARARGS, NULL},
    {"_sharding_part", module_sharding_part, METH_VARARGS, NULL},
    {"_sharding_placed", module_sharding_placed, METH_VARARGS, NULL},
    {"_comm_signal_bytes", module_comm_signal_bytes, METH_VARARGS, NULL},
    {"_comm_create", module_comm_create, METH_VARARGS, NULL},
    {"_comm_status", module_comm_status, METH_VARARGS, NULL},
    {"_reshard_prepare", module_reshard_prepare, METH_VARARGS, NULL},
    {"_reshard_run", module_reshard_run, METH_VARARGS, NULL},
    {"_reshard_explain", module_reshard_explain, METH_VARARGS, NULL},
    {"_name_device", module_name_device, METH_VARARGS, NULL},
    {"_devices", module_devices, METH_NOARGS, NULL},
    {"_device_info", module_device_info, METH_VARARGS, NULL},
    {"_allocate", module_allocate, METH_VARARGS, NULL},
    {"_free", module_free, METH_VARARGS, NULL},
    {"_copy", module_copy, METH_VARARGS, NULL},
    {"_synchronize", module_synchronize, METH_VARARGS, NULL},
    {"_cache_stats", module_cache_stats, METH_NOARGS, NULL},
    {"_cache_policy", module_cache_policy, METH_VARARGS, NULL},
    {"_cache_trim", module_cache_trim, METH_VARARGS, NULL},
    {"_forget_texts", module_forget_texts, METH_NOARGS, NULL},
    {"_storage_names", module_storage_names, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static int add_type(PyObject *module, PyType_Spec *spec, const char *name, PyTypeObject **out) {
  *out = (PyTypeObject *)PyType_FromSpec(spec);
  if (!*out) return -1;
  Py_INCREF(*out); /* ours */
  return PyModule_AddObject(module, name, (PyObject *)*out);
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "llrt._llrt", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__llrt(void);

PyMODINIT_FUNC PyInit__llrt(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (add_type(module, &storage_spec, "Storage", &StorageType) == 0 &&
      add_type(module, &layout_spec, "Layout", &LayoutType) == 0 &&
      add_type(module, &view_spec, "View", &ViewType) == 0 &&
      add_type(module, &op_spec, "Op", &OpType) == 0 &&
      PyModule_AddStringConstant(module, "version", llrt_version()) == 0)
    return module;
  Py_DECREF(module);
  return NULL;
}
