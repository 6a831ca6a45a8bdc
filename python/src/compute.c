/* Expressions: llrt.compute("(x[t n]) -> (y[t n]) { … }", x=x). */
#include "functions.h"
#include "module.h"

enum { MOST_ARGS = LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS };

/* One call. */
typedef struct computing {
  const llrt_expr *expr;
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

static int take_number(PyObject *object, llrt_arg *arg) {
  if (PyLong_Check(object)) {
    arg->integer = PyLong_AsLongLong(object);
    arg->number = PyLong_AsDouble(object);
  } else {
    arg->number = PyFloat_AsDouble(object);
    arg->integer = (int64_t)arg->number;
  }
  return PyErr_Occurred() ? -1 : 0;
}

static int take_named(computing *c, const char *name, PyObject *object) {
  if (strcmp(name, "stream") == 0) return c->stream = object, 0;
  int kind = kind_of(c->expr, name), i = c->n;
  if (kind < 0) return refuse("the expression has no %s", name);
  if (i == MOST_ARGS) return refuse("more arguments than an expression has");
  c->arg[i] = (llrt_arg){.name = name};
  if (!kind && (PyLong_Check(object) || PyFloat_Check(object))) {
    if (take_number(object, &c->arg[i]) < 0) return -1;
  } else {
    if (borrow(object, name, &c->tensor[i]) < 0) return -1;
    c->borrows[i] = true;
    if (kind && check_writable(&c->tensor[i], name) < 0) return -1;
    c->arg[i].tensor = &c->tensor[i].tensor;
  }
  if (kind) c->made[i] = (Py_INCREF(object), object);
  c->n++;
  return 0;
}

/* The first tensor that is read. */
static const borrowed *first_input(const computing *c) {
  for (int i = 0; i < c->n; i++)
    if (c->borrows[i] && !c->made[i]) return &c->tensor[i];
  return NULL;
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
    if (i == MOST_ARGS) return refuse("more arguments than an expression has");
    llrt_status status = llrt_compute_result(c->expr, c->arg, given, name, &shape);
    if (status) return (void)raise_status(status), -1;
    c->made[i] = make_result(like, shape.dtype, shape.rank, shape.shape, NULL, NULL, &c->tensor[i]);
    if (!c->made[i]) return -1;
    c->borrows[i] = true;
    c->arg[i] = (llrt_arg){.name = name, .tensor = &c->tensor[i].tensor};
    c->n++;
  }
  return 0;
}

/* ---- the call ---- */

static int run(computing *c) {
  const borrowed *like = first_input(c);
  void *stream;
  call_state state;
  if (!like) return refuse("no tensor is given");
  if (make_outputs(c, like) < 0 || stream_of(like, c->stream, &stream) < 0) return -1;
  for (int i = 0; i < c->n; i++)
    if (c->borrows[i] &&
        join_device(like->where, like->tensor.device, &c->tensor[i], c->arg[i].name) < 0)
      return -1;
  workspace_from(like);
  call_begin(&state, true);
  llrt_status status = llrt_compute_into(c->expr, c->arg, c->n, NULL, stream);
  call_end(&state);
  if (status) raise_status(status);
  return status ? -1 : 0;
}

/* What explain wants of the call, for which nothing runs. */
static PyObject *explain_call(computing *c) {
  const borrowed *like = first_input(c);
  llrt_op_desc *desc;
  if (!like) return refuse("no tensor is given"), NULL;
  if (make_outputs(c, like) < 0) return NULL;
  llrt_status status = llrt_compute_describe(c->expr, c->arg, c->n, NULL, &desc);
  if (status) return raise_status(status);
  status = llrt_op_promise_coarse(desc);
  if (!status) weaken_promises(desc->promises, desc->n_tensors);
  PyObject *made = status ? raise_status(status) : answer_desc(desc);
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

PyObject *module_compute(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  computing c = {0};
  (void)module;
  if (n != 1)
    return refuse("compute takes the expression, and its tensors and numbers by name"), NULL;
  if (current_intent && !current_intent->target)
    return refuse("expressions are not prepared from Python: call them"), NULL;
  c.expr = expression_of(args[0]);
  if (!c.expr) return NULL;
  Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
  int failed = 0;
  for (Py_ssize_t i = 0; i < n_names && !failed; i++) {
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
    failed = !name || take_named(&c, name, args[n + i]) < 0;
  }
  PyObject *made = NULL;
  if (!failed && current_intent) made = explain_call(&c);
  else if (!failed && run(&c) == 0) made = outputs_of(&c);
  for (int i = 0; i < MOST_ARGS; i++) {
    if (c.borrows[i]) give_back(&c.tensor[i]);
    Py_XDECREF(c.made[i]);
  }
  return made;
}
