#include "flushed.h"

#include "empty_kernel.h"

#include <string.h>

enum { MIN_SAMPLES = 3, WARM_UPS = 2 };
#define LEAST_CACHE ((size_t)64 << 20)

void flushed_init(harness *h, flushed *f) {
  size_t cache = h->info.l2_bytes > LEAST_CACHE ? h->info.l2_bytes : LEAST_CACHE;
  *f = (flushed){.h = h, .bytes = 2 * cache};
  if (h->options.check_only) return;
  harness_must(llrt_memory_allocate(h->device, f->bytes, &f->memory), "device memory");
}

void flushed_fini(flushed *f) {
  if (f->memory) llrt_memory_free(f->h->device, f->memory);
}

static double time_once(const flushed *f, llrt_event *start, llrt_event *stop,
                        void (*launch)(const void *data), const void *data) {
  double microseconds;
  harness_must(llrt_memory_set(f->h->device, f->memory, 0, f->bytes, NULL), "flush");
  harness_must(llrt_event_record(start, NULL), "event");
  launch(data);
  harness_must(llrt_event_record(stop, NULL), "event");
  harness_must(llrt_event_elapsed(start, stop, &microseconds), "event");
  return microseconds;
}

harness_statistic flushed_measure(const flushed *f, void (*launch)(const void *data),
                                  const void *data) {
  double samples[HARNESS_MAX_SAMPLES];
  llrt_event *start, *stop;
  harness_must(llrt_event_create(f->h->device, &start), "event");
  harness_must(llrt_event_create(f->h->device, &stop), "event");
  for (int i = 0; i < WARM_UPS; i++) time_once(f, start, stop, launch, data);
  double begin = harness_now();
  int count = 0;
  while (count < f->h->options.repeat &&
         (count < MIN_SAMPLES || harness_now() - begin < f->h->options.budget))
    samples[count++] = time_once(f, start, stop, launch, data);
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
  return harness_summarise(samples, count);
}

static void launch_empty(const void *data) { empty_kernel_launch(data, NULL); }

harness_statistic flushed_floor(const flushed *f) {
  harness_statistic s = {0};
  if (strncmp(f->h->info.name, "cuda:", 5) != 0) return s;
  ptx_kernel *kernel = empty_kernel_create(f->h->info.name);
  s = flushed_measure(f, launch_empty, kernel);
  ptx_kernel_destroy(kernel);
  printf("%-40s %9.1f %9.1f %9.1f %4d\n", "an empty kernel (the timer's floor)", s.median, s.min,
         s.max, s.count);
  harness_record(f->h, "floor", "\"median_us\":%.3f,\"n\":%d", s.median, s.count);
  return s;
}
