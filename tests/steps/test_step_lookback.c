/* Totals that blocks tell each other: docs/steps.md, "Between blocks". */
#include "lookback_case.h"
#include "step_device.h"

#include "jit/plan/check/plan_view.h"
#include "jit/plan/types/combine.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(step_lookback, totals) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), ran[STEP_TARGETS] = {0}, usual = 8;
  uint64_t seed = step_seed_of_run() ^ (uint64_t)613 << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0, rounds = step_rounds(usual); ran[t] < rounds && tries < 60 * rounds;
         tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "totals, %s", targets[t].name);
      if (lookback_case_make(&c, &targets[t].plan)) ran[t] += step_check(&c, &targets[t]);
    }
  for (int t = 0; t < n; t++) {
    fprintf(stderr, "totals, %s: %d kernels\n", targets[t].name, ran[t]);
    cr_assert(targets[t].plan.simd_lanes ? ran[t] == 0 : ran[t] >= usual, "%d kernels", ran[t]);
  }
  step_close_targets(targets, n);
}

/* Lanes are joined in any order, which affine maps are not. */
Test(step_lookback, refuses_affine_maps_across_lanes) {
  static step_case c;
  plan_target target;
  uint64_t seed = step_seed_of_run();
  int found = 0;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  for (int tries = 0; tries < 400; tries++) {
    c.seed = step_random(&seed) | 1;
    if (!lookback_case_make(&c, &target)) continue;
    for (int i = 0; i < c.kernel.n_steps; i++)
      if (c.kernel.step[i].kind == PLAN_FOLD_LANES && c.kernel.step[i].combiner == COMBINE_AFFINE) {
        cr_expect_eq(plan_verify(&c.kernel), LLRT_INTERNAL);
        found++;
      }
  }
  cr_assert_gt(found, 0);
}
