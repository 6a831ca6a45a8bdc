/* Products of activations with weights of 4 and 8 bits, and dense ones (figure 4 of the paper): A
 * [M,K] row-major, B as [N,K] in memory, packed (llrt_dot_pack), or as other engines pack it.
 * Results are compared with sums in f64 at places spread over D, then single launches are timed
 * with nothing in the caches. --sizes: N = K, in the k of the option: 8192k, 2880k; --shapes
 * models: the layers of model_layers.h; odd: those of rows that begin inside lines of memory;
 * random: shapes of the seed; MxNxK,...: these. */
#include "dot_kinds.h"
#include "dot_run.h"
#include "model_layers.h"
#include "random_shapes.h"
#include "jit/plan/types/number.h"
#include "runtime/described.h"
#include "subcommands.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PLACES = 2048, NAME = 80 };

/* ---- data ---- */

enum {
  A = DOT_KIND_A,
  B = DOT_KIND_B,
  SCALE = DOT_KIND_SCALE,
  ZERO = DOT_KIND_ZERO,
  GLOBAL = DOT_KIND_GLOBAL,
  D = DOT_KIND_D,
  TENSORS = DOT_KIND_TENSORS
};

typedef struct dot_data {
  const dot_kind *kind;
  int64_t m, n, k;
  llrt_storage columns; /* of B and its scales: K is fastest */
  device_matrix matrix[TENSORS];
  llrt_dot_packing packing;
  llrt_tensor packed[3]; /* B, its scales and zero points, where they are packed */
} dot_data;

/* A code whose number is of moderate size: of scales those powers of two, or 1/8 .. 1. */
static uint64_t code_of(llrt_dtype dtype, bool scale, uint64_t random) {
  const number_format *format = number_format_of(dtype);
  if (dtype == LLRT_E8M0) return DOT_KIND_LOW + (random & (DOT_KIND_HIGH - DOT_KIND_LOW));
  if (format->bits == 4 || format->kind == NUMBER_INTEGER)
    return random & ((1u << format->bits) - 1);
  if (scale) return number_code(format, (double)(1 + (random & 7)) / 8);
  return number_code(format, (double)((int)(random & 255) - 128) / 128);
}

static void fill(device_matrix *x, int t, uint64_t seed) {
  llrt_dtype dtype = x->tensor.dtype;
  int bits = llrt_dtype_bits(dtype), per_byte = bits < 8 ? 2 : 1;
  int64_t n = (int64_t)x->bytes * 8 / bits;
  uint64_t codes[256];
  for (uint64_t i = 0; i < 256; i++) codes[i] = code_of(dtype, t == SCALE || t == GLOBAL, i);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i += per_byte) {
    uint64_t random = harness_mix(seed ^ (uint64_t)i * TENSORS ^ (uint64_t)t),
             code = codes[random & 255];
    if (bits < 8) code |= codes[random >> 8 & 255] << 4;
    memcpy(x->host + i * bits / 8, &code, (size_t)(bits < 8 ? 1 : bits / 8));
  }
}

static void make_matrix(harness *h, dot_data *data, int t) {
  device_matrix *x = &data->matrix[t];
  const dot_extents shape = {data->m, data->n, data->k};
  x->tensor = dot_kind_tensor(data->kind, t, &shape, &data->columns);
  if (!x->tensor.dtype) return;
  device_matrix_allocate(h, x);
  if (t == D) return;
  fill(x, t, h->options.seed);
  device_matrix_upload(h, x);
}

/* Packs tensor t as packing.storages[i] says. */
static void pack(harness *h, dot_data *data, int t, int i) {
  llrt_convert_params params = {.n_maps = i == 0 ? data->packing.n_maps : 0,
                                .maps = &data->packing.map};
  llrt_tensor *packed = &data->packed[i];
  size_t bytes;
  *packed = data->matrix[t].tensor;
  packed->storage = &data->packing.storages[i];
  harness_must(llrt_tensor_bytes(packed, &bytes), "bytes");
  harness_must(llrt_memory_allocate(h->device, bytes, &packed->data), "device memory");
  harness_must(llrt_convert_into(&data->matrix[t].tensor, packed, &params, NULL), "packing");
  harness_must(llrt_stream_synchronize(h->device, NULL), "packing");
}

static llrt_status describe_packing(harness *h, const dot_kind *kind, const dot_extents *shape,
                                    llrt_dot_packing *packing) {
  llrt_device_info info = {0};
  harness_must(llrt_device_get_info(h->device, &info), "the device");
  return dot_kind_packing(kind, info.target, shape, packing);
}

static void pack_weights(harness *h, dot_data *data) {
  const dot_extents shape = {data->m, data->n, data->k};
  harness_must(describe_packing(h, data->kind, &shape, &data->packing), "packing");
  pack(h, data, B, 0);
  for (int t = SCALE; t <= ZERO; t++)
    if (data->matrix[t].tensor.data && data->kind->group > 0) pack(h, data, t, t - B);
}

static void make_data(harness *h, const dot_kind *kind, const dot_extents *shape, dot_data *data) {
  *data = (dot_data){.kind = kind, .m = shape->m, .n = shape->n, .k = shape->k};
  harness_must(llrt_storage_col_major(2, &data->columns), "storage");
  for (int t = 0; t < TENSORS; t++) make_matrix(h, data, t);
  if (kind->order) pack_weights(h, data);
}

static void free_data(harness *h, dot_data *data) {
  for (int t = 0; t < TENSORS; t++) device_matrix_free(h, &data->matrix[t]);
  for (int i = 0; i < 3; i++)
    if (data->packed[i].data) llrt_memory_free(h->device, data->packed[i].data);
}

/* ---- what is right ---- */

/* Weights are rounded to the scale's type where that has 16 bits (include/llrt/dot.h). */
static double weight_at(const dot_data *data, int64_t k, int64_t n) {
  const dot_kind *kind = data->kind;
  double x = device_matrix_number(&data->matrix[B], n * data->k + k);
  if (!kind->group) return x;
  int64_t at = n * data->matrix[SCALE].tensor.shape[0] + (kind->group > 0 ? k / kind->group : 0);
  if (kind->zero) x -= device_matrix_number(&data->matrix[ZERO], at);
  x *= device_matrix_number(&data->matrix[SCALE], at) *
       (kind->global ? device_matrix_number(&data->matrix[GLOBAL], 0) : 1);
  const number_format *format = number_format_of(kind->scale);
  return kind->group > 0 && format->bits == 16 ? number_value(format, number_code(format, x)) : x;
}

static bool is_right_at(const void *of, int64_t at) {
  const dot_data *data = of;
  const int64_t m = at / data->n, n = at % data->n;
  double sum = 0, magnitude = 0, got = device_matrix_number(&data->matrix[D], at);
  bool narrow = llrt_dtype_bits(data->kind->a) <= 8 && llrt_dtype_bits(data->kind->b) <= 8;
  for (int64_t k = 0; k < data->k; k++) {
    double product =
        device_matrix_number(&data->matrix[A], m * data->k + k) * weight_at(data, k, n);
    sum += product;
    magnitude += fabs(product);
  }
  double error = magnitude * (ldexp((double)data->k + 16, -23) + (narrow ? ldexp(1, -10) : 0));
  return dot_is_near(data->kind->d, got, sum, error);
}

/* ---- one case ---- */

/* What stands on W, and what is promised of it. */
static void describe(const dot_data *data, const char *name, described_dot *call) {
  const llrt_tensor *tensors[TENSORS];
  for (int t = 0; t < TENSORS; t++) tensors[t] = &data->matrix[t].tensor;
  for (int i = 0; i < 3; i++)
    if (data->packed[i].data) tensors[B + i] = &data->packed[i];
  harness_must(dot_kind_describe(data->kind, tensors, &data->packing, call), name);
  harness_must(described_promise(&call->desc), name);
}

/* ---- all of D ---- */

/* As many rows are multiplied by kernels that share no tile of D, and add K in their own order. */
enum { FEW_ROWS = 64 };

/* The rows from `first` on, multiplied alone, on the host: call's A and D are of so many. */
static void multiply_few(harness *h, const dot_data *data, int64_t first, device_matrix *d,
                         llrt_op *op, const described_dot *call, const llrt_run_params *params) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  const int n = call->desc.n_tensors;
  memcpy(tensors, call->desc.tensors, (size_t)n * sizeof *tensors);
  for (int t = 0; t < n; t++)
    if (tensors[t].data == data->matrix[A].tensor.data)
      tensors[t].data =
          (char *)tensors[t].data + first * data->k * llrt_dtype_bits(data->kind->a) / 8;
  harness_must(llrt_op_run(op, NULL, tensors, n, params), "a few rows");
  harness_must(
      llrt_memory_copy(h->device, d->host, d->tensor.data, d->bytes, LLRT_COPY_FROM_DEVICE, NULL),
      "a few rows");
  harness_must(llrt_stream_synchronize(h->device, NULL), "a few rows");
}

/* Elements that are more than a step of their type apart. Near 0 sums in two orders differ by more
 * than that: by 2^-16 of the largest, of products of 8-bit floats by 2^-8. */
static int64_t count_apart(const dot_data *data, int64_t first, const device_matrix *few) {
  const device_matrix *d = &data->matrix[D];
  const int64_t n = few->tensor.shape[0] * data->n, from = first * data->n;
  const bool narrow = llrt_dtype_bits(data->kind->a) <= 8;
  const double step = ldexp(1, -number_format_of(data->kind->d)->mantissa - 1);
  double largest = 0;
  int64_t apart = 0;
#pragma omp parallel for reduction(max : largest)
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(device_matrix_number(few, i)));
#pragma omp parallel for reduction(+ : apart)
  for (int64_t i = 0; i < n; i++) {
    double expected = device_matrix_number(few, i),
           error = fabs(expected) * step + ldexp(largest, narrow ? -8 : -16);
    apart += !dot_is_near(data->kind->d, device_matrix_number(d, from + i), expected, error);
  }
  return apart;
}

/* The last rows may be some that were before them, too. */
static bool is_whole_right(harness *h, const void *of) {
  static described_dot call;
  const dot_data *data = of;
  dot_data few = *data;
  llrt_run_params params = {0};
  llrt_op *op;
  int64_t apart = 0;
  few.m = data->m < FEW_ROWS ? data->m : FEW_ROWS;
  few.matrix[A].tensor.shape[0] = few.m;
  device_matrix d = {.tensor = {.dtype = data->kind->d, .rank = 2, .shape = {few.m, data->n}}};
  device_matrix_allocate(h, &d);
  few.matrix[D] = d;
  describe(&few, "a few rows", &call);
  harness_must(harness_prepare(h, &call.desc, &op), "a few rows");
  harness_must(harness_add_workspace(h, op, call.desc.tensors, call.desc.n_tensors, &params),
               "a few rows");
  for (int64_t at = 0; at < data->m; at += few.m) {
    const int64_t first = at + few.m > data->m ? data->m - few.m : at;
    multiply_few(h, data, first, &d, op, &call, &params);
    apart += count_apart(data, first, &d);
  }
  if (apart) printf("%" PRId64 " elements are not those of %" PRId64 " rows\n", apart, few.m);
  llrt_op_destroy(&op);
  harness_drop_workspace(h, &params);
  device_matrix_free(h, &d);
  return apart == 0;
}

static bool run_data(harness *h, const flushed *f, dot_data *data, const char *name) {
  static described_dot call;
  char fields[200];
  device_matrix *x = data->matrix;
  describe(data, name, &call);
  snprintf(fields, sizeof fields,
           "\"op\":\"dot\",\"kind\":\"%s\",\"shape\":[%" PRId64 ",%" PRId64 ",%" PRId64
           "],\"size\":%" PRId64,
           data->kind->name, data->m, data->n, data->k, data->n);
  return dot_run(h, f,
                 &(dot_case){.name = name,
                             .fields = fields,
                             .call = &call,
                             .d = &x[D],
                             .elements = data->m * data->n,
                             .places = PLACES,
                             .is_right_at = is_right_at,
                             .is_whole_right = is_whole_right,
                             .data = data,
                             .operations = 2 * (double)data->m * (double)data->n * (double)data->k,
                             .weight_bytes = x[B].bytes + x[SCALE].bytes + x[ZERO].bytes});
}

static void name_case(const dot_kind *kind, const dot_extents *shape, char name[NAME]) {
  snprintf(name, NAME, "%s %" PRId64 "x%" PRId64 "x%" PRId64, kind->name, shape->m, shape->n,
           shape->k);
}

/* The first rows of the data's A and D. */
static dot_data first_rows(const dot_data *data, int64_t m) {
  dot_data few = *data;
  few.m = m;
  for (int t = A; t <= D; t += D - A) {
    device_matrix *x = &few.matrix[t];
    x->tensor.shape[0] = m;
    x->bytes = x->bytes / (size_t)data->m * (size_t)m;
  }
  return few;
}

/* The kind with weights of n columns and k rows, times each number of rows that is wanted: the
 * weights are made once. `cases` are counted that there are on this device; false: wrong. */
static bool run_weights(harness *h, const flushed *f, const dot_kind *kind, dot_extents shape,
                        const int64_t *rows, int n_rows, int *cases) {
  char name[NAME];
  llrt_dot_packing packing;
  dot_data data;
  int64_t most = 0;
  bool right = true;
  for (int r = 0; r < n_rows; r++) {
    shape.m = rows[r];
    name_case(kind, &shape, name);
    if (!harness_wants(h, name)) continue;
    if (h->options.list) printf("%s\n", name);
    most = rows[r] > most ? rows[r] : most;
  }
  if (!most || h->options.list) return true;
  if (kind->order && describe_packing(h, kind, &shape, &packing) == LLRT_UNSUPPORTED) return true;
  shape.m = most;
  make_data(h, kind, &shape, &data);
  for (int r = 0; r < n_rows; r++) {
    shape.m = rows[r];
    name_case(kind, &shape, name);
    if (!harness_wants(h, name)) continue;
    ++*cases;
    dot_data few = first_rows(&data, rows[r]);
    right &= run_data(h, f, &few, name);
  }
  free_data(h, &data);
  return right;
}

static bool run_size(harness *h, const flushed *f, int64_t size, int *cases) {
  bool right = true;
  for (int i = 0; i < dot_kinds_count; i++) {
    bool square = dot_kinds[i].square;
    right &= run_weights(h, f, &dot_kinds[i], (dot_extents){.n = size, .k = size},
                         square ? &size : dot_kind_rows, square ? 1 : dot_kind_rows_count, cases);
  }
  return right;
}

/* square: of dense kinds alone. */
static bool run_layers(harness *h, const flushed *f, const model_layer *layers, int n_layers,
                       bool square, int *cases) {
  bool right = true;
  const int64_t *rows;
  const int n_rows = model_rows_asked(&h->options, &rows);
  for (int i = 0; i < dot_kinds_count; i++)
    for (int l = 0; l < n_layers && (dot_kinds[i].square || !square); l++)
      right &= run_weights(h, f, &dot_kinds[i], (dot_extents){.n = layers[l].n, .k = layers[l].k},
                           rows, n_rows, cases);
  return right;
}

/* Shapes that no list has: the same for every kind. */
static bool run_random(harness *h, const flushed *f, int *cases) {
  bool right = true;
  dot_extents shape;
  if (!h->options.list && !h->options.extents) printf("seed %" PRIu64 "\n", h->options.seed);
  for (int i = 0; i < dot_kinds_count; i++)
    for (int r = 0; random_shape(&h->options, r, &shape); r++)
      right &= run_weights(h, f, &dot_kinds[i], shape, &shape.m, 1, cases);
  return right;
}

int bench_dot(int argc, char *argv[]) {
  static const int64_t usual = 8192;
  harness_options options;
  harness h;
  flushed f;
  int cases = 0;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  flushed_init(&h, &f);
  if (!options.list && !options.check_only) {
    dot_run_title(&h, "dot MxNxK", true);
    flushed_floor(&f);
  }
  const bool listed = options.models || options.random || options.odd;
  if (options.models) right = run_layers(&h, &f, model_layers, model_layers_count, false, &cases);
  else if (options.odd) right = run_layers(&h, &f, odd_layers, odd_layers_count, true, &cases);
  else if (options.random) right = run_random(&h, &f, &cases);
  else if (!options.n_sizes) right = run_size(&h, &f, usual, &cases);
  for (int s = 0; s < options.n_sizes && !listed; s++)
    right &= run_size(&h, &f, options.size[s] >> 10, &cases);
  if (!options.list) printf("%d cases: %s\n", cases, right ? "right" : "WRONG");
  flushed_fini(&f);
  harness_fini(&h);
  return right ? 0 : 1;
}
