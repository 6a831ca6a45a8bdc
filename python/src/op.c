/* Prepared operations: what prepare(...) gives. */
#include "dot.h"

#include <math.h>
#include <stddef.h>
#include <structmember.h>

PyTypeObject *OpType;
const intent *current_intent;

Op *op_new(op_form form) {
  Op *self = PyObject_New(Op, OpType);
  if (!self) return NULL;
  memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
  self->form = form;
  self->call = op_call_vector;
  return self;
}

static void op_free(PyObject *object) {
  Op *self = (Op *)object;
  PyTypeObject *type = Py_TYPE(object);
  llrt_op_destroy(&self->op);
  for (int i = 0; i < self->n; i++) Py_XDECREF(self->argument[i].storage);
  Py_XDECREF(self->text);
  PyObject_Free(object);
  Py_DECREF(type);
}

/* ---- making ---- */

int op_keep_argument(Op *self, const op_slot *slot) {
  op_argument *made = &self->argument[self->n++];
  strncpy(made->name, slot->name, sizeof made->name - 1);
  made->like = slot->from->tensor;
  made->like.data = NULL;
  made->like.indices = NULL;
  made->like.n_indices = 0;
  made->laid = !slot->given_as_is || slot->from->is_view;
  made->indexed = slot->from->tensor.n_indices > 0;
  if (strcmp(slot->name, "out") == 0) self->out = self->n - 1;
  if (llrt_tensor_bytes(&made->like, &made->bytes) != LLRT_OK) made->bytes = slot->from->bytes;
  if (!made->like.storage) return 0;
  made->storage = storage_new(made->like.storage, NULL, made->like.rank,
                              NULL); /* views, texts may go: the rule stays */
  if (!made->storage) return -1;
  made->like.storage = &made->storage->rule;
  return 0;
}

/* What a compile gave: text, or bytes. */
static PyObject *compiled_object(llrt_status status, char *bytes, size_t size) {
  if (status) return raise_status(status);
  bool text = current_intent->emit <= LLRT_EMIT_ASM || current_intent->emit == LLRT_EMIT_WHY;
  PyObject *made = text ? PyUnicode_FromStringAndSize(bytes, (Py_ssize_t)size)
                        : PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
  llrt_buffer_free(&bytes);
  return made;
}

PyObject *answer_desc(const llrt_op_desc *desc) {
  const char *target = PyUnicode_AsUTF8AndSize(current_intent->target, NULL);
  llrt_context *context = target ? context_of(false) : NULL;
  if (!context) return NULL;
  char *bytes = NULL;
  size_t size = 0;
  call_state state;
  call_begin(&state, true);
  llrt_status status = llrt_op_compile(context, target, desc, current_intent->emit, &bytes, &size);
  call_end(&state);
  return compiled_object(status, bytes, size);
}

static PyObject *answer_text(const request *what) {
  const char *target = PyUnicode_AsUTF8AndSize(current_intent->target, NULL);
  llrt_context *context = target ? context_of(false) : NULL;
  if (!context) return NULL;
  char *bytes = NULL;
  size_t size = 0;
  call_state state;
  llrt_emit emit = current_intent->emit;
  call_begin(&state, true);
  llrt_status status = request_compile(what, context, target, emit, &bytes, &size);
  call_end(&state);
  return compiled_object(status, bytes, size);
}

static PyObject *answer_op(const request *what, Op *self, const op_slot *slots, int n) {
  for (int i = 0; i < n; i++)
    if (op_keep_argument(self, &slots[i]) < 0) return NULL;
  self->where = slots[0].from->where;
  llrt_device *device = self->device = what->tensors[0].device;
  call_state state;
  call_begin(&state, true);
  llrt_status status = request_prepare(what, device, &self->op);
  call_end(&state);
  return status ? raise_status(status) : (Py_INCREF(self), (PyObject *)self);
}

PyObject *answer(const request *what, Op *op, const op_slot *slots, int n) {
  if (!op) return NULL;
  PyObject *made = current_intent->target ? answer_text(what) : answer_op(what, op, slots, n);
  Py_DECREF(op);
  return made;
}

/* ---- calling ---- */

int op_see_as(const op_argument *argument, borrowed *from) {
  llrt_tensor *t = &from->tensor;
  if (from->is_view) return 0;
  if (!argument->laid) {
    if (llrt_dtype_bits(t->dtype) == llrt_dtype_bits(argument->like.dtype))
      t->dtype = argument->like.dtype;
    return 0;
  }
  if (t->storage && !from->dense) return refuse("%s is not contiguous", argument->name);
  if (from->bytes < argument->bytes)
    return refuse("%s has %zu bytes, the operation takes %zu", argument->name, from->bytes,
                  argument->bytes);
  void *data = t->data;
  llrt_device *device = t->device;
  *t = argument->like;
  t->data = data;
  t->device = device;
  return 0;
}

static PyObject *make_out(const Op *self, const borrowed *first, borrowed *out) {
  const op_argument *argument = &self->argument[self->out];
  return make_result(first, argument->like.dtype, argument->like.rank, argument->like.shape,
                     argument->storage, NULL, out);
}

static bool is_long_run(const Op *self, const borrowed *first) {
  return device_is_host(self->where) && first->bytes > 1 << 15;
}

/* Workspace is the context's, kept for the stream: of the framework's allocator where it has one.
 */
static llrt_status launch(const Op *self, const llrt_tensor *tensors, int n, const borrowed *first,
                          void *stream, const double *alpha, const double *beta) {
  const llrt_run_params params = {
      .size = sizeof params, .alpha = alpha, .beta = beta, .own_workspace = 1};
  call_state state;
  workspace_from(first);
  call_begin(&state, is_long_run(self, first));
  llrt_status status = llrt_op_run(self->op, stream, tensors, n, &params);
  call_end(&state);
  return status;
}

static llrt_status run_plain(const Op *self, const borrowed *args, void *stream) {
  llrt_tensor tensors[3];
  for (int i = 0; i < self->n; i++) tensors[i] = args[i].tensor;
  return launch(self, tensors, self->n, &args[0], stream, NULL, NULL);
}

static llrt_status run_gather(const Op *self, const borrowed *args, void *stream) {
  bool scatters = self->form == FORM_SCATTER;
  llrt_view view;
  llrt_status status = llrt_gather_view(&args[scatters ? 2 : 0].tensor, &args[1].tensor, self->axis,
                                        &self->gather, &view);
  llrt_tensor tensors[2] = {scatters ? args[0].tensor : view.tensor,
                            scatters ? view.tensor : args[2].tensor};
  return status ? status : launch(self, tensors, 2, &args[0], stream, NULL, NULL);
}

static llrt_status run_reduce(const Op *self, const borrowed *args, void *stream) {
  llrt_tensor tensors[3] = {args[0].tensor};
  llrt_storage storage[2];
  llrt_status status = LLRT_OK;
  for (int i = 1; i < self->n && !status; i++)
    status = llrt_reduce_keep_axes(&args[i].tensor, args[0].tensor.rank, self->axes,
                                   &storage[i - 1], &tensors[i]);
  return status ? status : launch(self, tensors, self->n, &args[0], stream, NULL, NULL);
}

static llrt_status run_dot(const Op *self, const borrowed *args, void *stream, const double *alpha,
                           const double *beta) {
  dot_call call = {.params = self->dot, .alpha = self->alpha, .beta = self->beta};
  for (int i = 0; i < self->n; i++) {
    call.tensor[self->dot_role[i]] = args[i];
    call.roles |= 1u << self->dot_role[i];
    call.sorted |= strcmp(self->argument[i].name, "experts") == 0;
  }
  call.n_maps = self->dot.n_maps;
  memcpy(call.maps, self->maps, sizeof call.maps);
  dot_call_point(&call);
  const llrt_tensor *d = &call.tensor[LLRT_DOT_D].tensor, *a = &call.tensor[LLRT_DOT_A].tensor,
                    *b = &call.tensor[LLRT_DOT_B].tensor;
  llrt_op_desc *desc = NULL;
  llrt_status status = llrt_dot_describe(a, b, d, &call.params, &desc);
  if (!status) status = launch(self, desc->tensors, desc->n_tensors, &args[0], stream, alpha, beta);
  llrt_op_desc_destroy(&desc);
  return status;
}

static llrt_status run_form(const Op *self, const borrowed *args, void *stream, const double *alpha,
                            const double *beta) {
  switch (self->form) {
  case FORM_GATHER:
  case FORM_SCATTER: return run_gather(self, args, stream);
  case FORM_REDUCE: return run_reduce(self, args, stream);
  case FORM_DOT: return run_dot(self, args, stream, alpha, beta);
  default: return run_plain(self, args, stream);
  }
}

/* objects[n], in order; NULL: not given, which only `out` may be. */
static PyObject *call_with(Op *self, PyObject *const *objects, PyObject *asked, const double *alpha,
                           const double *beta) {
  borrowed args[OP_ARGUMENTS];
  memset(&args[0], 0, sizeof args[0]);
  PyObject *result = NULL;
  int n = 0, failed = 0;
  void *stream;
  for (; n < self->n && !failed; n++) {
    args[n].keep = NULL, args[n].buffer = NULL;
    if (!objects[n]) {
      failed = n != self->out || !(result = make_out(self, &args[0], &args[n])) ? -1 : 0;
    } else if ((failed = borrow(objects[n], self->argument[n].name, &args[n])) == 0) {
      failed = join_device(self->where, self->device, &args[n], self->argument[n].name);
      if (!failed && n == self->out) failed = check_writable(&args[n], "out");
      if (!failed) failed = op_see_as(&self->argument[n], &args[n]);
    }
  }
  if (!failed) failed = stream_of(&args[0], asked, &stream);
  llrt_status status = failed ? LLRT_OK : run_form(self, args, stream, alpha, beta);
  for (int i = 0; i < n; i++) give_back(&args[i]);
  if (status) raise_status(status);
  if (failed || status) return Py_XDECREF(result), NULL;
  if (result) return result;
  return Py_INCREF(objects[self->out]), objects[self->out];
}

/* What a call was given: tensors by argument, and stream, alpha, beta. */
typedef struct op_given {
  PyObject *objects[OP_ARGUMENTS], *extra[3];
} op_given;

static int place_name(const Op *self, PyObject *name) {
  for (int i = 0; i < self->n; i++)
    if (PyUnicode_CompareWithASCIIString(name, self->argument[i].name) == 0) return i;
  return -1;
}

static int take_named(const Op *self, PyObject *name, PyObject *value, op_given *out) {
  static const char *const more[] = {"stream", "alpha", "beta"};
  int place = place_name(self, name), i = 0;
  if (value == Py_None) value = NULL;
  if (place >= 0 && !out->objects[place]) return out->objects[place] = value, 0;
  while (i < 3 && PyUnicode_CompareWithASCIIString(name, more[i]) != 0) i++;
  if (place < 0 && i < 3) return out->extra[i] = value, 0;
  PyErr_Format(PyExc_TypeError, "the operation got an unexpected argument '%U'", name);
  return -1;
}

static int take_positional(const Op *self, PyObject *const *args, Py_ssize_t n, op_given *out) {
  memset(out, 0, sizeof *out);
  if (n > self->n) {
    PyErr_Format(PyExc_TypeError, "the operation takes %d tensors (%zd given)", self->n, n);
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; i++) out->objects[i] = args[i] == Py_None ? NULL : args[i];
  return 0;
}

/* _op_in_c(op, t, out, n): nanoseconds of a run from C. */
PyObject *module_op_in_c(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *op, *t, *out;
  int n, failed = 0;
  borrowed two[2];
  void *stream;
  if (!PyArg_ParseTuple(args, "OOOi", &op, &t, &out, &n)) return NULL;
  const Op *self = (const Op *)op;
  if (Py_TYPE(op) != OpType || self->form != FORM_CONVERT)
    return PyErr_SetString(PyExc_TypeError, "an op of convert"), NULL;
  if (borrow(t, "t", &two[0]) < 0) return NULL;
  if (borrow(out, "out", &two[1]) < 0) return give_back(&two[0]), NULL;
  for (int i = 0; i < 2; i++) failed |= op_see_as(&self->argument[i], &two[i]);
  failed |= stream_of(&two[0], NULL, &stream);
  llrt_tensor tensors[] = {two[0].tensor, two[1].tensor};
  llrt_status status = LLRT_OK;
  int64_t begin = nanoseconds();
  for (int i = 0; i < n && !failed && !status; i++)
    status = llrt_op_run(self->op, stream, tensors, 2, NULL);
  int64_t end = nanoseconds();
  for (int i = 0; i < 2; i++) give_back(&two[i]);
  if (status) raise_status(status);
  return failed || status ? NULL : PyFloat_FromDouble((double)(end - begin) / n);
}

static PyObject *call_given(Op *self, const op_given *given) {
  double numbers[2] = {0};
  for (int i = 0; i < self->n; i++)
    if (!given->objects[i] && i != self->out)
      return PyErr_Format(PyExc_TypeError, "the operation misses its argument '%s'",
                          self->argument[i].name),
             NULL;
  PyObject *const *factors = given->extra + 1;
  for (int i = 0; i < 2; i++) {
    if (!factors[i]) continue;
    numbers[i] = PyFloat_AsDouble(factors[i]);
    if (PyErr_Occurred()) return NULL;
  }
  return call_with(self, given->objects, given->extra[0], factors[0] ? &numbers[0] : NULL,
                   factors[1] ? &numbers[1] : NULL);
}

/* The call without a tuple: Python's vectorcall protocol. */
PyObject *op_call_vector(PyObject *object, PyObject *const *args, size_t n_and_flag,
                         PyObject *names) {
  Op *self = (Op *)object;
  op_given given;
  Py_ssize_t n = (Py_ssize_t)(n_and_flag & (SIZE_MAX >> 1)),
             n_names = names ? PyTuple_Size(names) : 0;
  if (self->form == FORM_COMPUTE) return compute_op(self, args, n, names);
  if (take_positional(self, args, n, &given) < 0) return NULL;
  for (Py_ssize_t i = 0; i < n_names; i++)
    if (take_named(self, PyTuple_GetItem(names, i), args[n + i], &given) < 0) return NULL;
  return call_given(self, &given);
}

/* A tuple and a dict as a vector and names. */
static PyObject *compute_unpacked(Op *self, PyObject *args, PyObject *names) {
  PyObject *all[2 * OP_ARGUMENTS + LLRT_EXPR_MAX_SCALARS + 1], *keys = NULL, *value;
  Py_ssize_t n = PyTuple_Size(args), n_names = names ? PyDict_Size(names) : 0;
  if (n + n_names > (Py_ssize_t)(sizeof all / sizeof *all))
    return refuse("more arguments than an expression has"), NULL;
  for (Py_ssize_t i = 0; i < n; i++) all[i] = PyTuple_GetItem(args, i);
  if (n_names > 0) {
    PyObject *list = PyDict_Keys(names);
    keys = list ? PySequence_Tuple(list) : NULL;
    Py_XDECREF(list);
    if (!keys) return NULL;
  }
  for (Py_ssize_t i = 0; i < n_names; i++) {
    value = PyDict_GetItemWithError(names, PyTuple_GetItem(keys, i));
    if (!value) return Py_DECREF(keys), NULL;
    all[n + i] = value;
  }
  PyObject *made = compute_op(self, all, n, keys);
  Py_XDECREF(keys);
  return made;
}

/* The same for who calls with a tuple and a dict. */
static PyObject *op_call(PyObject *object, PyObject *args, PyObject *names) {
  Op *self = (Op *)object;
  PyObject *key, *value, *positional[OP_ARGUMENTS];
  op_given given;
  Py_ssize_t at = 0, n = PyTuple_Size(args);
  if (self->form == FORM_COMPUTE) return compute_unpacked(self, args, names);
  for (Py_ssize_t i = 0; i < n && i < OP_ARGUMENTS; i++) positional[i] = PyTuple_GetItem(args, i);
  if (take_positional(self, positional, n, &given) < 0) return NULL;
  while (names && PyDict_Next(names, &at, &key, &value))
    if (take_named(self, key, value, &given) < 0) return NULL;
  return call_given(self, &given);
}

/* ---- saving ---- */

static PyObject *op_kernels(PyObject *object, PyObject *unused) {
  (void)unused;
  Op *self = (Op *)object;
  size_t size = 0;
  llrt_status status = llrt_op_save(self->op, NULL, &size);
  char *bytes = status ? NULL : PyMem_Malloc(size);
  if (!status && !bytes) return PyErr_NoMemory();
  if (!status) status = llrt_op_save(self->op, bytes, &size);
  PyObject *made =
      status ? raise_status(status) : PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
  PyMem_Free(bytes);
  return made;
}

static PyObject *argument_state(const op_argument *argument, int role) {
  PyObject *shape = shape_tuple(argument->like.rank, argument->like.shape);
  PyObject *text = Py_None;
  if (argument->storage) text = PyObject_Str((PyObject *)argument->storage);
  else Py_INCREF(text);
  if (!shape || !text) return Py_XDECREF(shape), Py_XDECREF(text), NULL;
  return Py_BuildValue("(ssNNii)", argument->name, llrt_dtype_name(argument->like.dtype), shape,
                       text, argument->laid, role);
}

/* A dot's parameters as numbers, both ways: groups, ranges, types, switches, maps, bits. */
enum { DOT_NUMBERS = 89 };

static void dot_numbers(const Op *self, int64_t *to) {
  const llrt_dot_params *p = &self->dot;
  const llrt_dot_scaling *sides[] = {&p->a, &p->b};
  int64_t *at = to;
  for (int i = 0; i < 4; i++) *at++ = sides[i / 2]->group[i % 2];
  for (int i = 0; i < 4; i++) *at++ = i % 2 ? sides[i / 2]->range_high : sides[i / 2]->range_low;
  *at++ = p->accumulate, *at++ = p->dtype, *at++ = p->tf32, *at++ = p->fast_accumulate;
  *at++ = p->n_maps;
  for (int i = 0; i < 3; i++) *at++ = self->maps[i].kind;
  for (int i = 0; i < 8; i++) *at++ = p->n_maps ? self->maps[p->n_maps - 1].group[i] : 0;
  for (int i = 0; i < 64; i++) *at++ = sides[i / 32]->word_bits[i % 32];
  *at++ = p->batch_invariant;
}

static int set_dot_numbers(Op *self, const int64_t *at) {
  llrt_dot_params *p = &self->dot;
  llrt_dot_scaling *sides[] = {&p->a, &p->b};
  for (int i = 0; i < 4; i++) sides[i / 2]->group[i % 2] = *at++;
  for (int i = 0; i < 4; i++, at++)
    *(i % 2 ? &sides[i / 2]->range_high : &sides[i / 2]->range_low) = (uint8_t)*at;
  p->accumulate = (llrt_dtype)at[0], p->dtype = (llrt_dtype)at[1], p->tf32 = at[2] != 0,
  p->fast_accumulate = at[3] != 0;
  p->n_maps = (int32_t)at[4];
  if (p->n_maps < 0 || p->n_maps > 3) return refuse("a saved dot has %d maps", p->n_maps);
  for (int i = 0; i < 3; i++) self->maps[i].kind = (llrt_map_kind)at[5 + i];
  for (int i = 0; i < 8 && p->n_maps; i++) self->maps[p->n_maps - 1].group[i] = at[8 + i];
  for (int i = 0; i < 64; i++) sides[i / 32]->word_bits[i % 32] = (uint8_t)at[16 + i];
  p->batch_invariant = at[80] != 0;
  return 0;
}

/* What load needs beside the kernels: plain data. */
static PyObject *op_state(PyObject *object, PyObject *unused) {
  (void)unused;
  Op *self = (Op *)object;
  PyObject *all = PyList_New(0);
  for (int i = 0; i < self->n && all; i++) {
    PyObject *one = argument_state(&self->argument[i], self->dot_role[i]);
    if (!one || PyList_Append(all, one) < 0) Py_CLEAR(all);
    Py_XDECREF(one);
  }
  if (!all) return NULL;
  int64_t numbers[DOT_NUMBERS];
  dot_numbers(self, numbers);
  PyObject *dot = shape_tuple(self->form == FORM_DOT ? DOT_NUMBERS : 0, numbers);
  PyObject *expression = dot ? compute_state(self) : NULL;
  if (!expression) return Py_XDECREF(dot), Py_DECREF(all), NULL;
  return Py_BuildValue("{s:i,s:i,s:i,s:i,s:I,s:N,s:N,s:(dd),s:N}", "form", self->form,
                       "gather_form", self->gather.form, "out_of_range", self->gather.out_of_range,
                       "axis", self->axis, "axes", self->axes, "arguments", all, "dot", dot,
                       "numbers", self->alpha, self->beta, "expression", expression);
}

static int load_argument(Op *self, PyObject *state) {
  const char *name, *dtype;
  PyObject *shape, *text;
  int laid, n;
  op_argument *made = &self->argument[self->n];
  llrt_storage rule;
  llrt_status status;
  if (self->n == OP_ARGUMENTS) return refuse("more than %d arguments", OP_ARGUMENTS);
  if (!PyArg_ParseTuple(state, "ssOOii", &name, &dtype, &shape, &text, &laid,
                        &self->dot_role[self->n]))
    return -1;
  strncpy(made->name, name, sizeof made->name - 1);
  made->laid = laid;
  if (take_numbers(shape, "shape", LLRT_MAX_RANK, &n, made->like.shape) < 0) return -1;
  made->like.rank = n;
  if ((status = llrt_dtype_parse(dtype, &made->like.dtype))) return raise_status(status), -1;
  if (strcmp(name, "out") == 0) self->out = self->n;
  self->n++;
  if (text != Py_None) {
    const char *bytes = PyUnicode_AsUTF8AndSize(text, NULL);
    if (!bytes) return -1;
    if ((status = llrt_storage_parse(bytes, n, made->like.shape, &rule)))
      return raise_status(status), -1;
    if (!(made->storage = storage_new(&rule, NULL, n, NULL))) return -1;
    made->like.storage = &made->storage->rule;
  }
  if (llrt_tensor_bytes(&made->like, &made->bytes) != LLRT_OK) made->bytes = 0;
  return 0;
}

static int load_dot(Op *self, PyObject *object) {
  int64_t numbers[DOT_NUMBERS];
  int n;
  if (self->form != FORM_DOT) return 0;
  if (take_numbers(object, "a saved dot", DOT_NUMBERS, &n, numbers) < 0) return -1;
  return n == DOT_NUMBERS ? set_dot_numbers(self, numbers)
                          : refuse("a saved dot has %d numbers", n);
}

/* _load(kernels, device type, device number, own_allocator, form, gather form, out of range, axis,
 * axes, arguments, a dot's numbers, alpha, beta, an expression's text and numbers or None) */
PyObject *module_load(PyObject *module, PyObject *args) {
  (void)module;
  const char *bytes;
  Py_ssize_t size;
  int type, number, own, form, gather_form, range, axis;
  unsigned axes;
  PyObject *arguments, *dot, *expression;
  double alpha, beta;
  if (!PyArg_ParseTuple(args, "y#iiiiiiiIOOddO", &bytes, &size, &type, &number, &own, &form,
                        &gather_form, &range, &axis, &axes, &arguments, &dot, &alpha, &beta,
                        &expression))
    return NULL;
  if (form < FORM_CONVERT || form > FORM_COMPUTE)
    return refuse("a saved operation of form %d", form), NULL;
  Op *self = op_new((op_form)form);
  if (!self) return NULL;
  self->where = (DLDevice){(DLDeviceType)type, number};
  self->gather.form = gather_form;
  self->gather.out_of_range = range;
  self->axis = axis;
  self->axes = axes;
  self->alpha = alpha;
  self->beta = beta;
  Py_ssize_t n = PySequence_Size(arguments);
  int failed = n < 0 || load_dot(self, dot) < 0 || compute_load(self, expression) < 0;
  for (Py_ssize_t i = 0; i < n && !failed; i++) {
    PyObject *one = PySequence_GetItem(arguments, i);
    failed = !one || load_argument(self, one) < 0;
    Py_XDECREF(one);
  }
  llrt_device *device = self->device = failed ? NULL : device_of(self->where, own);
  llrt_status status = device ? llrt_op_load(device, bytes, (size_t)size, &self->op) : LLRT_OK;
  if (status) raise_status(status);
  if (!device || status) Py_CLEAR(self);
  return (PyObject *)self;
}

static PyMethodDef op_methods[] = {
    {"kernels", op_kernels, METH_NOARGS,
     "kernels()\n--\n\nThe kernels as the C library saves them (llrt_op_save)."},
    {"_state", op_state, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyObject *get_device_name(PyObject *object, void *unused) {
  (void)unused;
  Op *self = (Op *)object;
  return Py_BuildValue("(ii)", (int)self->where.device_type, self->where.device_id);
}

static PyGetSetDef op_attributes[] = {
    {"_device", get_device_name, NULL, "DLPack's device type and number.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Op, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot op_slots[] = {
    {Py_tp_doc, "A prepared operation (llrt.prepare, llrt.load): call it with tensors in the order "
                "of the function that it was\n"
                "prepared from. It launches and returns, compiles nothing, and may be captured."},
    {Py_tp_dealloc, op_free},
    {Py_tp_call, op_call},
    {Py_tp_members, op_members},
    {Py_tp_methods, op_methods},
    {Py_tp_getset, op_attributes},
    {0, NULL}};

/* Py_TPFLAGS_HAVE_VECTORCALL: named in the limited API from 3.12 on, the same bit since 3.8. */
enum { HAS_VECTORCALL = 1 << 11 };

PyType_Spec op_spec = {"llrt.Op", sizeof(Op), 0, Py_TPFLAGS_DEFAULT | HAS_VECTORCALL, op_slots};
