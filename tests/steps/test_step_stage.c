/* Panels in shared memory alone: docs/steps.md, PLAN_STAGE. */
#include "stage_case.h"
#include "step_device.h"

#include "jit/plan/check/plan_view.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { USUAL = 12 };

static void check_all(void (*check)(const step_case *c, const step_target *target, int *ran)) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), ran[STEP_TARGETS] = {0};
  uint64_t seed = step_seed_of_run() ^ 211ull << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0, rounds = step_rounds(USUAL); ran[t] < rounds && tries < 40 * rounds;
         tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "stage, %s", targets[t].name);
      if (stage_case_make(&c, &targets[t].plan)) check(&c, &targets[t], &ran[t]);
    }
  for (int t = 0; t < n; t++) {
    fprintf(stderr, "stage, %s: %d kernels\n", targets[t].name, ran[t]);
    cr_assert_geq(ran[t], USUAL, "%d kernels", ran[t]);
  }
  step_close_targets(targets, n);
}

static void check_right(const step_case *c, const step_target *target, int *ran) {
  *ran += step_check(c, target);
}

/* Without the barrier the interpreter sees elements that may not be there yet. */
static void check_planted(const step_case *c, const step_target *target, int *ran) {
  static plan_kernel planted;
  (void)target;
  if (plan_verify(&c->kernel) != LLRT_OK) return;
  planted = c->kernel;
  planted.step[1] = planted.step[2];
  planted.step[2] = planted.step[3];
  planted.n_steps--;
  step_target interpreted = *target;
  interpreted.device = NULL;
  cr_expect(step_plant(c, &planted, &interpreted).interpreter, "%s, seed %llu: no barrier is seen",
            c->what, (unsigned long long)c->seed);
  ++*ran;
}

Test(step_stage, panels) { check_all(check_right); }
Test(step_stage, planted) { check_all(check_planted); }
