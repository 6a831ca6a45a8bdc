/* Recipes: a plan as a capsule, what it says, and its runs on tensors of any framework.
 * llrt/_repack.py makes llrt.repack of these. */
#include "module.h"

#include <stdlib.h>

#define PLAN_NAME "llrt_repack"

typedef struct planned {
  llrt_repack *plan;
  llrt_repack_info info;
  DLDevice where;
} planned;

static void drop_plan(PyObject *capsule) {
  planned *p = PyCapsule_GetPointer(capsule, PLAN_NAME);
  llrt_repack_destroy(&p->plan);
  free(p);
}

/* ---- binding ---- */

/* A recipe by its name, or by its text. */
static llrt_status load_recipe(const char *text, Py_ssize_t bytes, llrt_recipe **recipe) {
  Py_ssize_t at = 0;
  while (at < bytes && strchr(" \t\r\n", text[at])) at++;
  return at < bytes && text[at] == '{' ? llrt_recipe_load(text, (size_t)bytes, recipe)
                                       : llrt_recipe_load_named(text, recipe);
}

/* (name, dtype, shape) */
static int take_described(PyObject *object, llrt_named_tensor *tensor) {
  PyObject *shape;
  const char *dtype;
  int64_t extents[LLRT_MAX_RANK];
  int rank;
  if (!PyArg_ParseTuple(object, "ssO", &tensor->name, &dtype, &shape)) return -1;
  llrt_status status = llrt_dtype_parse(dtype, &tensor->dtype);
  if (status) return (void)raise_status(status), -1;
  if (take_numbers(shape, tensor->name, LLRT_MAX_RANK, &rank, extents) < 0) return -1;
  tensor->rank = rank;
  memcpy(tensor->shape, extents, (size_t)rank * sizeof *extents);
  return 0;
}

static int bind(llrt_device *device, const char *text, Py_ssize_t bytes,
                const llrt_named_tensor *tensors, int n, const llrt_recipe_params *params,
                planned *out) {
  llrt_recipe *recipe;
  call_state state;
  call_begin(&state, true);
  llrt_status status = load_recipe(text, bytes, &recipe);
  if (!status) status = llrt_recipe_bind(device, recipe, tensors, n, params, &out->plan);
  if (!status) status = llrt_repack_get_info(out->plan, &out->info);
  call_end(&state);
  llrt_recipe_destroy(&recipe);
  if (status) raise_status(status);
  return status ? -1 : 0;
}

/* _repack_bind(device type, number, recipe, tensors, config or None, tp, rank, inverse, in_place):
 * device type 0: a plan to look at. */
PyObject *module_repack_bind(PyObject *module, PyObject *args) {
  (void)module;
  int type, number, inverse, in_place;
  const char *text, *config;
  Py_ssize_t bytes, config_bytes = 0;
  PyObject *list;
  llrt_recipe_params params = {0};
  if (!PyArg_ParseTuple(args, "iis#O!z#iipp", &type, &number, &text, &bytes, &PyList_Type, &list,
                        &config, &config_bytes, &params.tp, &params.rank, &inverse, &in_place))
    return NULL;
  DLDevice where = {(DLDeviceType)type, number};
  llrt_device *device = type ? device_of(where, false) : NULL;
  int n = (int)PyList_Size(list);
  params.config = config;
  params.config_bytes = (size_t)config_bytes;
  params.inverse = inverse;
  params.in_place = in_place;
  if (type && !device) return NULL;
  llrt_named_tensor *tensors = calloc((size_t)n + 1, sizeof *tensors);
  planned *made = calloc(1, sizeof *made);
  int failed = !tensors || !made;
  if (failed) PyErr_NoMemory();
  for (int i = 0; i < n && !failed; i++)
    failed = take_described(PyList_GetItem(list, i), &tensors[i]);
  if (!failed) made->where = where;
  if (!failed) failed = bind(device, text, bytes, tensors, n, &params, made);
  free(tensors);
  PyObject *capsule = failed ? NULL : PyCapsule_New(made, PLAN_NAME, drop_plan);
  if (!capsule && made) {
    llrt_repack_destroy(&made->plan);
    free(made);
  }
  return capsule;
}

/* ---- what a plan says ---- */

static PyObject *describe_tensor(const llrt_repack_tensor *tensor) {
  PyObject *shape = shape_tuple(tensor->rank, tensor->shape);
  if (!shape) return NULL;
  return Py_BuildValue("(ssNnii)", tensor->name, llrt_dtype_name(tensor->dtype), shape,
                       (Py_ssize_t)tensor->bytes, tensor->step, tensor->place);
}

static PyObject *describe_step(const llrt_repack_step *step) {
  return Py_BuildValue("(iinKK)", step->row, step->launches, (Py_ssize_t)step->workspace,
                       (unsigned long long)step->bytes_read,
                       (unsigned long long)step->bytes_written);
}

/* A list of `n` things, each of which `describe` makes by its number. */
static PyObject *list_of(const llrt_repack *plan, int n,
                         PyObject *(*describe)(const llrt_repack *plan, int number)) {
  PyObject *list = PyList_New(n);
  for (int i = 0; i < n && list; i++) {
    PyObject *one = describe(plan, i);
    if (one) PyList_SetItem(list, i, one);
    else Py_CLEAR(list);
  }
  return list;
}

static PyObject *input_at(const llrt_repack *plan, int i) {
  return describe_tensor(llrt_repack_input(plan, i));
}
static PyObject *output_at(const llrt_repack *plan, int i) {
  return describe_tensor(llrt_repack_output(plan, i));
}
static PyObject *step_at(const llrt_repack *plan, int i) {
  return describe_step(llrt_repack_step_at(plan, i));
}

/* _repack_describe(plan): inputs, outputs, steps, launches, workspace, bytes read, written. */
PyObject *module_repack_describe(PyObject *module, PyObject *capsule) {
  (void)module;
  const planned *p = PyCapsule_GetPointer(capsule, PLAN_NAME);
  if (!p) return NULL;
  PyObject *inputs = list_of(p->plan, p->info.n_inputs, input_at);
  PyObject *outputs = inputs ? list_of(p->plan, p->info.n_outputs, output_at) : NULL;
  PyObject *steps = outputs ? list_of(p->plan, p->info.n_steps, step_at) : NULL;
  PyObject *all =
      steps ? Py_BuildValue("(OOOinKK)", inputs, outputs, steps, p->info.launches,
                            (Py_ssize_t)p->info.workspace, (unsigned long long)p->info.bytes_read,
                            (unsigned long long)p->info.bytes_written)
            : NULL;
  Py_XDECREF(inputs);
  Py_XDECREF(outputs);
  Py_XDECREF(steps);
  return all;
}

/* _repack_text(plan): for people, as llrt repack --dry-run. */
PyObject *module_repack_text(PyObject *module, PyObject *capsule) {
  (void)module;
  const planned *p = PyCapsule_GetPointer(capsule, PLAN_NAME);
  size_t length;
  if (!p) return NULL;
  llrt_status status = llrt_repack_print(p->plan, NULL, 0, &length);
  char *text = status ? NULL : malloc(length + 1);
  if (status) return raise_status(status);
  if (!text) return PyErr_NoMemory();
  status = llrt_repack_print(p->plan, text, length + 1, NULL);
  PyObject *made =
      status ? raise_status(status) : PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
  free(text);
  return made;
}

/* ---- running ---- */

/* The address of a tensor that is to lie in rows without gaps, `bytes` long, on the plan's device.
 * What is borrowed is given back at once: the caller keeps the tensor. */
static int take_address(const planned *p, PyObject *object, const llrt_repack_tensor *wanted,
                        bool written, void **address) {
  borrowed from;
  *address = NULL;
  if (object == Py_None) return 0;
  if (borrow(object, wanted->name, &from) < 0) return -1;
  int failed = 0;
  if (from.where.device_type != p->where.device_type || from.where.device_id != p->where.device_id)
    failed = device_is_host(from.where) && device_is_host(p->where)
                 ? 0
                 : refuse("%s is on another device than the first tensor", wanted->name);
  if (!failed && from.tensor.storage && !from.is_view)
    failed = refuse("%s does not lie in rows: make it contiguous", wanted->name);
  if (!failed && from.bytes < wanted->bytes)
    failed =
        refuse("%s has %zu bytes, and %zu are needed", wanted->name, from.bytes, wanted->bytes);
  if (!failed && written) failed = check_writable(&from, wanted->name);
  *address = from.tensor.data;
  give_back(&from);
  return failed;
}

static int take_addresses(const planned *p, PyObject *list, bool written, void **addresses) {
  int n = written ? p->info.n_outputs : p->info.n_inputs;
  if (PyList_Size(list) != n)
    return refuse("%zd tensors, and the plan has %d", PyList_Size(list), n);
  for (int i = 0; i < n; i++) {
    const llrt_repack_tensor *wanted =
        written ? llrt_repack_output(p->plan, i) : llrt_repack_input(p->plan, i);
    if (take_address(p, PyList_GetItem(list, i), wanted, written, &addresses[i]) < 0) return -1;
  }
  return 0;
}

enum { ROOM_ALIGNMENT = 256 }; /* of the workspace, bytes */

/* The first fitting address in what is lent as workspace. */
static int take_room(const planned *p, const borrowed *room, void **address) {
  uintptr_t begin = (uintptr_t)room->tensor.data;
  uintptr_t at = (begin + ROOM_ALIGNMENT - 1) / ROOM_ALIGNMENT * ROOM_ALIGNMENT;
  *address = (void *)at;
  if (room->bytes >= at - begin + p->info.workspace) return 0;
  return refuse("the workspace has %zu bytes, and %zu are needed from a multiple of %d on",
                room->bytes, p->info.workspace, ROOM_ALIGNMENT);
}

static llrt_status run(const planned *p, int step, void **in, void **out, void *workspace,
                       void *stream) {
  const void *const *from = (const void *const *)in;
  if (step < 0) return llrt_repack_run(p->plan, from, out, workspace, stream);
  return llrt_repack_run_step(p->plan, step, from, out, workspace, stream);
}

/* _repack_run(plan, step or -1, inputs, outputs, workspace or None, like or None, stream or None):
 * tensors by number, None where the step does not use one; `like` says which framework's stream. */
PyObject *module_repack_run(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *capsule, *in_list, *out_list, *scratch, *like, *asked;
  int step;
  if (!PyArg_ParseTuple(args, "OiO!O!OOO", &capsule, &step, &PyList_Type, &in_list, &PyList_Type,
                        &out_list, &scratch, &like, &asked))
    return NULL;
  const planned *p = PyCapsule_GetPointer(capsule, PLAN_NAME);
  if (!p) return NULL;
  if (!p->where.device_type)
    return refuse("the plan is without a device: it can be looked at alone"), NULL;
  borrowed first, room = {0};
  void *stream = NULL, *workspace = NULL;
  bool has_room = scratch != Py_None;
  if (like != Py_None) {
    if (borrow(like, "tensors", &first) < 0) return NULL;
    int failed = stream_of(&first, asked == Py_None ? NULL : asked, &stream);
    give_back(&first);
    if (failed < 0) return NULL;
  }
  if (has_room && borrow(scratch, "workspace", &room) < 0) return NULL;
  void **in = calloc((size_t)p->info.n_inputs + 1, sizeof *in);
  void **out = calloc((size_t)p->info.n_outputs + 1, sizeof *out);
  int failed = !in || !out;
  if (failed) PyErr_NoMemory();
  if (!failed) failed = take_addresses(p, in_list, false, in);
  if (!failed) failed = take_addresses(p, out_list, true, out);
  if (!failed && has_room) failed = take_room(p, &room, &workspace);
  if (!failed) {
    call_state state;
    call_begin(&state, true);
    llrt_status status = run(p, step, in, out, workspace, stream);
    call_end(&state);
    if (status) failed = (raise_status(status), -1);
  }
  if (has_room) give_back(&room);
  free(in);
  free(out);
  if (failed) return NULL;
  Py_RETURN_NONE;
}

/* _recipes(): [(name, text)] of those that come with the library. */
PyObject *module_recipes(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *list = PyList_New(0);
  const char *name, *text;
  for (int i = 0; list && (name = llrt_recipe_shipped(i, &text)); i++) {
    PyObject *one = Py_BuildValue("(ss)", name, text);
    if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
    Py_XDECREF(one);
  }
  return list;
}
