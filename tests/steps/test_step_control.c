/* Loops, branches and indices: docs/steps.md, "Control" and "Indices". */
#include "control_case.h"
#include "step_device.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const ways[] = {"loop",   "joining loop", "repeat",
                                   "gather", "scatter",      "scatter of values that follow"};

/* Lanes of the host do not ask about values. */
static bool is_made(control_way way, const step_target *target) {
  return way != CONTROL_FOLLOW || !target->plan.simd_lanes;
}

static void check_way(control_way way, int usual) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), ran[STEP_TARGETS] = {0};
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(way + 131) << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0, rounds = step_rounds(usual);
         is_made(way, &targets[t]) && ran[t] < rounds && tries < 60 * rounds; tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s, %s", ways[way], targets[t].name);
      if (control_case_make(&c, &targets[t].plan, way)) ran[t] += step_check(&c, &targets[t]);
    }
  for (int t = 0; t < n; t++) {
    fprintf(stderr, "%s, %s: %d kernels\n", ways[way], targets[t].name, ran[t]);
    cr_assert(!is_made(way, &targets[t]) || ran[t] >= usual, "%d kernels", ran[t]);
  }
  step_close_targets(targets, n);
}

Test(step_control, loops) { check_way(CONTROL_LOOP, 5); }
Test(step_control, joining_loops) { check_way(CONTROL_JOIN, 5); }
Test(step_control, repeats) { check_way(CONTROL_REPEAT, 4); }
Test(step_control, gathers_by_index) { check_way(CONTROL_GATHER, 8); }
Test(step_control, scatters_by_index) { check_way(CONTROL_SCATTER, 8); }
Test(step_control, scatters_of_values_that_follow) { check_way(CONTROL_FOLLOW, 8); }
