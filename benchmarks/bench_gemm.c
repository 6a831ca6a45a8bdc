/* The host's products beside oneDNN's f32 sgemm: dense ones in f32, and few rows with weights of
 * every type, which memory bounds. Both run in turns in one process, on as many threads
 * (OMP_NUM_THREADS); the least time of each counts, and with one thread its time on the processor,
 * because others share the machine. Weights lie as [K, N] ("kn") or [N, K] ("nk"). Without
 * libdnnl.so.3 (DNNL_LIBRARY) llrt runs alone. */
#include "dnnl.h"
#include "jit/plan/types/number.h"
#include "runtime/described.h"
#include "subcommands.h"

#include "harness.h"

#include <llrt/dot.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLACES = 256, NAME = 80 };

typedef struct gemm_kind {
  const char *name;
  llrt_dtype a, b, scale;
  int group; /* positions along K that share a scale; 0: there are none */
} gemm_kind;

static const gemm_kind kinds[] = {
    {"f32", LLRT_F32, LLRT_F32, LLRT_DTYPE_NONE, 0},
    {"bf16 weights", LLRT_F32, LLRT_BF16, LLRT_DTYPE_NONE, 0},
    {"bf16 x bf16", LLRT_BF16, LLRT_BF16, LLRT_DTYPE_NONE, 0},
    {"i8 x i8", LLRT_I8, LLRT_I8, LLRT_DTYPE_NONE, 0},
    {"int8 group 128", LLRT_F32, LLRT_I8, LLRT_F32, 128},
    {"int4 group 128", LLRT_F32, LLRT_I4, LLRT_F32, 128},
    {"mxfp4", LLRT_BF16, LLRT_E2M1, LLRT_E8M0, 32},
};

static const struct {
  int64_t m, n, k;
  bool skinny; /* for every kind and both orders of the weights */
} shapes[] = {
    {256, 256, 256, false},  {1024, 1024, 1024, false}, {2048, 2048, 2048, false},
    {1000, 777, 513, false}, {1, 4096, 4096, true},     {4, 4096, 4096, true},
    {16, 4096, 4096, true},
};

/* ---- data ---- */

enum { A, B, SCALE, D, TENSORS };

typedef struct gemm_data {
  const gemm_kind *kind;
  int64_t m, n, k;
  bool columns; /* weights as [N, K] */
  llrt_storage storage;
  llrt_tensor tensor[TENSORS];
  float *reference[TENSORS]; /* A, B and D of sgemm: the same numbers */
} gemm_data;

static uint64_t code_of(llrt_dtype dtype, bool scale, uint64_t random) {
  const number_format *format = number_format_of(dtype);
  if (dtype == LLRT_E8M0) return 124 + (random & 3);
  if (format->bits == 4) return random & 15;
  if (scale) return number_code(format, (double)(1 + (random & 7)) / 64);
  if (dtype == LLRT_I8) return random & 255;
  return number_code(format, (double)((int)(random & 255) - 128) / 128);
}

static size_t bytes_of(const llrt_tensor *tensor) {
  size_t bytes;
  harness_must(llrt_tensor_bytes(tensor, &bytes), "bytes");
  return bytes;
}

static void make_tensor(harness *h, gemm_data *data, int t, llrt_dtype dtype, int64_t rows,
                        int64_t columns) {
  llrt_tensor *tensor = &data->tensor[t];
  uint64_t codes[256];
  if (!dtype) return;
  *tensor = (llrt_tensor){.dtype = dtype, .rank = 2, .shape = {rows, columns}, .device = h->device};
  if (data->columns && (t == B || t == SCALE)) tensor->storage = &data->storage;
  size_t bytes = bytes_of(tensor);
  harness_must(llrt_memory_allocate(h->device, bytes, &tensor->data), "memory");
  int bits = llrt_dtype_bits(dtype), width = bits < 8 ? 1 : bits / 8;
  for (uint64_t i = 0; i < 256; i++) codes[i] = code_of(dtype, t == SCALE, i);
  for (size_t i = 0; i < bytes / (size_t)width; i++) {
    uint64_t random = harness_mix(h->options.seed ^ i * TENSORS ^ (uint64_t)t),
             code = codes[random & 255];
    if (bits < 8) code |= codes[random >> 8 & 255] << 4;
    memcpy((char *)tensor->data + i * (size_t)width, &code, (size_t)width);
  }
}

/* The element's place in memory. */
static double number_at(const gemm_data *data, int t, int64_t row, int64_t column) {
  const llrt_tensor *tensor = &data->tensor[t];
  int64_t i = row * tensor->shape[1] + column;
  int bits = llrt_dtype_bits(tensor->dtype);
  uint64_t code = 0;
  if (tensor->storage) i = column * tensor->shape[0] + row;
  if (bits < 8) code = ((const uint8_t *)tensor->data)[i / 2] >> (i & 1) * 4 & 15;
  else memcpy(&code, (const char *)tensor->data + i * (bits / 8), (size_t)bits / 8);
  if (tensor->dtype == LLRT_I32) return (double)(int32_t)code;
  return number_value(number_format_of(tensor->dtype), code);
}

static double weight_at(const gemm_data *data, int64_t k, int64_t n) {
  double x = number_at(data, B, k, n);
  return data->kind->group ? x * number_at(data, SCALE, k / data->kind->group, n) : x;
}

/* sgemm's operands are those of the first kind: what it takes does not depend on numbers. */
static void make_reference(gemm_data *data) {
  const int64_t n[TENSORS] = {data->m * data->k, data->k * data->n, 0, data->m * data->n};
  for (int t = 0; t < TENSORS; t++) {
    data->reference[t] =
        n[t] ? aligned_alloc(64, ((size_t)n[t] * sizeof(float) + 63) / 64 * 64) : NULL;
    if (n[t] && !data->reference[t]) harness_must(LLRT_OUT_OF_MEMORY, "memory");
    for (int64_t i = 0; i < n[t]; i++) data->reference[t][i] = (float)(i % 17 - 8) / 8;
  }
}

static void make_data(harness *h, const gemm_kind *kind, int shape, bool columns, gemm_data *data) {
  *data = (gemm_data){.kind = kind,
                      .m = shapes[shape].m,
                      .n = shapes[shape].n,
                      .k = shapes[shape].k,
                      .columns = columns};
  harness_must(llrt_storage_col_major(2, &data->storage), "storage");
  make_tensor(h, data, A, kind->a, data->m, data->k);
  make_tensor(h, data, B, kind->b, data->k, data->n);
  make_tensor(h, data, SCALE, kind->scale,
              kind->group ? (data->k + kind->group - 1) / kind->group : 1, data->n);
  make_tensor(h, data, D, kind->a == LLRT_I8 ? LLRT_I32 : LLRT_F32, data->m, data->n);
  make_reference(data);
}

static void free_data(harness *h, gemm_data *data) {
  for (int t = 0; t < TENSORS; t++) {
    if (data->tensor[t].data) llrt_memory_free(h->device, data->tensor[t].data);
    free(data->reference[t]);
  }
}

static bool is_right(const gemm_data *data) {
  for (uint64_t i = 0; i < PLACES; i++) {
    int64_t m = (int64_t)(harness_mix(2 * i) % (uint64_t)data->m),
            n = (int64_t)(harness_mix(2 * i + 1) % (uint64_t)data->n);
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < data->k; k++) {
      double product = number_at(data, A, m, k) * weight_at(data, k, n);
      sum += product;
      magnitude += fabs(product);
    }
    if (!(fabs(sum - number_at(data, D, m, n)) <= magnitude * ldexp((double)data->k + 16, -23)))
      return false;
  }
  return true;
}

/* ---- one case ---- */

typedef struct gemm_run {
  llrt_op *op;
  described_dot call;
  llrt_run_params params;
} gemm_run;

/* Microseconds: of the processor where one thread runs, else of the clock. */
static double now(const harness *h) {
  struct timespec time;
  if (h->info.compute_units > 1) return harness_now();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static double prepare(harness *h, gemm_data *data, gemm_run *run, const char *name) {
  llrt_dot_params params = {0};
  if (data->kind->group)
    params.b = (llrt_dot_scaling){.scale = &data->tensor[SCALE], .group = {data->kind->group, 1}};
  harness_must(
      described_dot_make(&data->tensor[A], &data->tensor[B], &data->tensor[D], &params, &run->call),
      name);
  harness_must(described_promise(&run->call.desc), name);
  double start = now(h);
  harness_must(harness_prepare(h, &run->call.desc, &run->op), name);
  double took = now(h) - start;
  harness_must(harness_add_workspace(h, run->op, run->call.desc.tensors, run->call.desc.n_tensors,
                                     &run->params),
               name);
  return took;
}

static void run_llrt(const gemm_run *run) {
  harness_must(
      llrt_op_run(run->op, NULL, run->call.desc.tensors, run->call.desc.n_tensors, &run->params),
      "run");
}

static void run_dnnl(const dnnl *other, const gemm_data *data) {
  int64_t ldb = data->columns ? data->k : data->n;
  if (other->sgemm('N', data->columns ? 'T' : 'N', data->m, data->n, data->k, 1, data->reference[A],
                   data->k, data->reference[B], ldb, 0, data->reference[D], data->n))
    harness_must(LLRT_DEVICE, "dnnl_sgemm");
}

static void measure(harness *h, const dnnl *other, const gemm_data *data, const gemm_run *run,
                    const char *name, double prepared) {
  double least[2] = {INFINITY, INFINITY}, begin = harness_now();
  int n = 0;
  for (; n < h->options.repeat || harness_now() - begin < h->options.budget; n++)
    for (int who = 0; who < 2; who++) {
      if (who == 1 && !other->sgemm) continue;
      double start = now(h);
      if (who == 0) run_llrt(run);
      else run_dnnl(other, data);
      least[who] = fmin(least[who], now(h) - start);
    }
  double work = 2e-3 * (double)data->m * (double)data->n * (double)data->k;
  double bytes = 1e-3 * (double)bytes_of(&data->tensor[B]);
  printf("%-34s %9.1f %8.1f %7.1f %9.1f %8.1f %6.2f %8.1f\n", name, least[0], work / least[0],
         bytes / least[0], other->sgemm ? least[1] : 0, other->sgemm ? work / least[1] : 0,
         other->sgemm ? least[1] / least[0] : 0, 1e-3 * prepared);
  fflush(stdout);
  harness_record(h, name,
                 "\"op\":\"gemm\",\"shape\":[%" PRId64 ",%" PRId64 ",%" PRId64 "],\"min_us\":%.3f,"
                 "\"onednn_us\":%.3f,\"n\":%d,\"prepare_us\":%.1f",
                 data->m, data->n, data->k, least[0], other->sgemm ? least[1] : 0, n, prepared);
}

static bool run_case(harness *h, const dnnl *other, const gemm_kind *kind, int shape,
                     bool columns) {
  static gemm_run run;
  gemm_data data;
  char name[NAME];
  snprintf(name, sizeof name, "%s %" PRId64 "x%" PRId64 "x%" PRId64 " %s", kind->name,
           shapes[shape].m, shapes[shape].n, shapes[shape].k, columns ? "nk" : "kn");
  if (h->options.list) printf("%s\n", name);
  if (h->options.list || !harness_wants(h, name)) return true;
  make_data(h, kind, shape, columns, &data);
  double prepared = prepare(h, &data, &run, name);
  run_llrt(&run);
  bool right = is_right(&data);
  if (!right) printf("%-34s WRONG\n", name);
  else if (!h->options.check_only) measure(h, other, &data, &run, name, prepared);
  llrt_op_destroy(&run.op);
  harness_drop_workspace(h, &run.params);
  free_data(h, &data);
  return right;
}

int bench_gemm(int argc, char *argv[]) {
  enum { SHAPES = sizeof shapes / sizeof *shapes, KINDS = sizeof kinds / sizeof *kinds };
  harness_options options;
  harness h;
  dnnl other;
  bool right = true;
  harness_parse(argc, argv, &options);
  if (!options.device) options.device = "host";
  harness_init(&options, &h);
  if (!harness_is_host(&h)) harness_must(LLRT_UNSUPPORTED, "gemm compares the host");
  dnnl_open(&other);
  if (!options.list && !options.check_only)
    printf("%d threads, oneDNN %s\n%-34s %9s %8s %7s %9s %8s %6s %8s\n", h.info.compute_units,
           other.sgemm ? "sgemm beside" : "not found", "MxNxK", "us", "GFLOP/s", "B GB/s",
           "oneDNN us", "GFLOP/s", "ratio", "made ms");
  for (int s = 0; s < SHAPES; s++)
    for (int i = 0; i < KINDS; i++)
      for (int columns = 0; columns < 2; columns++)
        if (shapes[s].skinny || i == 0 || (s == 1 && !kinds[i].group))
          right &= run_case(&h, &other, &kinds[i], s, columns);
  dnnl_close(&other);
  harness_fini(&h);
  return right ? 0 : 1;
}
