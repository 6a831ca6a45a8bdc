/* Whole matrices reduced along an axis, beside a kernel that only reads. Each result is compared
 * with one made in f64 on the host, then timed. GB/s counts the bytes that must be read. */
#include "axis_bench.h"
#include "axis_shape.h"
#include "numbers.h"
#include "subcommands.h"

#include "runtime/described.h"

#include <math.h>

#define MIB(n) ((int64_t)(n) << 20)

typedef struct reduce_case {
  const char *op;
  llrt_combiner combiner;
  llrt_dtype dtype;
  axis_shape shape;
  int axis;
} reduce_case;

static const reduce_case cases[] = {
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {.rows = 14, .columns = 14}, 0},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {.rows = 14, .columns = 14}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {.rows = 12, .columns = 16}, 0},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {.rows = 12, .columns = 16}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {.rows = 16, .columns = 12}, 0},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {.rows = 16, .columns = 12}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {.rows = 0, .columns = 28}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {.rows = 28, .columns = 0}, 0},
    {"max", LLRT_COMBINE_MAX, LLRT_BF16, {.rows = 14, .columns = 14}, 0},
    {"max", LLRT_COMBINE_MAX, LLRT_BF16, {.rows = 14, .columns = 14}, 1},
    {"argmax", LLRT_COMBINE_ARGMAX, LLRT_BF16, {.rows = 14, .columns = 14}, 0},
    {"argmax", LLRT_COMBINE_ARGMAX, LLRT_BF16, {.rows = 14, .columns = 14}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_F32, {.rows = 14, .columns = 14}, 0},
    {"sum", LLRT_COMBINE_SUM, LLRT_F32, {.rows = 14, .columns = 14}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {.odd = {50257, 5341}}, 0},
    {"sum", LLRT_COMBINE_SUM, LLRT_BF16, {.odd = {50257, 5341}}, 1},
    {"max", LLRT_COMBINE_MAX, LLRT_BF16, {.odd = {50257, 5341}}, 0},
    {"max", LLRT_COMBINE_MAX, LLRT_BF16, {.odd = {50257, 5341}}, 1},
    {"sum", LLRT_COMBINE_SUM, LLRT_F32, {.odd = {50257, 5341}}, 0},
    {"sum", LLRT_COMBINE_SUM, LLRT_F32, {.odd = {50257, 5341}}, 1},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0], NAME = 80 };

/* Row `kept` of the result, in f64: the sum, the greatest value or its first place. */
static double expected(const axis_run *r, const void *source, int64_t kept) {
  const reduce_case *c = r->data;
  int64_t step = c->axis == 0 ? r->shape[1] : 1, at = c->axis == 0 ? kept : kept * r->shape[1],
          first = 0;
  double sum = 0, most = -INFINITY;
  for (int64_t i = 0; i < r->shape[c->axis]; i++, at += step) {
    double value = numbers_at(c->dtype, source, at);
    sum += value;
    if (value <= most) continue;
    most = value;
    first = i;
  }
  if (c->combiner == LLRT_COMBINE_SUM) return sum;
  return c->combiner == LLRT_COMBINE_MAX ? most : (double)first;
}

static int64_t count_wrong(const axis_run *r, const void *source, const void *result) {
  int64_t wrong = 0;
  llrt_dtype dtype = r->tensors[1].dtype;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < r->shape[1 - r->axis]; i++) {
    double want = expected(r, source, i), got = numbers_at(dtype, result, i);
    double slack = dtype == LLRT_I64 ? 0 : numbers_rounding(dtype, want);
    wrong += !(fabs(got - want) <= slack);
  }
  return wrong;
}

/* ---- one case ---- */

static void make_tensors(harness *h, const arena *a, axis_run *r) {
  const reduce_case *c = r->data;
  llrt_dtype result = c->combiner == LLRT_COMBINE_ARGMAX ? LLRT_I64 : c->dtype;
  r->tensors[0] = axis_matrix(h, r, c->dtype, a->source);
  r->tensors[1] = axis_matrix(h, r, result, a->destination);
  r->tensors[1].shape[c->axis] = 1;
  r->source_bytes = (size_t)(r->shape[0] * r->shape[1] * llrt_dtype_bits(c->dtype) / 8);
  r->result_bytes = (size_t)(r->shape[1 - c->axis] * llrt_dtype_bits(result) / 8);
  r->bytes = (int64_t)r->source_bytes;
}

static bool run_case(harness *h, arena *a, axis_run *r) {
  const reduce_case *c = r->data;
  op_description desc = {.kind = LLRT_OP_REDUCE,
                         .combine = {.op = c->combiner, .axes = 1u << c->axis}};
  make_tensors(h, a, r);
  harness_must(axis_run_prepare(h, r, &desc), r->name);
  bool right = axis_run_measure(h, a, r);
  axis_run_fini(h, r);
  return right;
}

/* Sources are filled anew where the type changes: cases of one type follow each other. */
static bool run_cases(harness *h, arena *a, int64_t size) {
  bool right = true;
  llrt_dtype filled = LLRT_DTYPE_NONE;
  for (int i = 0; i < CASE_COUNT; i++) {
    const reduce_case *c = &cases[i];
    char name[NAME];
    axis_run r = {.name = name,
                  .op = c->op,
                  .axis = c->axis,
                  .size = size,
                  .reference = AXIS_OF_READ,
                  .count_wrong = count_wrong,
                  .data = c};
    int element = llrt_dtype_bits(c->dtype) / 8;
    axis_shape_at(&c->shape, element, size, r.shape);
    axis_name(c->op, c->dtype, r.shape, c->axis, name, NAME);
    bool odd = c->shape.odd[0] > 0;
    if (odd != h->options.odd || r.shape[0] < 1 || !harness_wants(h, name)) continue;
    if (filled != c->dtype) {
      filled = c->dtype;
      numbers_fill(filled, a->host_source, size / element, h->options.seed);
      arena_upload(h, a);
    }
    right &= run_case(h, a, &r);
  }
  return right;
}

static void list(void) {
  for (int i = 0; i < CASE_COUNT; i++)
    printf("%s %s, axis %d\n", cases[i].op, llrt_dtype_name(cases[i].dtype), cases[i].axis);
}

int bench_reduce(int argc, char *argv[]) {
  static const axis_bench bench = {.title = "reduce",
                                   .reference = AXIS_OF_READ,
                                   .size = MIB(512),
                                   .list = list,
                                   .run_cases = run_cases};
  return axis_bench_main(&bench, argc, argv);
}
