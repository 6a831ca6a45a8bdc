#include "axis_bench.h"

#include "read_speed.h"

#include "runtime/described.h"

#include <inttypes.h>

llrt_tensor axis_matrix(const harness *h, const axis_run *r, llrt_dtype dtype, void *data) {
  return (llrt_tensor){.data = data,
                       .dtype = dtype,
                       .rank = 2,
                       .shape = {r->shape[0], r->shape[1]},
                       .device = h->device};
}

static int tensor_count(const axis_run *r) { return r->scaled ? 3 : 2; }

llrt_status axis_run_prepare(harness *h, axis_run *r, op_description *desc) {
  desc->n_tensors = tensor_count(r);
  for (int t = 0; t < desc->n_tensors; t++) desc->tensors[t] = r->tensors[t];
  llrt_status status = described_promise(desc);
  if (!status) status = harness_prepare(h, desc, &r->op_prepared);
  return status ? status
                : harness_add_workspace(h, r->op_prepared, r->tensors, desc->n_tensors, &r->params);
}

void axis_run_fini(harness *h, axis_run *r) {
  harness_must(llrt_stream_synchronize(h->device, NULL), r->name);
  llrt_op_destroy(&r->op_prepared);
  harness_drop_workspace(h, &r->params);
}

static void launch(harness *h, const timed *t, int slot) {
  const axis_run *r = t->data;
  llrt_tensor tensors[3] = {r->tensors[0], r->tensors[1], r->tensors[2]};
  (void)h;
  tensors[0].data = t->a->source + (size_t)slot * t->s.source_step;
  tensors[1].data = t->a->destination + (size_t)slot * t->s.destination_step;
  harness_must(llrt_op_run(r->op_prepared, NULL, tensors, tensor_count(r), &r->params), r->name);
}

static bool is_right(harness *h, arena *a, const timed *t, const axis_run *r) {
  size_t bytes = r->result_bytes;
  harness_must(llrt_memory_set(h->device, a->destination, ARENA_POISON, bytes + ARENA_GUARD, NULL),
               "poison");
  t->launch(h, t, 0);
  harness_must(llrt_memory_copy(h->device, a->host_result, a->destination, bytes + ARENA_GUARD,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), r->name);
  for (size_t i = bytes; i < bytes + ARENA_GUARD; i++)
    if (a->host_result[i] != ARENA_POISON) return false;
  return r->count_wrong(r, a->host_source, a->host_result) == 0;
}

static const char *reference_name(axis_reference reference) {
  return reference == AXIS_OF_READ ? "read" : "copy";
}

static void report(harness *h, arena *a, const timed *t, const axis_run *r, const char *fields) {
  double full = r->reference == AXIS_OF_READ ? read_speed(h, a) : arena_copy_speed(h, a);
  harness_statistic s = arena_measure(h, t);
  double speed = 1e-3 * (double)r->bytes / s.median;
  const char *of = reference_name(r->reference);
  printf("%-52s %9.1f %9.1f %9.1f %4d %8.1f %7.3f\n", r->name, s.median, s.min, s.max, s.count,
         speed, speed / full);
  fflush(stdout);
  harness_record(h, r->name,
                 "%s,\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d,\"gb_per_s\":%.2f,"
                 "\"%s_gb_per_s\":%.2f,\"of_%s\":%.4f",
                 fields, s.median, s.min, s.max, s.count, speed, of, full, of, speed / full);
}

bool axis_run_measure(harness *h, arena *a, const axis_run *r) {
  char fields[300];
  timed t = {.launch = launch,
             .a = a,
             .data = r,
             .s = arena_slots(h, a, r->source_bytes, r->result_bytes)};
  snprintf(fields, sizeof fields,
           "\"op\":\"%s\",\"dtype\":\"%s\",\"axis\":%d,\"shape\":[%" PRId64 ",%" PRId64
           "],\"size\":%" PRId64 ",\"bytes\":%" PRId64,
           r->op, llrt_dtype_name(r->tensors[0].dtype), r->axis, r->shape[0], r->shape[1], r->size,
           r->bytes);
  bool right = is_right(h, a, &t, r);
  if (!right) printf("%-52s WRONG\n", r->name);
  if (!right || h->options.check_only)
    harness_record(h, r->name, "%s,\"%s\":true", fields, right ? "right" : "wrong");
  else report(h, a, &t, r, fields);
  return right;
}

/* Case i, and its name. */
static const void *case_at(const axis_bench *b, int i) {
  return (const char *)b->cases + (size_t)i * b->case_bytes;
}
static const char *name_at(const axis_bench *b, int i) {
  return *(const char *const *)case_at(b, i);
}

static void list_cases(const axis_bench *b) {
  if (b->list) b->list();
  for (int i = 0; i < b->n_cases; i++) printf("%s\n", name_at(b, i));
}

static bool run_cases(harness *h, arena *a, const axis_bench *b, int64_t size) {
  bool right = !b->run_cases || b->run_cases(h, a, size);
  if (b->begin) b->begin(h, a, size);
  for (int i = 0; i < b->n_cases; i++)
    if (harness_wants(h, name_at(b, i))) right &= b->run_case(h, a, size, case_at(b, i));
  return right;
}

static bool run_size(harness *h, const axis_bench *b, int64_t size) {
  arena a;
  arena_init(h, (size_t)size, (size_t)size, &a);
  bool right = run_cases(h, &a, b, size);
  arena_fini(h, &a);
  printf("%" PRId64 " KiB: %s\n", size >> 10, right ? "right" : "WRONG");
  return right;
}

int axis_bench_main(const axis_bench *b, int argc, char *argv[]) {
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  if (options.list) list_cases(b);
  if (!options.list && !options.check_only)
    printf("%-52s %9s %9s %9s %4s %8s %4s %s\n", b->title, "median us", "min us", "max us", "n",
           "GB/s", "of", reference_name(b->reference));
  int n = options.list ? 0 : options.n_sizes ? options.n_sizes : 1;
  for (int i = 0; i < n; i++) right &= run_size(&h, b, options.n_sizes ? options.size[i] : b->size);
  harness_fini(&h);
  return right ? 0 : 1;
}
