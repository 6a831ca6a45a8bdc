/* Descriptions that are planned and run by the planner's interpreter instead of being compiled:
 * devices "plan:TARGET" of llrt_draws_plan. */
#include "runtime/described.h"
#include "tests/draw/interpret.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_make.h"
#include "runtime/validate.h"

#include <stdlib.h>

/* The interpreter walks about a million threads a second. Few elements may have many: extents that
 * only a run knows are walked in whole blocks of a storage, of which padding may be the most. */
#define MOST_THREADS (1ll << 24)

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

/* Threads that the interpreter would walk, of all stages; 0: the run cannot begin. */
static int64_t threads_of(const planned_case *at, const plan_kernel *first) {
  plan_run run;
  int64_t threads = 0;
  if (plan_run_begin(&first->launch, at->call.tensor, at->call.binding, at->desc.n_tensors, &run) !=
      LLRT_OK)
    return 0;
  for (int i = 0; i <= first->launch.later; i++) {
    uint64_t args[PLAN_MAX_ARGS];
    int64_t blocks;
    if (plan_run_stage(&first[i].launch, &run, args, &blocks) != LLRT_OK) return 0;
    threads += blocks << (first[i].warp_bits + first[i].lane_bits);
  }
  return threads;
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
  int64_t threads = kernel ? threads_of(made, kernel) : 0;
  if (threads > MOST_THREADS) {
    free(made);
    return bench_say(at, VERDICT_LIMIT, "the interpreter would walk %lld threads",
                     (long long)threads);
  }
  if (kernel)
    status = plan_interpret(kernel, made->call.tensor, made->call.binding, asked->n_tensors);
  verdict found =
      status == LLRT_OK ? VERDICT_RIGHT : bench_fail(at, status, "planning, interpreting");
  free(made);
  return found;
}
