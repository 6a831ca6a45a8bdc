/* See rounds.h. */
#include "jit/plan/dot/rounds.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/value.h"

llrt_status rounds_begin(draft *d) {
  d->kernel->launch.rounds = 1;
  return draft_arg(d, (plan_arg){.kind = PLAN_ARG_POSITIONS}, &d->kernel->positions);
}

/* Regions of the workspace. */
enum { DEAL_FLAGS, DEAL_CELLS, DEAL_REGIONS };

llrt_status rounds_deal(draft *d, const plan_value *sums, int blocks) {
  plan_kernel *kernel = d->kernel;
  plan_launch *launch = &kernel->launch;
  int64_t bytes =
      (int64_t)4 << (plan_value_bits(sums, PLAN_REGISTER) + kernel->lane_bits + kernel->warp_bits);
  kernel->deal.used = true;
  launch->dealt = blocks;
  launch->workspace = (plan_workspace){.n = DEAL_REGIONS, .zero = DEAL_FLAGS + 1};
  launch->workspace.region[DEAL_FLAGS].fixed = 8ll * (blocks + 1);
  launch->workspace.region[DEAL_CELLS].fixed = bytes * blocks;
  LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_WORKSPACE, .index = DEAL_FLAGS},
                     &kernel->deal.flags));
  return draft_arg(d, (plan_arg){.kind = PLAN_ARG_WORKSPACE, .index = DEAL_CELLS},
                   &kernel->deal.cells);
}

llrt_status rounds_settle(draft *d, int *sums, int *at) {
  plan_kernel *kernel = d->kernel;
  const int in = *sums;
  *at = kernel->n_steps;
  LLRT_TRY(draft_value(kernel, &kernel->value[in], sums));
  return draft_step(kernel,
                    (plan_step){.kind = PLAN_SETTLE, .in = (uint8_t)in, .out = (uint8_t)*sums});
}
