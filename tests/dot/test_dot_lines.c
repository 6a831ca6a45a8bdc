/* Products whose threads copy whole lines of memory, of rows that begin inside lines: as plans,
 * interpreted, and on an emulated device. */
#include "planned_kernels.h"

#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/box.h"

#include <stdlib.h>

/* Rows of 16, 48 and 112 bytes beyond lines, of one turn, of more than rings have slots, and of
 * none behind whole ones; blocks at the edges. */
static const dot_problem problems[] = {
    {SHAPE(140, 200, 840), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(70, 136, 1096), TYPES(F16, F16), LIES("", "col_major")},
    {SHAPE(200, 72, 56), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(64, 72, 136), TYPES(BF16, BF16), LIES("", "col_major"), .n_batch = 1, .batch = {3},
     .shared = {false, true}},
};
#define PROBLEMS ((int)(sizeof problems / sizeof *problems))

static planned_kernels t;

static int next_lines(int v) { return planned_kernels_next(&t, plan_copies_lines, v); }

Test(dot_lines, interpreted, .timeout = 120) {
  for (int i = 0; i < PROBLEMS; i++) {
    int number = 0;
    planned_kernels_make(&t, &problems[i], 5 + (uint64_t)i);
    for (int v = next_lines(0); v >= 0; v = next_lines(v + 1))
      if (number++ == 1) planned_kernels_interpret(&t, v);
    cr_expect_gt(number, 1, "%d", i);
    dot_bench_free(&t.bench);
  }
}

/* Lanes that have other pieces than those of a line, and boxes, copy none. */
Test(dot_lines, verified) {
  planned_kernels_make(&t, &problems[0], 5);
  for (int v = next_lines(0); v >= 0; v = next_lines(v + 1)) {
    plan_kernel *kernel = &t.made.variant[v];
    int at = 0;
    while (!kernel->step[at].lines) at++;
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
    kernel->step[at].masked = false;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: no masks", v);
    kernel->step[at].masked = true;
    kernel->launch.rounds = 1;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: rounds", v);
    kernel->launch.rounds = 0;
  }
  dot_bench_free(&t.bench);
}

/* The emulator tells of copies that products read before they are there. */
static void run_emulated(int i, int step) {
  int number = 0;
  planned_kernels_open(&t, &problems[i], 5 + (uint64_t)i);
  for (int v = next_lines(0); v >= 0; v = next_lines(v + 1))
    if (t.made.variant[v].launch.later == 0 && number++ % step == i % step)
      planned_kernels_run(&t, v);
  cr_expect_gt(number, 0, "%d", i);
  planned_kernels_close(&t);
}

Test(dot_lines, emulated, .timeout = 300) {
  for (int i = 0; i < PROBLEMS; i++) run_emulated(i, 3);
}

Test(dot_lines, apart, .timeout = 300) {
  setenv("LLRT_EMU_LANES", "apart", 1);
  run_emulated(0, 3);
}
