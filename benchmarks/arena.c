#include "arena.h"

#include "reference.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_SLOTS = 64,
  MIN_SAMPLES = 3,
  MAX_BATCH = 1000,
  BATCH_MICROSECONDS = 2000, /* long beside the resolution of events and the gap between launches */
  SLOT_ALIGNMENT = 1 << 16
};
#define LEAST_CACHE ((size_t)64 << 20) /* where the device does not say; the host's last level */
#define COPY_LASTS 5e6                 /* microseconds */

static size_t step_of(size_t bytes) {
  return (bytes + ARENA_GUARD + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
}

/* Bytes to rotate over. Only compared results: no rotation. */
static size_t rotation(const harness *h) {
  size_t cache = h->info.l2_bytes > LEAST_CACHE ? h->info.l2_bytes : LEAST_CACHE;
  return h->options.check_only ? 0 : 4 * cache;
}

static void *allocate(harness *h, size_t bytes) {
  void *memory;
  harness_must(llrt_memory_allocate(h->device, bytes, &memory), "device memory");
  return memory;
}

/* The same data in every slot matters to nobody; that all of it is there, and touched, does. */
void arena_upload(harness *h, arena *a) {
  size_t part = a->bytes + ARENA_GUARD;
  for (size_t at = 0; at < a->total; at += part) {
    size_t bytes = a->total - at < part ? a->total - at : part;
    harness_must(llrt_memory_copy(h->device, a->source + at, a->host_source, bytes,
                                  LLRT_COPY_TO_DEVICE, NULL),
                 "copy to the device");
  }
  harness_must(llrt_memory_set(h->device, a->destination, ARENA_POISON, a->total, NULL), "clear");
  harness_must(llrt_stream_synchronize(h->device, NULL), "clear");
}

void arena_init(harness *h, size_t bytes, size_t nominal, arena *a) {
  size_t words = (bytes + ARENA_GUARD + 7) / 8 * 8;
  *a = (arena){.bytes = bytes, .nominal = nominal};
  a->total = step_of(bytes) + rotation(h) / 2 + step_of(bytes);
  a->source = allocate(h, a->total);
  a->destination = allocate(h, a->total);
  a->host_source = malloc(words);
  a->host_result = malloc(words);
  if (!a->host_source || !a->host_result) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  reference_fill(a->host_source, words, h->options.seed);
  arena_upload(h, a);
}

void arena_fini(harness *h, arena *a) {
  llrt_memory_free(h->device, a->source);
  llrt_memory_free(h->device, a->destination);
  free(a->host_source);
  free(a->host_result);
}

slots arena_slots(const harness *h, const arena *a, size_t source_bytes, size_t destination_bytes) {
  slots s = {.source_step = step_of(source_bytes), .destination_step = step_of(destination_bytes)};
  size_t larger = s.source_step > s.destination_step ? s.source_step : s.destination_step;
  size_t count = 1 + rotation(h) / (source_bytes + destination_bytes + 1);
  if (count > a->total / larger) count = a->total / larger;
  s.count = count < MAX_SLOTS ? (int)count : MAX_SLOTS;
  return s;
}

/* ---- timing ---- */

/* Microseconds of one launch, over a batch of `count`. */
static double time_batch(harness *h, const timed *t, int count) {
  llrt_event *start, *stop;
  double microseconds;
  harness_must(llrt_event_create(h->device, &start), "event");
  harness_must(llrt_event_create(h->device, &stop), "event");
  harness_must(llrt_event_record(start, NULL), "event");
  for (int i = 0; i < count; i++) t->launch(h, t, i % t->s.count);
  harness_must(llrt_event_record(stop, NULL), "event");
  harness_must(llrt_event_elapsed(start, stop, &microseconds), "event");
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
  return microseconds / count;
}

harness_statistic arena_measure(harness *h, const timed *t) {
  double samples[HARNESS_MAX_SAMPLES];
  double one = time_batch(h, t, t->s.count); /* warms up, too */
  int batch =
      one > 0 && one * MAX_BATCH > BATCH_MICROSECONDS ? (int)(BATCH_MICROSECONDS / one) : MAX_BATCH;
  if (batch < t->s.count) batch = t->s.count;
  double start = harness_now();
  int count = 0;
  while (count < h->options.repeat &&
         (count < MIN_SAMPLES || harness_now() - start < h->options.budget))
    samples[count++] = time_batch(h, t, batch);
  return harness_summarise(samples, count);
}

/* ---- the reference ---- */

static void launch_device_copy(harness *h, const timed *t, int slot) {
  harness_must(llrt_memory_copy(h->device, t->a->destination + (size_t)slot * t->s.destination_step,
                                t->a->source + (size_t)slot * t->s.source_step, t->a->nominal,
                                LLRT_COPY_ON_DEVICE, NULL),
               "copy");
}

/* One call a thread: a memcpy of parts would not store past the caches where one of all does. */
static void launch_parallel_memcpy(harness *h, const timed *t, int slot) {
  const char *source = t->a->source + (size_t)slot * t->s.source_step;
  char *destination = t->a->destination + (size_t)slot * t->s.destination_step;
  (void)h;
#pragma omp parallel
  {
    size_t threads = (size_t)omp_get_num_threads(), thread = (size_t)omp_get_thread_num();
    size_t begin = t->a->nominal * thread / threads, end = t->a->nominal * (thread + 1) / threads;
    memcpy(destination + begin, source + begin, end - begin);
  }
}

static timed copy_of(const harness *h, const arena *a) {
  return (timed){.launch = harness_is_host(h) ? launch_parallel_memcpy : launch_device_copy,
                 .a = a,
                 .s = arena_slots(h, a, a->nominal, a->nominal)};
}

harness_statistic arena_measure_by_turns(harness *h, const timed *t, harness_statistic *copy) {
  double samples[2][HARNESS_MAX_SAMPLES];
  timed both[2] = {*t, copy_of(h, t->a)};
  double start = harness_now();
  int count = 0;
  for (int k = 0; k < 2; k++) both[k].launch(h, &both[k], 0);
  while (count < h->options.repeat &&
         (count < MIN_SAMPLES || harness_now() - start < h->options.budget)) {
    for (int k = 0; k < 2; k++) {
      double before = harness_processor_now();
      both[k].launch(h, &both[k], (count + 1) % both[k].s.count);
      samples[k][count] = harness_processor_now() - before;
    }
    count++;
  }
  *copy = harness_summarise(samples[1], count);
  return harness_summarise(samples[0], count);
}

double arena_copy_speed(harness *h, arena *a) {
  if (a->copy_measured > 0 && harness_now() - a->copy_measured < COPY_LASTS)
    return a->copy_gb_per_s;
  timed t = copy_of(h, a);
  harness_statistic s = arena_measure(h, &t);
  a->copy_gb_per_s = 2e-3 * (double)a->nominal / s.median;
  a->copy_measured = harness_now();
  printf("%-52s %9.1f %9.1f %9.1f %4d %8.1f\n", "copy", s.median, s.min, s.max, s.count,
         a->copy_gb_per_s);
  harness_record(h, "copy", "\"size\":%zu,\"median_us\":%.3f,\"n\":%d,\"gb_per_s\":%.2f",
                 a->nominal, s.median, s.count, a->copy_gb_per_s);
  return a->copy_gb_per_s;
}
