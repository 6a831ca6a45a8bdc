/* Reductions of matrices, beside the speed of reading alone: sums, extremes and positions along either axis of
 * square, wide, tall and degenerate shapes. Each is compared in part with sums in f64, then timed. GB/s counts
 * the source read and the result written. */
#include "arena.h"
#include "harness.h"
#include "read_speed.h"
#include "subcommands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB(n) ((int64_t)(n) << 20)
#define CHECKED 64 /* results of a case that are compared */

typedef struct reduce_case {
  const char *name, *op_name;
  llrt_combiner op;
  int axis;
  double rows; /* log2 rows less half of log2 elements; 100 and -100: one column, one row */
} reduce_case;

/* bf16. At 512 MiB: 16384 x 16384, 4096 x 65536, 65536 x 4096, 1 x 2^28, 2^28 x 1. */
static const reduce_case cases[] = {
    {"sum axis 1, square", "sum", LLRT_COMBINE_SUM, 1, 0},
    {"sum axis 0, square", "sum", LLRT_COMBINE_SUM, 0, 0},
    {"sum axis 1, wide", "sum", LLRT_COMBINE_SUM, 1, -2},
    {"sum axis 0, wide", "sum", LLRT_COMBINE_SUM, 0, -2},
    {"sum axis 1, tall", "sum", LLRT_COMBINE_SUM, 1, 2},
    {"sum axis 0, tall", "sum", LLRT_COMBINE_SUM, 0, 2},
    {"sum axis 1, one row", "sum", LLRT_COMBINE_SUM, 1, -100},
    {"sum axis 0, one column", "sum", LLRT_COMBINE_SUM, 0, 100},
    {"max axis 1, square", "max", LLRT_COMBINE_MAX, 1, 0},
    {"max axis 0, square", "max", LLRT_COMBINE_MAX, 0, 0},
    {"argmax axis 1, square", "argmax", LLRT_COMBINE_ARGMAX, 1, 0},
    {"argmax axis 0, square", "argmax", LLRT_COMBINE_ARGMAX, 0, 0},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0], ELEMENT = 2 };

typedef struct reducing {
  const reduce_case *c;
  int64_t shape[2], results, length; /* length: elements of a result */
  int result_bytes;
  llrt_tensor tensor[2];
  llrt_storage kept;
  llrt_op *op;
  llrt_run_params params;
} reducing;

/* ---- making one ---- */

static void choose_shape(const reduce_case *c, int64_t bytes, reducing *r) {
  int bits = 0;
  while ((int64_t)ELEMENT << (bits + 1) <= bytes) bits++;
  int rows = bits / 2 + (int)c->rows;
  rows = rows < 0 ? 0 : rows > bits ? bits : rows;
  r->shape[0] = (int64_t)1 << rows;
  r->shape[1] = (int64_t)1 << (bits - rows);
  r->length = r->shape[c->axis];
  r->results = r->shape[1 - c->axis];
  r->result_bytes = c->op == LLRT_COMBINE_ARGMAX ? 8 : ELEMENT;
}

/* Small numbers with a part behind the point: every code near 1, and both signs. */
static void fill_source(harness *h, arena *a) {
  uint16_t *source = (uint16_t *)(void *)a->host_source;
  int64_t n = (int64_t)(a->bytes / ELEMENT);
  uint64_t seed = h->options.seed;
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    uint64_t random = harness_mix(seed + (uint64_t)i);
    source[i] = (uint16_t)((random & 0x8000) | 0x3f00 | (random >> 20 & 0xff));
  }
  arena_upload(h, a);
}

static void prepare(harness *h, const arena *a, reducing *r) {
  const reduce_case *c = r->c;
  llrt_tensor result = {.data = a->destination, .rank = 1, .shape = {r->results}, .device = h->device};
  llrt_op_desc desc = {.kind = LLRT_OP_REDUCE, .n_tensors = 2,
                       .combine = {.op = c->op, .axes = 1u << c->axis}};
  result.dtype = r->result_bytes == 8 ? LLRT_I64 : LLRT_BF16;
  r->tensor[0] = (llrt_tensor){.data = a->source, .dtype = LLRT_BF16, .rank = 2,
                               .shape = {r->shape[0], r->shape[1]}, .device = h->device};
  harness_must(llrt_reduce_keep_axes(&result, 2, 1u << c->axis, &r->kept, &r->tensor[1]), c->name);
  memcpy(desc.tensors, r->tensor, sizeof r->tensor);
  harness_must(llrt_op_promise_coarse(&desc), c->name);
  harness_must(llrt_op_prepare(h->device, &desc, &r->op), c->name);
  size_t *bytes = &r->params.workspace_bytes;
  harness_must(llrt_op_workspace(r->op, r->tensor, 2, bytes), c->name);
  if (*bytes == 0) return;
  harness_must(llrt_memory_allocate(h->device, *bytes, &r->params.workspace), "workspace");
  harness_must(llrt_memory_set(h->device, r->params.workspace, 0, *bytes, NULL), "workspace");
}

static void reducing_fini(harness *h, reducing *r) {
  llrt_op_destroy(&r->op);
  if (r->params.workspace) llrt_memory_free(h->device, r->params.workspace);
}

/* ---- checking and timing it ---- */

static void launch_reduce(harness *h, const timed *t, int slot) {
  const reducing *r = t->data;
  llrt_tensor tensors[2] = {r->tensor[0], r->tensor[1]};
  (void)h;
  tensors[0].data = t->a->source + (size_t)slot * t->s.source_step;
  tensors[1].data = t->a->destination + (size_t)slot * t->s.destination_step;
  harness_must(llrt_op_run(r->op, NULL, tensors, 2, &r->params), "run");
}

static double value_of(uint16_t code) {
  uint32_t bits = (uint32_t)code << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Whether result `at` is right: sums as close as additions in f32 and rounding to bf16 leave them. */
static bool one_is_right(const reducing *r, const uint16_t *source, const unsigned char *result, int64_t at) {
  int64_t step = r->c->axis == 0 ? r->shape[1] : 1, first = r->c->axis == 0 ? at : at * r->shape[1];
  double sum = 0, magnitude = 0, best = value_of(source[first]);
  int64_t where = 0, position;
  uint16_t code;
  for (int64_t k = 0; k < r->length; k++) {
    double x = value_of(source[first + k * step]);
    sum += x;
    magnitude += fabs(x);
    if (x > best) where = k;
    if (x > best) best = x;
  }
  memcpy(&position, result + 8 * at, r->result_bytes == 8 ? sizeof position : 0);
  if (r->result_bytes == 8) return position == where;
  memcpy(&code, result + ELEMENT * at, sizeof code);
  if (r->c->op == LLRT_COMBINE_MAX) return value_of(code) == best;
  double bound = ((double)r->length / 4 + 48) * ldexp(magnitude, -24);
  return fabs(value_of(code) - sum) <= bound + ldexp(fabs(sum) + bound, -8);
}

static bool is_right(harness *h, arena *a, const timed *t, const reducing *r) {
  size_t bytes = (size_t)r->results * (size_t)r->result_bytes;
  bool right = true;
  harness_must(llrt_memory_set(h->device, a->destination, ARENA_POISON, bytes + ARENA_GUARD, NULL), "poison");
  t->launch(h, t, 0);
  harness_must(llrt_memory_copy(h->device, a->host_result, a->destination, bytes + ARENA_GUARD,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), r->c->name);
  for (size_t i = bytes; i < bytes + ARENA_GUARD; i++) right &= a->host_result[i] == ARENA_POISON;
  int64_t n = r->results < CHECKED ? r->results : CHECKED;
#pragma omp parallel for reduction(&& : right)
  for (int64_t i = 0; i < n; i++)
    right = right && one_is_right(r, (const uint16_t *)(const void *)a->host_source, a->host_result,
                                  n == CHECKED ? i * (r->results / CHECKED) : i);
  return right;
}

static void report(harness *h, arena *a, const timed *t, const reducing *r, const char *fields, int64_t bytes) {
  double read = read_speed(h, a);
  harness_statistic s = arena_measure(h, t);
  double speed = 1e-3 * (double)bytes / s.median;
  printf("%-52s %9.1f %9.1f %9.1f %4d %8.1f %7.3f\n", r->c->name, s.median, s.min, s.max, s.count, speed,
         speed / read);
  fflush(stdout);
  harness_record(h, r->c->name,
                 "%s,\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d,\"gb_per_s\":%.2f,"
                 "\"read_gb_per_s\":%.2f,\"of_read\":%.4f",
                 fields, s.median, s.min, s.max, s.count, speed, read, speed / read);
}

static bool run_case(harness *h, arena *a, int64_t size, const reduce_case *c) {
  char fields[400];
  reducing r = {.c = c};
  choose_shape(c, size, &r);
  prepare(h, a, &r);
  int64_t elements = r.shape[0] * r.shape[1], bytes = ELEMENT * elements + r.results * r.result_bytes;
  timed t = {.launch = launch_reduce, .a = a, .data = &r};
  t.s = arena_slots(h, a, (size_t)(ELEMENT * elements), (size_t)(r.results * r.result_bytes));
  snprintf(fields, sizeof fields,
           "\"op\":\"%s\",\"dtype\":\"bf16\",\"axis\":%d,\"shape\":[%" PRId64 ",%" PRId64 "],\"size\":%" PRId64
           ",\"bytes\":%" PRId64,
           c->op_name, c->axis, r.shape[0], r.shape[1], size, bytes);
  bool right = is_right(h, a, &t, &r);
  if (!right) printf("%-52s WRONG\n", c->name);
  if (!right || h->options.check_only) harness_record(h, c->name, "%s,\"%s\":true", fields, right ? "right" : "wrong");
  else report(h, a, &t, &r, fields, bytes);
  reducing_fini(h, &r);
  return right;
}

static bool run_size(harness *h, int64_t size) {
  arena a;
  bool right = true;
  int n = 0;
  arena_init(h, (size_t)size, (size_t)size, &a);
  fill_source(h, &a);
  for (int i = 0; i < CASE_COUNT; i++) {
    if (!harness_wants(h, cases[i].name)) continue;
    right &= run_case(h, &a, size, &cases[i]);
    n++;
  }
  arena_fini(h, &a);
  printf("%" PRId64 " KiB: %d cases, %s\n", size >> 10, n, right ? "right" : "WRONG");
  return right;
}

int bench_reduce(int argc, char *argv[]) {
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  for (int i = 0; options.list && i < CASE_COUNT; i++) printf("%s\n", cases[i].name);
  if (!options.list && !options.check_only)
    printf("%-52s %9s %9s %9s %4s %8s %7s\n", "reduce", "median us", "min us", "max us", "n", "GB/s", "of read");
  int n = options.list ? 0 : options.n_sizes ? options.n_sizes : 1;
  for (int i = 0; i < n; i++) right &= run_size(&h, options.n_sizes ? options.size[i] : MIB(512));
  harness_fini(&h);
  return right ? 0 : 1;
}
