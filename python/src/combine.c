/* Reduces and scans. */
#include "functions.h"

static int take_combiner(PyObject *object, llrt_combiner *op) {
  static const char *const names[] = {"",       "sum",    "prod", "min", "max",
                                      "argmin", "argmax", "any",  "all"};
  for (int i = 1; i <= LLRT_COMBINE_ALL; i++)
    if (PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, names[i]) == 0)
      return *op = (llrt_combiner)i, 0;
  return refuse("op is one of sum, prod, min, max, argmin, argmax, any, all");
}

static bool is_signed(llrt_dtype dtype) { return dtype >= LLRT_I64 && dtype <= LLRT_I4; }
static bool is_unsigned(llrt_dtype dtype) { return dtype >= LLRT_U64 && dtype <= LLRT_U4; }

/* The type of a result for which none was asked (reduce.h, scan.h). */
static llrt_dtype result_type(llrt_combiner op, llrt_dtype dtype, llrt_dtype accumulate) {
  if (op == LLRT_COMBINE_ARGMIN || op == LLRT_COMBINE_ARGMAX) return LLRT_I64;
  if (op == LLRT_COMBINE_ANY || op == LLRT_COMBINE_ALL) return LLRT_BOOL;
  bool joins = op == LLRT_COMBINE_SUM || op == LLRT_COMBINE_PROD;
  if (!joins || !(is_signed(dtype) || is_unsigned(dtype))) return dtype;
  return accumulate ? accumulate : is_signed(dtype) ? LLRT_I64 : LLRT_U64;
}

/* ---- reduce ---- */

enum { OP, T, AXIS, KEEP, DTYPE, ACCUMULATE, VALUES, TO, OUT, STREAM, N_WORDS };

static void reduced_shape(const llrt_tensor *t, uint32_t axes, bool keep, int *rank,
                          int64_t *shape) {
  *rank = 0;
  for (int a = 0; a < t->rank; a++) {
    bool gone = axes == 0 || axes >> a & 1;
    if (!gone) shape[(*rank)++] = t->shape[a];
    else if (keep) shape[(*rank)++] = 1;
  }
}

static PyObject *answer_reduce(const llrt_reduce_params *params, const borrowed *t,
                               const borrowed *out, const borrowed *values, bool laid) {
  uint32_t axes = params->axes ? params->axes : (uint32_t)((1u << t->tensor.rank) - 1);
  request what = {.kind = LLRT_OP_REDUCE, .n = 2, .tensors = {t->tensor}};
  llrt_storage storage[2];
  what.combine =
      (llrt_op_combine){.op = params->op, .accumulate = params->accumulate, .axes = axes};
  llrt_status status =
      llrt_reduce_keep_axes(&out->tensor, t->tensor.rank, axes, &storage[0], &what.tensors[1]);
  if (!status && values)
    status = llrt_reduce_keep_axes(&values->tensor, t->tensor.rank, axes, &storage[1],
                                   &what.tensors[what.n++]);
  if (status) return raise_status(status);
  Op *op = op_new(FORM_REDUCE);
  if (!op) return NULL;
  op->axes = axes;
  op_slot args[] = {{"t", t, true}, {"out", out, !laid}, {"values", values, true}};
  return answer(&what, op, args, values ? 3 : 2);
}

static PyObject *run_reduce(const llrt_reduce_params *params, const borrowed *t,
                            const borrowed *out, PyObject *asked, PyObject *object) {
  void *stream;
  if (stream_of(t, asked, &stream) < 0) return NULL;
  const llrt_tensor *both[] = {&t->tensor, &out->tensor};
  call_state state;
  workspace_from(t);
  call_begin(&state, call_is_long(LLRT_OP_REDUCE + 256 * (int)(params->op + 16 * params->axes),
                                  both, 2, t));
  llrt_status status = llrt_reduce_into(&t->tensor, &out->tensor, params, stream);
  call_end(&state);
  return status ? raise_status(status) : (Py_INCREF(object), object);
}

static PyObject *reduce_borrowed(PyObject *const *slots, const borrowed *t) {
  llrt_reduce_params params = {0};
  llrt_dtype dtype;
  bool keep;
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  borrowed out, values;
  PyObject *object, *made = NULL;
  if (take_combiner(slots[OP], &params.op) < 0 ||
      take_axes(slots[AXIS], t->tensor.rank, &params.axes) < 0 ||
      take_bool(slots[KEEP], &keep) < 0 || take_dtype(slots[DTYPE], &dtype) < 0 ||
      take_dtype(slots[ACCUMULATE], &params.accumulate) < 0)
    return NULL;
  if (slots[AXIS] && !params.axes && t->tensor.rank) return refuse("axis names no axis"), NULL;
  reduced_shape(&t->tensor, params.axes, keep, &rank, shape);
  if (slots[VALUES] && borrow(slots[VALUES], "values", &values) < 0) return NULL;
  if (slots[VALUES] && check_writable(&values, "values") < 0) return give_back(&values), NULL;
  if (slots[VALUES] && join_device(t->where, t->tensor.device, &values, "values") < 0)
    return give_back(&values), NULL;
  params.values = slots[VALUES] ? &values.tensor : NULL;
  llrt_dtype preset = result_type(params.op, t->tensor.dtype, params.accumulate);
  if (take_destination(t, slots[OUT], slots[TO], NULL, dtype, preset, rank, shape, &out, &object) ==
      0) {
    made = current_intent
               ? answer_reduce(&params, t, &out, slots[VALUES] ? &values : NULL, slots[TO] != NULL)
               : run_reduce(&params, t, &out, slots[STREAM], object);
    give_back(&out);
    Py_DECREF(object);
  }
  if (slots[VALUES]) give_back(&values);
  return made;
}

PyObject *module_reduce(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)module;
  static keyword words[] = {
      {"op", NULL},         {"t", NULL},      {"axis", NULL}, {"keepdims", NULL}, {"dtype", NULL},
      {"accumulate", NULL}, {"values", NULL}, {"to", NULL},   {"out", NULL},      {"stream", NULL}};
  static const signature what = {"reduce", words, N_WORDS, 3, 2};
  PyObject *slots[N_WORDS];
  borrowed t;
  if (take_arguments(&what, args, n, names, slots) < 0 || borrow(slots[T], "t", &t) < 0)
    return NULL;
  if (t.tensor.rank == 0) { /* one element: the same as along an axis of one position */
    t.tensor.rank = 1;
    t.tensor.shape[0] = t.tensor.strides[0] = 1;
    slots[AXIS] = slots[KEEP] = NULL;
  }
  PyObject *made = reduce_borrowed(slots, &t);
  give_back(&t);
  return with_remedy(made, &what, args, n, names);
}

/* ---- scan ---- */

enum {
  S_OP,
  S_T,
  S_AXIS,
  S_EXCLUSIVE,
  S_REVERSE,
  S_DTYPE,
  S_ACCUMULATE,
  S_TO,
  S_OUT,
  S_STREAM,
  S_WORDS
};

static PyObject *answer_scan(const llrt_scan_params *params, const borrowed *t, const borrowed *out,
                             bool laid) {
  request what = {.kind = LLRT_OP_SCAN, .n = 2, .tensors = {t->tensor, out->tensor}};
  what.combine = (llrt_op_combine){.op = params->op,
                                   .accumulate = params->accumulate,
                                   .axes = 1u << params->axis,
                                   .exclusive = params->exclusive,
                                   .reverse = params->reverse};
  op_slot args[] = {{"t", t, true}, {"out", out, !laid}};
  return answer(&what, op_new(FORM_SCAN), args, 2);
}

static PyObject *run_scan(const llrt_scan_params *params, const borrowed *t, const borrowed *out,
                          PyObject *asked, PyObject *object) {
  void *stream;
  if (stream_of(t, asked, &stream) < 0) return NULL;
  const llrt_tensor *both[] = {&t->tensor, &out->tensor};
  call_state state;
  workspace_from(t);
  call_begin(&state,
             call_is_long(LLRT_OP_SCAN + 256 * (int)(params->op + 16 * params->axis), both, 2, t));
  llrt_status status = llrt_scan_into(&t->tensor, &out->tensor, params, stream);
  call_end(&state);
  return status ? raise_status(status) : (Py_INCREF(object), object);
}

static PyObject *scan_borrowed(PyObject *const *slots, const borrowed *t) {
  llrt_scan_params params = {0};
  llrt_dtype dtype;
  bool exclusive, reverse;
  borrowed out;
  PyObject *object, *made;
  if (take_combiner(slots[S_OP], &params.op) < 0 ||
      take_axis(slots[S_AXIS], t->tensor.rank, &params.axis) < 0 ||
      take_bool(slots[S_EXCLUSIVE], &exclusive) < 0 || take_bool(slots[S_REVERSE], &reverse) < 0 ||
      take_dtype(slots[S_DTYPE], &dtype) < 0 ||
      take_dtype(slots[S_ACCUMULATE], &params.accumulate) < 0)
    return NULL;
  params.exclusive = exclusive;
  params.reverse = reverse;
  llrt_dtype preset = result_type(params.op, t->tensor.dtype, params.accumulate);
  if (take_destination(t, slots[S_OUT], slots[S_TO], NULL, dtype, preset, t->tensor.rank,
                       t->tensor.shape, &out, &object) < 0)
    return NULL;
  made = current_intent ? answer_scan(&params, t, &out, slots[S_TO] != NULL)
                        : run_scan(&params, t, &out, slots[S_STREAM], object);
  give_back(&out);
  Py_DECREF(object);
  return made;
}

PyObject *module_scan(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)module;
  static keyword words[] = {
      {"op", NULL},    {"t", NULL},          {"axis", NULL}, {"exclusive", NULL}, {"reverse", NULL},
      {"dtype", NULL}, {"accumulate", NULL}, {"to", NULL},   {"out", NULL},       {"stream", NULL}};
  static const signature what = {"scan", words, S_WORDS, 3, 2};
  PyObject *slots[S_WORDS];
  borrowed t;
  if (take_arguments(&what, args, n, names, slots) < 0 || borrow(slots[S_T], "t", &t) < 0)
    return NULL;
  PyObject *made = scan_borrowed(slots, &t);
  give_back(&t);
  return with_remedy(made, &what, args, n, names);
}
