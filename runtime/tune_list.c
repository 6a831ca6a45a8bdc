/* Candidates of a step: planned by all threads, each plan once, however many variants of it are
 * candidates; what was met before is left out. */
#include "runtime/tune_search.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "jit/plan/cost/predict.h"
#include "runtime/context.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NEIGHBOURS 200
#define START_CLOCKS 3000 /* of any launch, for predictions (choose_shape.c) */

/* ---- one plan ---- */

llrt_status tune_plan(const tuning *t, const plan_choice *choice, plan_chosen *out) {
  return plan_choose(&t->op->desc, &t->op->device->target, choice, &t->bench.call.tensor[0],
                     t->op->device->info.compute_units, out);
}

double tune_predict(const tuning *t, const plan_kernel *stages) {
  const op_call *call = &t->bench.call;
  int units = t->op->device->info.compute_units;
  double widest = 0, clocks = 0;
  const plan_launch *decides =
      plan_launch_decides(&stages->launch, &stages[stages->launch.later].launch);
  if (decides->pace.units > 0)
    return START_CLOCKS + (double)plan_launch_clocks(decides, &call->tensor[0], units);
  for (int i = 0; i < call->n; i++)
    if ((double)t->bench.bytes[i] > widest) widest = (double)t->bench.bytes[i];
  for (int i = 0; i <= stages->launch.later; i++) {
    double covered =
        stages[i].launch.view.used
            ? 0
            : plan_launch_covered_bytes(&stages[i].launch, call->tensor, call->binding, call->n);
    double bytes = covered > widest ? covered : widest;
    clocks += START_CLOCKS + plan_predict_clocks(&stages[i]) * bytes / units;
  }
  return clocks;
}

static bool is_known(const tuning *t, llrt_hash hash) {
  int i = 0;
  while (i < t->n_known && !llrt_hash_equal(t->known[i], hash)) i++;
  return i < t->n_known;
}

bool tune_is_new(tuning *t, llrt_hash hash) {
  if (is_known(t, hash)) return false;
  if (t->n_known < TUNE_MOST_KNOWN) t->known[t->n_known++] = hash;
  return true;
}

/* ---- all plans of a step ---- */

/* Neighbours in the order in which they are listed, those of one plan in a chain. */
typedef struct planning {
  const tuning *t;
  candidate *list;
  int n, n_plans;
  int first[MOST_NEIGHBOURS], next[MOST_NEIGHBOURS]; /* of plan p's; behind candidate i; -1: none */
  int variant[MOST_NEIGHBOURS];                      /* of candidate i; -1: the planner's */
} planning;

/* Keeps the kernels of a candidate that was not met before. */
static void keep(const planning *p, candidate *c, int variant, plan_chosen *made) {
  const tuning *t = p->t;
  const llrt_tensor *first = &t->bench.call.tensor[0];
  if (plan_chosen_take(made, variant, first, t->op->device->info.compute_units) != LLRT_OK) return;
  if (plan_variant_hash(made, &c->hash) != LLRT_OK || is_known(t, c->hash)) return;
  c->clocks = tune_predict(t, &made->plan.variant[made->variant]);
  c->kept = plan_chosen_keep(made);
}

static void plan_some(void *data, int64_t begin, int64_t end) {
  const planning *p = data;
  plan_chosen *made = memory_new(sizeof *made);
  for (int64_t i = begin; i < end && made && tune_now() < p->t->deadline; i++) {
    plan_choice numbers;
    int c = p->first[i];
    plan_choice_variant(&p->list[c].choice, &numbers);
    if (tune_plan(p->t, &numbers, made) != LLRT_OK) continue;
    for (; c >= 0; c = p->next[c]) keep(p, &p->list[c], p->variant[c], made);
  }
  free(made);
}

static bool are_equal(const plan_choice *a, const plan_choice *b) {
  bool equal = a->n == b->n;
  for (int i = 0; i < a->n && equal; i++)
    equal = a->set[i].number == b->set[i].number && a->set[i].value == b->set[i].value;
  return equal;
}

/* Puts candidates of the same numbers behind each other. */
static void chain(planning *p) {
  plan_choice numbers[MOST_NEIGHBOURS];
  int last[MOST_NEIGHBOURS];
  for (int i = 0; i < p->n; i++) {
    int at = 0;
    p->variant[i] = plan_choice_variant(&p->list[i].choice, &numbers[p->n_plans]);
    p->next[i] = -1;
    while (!are_equal(&numbers[at], &numbers[p->n_plans])) at++;
    if (at == p->n_plans) p->first[p->n_plans++] = i;
    else p->next[last[at]] = i;
    last[at] = i;
  }
}

/* ---- the list ---- */

/* One number away, and of plans that have more variants than they choose from, those. */
static int list_neighbours(const tuning *t, const plan_choice *from, plan_choice *near) {
  const op_description *desc = &t->op->desc;
  const plan_target *target = &t->op->device->target;
  const llrt_tensor *first = &t->bench.call.tensor[0];
  plan_choice wide;
  int n = plan_neighbours(desc, target, from, t->best_plan, first, near, MOST_NEIGHBOURS);
  if (!plan_widen(desc, from, &wide)) return n;
  plan_chosen *made = memory_new(sizeof *made);
  if (made && tune_plan(t, &wide, made) == LLRT_OK) {
    made->variant = -1; /* all of them */
    n += plan_variants(&wide, made, first, near + n, MOST_NEIGHBOURS - n);
  }
  free(made);
  return n;
}

/* By predicted clocks; those that are not predicted last; else as they were listed. */
static void sort(candidate *list, int n) {
  for (int i = 1; i < n; i++) {
    candidate c = list[i];
    int at = i;
    for (; at > 0 && c.clocks > 0 && (list[at - 1].clocks <= 0 || list[at - 1].clocks > c.clocks);
         at--)
      list[at] = list[at - 1];
    list[at] = c;
  }
}

/* Those whose kernels were kept, and of equal ones the first. */
static int drop_known(tuning *t, candidate *list, int n) {
  int left = 0;
  for (int i = 0; i < n; i++)
    if (list[i].kept && tune_is_new(t, list[i].hash)) list[left++] = list[i];
    else tune_drop(&list[i]);
  return left;
}

candidate *tune_list(tuning *t, const plan_choice *from, int *n) {
  double since = tune_now();
  plan_choice *near = memory_new(MOST_NEIGHBOURS * sizeof *near);
  candidate *list = memory_zeroed(MOST_NEIGHBOURS, sizeof *list);
  planning *p = memory_zeroed(1, sizeof *p);
  *n = 0;
  if (near && list && p && since < t->deadline) {
    *p = (planning){.t = t, .list = list, .n = list_neighbours(t, from, near)};
    for (int i = 0; i < p->n; i++) list[i].choice = near[i];
    chain(p);
    llrt_parallel_run(&t->op->device->context->parallel, p->n_plans, 1, plan_some, p);
    *n = drop_known(t, list, p->n);
    sort(list, *n);
  }
  free(near);
  free(p);
  tune_spend(t, TUNE_PLANNING, &since);
  return list;
}
