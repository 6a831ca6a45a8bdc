/* See compute_trial.h. */
#include "tests/expression/compute_trial.h"

#include "jit/plan/types/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[1024];
static llrt_context *context;

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

static uint64_t next(uint64_t *state) {
  *state += 0x9E3779B97F4A7C15u;
  uint64_t x = *state;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/* ---- memory ---- */

/* One bound tensor: elements as numbers in row-major order, and memory in its storage. */
typedef struct side {
  llrt_tensor tensor;
  llrt_storage storage;
  llrt_storage_binding binding;
  double *number;
  unsigned char *host; /* the storage's bytes, with guards */
  void *device;
  size_t bytes;
  int64_t count;
} side;

#define GUARD 64

static uint64_t get_code(const side *s, int64_t offset) {
  int bits = llrt_dtype_bits(s->tensor.dtype);
  uint64_t code = 0;
  if (bits == 4) return s->host[GUARD + offset / 2] >> (offset % 2 * 4) & 15;
  memcpy(&code, s->host + GUARD + offset * (bits / 8), (size_t)bits / 8);
  return code;
}

static void put_code(side *s, int64_t offset, uint64_t code) {
  int bits = llrt_dtype_bits(s->tensor.dtype);
  unsigned char *byte = s->host + GUARD + offset * bits / 8;
  if (bits == 4)
    *byte = (unsigned char)(offset % 2 ? (*byte & 15) | code << 4 : (*byte & 0xF0) | (code & 15));
  else memcpy(byte, &code, (size_t)bits / 8);
}

static double decode(llrt_dtype type, uint64_t code) {
  if (type == LLRT_I64) return (double)(int64_t)code;
  if (type == LLRT_BOOL) return code & 0xFF ? 1 : 0;
  return number_value(number_format_of(type), code);
}

static uint64_t encode(llrt_dtype type, double x) {
  if (type == LLRT_I64) return (uint64_t)(int64_t)x;
  if (type == LLRT_BOOL) return x != 0;
  if (type == LLRT_E8M0) return (uint64_t)(ilogb(x) + 127);
  return number_code(number_format_of(type), x);
}

static int64_t offset_of(const side *s, int64_t element) {
  int64_t coords[LLRT_MAX_RANK];
  for (int a = s->tensor.rank - 1; a >= 0; a--) {
    coords[a] = element % s->tensor.shape[a];
    element /= s->tensor.shape[a];
  }
  return llrt_storage_offset(&s->storage, &s->binding, coords);
}

static double draw(const trial *t, llrt_dtype type, uint64_t *state, int64_t element) {
  uint64_t bits = next(state);
  double unit = (double)(bits >> 11) * 0x1p-53;
  bool real = type != LLRT_BOOL && type != LLRT_I64 && number_format_of(type)->kind == NUMBER_FLOAT;
  if (type == LLRT_BOOL) return (double)(bits & 1);
  if (type == LLRT_E8M0) return ldexp(1, (int)(bits % 12) - 6);
  if (!real) return floor(unit * 15) - (llrt_dtype_name(type)[0] == 'u' ? 0 : 7);
  if (t->special && bits % 11 == 3) return 0;
  if (t->special && bits % 53 == 4) return bits & 1024 ? INFINITY : -INFINITY;
  if (t->special && bits % 97 == 5) return (double)NAN;
  if (t->special && element % 5 == 2 && bits % 4) return 0;
  return unit * 8 - 4;
}

static const char *make_side(const trial *t, const reference *r, int i, side *s) {
  const expr_tensor *own = &r->expr->tensor[i];
  llrt_tensor *tensor = &s->tensor;
  uint64_t state = t->seed * 1000 + (uint64_t)i;
  *tensor = (llrt_tensor){.dtype = r->type[i], .device = t->device};
  for (int a = 0; a < (own->leading ? t->n_leading : 0); a++)
    tensor->shape[tensor->rank++] = t->leading[a];
  for (int d = 0; d < own->n_dims; d++) {
    int64_t extent = 1;
    for (int j = 0; j < own->dim[d].n; j++) extent *= r->extent[own->dim[d].axis[j]];
    tensor->shape[tensor->rank++] = extent;
  }
  llrt_status status = t->tensor[i].storage ? llrt_storage_parse(t->tensor[i].storage, tensor->rank,
                                                                 tensor->shape, &s->storage)
                                            : llrt_storage_row_major(tensor->rank, &s->storage);
  if (status == LLRT_OK)
    status = llrt_storage_bind(&s->storage, tensor->rank, tensor->shape, NULL, &s->binding);
  int64_t bytes = 0;
  if (status == LLRT_OK)
    status = llrt_storage_bytes(&s->binding, llrt_dtype_bits(tensor->dtype), &bytes);
  if (status != LLRT_OK) return llrt_last_error();
  int shift =
      t->offset * (llrt_dtype_bits(tensor->dtype) >= 8 ? llrt_dtype_bits(tensor->dtype) / 8 : 1);
  s->bytes = (size_t)bytes;
  s->count = reference_count(r, i);
  s->number = calloc((size_t)s->count + 1, sizeof *s->number);
  s->host = malloc(s->bytes + 2 * GUARD);
  memset(s->host, 0xA5, s->bytes + 2 * GUARD);
  for (int64_t e = 0; e < s->count && !own->output; e++) {
    uint64_t code = encode(tensor->dtype, draw(t, tensor->dtype, &state, e));
    s->number[e] = decode(tensor->dtype, code);
    put_code(s, offset_of(s, e), code);
  }
  if (llrt_memory_allocate(t->device, s->bytes + 2 * GUARD + 64, &s->device) != LLRT_OK ||
      llrt_memory_copy(t->device, (char *)s->device + shift, s->host, s->bytes + 2 * GUARD,
                       LLRT_COPY_TO_DEVICE, NULL) != LLRT_OK)
    return llrt_last_error();
  tensor->data = (char *)s->device + shift + GUARD;
  tensor->storage = &s->storage;
  return NULL;
}

static void free_side(const trial *t, side *s) {
  free(s->number);
  free(s->host);
  llrt_memory_free(t->device, s->device);
}

/* ---- comparing ---- */

static const char *compare(const reference *r, int i, side *s) {
  llrt_dtype type = s->tensor.dtype;
  for (size_t b = 0; b < GUARD; b++)
    if (s->host[b] != 0xA5 || s->host[GUARD + s->bytes + b] != 0xA5)
      return "memory beside an output changed";
  for (int64_t e = 0; e < s->count; e++) {
    range expected = reference_element(r, i, e);
    double got = decode(type, get_code(s, offset_of(s, e)));
    if (reference_allows(type, expected, got)) continue;
    snprintf(message, sizeof message, "%s[%lld] is %.9g, not in [%.9g, %.9g]%s",
             r->expr->tensor[i].name, (long long)e, got, expected.low, expected.high,
             expected.nan ? ", but NaN" : "");
    return message;
  }
  return NULL;
}

/* ---- the whole ---- */

static const char *run_bound(const trial *t, reference *r, side *sides) {
  llrt_arg args[LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS];
  int n = 0;
  const llrt_expr *expr = r->expr;
  if (t->in_place) {
    side *out = &sides[expr->n_inputs], *in = &sides[t->in_place - 1];
    out->tensor.data = in->tensor.data;
  }
  for (int i = 0; i < expr->n_tensors; i++)
    args[n++] = (llrt_arg){.name = expr->tensor[i].name, .tensor = &sides[i].tensor};
  for (int i = 0; i < expr->n_scalars; i++)
    args[n++] = (llrt_arg){
        .name = expr->scalar[i].name, .number = t->scalar[i], .integer = (int64_t)t->scalar[i]};
  llrt_status status = llrt_compute_into(expr, args, n, NULL, NULL);
  if (status == LLRT_OK) status = llrt_stream_synchronize(t->device, NULL);
  if (status != LLRT_OK) return llrt_last_error();
  reference_run(r);
  const char *wrong = NULL;
  for (int i = expr->n_inputs; i < expr->n_tensors && !wrong; i++) {
    if (llrt_memory_copy(t->device, sides[i].host, (char *)sides[i].tensor.data - GUARD,
                         sides[i].bytes + 2 * GUARD, LLRT_COPY_FROM_DEVICE, NULL) != LLRT_OK ||
        llrt_stream_synchronize(t->device, NULL) != LLRT_OK)
      wrong = llrt_last_error();
    else wrong = compare(r, i, &sides[i]);
  }
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
  llrt_expr *expr;
  side sides[LLRT_EXPR_MAX_TENSORS] = {0};
  const char *wrong = NULL;
  if (llrt_expr_parse(t->text, &expr) != LLRT_OK) return llrt_last_error();
  reference r = {.expr = expr};
  find_extents(t, &r);
  for (int i = 0; i < expr->n_tensors; i++) {
    r.type[i] = expr->tensor[i].dtype ? (llrt_dtype)expr->tensor[i].dtype
                : t->tensor[i].type   ? t->tensor[i].type
                                      : LLRT_F32;
    if (!wrong) wrong = make_side(t, &r, i, &sides[i]);
    r.input[i] = sides[i].number;
  }
  for (int i = 0; i < expr->n_scalars; i++)
    r.scalar[i] = expr->scalar[i].dtype == LLRT_F32 ? (double)(float)t->scalar[i] : t->scalar[i];
  if (!wrong) wrong = run_bound(t, &r, sides);
  if (wrong && wrong != message) {
    snprintf(message, sizeof message, "%s", wrong);
    wrong = message;
  }
  for (int i = 0; i < expr->n_tensors; i++) free_side(t, &sides[i]);
  llrt_expr_destroy(&expr);
  return wrong;
}
