/* Dense products of batches, of few and of odd extents, and of every order of the operands: A is [.., M, K], B [.., K, N], and
 * "n" says of either that its last axis is the fastest, "t" that the one before it is. Results are compared with sums in f64
 * at places spread over D, then single launches are timed with nothing in the caches. */
#include "flushed.h"
#include "jit/plan/number.h"
#include "subcommands.h"

#include <llrt/dot.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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
  llrt_tensor tensor[TENSORS];
  unsigned char *host[TENSORS];
  size_t bytes[TENSORS];
} dense_data;

static double number_at(const dense_data *data, int t, int64_t at) {
  llrt_dtype type = data->tensor[t].dtype;
  uint64_t code = 0;
  memcpy(&code, data->host[t] + at * (llrt_dtype_bits(type) / 8), (size_t)llrt_dtype_bits(type) / 8);
  return number_value(number_format_of(type), code);
}

static void fill(dense_data *data, int t, uint64_t seed) {
  llrt_dtype type = data->tensor[t].dtype;
  size_t bytes = (size_t)llrt_dtype_bits(type) / 8;
  int64_t n = (int64_t)(data->bytes[t] / bytes);
  uint64_t codes[256];
  for (int i = 0; i < 256; i++) codes[i] = number_code(number_format_of(type), (double)(i - 128) / 128);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    memcpy(data->host[t] + i * (int64_t)bytes, &codes[harness_mix(seed ^ (uint64_t)(i * TENSORS + t)) & 255], bytes);
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

static void make_tensor(harness *h, dense_data *data, int t, llrt_dtype type, int64_t rows, int64_t columns, bool last) {
  llrt_tensor *tensor = &data->tensor[t];
  int rank = data->what->batch ? 3 : 2;
  *tensor = (llrt_tensor){.dtype = type, .rank = rank, .device = h->device, .storage = &data->storage[t]};
  tensor->shape[0] = data->what->batch;
  tensor->shape[rank - 2] = rows;
  tensor->shape[rank - 1] = columns;
  harness_must(make_storage(rank, last, &data->storage[t]), "storage");
  harness_must(llrt_tensor_bytes(tensor, &data->bytes[t]), "bytes");
  data->host[t] = malloc(data->bytes[t]);
  if (!data->host[t]) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  harness_must(llrt_memory_allocate(h->device, data->bytes[t], &tensor->data), "device memory");
  if (t == D) return;
  fill(data, t, h->options.seed);
  harness_must(llrt_memory_copy(h->device, tensor->data, data->host[t], data->bytes[t], LLRT_COPY_TO_DEVICE, NULL), "copy");
  harness_must(llrt_stream_synchronize(h->device, NULL), "copy");
}

static void make_data(harness *h, const dense_case *what, dense_data *data) {
  *data = (dense_data){.what = what};
  make_tensor(h, data, A, what->type, what->m, what->k, what->form[0] == 'n');
  make_tensor(h, data, B, what->type, what->k, what->n, what->form[1] == 'n');
  make_tensor(h, data, D, LLRT_BF16, what->m, what->n, true);
}

static void free_data(harness *h, dense_data *data) {
  for (int t = 0; t < TENSORS; t++) {
    llrt_memory_free(h->device, data->tensor[t].data);
    free(data->host[t]);
  }
}

/* ---- what is right ---- */

static int64_t place(int64_t batch, int64_t row, int64_t column, int64_t rows, int64_t columns, bool last) {
  return batch * rows * columns + (last ? row * columns + column : column * rows + row);
}

static bool is_right_at(const dense_data *data, int64_t at) {
  const dense_case *c = data->what;
  const number_format *format = number_format_of(LLRT_BF16);
  int64_t batch = at / (c->m * c->n), m = at / c->n % c->m, n = at % c->n;
  double sum = 0, magnitude = 0, got = number_at(data, D, at);
  for (int64_t k = 0; k < c->k; k++) {
    double product = number_at(data, A, place(batch, m, k, c->m, c->k, c->form[0] == 'n')) *
                     number_at(data, B, place(batch, k, n, c->k, c->n, c->form[1] == 'n'));
    sum += product;
    magnitude += fabs(product);
  }
  double error = magnitude * (ldexp((double)c->k + 16, -23) + (c->type == LLRT_E4M3 ? ldexp(1, -10) : 0));
  return got >= number_value(format, number_code(format, sum - error)) &&
         got <= number_value(format, number_code(format, sum + error));
}

typedef struct dense_run {
  const llrt_op *op;
  const llrt_dot_call *call;
  const llrt_run_params *params;
} dense_run;

static void launch(const void *data) {
  const dense_run *run = data;
  harness_must(llrt_op_run(run->op, NULL, run->call->desc.tensors, run->call->desc.n_tensors, run->params), "run");
}

static bool is_right(harness *h, dense_data *data, const dense_run *run) {
  const dense_case *c = data->what;
  int64_t elements = (c->batch ? c->batch : 1) * c->m * c->n, wrong = 0;
  harness_must(llrt_memory_set(h->device, data->tensor[D].data, 0xee, data->bytes[D], NULL), "poison");
  launch(run);
  harness_must(llrt_memory_copy(h->device, data->host[D], data->tensor[D].data, data->bytes[D], LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "run");
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < PLACES; i++)
    wrong += !is_right_at(data, (int64_t)(harness_mix((uint64_t)i) % (uint64_t)elements));
  return wrong == 0;
}

/* ---- one case ---- */

static void report(harness *h, const flushed *f, const dense_case *c, const dense_run *run, const char *name, const char *fields) {
  harness_statistic s = flushed_measure(f, launch, run);
  double flops = 2e-6 * (double)(c->batch ? c->batch : 1) * (double)c->m * (double)c->n * (double)c->k / s.median;
  printf("%-40s %9.1f %9.1f %9.1f %4d %9.1f\n", name, s.median, s.min, s.max, s.count, flops);
  fflush(stdout);
  harness_record(h, name, "%s,\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d,\"tflops\":%.3f", fields, s.median,
                 s.min, s.max, s.count, flops);
}

static bool run_case(harness *h, const flushed *f, const dense_case *c, const char *name) {
  static llrt_dot_call call;
  dense_data data;
  llrt_op *op;
  llrt_run_params params = {0};
  char fields[160];
  make_data(h, c, &data);
  harness_must(llrt_dot_describe(&data.tensor[A], &data.tensor[B], &data.tensor[D], NULL, &call), name);
  harness_must(llrt_op_promise_coarse(&call.desc), name);
  harness_must(llrt_op_prepare(h->device, &call.desc, &op), name);
  harness_must(harness_add_workspace(h, op, call.desc.tensors, call.desc.n_tensors, &params), name);
  const dense_run run = {op, &call, &params};
  snprintf(fields, sizeof fields, "\"op\":\"dense\",\"type\":\"%s\",\"form\":\"%s\",\"shape\":[%" PRId64 ",%" PRId64 ",%" PRId64
           ",%" PRId64 "]", llrt_dtype_name(c->type), c->form, c->batch, c->m, c->n, c->k);
  bool right = is_right(h, &data, &run);
  if (!right) printf("%-40s WRONG\n", name);
  if (!right || h->options.check_only) harness_record(h, name, "%s,\"%s\":true", fields, right ? "right" : "wrong");
  else report(h, f, c, &run, name, fields);
  llrt_op_destroy(&op);
  harness_drop_workspace(h, &params);
  free_data(h, &data);
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
    printf("%-40s %9s %9s %9s %4s %9s\n", "dense form BxMxNxK", "median us", "min us", "max us", "n", "TFLOP/s");
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
