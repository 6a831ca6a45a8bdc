/* What tests of the emulated drivers' streams begin with: streams, an event, two pieces of memory;
 * in every mode. */
#ifndef LLRT_EMULATORS_TESTS_DRIVER_BENCH_H
#define LLRT_EMULATORS_TESTS_DRIVER_BENCH_H

#include "driver_fixture.h"

#include <criterion/criterion.h>

enum { COUNT = 64, BYTES = COUNT * (int)sizeof(int32_t) };
static const emu_mode modes[] = {EMU_IMMEDIATE, EMU_WORKERS, EMU_LATE, EMU_CROSSED};
#define N_MODES 4

#define MUST(call) cr_assert_eq((call), 0, #call)

/* Of memory all numbers are -1. */
typedef struct driver_bench {
  const tested_driver *driver;
  void *a, *b, *other, *event; /* streams: non-blocking */
  uint64_t x, y;               /* device addresses of COUNT numbers each */
} driver_bench;

static inline driver_bench bench_make(const tested_driver *driver, emu_mode mode) {
  driver_bench bench = {.driver = driver};
  driver->set_mode(mode);
  MUST(driver->stream_create(&bench.a, DRIVER_NON_BLOCKING));
  MUST(driver->stream_create(&bench.b, DRIVER_NON_BLOCKING));
  MUST(driver->stream_create(&bench.other, DRIVER_NON_BLOCKING));
  MUST(driver->event_create(&bench.event, 0));
  MUST(driver->allocate(&bench.x, BYTES));
  MUST(driver->allocate(&bench.y, BYTES));
  MUST(driver->set(bench.x, -1, COUNT, NULL));
  MUST(driver->set(bench.y, -1, COUNT, NULL));
  MUST(driver->synchronize());
  return bench;
}

static inline void bench_end(driver_bench *bench) {
  const tested_driver *driver = bench->driver;
  MUST(driver->synchronize());
  MUST(driver->release(bench->x));
  MUST(driver->release(bench->y));
  MUST(driver->event_destroy(bench->event));
  MUST(driver->stream_destroy(bench->a));
  MUST(driver->stream_destroy(bench->b));
  MUST(driver->stream_destroy(bench->other));
}

/* What is there now, whatever is queued: an emulator's device addresses are the process's. */
static inline int32_t peek(uint64_t memory) {
  return ((volatile int32_t *)(uintptr_t)memory)[COUNT / 2];
}

#endif
