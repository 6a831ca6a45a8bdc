/* Expressions: llrt.compute("(x[t n]) -> (y[t n]) { … }", x=x), and prepared ones. */
#include "functions.h"
#include "module.h"

#include <math.h>

enum { MOST_ARGS = LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS };

/* One call. */
typedef struct computing {
  const llrt_expr *expr;
  Op *op; /* what was prepared; NULL: a one-line call */
  int n, n_outputs;
  llrt_arg arg[MOST_ARGS];
  borrowed tensor[MOST_ARGS];
  bool borrows[MOST_ARGS];
  PyObject *made[MOST_ARGS]; /* of outputs: what the call returns */
  PyObject *stream;
} computing;

/* ---- texts ---- */

static PyObject *known_texts; /* text -> capsule */

static void drop_expression(PyObject *capsule) {
  llrt_expr *expr = PyCapsule_GetPointer(capsule, "llrt_expr");
  llrt_expr_destroy(&expr);
}

/* The expression of a text, which is kept. */
static const llrt_expr *expression_of(PyObject *text) {
  llrt_expr *expr;
  if (!PyUnicode_Check(text)) return refuse("the expression is a str"), NULL;
  if (!known_texts && !(known_texts = PyDict_New())) return NULL;
  PyObject *known = PyDict_GetItemWithError(known_texts, text);
  if (known) return PyCapsule_GetPointer(known, "llrt_expr");
  if (PyErr_Occurred()) return NULL;
  const char *utf8 = PyUnicode_AsUTF8AndSize(text, NULL);
  if (!utf8) return NULL;
  llrt_status status = llrt_expr_parse(utf8, &expr);
  if (status) return (void)raise_status(status), NULL;
  PyObject *capsule = PyCapsule_New(expr, "llrt_expr", drop_expression);
  if (!capsule) {
    llrt_expr_destroy(&expr);
    return NULL;
  }
  int failed = PyDict_SetItem(known_texts, text, capsule);
  Py_DECREF(capsule); /* the dictionary has it */
  return failed ? NULL : expr;
}

/* ---- arguments ---- */

/* Whether the name is an output's; -1 where the expression has no such name. */
static int kind_of(const llrt_expr *expr, const char *name) {
  bool output;
  for (int i = 0; llrt_expr_name(expr, i, &output); i++)
    if (strcmp(llrt_expr_name(expr, i, NULL), name) == 0) return output;
  return -1;
}

/* Python's numbers, numpy's and others; arrays are numbers, too, but have a length. */
static bool is_number(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  if (PyLong_Check(object) || PyFloat_Check(object)) return true;
  return PyNumber_Check(object) && !PyType_GetSlot(type, Py_sq_length) &&
         !PyType_GetSlot(type, Py_mp_length);
}

static int take_number(PyObject *object, llrt_arg *arg) {
  if (PyIndex_Check(object)) {
    PyObject *whole = PyNumber_Index(object);
    if (!whole) return -1;
    arg->integer = PyLong_AsLongLong(whole);
    arg->number = PyLong_AsDouble(whole);
    Py_DECREF(whole);
  } else {
    arg->number = PyFloat_AsDouble(object);
    bool whole = fabs(arg->number) < 0x1p63 && arg->number == trunc(arg->number);
    arg->integer = whole ? (int64_t)arg->number : 0;
  }
  return PyErr_Occurred() ? -1 : 0;
}

static const op_argument *argument_of(const Op *op, const char *name) {
  for (int i = 0; op && i < op->n; i++)
    if (strcmp(op->argument[i].name, name) == 0) return &op->argument[i];
  return NULL;
}

static int take_named(computing *c, const char *name, PyObject *object) {
  if (strcmp(name, "stream") == 0) return c->stream = object, 0;
  if (object == Py_None) return 0;
  int kind = kind_of(c->expr, name), i = c->n;
  const op_argument *as = argument_of(c->op, name);
  if (kind < 0) return refuse("the expression has no %s", name);
  if (i == MOST_ARGS) return refuse("more arguments than an expression has");
  c->arg[i] = (llrt_arg){.name = name};
  if (!kind && is_number(object)) {
    if (take_number(object, &c->arg[i]) < 0) return -1;
  } else {
    if (borrow(object, name, &c->tensor[i]) < 0) return -1;
    c->borrows[i] = true;
    if (kind && check_writable(&c->tensor[i], name) < 0) return -1;
    if (as && op_see_as(as, &c->tensor[i]) < 0) return -1;
    c->arg[i].tensor = &c->tensor[i].tensor;
  }
  if (kind) c->made[i] = (Py_INCREF(object), object);
  c->n++;
  return 0;
}

/* The first tensor that is read; where nothing is, the first that is written. */
static const borrowed *first_tensor(const computing *c) {
  for (int written = 0; written < 2; written++)
    for (int i = 0; i < c->n; i++)
      if (c->borrows[i] && (written || !c->made[i])) return &c->tensor[i];
  return refuse("no tensor is given"), NULL;
}

/* New tensors for outputs that were not given. */
static int make_outputs(computing *c, const borrowed *like) {
  bool output;
  int given = c->n;
  for (int k = 0; llrt_expr_name(c->expr, k, &output); k++) {
    const char *name = llrt_expr_name(c->expr, k, NULL);
    bool there = false;
    for (int i = 0; i < given; i++) there |= strcmp(c->arg[i].name, name) == 0;
    if (!output || there) continue;
    llrt_tensor shape;
    int i = c->n;
    const op_argument *as = argument_of(c->op, name);
    if (i == MOST_ARGS) return refuse("more arguments than an expression has");
    if (as && as->indexed)
      return refuse("%s had indices when it was prepared: it is to be given", name);
    llrt_status status = llrt_compute_result(c->expr, c->arg, given, name, &shape);
    if (status) return (void)raise_status(status), -1;
    c->made[i] = make_result(like, as ? as->like.dtype : shape.dtype, shape.rank, shape.shape,
                             as ? as->storage : NULL, NULL, &c->tensor[i]);
    if (!c->made[i]) return -1;
    c->borrows[i] = true;
    c->arg[i] = (llrt_arg){.name = name, .tensor = &c->tensor[i].tensor};
    c->n++;
  }
  return 0;
}

/* ---- the call ---- */

/* All tensors on the device of the operation, or of the first. */
static int join_tensors(computing *c, const borrowed *like) {
  DLDevice where = c->op ? c->op->where : like->where;
  llrt_device *device = c->op ? c->op->device : like->tensor.device;
  for (int i = 0; i < c->n; i++)
    if (c->borrows[i] && join_device(where, device, &c->tensor[i], c->arg[i].name) < 0) return -1;
  return 0;
}

static llrt_status describe(const computing *c, llrt_op_desc **desc) {
  return llrt_compute_describe(c->expr, c->arg, c->n, NULL, desc);
}

/* The prepared kernels on these tensors. */
static llrt_status launch(const computing *c, void *stream) {
  llrt_op_desc *desc = NULL;
  llrt_status status = describe(c, &desc);
  if (!status) {
    const llrt_run_params params = {
        .size = sizeof params, .scalars = desc->scalars, .own_workspace = 1};
    status = llrt_op_run(c->op->op, stream, desc->tensors, desc->n_tensors, &params);
  }
  llrt_op_desc_destroy(&desc);
  return status;
}

static int run(computing *c) {
  const borrowed *like = first_tensor(c);
  void *stream;
  call_state state;
  if (!like || make_outputs(c, like) < 0 || stream_of(like, c->stream, &stream) < 0 ||
      join_tensors(c, like) < 0)
    return -1;
  workspace_from(like);
  call_begin(&state, !c->op || (device_is_host(like->where) && like->bytes > 1 << 15));
  llrt_status status =
      c->op ? launch(c, stream) : llrt_compute_into(c->expr, c->arg, c->n, NULL, stream);
  call_end(&state);
  if (status) raise_status(status);
  return status ? -1 : 0;
}

/* ---- prepared ---- */

static PyObject *prepare(const computing *c, const llrt_op_desc *desc, PyObject *text) {
  const borrowed *like = first_tensor(c);
  Op *self = op_new(FORM_COMPUTE);
  if (!self) return NULL;
  self->text = (Py_INCREF(text), text);
  self->expr = c->expr;
  self->where = like->where;
  self->device = like->tensor.device;
  int failed = 0;
  for (int i = 0; i < c->n && !failed; i++) {
    const op_slot slot = {c->arg[i].name, &c->tensor[i], true};
    if (c->borrows[i]) failed = op_keep_argument(self, &slot);
    else self->number[self->n_numbers++] = c->arg[i];
  }
  call_state state;
  call_begin(&state, true);
  llrt_status status = failed ? LLRT_OK : llrt_op_prepare(self->device, desc, &self->op);
  call_end(&state);
  if (status) raise_status(status);
  if (failed || status) Py_CLEAR(self);
  return (PyObject *)self;
}

/* What prepare and explain want of the call, for which nothing runs. */
static PyObject *answer_call(computing *c, PyObject *text) {
  const borrowed *like = first_tensor(c);
  llrt_op_desc *desc;
  if (!like || make_outputs(c, like) < 0 || join_tensors(c, like) < 0) return NULL;
  llrt_status status = describe(c, &desc);
  if (status) return raise_status(status);
  status = llrt_op_promise_coarse(desc);
  if (!status) weaken_promises(desc->promises, desc->n_tensors);
  PyObject *made = status                   ? raise_status(status)
                   : current_intent->target ? answer_desc(desc)
                                            : prepare(c, desc, text);
  llrt_op_desc_destroy(&desc);
  return made;
}

/* Outputs in the signature's order: one by itself, several as a tuple. */
static PyObject *outputs_of(const computing *c) {
  PyObject *found[MOST_ARGS];
  bool output;
  int n = 0;
  for (int k = 0; llrt_expr_name(c->expr, k, &output); k++)
    for (int i = 0; i < c->n && output; i++)
      if (strcmp(c->arg[i].name, llrt_expr_name(c->expr, k, NULL)) == 0) found[n++] = c->made[i];
  if (n == 1) return Py_INCREF(found[0]), found[0];
  PyObject *all = PyTuple_New(n);
  for (int i = 0; all && i < n; i++) {
    Py_INCREF(found[i]);
    PyTuple_SetItem(all, i, found[i]);
  }
  return all;
}

static void end_call(computing *c) {
  for (int i = 0; i < MOST_ARGS; i++) {
    if (c->borrows[i]) give_back(&c->tensor[i]);
    Py_XDECREF(c->made[i]);
  }
}

static int take_names(computing *c, PyObject *const *values, PyObject *names) {
  Py_ssize_t n = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
    if (!name || take_named(c, name, values[i]) < 0) return -1;
  }
  return 0;
}

PyObject *module_compute(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  computing c = {0};
  (void)module;
  if (n != 1)
    return refuse("compute takes the expression, and its tensors and numbers by name"), NULL;
  c.expr = expression_of(args[0]);
  if (!c.expr) return NULL;
  PyObject *made = NULL;
  int failed = take_names(&c, args + n, names);
  if (!failed && current_intent) made = answer_call(&c, args[0]);
  else if (!failed && run(&c) == 0) made = outputs_of(&c);
  end_call(&c);
  return made;
}

/* The numbers of prepare for those that are not given. */
static int take_numbers_of(computing *c, const Op *self) {
  for (int k = 0; k < self->n_numbers; k++) {
    bool there = false;
    for (int i = 0; i < c->n; i++) there |= strcmp(c->arg[i].name, self->number[k].name) == 0;
    if (there) continue;
    if (c->n == MOST_ARGS) return refuse("more arguments than an expression has");
    c->arg[c->n++] = self->number[k];
  }
  return 0;
}

PyObject *compute_op(Op *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  computing c = {.expr = self->expr, .op = self};
  int failed = 0;
  for (Py_ssize_t i = 0; i < n && !failed; i++) {
    const char *name = llrt_expr_name(self->expr, (int)i, NULL);
    failed =
        name ? take_named(&c, name, args[i]) : refuse("more arguments than the expression has");
  }
  failed = failed || take_names(&c, args + n, names) < 0 || take_numbers_of(&c, self) < 0;
  PyObject *made = failed || run(&c) < 0 ? NULL : outputs_of(&c);
  end_call(&c);
  return made;
}

PyObject *compute_state(const Op *self) {
  if (self->form != FORM_COMPUTE) return Py_INCREF(Py_None), Py_None;
  PyObject *numbers = PyTuple_New(self->n_numbers);
  for (int i = 0; i < self->n_numbers && numbers; i++) {
    const llrt_arg *number = &self->number[i];
    PyObject *one =
        Py_BuildValue("(sdL)", number->name, number->number, (long long)number->integer);
    if (!one || PyTuple_SetItem(numbers, i, one) < 0) Py_CLEAR(numbers);
  }
  return numbers ? Py_BuildValue("(ON)", self->text, numbers) : NULL;
}

int compute_load(Op *self, PyObject *state) {
  PyObject *text, *numbers;
  if (self->form != FORM_COMPUTE) return 0;
  if (!PyTuple_Check(state))
    return PyErr_SetString(PyExc_TypeError, "a saved expression has no text"), -1;
  if (!PyArg_ParseTuple(state, "UO", &text, &numbers)) return -1;
  if (!(self->expr = expression_of(text))) return -1;
  self->text = (Py_INCREF(text), text);
  Py_ssize_t n = PySequence_Size(numbers);
  if (n < 0 || n > LLRT_EXPR_MAX_SCALARS) return refuse("a saved expression has %zd numbers", n);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *one = PySequence_GetItem(numbers, i), *pair = one ? PySequence_Tuple(one) : NULL;
    const char *name, *own = NULL;
    double number;
    long long integer;
    int failed = !pair || !PyArg_ParseTuple(pair, "sdL", &name, &number, &integer);
    for (int k = 0; !failed && !own && llrt_expr_name(self->expr, k, NULL); k++)
      if (strcmp(llrt_expr_name(self->expr, k, NULL), name) == 0)
        own = llrt_expr_name(self->expr, k, NULL);
    if (own)
      self->number[self->n_numbers++] =
          (llrt_arg){.name = own, .number = number, .integer = integer};
    Py_XDECREF(pair);
    Py_XDECREF(one);
    if (!own) return failed ? -1 : refuse("a saved expression's number has an unknown name");
  }
  return 0;
}
