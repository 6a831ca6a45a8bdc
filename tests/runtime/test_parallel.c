/* Spreading work over threads: every index once, whoever runs the loop. */
#include "base/parallel.h"

#include "tests/runtime/convert_fixture.h"

#include <stdatomic.h>

#define MOST 1000

typedef struct visits {
  atomic_int count[MOST];
  atomic_int ranges;
} visits;

static void visit(void *data, int64_t begin, int64_t end) {
  visits *seen = data;
  atomic_fetch_add(&seen->ranges, 1);
  for (int64_t i = begin; i < end; i++) atomic_fetch_add(&seen->count[i], 1);
}

Test(parallel, every_index_once) {
  static const int64_t counts[] = {0, 1, 2, 7, 64, 999, MOST}, grains[] = {1, 3, 64, 5000};
  for (int threads = 0; threads <= 5; threads++) {
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
      for (size_t g = 0; g < sizeof grains / sizeof grains[0]; g++) {
        llrt_parallel parallel = {.threads = threads};
        visits seen = {0};
        llrt_parallel_run(&parallel, counts[c], grains[g], visit, &seen);
        for (int64_t i = 0; i < MOST; i++) cr_assert_eq(seen.count[i], i < counts[c]);
        cr_assert_leq(seen.ranges, llrt_parallel_threads(&parallel));
        if (counts[c] <= grains[g]) cr_assert_leq(seen.ranges, 1);
      }
    }
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
