/* Re-shards: memory that processes share, communicators and prepared re-shards as capsules, of
 * which llrt/_reshard.py makes llrt.reshard. Addresses and streams are numbers. */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>

#define SHARED_NAME "llrt_shared"
#define COMM_NAME "llrt_comm"
#define RESHARD_NAME "llrt_reshard"

enum { TEXT_BYTES = 8192 };

static llrt_device *device_at(int type, int number) {
  return device_of((DLDevice){(DLDeviceType)type, number}, false);
}

/* ---- memory that processes share ---- */

static void drop_shared(PyObject *capsule) {
  llrt_shared *shared = PyCapsule_GetPointer(capsule, SHARED_NAME);
  llrt_shared_destroy(&shared);
}

/* (capsule, address, bytes) */
static PyObject *shared_of(llrt_shared *shared) {
  void *memory;
  size_t bytes;
  llrt_shared_get(shared, &memory, &bytes);
  PyObject *capsule = PyCapsule_New(shared, SHARED_NAME, drop_shared);
  if (!capsule) return llrt_shared_destroy(&shared), NULL;
  return Py_BuildValue("(NNn)", capsule, PyLong_FromVoidPtr(memory), (Py_ssize_t)bytes);
}

/* _shared_create(device type, number, bytes) */
PyObject *module_shared_create(PyObject *module, PyObject *args) {
  (void)module;
  int type, number;
  Py_ssize_t bytes;
  llrt_shared *shared;
  if (!PyArg_ParseTuple(args, "iin", &type, &number, &bytes)) return NULL;
  llrt_device *device = device_at(type, number);
  if (!device) return NULL;
  llrt_status status = llrt_memory_create_shared(device, (size_t)bytes, &shared);
  return status ? raise_status(status) : shared_of(shared);
}

/* _shared_export(capsule): (handle, descriptor) */
PyObject *module_shared_export(PyObject *module, PyObject *capsule) {
  (void)module;
  const llrt_shared *shared = PyCapsule_GetPointer(capsule, SHARED_NAME);
  llrt_memory_handle handle;
  int fd;
  if (!shared) return NULL;
  llrt_status status = llrt_shared_export(shared, &handle, &fd);
  if (status) return raise_status(status);
  return Py_BuildValue("(y#i)", (const char *)&handle, (Py_ssize_t)sizeof handle, fd);
}

/* _memory_export(device type, number, address, bytes): handle */
PyObject *module_memory_export(PyObject *module, PyObject *args) {
  (void)module;
  int type, number;
  unsigned long long address;
  Py_ssize_t bytes;
  llrt_memory_handle handle;
  if (!PyArg_ParseTuple(args, "iiKn", &type, &number, &address, &bytes)) return NULL;
  llrt_device *device = device_at(type, number);
  if (!device) return NULL;
  llrt_status status =
      llrt_memory_export(device, (const void *)(uintptr_t)address, (size_t)bytes, &handle);
  if (status) return raise_status(status);
  return PyBytes_FromStringAndSize((const char *)&handle, sizeof handle);
}

/* _shared_import(device type, number, handle, descriptor or -1) */
PyObject *module_shared_import(PyObject *module, PyObject *args) {
  (void)module;
  int type, number, fd;
  const char *bytes;
  Py_ssize_t size;
  llrt_memory_handle handle;
  llrt_shared *shared;
  if (!PyArg_ParseTuple(args, "iiy#i", &type, &number, &bytes, &size, &fd)) return NULL;
  if (size != (Py_ssize_t)sizeof handle) return refuse("a handle of %zd bytes", size), NULL;
  memcpy(&handle, bytes, sizeof handle);
  llrt_device *device = device_at(type, number);
  if (!device) return NULL;
  llrt_status status = llrt_memory_import(device, &handle, fd, &shared);
  return status ? raise_status(status) : shared_of(shared);
}

/* ---- shardings ---- */

static int take_shape(PyObject *object, int *rank, int64_t *shape) {
  memset(shape, 0, LLRT_MAX_RANK * sizeof *shape);
  return take_numbers(object, "shape", LLRT_MAX_RANK, rank, shape);
}

static int parse(const char *text, int rank, const int64_t *shape, llrt_sharding *sharding) {
  llrt_status status = llrt_sharding_parse(text, NULL, rank, shape, sharding);
  return status ? (raise_status(status), -1) : 0;
}

/* _sharding_read(text, rank): (first, sizes, splits as (mesh axis, axis), partial bits) */
PyObject *module_sharding_read(PyObject *module, PyObject *args) {
  (void)module;
  const char *text;
  int rank;
  llrt_sharding s;
  if (!PyArg_ParseTuple(args, "si", &text, &rank) || parse(text, rank, NULL, &s) < 0) return NULL;
  PyObject *splits = PyList_New(s.n_splits), *sizes = shape_tuple(s.mesh.n_axes, s.mesh.size);
  for (int i = 0; i < s.n_splits && splits; i++) {
    PyObject *one = Py_BuildValue("(ii)", (int)s.split[i].mesh_axis, (int)s.split[i].axis);
    if (one) PyList_SetItem(splits, i, one);
    else Py_CLEAR(splits);
  }
  if (splits && sizes)
    return Py_BuildValue("(iNNK)", (int)s.mesh.first, sizes, splits, (unsigned long long)s.partial);
  Py_XDECREF(splits);
  Py_XDECREF(sizes);
  return NULL;
}

/* _sharding_part(text, shape, device, dtype): (begin, extents, strides in elements or None, bytes),
 * None for a device that has none. */
PyObject *module_sharding_part(PyObject *module, PyObject *args) {
  (void)module;
  const char *text, *name;
  PyObject *object;
  int rank, number;
  int64_t shape[LLRT_MAX_RANK], bytes, strides[LLRT_MAX_RANK] = {0};
  llrt_sharding s;
  llrt_dtype dtype;
  llrt_part part;
  llrt_storage_binding binding;
  if (!PyArg_ParseTuple(args, "sOis", &text, &object, &number, &name) ||
      take_shape(object, &rank, shape) < 0 || parse(text, rank, shape, &s) < 0)
    return NULL;
  if (number < s.mesh.first || number >= s.mesh.first + llrt_mesh_devices(&s.mesh)) Py_RETURN_NONE;
  llrt_status status = llrt_dtype_parse(name, &dtype);
  if (!status) status = llrt_sharding_part(&s, shape, number, &part);
  if (!status) status = llrt_storage_bind(&s.storage, rank, part.extent, NULL, &binding);
  if (!status) status = llrt_storage_bytes(&binding, llrt_dtype_bits(dtype), &bytes);
  if (status) return raise_status(status);
  bool plain = s.storage.n_digits == rank && s.storage.tile.n_in == 0 && s.storage.offset[0] == 0 &&
               s.storage.swizzle.swizzle_len == 0;
  for (int i = 0; i < s.storage.n_digits && plain; i++) {
    plain = s.storage.digit[i].axis >= 0 && !s.storage.digit[i].reversed;
    if (plain) strides[s.storage.digit[i].axis] = binding.stride[i];
  }
  PyObject *steps = plain ? shape_tuple(rank, strides) : Py_BuildValue("");
  return Py_BuildValue("(NNNL)", shape_tuple(rank, part.begin), shape_tuple(rank, part.extent),
                       steps, (long long)bytes);
}

/* _sharding_placed(mesh text, [(kind, axis, split factor)], rank): the text of DTensor's
 * placements, in rows. */
PyObject *module_sharding_placed(PyObject *module, PyObject *args) {
  (void)module;
  const char *text;
  PyObject *list;
  int rank;
  char printed[TEXT_BYTES];
  size_t length;
  llrt_mesh mesh;
  llrt_placement placements[LLRT_MAX_MESH_AXES] = {{0}};
  llrt_storage rows;
  llrt_sharding s;
  if (!PyArg_ParseTuple(args, "sO!i", &text, &PyList_Type, &list, &rank)) return NULL;
  llrt_status status = llrt_mesh_parse(text, &mesh);
  if (status) return raise_status(status);
  if (PyList_Size(list) != mesh.n_axes)
    return refuse("%zd placements of a mesh of %d axes", PyList_Size(list), mesh.n_axes), NULL;
  for (int i = 0; i < mesh.n_axes; i++) {
    long long factor;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "iiL", &placements[i].kind, &placements[i].axis,
                          &factor))
      return NULL;
    placements[i].split_factor = factor;
  }
  status = llrt_storage_row_major(rank, &rows);
  if (!status) status = llrt_sharding_from_placements(&mesh, placements, &rows, &s);
  if (!status) status = llrt_sharding_print(&s, printed, sizeof printed, &length);
  return status ? raise_status(status) : PyUnicode_FromString(printed);
}

/* ---- communicators ---- */

static void drop_comm(PyObject *capsule) {
  llrt_comm *comm = PyCapsule_GetPointer(capsule, COMM_NAME);
  llrt_comm_destroy(&comm);
}

PyObject *module_comm_signal_bytes(PyObject *module, PyObject *args) {
  (void)module;
  int ranks;
  size_t bytes;
  if (!PyArg_ParseTuple(args, "i", &ranks)) return NULL;
  llrt_status status = llrt_comm_signal_bytes(ranks, &bytes);
  return status ? raise_status(status) : PyLong_FromSize_t(bytes);
}

/* addresses[n] of a list of numbers; None is NULL. -1 with an exception. */
static int take_list(PyObject *list, int n, void **addresses) {
  if (PyList_Size(list) != n) return refuse("%zd addresses of %d ranks", PyList_Size(list), n);
  for (int i = 0; i < n; i++) {
    PyObject *one = PyList_GetItem(list, i);
    addresses[i] = one == Py_None ? NULL : PyLong_AsVoidPtr(one);
    if (PyErr_Occurred()) return -1;
  }
  return 0;
}

/* _comm_create(device type, number, rank, ranks, signals, time-out in ms) */
PyObject *module_comm_create(PyObject *module, PyObject *args) {
  (void)module;
  int type, number;
  long long timeout;
  PyObject *list;
  void *signals[LLRT_MAX_RANKS];
  llrt_comm *comm;
  llrt_comm_params params = {.size = sizeof params, .signals = signals};
  if (!PyArg_ParseTuple(args, "iiiiO!L", &type, &number, &params.rank, &params.ranks, &PyList_Type,
                        &list, &timeout))
    return NULL;
  if (params.ranks < 1 || params.ranks > LLRT_MAX_RANKS)
    return refuse("%d ranks, not 1 to %d", params.ranks, LLRT_MAX_RANKS), NULL;
  llrt_device *device = device_at(type, number);
  if (!device || take_list(list, params.ranks, signals) < 0) return NULL;
  params.timeout_ms = timeout;
  llrt_status status = llrt_comm_create(device, &params, &comm);
  return status ? raise_status(status) : PyCapsule_New(comm, COMM_NAME, drop_comm);
}

/* _comm_status(comm, stream): waits; raises what went wrong. */
PyObject *module_comm_status(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *capsule;
  unsigned long long stream;
  call_state state;
  if (!PyArg_ParseTuple(args, "OK", &capsule, &stream)) return NULL;
  const llrt_comm *comm = PyCapsule_GetPointer(capsule, COMM_NAME);
  if (!comm) return NULL;
  call_begin(&state, true);
  llrt_status status = llrt_comm_status(comm, (void *)(uintptr_t)stream);
  call_end(&state);
  if (status) return raise_status(status);
  Py_RETURN_NONE;
}

/* ---- re-shards ---- */

/* The capsule keeps its communicator's. */
static void drop_reshard(PyObject *capsule) {
  llrt_reshard *reshard = PyCapsule_GetPointer(capsule, RESHARD_NAME);
  PyObject *comm = PyCapsule_GetContext(capsule);
  llrt_reshard_destroy(&reshard);
  Py_XDECREF(comm);
}

/* _reshard_prepare(comm, source, destination, shape, dtype, destination's dtype, stream) */
PyObject *module_reshard_prepare(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *capsule, *object, *made;
  const char *text[2], *name[2];
  unsigned long long stream;
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  llrt_sharding side[2];
  llrt_reshard *reshard = NULL;
  llrt_reshard_desc desc = {
      .size = sizeof desc, .source = &side[0], .destination = &side[1], .shape = shape};
  desc.access = LLRT_RESHARD_WRITE; /* sources are the caller's, whom no other process sees */
  if (!PyArg_ParseTuple(args, "OssOssK", &capsule, &text[0], &text[1], &object, &name[0], &name[1],
                        &stream) ||
      take_shape(object, &rank, shape) < 0 || parse(text[0], rank, shape, &side[0]) < 0 ||
      parse(text[1], rank, shape, &side[1]) < 0)
    return NULL;
  llrt_comm *comm = PyCapsule_GetPointer(capsule, COMM_NAME);
  if (!comm) return NULL;
  call_state state;
  call_begin(&state, true);
  llrt_status status = llrt_dtype_parse(name[0], &desc.source_dtype);
  if (!status) status = llrt_dtype_parse(name[1], &desc.destination_dtype);
  if (!status) status = llrt_reshard_prepare(comm, &desc, (void *)(uintptr_t)stream, &reshard);
  call_end(&state);
  if (status) return raise_status(status);
  made = PyCapsule_New(reshard, RESHARD_NAME, drop_reshard);
  if (!made) return llrt_reshard_destroy(&reshard), NULL;
  Py_INCREF(capsule);
  PyCapsule_SetContext(made, capsule);
  return made;
}

/* _reshard_run(reshard, sources, destinations, stream) */
PyObject *module_reshard_run(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *capsule, *list[2];
  unsigned long long stream;
  void *bases[2][LLRT_MAX_RANKS];
  call_state state;
  if (!PyArg_ParseTuple(args, "OO!O!K", &capsule, &PyList_Type, &list[0], &PyList_Type, &list[1],
                        &stream))
    return NULL;
  const llrt_reshard *reshard = PyCapsule_GetPointer(capsule, RESHARD_NAME);
  Py_ssize_t n = PyList_Size(list[0]);
  if (!reshard) return NULL;
  if (n > LLRT_MAX_RANKS) return refuse("%zd addresses", n), NULL;
  for (int i = 0; i < 2; i++)
    if (take_list(list[i], (int)n, bases[i]) < 0) return NULL;
  call_begin(&state, true);
  llrt_status status = llrt_reshard_run(reshard, bases[0], bases[1], (void *)(uintptr_t)stream);
  call_end(&state);
  if (status) return raise_status(status);
  Py_RETURN_NONE;
}

/* _reshard_explain(source, destination, shape, dtype, destination's dtype): text */
PyObject *module_reshard_explain(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *object;
  const char *text[2], *name[2];
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  size_t length = 0;
  llrt_sharding side[2];
  llrt_reshard_desc desc = {
      .size = sizeof desc, .source = &side[0], .destination = &side[1], .shape = shape};
  desc.access = LLRT_RESHARD_WRITE;
  if (!PyArg_ParseTuple(args, "ssOss", &text[0], &text[1], &object, &name[0], &name[1]) ||
      take_shape(object, &rank, shape) < 0 || parse(text[0], rank, shape, &side[0]) < 0 ||
      parse(text[1], rank, shape, &side[1]) < 0)
    return NULL;
  llrt_status status = llrt_dtype_parse(name[0], &desc.source_dtype);
  if (!status) status = llrt_dtype_parse(name[1], &desc.destination_dtype);
  if (!status) status = llrt_reshard_explain(&desc, 0, 0, NULL, 0, &length);
  if (status) return raise_status(status);
  char *room = malloc(length + 1);
  if (!room) return PyErr_NoMemory();
  status = llrt_reshard_explain(&desc, 0, 0, room, length + 1, &length);
  PyObject *made =
      status ? raise_status(status) : PyUnicode_FromStringAndSize(room, (Py_ssize_t)length);
  free(room);
  return made;
}
