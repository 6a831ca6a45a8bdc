/* gather and scatter. */
#include "functions.h"

enum { T, INDEX, AXIS, TO, OUT, FORM, RANGE, REPORT, DTYPE, AS, STREAM, N_WORDS };

static int one_of(PyObject *object, const char *name, const char *const *words, int n, int *value) {
  for (int i = 0; i < n; i++)
    if (PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, words[i]) == 0)
      return *value = i, 0;
  char all[96] = "";
  for (int i = 0; i < n; i++) strcat(strcat(all, i ? ", " : ""), words[i]);
  return refuse("%s is one of %s", name, all);
}

int take_gather(PyObject *form, PyObject *range, PyObject *report, const llrt_tensor *store,
                const llrt_tensor *index, borrowed *counter, llrt_gather_params *params) {
  static const char *const forms[] = {"along", "select"}, *const ranges[] = {"skip", "zero",
                                                                             "clamp", "report"};
  int chosen = index->rank == 1 && store->rank != 1, at = LLRT_RANGE_SKIP;
  memset(params, 0, sizeof *params);
  memset(counter, 0, sizeof *counter);
  if (form && one_of(form, "form", forms, 2, &chosen) < 0) return -1;
  if (range && one_of(range, "out_of_range", ranges, 4, &at) < 0) return -1;
  params->form = chosen;
  params->out_of_range = at;
  if ((report != NULL) != (at == LLRT_RANGE_REPORT))
    return refuse("out_of_range='report' and report= go together");
  if (!report) return 0;
  if (borrow(report, "report", counter) < 0) return -1;
  params->report = counter->tensor.data;
  if (counter->tensor.dtype != LLRT_I32 || counter->readonly)
    return give_back(counter), refuse("report must be a writable int32 tensor");
  return 0;
}

static PyObject *run(const borrowed *t, const llrt_tensor *source, const borrowed *out,
                     const llrt_tensor *destination, PyObject *asked, PyObject *object,
                     bool clear) {
  void *stream;
  if (stream_of(t, asked, &stream) < 0) return NULL;
  const llrt_tensor *both[] = {source, destination};
  call_state state;
  workspace_from(t);
  call_begin(&state, call_is_long(64, both, 2, t));
  llrt_status status =
      clear ? llrt_memory_set(t->tensor.device, out->tensor.data, 0, out->bytes, stream) : LLRT_OK;
  if (!status) status = llrt_convert_into(source, destination, NULL, stream);
  call_end(&state);
  return status ? raise_status(status) : (Py_INCREF(object), object);
}

static PyObject *answer_gather(op_form form, const llrt_gather_params *params, int axis,
                               const llrt_tensor *source, const llrt_tensor *destination,
                               const op_slot *slots) {
  request what = {.kind = LLRT_OP_CONVERT, .n = 2, .tensors = {*source, *destination}};
  Op *op = op_new(form);
  if (!op) return NULL;
  op->gather = *params;
  op->gather.report = NULL;
  op->axis = axis;
  return answer(&what, op, slots, 3);
}

/* ---- gather ---- */

static PyObject *gather_viewed(PyObject *const *slots, const borrowed *t, const borrowed *index,
                               llrt_gather_params *params, int axis) {
  llrt_view view;
  llrt_dtype dtype;
  borrowed out;
  PyObject *object;
  /* Nothing is there that could stay. */
  bool fresh = !slots[OUT], clear = fresh && params->out_of_range == LLRT_RANGE_REPORT;
  if (fresh && params->out_of_range == LLRT_RANGE_SKIP) params->out_of_range = LLRT_RANGE_ZERO;
  llrt_status status = llrt_gather_view(&t->tensor, &index->tensor, axis, params, &view);
  if (status) return raise_status(status);
  if (take_dtype(slots[DTYPE], &dtype) < 0) return NULL;
  if (take_destination(t, slots[OUT], slots[TO], slots[AS], dtype, t->tensor.dtype,
                       view.tensor.rank, view.tensor.shape, &out, &object) < 0)
    return NULL;
  op_slot args[] = {{"t", t, true}, {"index", index, true}, {"out", &out, !slots[TO]}};
  PyObject *made = current_intent
                       ? answer_gather(FORM_GATHER, params, axis, &view.tensor, &out.tensor, args)
                       : run(t, &view.tensor, &out, &out.tensor, slots[STREAM], object, clear);
  give_back(&out);
  Py_DECREF(object);
  return made;
}

static PyObject *with_index(PyObject *const *slots, const borrowed *t, const borrowed *store,
                            PyObject *(*act)(PyObject *const *slots, const borrowed *t,
                                             const borrowed *index, llrt_gather_params *params,
                                             int axis)) {
  borrowed index, counter;
  llrt_gather_params params;
  int32_t axis;
  PyObject *made = NULL;
  if (take_axis(slots[AXIS], store->tensor.rank, &axis) < 0 ||
      borrow(slots[INDEX], "index", &index) < 0)
    return NULL;
  if (join_device(t->where, t->tensor.device, &index, "index") == 0 &&
      take_gather(slots[FORM], slots[RANGE], slots[REPORT], &store->tensor, &index.tensor, &counter,
                  &params) == 0) {
    if (!params.report || join_device(t->where, t->tensor.device, &counter, "report") == 0)
      made = act(slots, t, &index, &params, axis);
    give_back(&counter);
  }
  give_back(&index);
  return made;
}

PyObject *module_gather(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)module;
  static keyword words[] = {
      {"t", NULL},     {"index", NULL}, {"axis", NULL},         {"to", NULL},
      {"out", NULL},   {"form", NULL},  {"out_of_range", NULL}, {"report", NULL},
      {"dtype", NULL}, {"as_", NULL},   {"stream", NULL}};
  static const signature what = {"gather", words, N_WORDS, 4, 2};
  PyObject *slots[N_WORDS];
  borrowed t;
  if (take_arguments(&what, args, n, names, slots) < 0 || borrow(slots[T], "t", &t) < 0)
    return NULL;
  PyObject *made = with_index(slots, &t, &t, gather_viewed);
  give_back(&t);
  return with_remedy(made, &what, args, n, names);
}

/* ---- scatter: slots are gather's, OUT is the store ---- */

static PyObject *scatter_viewed(PyObject *const *slots, const borrowed *t, const borrowed *index,
                                llrt_gather_params *params, int axis) {
  borrowed out;
  llrt_view view;
  PyObject *made = NULL;
  if (borrow(slots[OUT], "out", &out) < 0) return NULL;
  if (join_device(t->where, t->tensor.device, &out, "out") < 0) return give_back(&out), NULL;
  llrt_status status = llrt_gather_view(&out.tensor, &index->tensor, axis, params, &view);
  if (params->out_of_range == LLRT_RANGE_ZERO || params->out_of_range == LLRT_RANGE_CLAMP)
    refuse("a scatter skips or reports values that are out of range");
  else if (status) raise_status(status);
  else if (check_writable(&out, "out") == 0) {
    op_slot args[] = {{"t", t, true}, {"index", index, true}, {"out", &out, true}};
    made = current_intent
               ? answer_gather(FORM_SCATTER, params, axis, &t->tensor, &view.tensor, args)
               : run(t, &t->tensor, &out, &view.tensor, slots[STREAM], slots[OUT], false);
  }
  give_back(&out);
  return made;
}

PyObject *module_scatter(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)module;
  static keyword words[] = {{"t", NULL},      {"index", NULL}, {"out", NULL},
                            {"axis", NULL},   {"form", NULL},  {"out_of_range", NULL},
                            {"report", NULL}, {"stream", NULL}};
  static const signature what = {"scatter", words, 8, 4, 3};
  PyObject *own[8];
  borrowed t, store;
  if (take_arguments(&what, args, n, names, own) < 0 || borrow(own[0], "t", &t) < 0) return NULL;
  PyObject *slots[N_WORDS] = {own[0], own[1], own[3], NULL, own[2], own[4],
                              own[5], own[6], NULL,   NULL, own[7]};
  PyObject *made = NULL;
  if (borrow(own[2], "out", &store) == 0) {
    made = with_index(slots, &t, &store, scatter_viewed);
    give_back(&store);
  }
  give_back(&t);
  return with_remedy(made, &what, args, n, names);
}
