/* Whole-tensor conversions beside a plain copy: each is checked, then timed.
 *
 * Buffers rotate over at least four times the L2 cache, for the copy as for the kernels. A sample
 * is a batch of launches between two events; the table gives the median, least and greatest time of
 * one launch over the samples. GB/s counts bytes read and written. */
#include "harness.h"
#include "reference.h"
#include "subcommands.h"
#include "workload.h"

#include <stdlib.h>
#include <string.h>

enum {
  MAX_PAIRS = 64,
  MAX_BATCH = 1000,
  BATCH_MICROSECONDS = 2000, /* long beside the resolution of events and the gap between launches */
  LEAST_CACHE = 64 << 20     /* where the device does not say, and for the host's last level */
};

/* Equal buffers to rotate through; every source holds the same data. */
typedef struct buffers {
  size_t bytes;
  int n_pairs;
  void *source[MAX_PAIRS], *destination[MAX_PAIRS];
  void *host_source, *host_result;
} buffers;

/* One thing to time: queues work on buffer pair `pair`. */
typedef struct timed {
  void (*launch)(harness *h, const struct timed *t, int pair);
  const buffers *b;
  const llrt_op *op;
  llrt_tensor tensors[2];
} timed;

static void launch_op(harness *h, const timed *t, int pair) {
  llrt_tensor tensors[2] = {t->tensors[0], t->tensors[1]};
  (void)h;
  tensors[0].data = t->b->source[pair];
  tensors[1].data = t->b->destination[pair];
  harness_must(llrt_op_run(t->op, NULL, tensors, 2, NULL), "run");
}

static void launch_device_copy(harness *h, const timed *t, int pair) {
  harness_must(llrt_memory_copy(h->device, t->b->destination[pair], t->b->source[pair], t->b->bytes,
                                LLRT_COPY_ON_DEVICE, NULL),
               "copy");
}

static void launch_memcpy(harness *h, const timed *t, int pair) {
  (void)h;
  memcpy(t->b->destination[pair], t->b->source[pair], t->b->bytes);
}

static void launch_parallel_memcpy(harness *h, const timed *t, int pair) {
  enum { CHUNK = 1 << 20 };
  const char *source = t->b->source[pair];
  char *destination = t->b->destination[pair];
  int64_t chunks = (int64_t)(t->b->bytes / CHUNK);
  (void)h;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < chunks; i++) memcpy(destination + i * CHUNK, source + i * CHUNK, CHUNK);
}

/* ---- memory ---- */

static void *allocate(harness *h, size_t bytes) {
  void *memory;
  harness_must(llrt_memory_allocate(h->device, bytes, &memory), "device memory");
  return memory;
}

static void buffers_init(harness *h, size_t bytes, buffers *b) {
  size_t cache = h->info.l2_bytes > LEAST_CACHE ? h->info.l2_bytes : LEAST_CACHE;
  size_t pairs = 1 + 4 * cache / (2 * bytes);
  *b = (buffers){.bytes = bytes, .n_pairs = pairs < MAX_PAIRS ? (int)pairs : MAX_PAIRS};
  b->host_source = malloc(bytes);
  b->host_result = malloc(bytes);
  if (!b->host_source || !b->host_result) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  reference_fill(b->host_source, bytes, h->options.seed);
  for (int i = 0; i < b->n_pairs; i++) {
    b->source[i] = allocate(h, bytes);
    b->destination[i] = allocate(h, bytes);
    harness_must(
        llrt_memory_copy(h->device, b->source[i], b->host_source, bytes, LLRT_COPY_TO_DEVICE, NULL),
        "copy to the device");
  }
}

static void buffers_fini(harness *h, buffers *b) {
  for (int i = 0; i < b->n_pairs; i++) {
    llrt_memory_free(h->device, b->source[i]);
    llrt_memory_free(h->device, b->destination[i]);
  }
  free(b->host_source);
  free(b->host_result);
}

/* ---- timing ---- */

/* Microseconds of one launch, over a batch of `count`. */
static double time_batch(harness *h, const timed *t, int count) {
  llrt_event *start, *stop;
  double microseconds;
  harness_must(llrt_event_create(h->device, &start), "event");
  harness_must(llrt_event_create(h->device, &stop), "event");
  harness_must(llrt_event_record(start, NULL), "event");
  for (int i = 0; i < count; i++) t->launch(h, t, i % t->b->n_pairs);
  harness_must(llrt_event_record(stop, NULL), "event");
  harness_must(llrt_event_elapsed(start, stop, &microseconds), "event");
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
  return microseconds / count;
}

static harness_statistic measure(harness *h, const timed *t) {
  double samples[HARNESS_MAX_SAMPLES];
  double one = time_batch(h, t, t->b->n_pairs); /* warms up, too */
  int batch =
      one > 0 && one * MAX_BATCH > BATCH_MICROSECONDS ? (int)(BATCH_MICROSECONDS / one) : MAX_BATCH;
  if (batch < t->b->n_pairs) batch = t->b->n_pairs;
  time_batch(h, t, batch);
  for (int i = 0; i < h->options.repeat; i++) samples[i] = time_batch(h, t, batch);
  return harness_summarise(samples, h->options.repeat);
}

/* Prints and records one line; returns the median. copy is the reference's median, 0 for itself. */
static double report(harness *h, const char *name, const buffers *b, const harness_statistic *s,
                     double copy) {
  double speed = 2e-3 * (double)b->bytes / s->median;
  double of_copy = copy > 0 ? copy / s->median : 1;
  printf("%-24s %6zu %11.1f %11.1f %11.1f %4d %9.1f %8.3f\n", name, b->bytes >> 20, s->median,
         s->min, s->max, s->count, speed, of_copy);
  fflush(stdout);
  harness_record(h, name,
                 "\"bytes\":%zu,\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d,"
                 "\"gb_per_s\":%.2f,\"of_copy\":%.4f",
                 b->bytes, s->median, s->min, s->max, s->count, speed, of_copy);
  return s->median;
}

/* Times the copies; returns the reference: the device's own, on the host memcpy by all threads. */
static double run_copies(harness *h, const buffers *b) {
  bool host = strcmp(h->info.name, "host") == 0;
  timed t = {.launch = host ? launch_parallel_memcpy : launch_device_copy, .b = b};
  harness_statistic s = measure(h, &t);
  double reference = report(h, host ? "memcpy, all threads" : "device copy", b, &s, 0);
  if (host) {
    t.launch = launch_memcpy;
    s = measure(h, &t);
    report(h, "memcpy, one thread", b, &s, reference);
  }
  return reference;
}

/* ---- one workload ---- */

static llrt_tensor make_tensor(const workload *w, const llrt_storage *storage, void *data,
                               llrt_device *device) {
  llrt_tensor tensor = {
      .data = data, .dtype = w->dtype, .rank = w->rank, .storage = storage, .device = device};
  memcpy(tensor.shape, w->shape, sizeof w->shape);
  return tensor;
}

/* Runs once into cleared memory and compares with the reference. */
static bool is_right(harness *h, const timed *t, const workload *w) {
  const buffers *b = t->b;
  harness_must(llrt_memory_set(h->device, b->destination[0], 0xee, b->bytes, NULL), "clear");
  t->launch(h, t, 0);
  harness_must(llrt_memory_copy(h->device, b->host_result, b->destination[0], b->bytes,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "run");
  return reference_check(w, b->host_source, b->host_result, h->options.seed);
}

/* Returns whether the result was right; a wrong kernel is not timed. */
static bool run_workload(harness *h, const buffers *b, const workload *w, double copy) {
  llrt_storage from, to;
  llrt_op *op;
  harness_must(llrt_storage_parse(w->from, w->rank, w->shape, &from), w->from);
  harness_must(llrt_storage_parse(w->to, w->rank, w->shape, &to), w->to);
  timed t = {.launch = launch_op, .b = b};
  t.tensors[0] = make_tensor(w, &from, b->source[0], h->device);
  t.tensors[1] = make_tensor(w, &to, b->destination[0], h->device);
  llrt_op_desc desc = {
      .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {t.tensors[0], t.tensors[1]}};
  harness_must(llrt_op_promise_coarse(&desc), w->name);
  harness_must(llrt_op_prepare(h->device, &desc, &op), w->name);
  t.op = op;
  bool right = is_right(h, &t, w);
  if (right) {
    harness_statistic s = measure(h, &t);
    report(h, w->name, b, &s, copy);
  } else {
    printf("%-24s %6zu WRONG RESULT\n", w->name, b->bytes >> 20);
    harness_record(h, w->name, "\"bytes\":%zu,\"wrong\":true", b->bytes);
  }
  harness_must(llrt_stream_synchronize(h->device, NULL), w->name);
  llrt_op_destroy(&op);
  return right;
}

int bench_convert(int argc, char *argv[]) {
  static workload w;
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  if (options.n_sizes == 0) {
    options.n_sizes = 2;
    options.size[0] = INT64_C(64) << 20;
    options.size[1] = INT64_C(512) << 20;
  }
  harness_init(&options, &h);
  printf("%-24s %6s %11s %11s %11s %4s %9s %8s\n", "conversion", "MiB", "median us", "min us",
         "max us", "n", "GB/s", "of copy");
  for (int i = 0; i < options.n_sizes; i++) {
    buffers b;
    buffers_init(&h, (size_t)options.size[i], &b);
    double copy = run_copies(&h, &b);
    for (int index = 0; index < workload_count(); index++) {
      workload_make(index, options.size[i], options.seed, &w);
      if (harness_wants(&h, w.name)) right &= run_workload(&h, &b, &w, copy);
    }
    buffers_fini(&h, &b);
  }
  harness_fini(&h);
  return right ? 0 : 1;
}
