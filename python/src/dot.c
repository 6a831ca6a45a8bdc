/* dot and dot_pack. */
#include "dot.h"

#include <math.h>

enum {
  A,
  B,
  OUT,
  C,
  BIAS,
  SCALE_A,
  ZERO_A,
  GLOBAL_A,
  SCALE_B,
  ZERO_B,
  GLOBAL_B,
  ADD,
  SCALE,
  ENDS,
  EXPERTS, /* tensors */
  GROUP_A,
  GROUP_B,
  WORD_BITS_A,
  WORD_BITS_B,
  RANGE_A,
  RANGE_B,
  GROUP,
  ALPHA,
  BETA,
  ACTIVATION,
  ACCUMULATE,
  DTYPE,
  TF32,
  FAST,
  BATCH_INVARIANT,
  TO,
  STREAM,
  N_WORDS
};

static keyword words[] = {{"a", NULL},
                          {"b", NULL},
                          {"out", NULL},
                          {"c", NULL},
                          {"bias", NULL},
                          {"scale_a", NULL},
                          {"zero_a", NULL},
                          {"global_a", NULL},
                          {"scale_b", NULL},
                          {"zero_b", NULL},
                          {"global_b", NULL},
                          {"add", NULL},
                          {"scale", NULL},
                          {"ends", NULL},
                          {"experts", NULL},
                          {"group_a", NULL},
                          {"group_b", NULL},
                          {"word_bits_a", NULL},
                          {"word_bits_b", NULL},
                          {"range_a", NULL},
                          {"range_b", NULL},
                          {"group", NULL},
                          {"alpha", NULL},
                          {"beta", NULL},
                          {"activation", NULL},
                          {"accumulate", NULL},
                          {"dtype", NULL},
                          {"tf32", NULL},
                          {"fast_accumulate", NULL},
                          {"batch_invariant", NULL},
                          {"to", NULL},
                          {"stream", NULL}};
static const signature dot_signature = {"dot", words, N_WORDS, 3, 2};

static const struct {
  int word;
  llrt_dot_role role;
} tensors[] = {{A, LLRT_DOT_A},
               {B, LLRT_DOT_B},
               {C, LLRT_DOT_C},
               {BIAS, LLRT_DOT_BIAS},
               {SCALE_A, LLRT_DOT_SCALE_A},
               {ZERO_A, LLRT_DOT_ZERO_A},
               {GLOBAL_A, LLRT_DOT_GLOBAL_A},
               {SCALE_B, LLRT_DOT_SCALE_B},
               {ZERO_B, LLRT_DOT_ZERO_B},
               {GLOBAL_B, LLRT_DOT_GLOBAL_B},
               {ADD, LLRT_DOT_ADD},
               {SCALE, LLRT_DOT_SCALE_D},
               {ENDS, LLRT_DOT_ENDS},
               {EXPERTS, LLRT_DOT_ENDS}};
enum { N_TENSORS = sizeof tensors / sizeof *tensors };

/* ---- arguments ---- */

static int take_number(PyObject *object, double *value) {
  *value = PyFloat_AsDouble(object);
  return *value == -1 && PyErr_Occurred() ? -1 : 0;
}

static int take_scaling(PyObject *group, PyObject *bits, PyObject *range, llrt_dot_scaling *out) {
  int64_t numbers[2] = {0, 0};
  int n = 0;
  if (group && take_numbers(group, "group", 2, &n, out->group) < 0) return -1;
  if (group && n != 2) return refuse("a group has two numbers, of the operand's last two axes");
  if (bits && take_word_bits(bits, out->word_bits) < 0) return -1;
  if (!range) return 0;
  if (take_numbers(range, "range", 2, &n, numbers) < 0) return -1;
  if (n != 2 || numbers[0] < 0 || numbers[1] > 255 || numbers[0] > numbers[1])
    return refuse("a range is (least, most), bytes");
  out->range_low = (uint8_t)numbers[0];
  out->range_high = (uint8_t)numbers[1];
  return 0;
}

static int take_activation(PyObject *object, dot_call *call) {
  static const char *const names[] = {"relu", "gelu", "silu"};
  for (int i = 0; i < 3; i++)
    if (PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, names[i]) == 0) {
      call->maps[call->n_maps++].kind = (llrt_map_kind)(LLRT_MAP_RELU + i);
      return 0;
    }
  return refuse("activation is one of relu, gelu, silu");
}

static int take_result_maps(PyObject *const *slots, dot_call *call) {
  int n = 0;
  if (slots[ADD]) call->maps[call->n_maps++].kind = LLRT_MAP_ADD;
  if (slots[ACTIVATION] && take_activation(slots[ACTIVATION], call) < 0) return -1;
  if (!slots[SCALE]) return slots[GROUP] ? refuse("group without scale") : 0;
  llrt_map *map = &call->maps[call->n_maps++];
  map->kind = LLRT_MAP_SCALE;
  return slots[GROUP] ? take_numbers(slots[GROUP], "group", LLRT_MAX_RANK, &n, map->group) : 0;
}

static int take_params(PyObject *const *slots, dot_call *call) {
  llrt_dot_params *p = &call->params;
  bool tf32, fast, invariant;
  if (take_scaling(slots[GROUP_A], slots[WORD_BITS_A], slots[RANGE_A], &p->a) < 0 ||
      take_scaling(slots[GROUP_B], slots[WORD_BITS_B], slots[RANGE_B], &p->b) < 0 ||
      take_result_maps(slots, call) < 0 || take_dtype(slots[ACCUMULATE], &p->accumulate) < 0 ||
      take_dtype(slots[DTYPE], &p->dtype) < 0 || take_bool(slots[TF32], &tf32) < 0 ||
      take_bool(slots[FAST], &fast) < 0 || take_bool(slots[BATCH_INVARIANT], &invariant) < 0)
    return -1;
  call->alpha = call->beta = NAN;
  if (slots[ALPHA] && take_number(slots[ALPHA], &call->alpha) < 0) return -1;
  if (slots[BETA] && take_number(slots[BETA], &call->beta) < 0) return -1;
  if ((slots[ALPHA] && isnan(call->alpha)) || (slots[BETA] && isnan(call->beta)))
    return refuse("alpha or beta is not a number");
  if (slots[ENDS] && slots[EXPERTS])
    return refuse("ends and experts, of which one says whose rows are");
  call->sorted = slots[EXPERTS] != NULL;
  p->tf32 = tf32;
  p->fast_accumulate = fast;
  p->batch_invariant = invariant;
  return 0;
}

static const llrt_tensor *tensor_of(const dot_call *call, llrt_dot_role role) {
  return call->roles >> role & 1 ? &call->tensor[role].tensor : NULL;
}

void dot_call_point(dot_call *call) {
  llrt_dot_params *p = &call->params;
  p->c = tensor_of(call, LLRT_DOT_C);
  p->bias = tensor_of(call, LLRT_DOT_BIAS);
  p->a.scale = tensor_of(call, LLRT_DOT_SCALE_A);
  p->a.zero = tensor_of(call, LLRT_DOT_ZERO_A);
  p->a.global = tensor_of(call, LLRT_DOT_GLOBAL_A);
  p->b.scale = tensor_of(call, LLRT_DOT_SCALE_B);
  p->b.zero = tensor_of(call, LLRT_DOT_ZERO_B);
  p->b.global = tensor_of(call, LLRT_DOT_GLOBAL_B);
  p->add = tensor_of(call, LLRT_DOT_ADD);
  p->scale = tensor_of(call, LLRT_DOT_SCALE_D);
  p->ends = call->sorted ? NULL : tensor_of(call, LLRT_DOT_ENDS);
  p->experts = call->sorted ? tensor_of(call, LLRT_DOT_ENDS) : NULL;
  p->size = sizeof *p;
  p->alpha = isnan(call->alpha) ? NULL : &call->alpha;
  p->beta = isnan(call->beta) ? NULL : &call->beta;
  set_dot_maps(p, call->maps, call->n_maps);
}

static void give_back_all(dot_call *call) {
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (call->roles >> r & 1) give_back(&call->tensor[r]);
}

static int borrow_all(PyObject *const *slots, dot_call *call) {
  for (int i = 0; i < N_TENSORS; i++) {
    if (!slots[tensors[i].word]) continue;
    if (borrow(slots[tensors[i].word], words[tensors[i].word].name,
               &call->tensor[tensors[i].role]) < 0)
      return -1;
    call->roles |= 1u << tensors[i].role;
    const borrowed *a = &call->tensor[LLRT_DOT_A];
    if (join_device(a->where, a->tensor.device, &call->tensor[tensors[i].role],
                    words[tensors[i].word].name) < 0)
      return -1;
  }
  return 0;
}

/* ---- running ---- */

static PyObject *run(dot_call *call, const borrowed *out, PyObject *asked, PyObject *object) {
  void *stream;
  const borrowed *a = &call->tensor[LLRT_DOT_A], *b = &call->tensor[LLRT_DOT_B];
  if (stream_of(a, asked, &stream) < 0) return NULL;
  const llrt_tensor *three[] = {&a->tensor, &b->tensor, &out->tensor};
  int64_t rows = a->tensor.rank > 1 ? a->tensor.shape[a->tensor.rank - 2] : 1;
  call_state state;
  workspace_from(a);
  call_begin(&state, call_is_long(LLRT_OP_DOT + 256 * (int)call->roles + (rows > 16) + (rows > 1),
                                  three, 3, b));
  llrt_status status = llrt_dot_into(&a->tensor, &b->tensor, &out->tensor, &call->params, stream);
  call_end(&state);
  return status ? raise_status(status) : (Py_INCREF(object), object);
}

static PyObject *answer_dot(dot_call *call, const borrowed *out, bool laid) {
  Op *op = op_new(FORM_DOT);
  if (!op) return NULL;
  op_slot args[OP_ARGUMENTS] = {{"a", &call->tensor[LLRT_DOT_A], true},
                                {"b", &call->tensor[LLRT_DOT_B], true},
                                {"out", out, !laid}};
  op->dot_role[0] = LLRT_DOT_A, op->dot_role[1] = LLRT_DOT_B, op->dot_role[2] = LLRT_DOT_D;
  int n = 3;
  for (int i = 2; i < N_TENSORS; i++) {
    if (!(call->roles >> tensors[i].role & 1)) continue;
    if (tensors[i].word == (call->sorted ? ENDS : EXPERTS)) continue; /* of one role, the other */
    op->dot_role[n] = tensors[i].role;
    args[n++] = (op_slot){words[tensors[i].word].name, &call->tensor[tensors[i].role], true};
  }
  request what = {
      .kind = LLRT_OP_DOT,
      .n = 3,
      .dot = &call->params,
      .tensors = {call->tensor[LLRT_DOT_A].tensor, call->tensor[LLRT_DOT_B].tensor, out->tensor}};
  op->dot = call->params;
  memcpy(op->maps, call->maps, sizeof op->maps);
  op->alpha = call->alpha;
  op->beta = call->beta;
  memcpy(what.maps, call->maps, sizeof call->maps);
  what.n_maps = call->n_maps;
  return answer(&what, op, args, n);
}

static PyObject *dot_borrowed(PyObject *const *slots, dot_call *call) {
  if (borrow_all(slots, call) < 0 || take_params(slots, call) < 0) return NULL;
  dot_call_point(call);
  const borrowed *a = &call->tensor[LLRT_DOT_A];
  llrt_tensor like;
  borrowed out;
  PyObject *object;
  llrt_status status =
      llrt_dot_result(&a->tensor, &call->tensor[LLRT_DOT_B].tensor, &call->params, &like);
  if (status) return raise_status(status);
  if (take_destination(a, slots[OUT], slots[TO], NULL, call->params.dtype, like.dtype, like.rank,
                       like.shape, &out, &object) < 0)
    return NULL;
  PyObject *made = current_intent ? answer_dot(call, &out, slots[TO] != NULL)
                                  : run(call, &out, slots[STREAM], object);
  give_back(&out);
  Py_DECREF(object);
  return made;
}

PyObject *module_dot(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)module;
  PyObject *slots[N_WORDS];
  dot_call call = {0};
  if (take_arguments(&dot_signature, args, n, names, slots) < 0) return NULL;
  PyObject *made = dot_borrowed(slots, &call);
  give_back_all(&call);
  return with_remedy(made, &dot_signature, args, n, names);
}

/* ---- dot_pack ---- */

static PyObject *bits_tuple(const uint8_t *bits) {
  int64_t numbers[32];
  for (int i = 0; i < 32; i++) numbers[i] = bits[i];
  return shape_tuple(32, numbers);
}

/* (storage of elements, of scales or None, of zero points or None, word_bits for convert, for dot;
 * None without). */
static PyObject *show_packing(const llrt_dot_pack_params *params, const llrt_dot_packing *packing) {
  PyObject *parts[5] = {NULL};
  bool there[3] = {true, params->scale != LLRT_DTYPE_NONE, params->zero != LLRT_DTYPE_NONE};
  for (int i = 0; i < 3; i++) {
    parts[i] = there[i] ? (PyObject *)storage_new(&packing->storages[i], NULL,
                                                  packing->storages[i].rank, NULL)
                        : Py_None;
    if (!there[i]) Py_INCREF(Py_None);
  }
  for (int i = 3; i < 5; i++) {
    parts[i] =
        packing->n_maps ? bits_tuple(i == 3 ? packing->map.perm : packing->word_bits) : Py_None;
    if (!packing->n_maps) Py_INCREF(Py_None);
  }
  return Py_BuildValue("(NNNNN)", parts[0], parts[1], parts[2], parts[3], parts[4]);
}

PyObject *module_dot_pack(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)module;
  enum { P_DTYPE, P_TARGET, P_SCALE, P_GROUP, P_OTHER, P_ZERO, P_RANGE, P_BATCH, P_WORDS };
  static keyword pack_words[] = {{"dtype", NULL}, {"target", NULL}, {"scale", NULL},
                                 {"group", NULL}, {"other", NULL},  {"zero", NULL},
                                 {"range", NULL}, {"n_batch", NULL}};
  static const signature what = {"dot_packing", pack_words, P_WORDS, 2, 2};
  PyObject *slots[P_WORDS];
  llrt_dot_pack_params params = {0};
  llrt_dot_packing packing = {0};
  llrt_dot_scaling scaling = {0};
  int64_t batch;
  if (take_arguments(&what, args, n, names, slots) < 0 ||
      take_dtype(slots[P_DTYPE], &params.dtype) < 0 ||
      take_dtype(slots[P_SCALE], &params.scale) < 0 ||
      take_dtype(slots[P_OTHER], &params.other) < 0 ||
      take_dtype(slots[P_ZERO], &params.zero) < 0 ||
      take_int(slots[P_BATCH], "n_batch", 0, &batch) < 0 ||
      take_scaling(slots[P_GROUP], NULL, slots[P_RANGE], &scaling) < 0)
    return NULL;
  const char *target =
      PyUnicode_Check(slots[P_TARGET]) ? PyUnicode_AsUTF8AndSize(slots[P_TARGET], NULL) : NULL;
  if (!target)
    return PyErr_Occurred() ? NULL
                            : (PyErr_SetString(PyExc_TypeError, "target must be a str"), NULL);
  memcpy(params.group, scaling.group, sizeof params.group);
  params.range_low = scaling.range_low;
  params.range_high = scaling.range_high;
  params.n_batch = (int32_t)batch;
  llrt_status status = llrt_dot_pack(&params, target, LLRT_DOT_B, &packing);
  return status ? raise_status(status) : show_packing(&params, &packing);
}
