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
  CHECK(dot_only_boxes(kernel) && kernel->cluster_bits == 0 && kernel->n_indices == 0 && kernel->walk.split < 0,
        "rounds of blocks that have more than boxes copied");
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
