/* Descriptions that are planned and run by the planner's interpreter instead of being compiled:
 * devices "plan:TARGET" of llrt_draws_plan. */
#include "runtime/described.h"
#include "tests/draw/interpret.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/kernel/step_table.h"
#include "jit/plan/plan_make.h"
#include "runtime/validate.h"

#include <stdlib.h>

/* Places that the interpreter goes through: elements of values, for each step, block and turn. It
 * takes one to six million of them a second, and a case may be run seven times. Few elements may
 * have many: extents that only a run knows are walked in whole blocks of a storage, of which
 * padding may be the most. */
#define MOST_PLACES ((double)(1 << 24))

/* The description as the runtime plans it. */
typedef struct planned_case {
  plan_target target;
  storage_set set;
  op_description desc;
  op_call call;
  plan made;
} planned_case;

static llrt_status prepare(const char *target, const op_description *asked, planned_case *at) {
  llrt_status status = llrt_validate_desc(asked);
  if (status == LLRT_OK) status = plan_target_find(target, &at->target);
  if (status == LLRT_OK)
    status = llrt_storage_set_init(asked->tensors, asked->n_tensors, asked->dot.roles, &at->set);
  if (status != LLRT_OK) return status;
  at->desc = *asked;
  for (int t = 0; t < asked->n_tensors; t++)
    at->desc.tensors[t] = llrt_storage_set_tensor(&at->set, t, asked->tensors[t].dtype);
  status = plan_make(&at->desc, &at->target, NULL, &at->made);
  if (status == LLRT_OK)
    status = llrt_validate_shapes(&at->desc, asked->tensors, &at->set, &at->call);
  if (status == LLRT_OK && !at->call.empty)
    status = llrt_validate_memory(&at->desc, &at->set, &at->call);
  return status;
}

/* One of the kernels whose range takes the tensors, by `choice`; NULL: there is none. */
static const plan_kernel *pick(const planned_case *at, uint64_t choice) {
  const plan_kernel *taken[PLAN_MAX_VARIANTS];
  int n = 0;
  for (int v = 0; v < at->made.n_variants; v++) {
    const plan_launch *launch = &at->made.variant[v].launch;
    if (launch->stage == 0 && plan_range_takes(&launch->range, &at->call.tensor[0]))
      taken[n++] = &at->made.variant[v];
  }
  return n ? taken[choice % (uint64_t)n] : NULL;
}

static double turns_of_walk(const plan_kernel *kernel, const uint64_t *args) {
  const plan_turns *walk = &kernel->walk;
  if (kernel->lookback.queued) return 1; /* a ticket is a block's */
  return (double)plan_number_value(walk->split < 0 ? &walk->turns : &walk->share, args, 1);
}

/* How often a step's body is carried out when the step is. */
static double turns_of(const plan_kernel *kernel, const plan_step *step, const uint64_t *args) {
  switch (step->kind) {
  case PLAN_LOOP: return (double)(1ull << step->iterations);
  case PLAN_REPEAT: return step->turns;
  case PLAN_WALK: return turns_of_walk(kernel, args);
  default: return 1;
  }
}

/* Elements that a block has of the value that the step makes or takes. */
static double places_of_step(const plan_kernel *kernel, const plan_step *step) {
  bool takes = plan_step_row_of(step->kind)->uses & PLAN_USES_IN;
  const llrt_layout *layout = &kernel->value[takes ? step->in : step->out].layout;
  return (double)(1ull << (layout->in[PLAN_REGISTER].bits + layout->in[PLAN_LANE].bits +
                           layout->in[PLAN_WARP].bits));
}

/* Places of `n` steps from `first` on, both ways of a branch among them. */
static double places_of_steps(const plan_kernel *kernel, int first, int n, const uint64_t *args) {
  double places = 0;
  for (int i = first; i < first + n; i++) {
    const plan_step *step = &kernel->step[i];
    int owned = step->body + step->otherwise;
    places += places_of_step(kernel, step);
    places += turns_of(kernel, step, args) * places_of_steps(kernel, i + 1, owned, args);
    i += owned;
  }
  return places;
}

/* Places that the interpreter would go through, of all stages; 0: the run cannot begin. */
static double places_of(const planned_case *at, const plan_kernel *first) {
  plan_run run;
  double places = 0;
  if (plan_run_begin(&first->launch, at->call.tensor, at->call.binding, at->desc.n_tensors, &run) !=
      LLRT_OK)
    return 0;
  for (int i = 0; i <= first->launch.later; i++) {
    uint64_t args[PLAN_MAX_ARGS];
    int64_t blocks;
    if (plan_run_stage(&first[i].launch, &run, args, &blocks) != LLRT_OK) return 0;
    places += (double)blocks * places_of_steps(&first[i], 0, first[i].n_steps, args);
  }
  return places;
}

verdict draw_interpret(bench *at, const op_description *asked, uint64_t choice) {
  planned_case *made = calloc(1, sizeof *made);
  if (!made) return bench_say(at, VERDICT_LIMIT, "no memory");
  llrt_status status = prepare(at->plan_target, asked, made);
  const plan_kernel *kernel = status == LLRT_OK && !made->call.empty ? pick(made, choice) : NULL;
  if (status == LLRT_OK && !made->call.empty && !kernel) {
    free(made);
    return bench_say(at, VERDICT_INTERNAL, "no kernel of the plan takes the tensors");
  }
  double places = kernel ? places_of(made, kernel) : 0;
  if (places > MOST_PLACES) {
    free(made);
    return bench_say(at, VERDICT_LIMIT, "the interpreter would go through %.0f places", places);
  }
  if (kernel)
    status = plan_interpret(kernel, made->call.tensor, made->call.binding, asked->n_tensors);
  verdict found =
      status == LLRT_OK ? VERDICT_RIGHT : bench_fail(at, status, "planning, interpreting");
  free(made);
  return found;
}
