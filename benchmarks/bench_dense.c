/* Dense products of batches, of few and of odd extents, and of every order of the operands: A is [.., M, K], B [.., K, N], and
 * "n" says of either that its last axis is the fastest, "t" that the one before it is. Results are compared with sums in f64
 * at places spread over D, then single launches are timed with nothing in the caches. */
#include "dot_run.h"
#include "jit/plan/number.h"
#include "subcommands.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PLACES = 512, NAME = 80, A = 0, B = 1, D = 2, TENSORS = 3 };

typedef struct dense_case {
  llrt_dtype type;    /* of A and B */
  char form[3];       /* of A, of B */
  int64_t batch, m, n, k; /* batch 0: no such axis */
} dense_case;

#define EACH_M(type_, size_)                                                                                       \
  {type_, "nt", 0, 16, size_, size_}, {type_, "nt", 0, 32, size_, size_}, {type_, "nt", 0, 64, size_, size_},       \
      {type_, "nt", 0, 128, size_, size_}, {type_, "nt", 0, 256, size_, size_}, {type_, "nt", 0, 512, size_, size_}, \
      {type_, "nt", 0, 1024, size_, size_}, {type_, "nt", 0, 2048, size_, size_}
#define EACH_FORM(m_, n_, k_)                                                                                     \
  {LLRT_BF16, "nn", 0, m_, n_, k_}, {LLRT_BF16, "nt", 0, m_, n_, k_}, {LLRT_BF16, "tn", 0, m_, n_, k_},           \
      {LLRT_BF16, "tt", 0, m_, n_, k_}

static const dense_case cases[] = {
    EACH_FORM(4096, 4096, 4096),
    EACH_FORM(8192, 8192, 8192),
    {LLRT_BF16, "nt", 16, 2048, 2048, 2048},
    {LLRT_BF16, "nn", 16, 2048, 2048, 2048},
    {LLRT_BF16, "nt", 64, 1024, 1024, 1024},
    {LLRT_BF16, "nn", 64, 1024, 1024, 1024},
    {LLRT_BF16, "nt", 256, 512, 512, 512},
    {LLRT_BF16, "nt", 128, 512, 512, 64},
    {LLRT_BF16, "nt", 128, 64, 512, 512},
    {LLRT_E4M3, "nt", 16, 2048, 2048, 2048},
    {LLRT_E4M3, "nt", 64, 1024, 1024, 1024},
    {LLRT_BF16, "nt", 0, 4096, 4096, 4104},
    {LLRT_BF16, "nt", 0, 4095, 4095, 4095},
    {LLRT_BF16, "nt", 0, 4097, 4097, 4097},
    {LLRT_BF16, "nt", 0, 4095, 4095, 4096},
    {LLRT_BF16, "nn", 0, 4096, 4095, 4096},
    {LLRT_BF16, "nt", 0, 2880, 2880, 2880},
    {LLRT_BF16, "nt", 0, 4096, 14336, 4096},
    {LLRT_BF16, "nt", 0, 4096, 4096, 14336},
    EACH_M(LLRT_BF16, 2880),
    EACH_M(LLRT_BF16, 4096),
    EACH_M(LLRT_BF16, 8192),
    EACH_M(LLRT_E4M3, 2880),
    EACH_M(LLRT_E4M3, 4096),
    EACH_M(LLRT_E4M3, 8192),
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

/* ---- data ---- */

typedef struct dense_data {
  const dense_case *what;
  llrt_storage storage[TENSORS];
  device_matrix matrix[TENSORS];
} dense_data;

static void fill(device_matrix *x, int t, uint64_t seed) {
  const number_format *format = number_format_of(x->tensor.dtype);
  size_t bytes = (size_t)llrt_dtype_bits(x->tensor.dtype) / 8;
  int64_t n = (int64_t)(x->bytes / bytes);
  uint64_t codes[256];
  for (int i = 0; i < 256; i++) codes[i] = number_code(format, (double)(i - 128) / 128);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    memcpy(x->host + i * (int64_t)bytes, &codes[harness_mix(seed ^ (uint64_t)(i * TENSORS + t)) & 255], bytes);
}

/* The last axis is the fastest, or the one before it. */
static llrt_status make_storage(int rank, bool last, llrt_storage *out) {
  static const char *const names[] = {"dim0", "dim1", "dim2"};
  llrt_layout point = llrt_layout_empty();
  int order[3];
  for (int i = 0; i < rank; i++) order[i] = rank - 1 - i;
  if (last) return llrt_storage_row_major(rank, out);
  order[0] = rank - 2;
  order[1] = rank - 1;
  harness_must(llrt_layout_add_in(&point, "offset", 0), "layout");
  for (int i = 0; i < rank; i++) harness_must(llrt_layout_add_out(&point, names[i], 0), "layout");
  return llrt_storage_tiled(&point, order, out);
}

static void make_matrix(harness *h, dense_data *data, int t, llrt_dtype type, int64_t rows, int64_t columns, bool last) {
  device_matrix *x = &data->matrix[t];
  int rank = data->what->batch ? 3 : 2;
  x->tensor = (llrt_tensor){.dtype = type, .rank = rank, .storage = &data->storage[t]};
  x->tensor.shape[0] = data->what->batch;
  x->tensor.shape[rank - 2] = rows;
  x->tensor.shape[rank - 1] = columns;
  harness_must(make_storage(rank, last, &data->storage[t]), "storage");
  device_matrix_allocate(h, x);
  if (t == D) return;
  fill(x, t, h->options.seed);
  device_matrix_upload(h, x);
}

static void make_data(harness *h, const dense_case *what, dense_data *data) {
  *data = (dense_data){.what = what};
  make_matrix(h, data, A, what->type, what->m, what->k, what->form[0] == 'n');
  make_matrix(h, data, B, what->type, what->k, what->n, what->form[1] == 'n');
  make_matrix(h, data, D, LLRT_BF16, what->m, what->n, true);
}

/* ---- what is right ---- */

static int64_t place(int64_t batch, int64_t row, int64_t column, int64_t rows, int64_t columns, bool last) {
  return batch * rows * columns + (last ? row * columns + column : column * rows + row);
}

static bool is_right_at(const void *of, int64_t at) {
  const dense_data *data = of;
  const dense_case *c = data->what;
  int64_t batch = at / (c->m * c->n), m = at / c->n % c->m, n = at % c->n;
  double sum = 0, magnitude = 0, got = device_matrix_number(&data->matrix[D], at);
  for (int64_t k = 0; k < c->k; k++) {
    double product = device_matrix_number(&data->matrix[A], place(batch, m, k, c->m, c->k, c->form[0] == 'n')) *
                     device_matrix_number(&data->matrix[B], place(batch, k, n, c->k, c->n, c->form[1] == 'n'));
    sum += product;
    magnitude += fabs(product);
  }
  double error = magnitude * (ldexp((double)c->k + 16, -23) + (c->type == LLRT_E4M3 ? ldexp(1, -10) : 0));
  return dot_is_near(LLRT_BF16, got, sum, error);
}

/* ---- one case ---- */

static bool run_case(harness *h, const flushed *f, const dense_case *c, const char *name) {
  static llrt_dot_call call;
  dense_data data;
  char fields[160];
  make_data(h, c, &data);
  device_matrix *x = data.matrix;
  harness_must(llrt_dot_describe(&x[A].tensor, &x[B].tensor, &x[D].tensor, NULL, &call), name);
  harness_must(llrt_op_promise_coarse(&call.desc), name);
  snprintf(fields, sizeof fields, "\"op\":\"dense\",\"type\":\"%s\",\"form\":\"%s\",\"shape\":[%" PRId64 ",%" PRId64 ",%" PRId64
           ",%" PRId64 "]", llrt_dtype_name(c->type), c->form, c->batch, c->m, c->n, c->k);
  const int64_t elements = (c->batch ? c->batch : 1) * c->m * c->n;
  bool right = dot_run(h, f, &(dot_case){.name = name, .fields = fields, .call = &call, .d = &x[D], .elements = elements,
                                         .places = PLACES, .is_right_at = is_right_at, .data = &data,
                                         .operations = 2 * (double)elements * (double)c->k});
  for (int t = 0; t < TENSORS; t++) device_matrix_free(h, &x[t]);
  return right;
}

int bench_dense(int argc, char *argv[]) {
  harness_options options;
  harness h;
  flushed f;
  bool right = true;
  int n = 0;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  flushed_init(&h, &f);
  if (!options.list && !options.check_only)
    dot_run_title("dense form BxMxNxK", false);
  for (int i = 0; i < CASE_COUNT; i++) {
    const dense_case *c = &cases[i];
    char name[NAME], batch[24] = "";
    if (c->batch) snprintf(batch, sizeof batch, "%" PRId64 "x", c->batch);
    snprintf(name, sizeof name, "%s %s %s%" PRId64 "x%" PRId64 "x%" PRId64, llrt_dtype_name(c->type), c->form, batch, c->m, c->n, c->k);
    if (!harness_wants(&h, name)) continue;
    n++;
    if (options.list) printf("%s\n", name);
    else right &= run_case(&h, &f, c, name);
  }
  if (!options.list) printf("%d cases: %s\n", n, right ? "right" : "WRONG");
  flushed_fini(&f);
  harness_fini(&h);
  return right ? 0 : 1;
}
