/* Streams and events of the emulated drivers: the order that they promise, in every mode, and the
 * orders that they leave open, each of which some mode shows. */
#include "driver_bench.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>

/* ---- one stream ---- */

static void check_in_order(const tested_driver *driver) {
  for (int m = 0; m < N_MODES; m++) {
    driver_bench bench = bench_make(driver, modes[m]);
    int32_t host[COUNT];
    for (int i = 1; i <= 20; i++) {
      MUST(driver->set(bench.x, i, COUNT, bench.a));
      if (i == 10) MUST(driver->copy(bench.y, bench.x, BYTES, bench.a));
    }
    MUST(driver->fetch(host, bench.y, BYTES, bench.a)); /* pageable: there when it returns */
    cr_expect_eq(host[0], 10, "%s, mode %d: %d", driver->name, modes[m], host[0]);
    cr_expect_eq(peek(bench.x), 20);
    bench_end(&bench);
  }
}
Test(driver_streams, in_order) { driver_each(check_in_order); }

static void check_pageable(const tested_driver *driver) {
  for (int m = 0; m < N_MODES; m++) {
    driver_bench bench = bench_make(driver, modes[m]);
    int32_t host[COUNT];
    for (int i = 0; i < COUNT; i++) host[i] = 7;
    MUST(driver->send(bench.x, host, BYTES, bench.a));
    for (int i = 0; i < COUNT; i++) host[i] = 8;
    MUST(driver->stream_synchronize(bench.a));
    cr_expect_eq(peek(bench.x), 7, "%s, mode %d", driver->name, modes[m]);
    bench_end(&bench);
  }
}
Test(driver_streams, pageable_memory_is_read_in_the_call) { driver_each(check_pageable); }

/* A copy to pinned memory is one that a program can be too early for. */
static void check_pinned(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_LATE);
  void *memory;
  MUST(driver->allocate_host(&memory, BYTES, 0));
  volatile int32_t *host = memory;
  host[0] = 5;
  MUST(driver->set(bench.x, 6, COUNT, bench.a));
  MUST(driver->fetch(memory, bench.x, BYTES, bench.a));
  cr_expect_eq(host[0], 5);
  MUST(driver->stream_synchronize(bench.a));
  cr_expect_eq(host[0], 6);
  MUST(driver->release_host(memory));
  bench_end(&bench);
}
Test(driver_streams, pinned_memory_is_written_later) { driver_each(check_pinned); }

static void wait_on(void *semaphore) { sem_wait(semaphore); }

/* Queueing does not wait for what is queued: the host lets the stream go on only afterwards. */
static void check_asynchronous(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_WORKERS);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  MUST(driver->call(bench.a, wait_on, &semaphore));
  MUST(driver->set(bench.x, 3, COUNT, bench.a));
  MUST(driver->event_record(bench.event, bench.a));
  cr_expect_eq(driver->stream_query(bench.a), EMU_NOT_READY);
  cr_expect_eq(driver->event_query(bench.event), EMU_NOT_READY);
  MUST(driver->set(bench.y, 4, COUNT, bench.b));
  MUST(driver->stream_synchronize(bench.b)); /* which the other one does not hold up */
  cr_expect_eq(peek(bench.x), -1);
  sem_post(&semaphore);
  MUST(driver->event_synchronize(bench.event));
  MUST(driver->event_query(bench.event));
  cr_expect_eq(peek(bench.x), 3);
  sem_destroy(&semaphore);
  bench_end(&bench);
}
Test(driver_streams, asynchronous, .timeout = 20) { driver_each(check_asynchronous); }

static void check_destroyed(const tested_driver *driver) {
  for (int m = 0; m < N_MODES; m++) {
    driver_bench bench = bench_make(driver, modes[m]);
    void *stream;
    MUST(driver->stream_create(&stream, DRIVER_NON_BLOCKING));
    MUST(driver->set(bench.x, 9, COUNT, stream));
    MUST(driver->stream_destroy(stream));
    cr_expect_eq(driver->stream_synchronize(stream), EMU_INVALID_HANDLE);
    MUST(driver->synchronize());
    cr_expect_eq(peek(bench.x), 9);
    bench_end(&bench);
  }
}
Test(driver_streams, work_of_a_destroyed_stream_runs) { driver_each(check_destroyed); }

/* ---- two streams ---- */

/* b copies what a writes; with a wait or without. */
static int32_t read_other(const tested_driver *driver, emu_mode mode, bool waits) {
  driver_bench bench = bench_make(driver, mode);
  MUST(driver->set(bench.x, 1, COUNT, bench.a));
  MUST(driver->event_record(bench.event, bench.a));
  if (waits) MUST(driver->stream_wait(bench.b, bench.event, 0));
  MUST(driver->copy(bench.y, bench.x, BYTES, bench.b));
  MUST(driver->stream_synchronize(bench.b));
  int32_t found = peek(bench.y);
  bench_end(&bench);
  return found;
}

/* a reads what b writes later; with a wait or without. */
static int32_t write_other(const tested_driver *driver, emu_mode mode, bool waits) {
  driver_bench bench = bench_make(driver, mode);
  MUST(driver->copy(bench.y, bench.x, BYTES, bench.a));
  MUST(driver->event_record(bench.event, bench.a));
  if (waits) MUST(driver->stream_wait(bench.b, bench.event, 0));
  MUST(driver->set(bench.x, 1, COUNT, bench.b));
  MUST(driver->stream_synchronize(bench.a));
  int32_t found = peek(bench.y);
  bench_end(&bench);
  return found;
}

/* With the wait every mode keeps the order; without it a mode shows the wrong one, each time. */
static void check_waits(const tested_driver *driver) {
  for (int m = 0; m < N_MODES; m++) {
    cr_expect_eq(read_other(driver, modes[m], true), 1, "%s, mode %d", driver->name, modes[m]);
    cr_expect_eq(write_other(driver, modes[m], true), -1, "%s, mode %d", driver->name, modes[m]);
  }
  for (int i = 0; i < 10; i++) {
    cr_expect_eq(read_other(driver, EMU_LATE, false), -1, "%s: a missing wait was not found",
                 driver->name);
    cr_expect_eq(write_other(driver, EMU_CROSSED, false), 1, "%s: a missing wait was not found",
                 driver->name);
  }
}
Test(driver_streams, waits) { driver_each(check_waits); }

/* An event is where it was when somebody began to wait, whatever is recorded later; one that was
 * never recorded is nowhere. */
static void check_recorded_anew(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_LATE);
  MUST(driver->stream_wait(bench.b, bench.event, 0));
  MUST(driver->set(bench.x, 1, COUNT, bench.a));
  MUST(driver->event_record(bench.event, bench.a));
  MUST(driver->stream_wait(bench.b, bench.event, 0));
  MUST(driver->set(bench.x, 2, COUNT, bench.a));
  MUST(driver->event_record(bench.event, bench.a));
  MUST(driver->stream_synchronize(bench.b));
  cr_expect_eq(peek(bench.x), 1);
  MUST(driver->event_synchronize(bench.event));
  cr_expect_eq(peek(bench.x), 2);
  bench_end(&bench);
}
Test(driver_streams, recorded_anew) { driver_each(check_recorded_anew); }

static void check_events(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_LATE);
  void *later;
  float milliseconds = -1;
  MUST(driver->event_create(&later, 0));
  cr_expect_eq(driver->event_elapsed(&milliseconds, bench.event, later),
               EMU_INVALID_HANDLE); /* never recorded */
  MUST(driver->event_record(bench.event, bench.a));
  MUST(driver->set(bench.x, 1, COUNT, bench.a));
  MUST(driver->event_record(later, bench.a));
  cr_expect_eq(driver->event_elapsed(&milliseconds, bench.event, later), EMU_NOT_READY);
  int polls = 0;
  while (driver->event_query(later) == EMU_NOT_READY) polls++;
  cr_expect_gt(polls, 0);
  MUST(driver->event_elapsed(&milliseconds, bench.event, later));
  cr_expect_geq(milliseconds, 0);
  MUST(driver->event_destroy(later));
  cr_expect_eq(driver->event_destroy(later), EMU_INVALID_HANDLE);
  bench_end(&bench);
}
Test(driver_streams, events) { driver_each(check_events); }

/* ---- default streams ---- */

/* What a stream of such flags reads of what the legacy stream has written, without an event. */
static int32_t read_legacy(const tested_driver *driver, emu_mode mode, void *stream,
                           const driver_bench *bench) {
  driver->set_mode(mode);
  MUST(driver->set(bench->x, -1, COUNT, NULL));
  MUST(driver->set(bench->y, -2, COUNT, NULL));
  MUST(driver->synchronize());
  MUST(driver->set(bench->x, 1, COUNT, DRIVER_LEGACY));
  MUST(driver->copy(bench->y, bench->x, BYTES, stream));
  MUST(driver->stream_synchronize(stream));
  int32_t found = peek(bench->y);
  MUST(driver->synchronize());
  return found;
}

static void check_legacy(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_IMMEDIATE);
  void *blocking;
  MUST(driver->stream_create(&blocking, 0));
  for (int m = 0; m < N_MODES; m++) {
    cr_expect_eq(read_legacy(driver, modes[m], blocking, &bench), 1);
    cr_expect_eq(read_legacy(driver, modes[m], DRIVER_PER_THREAD, &bench), 1);
  }
  cr_expect_eq(read_legacy(driver, EMU_LATE, bench.a, &bench),
               -1); /* does not wait for the legacy stream */
  MUST(driver->set(bench.x, 5, COUNT, blocking));
  MUST(driver->set(bench.y, 5, COUNT, bench.a));
  MUST(driver->copy(bench.y, bench.x, BYTES, DRIVER_LEGACY)); /* waits for the blocking stream */
  MUST(driver->stream_synchronize(DRIVER_LEGACY));
  cr_expect_eq(peek(bench.y), 5);
  MUST(driver->stream_destroy(blocking));
  bench_end(&bench);
}
Test(driver_streams, legacy) { driver_each(check_legacy); }

typedef struct other_thread {
  const tested_driver *driver;
  unsigned long long id;
} other_thread;

static void *tell_id(void *argument) {
  other_thread *other = argument;
  driver_use(other->driver);
  MUST(other->driver->stream_id(DRIVER_PER_THREAD, &other->id));
  return NULL;
}

static void check_per_thread(const tested_driver *driver) {
  other_thread other = {.driver = driver};
  unsigned long long own, again, legacy;
  pthread_t thread;
  MUST(driver->stream_id(DRIVER_PER_THREAD, &own));
  MUST(driver->stream_id(DRIVER_PER_THREAD, &again));
  MUST(driver->stream_id(DRIVER_LEGACY, &legacy));
  cr_assert_eq(pthread_create(&thread, NULL, tell_id, &other), 0);
  pthread_join(thread, NULL);
  cr_expect_eq(own, again);
  cr_expect_neq(own, other.id);
  cr_expect_neq(own, legacy);
}
Test(driver_streams, per_thread) { driver_each(check_per_thread); }

/* ---- errors ---- */

/* An error of queued work is told by the next call that waits, once; until then nothing else runs.
 */
static void check_asynchronous_error(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_LATE);
  uint64_t gone;
  MUST(driver->allocate_on(&gone, BYTES, bench.a));
  MUST(driver->release_on(gone, bench.a));
  MUST(driver->set(gone, 1, COUNT, bench.a));
  MUST(driver->set(bench.x, 1, COUNT, bench.a));
  cr_expect_eq(driver->stream_synchronize(bench.a), EMU_ILLEGAL_ADDRESS);
  cr_expect_eq(peek(bench.x), -1);
  MUST(driver->stream_synchronize(bench.a));
  MUST(driver->set(bench.x, 1, COUNT, bench.a));
  MUST(driver->stream_synchronize(bench.a));
  cr_expect_eq(peek(bench.x), 1);
  bench_end(&bench);
}
Test(driver_streams, asynchronous_error) { driver_each(check_asynchronous_error); }

static void check_arguments(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_IMMEDIATE);
  int local = 0;
  cr_expect_eq(driver->set((uintptr_t)&local, 1, 1, NULL), EMU_INVALID_VALUE);
  cr_expect_eq(driver->set(bench.x, 1, COUNT + 1, NULL), EMU_INVALID_VALUE);
  cr_expect_eq(driver->stream_synchronize(&local), EMU_INVALID_HANDLE);
  cr_expect_eq(driver->event_record(&local, NULL), EMU_INVALID_HANDLE);
  cr_expect_eq(driver->release(bench.x + 4), EMU_INVALID_VALUE);
  bench_end(&bench);
}
Test(driver_streams, arguments) { driver_each(check_arguments); }

/* ---- what tests see of calls ---- */

static void check_calls(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_IMMEDIATE);
  bool cuda = driver->name[0] == 'c';
  const char *set = cuda ? "cuMemsetD32Async" : "hipMemsetD32Async",
             *release = cuda ? "cuMemFree" : "hipFree";
  driver->calls_reset();
  for (int i = 0; i < 3; i++) MUST(driver->set(bench.x, i, COUNT, bench.a));
  cr_expect_eq(driver->calls(set), 3);
  cr_expect_eq(driver->calls(release), 0);
  cr_expect_eq(driver->calls("cuMemset"), 0); /* a name, no beginning of one */
  driver->fail(set, 42, 1);
  MUST(driver->set(bench.x, 4, COUNT, bench.a));
  cr_expect_eq(driver->set(bench.x, 5, COUNT, bench.a), 42);
  cr_expect_eq(peek(bench.x), 4);
  MUST(driver->set(bench.x, 6, COUNT, bench.a));
  driver->calls_reset();
  bench_end(&bench);
  cr_expect_eq(driver->calls(release), 2); /* whichever version it is */
}
Test(driver_streams, calls) { driver_each(check_calls); }
