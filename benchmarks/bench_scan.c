/* Whole tensors scanned along an axis, row-major, beside a plain copy: running f32 sums of -1, 0 and 1, which any
 * order gives exactly. Each is compared in full, then timed. GB/s counts the tensor twice, read and written. */
#include "arena.h"
#include "harness.h"
#include "subcommands.h"

#include <llrt/scan.h>

#include <inttypes.h>
#include <string.h>

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

typedef struct scanning {
  const scan_case *c;
  int64_t lines, length, shape[2];
  llrt_tensor tensor[2];
  llrt_op *op;
  llrt_run_params params;
} scanning;

static llrt_status prepare(harness *h, const arena *a, int64_t size, scanning *s) {
  int bits = 0, lines = s->c->lines_bits;
  while ((int64_t)ELEMENT << (bits + 1) <= size) bits++;
  if (lines < 0) lines = bits / 2 - 2;
  if (lines > bits) lines = bits;
  s->lines = (int64_t)1 << lines;
  s->length = (int64_t)1 << (bits - lines);
  s->shape[s->c->axis] = s->length;
  s->shape[1 - s->c->axis] = s->lines;
  for (int t = 0; t < 2; t++)
    s->tensor[t] = (llrt_tensor){.data = t ? a->destination : a->source, .dtype = LLRT_F32, .rank = 2,
                                 .shape = {s->shape[0], s->shape[1]}, .device = h->device};
  llrt_op_desc desc = {.kind = LLRT_OP_SCAN, .n_tensors = 2, .tensors = {s->tensor[0], s->tensor[1]}};
  desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .accumulate = LLRT_F32, .axes = 1u << s->c->axis,
                                   .exclusive = s->c->exclusive, .reverse = s->c->reverse};
  llrt_status status = llrt_op_promise_coarse(&desc);
  if (!status) status = llrt_op_prepare(h->device, &desc, &s->op);
  return status ? status : harness_add_workspace(h, s->op, s->tensor, 2, &s->params);
}

static void launch_scan(harness *h, const timed *t, int slot) {
  const scanning *s = t->data;
  llrt_tensor tensors[2] = {s->tensor[0], s->tensor[1]};
  (void)h;
  tensors[0].data = t->a->source + (size_t)slot * t->s.source_step;
  tensors[1].data = t->a->destination + (size_t)slot * t->s.destination_step;
  harness_must(llrt_op_run(s->op, NULL, tensors, 2, &s->params), "run");
}

/* Sums of up to 2^24 of these are integers that f32 holds; those of more stay as small, by all odds. */
static void fill(harness *h, arena *a, int64_t size) {
  float *source = (float *)(void *)a->host_source;
  uint64_t seed = h->options.seed;
#pragma omp parallel for
  for (int64_t i = 0; i < size / ELEMENT; i++)
    source[i] = (float)(int)(harness_mix(seed * 0x9e3779b9 + (uint64_t)i) % 3) - 1;
  arena_upload(h, a);
}

/* Elements that are not the sum of those before them. */
static int64_t count_wrong(const scanning *s, const float *source, const float *result) {
  int64_t wrong = 0, step = s->c->axis ? 1 : s->lines, line = s->c->axis ? s->length : 1;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < s->lines; i++) {
    float sum = 0;
    for (int64_t k = 0; k < s->length; k++) {
      int64_t at = i * line + (s->c->reverse ? s->length - 1 - k : k) * step;
      float before = sum;
      sum += source[at];
      wrong += result[at] != (s->c->exclusive ? before : sum);
    }
  }
  return wrong;
}

static bool is_right(harness *h, arena *a, const timed *t, const scanning *s) {
  size_t bytes = (size_t)(s->lines * s->length) * ELEMENT;
  harness_must(llrt_memory_set(h->device, a->destination, ARENA_POISON, bytes + ARENA_GUARD, NULL), "poison");
  t->launch(h, t, 0);
  harness_must(llrt_memory_copy(h->device, a->host_result, a->destination, bytes + ARENA_GUARD,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), s->c->name);
  for (size_t i = bytes; i < bytes + ARENA_GUARD; i++)
    if (a->host_result[i] != ARENA_POISON) return false;
  return count_wrong(s, (const float *)(const void *)a->host_source,
                     (const float *)(const void *)a->host_result) == 0;
}

static void report(harness *h, arena *a, const timed *t, const scanning *s, const char *fields, int64_t bytes) {
  double copy = arena_copy_speed(h, a);
  harness_statistic m = arena_measure(h, t);
  double speed = 1e-3 * (double)bytes / m.median;
  printf("%-52s %9.1f %9.1f %9.1f %4d %8.1f %7.3f\n", s->c->name, m.median, m.min, m.max, m.count, speed,
         speed / copy);
  fflush(stdout);
  harness_record(h, s->c->name,
                 "%s,\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d,\"gb_per_s\":%.2f,"
                 "\"copy_gb_per_s\":%.2f,\"of_copy\":%.4f",
                 fields, m.median, m.min, m.max, m.count, speed, copy, speed / copy);
}

/* Returns whether it was right. */
static bool run_case(harness *h, arena *a, int64_t size, const scan_case *c) {
  scanning s = {.c = c};
  char fields[300];
  harness_must(prepare(h, a, size, &s), c->name);
  int64_t elements = s.lines * s.length, bytes = 2 * ELEMENT * elements;
  timed t = {.launch = launch_scan, .a = a, .data = &s};
  t.s = arena_slots(h, a, (size_t)(ELEMENT * elements), (size_t)(ELEMENT * elements));
  snprintf(fields, sizeof fields,
           "\"op\":\"scan\",\"dtype\":\"f32\",\"axis\":%d,\"shape\":[%" PRId64 ",%" PRId64 "],\"size\":%" PRId64
           ",\"bytes\":%" PRId64,
           c->axis, s.shape[0], s.shape[1], size, bytes);
  bool right = is_right(h, a, &t, &s);
  if (!right) printf("%-52s WRONG\n", c->name);
  if (!right || h->options.check_only)
    harness_record(h, c->name, "%s,\"%s\":true", fields, right ? "right" : "wrong");
  else
    report(h, a, &t, &s, fields, bytes);
  harness_must(llrt_stream_synchronize(h->device, NULL), c->name);
  llrt_op_destroy(&s.op);
  harness_drop_workspace(h, &s.params);
  return right;
}

static bool run_size(harness *h, int64_t size) {
  arena a;
  bool right = true;
  int n = 0;
  arena_init(h, (size_t)size, (size_t)size, &a);
  fill(h, &a, size);
  for (int i = 0; i < CASE_COUNT; i++) {
    if (!harness_wants(h, cases[i].name)) continue;
    right &= run_case(h, &a, size, &cases[i]);
    n++;
  }
  arena_fini(h, &a);
  printf("%" PRId64 " KiB: %d cases, %s\n", size >> 10, n, right ? "right" : "WRONG");
  return right;
}

int bench_scan(int argc, char *argv[]) {
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  for (int i = 0; options.list && i < CASE_COUNT; i++) printf("%s\n", cases[i].name);
  if (!options.list && !options.check_only)
    printf("%-52s %9s %9s %9s %4s %8s %7s\n", "scan", "median us", "min us", "max us", "n", "GB/s",
           "of copy");
  int n = options.list ? 0 : options.n_sizes ? options.n_sizes : 1;
  for (int i = 0; i < n; i++) right &= run_size(&h, options.n_sizes ? options.size[i] : MIB(1024));
  harness_fini(&h);
  return right ? 0 : 1;
}
