/* Whole tensors scanned along an axis, row-major, beside a plain copy: running f32 sums of -1, 0
 * and 1, which any order gives exactly. Each is compared in full, then timed. GB/s counts the
 * tensor twice, read and written. */
#include "axis_bench.h"
#include "subcommands.h"

#include "runtime/described.h"

#include <llrt/scan.h>

#define MIB(n) ((int64_t)(n) << 20)

typedef struct scan_case {
  const char *name;
  int axis, lines_bits; /* lines: positions of the other axis; -1: one in 16 of the axis */
  bool exclusive, reverse;
} scan_case;

static const scan_case cases[] = {
    {"axis 1, 4096 lines", 1, 12, false, false},
    {"axis 0, 4096 lines", 0, 12, false, false},
    {"axis 1, as many lines as positions / 16", 1, -1, false, false},
    {"axis 1, 4096 lines, exclusive, reverse", 1, 12, true, true},
    {"axis 1, 256 lines", 1, 8, false, false},
    {"axis 1, one line", 1, 0, false, false},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0], ELEMENT = 4 };

/* Lines and the positions of each, in a tensor of `size` bytes. */
static void choose_shape(const scan_case *c, int64_t size, int64_t shape[2]) {
  int bits = 0, lines = c->lines_bits;
  while ((int64_t)ELEMENT << (bits + 1) <= size) bits++;
  if (lines < 0) lines = bits / 2 - 2;
  if (lines > bits) lines = bits;
  shape[c->axis] = (int64_t)1 << (bits - lines);
  shape[1 - c->axis] = (int64_t)1 << lines;
}

/* Sums of up to 2^24 of these are integers that f32 holds; those of more stay as small, by all
 * odds. */
static void fill(harness *h, arena *a, int64_t size) {
  float *source = (float *)(void *)a->host_source;
  uint64_t seed = h->options.seed;
#pragma omp parallel for
  for (int64_t i = 0; i < size / ELEMENT; i++)
    source[i] = (float)(int)(harness_mix(seed * 0x9e3779b9 + (uint64_t)i) % 3) - 1;
  arena_upload(h, a);
}

/* Elements that are not the sum of those before them. */
static int64_t count_wrong(const axis_run *r, const void *source_bytes, const void *result_bytes) {
  const scan_case *c = r->data;
  const float *source = source_bytes, *result = result_bytes;
  int64_t wrong = 0, lines = r->shape[1 - c->axis], length = r->shape[c->axis];
  int64_t step = c->axis ? 1 : lines, line = c->axis ? length : 1;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < lines; i++) {
    float sum = 0;
    for (int64_t k = 0; k < length; k++) {
      int64_t at = i * line + (c->reverse ? length - 1 - k : k) * step;
      float before = sum;
      sum += source[at];
      wrong += result[at] != (c->exclusive ? before : sum);
    }
  }
  return wrong;
}

static bool run_case(harness *h, arena *a, int64_t size, const void *of) {
  const scan_case *c = of;
  axis_run r = {.name = c->name,
                .op = "scan",
                .axis = c->axis,
                .size = size,
                .reference = AXIS_OF_COPY,
                .count_wrong = count_wrong,
                .data = c};
  choose_shape(c, size, r.shape);
  r.source_bytes = r.result_bytes = (size_t)(r.shape[0] * r.shape[1]) * ELEMENT;
  r.bytes = 2 * (int64_t)r.source_bytes;
  r.tensors[0] = axis_matrix(h, &r, LLRT_F32, a->source);
  r.tensors[1] = axis_matrix(h, &r, LLRT_F32, a->destination);
  op_description desc = {.kind = LLRT_OP_SCAN};
  desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM,
                                   .accumulate = LLRT_F32,
                                   .axes = 1u << c->axis,
                                   .exclusive = c->exclusive,
                                   .reverse = c->reverse};
  harness_must(axis_run_prepare(h, &r, &desc), c->name);
  bool right = axis_run_measure(h, a, &r);
  axis_run_fini(h, &r);
  return right;
}

int bench_scan(int argc, char *argv[]) {
  static const axis_bench bench = {.title = "scan",
                                   .reference = AXIS_OF_COPY,
                                   .size = MIB(1024),
                                   .cases = cases,
                                   .case_bytes = sizeof *cases,
                                   .n_cases = CASE_COUNT,
                                   .begin = fill,
                                   .run_case = run_case};
  return axis_bench_main(&bench, argc, argv);
}
