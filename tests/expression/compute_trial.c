/* See compute_trial.h. */
#include "tests/expression/compute_trial.h"
#include "tests/expression/trial_beside.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/types/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[1024];
static llrt_context *context;
static bool refused;

bool trial_refused(void) { return refused; }

llrt_device *trial_device(const char *name) {
  static struct {
    char name[32];
    llrt_device *device;
  } known[12];
  static int n;
  for (int i = 0; i < n; i++)
    if (strcmp(known[i].name, name) == 0) return known[i].device;
  if (!context && llrt_context_create(NULL, &context) != LLRT_OK) return NULL;
  snprintf(known[n].name, sizeof known[n].name, "%s", name);
  if (llrt_device_open(context, name, NULL, &known[n].device) != LLRT_OK) return NULL;
  return known[n++].device;
}

void trial_read_text(const char *name, char *text, size_t size) {
  char path[600];
  const char *folder = getenv("LLRT_TEST_EXPRESSIONS");
  if (folder) snprintf(path, sizeof path, "%s/%s.llrt", folder, name);
  else snprintf(path, sizeof path, "%s/examples/expressions/%s.llrt", LLRT_TEST_SOURCE_DIR, name);
  FILE *file = fopen(path, "r");
  text[file ? fread(text, 1, size - 1, file) : 0] = 0;
  if (file) fclose(file);
}

static uint64_t next(uint64_t *state) {
  *state += 0x9E3779B97F4A7C15u;
  uint64_t x = *state;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/* ---- memory ---- */

static uint64_t get_code(const trial_side *s, int64_t offset) {
  int bits = llrt_dtype_bits(s->tensor.dtype);
  uint64_t code = 0;
  if (bits == 4) return s->host[TRIAL_GUARD + offset / 2] >> (offset % 2 * 4) & 15;
  memcpy(&code, s->host + TRIAL_GUARD + offset * (bits / 8), (size_t)bits / 8);
  return code;
}

static void put_code(trial_side *s, int64_t offset, uint64_t code) {
  int bits = llrt_dtype_bits(s->tensor.dtype);
  unsigned char *byte = s->host + TRIAL_GUARD + offset * bits / 8;
  if (bits == 4)
    *byte = (unsigned char)(offset % 2 ? (*byte & 15) | code << 4 : (*byte & 0xF0) | (code & 15));
  else memcpy(byte, &code, (size_t)bits / 8);
}

/* u64 is what it is as i64: that is what expressions compute in. */
static bool is_wide(llrt_dtype type) { return type == LLRT_I64 || type == LLRT_U64; }

static double decode(llrt_dtype type, uint64_t code) {
  if (is_wide(type)) return (double)(int64_t)code;
  if (type == LLRT_BOOL) return code & 0xFF ? 1 : 0;
  return number_value(number_format_of(type), code);
}

static uint64_t encode(llrt_dtype type, double x) {
  if (is_wide(type)) return (uint64_t)(int64_t)x;
  if (type == LLRT_BOOL) return x != 0;
  if (type == LLRT_E8M0) return (uint64_t)(ilogb(x) + 127);
  return number_code(number_format_of(type), x);
}

static void split(int rank, const int64_t *shape, int64_t element, int64_t coords[LLRT_MAX_RANK]) {
  for (int a = rank - 1; a >= 0; a--) {
    coords[a] = element % shape[a];
    element /= shape[a];
  }
}

/* Where coordinates of what is in memory lie. */
static int64_t place_in_memory(const trial_side *s, int64_t coords[LLRT_MAX_RANK]) {
  int64_t position = s->pointers ? coords[s->index.axis] : 0;
  if (s->pointers) coords[s->index.axis] = 0;
  return position * s->slice + llrt_storage_offset(&s->storage, &s->binding, coords);
}

/* Where an element of the tensor lies; -1: nowhere, or beyond the count. */
static int64_t offset_of(const trial *t, const trial_side *s, int64_t element) {
  int64_t coords[LLRT_MAX_RANK];
  split(s->tensor.rank, s->tensor.shape, element, coords);
  if (s->counted >= 0 && coords[s->counted] >= t->count) return -1;
  if (s->tensor.n_indices) {
    int64_t at = 0, *own = &coords[s->index.axis];
    for (int a = 0; a < s->tensor.rank; a++)
      if (s->index.axes >> a & 1) at += coords[a] * s->index.strides[a];
    for (int a = 0; a < s->tensor.rank; a++)
      if (s->index.folded >> a & 1) coords[a] = 0;
    *own = s->value[at];
    if (s->index.out_of_range == LLRT_RANGE_CLAMP && *own < 0) *own = 0;
    if (s->index.out_of_range == LLRT_RANGE_CLAMP && *own >= s->positions) *own = s->positions - 1;
    if (*own < 0 || *own >= s->positions) return -1;
  }
  return place_in_memory(s, coords);
}

/* Of any bits that the type may have; NaN stay with `special`. */
static double draw_wide(llrt_dtype type, uint64_t bits) {
  int width = bits_min(llrt_dtype_bits(type), is_wide(type) ? 32 : 64);
  uint64_t code = bits_mask(width) & bits;
  if (is_wide(type)) return (double)(int32_t)code;
  double x = decode(type, code);
  return isfinite(x) ? x : 1;
}

static double draw(const trial *t, bool wide, llrt_dtype type, uint64_t *state, int64_t element) {
  uint64_t bits = next(state);
  if (wide && type != LLRT_BOOL && (!t->special || bits % 5)) return draw_wide(type, next(state));
  double unit = (double)(bits >> 11) * 0x1p-53;
  bool real = type != LLRT_BOOL && !is_wide(type) && number_format_of(type)->kind == NUMBER_FLOAT;
  if (type == LLRT_BOOL) return (double)(bits & 1);
  if (type == LLRT_E8M0) return ldexp(1, (int)(bits % 12) - 6);
  if (!real) return floor(unit * 15) - (llrt_dtype_name(type)[0] == 'u' ? 0 : 7);
  if (t->special && bits % 11 == 3) return 0;
  if (t->special && bits % 53 == 4) return bits & 1024 ? INFINITY : -INFINITY;
  if (t->special && bits % 97 == 5) return (double)NAN;
  if (t->special && element % 5 == 2 && bits % 4) return 0;
  return unit * 8 - 4;
}

/* ---- indices ---- */

/* Positions in a random order, so that no two elements of an output meet; one in seven is out of
 * range. */
static void draw_values(trial_side *s, int64_t n, uint64_t *state) {
  int64_t extent = s->positions;
  for (int64_t i = 0; i < n; i++) s->value[i] = i % extent;
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t other = (int64_t)(next(state) % (uint64_t)(i + 1)), kept = s->value[i];
    s->value[i] = s->value[other];
    s->value[other] = kept;
  }
  for (int64_t i = 0; i < n; i++)
    if (next(state) % 7 == 3) s->value[i] = i % 2 ? -1 - i : extent + i;
}

/* Values from the last one on to their places, `step` apart. */
static void spread_values(int64_t *value, int64_t n, int64_t step) {
  for (int64_t i = n - 1; i > 0 && step > 1; i--) {
    value[i * step] = value[i];
    value[i] = i % step ? 0 : value[i];
  }
}

/* The address of a slice; of no position none. */
static int64_t address_of(const trial_side *s, int64_t position) {
  int64_t bytes = s->slice * (llrt_dtype_bits(s->tensor.dtype) / 8);
  bool there = position >= 0 && position < s->positions;
  return there ? (int64_t)(uintptr_t)s->tensor.data + position * bytes : position < 0 ? -8 : 0;
}

static void put_values(const trial_side *s, llrt_dtype dtype, int64_t *codes) {
  if (s->pointers) {
    for (int64_t i = 0; i < s->n_values; i++) codes[i] = address_of(s, s->value[i]);
    return;
  }
  if (dtype == LLRT_I64) {
    memcpy(codes, s->value, (size_t)s->n_values * sizeof *codes);
    return;
  }
  for (int64_t i = 0; i < s->n_values; i++) ((int32_t *)codes)[i] = (int32_t)s->value[i];
}

static llrt_status make_index(const trial *t, int i, uint64_t *state, trial_side *s) {
  const trial_index *from = &t->tensor[i].index;
  llrt_tensor *tensor = &s->tensor;
  memcpy(s->pool, tensor->shape, sizeof s->pool);
  if (!from->positions) return LLRT_OK;
  int64_t n = 1;
  s->pointers = t->rare[i].pointers && llrt_dtype_bits(tensor->dtype) >= 8;
  s->positions = from->positions;
  bool narrow = t->rare[i].index_dtype == LLRT_I32 && !s->pointers;
  int64_t step = 1 + t->rare[i].index_gap;
  s->index = (llrt_index){.axis = from->axis,
                          .out_of_range = from->out_of_range,
                          .kind = s->pointers ? LLRT_INDEX_POINTER : LLRT_INDEX_COORDINATE,
                          .dtype = narrow ? LLRT_I32 : LLRT_I64,
                          .axes = 1u << from->axis,
                          .extent = s->pointers ? 0 : from->positions};
  if (from->by) s->index.axes |= s->index.folded = 1u << (from->by - 1);
  for (int a = tensor->rank - 1; a >= 0; a--) {
    if (!(s->index.axes >> a & 1)) continue;
    s->index.strides[a] = n * step;
    n *= tensor->shape[a];
  }
  s->pool[from->axis] = from->positions;
  if (from->by) s->pool[from->by - 1] = 1;
  s->value = calloc((size_t)(n * step) + 2, sizeof *s->value);
  if (t->fill) t->fill(s->value, n, from->positions);
  else draw_values(s, n, state);
  spread_values(s->value, n, step);
  tensor->indices = &s->index;
  tensor->n_indices = 1;
  s->n_values = n * step;
  if (from->out_of_range == LLRT_RANGE_REPORT) s->index.report = (int32_t *)s->value; /* a place */
  return LLRT_OK;
}

/* Sends the index's values, behind which there is a counter of those out of range. */
static llrt_status send_index(const trial *t, trial_side *s) {
  if (!s->tensor.n_indices) return LLRT_OK;
  size_t bytes = ((size_t)s->n_values + 2) * sizeof *s->value;
  int64_t *codes = calloc(1, bytes);
  put_values(s, s->index.dtype, codes);
  llrt_status status = llrt_memory_allocate(t->device, bytes, &s->device_value);
  s->index.data = s->device_value;
  if (s->index.report) s->index.report = (int32_t *)((int64_t *)s->device_value + s->n_values);
  if (status == LLRT_OK)
    status = llrt_memory_copy(t->device, s->device_value, codes, bytes, LLRT_COPY_TO_DEVICE, NULL);
  if (status == LLRT_OK) status = llrt_stream_synchronize(t->device, NULL);
  free(codes);
  return status;
}

/* The axis of the tensor that the counted axis is; -1: none. */
static int counted_axis(const trial *t, const expr_tensor *own, int leading) {
  for (int d = 0; d < own->n_dims && t->counted; d++)
    if (own->dim[d].n == 1 && own->dim[d].axis[0] == t->counted - 1) return leading + d;
  return -1;
}

/* ---- a tensor ---- */

void trial_fill_shape(const trial *t, const reference *r, int i, llrt_tensor *tensor) {
  const expr_tensor *own = &r->expr->tensor[i];
  for (int a = 0; a < (own->leading ? t->n_leading : 0); a++)
    tensor->shape[tensor->rank++] = t->leading[a];
  for (int d = 0; d < own->n_dims; d++) {
    int64_t extent = 1;
    for (int j = 0; j < own->dim[d].n; j++) extent *= r->extent[own->dim[d].axis[j]];
    tensor->shape[tensor->rank++] = extent;
  }
}

/* Draws all that lies in memory, and sees what of it the elements are. */
static void draw_elements(const trial *t, int i, uint64_t *state, trial_side *s) {
  llrt_dtype type = s->tensor.dtype;
  int64_t in_memory = 1, coords[LLRT_MAX_RANK];
  for (int a = 0; a < s->tensor.rank; a++) in_memory *= s->pool[a];
  for (int64_t e = 0; e < in_memory; e++) {
    split(s->tensor.rank, s->pool, e, coords);
    double x = t->tensor[i].unit ? ((double)(next(state) >> 12) + 0.5) * 0x1p-52
                                 : draw(t, t->rare[i].wide, type, state, e);
    put_code(s, place_in_memory(s, coords), encode(type, x));
  }
  for (int64_t e = 0; e < s->count; e++) {
    int64_t at = offset_of(t, s, e);
    s->number[e] = decode(type, at < 0 ? 0 : get_code(s, at)); /* of e8m0 code 0 is no 0 */
  }
}

/* Axes in a drawn order, each behind all that lie inside of it, and a gap; with `spread` some along
 * which all elements are one. */
static void draw_strides(uint64_t state, bool spread, trial_side *s) {
  llrt_tensor *tensor = &s->tensor;
  int64_t stride = 1;
  bool done[LLRT_MAX_RANK] = {false};
  for (int n = tensor->rank; n > 0; n--) {
    int a = tensor->rank - 1, skipped = next(&state) % 3 ? 0 : (int)(next(&state) % (uint64_t)n);
    while (done[a] || skipped-- > 0) a--;
    done[a] = true;
    tensor->strides[a] = stride;
    if (spread && next(&state) % 6 == 0) {
      tensor->strides[a] = 0;
      continue;
    }
    stride = stride * bits_max((int)s->pool[a], 1) +
             (next(&state) % 3 ? 0 : (int64_t)(next(&state) % 9));
  }
}

/* The tensor whose memory it has: itself, or what it is in place of. */
int trial_place_of_tensor(const trial *t, const reference *r, int i) {
  return t->in_place && i == r->expr->n_inputs ? t->in_place - 1 : i;
}

static llrt_status lay_out(const trial *t, const reference *r, int i, trial_side *s) {
  llrt_tensor *tensor = &s->tensor;
  int64_t bytes = 0, shape[LLRT_MAX_RANK];
  memcpy(shape, s->pool, sizeof shape);
  if (s->pointers) shape[s->index.axis] = 1;
  if (t->rare[i].strided) {
    bool spread = !r->expr->tensor[i].output && t->in_place != i + 1;
    draw_strides(t->seed + (uint64_t)trial_place_of_tensor(t, r, i), spread, s);
    LLRT_TRY(llrt_storage_strided(tensor->rank, NULL, &s->storage));
  } else if (trial_beside.has[i]) {
    int64_t stride = 1;
    for (int a = tensor->rank - 1; a >= 0; stride *= tensor->shape[a--])
      tensor->strides[a] = a ? stride : trial_beside.pitch / (llrt_dtype_bits(tensor->dtype) / 8);
    LLRT_TRY(llrt_storage_strided(tensor->rank, NULL, &s->storage));
  } else if (t->tensor[i].storage)
    LLRT_TRY(llrt_storage_parse(t->tensor[i].storage, tensor->rank, shape, &s->storage));
  else LLRT_TRY(llrt_storage_row_major(tensor->rank, &s->storage));
  LLRT_TRY(llrt_storage_bind(&s->storage, tensor->rank, shape, tensor->strides, &s->binding));
  LLRT_TRY(llrt_storage_bytes(&s->binding, llrt_dtype_bits(tensor->dtype), &bytes));
  s->slice = bytes * 8 / llrt_dtype_bits(tensor->dtype);
  s->bytes = (size_t)(s->pointers ? bytes * s->positions : bytes);
  return LLRT_OK;
}

static const char *make_side(const trial *t, const reference *r, int i, const void *count,
                             trial_side *s) {
  const expr_tensor *own = &r->expr->tensor[i];
  llrt_tensor *tensor = &s->tensor;
  uint64_t state = t->seed * 1000 + (uint64_t)i;
  *tensor = (llrt_tensor){.dtype = r->type[i], .device = t->device};
  trial_fill_shape(t, r, i, tensor);
  s->counted = counted_axis(t, own, own->leading ? t->n_leading : 0);
  if (s->counted >= 0) tensor->extent_ptr[s->counted] = count;
  if (make_index(t, i, &state, s) != LLRT_OK || lay_out(t, r, i, s) != LLRT_OK)
    return llrt_last_error();
  int shift =
      t->offset * (llrt_dtype_bits(tensor->dtype) >= 8 ? llrt_dtype_bits(tensor->dtype) / 8 : 1);
  s->count = reference_count(r, i);
  s->number = calloc((size_t)s->count + 1, sizeof *s->number);
  s->host = malloc(s->bytes + 2 * TRIAL_GUARD);
  s->written = calloc(s->bytes + 1, 1);
  memset(s->host, TRIAL_UNTOUCHED, s->bytes + 2 * TRIAL_GUARD);
  if (!own->output) draw_elements(t, i, &state, s);
  if (llrt_memory_allocate(t->device, s->bytes + 2 * TRIAL_GUARD + 64, &s->device) != LLRT_OK ||
      llrt_memory_copy(t->device, (char *)s->device + shift, s->host, s->bytes + 2 * TRIAL_GUARD,
                       LLRT_COPY_TO_DEVICE, NULL) != LLRT_OK)
    return llrt_last_error();
  tensor->data = (char *)s->device + shift + TRIAL_GUARD;
  tensor->storage = &s->storage;
  return send_index(t, s) == LLRT_OK ? NULL : llrt_last_error();
}

static void free_side(const trial *t, trial_side *s) {
  free(s->number);
  free(s->host);
  free(s->written);
  free(s->value);
  llrt_memory_free(t->device, s->device);
  if (s->device_value) llrt_memory_free(t->device, s->device_value);
}

/* ---- comparing ---- */

/* Bytes that no element of the output has. in_place: they are an input's; pads that the storage
 * gives a value are written beside elements. */
static const char *check_untouched(const trial *t, const trial_side *s) {
  bool plain = !t->in_place && s->storage.pad != LLRT_PAD_VALUE;
  for (size_t b = 0; b < TRIAL_GUARD; b++)
    if (s->host[b] != TRIAL_UNTOUCHED || s->host[TRIAL_GUARD + s->bytes + b] != TRIAL_UNTOUCHED)
      return "memory beside an output changed";
  for (size_t b = 0; b < s->bytes && plain; b++)
    if (!s->written[b] && s->host[TRIAL_GUARD + b] != TRIAL_UNTOUCHED)
      return "what no element is sent to, or no count reaches, changed";
  return NULL;
}

/* An input's memory, and what lies beside it, is as it was sent. */
static const char *check_read_alone(const trial *t, const trial_side *s) {
  size_t bytes = s->bytes + 2 * TRIAL_GUARD;
  unsigned char *now = malloc(bytes);
  bool got = llrt_memory_copy(t->device, now, (char *)s->tensor.data - TRIAL_GUARD, bytes,
                              LLRT_COPY_FROM_DEVICE, NULL) == LLRT_OK &&
             llrt_stream_synchronize(t->device, NULL) == LLRT_OK;
  bool same = got && memcmp(now, s->host, bytes) == 0;
  free(now);
  return !got ? llrt_last_error() : same ? NULL : "an input changed";
}

/* Whether the tensor has an element that a run moves. */
static bool has_elements(const trial *t, const reference *r, const trial_side *s, int tensor) {
  return reference_count(r, tensor) > 0 && (s[tensor].counted < 0 || t->count > 0);
}

/* Whether an output that has elements is made of the tensor's. */
static bool is_used(const trial *t, const reference *r, const trial_side *s, int tensor) {
  const llrt_expr *expr = r->expr;
  bool live[LLRT_EXPR_MAX_NODES] = {false};
  bool used = expr->tensor[tensor].output && has_elements(t, r, s, tensor);
  for (int i = expr->n_inputs; i < expr->n_tensors; i++)
    live[expr->tensor[i].node] |= has_elements(t, r, s, i);
  for (int i = expr->n_nodes - 1; i >= 0; i--) {
    const expr_node *node = &expr->node[i];
    for (int k = 0; k < node->n_args; k++) live[node->arg[k]] |= live[i];
    used |= live[i] && node->op == EXPR_TENSOR && node->slot == tensor;
  }
  return used;
}

/* Whether the counter has grown by one for each value out of range that an element has. */
static const char *check_report(const trial *t, const reference *r, int tensor,
                                const trial_side *sides) {
  const trial_side *s = &sides[tensor];
  int64_t n = 1, wrong = 0, got = 0, shape[LLRT_MAX_RANK], coords[LLRT_MAX_RANK];
  if (!s->tensor.n_indices || s->index.out_of_range != LLRT_RANGE_REPORT) return NULL;
  for (int a = 0; a < s->tensor.rank; a++) {
    shape[a] = s->index.axes >> a & 1 ? s->tensor.shape[a] : 1;
    n *= shape[a];
  }
  for (int64_t i = 0; i < n && s->count > 0 && is_used(t, r, sides, tensor); i++) {
    int64_t at = 0;
    split(s->tensor.rank, shape, i, coords);
    for (int a = 0; a < s->tensor.rank; a++) at += coords[a] * s->index.strides[a];
    bool counts =
        s->counted < 0 || !(s->index.axes >> s->counted & 1) || coords[s->counted] < t->count;
    wrong += counts && (s->value[at] < 0 || s->value[at] >= s->positions);
  }
  if (llrt_memory_copy(t->device, &got, (int64_t *)s->device_value + s->n_values, sizeof(int32_t),
                       LLRT_COPY_FROM_DEVICE, NULL) != LLRT_OK ||
      llrt_stream_synchronize(t->device, NULL) != LLRT_OK)
    return llrt_last_error();
  if (got == wrong) return NULL;
  snprintf(message, sizeof message, "%lld values out of range are reported, there are %lld",
           (long long)got, (long long)wrong);
  return message;
}

/* Pads that the storage gives a value: positions beyond the shape, up to what is padded. */
static const char *check_pads(const trial_side *s) {
  int rank = s->tensor.rank;
  int64_t n = 1, coords[LLRT_MAX_RANK];
  if (s->storage.pad != LLRT_PAD_VALUE || s->tensor.n_indices || s->counted >= 0) return NULL;
  for (int a = 0; a < rank; a++) n *= s->binding.padded[a];
  for (int64_t e = 0; e < n; e++) {
    bool pad = false;
    split(rank, s->binding.padded, e, coords);
    for (int a = 0; a < rank; a++) pad |= coords[a] >= s->tensor.shape[a];
    if (!pad) continue;
    uint64_t got = get_code(s, llrt_storage_offset(&s->storage, &s->binding, coords));
    if (got == s->storage.pad_value) continue;
    snprintf(message, sizeof message, "a pad, %lld of %lld, is 0x%llx, not 0x%llx", (long long)e,
             (long long)n, (unsigned long long)got, (unsigned long long)s->storage.pad_value);
    return message;
  }
  return NULL;
}

static const char *compare(const trial *t, const reference *r, int i, trial_side *s) {
  llrt_dtype type = s->tensor.dtype;
  int bits = llrt_dtype_bits(type);
  for (int64_t e = 0; e < s->count; e++) {
    range expected = reference_element(r, i, e);
    int64_t at = offset_of(t, s, e);
    if (at < 0) continue;
    memset(s->written + at * bits / 8, 1, bits < 8 ? 1 : (size_t)bits / 8);
    double got = decode(type, get_code(s, at));
    if (reference_allows(type, expected, got)) continue;
    snprintf(message, sizeof message, "%s[%lld] is %.9g, not in [%.9g, %.9g]%s",
             r->expr->tensor[i].name, (long long)e, got, expected.low, expected.high,
             expected.nan ? ", but NaN" : "");
    return message;
  }
  const char *wrong = check_pads(s);
  return wrong ? wrong : check_untouched(t, s);
}

/* ---- the whole ---- */

static double scalar_of(const llrt_expr *expr, const trial *t, int i) {
  switch ((int)expr->scalar[i].dtype) {
  case LLRT_F32: return (double)(float)t->scalar[i];
  case LLRT_F64: return t->scalar[i];
  default: return trunc(t->scalar[i]);
  }
}

static const char *run_bound(const trial *t, reference *r, trial_side *sides) {
  llrt_arg args[LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS];
  int n = 0;
  const llrt_expr *expr = r->expr;
  if (trial_beside.rows > 0) {
    const char *refuses = trial_put_beside(t, r, sides);
    if (refuses) return refuses;
  }
  if (t->in_place) {
    trial_side *out = &sides[expr->n_inputs], *in = &sides[t->in_place - 1];
    out->tensor.data = in->tensor.data;
  }
  for (int i = 0; i < expr->n_tensors; i++)
    args[n++] = (llrt_arg){.name = expr->tensor[i].name, .tensor = &sides[i].tensor};
  for (int i = 0; i < expr->n_scalars; i++)
    args[n++] = (llrt_arg){.name = expr->scalar[i].name,
                           .number = scalar_of(expr, t, i),
                           .integer = (int64_t)scalar_of(expr, t, i)};
  llrt_status status = trial_call(t->way, t->device, t->seed, expr, args, n);
  refused = status == LLRT_UNSUPPORTED;
  if (status != LLRT_OK) return llrt_last_error();
  reference_run(r);
  const char *wrong = trial_beside.rows > 0 ? trial_get_beside(t, r, sides) : NULL;
  for (int i = expr->n_inputs; i < expr->n_tensors && !wrong; i++) {
    if (trial_beside.rows > 0 && trial_beside.has[i]) wrong = compare(t, r, i, &sides[i]);
    else if (llrt_memory_copy(t->device, sides[i].host, (char *)sides[i].tensor.data - TRIAL_GUARD,
                              sides[i].bytes + 2 * TRIAL_GUARD, LLRT_COPY_FROM_DEVICE,
                              NULL) != LLRT_OK ||
             llrt_stream_synchronize(t->device, NULL) != LLRT_OK)
      wrong = llrt_last_error();
    else wrong = compare(t, r, i, &sides[i]);
  }
  for (int i = 0; i < expr->n_tensors && !wrong; i++) wrong = check_report(t, r, i, sides);
  for (int i = 0; i < expr->n_inputs && !wrong; i++)
    if (t->in_place != i + 1 && !(trial_beside.rows > 0 && trial_beside.has[i]))
      wrong = check_read_alone(t, &sides[i]);
  reference_fini(r);
  return wrong;
}

static void find_extents(const trial *t, reference *r) {
  for (int a = 0; a < r->expr->n_axes; a++)
    r->extent[a] = r->expr->axis[a].extent ? r->expr->axis[a].extent : t->extent[a];
  r->extent[EXPR_LEADING] = 1;
  for (int a = 0; a < t->n_leading; a++) r->extent[EXPR_LEADING] *= t->leading[a];
}

const char *trial_run(const trial *t) {
  refused = false;
  llrt_expr *expr;
  trial_side sides[LLRT_EXPR_MAX_TENSORS] = {0};
  void *count = NULL;
  int32_t counted = t->count;
  const char *wrong = NULL;
  if (llrt_expr_parse(t->text, &expr) != LLRT_OK) return llrt_last_error();
  if (t->counted && (llrt_memory_allocate(t->device, sizeof counted, &count) != LLRT_OK ||
                     llrt_memory_copy(t->device, count, &counted, sizeof counted,
                                      LLRT_COPY_TO_DEVICE, NULL) != LLRT_OK))
    wrong = llrt_last_error();
  reference r = {.expr = expr};
  find_extents(t, &r);
  for (int i = 0; i < expr->n_tensors; i++) {
    r.type[i] = expr->tensor[i].dtype ? (llrt_dtype)expr->tensor[i].dtype
                : t->tensor[i].type   ? t->tensor[i].type
                                      : LLRT_F32;
  }
  trial_find_beside(t, &r);
  for (int i = 0; i < expr->n_tensors; i++) {
    if (!wrong) wrong = make_side(t, &r, i, count, &sides[i]);
    r.input[i] = sides[i].number;
  }
  for (int i = 0; i < expr->n_scalars; i++) r.scalar[i] = scalar_of(expr, t, i);
  if (!wrong) wrong = run_bound(t, &r, sides);
  if (wrong && wrong != message) {
    snprintf(message, sizeof message, "%s", wrong);
    wrong = message;
  }
  trial_free_beside(t);
  for (int i = 0; i < expr->n_tensors; i++) free_side(t, &sides[i]);
  if (count) llrt_memory_free(t->device, count);
  llrt_expr_destroy(&expr);
  return wrong;
}
