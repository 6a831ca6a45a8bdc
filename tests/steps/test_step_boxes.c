/* Boxes that land, what is made of them, and turns that are dealt out: docs/steps.md, "Products and
 * roles". */
#include "box_case.h"
#include "step_device.h"

#include "jit/plan/check/plan_view.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const ways[] = {"boxes", "landed boxes", "dealt turns"};

static void check_way(box_way way, int usual) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), ran[STEP_TARGETS] = {0};
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(way + 241) << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0, rounds = step_rounds(usual); ran[t] < rounds && tries < 40 * rounds;
         tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s, %s", ways[way], targets[t].name);
      if (box_case_make(&c, &targets[t].plan, way)) ran[t] += step_check(&c, &targets[t]);
    }
  for (int t = 0; t < n; t++) {
    fprintf(stderr, "%s, %s: %d kernels\n", ways[way], targets[t].name, ran[t]);
    bool exists = targets[t].plan.facts.early_launches;
    cr_assert(exists ? ran[t] >= usual : ran[t] == 0, "%d kernels", ran[t]);
  }
  step_close_targets(targets, n);
}

Test(step_boxes, boxes) { check_way(BOX_COPY, 6); }
Test(step_boxes, landed) { check_way(BOX_LANDED, 6); }
Test(step_boxes, dealt) { check_way(BOX_SETTLE, 8); }

/* ---- planted faults ---- */

typedef enum fault {
  NOT_LANDED = 0, /* producers work on boxes that may be under way */
  NOT_SETTLED,    /* what blocks before have left is not joined */
  FAULTS
} fault;

static const char *const faults[] = {"boxes that have not landed", "sums that are not settled"};

static plan_step *find(plan_kernel *kernel, plan_step_kind kind) {
  for (int i = 0; i < kernel->n_steps; i++)
    if (kernel->step[i].kind == kind) return &kernel->step[i];
  return NULL;
}

static void plant(plan_kernel *kernel, fault what) {
  plan_step *landed = find(kernel, PLAN_LANDED), *settle = find(kernel, PLAN_SETTLE);
  if (what == NOT_LANDED) *landed = (plan_step){.kind = PLAN_COPIED, .turns = 100};
  if (what == NOT_SETTLED) settle[1].in = settle->in;
}

/* Producers that do not wait would wait for each other: such a kernel is interpreted alone. */
static void check_fault(fault what) {
  static step_case c;
  static plan_kernel planted;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets);
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(what + 443) << 40;
  for (int t = 0; t < n; t++) {
    int made = 0, interpreted = 0, ran = 0;
    for (int tries = 0; made < 8 && tries < 80; tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s, %s", faults[what], targets[t].name);
      if (!box_case_make(&c, &targets[t].plan, what == NOT_LANDED ? BOX_LANDED : BOX_SETTLE) ||
          plan_verify(&c.kernel) != LLRT_OK)
        continue;
      planted = c.kernel;
      plant(&planted, what);
      step_target interpreting = targets[t];
      if (what == NOT_LANDED) interpreting.device = NULL;
      step_seen seen = step_plant(&c, &planted, &interpreting);
      made++;
      interpreted += seen.interpreter;
      ran += seen.device;
    }
    if (!targets[t].plan.facts.early_launches) continue;
    fprintf(stderr, "%s, %s: of %d kernels the interpreter sees it in %d, the device in %d\n",
            faults[what], targets[t].name, made, interpreted, ran);
    cr_assert(made == 8 && interpreted > 2 && (what == NOT_LANDED || ran > 1));
  }
  step_close_targets(targets, n);
}

Test(step_boxes, sees_boxes_that_have_not_landed) { check_fault(NOT_LANDED); }
Test(step_boxes, sees_sums_that_are_not_settled) { check_fault(NOT_SETTLED); }
