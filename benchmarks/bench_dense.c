/* Dense products of batches, of few and of odd extents, and of every order of the operands
 * (dense_cases.h). Results are compared with sums in f64 at places spread over D, then single
 * launches are timed with nothing in the caches. */
#include "dense_cases.h"
#include "dot_run.h"
#include "jit/plan/types/number.h"
#include "runtime/described.h"
#include "subcommands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 512, NAME = 80, A = DENSE_A, B = DENSE_B, D = DENSE_D, TENSORS = DENSE_TENSORS };

/* ---- data ---- */

typedef struct dense_data {
  const dense_case *what;
  llrt_storage storage[TENSORS];
  device_matrix matrix[TENSORS];
  llrt_index index[TENSORS]; /* lists: into the matrices' memory */
} dense_data;

static void fill(device_matrix *x, int t, uint64_t seed) {
  const number_format *format = number_format_of(x->tensor.dtype);
  size_t bytes = (size_t)llrt_dtype_bits(x->tensor.dtype) / 8;
  int64_t n = (int64_t)(x->bytes / bytes);
  uint64_t codes[256];
  for (int i = 0; i < 256; i++) codes[i] = number_code(format, (double)(i - 128) / 128);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    memcpy(x->host + i * (int64_t)bytes,
           &codes[harness_mix(seed ^ (uint64_t)(i * TENSORS + t)) & 255], bytes);
}

static void make_matrix(harness *h, dense_data *data, int t) {
  device_matrix *x = &data->matrix[t];
  harness_must(dense_case_tensor(data->what, t, &data->storage[t], &x->tensor), "tensor");
  device_matrix_allocate(h, x);
  if (t == D) return;
  fill(x, t, h->options.seed);
  device_matrix_upload(h, x);
}

/* One pointer for each batch, into the matrix's own memory. */
static void make_list(harness *h, dense_data *data, int t) {
  device_matrix *x = &data->matrix[t];
  const int64_t n = data->what->batch, apart = (int64_t)x->bytes / n;
  int64_t *list = malloc((size_t)n * sizeof *list);
  void *values;
  if (!list) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int64_t i = 0; i < n; i++) list[i] = (int64_t)(intptr_t)x->tensor.data + i * apart;
  harness_must(llrt_memory_allocate(h->device, (size_t)n * 8, &values), "device memory");
  harness_must(llrt_memory_copy(h->device, values, list, (size_t)n * 8, LLRT_COPY_TO_DEVICE, NULL),
               "list");
  harness_must(llrt_stream_synchronize(h->device, NULL), "list");
  free(list);
  data->index[t] = (llrt_index){.kind = LLRT_INDEX_POINTER,
                                .dtype = LLRT_I64,
                                .axes = 1,
                                .alignment = apart % 16 == 0 ? 16 : 0,
                                .data = values,
                                .strides = {1}};
}

static void make_data(harness *h, const dense_case *what, dense_data *data) {
  *data = (dense_data){.what = what};
  for (int t = 0; t < TENSORS; t++) make_matrix(h, data, t);
  for (int t = 0; t < TENSORS && what->lists; t++) make_list(h, data, t);
}

/* ---- what is right ---- */

static int64_t place(int64_t batch, int64_t row, int64_t column, int64_t rows, int64_t columns,
                     bool last) {
  return batch * rows * columns + (last ? row * columns + column : column * rows + row);
}

static bool is_right_at(const void *of, int64_t at) {
  const dense_data *data = of;
  const dense_case *c = data->what;
  int64_t batch = at / (c->m * c->n), m = at / c->n % c->m, n = at % c->n;
  double sum = 0, magnitude = 0, got = device_matrix_number(&data->matrix[D], at);
  for (int64_t k = 0; k < c->k; k++) {
    double product =
        device_matrix_number(&data->matrix[A], place(batch, m, k, c->m, c->k, c->form[0] == 'n')) *
        device_matrix_number(&data->matrix[B], place(batch, k, n, c->k, c->n, c->form[1] == 'n'));
    sum += product;
    magnitude += fabs(product);
  }
  double error =
      magnitude * (ldexp((double)c->k + 16, -23) + (c->type == LLRT_E4M3 ? ldexp(1, -10) : 0));
  return dot_is_near(LLRT_BF16, got, sum, error);
}

/* ---- one case ---- */

static bool run_case(harness *h, const flushed *f, const dense_case *c, const char *name) {
  static described_dot call;
  dense_data data;
  char fields[160];
  make_data(h, c, &data);
  device_matrix *x = data.matrix;
  llrt_tensor tensor[TENSORS];
  for (int t = 0; t < TENSORS; t++) {
    tensor[t] = x[t].tensor;
    if (c->lists) tensor[t].indices = &data.index[t], tensor[t].n_indices = 1;
  }
  harness_must(described_dot_make(&tensor[A], &tensor[B], &tensor[D], NULL, &call), name);
  harness_must(described_promise(&call.desc), name);
  snprintf(fields, sizeof fields,
           "\"op\":\"dense\",\"type\":\"%s\",\"form\":\"%s\",\"shape\":[%" PRId64 ",%" PRId64
           ",%" PRId64 ",%" PRId64 "]",
           llrt_dtype_name(c->type), c->form, c->batch, c->m, c->n, c->k);
  const int64_t elements = (c->batch ? c->batch : 1) * c->m * c->n;
  bool right = dot_run(h, f,
                       &(dot_case){.name = name,
                                   .fields = fields,
                                   .call = &call,
                                   .d = &x[D],
                                   .elements = elements,
                                   .places = PLACES,
                                   .is_right_at = is_right_at,
                                   .data = &data,
                                   .operations = 2 * (double)elements * (double)c->k});
  for (int t = 0; t < TENSORS; t++) {
    if (c->lists) llrt_memory_free(h->device, (void *)data.index[t].data);
    device_matrix_free(h, &x[t]);
  }
  return right;
}

/* The case's name is looked at, and the case is run or named; `n` counts. False: it was wrong. */
static bool visit(harness *h, const flushed *f, const dense_case *c, int *n) {
  char name[NAME];
  dense_case_name(c, name, sizeof name);
  if (!harness_wants(h, name)) return true;
  ++*n;
  if (!h->options.list) return run_case(h, f, c, name);
  printf("%s\n", name);
  return true;
}

static bool visit_products(harness *h, const flushed *f, const char *text, int *n) {
  bool right = true;
  dense_case c;
  while (*text) {
    const char *end = text;
    if (!dense_case_parse(text, &end, &c)) {
      fprintf(stderr, "--products: \"%s\" is no product, as \"bf16 nt 16x64x64x128\" is\n", text);
      exit(2);
    }
    right &= visit(h, f, &c, n);
    text = end + (*end == ',');
  }
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
  if (!options.list && !options.check_only) {
    dot_run_title(&h, "dense form BxMxNxK", false);
    flushed_floor(&f);
  }
  if (options.products) right = visit_products(&h, &f, options.products, &n);
  for (int i = 0; i < dense_cases_count && !options.products; i++)
    right &= visit(&h, &f, &dense_cases[i], &n);
  if (!options.list) printf("%d cases: %s\n", n, right ? "right" : "WRONG");
  flushed_fini(&f);
  harness_fini(&h);
  return right ? 0 : 1;
}
