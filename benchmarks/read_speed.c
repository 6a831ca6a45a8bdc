#include "read_speed.h"

#include "bare_read.h"

#define SPEED_LASTS 5e6 /* microseconds */

static void launch_read(harness *h, const timed *t, int slot) {
  (void)h;
  bare_read_launch(t->data, t->a->source + (size_t)slot * t->s.source_step, t->a->nominal);
}

static void launch_host_read(harness *h, const timed *t, int slot) {
  const uint64_t *words =
      (const uint64_t *)(const void *)(t->a->source + (size_t)slot * t->s.source_step);
  int64_t n = (int64_t)(t->a->nominal / sizeof *words);
  uint64_t all = 0;
  (void)h;
#pragma omp parallel for schedule(static) reduction(^ : all)
  for (int64_t i = 0; i < n; i++) all ^= words[i];
  *(volatile uint64_t *)(void *)t->a->destination = all;
}

static harness_statistic measure(harness *h, arena *a) {
  bare_read r = {0};
  timed t = {.a = a, .data = &r, .launch = harness_is_host(h) ? launch_host_read : launch_read};
  t.s = arena_slots(h, a, bare_read_bytes(a->nominal), 1);
  if (harness_is_host(h)) return arena_measure(h, &t);
  bare_read_begin(h, &r);
  bare_read_check(&r, t.a->source, a->host_source, a->nominal);
  harness_statistic s = arena_measure(h, &t);
  bare_read_end(&r);
  return s;
}

double read_speed(harness *h, arena *a) {
  if (a->read_measured > 0 && harness_now() - a->read_measured < SPEED_LASTS)
    return a->read_gb_per_s;
  harness_statistic s = measure(h, a);
  a->read_gb_per_s =
      1e-3 * (double)(harness_is_host(h) ? a->nominal : bare_read_bytes(a->nominal)) / s.median;
  a->read_measured = harness_now();
  printf("%-52s %9.1f %9.1f %9.1f %4d %8.1f\n", "read", s.median, s.min, s.max, s.count,
         a->read_gb_per_s);
  harness_record(h, "read", "\"size\":%zu,\"median_us\":%.3f,\"n\":%d,\"gb_per_s\":%.2f",
                 a->nominal, s.median, s.count, a->read_gb_per_s);
  return a->read_gb_per_s;
}
