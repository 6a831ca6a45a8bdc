/* See rounds.h. */
#include "jit/plan/rounds.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/dot_box.h"
#include "jit/plan/verify.h"

llrt_status rounds_begin(draft *d) {
  d->kernel->launch.rounds = 1;
  return draft_arg(d, (plan_arg){.kind = PLAN_ARG_POSITIONS}, &d->kernel->positions);
}

/* Regions of the workspace. */
enum { DEAL_FLAGS, DEAL_CELLS, DEAL_REGIONS };

llrt_status rounds_deal(draft *d, const plan_value *sums, int blocks) {
  plan_kernel *kernel = d->kernel;
  plan_launch *launch = &kernel->launch;
  int64_t bytes = (int64_t)4 << (plan_value_bits(sums, PLAN_REGISTER) + kernel->lane_bits + kernel->warp_bits);
  kernel->deal.used = true;
  launch->dealt = blocks;
  launch->workspace = (plan_workspace){.n = DEAL_REGIONS, .zero = DEAL_FLAGS + 1};
  launch->workspace.region[DEAL_FLAGS].fixed = 8ll * (blocks + 1);
  launch->workspace.region[DEAL_CELLS].fixed = bytes * blocks;
  LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_WORKSPACE, .index = DEAL_FLAGS}, &kernel->deal.flags));
  return draft_arg(d, (plan_arg){.kind = PLAN_ARG_WORKSPACE, .index = DEAL_CELLS}, &kernel->deal.cells);
}

llrt_status plan_verify_settle(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  CHECK(kernel->deal.used && kernel->launch.dealt > 0 && kernel->launch.rounds > 0 && at + step->body + 1 == kernel->n_steps,
        "step %d: turns that are not dealt", at);
  CHECK(kernel->deal.place >= kernel->barriers + (dot_landed_step(kernel) < 0 ? 16 : 24) * kernel->slots &&
            kernel->deal.place + 4 <= kernel->launch.shared_bytes,
        "step %d: the block's ticket lies where barriers do", at);
  for (int i = 0; i < kernel->n_buffers; i++)
    CHECK(plan_buffer_end(&kernel->buffer[i]) <= kernel->deal.place, "buffer %d lies where the block's ticket does", i);
  CHECK(in->bits == 32 && in->word == 0 && plan_value_bits(in, PLAN_REGISTER) >= 2 && llrt_layout_equal(&in->layout, &out->layout),
        "step %d: sums that cells do not hold", at);
  return LLRT_OK;
}

int rounds_ring_bytes(const plan_kernel *kernel) {
  int bytes = 0;
  for (int i = 0; i < kernel->n_buffers; i++)
    if (kernel->buffer[i].slots > 0) bytes = bits_max(bytes, plan_buffer_end(&kernel->buffer[i]));
  return bytes;
}

/* The next position's copies go to rings at any time, and so do other warps' accesses to other buffers until a barrier. */
llrt_status plan_verify_rounds(const plan_kernel *kernel) {
  int at = 0, rings = rounds_ring_bytes(kernel);
  bool met = false;
  if (kernel->launch.rounds == 0) return LLRT_OK;
  CHECK(kernel->producers > 0 && kernel->launch.n_boxes > 0 && kernel->cluster_bits == 0 && kernel->n_indices == 0 && kernel->walk.split < 0,
        "rounds of blocks whose copies wait for each other");
  while (kernel->step[at].kind == PLAN_FILL) at++;
  CHECK(kernel->step[at].kind == PLAN_ROLES, "step %d: before the rounds", at);
  for (; at < kernel->n_steps; at++) {
    const plan_step *step = &kernel->step[at];
    bool stores = step->kind == PLAN_SHARED_STORE;
    met |= step->kind == PLAN_BARRIER;
    CHECK(!stores || met, "step %d: a store before what the round before has loaded", at);
    CHECK(!stores || kernel->buffer[step->buffer].offset >= rings, "step %d: a store to what producers fill", at);
  }
  return LLRT_OK;
}
