#include "dot_overlap.h"

#include "jit/plan/types/number.h"
#include "runtime/described.h"

#include <stdlib.h>
#include <string.h>

void device_matrix_allocate(harness *h, device_matrix *x) {
  x->tensor.device = h->device;
  harness_must(llrt_tensor_bytes(&x->tensor, &x->bytes), "bytes");
  x->host = malloc(x->bytes);
  if (!x->host) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  harness_must(llrt_memory_allocate(h->device, x->bytes, &x->tensor.data), "device memory");
}

void device_matrix_upload(harness *h, const device_matrix *x) {
  harness_must(
      llrt_memory_copy(h->device, x->tensor.data, x->host, x->bytes, LLRT_COPY_TO_DEVICE, NULL),
      "copy to the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "copy to the device");
}

void device_matrix_free(harness *h, device_matrix *x) {
  if (x->tensor.data) llrt_memory_free(h->device, x->tensor.data);
  free(x->host);
  *x = (device_matrix){.host = NULL};
}

double device_matrix_number(const device_matrix *x, int64_t at) {
  llrt_dtype dtype = x->tensor.dtype;
  int bits = llrt_dtype_bits(dtype);
  uint64_t code = 0;
  if (bits < 8) code = x->host[at / 2] >> (at & 1) * 4 & 15;
  else memcpy(&code, x->host + at * bits / 8, (size_t)bits / 8);
  return number_value(number_format_of(dtype), code);
}

bool dot_is_near(llrt_dtype type, double got, double sum, double error) {
  const number_format *format = number_format_of(type);
  return got >= number_value(format, number_code(format, sum - error)) &&
         got <= number_value(format, number_code(format, sum + error));
}

/* ---- a case ---- */

typedef struct prepared {
  llrt_op *op;
  const described_dot *call;
  llrt_run_params params;
} prepared;

static void launch(const void *data) {
  const prepared *p = data;
  harness_must(llrt_op_run(p->op, NULL, p->call->desc.tensors, p->call->desc.n_tensors, &p->params),
               "run");
}

static void copy_back(harness *h, const dot_case *c, void *to) {
  harness_must(
      llrt_memory_copy(h->device, to, c->d->tensor.data, c->d->bytes, LLRT_COPY_FROM_DEVICE, NULL),
      "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "run");
}

static bool is_right(harness *h, const prepared *p, const dot_case *c) {
  const int64_t places = c->elements < c->places ? c->elements : c->places;
  int64_t wrong = 0;
  harness_must(llrt_memory_set(h->device, c->d->tensor.data, 0xee, c->d->bytes, NULL), "poison");
  launch(p);
  copy_back(h, c, c->d->host);
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < places; i++)
    wrong += !c->is_right_at(
        c->data,
        places == c->elements ? i : (int64_t)(harness_mix((uint64_t)i) % (uint64_t)c->elements));
  return wrong == 0 && (!h->options.whole || !c->is_whole_right || c->is_whole_right(h, c->data));
}

/* Whether D is what it was, bit by bit, behind all launches. */
static bool is_same(harness *h, const dot_case *c) {
  void *last = malloc(c->d->bytes);
  if (!last) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  copy_back(h, c, last);
  bool same = memcmp(last, c->d->host, c->d->bytes) == 0;
  free(last);
  return same;
}

/* ---- batch-invariant ---- */

/* The call with so many of its rows, from `first` on, poisoned before. */
static void run_rows(harness *h, const prepared *p, const dot_case *c, int64_t first,
                     int64_t rows) {
  const op_description *desc = &p->call->desc;
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  const int m = desc->tensors[0].rank - 3;
  const int64_t all = desc->tensors[0].shape[m], n = desc->tensors[1].shape[m + 1],
                k = desc->tensors[0].shape[m + 2]; /* a tensor has one position of what it lacks */
  memcpy(tensors, desc->tensors, (size_t)desc->n_tensors * sizeof *tensors);
  for (int t = 0; t < desc->n_tensors; t++)
    if (tensors[t].shape[m] == all) tensors[t].shape[m] = rows;
  char *d = (char *)tensors[1].data + first * n * llrt_dtype_bits(tensors[1].dtype) / 8;
  tensors[0].data = (char *)tensors[0].data + first * k * llrt_dtype_bits(tensors[0].dtype) / 8;
  tensors[1].data = d;
  const size_t bytes = (size_t)(rows * n * llrt_dtype_bits(tensors[1].dtype) / 8);
  harness_must(llrt_memory_set(h->device, d, 0xee, bytes, NULL), "poison");
  harness_must(llrt_op_run(p->op, NULL, tensors, desc->n_tensors, &p->params), c->name);
}

/* Whether rows of D, multiplied alone and with some others, have the bits that they have among
 * all. */
static bool are_rows_same(harness *h, const prepared *p, const dot_case *c) {
  static const int64_t sizes[] = {1, 5, 64, 130, 300};
  const int64_t all = p->call->desc.tensors[0].shape[p->call->desc.tensors[0].rank - 3];
  for (uint64_t i = 0; i < 25; i++) {
    const int64_t rows = sizes[i % 5];
    if (rows > all) continue;
    run_rows(h, p, c, (int64_t)(harness_mix(i) % (uint64_t)(all - rows + 1)), rows);
  }
  return is_same(h, c);
}

/* Median microseconds of the case as a batch-invariant product; 0: it is wrong. */
static double run_invariant(harness *h, const flushed *f, const dot_case *c) {
  static described_dot call;
  double us = 0;
  memcpy(&call.desc, &c->call->desc, sizeof call.desc);
  call.desc.dot.batch_invariant = true;
  memset(call.desc.promises, 0, sizeof call.desc.promises);
  harness_must(described_promise(&call.desc), c->name);
  prepared p = {.call = &call, .params = {.size = sizeof p.params, .own_workspace = 1}};
  harness_must(harness_prepare(h, &call.desc, &p.op), c->name);
  if (is_right(h, &p, c) && are_rows_same(h, &p, c))
    us = h->options.check_only ? 1 : flushed_measure(f, launch, &p).median;
  else printf("%-40s WRONG as a batch-invariant product\n", c->name);
  harness_must(llrt_stream_synchronize(h->device, NULL), c->name);
  llrt_op_destroy(&p.op);
  return us;
}

/* invariant: microseconds as a batch-invariant product; 0: not asked for. */
static void report(harness *h, const flushed *f, const prepared *p, const dot_case *c,
                   double invariant) {
  harness_statistic s = flushed_measure(f, launch, p);
  double flops = 1e-6 * c->operations / s.median, speed = 1e-3 * (double)c->weight_bytes / s.median;
  char weights[40] = "", cost[40] = "";
  printf("%-40s %9.1f %9.1f %9.1f %4d %9.1f", c->name, s.median, s.min, s.max, s.count, flops);
  if (c->weight_bytes) printf(" %9.1f", speed);
  if (invariant > 0) printf(" %9.1f %5.2f", invariant, invariant / s.median);
  if (invariant > 0) snprintf(cost, sizeof cost, ",\"invariant_us\":%.3f", invariant);
  printf("\n");
  fflush(stdout);
  if (c->weight_bytes) snprintf(weights, sizeof weights, ",\"gb_per_s\":%.2f", speed);
  harness_record(
      h, c->name,
      "%s,\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d,\"tflops\":%.3f%s%s",
      c->fields, s.median, s.min, s.max, s.count, flops, weights, cost);
}

bool dot_run(harness *h, const flushed *f, const dot_case *c) {
  prepared p = {.call = c->call, .params = {.size = sizeof p.params, .own_workspace = 1}};
  harness_must(harness_prepare(h, &c->call->desc, &p.op), c->name);
  double invariant = h->options.batch_invariant ? run_invariant(h, f, c) : 0;
  bool right = is_right(h, &p, c) && (invariant > 0 || !h->options.batch_invariant);
  if (right && !h->options.check_only) report(h, f, &p, c, invariant);
  if (right) launch(&p);
  right = right && is_same(h, c) && (!h->options.whole || dot_overlap_is_right(h, p.op, c));
  if (!right) printf("%-40s WRONG\n", c->name);
  if (!right || h->options.check_only)
    harness_record(h, c->name, "%s,\"%s\":true", c->fields, right ? "right" : "wrong");
  harness_must(llrt_stream_synchronize(h->device, NULL), c->name);
  llrt_op_destroy(&p.op);
  return right;
}

void dot_run_title(const harness *h, const char *first, bool weights) {
  printf("%-40s %9s %9s %9s %4s %9s%s%s\n", first, "median us", "min us", "max us", "n", "TFLOP/s",
         weights ? "    B GB/s" : "", h->options.batch_invariant ? " invariant  cost" : "");
}
