/* Whole tensors gathered along an axis by random 64-bit indices, beside a plain copy: rows selected
 * out of a table, and take_along_axis along either axis of a matrix. Each is compared in full, then
 * timed. GB/s counts the result twice, read and written, and the indices once. */
#include "axis_bench.h"
#include "subcommands.h"

#include "runtime/described.h"

#include <stdlib.h>

#define MIB(n) ((int64_t)(n) << 20)

typedef struct index_case {
  const char *name;
  llrt_gather_form form;
  int axis, columns_bits; /* -1: as many columns as rows */
} index_case;

/* 16-bit elements. */
static const index_case cases[] = {
    {"select rows of 256 bytes", LLRT_GATHER_SELECT, 0, 7},
    {"select rows of 1 KiB", LLRT_GATHER_SELECT, 0, 9},
    {"select rows of 8 KiB", LLRT_GATHER_SELECT, 0, 12},
    {"take_along axis 0", LLRT_GATHER_TAKE_ALONG, 0, -1},
    {"take_along axis 1", LLRT_GATHER_TAKE_ALONG, 1, -1},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0], ELEMENT = 2 };

/* The index of one case on both sides, and the view through it, to which the tensor of the run
 * points. */
typedef struct random_index {
  const index_case *c;
  int64_t n, *host;
  void *device;
  llrt_view view;
} random_index;

/* Shape of a matrix of `bytes` bytes: powers of two. */
static void choose_shape(const index_case *c, int64_t bytes, int64_t shape[2]) {
  int bits = 0;
  while ((int64_t)ELEMENT << (bits + 1) <= bytes) bits++;
  int columns = c->columns_bits < 0 ? bits / 2 : c->columns_bits < bits ? c->columns_bits : bits;
  shape[0] = (int64_t)1 << (bits - columns);
  shape[1] = (int64_t)1 << columns;
}

static random_index make_index(harness *h, const index_case *c, const int64_t shape[2]) {
  random_index index = {.c = c,
                        .n = c->form == LLRT_GATHER_SELECT ? shape[0] : shape[0] * shape[1]};
  size_t bytes = (size_t)index.n * sizeof *index.host;
  index.host = malloc(bytes);
  if (!index.host) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  uint64_t seed = h->options.seed;
#pragma omp parallel for
  for (int64_t i = 0; i < index.n; i++)
    index.host[i] =
        (int64_t)(harness_mix(seed * 0x9e3779b9 + (uint64_t)i) % (uint64_t)shape[c->axis]);
  harness_must(llrt_memory_allocate(h->device, bytes, &index.device), "device memory");
  harness_must(
      llrt_memory_copy(h->device, index.device, index.host, bytes, LLRT_COPY_TO_DEVICE, NULL),
      "copy to the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "copy to the device");
  return index;
}

static llrt_status prepare(harness *h, const arena *a, random_index *index, axis_run *r) {
  bool select = index->c->form == LLRT_GATHER_SELECT;
  llrt_gather_params params = {.form = (int32_t)index->c->form, .out_of_range = LLRT_RANGE_CLAMP};
  llrt_tensor store = axis_matrix(h, r, LLRT_BF16, a->source);
  llrt_tensor places = {.data = index->device,
                        .dtype = LLRT_I64,
                        .rank = select ? 1 : 2,
                        .shape = {r->shape[0], r->shape[1]},
                        .device = h->device};
  llrt_status status = llrt_gather_view(&store, &places, index->c->axis, &params, &index->view);
  if (status) return status;
  r->tensors[0] = index->view.tensor;
  r->tensors[1] = axis_matrix(h, r, LLRT_BF16, a->destination);
  op_description desc = {.kind = LLRT_OP_CONVERT};
  return axis_run_prepare(h, r, &desc);
}

/* Elements that are not what the definition says. */
static int64_t count_wrong(const axis_run *r, const void *source_bytes, const void *result_bytes) {
  const random_index *index = r->data;
  const uint16_t *source = source_bytes, *result = result_bytes;
  int64_t wrong = 0, columns = r->shape[1];
  bool select = index->c->form == LLRT_GATHER_SELECT;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < r->shape[0]; i++)
    for (int64_t j = 0; j < columns; j++) {
      int64_t value = index->host[select ? i : i * columns + j];
      int64_t from = index->c->axis == 0 ? value * columns + j : i * columns + value;
      wrong += result[i * columns + j] != source[from];
    }
  return wrong;
}

static bool run_case(harness *h, arena *a, int64_t size, const void *of) {
  const index_case *c = of;
  axis_run r = {.name = c->name,
                .op = c->form == LLRT_GATHER_SELECT ? "index_select" : "take_along",
                .axis = c->axis,
                .size = size,
                .reference = AXIS_OF_COPY,
                .count_wrong = count_wrong};
  choose_shape(c, size, r.shape);
  random_index index = make_index(h, c, r.shape);
  r.data = &index;
  r.source_bytes = r.result_bytes = (size_t)(r.shape[0] * r.shape[1]) * ELEMENT;
  r.bytes = 2 * (int64_t)r.source_bytes + 8 * index.n;
  harness_must(prepare(h, a, &index, &r), c->name);
  bool right = axis_run_measure(h, a, &r);
  axis_run_fini(h, &r);
  llrt_memory_free(h->device, index.device);
  free(index.host);
  return right;
}

int bench_index(int argc, char *argv[]) {
  static const axis_bench bench = {.title = "gather",
                                   .reference = AXIS_OF_COPY,
                                   .size = MIB(512),
                                   .cases = cases,
                                   .case_bytes = sizeof *cases,
                                   .n_cases = CASE_COUNT,
                                   .run_case = run_case};
  return axis_bench_main(&bench, argc, argv);
}
