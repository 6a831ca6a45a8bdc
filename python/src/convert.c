/* convert and convert_. */
#include "functions.h"

#include <time.h>

/* ---- which calls are long ---- */

enum { LONG_BYTES = 1 << 15 }; /* of a tensor on the host: ten microseconds */

static uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15u; }

bool call_is_long(int kind, const llrt_tensor *const *tensors, int n, const borrowed *first) {
  uint64_t hash = mix(0x6c6c7274, (uint64_t)kind);
  int64_t elements = 1;
  for (int i = 0; i < n; i++) {
    const llrt_tensor *t = tensors[i];
    hash = mix(hash, (uint64_t)(uintptr_t)t->storage ^ (uint64_t)t->dtype << 56 ^
                         ((uintptr_t)t->data & 63) << 48);
  }
  for (int i = 0; i < tensors[0]->rank; i++) elements *= tensors[0]->shape[i];
  bool known = call_is_known(mix(hash, (uint64_t)(uintptr_t)tensors[0]->device) | 1);
  return !known || (device_is_host(first->where) &&
                    elements * llrt_dtype_bits(tensors[0]->dtype) / 8 > LONG_BYTES);
}

/* ---- maps ---- */

int take_word_bits(PyObject *object, uint8_t *bits) {
  int64_t values[32];
  int n;
  if (take_numbers(object, "word_bits", 32, &n, values) < 0) return -1;
  if (n != 32) return refuse("word_bits has %d entries, a word has 32 bits", n);
  for (int i = 0; i < 32; i++) {
    if (values[i] < 0 || values[i] > 31)
      return refuse("word_bits: %lld is no bit of a word", (long long)values[i]);
    bits[i] = (uint8_t)values[i];
  }
  return 0;
}

/* Positions that share a scale along each axis, by the shapes, unless said. */
static int take_groups(PyObject *object, const llrt_tensor *source, const llrt_tensor *scale,
                       int64_t *group) {
  int n;
  if (object) {
    if (take_numbers(object, "group", LLRT_MAX_RANK, &n, group) < 0) return -1;
    return n == source->rank ? 0
                             : refuse("group has %d entries, the tensor %d axes", n, source->rank);
  }
  if (scale->rank != source->rank)
    return refuse("scale has %d axes, the tensor %d", scale->rank, source->rank);
  for (int i = 0; i < source->rank; i++) {
    int64_t positions = scale->shape[i], extent = source->shape[i];
    if (positions == extent) group[i] = 1;
    else if (positions == 1) group[i] = LLRT_GROUP_ALL;
    else if (positions > 0 && extent % positions == 0) group[i] = extent / positions;
    else
      return refuse("axis %d: %lld positions, %lld scales: say group=", i, (long long)extent,
                    (long long)positions);
  }
  return 0;
}

static int take_xor(PyObject *object, llrt_map *map) {
  map->kind = LLRT_MAP_XOR;
  map->constant = PyLong_AsUnsignedLongLong(object);
  if (!PyErr_Occurred()) return 0;
  PyErr_Clear();
  PyErr_SetString(PyExc_TypeError, "xor must be an integer of at most 64 bits, 0 or more");
  return -1;
}

int take_maps(const map_arguments *given, const llrt_tensor *source, map_list *out) {
  out->n = 0;
  out->scaled = false;
  if (!given->scale && !given->exclusive_or && !given->word_bits)
    return given->group ? refuse("group without scale") : 0;
  memset(out->maps, 0, sizeof out->maps);
  if (given->exclusive_or && take_xor(given->exclusive_or, &out->maps[out->n++]) < 0) return -1;
  if (given->scale) {
    if (borrow(given->scale, "scale", &out->scale) < 0) return -1;
    out->scaled = true;
    llrt_map *map = &out->maps[out->n++];
    map->kind = LLRT_MAP_SCALE;
    if (take_groups(given->group, source, &out->scale.tensor, map->group) < 0)
      return give_back_maps(out), -1;
  }
  if (given->word_bits) {
    llrt_map *map = &out->maps[out->n++];
    map->kind = LLRT_MAP_WORD_BITS;
    if (take_word_bits(given->word_bits, map->perm) < 0) return give_back_maps(out), -1;
  }
  return 0;
}

void give_back_maps(map_list *list) {
  if (list->scaled) give_back(&list->scale);
  list->scaled = false;
}

/* ---- convert ---- */

enum { T, TO, FRM, OUT, DTYPE, SCALE, GROUP, XOR, WORD_BITS, AS, STREAM, N_WORDS };
static keyword convert_words[] = {{"t", NULL},     {"to", NULL},    {"frm", NULL},
                                  {"out", NULL},   {"dtype", NULL}, {"scale", NULL},
                                  {"group", NULL}, {"xor", NULL},   {"word_bits", NULL},
                                  {"as_", NULL},   {"stream", NULL}};
static const signature convert_signature = {"convert", convert_words, N_WORDS, 2, 1};

/* frm=: the source's memory lies so. */
static int lie_as(borrowed *from, PyObject *frm) {
  Storage *storage = storage_for(frm, from->tensor.rank, from->tensor.shape);
  if (!storage) return -1;
  if (from->tensor.storage && !from->dense)
    return refuse("t is not contiguous: frm describes all of its memory");
  size_t bytes;
  from->tensor.storage = &storage->rule;
  llrt_status status = llrt_tensor_bytes(&from->tensor, &bytes);
  if (status) return raise_status(status), -1;
  return bytes <= from->bytes ? 0 : refuse("frm takes %zu bytes, t has %zu", bytes, from->bytes);
}

static request request_of(const llrt_tensor *source, const llrt_tensor *destination,
                          const map_list *maps) {
  request what = {
      .kind = LLRT_OP_CONVERT, .n = 2, .tensors = {*source, *destination}, .n_maps = maps->n};
  memcpy(what.maps, maps->maps, sizeof *what.maps * (size_t)maps->n);
  if (maps->scaled) what.tensors[what.n++] = maps->scale.tensor;
  return what;
}

static PyObject *prepare_convert(PyObject *const *slots, const borrowed *t, const borrowed *out,
                                 const map_list *maps) {
  request what = request_of(&t->tensor, &out->tensor, maps);
  op_slot args[] = {{"t", t, !slots[FRM]}, {"out", out, !slots[TO]}, {"scale", &maps->scale, true}};
  return answer(&what, op_new(FORM_CONVERT), args, maps->scaled ? 3 : 2);
}

static llrt_status run_convert(const borrowed *t, const borrowed *out, const map_list *maps,
                               void *stream) {
  llrt_convert_params params = {0};
  set_maps(&params, maps->maps, maps->n);
  params.scale = maps->scaled ? &maps->scale.tensor : NULL;
  const llrt_tensor *both[] = {&t->tensor, &out->tensor};
  call_state state;
  workspace_from(t);
  call_begin(&state, call_is_long(LLRT_OP_CONVERT + 16 * maps->n, both, 2, t));
  llrt_status status =
      llrt_convert_into(&t->tensor, &out->tensor, maps->n ? &params : NULL, stream);
  call_end(&state);
  return status;
}

static PyObject *convert_borrowed(PyObject *const *slots, borrowed *t) {
  map_arguments given = {slots[SCALE], slots[GROUP], slots[XOR], slots[WORD_BITS]};
  map_list maps;
  llrt_dtype dtype;
  borrowed out;
  PyObject *object, *answered = NULL;
  void *stream;
  if (slots[FRM] && lie_as(t, slots[FRM]) < 0) return NULL;
  if (take_dtype(slots[DTYPE], &dtype) < 0 || take_maps(&given, &t->tensor, &maps) < 0) return NULL;
  if ((maps.scaled && join_device(t->where, t->tensor.device, &maps.scale, "scale") < 0) ||
      take_destination(t, slots[OUT], slots[TO], slots[AS], dtype, t->tensor.dtype, t->tensor.rank,
                       t->tensor.shape, &out, &object) < 0)
    return give_back_maps(&maps), NULL;
  if (current_intent) {
    answered = prepare_convert(slots, t, &out, &maps);
  } else if (stream_of(t, slots[STREAM], &stream) == 0) {
    llrt_status status = run_convert(t, &out, &maps, stream);
    answered = status ? raise_status(status) : (Py_INCREF(object), object);
  }
  Py_DECREF(object);
  give_back(&out);
  give_back_maps(&maps);
  return answered;
}

PyObject *module_convert(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)module;
  PyObject *slots[N_WORDS];
  borrowed t;
  if (take_arguments(&convert_signature, args, n, names, slots) < 0 ||
      borrow(slots[T], "t", &t) < 0)
    return NULL;
  PyObject *made = convert_borrowed(slots, &t);
  give_back(&t);
  return with_remedy(made, &convert_signature, args, n, names);
}

/* ---- what the same call costs from C ---- */

int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* _convert_in_c(t, to, out, n): nanoseconds of llrt_convert_into. */
PyObject *module_convert_in_c(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *object, *to, *given, *made;
  int n;
  borrowed t, out;
  void *stream = NULL;
  if (!PyArg_ParseTuple(args, "OOOi", &object, &to, &given, &n) || borrow(object, "t", &t) < 0)
    return NULL;
  int failed = take_destination(&t, given, to, NULL, LLRT_DTYPE_NONE, t.tensor.dtype, t.tensor.rank,
                                t.tensor.shape, &out, &made);
  if (failed) return give_back(&t), NULL;
  failed = stream_of(&t, NULL, &stream);
  workspace_from(&t);
  llrt_status status = LLRT_OK;
  int64_t begin = nanoseconds();
  for (int i = 0; i < n && !failed && !status; i++)
    status = llrt_convert_into(&t.tensor, &out.tensor, NULL, stream);
  int64_t end = nanoseconds();
  give_back(&out);
  give_back(&t);
  Py_DECREF(made);
  if (status) raise_status(status);
  return failed || status ? NULL : PyFloat_FromDouble((double)(end - begin) / n);
}

/* ---- convert_ ---- */

static PyObject *convert_in_place(PyObject *const *slots, const borrowed *t) {
  borrowed from = *t, to = *t;
  void *stream;
  map_list none = {.n = 0};
  if (slots[1] && lie_as(&from, slots[1]) < 0) return NULL;
  if (lie_as(&to, slots[2]) < 0 || check_writable(t, "t") < 0) return NULL;
  if (current_intent) {
    request what = request_of(&from.tensor, &to.tensor, &none);
    what.in_place = true;
    op_slot args[] = {{"t", &from, false}, {"out", &to, false}};
    return answer(&what, op_new(FORM_CONVERT), args, 2);
  }
  if (stream_of(t, slots[3], &stream) < 0) return NULL;
  llrt_status status = run_convert(&from, &to, &none, stream);
  if (status) return raise_status(status);
  return Py_INCREF(slots[0]), slots[0];
}

PyObject *module_convert_in_place(PyObject *module, PyObject *const *args, Py_ssize_t n,
                                  PyObject *names) {
  (void)module;
  static keyword words[] = {{"t", NULL}, {"frm", NULL}, {"to", NULL}, {"stream", NULL}};
  static const signature what = {"convert_", words, 4, 3, 1};
  PyObject *slots[4];
  borrowed t;
  if (take_arguments(&what, args, n, names, slots) < 0) return NULL;
  if (!slots[2])
    return PyErr_SetString(PyExc_TypeError, "convert_() missing required argument 'to'"), NULL;
  if (borrow(slots[0], "t", &t) < 0) return NULL;
  PyObject *made = convert_in_place(slots, &t);
  give_back(&t);
  return with_remedy(made, &what, args, n, names);
}
