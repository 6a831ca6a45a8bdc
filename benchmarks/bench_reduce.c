/* Whole matrices reduced along an axis, beside a kernel that only reads. Each result is compared with one made
 * in f64 on the host, then timed. GB/s counts the bytes that must be read. */
#include "arena.h"
#include "axis_shape.h"
#include "harness.h"
#include "numbers.h"
#include "read_speed.h"
#include "subcommands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB(n) ((int64_t)(n) << 20)

typedef struct reduce_case {
  const char *op;
  llrt_combiner combiner;
  llrt_dtype dtype;
  axis_shape shape;
  int axis;
} reduce_case;

static const reduce_case cases[] = {
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {14, 14}, 0},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {14, 14}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {12, 16}, 0},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {12, 16}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {16, 12}, 0},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {16, 12}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {0, 28}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {28, 0}, 0},
    {"max", LLRT_COMBINE_MAX, LLRT_BF16, {14, 14}, 0},
    {"max", LLRT_COMBINE_MAX, LLRT_BF16, {14, 14}, 1},
    {"argmax", LLRT_COMBINE_ARGMAX, LLRT_BF16, {14, 14}, 0},
    {"argmax", LLRT_COMBINE_ARGMAX, LLRT_BF16, {14, 14}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_F32, {14, 14}, 0},
    {"sum", LLRT_COMBINE_SUM, LLRT_F32, {14, 14}, 1},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0], NAME = 80 };

typedef struct reduction_run {
  const reduce_case *c;
  char name[NAME];
  int64_t size, shape[2], bytes;
  llrt_tensor tensors[2];
  llrt_op *op;
  llrt_run_params params;
} reduction_run;

/* ---- what is right ---- */

/* Row `kept` of the result, in f64: the sum, the greatest value or its first place. */
static double expected(const reduction_run *r, const void *source, int64_t kept) {
  int axis = r->c->axis;
  int64_t step = axis == 0 ? r->shape[1] : 1, at = axis == 0 ? kept : kept * r->shape[1], first = 0;
  double sum = 0, most = -INFINITY;
  for (int64_t i = 0; i < r->shape[axis]; i++, at += step) {
    double value = numbers_at(r->c->dtype, source, at);
    sum += value;
    if (value <= most) continue;
    most = value;
    first = i;
  }
  if (r->c->combiner == LLRT_COMBINE_SUM) return sum;
  return r->c->combiner == LLRT_COMBINE_MAX ? most : (double)first;
}

static bool is_right(harness *h, arena *a, const timed *t, const reduction_run *r) {
  int64_t results = r->shape[1 - r->c->axis], wrong = 0;
  llrt_dtype dtype = r->tensors[1].dtype;
  size_t bytes = (size_t)(results * llrt_dtype_bits(dtype) / 8);
  harness_must(llrt_memory_set(h->device, a->destination, ARENA_POISON, bytes + ARENA_GUARD, NULL), "poison");
  t->launch(h, t, 0);
  harness_must(llrt_memory_copy(h->device, a->host_result, a->destination, bytes + ARENA_GUARD,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), r->name);
  for (size_t i = bytes; i < bytes + ARENA_GUARD; i++) wrong += a->host_result[i] != ARENA_POISON;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < results; i++) {
    double want = expected(r, a->host_source, i), got = numbers_at(dtype, a->host_result, i);
    double slack = dtype == LLRT_I64 ? 0 : numbers_rounding(dtype, want);
    wrong += !(fabs(got - want) <= slack);
  }
  return wrong == 0;
}

/* ---- one case ---- */

static void launch_reduce(harness *h, const timed *t, int slot) {
  const reduction_run *r = t->data;
  llrt_tensor tensors[2] = {r->tensors[0], r->tensors[1]};
  (void)h;
  tensors[0].data = t->a->source + (size_t)slot * t->s.source_step;
  tensors[1].data = t->a->destination + (size_t)slot * t->s.destination_step;
  harness_must(llrt_op_run(r->op, NULL, tensors, 2, &r->params), "run");
}

static llrt_status prepare(harness *h, const arena *a, reduction_run *r) {
  const reduce_case *c = r->c;
  llrt_op_desc desc = {.kind = LLRT_OP_REDUCE, .n_tensors = 2,
                       .combine = {.op = c->combiner, .axes = 1u << c->axis}};
  for (int t = 0; t < 2; t++) {
    r->tensors[t] = (llrt_tensor){.data = t ? a->destination : a->source, .dtype = c->dtype, .rank = 2,
                                  .shape = {r->shape[0], r->shape[1]}, .device = h->device};
    if (t == 1) r->tensors[t].shape[c->axis] = 1;
  }
  if (c->combiner == LLRT_COMBINE_ARGMAX) r->tensors[1].dtype = LLRT_I64;
  memcpy(desc.tensors, r->tensors, sizeof r->tensors);
  llrt_status status = llrt_op_promise_coarse(&desc);
  if (!status) status = llrt_op_prepare(h->device, &desc, &r->op);
  return status ? status : harness_add_workspace(h, r->op, r->tensors, 2, &r->params);
}

static void report(harness *h, arena *a, const timed *t, const reduction_run *r, const char *fields) {
  double read = read_speed(h, a);
  harness_statistic s = arena_measure(h, t);
  double speed = 1e-3 * (double)r->bytes / s.median;
  printf("%-52s %9.1f %9.1f %9.1f %4d %8.1f %7.3f\n", r->name, s.median, s.min, s.max, s.count, speed,
         speed / read);
  fflush(stdout);
  harness_record(h, r->name,
                 "%s,\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d,\"gb_per_s\":%.2f,"
                 "\"read_gb_per_s\":%.2f,\"of_read\":%.4f",
                 fields, s.median, s.min, s.max, s.count, speed, read, speed / read);
}

/* Returns whether it was right. */
static bool run_prepared(harness *h, arena *a, const reduction_run *r) {
  char fields[300];
  timed t = {.launch = launch_reduce, .a = a, .data = r};
  t.s = arena_slots(h, a, (size_t)r->bytes, (size_t)(8 * r->shape[1 - r->c->axis]));
  snprintf(fields, sizeof fields,
           "\"op\":\"%s\",\"dtype\":\"%s\",\"axis\":%d,\"shape\":[%" PRId64 ",%" PRId64 "],\"size\":%" PRId64
           ",\"bytes\":%" PRId64,
           r->c->op, llrt_dtype_name(r->c->dtype), r->c->axis, r->shape[0], r->shape[1], r->size, r->bytes);
  bool right = is_right(h, a, &t, r);
  if (!right) printf("%-52s WRONG\n", r->name);
  if (!right || h->options.check_only)
    harness_record(h, r->name, "%s,\"%s\":true", fields, right ? "right" : "wrong");
  else
    report(h, a, &t, r, fields);
  return right;
}

static bool run_case(harness *h, arena *a, reduction_run *r) {
  harness_must(prepare(h, a, r), r->name);
  bool right = run_prepared(h, a, r);
  harness_must(llrt_stream_synchronize(h->device, NULL), r->name);
  llrt_op_destroy(&r->op);
  harness_drop_workspace(h, &r->params);
  return right;
}

/* Sources are filled anew where the type changes: cases of one type follow each other. */
static bool run_size(harness *h, int64_t size) {
  arena a;
  bool right = true;
  llrt_dtype filled = LLRT_DTYPE_NONE;
  arena_init(h, (size_t)size, (size_t)size, &a);
  for (int i = 0; i < CASE_COUNT; i++) {
    reduction_run r = {.c = &cases[i], .size = size};
    int element = llrt_dtype_bits(cases[i].dtype) / 8;
    axis_shape_at(&cases[i].shape, element, size, r.shape);
    axis_name(cases[i].op, cases[i].dtype, r.shape, cases[i].axis, r.name, NAME);
    if (!harness_wants(h, r.name)) continue;
    r.bytes = r.shape[0] * r.shape[1] * element;
    if (filled != cases[i].dtype) {
      filled = cases[i].dtype;
      numbers_fill(filled, a.host_source, size / element, h->options.seed);
      arena_upload(h, &a);
    }
    right &= run_case(h, &a, &r);
  }
  arena_fini(h, &a);
  printf("%" PRId64 " KiB: %s\n", size >> 10, right ? "right" : "WRONG");
  return right;
}

int bench_reduce(int argc, char *argv[]) {
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  for (int i = 0; options.list && i < CASE_COUNT; i++)
    printf("%s %s, axis %d\n", cases[i].op, llrt_dtype_name(cases[i].dtype), cases[i].axis);
  if (!options.list && !options.check_only)
    printf("%-52s %9s %9s %9s %4s %8s %7s\n", "reduce", "median us", "min us", "max us", "n", "GB/s",
           "of read");
  int n = options.list ? 0 : options.n_sizes ? options.n_sizes : 1;
  for (int i = 0; i < n; i++) right &= run_size(&h, options.n_sizes ? options.size[i] : MIB(512));
  harness_fini(&h);
  return right ? 0 : 1;
}
