/* Turns of a walk, and copies that begin turns ahead: docs/steps.md, "Control" and "Copies under
 * way". */
#include "jit/plan/check/plan_view.h"
#include "step_device.h"
#include "turns_case.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const ways[] = {"walk", "walk of pairs", "bare walk", "copies", "bare copies"};

static bool exists(const plan_target *target, turns_way way) {
  return way < TURNS_COPY || target->async_copies;
}

static void check_way(turns_way way, int usual) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), ran[STEP_TARGETS] = {0};
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(way + 211) << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0, rounds = step_rounds(usual); ran[t] < rounds && tries < 60 * rounds;
         tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s, %s", ways[way], targets[t].name);
      if (turns_case_make(&c, &targets[t].plan, way)) ran[t] += step_check(&c, &targets[t]);
    }
  for (int t = 0; t < n; t++) {
    fprintf(stderr, "%s, %s: %d kernels\n", ways[way], targets[t].name, ran[t]);
    cr_assert(exists(&targets[t].plan, way) ? ran[t] >= usual : ran[t] == 0, "%d kernels", ran[t]);
  }
  step_close_targets(targets, n);
}

Test(step_turns, walks) { check_way(TURNS_JOIN, 8); }
Test(step_turns, walks_of_pairs) { check_way(TURNS_PAIRS, 6); }
Test(step_turns, bare_walks) { check_way(TURNS_BARE, 6); }
Test(step_turns, copies) { check_way(TURNS_COPY, 8); }
Test(step_turns, bare_copies) { check_way(TURNS_COPY_BARE, 8); }

/* ---- planted faults ---- */

typedef enum fault {
  NOT_AWAITED = 0, /* a COPIED leaves one group more under way */
  NO_BARRIER,      /* what one thread copied others load at once */
  SHIFTED,         /* copies go to the slot of the next turn */
  OTHER_TURN,      /* copies are those of the turn before theirs */
  FAULTS
} fault;

static const char *const faults[] = {"a copy that is not awaited", "no barrier", "a slot further",
                                     "copies of another turn"};

static plan_step *find(plan_kernel *kernel, plan_step_kind kind, bool last) {
  plan_step *found = NULL;
  for (int i = 0; i < kernel->n_steps && (!found || last); i++)
    if (kernel->step[i].kind == kind) found = &kernel->step[i];
  return found;
}

static void plant(plan_kernel *kernel, fault what) {
  plan_step *ahead = find(kernel, PLAN_AHEAD, true);
  if (what == NOT_AWAITED) find(kernel, PLAN_COPIED, false)->turns++;
  if (what == NO_BARRIER)
    *find(kernel, PLAN_BARRIER, false) = (plan_step){.kind = PLAN_COPIED, .turns = 100};
  if (what == SHIFTED) ahead->turns++;
  if (what == OTHER_TURN) ahead->turns--;
}

/* A fault changes nothing where no block has a second turn. */
static void check_fault(fault what) {
  static step_case c;
  static plan_kernel planted;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets);
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(what + 311) << 40;
  for (int t = 0; t < n; t++) {
    int made = 0, interpreted = 0, ran = 0;
    for (int tries = 0; made < 8 && tries < 400 && targets[t].plan.async_copies; tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s, %s", faults[what], targets[t].name);
      if (!turns_case_make(&c, &targets[t].plan, TURNS_COPY_BARE) ||
          plan_verify(&c.kernel) != LLRT_OK)
        continue;
      planted = c.kernel;
      plant(&planted, what);
      step_seen seen = step_plant(&c, &planted, &targets[t]);
      made++;
      interpreted += seen.interpreter;
      ran += seen.device;
    }
    if (!targets[t].plan.async_copies) continue;
    fprintf(stderr, "%s, %s: of %d kernels the interpreter sees it in %d, the device in %d\n",
            faults[what], targets[t].name, made, interpreted, ran);
    cr_assert(made == 8 && interpreted > 2 && ran > 2);
  }
  step_close_targets(targets, n);
}

Test(step_turns, sees_copies_not_awaited) { check_fault(NOT_AWAITED); }
Test(step_turns, sees_missing_barriers) { check_fault(NO_BARRIER); }
Test(step_turns, sees_other_slots) { check_fault(SHIFTED); }
Test(step_turns, sees_other_turns) { check_fault(OTHER_TURN); }
