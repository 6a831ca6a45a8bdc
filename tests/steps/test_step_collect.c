/* Rows that stores are collected to alone, on the host: docs/steps.md, PLAN_COLLECT. */
#include "collect_case.h"
#include "step_device.h"

#include "jit/plan/check/plan_view.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { USUAL = 24, PLANTED = 16 };

Test(step_collect, rows) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), ran[STEP_TARGETS] = {0};
  uint64_t seed = step_seed_of_run() ^ 223ull << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0, rounds = step_rounds(USUAL); ran[t] < rounds && tries < 60 * rounds;
         tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "collect, %s", targets[t].name);
      if (collect_case_make(&c, &targets[t].plan)) ran[t] += step_check(&c, &targets[t]);
    }
  for (int t = 0; t < n; t++) {
    fprintf(stderr, "collect, %s: %d kernels\n", targets[t].name, ran[t]);
    cr_assert(targets[t].plan.simd_lanes ? ran[t] >= USUAL : ran[t] == 0, "%d kernels", ran[t]);
  }
  step_close_targets(targets, n);
}

/* ---- planted faults ---- */

typedef enum fault {
  ROW_LEFT_OUT = 0, /* the last one */
  ROW_CUT,          /* rows, or all of them, end a unit early */
  PITCH,            /* rows lie a unit further apart */
  FAULTS
} fault;

static const char *const faults[] = {"a row less", "shorter rows", "rows further apart"};

static bool plant(plan_kernel *kernel, fault what) {
  plan_step *step = kernel->step;
  while (step->kind != PLAN_COLLECT) step++;
  int unit = 1 << step->vector;
  if (what == ROW_CUT) step->elements -= unit;
  if (what == ROW_LEFT_OUT) step->rows--;
  if (what == PITCH) {
    step->pitch += unit;
    step->reach += unit * (step->rows - 1);
  }
  return what == ROW_CUT || step->rows > (what == PITCH);
}

static void check_fault(fault what) {
  static step_case c;
  static plan_kernel planted;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets);
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(what + 331) << 40;
  for (int t = 0; t < n; t++) {
    if (!targets[t].plan.simd_lanes) continue;
    int made = 0, interpreted = 0, ran = 0;
    for (int tries = 0; made < PLANTED && tries < 4000; tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s, %s", faults[what], targets[t].name);
      if (!collect_case_make(&c, &targets[t].plan) || plan_verify(&c.kernel) != LLRT_OK) continue;
      planted = c.kernel;
      if (!plant(&planted, what) || plan_verify(&planted) != LLRT_OK) continue;
      step_seen seen = step_plant(&c, &planted, &targets[t]);
      made++;
      interpreted += seen.interpreter;
      ran += seen.device;
    }
    fprintf(stderr, "%s, %s: of %d kernels the interpreter sees it in %d, the device in %d\n",
            faults[what], targets[t].name, made, interpreted, ran);
    cr_assert(made == PLANTED && interpreted == PLANTED && ran > PLANTED / 2);
  }
  step_close_targets(targets, n);
}

Test(step_collect, sees_a_row_less) { check_fault(ROW_LEFT_OUT); }
Test(step_collect, sees_shorter_rows) { check_fault(ROW_CUT); }
Test(step_collect, sees_rows_further_apart) { check_fault(PITCH); }
