/* Products by every instruction of every target, and the warps that bring their operands:
 * docs/steps.md, "Products and roles". */
#include "dot_case.h"
#include "jit/plan/check/plan_view.h"
#include "step_device.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const ways[] = {"alone", "chain", "roles"};

/* So many cases of an instruction, which has `way` if it has any. */
static int check_instruction(uint64_t *seed, const step_target *target, int number, dot_way way,
                             int usual) {
  static step_case c;
  const dot_instruction *row = dot_instruction_at(number);
  int ran = 0;
  for (int tries = 0; ran < usual && tries < 60 * usual; tries++) {
    c.seed = step_random(seed) | 1;
    snprintf(c.what, sizeof c.what, "%s, %s, %s", row->name, ways[way], target->name);
    if (dot_case_make(&c, &target->plan, row, number, way)) ran += step_check(&c, target);
  }
  cr_expect_eq(ran, usual, "%s: %d kernels of %s", target->name, ran, row->name);
  return ran;
}

/* Cases of the target's instructions of a family, of every `of`-th one, from any on. */
static void check_way(dot_family family, dot_way way, int usual, int of) {
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets);
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(family * DOT_WAYS + way + 401) << 40;
  for (int t = 0; t < n; t++) {
    int rows = 0, ran = 0, first = step_below(&seed, of);
    for (int i = 0; i < dot_instruction_count(); i++) {
      if (dot_instruction_at(i)->family != family ||
          !dot_instruction_is_of(dot_instruction_at(i), &targets[t].plan))
        continue;
      if (rows++ % of == first)
        ran += check_instruction(&seed, &targets[t], i, way, step_rounds(usual));
    }
    if (rows)
      fprintf(stderr, "%s, %s: %d kernels of %d instructions\n", ways[way], targets[t].name, ran,
              rows);
  }
  step_close_targets(targets, n);
}

Test(step_dot, multiply_adds) { check_way(DOT_FMA, DOT_ALONE, 4, 1); }
Test(step_dot, warps) { check_way(DOT_MMA, DOT_ALONE, 2, 1); }
Test(step_dot, waves) { check_way(DOT_MFMA, DOT_ALONE, 3, 1); }
Test(step_dot, warpgroups) { check_way(DOT_WGMMA, DOT_ALONE, 1, 1); }
Test(step_dot, groups_under_way) { check_way(DOT_WGMMA, DOT_CHAIN, 1, 5); }
Test(step_dot, roles) { check_way(DOT_WGMMA, DOT_ROLES, 1, 5); }

/* ---- planted faults ---- */

typedef enum fault {
  NOT_MULTIPLIED = 0, /* an operand is written while products read it */
  NOT_STORED,         /* no barrier between the operand's stores and the products */
  NOT_FILLED,         /* products do not wait for their slots */
  EARLY_RELEASE,      /* slots are free while products read them */
  FAULTS
} fault;

static const char *const faults[] = {"products that are not awaited", "no barrier",
                                     "slots that are not awaited", "slots released early"};

static plan_step *find(plan_kernel *kernel, plan_step_kind kind) {
  for (int i = 0; i < kernel->n_steps; i++)
    if (kernel->step[i].kind == kind) return &kernel->step[i];
  return NULL;
}

/* False: the kernel is none in which it would be a fault. */
static bool plant(plan_kernel *kernel, fault what) {
  plan_step *multiplied = find(kernel, PLAN_MULTIPLIED), *release = find(kernel, PLAN_RELEASE);
  const plan_step nothing = {.kind = PLAN_MULTIPLIED, .turns = 100};
  bool early = release && release->turns == 1 && kernel->walk.turns.value > kernel->slots;
  if (what == EARLY_RELEASE && !early) return false;
  if (what == NOT_MULTIPLIED) multiplied->turns = 100;
  if (what == NOT_STORED) *find(kernel, PLAN_BARRIER) = nothing;
  if (what == NOT_FILLED) *find(kernel, PLAN_FILLED) = nothing;
  if (what == EARLY_RELEASE) release->turns = 0;
  return true;
}

static void check_fault(fault what) {
  static step_case c;
  static plan_kernel planted;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), made = 0, interpreted = 0, ran = 0;
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(what + 431) << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0; made < 6 && tries < 600; tries++) {
      int number = step_below(&seed, dot_instruction_count());
      const dot_instruction *row = dot_instruction_at(number);
      if (row->family != DOT_WGMMA || row->n > 5 || !dot_instruction_is_of(row, &targets[t].plan))
        continue;
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s, %s", faults[what], row->name);
      dot_way way = what >= NOT_FILLED ? DOT_ROLES : DOT_CHAIN;
      if (!dot_case_make(&c, &targets[t].plan, row, number, way) ||
          plan_verify(&c.kernel) != LLRT_OK)
        continue;
      planted = c.kernel;
      if (!plant(&planted, what)) continue;
      step_seen seen = step_plant(&c, &planted, &targets[t]);
      made++;
      interpreted += seen.interpreter;
      ran += seen.device;
    }
  fprintf(stderr, "%s: of %d kernels the interpreter sees it in %d, the device in %d\n",
          faults[what], made, interpreted, ran);
  cr_assert(made == 0 || (made == 6 && interpreted > 4 && ran > 1));
  step_close_targets(targets, n);
}

Test(step_dot, sees_products_not_awaited) { check_fault(NOT_MULTIPLIED); }
Test(step_dot, sees_missing_barriers) { check_fault(NOT_STORED); }
Test(step_dot, sees_slots_not_awaited) { check_fault(NOT_FILLED); }
Test(step_dot, sees_slots_released_early) { check_fault(EARLY_RELEASE); }

/* ---- what is refused ---- */

/* A case of any of the target's instructions of a family; false: it has none. */
static bool any_case(uint64_t *seed, const step_target *target, dot_family family, dot_way way,
                     step_case *c) {
  for (int tries = 0; tries < 4000; tries++) {
    int number = step_below(seed, dot_instruction_count());
    const dot_instruction *row = dot_instruction_at(number);
    if (row->family != family || !dot_instruction_is_of(row, &target->plan)) continue;
    if (target->plan.simd_lanes && row->k == 0) continue;
    c->seed = step_random(seed) | 1;
    if (dot_case_make(c, &target->plan, row, number, way) && plan_verify(&c->kernel) == LLRT_OK)
      return true;
  }
  return false;
}

/* Threads say that a turn's copies are there when they have begun those of the next: a ring whose
 * other slots wait for that turn's release never has room for them. */
Test(step_dot, refuses_rings_that_wait_for_themselves) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets);
  uint64_t seed = step_seed_of_run();
  for (int t = 0; t < n; t++) {
    if (!any_case(&seed, &targets[t], DOT_WGMMA, DOT_ROLES, &c)) continue;
    plan_step *release = find(&c.kernel, PLAN_RELEASE);
    release->turns = c.kernel.slots - 2;
    cr_expect_eq(plan_verify(&c.kernel), LLRT_OK, "%s", llrt_last_error());
    release->turns = c.kernel.slots - 1;
    cr_expect_eq(plan_verify(&c.kernel), LLRT_INTERNAL);
  }
  step_close_targets(targets, n);
}

/* Lanes of the host that hold two elements of an operand are made of registers, not loaded. */
Test(step_dot, refuses_loads_of_lanes_of_several_elements) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets);
  uint64_t seed = step_seed_of_run();
  for (int t = 0; t < n; t++) {
    if (!targets[t].plan.simd_lanes || !any_case(&seed, &targets[t], DOT_FMA, DOT_ALONE, &c))
      continue;
    const plan_step *renamed = find(&c.kernel, PLAN_REGISTERS);
    for (int i = 0; i < c.kernel.n_steps; i++)
      if (c.kernel.step[i].kind == PLAN_LOAD && c.kernel.step[i].out == renamed->in)
        c.kernel.step[i].out = renamed->out;
    cr_expect_eq(plan_verify(&c.kernel), LLRT_INTERNAL);
  }
  step_close_targets(targets, n);
}
