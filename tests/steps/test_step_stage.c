/* Panels in shared memory alone: docs/steps.md, PLAN_STAGE. */
#include "stage_case.h"
#include "step_device.h"

#include "jit/plan/check/plan_view.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { USUAL = 12 };

static const char *const ways[] = {"panels in place", "gathered panels", "panels of the source",
                                   "panels of the destination"};

static bool exists_on(const plan_target *target, stage_way way) {
  bool apart = way == STAGE_SOURCE || way == STAGE_DESTINATION;
  return way == STAGE_IN_PLACE ||
         (!target->simd_lanes && (!apart || target->isa == PLAN_ISA_NVPTX));
}

static void check_all(stage_way way,
                      void (*check)(const step_case *c, const step_target *target, int *ran)) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), ran[STEP_TARGETS] = {0};
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(way + 211) << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0, rounds = step_rounds(USUAL); ran[t] < rounds && tries < 16 * rounds;
         tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s, %s", ways[way], targets[t].name);
      if (stage_case_make(&c, &targets[t].plan, way)) check(&c, &targets[t], &ran[t]);
    }
  for (int t = 0; t < n; t++) {
    bool exists = exists_on(&targets[t].plan, way);
    fprintf(stderr, "%s, %s: %d kernels\n", ways[way], targets[t].name, ran[t]);
    cr_assert(exists ? ran[t] >= USUAL : ran[t] == 0, "%d kernels", ran[t]);
  }
  step_close_targets(targets, n);
}

static void check_right(const step_case *c, const step_target *target, int *ran) {
  *ran += step_check(c, target);
}

Test(step_stage, panels) { check_all(STAGE_IN_PLACE, check_right); }
Test(step_stage, gathered) { check_all(STAGE_GATHERED, check_right); }
Test(step_stage, of_the_source) { check_all(STAGE_SOURCE, check_right); }
Test(step_stage, of_the_destination) { check_all(STAGE_DESTINATION, check_right); }

/* ---- planted faults ---- */

/* Whether the interpreter sees it. A panel of which all values are out of range nobody reads. */
static bool is_seen(const step_case *c, const plan_kernel *planted, const step_target *target) {
  step_target interpreted = *target;
  interpreted.device = NULL;
  return step_plant(c, planted, &interpreted).interpreter;
}

/* Without the barrier the interpreter sees elements that may not be there yet. */
static void check_barrier(const step_case *c, const step_target *target, int *ran) {
  static plan_kernel planted;
  int at = 0;
  if (plan_verify(&c->kernel) != LLRT_OK) return;
  planted = c->kernel;
  while (planted.step[at].kind != PLAN_BARRIER) at++;
  planted.n_steps--;
  for (int i = at; i < planted.n_steps; i++) planted.step[i] = planted.step[i + 1];
  *ran += is_seen(c, &planted, target);
}

/* An element less: the last one is loaded, or stored, outside of the panel. The last of several
 * panels may end before that, with the tensor. */
static void check_cut(const step_case *c, const step_target *target, int *ran) {
  static plan_kernel planted;
  if (plan_verify(&c->kernel) != LLRT_OK) return;
  planted = c->kernel;
  if (planted.panel.staged && planted.flat_elements.value == planted.panel.positions) return;
  if (planted.panel.gathered) planted.panel.most--;
  else planted.panel.elements--;
  *ran += is_seen(c, &planted, target);
}

Test(step_stage, sees_missing_barriers) {
  for (int way = 0; way < STAGE_WAYS; way++) check_all((stage_way)way, check_barrier);
}
Test(step_stage, sees_smaller_panels) {
  for (int way = STAGE_GATHERED; way < STAGE_WAYS; way++) check_all((stage_way)way, check_cut);
}
