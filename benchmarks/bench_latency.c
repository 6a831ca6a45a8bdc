/* What a call costs the host: cached calls beside a bare launch, and the first call of a class.
 *
 * Cached: host time of one call on a tensor small enough that the device is never the bound,
 * averaged over a batch with an idle device at its beginning; the table gives the median over the
 * samples. The expression is a softmax. Bare is cuLaunchKernel of an empty kernel with as many
 * parameters as a small convert has. Cold: the first llrt_convert_into of a class until its result
 * is there, with context and device open and one unrelated kernel compiled before. Process-first
 * includes opening both and loading the compiler; its parts stand behind it: the driver with its
 * context (without llrt, where
 * --device names one of NVIDIA's), what llrt's context, device and memory take then, and the call.
 * From saved bytes: llrt_op_load in a context that may not compile, until the first result is
 * there. Every first result is compared. */
#include "cuda_driver.h"
#include "element.h"
#include "empty_kernel.h"
#include "harness.h"
#include "reference.h"
#include "subcommands.h"

#include "runtime/described.h"
#include "tools/common/best_device.h"

#include <llrt/compute.h>

#include <stdlib.h>
#include <string.h>

enum { BATCH = 200, EXTENT = 64, MAX_BYTES = EXTENT * EXTENT * 8 };

typedef struct fixture {
  harness *h;
  llrt_storage row_major, col_major;
  llrt_tensor source, destination;
  llrt_op *op;
  llrt_expr *softmax;
  llrt_tensor rows[2]; /* its input and output */
  llrt_arg args[2];
  ptx_kernel *empty;
  uint64_t data[MAX_BYTES / 8]; /* of the source */
} fixture;

typedef void timed_call(const fixture *f);

static void call_convert(const fixture *f) {
  harness_must(llrt_convert_into(&f->source, &f->destination, NULL, NULL), "convert");
}

static void call_run(const fixture *f) {
  llrt_tensor tensors[2] = {f->source, f->destination};
  harness_must(llrt_op_run(f->op, NULL, tensors, 2, NULL), "run");
}

static void call_compute(const fixture *f) {
  harness_must(llrt_compute_into(f->softmax, f->args, 2, NULL, NULL), "compute");
}

static void call_bare(const fixture *f) { empty_kernel_launch(f->empty, NULL); }

/* ---- first calls ---- */

static void report(harness *h, const char *name, const harness_statistic *s) {
  printf("%-34s %11.2f %11.2f %11.2f %5d\n", name, s->median, s->min, s->max, s->count);
  harness_record(h, name, "\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d", s->median,
                 s->min, s->max, s->count);
}

static void report_once(harness *h, const char *name, double us) {
  harness_statistic s = {us, us, us, 1};
  report(h, name, &s);
}

static llrt_tensor make_tensor(const fixture *f, llrt_dtype dtype, const llrt_storage *storage,
                               void *data) {
  return (llrt_tensor){.data = data,
                       .dtype = dtype,
                       .rank = 2,
                       .shape = {EXTENT, EXTENT},
                       .storage = storage,
                       .device = f->h->device};
}

/* Ends the program unless the destination is the transposed source, and poisons it. */
static void check(fixture *f, llrt_dtype dtype) {
  unsigned char found[MAX_BYTES];
  int bits = llrt_dtype_bits(dtype);
  llrt_device *device = f->h->device;
  harness_must(llrt_memory_copy(device, found, f->destination.data, sizeof found,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(device, NULL), "copy from the device");
  for (int64_t i = 0; i < EXTENT * EXTENT; i++) {
    element right = element_load(f->data, i % EXTENT * EXTENT + i / EXTENT, bits);
    if (element_same(element_load(found, i, bits), right)) continue;
    fprintf(stderr, "latency: a transpose of %s is wrong\n", llrt_dtype_name(dtype));
    exit(1);
  }
  harness_must(llrt_memory_set(device, f->destination.data, 0xee, sizeof found, NULL), "poison");
  harness_must(llrt_stream_synchronize(device, NULL), "poison");
}

/* Microseconds until a transpose of the given type is done. */
static double time_first_call(fixture *f, llrt_dtype dtype) {
  llrt_tensor source = make_tensor(f, dtype, &f->row_major, f->source.data);
  llrt_tensor destination = make_tensor(f, dtype, &f->col_major, f->destination.data);
  double start = harness_now();
  harness_must(llrt_convert_into(&source, &destination, NULL, NULL), "first call");
  harness_must(llrt_stream_synchronize(f->h->device, NULL), "first call");
  double spent = harness_now() - start;
  check(f, dtype);
  return spent;
}

/* Microseconds until a saved kernel has run once, on `device` of a context without a compiler. */
static double time_load(fixture *f, llrt_device *device, const void *bytes, size_t size) {
  llrt_op *op;
  llrt_tensor tensors[2] = {f->source, f->destination};
  tensors[0].device = tensors[1].device = device;
  double start = harness_now();
  harness_must(llrt_op_load(device, bytes, size, &op), "load");
  harness_must(llrt_op_run(op, NULL, tensors, 2, NULL), "run");
  harness_must(llrt_stream_synchronize(device, NULL), "run");
  double spent = harness_now() - start;
  check(f, f->source.dtype);
  llrt_op_destroy(&op);
  return spent;
}

/* A context of its own for each sample: no cache of kernels helps. */
static void run_loads(fixture *f) {
  double samples[HARNESS_MAX_SAMPLES];
  size_t size = 0;
  int repeat = f->h->options.check_only ? 1 : f->h->options.repeat;
  harness_must(llrt_op_save(f->op, NULL, &size), "save");
  void *bytes = malloc(size);
  if (!bytes) harness_must(LLRT_OUT_OF_MEMORY, "save");
  harness_must(llrt_op_save(f->op, bytes, &size), "save");
  for (int i = 0; i < repeat; i++) {
    llrt_context_params params = {.compile = LLRT_COMPILE_FORBIDDEN};
    llrt_context *context;
    llrt_device *device;
    harness_must(llrt_context_create(&params, &context), "context");
    harness_must(best_device_open(context, f->h->info.name, f->h->options.target, &device),
                 "device");
    samples[i] = time_load(f, device, bytes, size);
    llrt_device_close(&device);
    llrt_context_destroy(&context);
  }
  free(bytes);
  harness_statistic s = harness_summarise(samples, repeat);
  report(f->h, "first call from saved bytes", &s);
}

/* The class of the cached calls is the process's first; the other widths are then cold. */
static void run_first_calls(fixture *f, double driver, double opening) {
  static const llrt_dtype others[] = {LLRT_U8, LLRT_U16, LLRT_U64};
  enum { OTHERS = sizeof others / sizeof others[0] };
  double samples[OTHERS];
  double call = time_first_call(f, LLRT_U32);
  report_once(f->h, "first call of the process", driver + opening + call);
  if (driver > 0) report_once(f->h, "  the driver and its context alone", driver);
  report_once(f->h, "  opening context and device", opening);
  report_once(f->h, "  the call, loading the compiler", call);
  for (int i = 0; i < OTHERS; i++) samples[i] = time_first_call(f, others[i]);
  harness_statistic s = harness_summarise(samples, OTHERS);
  report(f->h, "first call of a class (cold)", &s);
}

/* ---- cached calls ---- */

static void run_cached(const fixture *f, const char *name, timed_call *call) {
  double samples[HARNESS_MAX_SAMPLES];
  int repeat = f->h->options.repeat;
  for (int sample = -1; sample < repeat; sample++) { /* the first warms up */
    double start = harness_now();
    for (int i = 0; i < BATCH; i++) call(f);
    double spent = harness_now() - start;
    harness_must(llrt_stream_synchronize(f->h->device, NULL), name);
    if (sample >= 0) samples[sample] = spent / BATCH;
  }
  harness_statistic s = harness_summarise(samples, repeat);
  report(f->h, name, &s);
}

static void fixture_init(fixture *f, harness *h) {
  const size_t bytes = MAX_BYTES;
  void *source, *destination;
  *f = (fixture){.h = h};
  harness_must(llrt_storage_row_major(2, &f->row_major), "row_major");
  harness_must(llrt_storage_col_major(2, &f->col_major), "col_major");
  harness_must(llrt_memory_allocate(h->device, bytes, &source), "device memory");
  harness_must(llrt_memory_allocate(h->device, bytes, &destination), "device memory");
  reference_fill(f->data, bytes, h->options.seed);
  harness_must(llrt_memory_copy(h->device, source, f->data, bytes, LLRT_COPY_TO_DEVICE, NULL),
               "copy to the device");
  harness_must(llrt_memory_set(h->device, destination, 0xee, bytes, NULL), "poison");
  f->source = make_tensor(f, LLRT_U32, &f->row_major, source);
  f->destination = make_tensor(f, LLRT_U32, &f->col_major, destination);
}

static void prepare_op(fixture *f) {
  op_description desc = {
      .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {f->source, f->destination}};
  harness_must(described_promise(&desc), "promises");
  harness_must(described_prepare(f->h->device, &desc, &f->op), "prepare");
}

/* The same bytes as rows of f32. */
static void prepare_compute(fixture *f) {
  static const char *const names[] = {"x", "y"};
  harness_must(llrt_expr_parse("(x[t n]) -> (y[t n]) { e = exp(x - max(x, n)); y = e / sum(e, n) }",
                               &f->softmax),
               "expression");
  f->rows[0] = make_tensor(f, LLRT_F32, &f->row_major, f->source.data);
  f->rows[1] = make_tensor(f, LLRT_F32, &f->row_major, f->destination.data);
  for (int t = 0; t < 2; t++) f->args[t] = (llrt_arg){.name = names[t], .tensor = &f->rows[t]};
  call_compute(f);
}

static void fixture_fini(fixture *f) {
  llrt_op_destroy(&f->op);
  llrt_expr_destroy(&f->softmax);
  llrt_memory_free(f->h->device, f->source.data);
  llrt_memory_free(f->h->device, f->destination.data);
}

static void run_all_cached(fixture *f) {
  run_cached(f, "llrt_convert_into, cached", call_convert);
  run_cached(f, "llrt_op_run", call_run);
  run_cached(f, "llrt_compute_into, cached", call_compute);
  if (strncmp(f->h->info.name, "cuda:", 5) != 0) return;
  f->empty = empty_kernel_create(f->h->info.name);
  run_cached(f, "bare cuLaunchKernel", call_bare);
  ptx_kernel_destroy(f->empty);
}

int bench_latency(int argc, char *argv[]) {
  harness_options options;
  harness h;
  static fixture f;
  harness_parse(argc, argv, &options);
  bool apart = options.device && strncmp(options.device, "cuda:", 5) == 0;
  cuda_driver driver;
  double start = harness_now();
  if (apart) cuda_driver_open(options.device, &driver);
  double opened = harness_now();
  harness_init(&options, &h);
  fixture_init(&f, &h);
  double opening = harness_now() - opened;
  printf("%-34s %11s %11s %11s %5s\n", "host time of", "median us", "min us", "max us", "n");
  run_first_calls(&f, apart ? opened - start : 0, opening);
  prepare_op(&f);
  run_loads(&f);
  prepare_compute(&f);
  if (!options.check_only) run_all_cached(&f);
  fixture_fini(&f);
  harness_fini(&h);
  if (apart) cuda_driver_close(&driver);
  return 0;
}
