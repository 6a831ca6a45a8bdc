/* Whole tensors gathered along an axis by random 64-bit indices, beside a plain copy: rows selected out of a
 * table, and take_along_axis along either axis of a matrix. Each is compared in full, then timed. GB/s counts
 * the result twice, read and written, and the indices once. */
#include "arena.h"
#include "harness.h"
#include "subcommands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* One case made: the table's shape, the index on both sides, the operation. */
typedef struct gathering {
  const index_case *c;
  int64_t shape[2], n_indices;
  int64_t *host_index;
  void *device_index;
  llrt_view view;
  llrt_tensor destination;
  llrt_op *op;
} gathering;

/* ---- making one ---- */

/* Shape of a matrix of `bytes` bytes: powers of two. */
static void choose_shape(const index_case *c, int64_t bytes, int64_t shape[2]) {
  int bits = 0;
  while ((int64_t)ELEMENT << (bits + 1) <= bytes) bits++;
  int columns = c->columns_bits < 0 ? bits / 2 : c->columns_bits < bits ? c->columns_bits : bits;
  shape[0] = (int64_t)1 << (bits - columns);
  shape[1] = (int64_t)1 << columns;
}

static void make_index(harness *h, gathering *g) {
  bool select = g->c->form == LLRT_GATHER_SELECT;
  g->n_indices = select ? g->shape[0] : g->shape[0] * g->shape[1];
  size_t bytes = (size_t)g->n_indices * sizeof *g->host_index;
  g->host_index = malloc(bytes);
  if (!g->host_index) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  uint64_t seed = h->options.seed;
#pragma omp parallel for
  for (int64_t i = 0; i < g->n_indices; i++)
    g->host_index[i] = (int64_t)(harness_mix(seed * 0x9e3779b9 + (uint64_t)i) % (uint64_t)g->shape[g->c->axis]);
  harness_must(llrt_memory_allocate(h->device, bytes, &g->device_index), "device memory");
  harness_must(llrt_memory_copy(h->device, g->device_index, g->host_index, bytes, LLRT_COPY_TO_DEVICE, NULL),
               "copy to the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "copy to the device");
}

static llrt_tensor matrix(harness *h, const gathering *g, void *data) {
  return (llrt_tensor){.data = data, .dtype = LLRT_BF16, .rank = 2, .shape = {g->shape[0], g->shape[1]},
                       .device = h->device};
}

static llrt_status prepare(harness *h, const arena *a, gathering *g) {
  llrt_gather_params params = {.form = (int32_t)g->c->form, .out_of_range = LLRT_RANGE_CLAMP};
  llrt_tensor store = matrix(h, g, a->source), index = {.data = g->device_index, .dtype = LLRT_I64,
                                                        .device = h->device};
  index.rank = g->c->form == LLRT_GATHER_SELECT ? 1 : 2;
  index.shape[0] = g->shape[0];
  index.shape[1] = g->shape[1];
  llrt_status status = llrt_gather_view(&store, &index, g->c->axis, &params, &g->view);
  if (status) return status;
  g->destination = matrix(h, g, a->destination);
  llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2,
                       .tensors = {g->view.tensor, g->destination}};
  status = llrt_op_promise_coarse(&desc);
  return status ? status : llrt_op_prepare(h->device, &desc, &g->op);
}

static void gathering_fini(harness *h, gathering *g) {
  llrt_op_destroy(&g->op);
  llrt_memory_free(h->device, g->device_index);
  free(g->host_index);
}

/* ---- checking and timing it ---- */

static void launch_gather(harness *h, const timed *t, int slot) {
  const gathering *g = t->data;
  llrt_tensor tensors[2] = {g->view.tensor, g->destination};
  (void)h;
  tensors[0].data = t->a->source + (size_t)slot * t->s.source_step;
  tensors[1].data = t->a->destination + (size_t)slot * t->s.destination_step;
  harness_must(llrt_op_run(g->op, NULL, tensors, 2, NULL), "run");
}

/* Elements that are not what the definition says. */
static int64_t count_wrong(const gathering *g, const uint16_t *source, const uint16_t *result) {
  int64_t wrong = 0, columns = g->shape[1];
  bool select = g->c->form == LLRT_GATHER_SELECT;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < g->shape[0]; i++)
    for (int64_t j = 0; j < columns; j++) {
      int64_t value = g->host_index[select ? i : i * columns + j];
      int64_t from = g->c->axis == 0 ? value * columns + j : i * columns + value;
      wrong += result[i * columns + j] != source[from];
    }
  return wrong;
}

static bool is_right(harness *h, arena *a, const timed *t, const gathering *g) {
  size_t bytes = (size_t)(g->shape[0] * g->shape[1]) * ELEMENT;
  harness_must(llrt_memory_set(h->device, a->destination, ARENA_POISON, bytes + ARENA_GUARD, NULL), "poison");
  t->launch(h, t, 0);
  harness_must(llrt_memory_copy(h->device, a->host_result, a->destination, bytes + ARENA_GUARD,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), g->c->name);
  for (size_t i = bytes; i < bytes + ARENA_GUARD; i++)
    if (a->host_result[i] != ARENA_POISON) return false;
  return count_wrong(g, (const uint16_t *)(const void *)a->host_source,
                     (const uint16_t *)(const void *)a->host_result) == 0;
}

static void report(harness *h, arena *a, const timed *t, const gathering *g, const char *fields,
                   int64_t bytes) {
  double copy = arena_copy_speed(h, a);
  harness_statistic s = arena_measure(h, t);
  double speed = 1e-3 * (double)bytes / s.median;
  printf("%-52s %9.1f %9.1f %9.1f %4d %8.1f %7.3f\n", g->c->name, s.median, s.min, s.max, s.count, speed,
         speed / copy);
  fflush(stdout);
  harness_record(h, g->c->name,
                 "%s,\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d,\"gb_per_s\":%.2f,"
                 "\"copy_gb_per_s\":%.2f,\"of_copy\":%.4f",
                 fields, s.median, s.min, s.max, s.count, speed, copy, speed / copy);
}

/* Returns whether it was right. */
static bool run_prepared(harness *h, arena *a, int64_t size, const gathering *g) {
  char fields[400];
  int64_t elements = g->shape[0] * g->shape[1], bytes = 2 * ELEMENT * elements + 8 * g->n_indices;
  timed t = {.launch = launch_gather, .a = a, .data = g};
  t.s = arena_slots(h, a, (size_t)(ELEMENT * elements), (size_t)(ELEMENT * elements));
  snprintf(fields, sizeof fields,
           "\"op\":\"%s\",\"dtype\":\"bf16\",\"axis\":%d,\"shape\":[%" PRId64 ",%" PRId64 "],\"size\":%" PRId64
           ",\"bytes\":%" PRId64,
           g->c->form == LLRT_GATHER_SELECT ? "index_select" : "take_along", g->c->axis, g->shape[0],
           g->shape[1], size, bytes);
  bool right = is_right(h, a, &t, g);
  if (!right) printf("%-52s WRONG\n", g->c->name);
  if (!right || h->options.check_only)
    harness_record(h, g->c->name, "%s,\"%s\":true", fields, right ? "right" : "wrong");
  else
    report(h, a, &t, g, fields, bytes);
  return right;
}

static bool run_case(harness *h, arena *a, int64_t size, const index_case *c) {
  gathering g = {.c = c};
  choose_shape(c, size, g.shape);
  make_index(h, &g);
  harness_must(prepare(h, a, &g), c->name);
  bool right = run_prepared(h, a, size, &g);
  gathering_fini(h, &g);
  return right;
}

static bool run_size(harness *h, int64_t size) {
  arena a;
  bool right = true;
  int n = 0;
  arena_init(h, (size_t)size, (size_t)size, &a);
  for (int i = 0; i < CASE_COUNT; i++) {
    if (!harness_wants(h, cases[i].name)) continue;
    right &= run_case(h, &a, size, &cases[i]);
    n++;
  }
  arena_fini(h, &a);
  printf("%" PRId64 " KiB: %d cases, %s\n", size >> 10, n, right ? "right" : "WRONG");
  return right;
}

int bench_index(int argc, char *argv[]) {
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  for (int i = 0; options.list && i < CASE_COUNT; i++) printf("%s\n", cases[i].name);
  if (!options.list && !options.check_only)
    printf("%-52s %9s %9s %9s %4s %8s %7s\n", "gather", "median us", "min us", "max us", "n", "GB/s",
           "of copy");
  int n = options.list ? 0 : options.n_sizes ? options.n_sizes : 1;
  for (int i = 0; i < n; i++) right &= run_size(&h, options.n_sizes ? options.size[i] : MIB(512));
  harness_fini(&h);
  return right ? 0 : 1;
}
