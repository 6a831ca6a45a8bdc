/* Steps that make values of values: docs/steps.md, "Maps", "Combining" and what follows. */
#include "step_device.h"
#include "value_case.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* gpu: the host has no such steps. */
static void check_kind(plan_step_kind kind, const char *name, bool gpu, int usual) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), ran[STEP_TARGETS] = {0};
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(kind + 71) << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0, rounds = step_rounds(usual); ran[t] < rounds && tries < 100 * rounds;
         tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s, %s", name, targets[t].name);
      if (value_case_make(&c, &targets[t].plan, kind)) ran[t] += step_check(&c, &targets[t]);
    }
  for (int t = 0; t < n; t++) {
    fprintf(stderr, "%s, %s: %d kernels\n", name, targets[t].name, ran[t]);
    cr_assert(gpu && targets[t].plan.simd_lanes ? ran[t] == 0 : ran[t] >= usual, "%d kernels",
              ran[t]);
  }
  step_close_targets(targets, n);
}

Test(step_value, maps) { check_kind(PLAN_MAP, "map", false, 24); }
Test(step_value, fills) { check_kind(PLAN_FILL, "fill", false, 4); }
Test(step_value, joins) { check_kind(PLAN_JOIN, "join", false, 8); }
Test(step_value, folds) { check_kind(PLAN_FOLD, "fold", false, 6); }
Test(step_value, folds_of_lanes) { check_kind(PLAN_FOLD_LANES, "fold of lanes", false, 6); }
Test(step_value, scans) { check_kind(PLAN_SCAN, "scan", false, 8); }
Test(step_value, prefixes) { check_kind(PLAN_PREFIX, "prefix", false, 6); }
Test(step_value, picks) { check_kind(PLAN_PICK, "pick", true, 5); }
Test(step_value, opaque) { check_kind(PLAN_OPAQUE, "opaque", false, 3); }
Test(step_value, positions) { check_kind(PLAN_POSITION, "position", false, 5); }
Test(step_value, added_positions) { check_kind(PLAN_POSITION_ADD, "added position", false, 5); }
Test(step_value, gathers) { check_kind(PLAN_GATHER, "gather", false, 8); }
