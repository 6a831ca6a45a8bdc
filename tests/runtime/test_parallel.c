/* Spreading work over threads: every index once, whoever runs the loop. */
#include "base/parallel.h"

#include "base/pool.h"
#include "tests/runtime/convert_fixture.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#define MOST 1000

typedef struct visits {
  atomic_int count[MOST];
  atomic_int ranges,
      short_ranges; /* shorter than `grain`, but for the first unit and the end of the whole */
  int64_t all, grain;
} visits;

static void visit(void *data, int64_t begin, int64_t end) {
  visits *seen = data;
  atomic_fetch_add(&seen->ranges, 1);
  if (end - begin < seen->grain && end != seen->all && end > seen->grain)
    atomic_fetch_add(&seen->short_ranges, 1);
  for (int64_t i = begin; i < end; i++) atomic_fetch_add(&seen->count[i], 1);
}

static void visit_all(int threads, int64_t count, int64_t grain) {
  llrt_parallel parallel = {.threads = threads};
  visits seen = {.all = count, .grain = grain};
  llrt_parallel_run(&parallel, count, grain, visit, &seen);
  for (int64_t i = 0; i < MOST; i++) cr_assert_eq(seen.count[i], i < count);
  cr_assert_eq(seen.short_ranges, 0);
  if (count <= grain || threads == 1) cr_assert_leq(seen.ranges, 1);
}

Test(parallel, every_index_once) {
  static const int64_t counts[] = {0, 1, 2, 7, 64, 999, MOST}, grains[] = {1, 3, 64, 5000};
  for (int threads = 0; threads <= 5; threads++) {
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
      for (size_t g = 0; g < sizeof grains / sizeof grains[0]; g++)
        visit_all(threads, counts[c], grains[g]);
    }
  }
}

/* A loop of more than 2^32 passes. */
static void add_ends(void *data, int64_t begin, int64_t end) {
  atomic_fetch_add((atomic_uint_fast64_t *)data, (uint64_t)(end - begin));
}

Test(parallel, more_than_32_bits) {
  llrt_parallel parallel = {0};
  atomic_uint_fast64_t sum = 0;
  int64_t count = ((int64_t)5 << 40) + 3;
  llrt_parallel_run(&parallel, count, 1, add_ends, &sum);
  cr_expect_eq(sum, (uint64_t)count);
}

/* Loops inside of loops, of many threads at once. */
static void visit_inside(void *data, int64_t begin, int64_t end) {
  llrt_parallel parallel = {0};
  for (int64_t i = begin; i < end; i++) {
    visits seen = {.all = 100, .grain = 3};
    llrt_parallel_run(&parallel, 100, 3, visit, &seen);
    for (int64_t k = 0; k < 100; k++)
      if (seen.count[k] != 1) atomic_fetch_add((atomic_int *)data, 1);
  }
}

static void *run_nested(void *wrong) {
  llrt_parallel parallel = {0};
  for (int round = 0; round < 50; round++) llrt_parallel_run(&parallel, 20, 1, visit_inside, wrong);
  return NULL;
}

Test(parallel, nested_and_from_many_threads) {
  enum { CALLERS = 8 };
  pthread_t caller[CALLERS];
  atomic_int wrong = 0;
  for (int i = 0; i < CALLERS; i++)
    cr_assert_eq(pthread_create(&caller[i], NULL, run_nested, &wrong), 0);
  for (int i = 0; i < CALLERS; i++) pthread_join(caller[i], NULL);
  cr_expect_eq(wrong, 0);
  cr_expect_lt(llrt_pool_threads(), llrt_pool_cores());
}

/* ---- the threads ---- */

typedef struct meeting {
  atomic_int there, wrong;
  int expected;
  pthread_t caller;
} meeting;

/* Waits until as many threads are inside as there are cores; each has no signal that would reach it
 * and rounds to nearest. */
static void meet(void *data, int64_t begin, int64_t end) {
  meeting *all = data;
  (void)begin, (void)end;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  if (!pthread_equal(pthread_self(), all->caller)) {
    cpu_set_t cores;
    if (!sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGPROF))
      atomic_fetch_add(&all->wrong, 1);
    if (fegetround() != FE_TONEAREST) atomic_fetch_add(&all->wrong, 1);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) < all->expected)
      atomic_fetch_add(&all->wrong, 1);
  }
  atomic_fetch_add(&all->there, 1);
  while (atomic_load(&all->there) < all->expected) sched_yield();
}

static void meet_all(meeting *all) {
  llrt_parallel parallel = {.threads = 10000};
  *all = (meeting){.expected = llrt_parallel_threads(&parallel), .caller = pthread_self()};
  llrt_parallel_run(&parallel, all->expected, 1, meet, all);
  if (all->there != all->expected) all->wrong++;
}

/* Who starts them is no main thread, pinned to a core, catches signals and rounds up. */
static void *start_from_a_pinned_thread(void *data) {
  meeting *all = data;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  int pinned = sched_setaffinity(0, sizeof one, &one);
  fesetround(FE_UPWARD);
  meet_all(all);
  if (pinned != 0 || fegetround() != FE_UPWARD) all->wrong++;
  return NULL;
}

Test(parallel, a_thread_for_each_core_of_the_process) {
  meeting all;
  pthread_t starter;
  cr_assert_eq(pthread_create(&starter, NULL, start_from_a_pinned_thread, &all), 0);
  pthread_join(starter, NULL);
  cr_expect_eq(all.wrong, 0);
  cr_expect_eq(llrt_pool_threads(), all.expected - 1);
  meet_all(&all);
  cr_expect_eq(all.wrong, 0);
  cr_expect_eq(llrt_pool_threads(), all.expected - 1);
}

Test(parallel, a_process_that_may_use_one_core_starts_no_thread) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
  visit_all(0, MOST, 1);
  cr_expect_eq(llrt_pool_threads(), 0);
}

/* The threads end with the last user, and come back with the next call. */
Test(parallel, threads_end_with_the_last_context) {
  static fixture at;
  meeting all;
  for (int round = 0; round < 20; round++) {
    fixture_make(&at, &fixture_params);
    meet_all(&all);
    cr_expect_eq(all.wrong, 0);
    cr_expect_eq(llrt_pool_threads(), all.expected - 1);
    fixture_end(&at);
    cr_expect_eq(llrt_pool_threads(), 0);
  }
}

typedef struct callers_loop {
  int calls;
  int64_t blocks;
} callers_loop;

static void run_backwards(void *user, int64_t count, llrt_parallel_body *body, void *data) {
  callers_loop *loop = user;
  loop->calls++;
  loop->blocks = count;
  for (int64_t i = count; i-- > 0;) body(data, i, i + 1);
}

/* The host device's blocks go through the caller's own loop, in any order. */
Test(parallel, a_callers_loop_runs_the_blocks) {
  static fixture at;
  callers_loop loop = {0, 0};
  llrt_context_params params = fixture_params;
  params.parallel_user = &loop;
  params.parallel_for = run_backwards;
  fixture_make(&at, &params);
  cr_assert_eq(llrt_convert_into(&at.source, &at.destination, NULL, NULL), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect(fixture_is_converted(&at));
  cr_expect_eq(loop.calls, 1);
  cr_expect_geq(loop.blocks, 1);
  fixture_end(&at);
}
