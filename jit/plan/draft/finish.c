/* A kernel before and after its passes: empty; its threads, shared memory and cost. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "jit/plan/cost/cost.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/buffer_use.h"

#include <string.h>

/* What a block that walks is taken to move: enough for a thread of the host's, however few blocks
 * there are. */
#define WALK_BYTES (1 << 20)

void draft_begin(draft *d, const op_description *desc, const plan_target *target,
                 const plan_options *options, plan_kernel *kernel) {
  memset(d, 0, sizeof *d);
  memset(kernel, 0, sizeof *kernel);
  d->desc = desc;
  d->options = options;
  d->kernel = kernel;
  draft_set_roles(d);
  kernel->target = *target;
  kernel->n_tensors = desc->n_tensors;
  int narrowest = INT32_MAX;
  for (int t = 0; t < desc->n_tensors; t++) {
    int bits = llrt_dtype_bits(desc->tensors[t].dtype);
    kernel->split_128 |= bits == 128;
    kernel->tensor_bits[t] = (uint8_t)bits_min(bits, 64);
    if (t < 2) narrowest = bits_max(bits_min(narrowest, kernel->tensor_bits[t]), 8);
  }
  kernel->lane_bits =
      target->simd_lanes ? bits_log2(target->vector_bytes * 8 / narrowest) : target->lane_bits;
}

void draft_finish(plan_kernel *kernel) {
  kernel->launch.shared_bytes =
      (int32_t)((kernel->panel.elements + (kernel->panel.most << kernel->panel.width)) *
                kernel->tensor_bits[0] / 8);
  if (kernel->panel.skew)
    kernel->launch.shared_bytes =
        (int32_t)plan_panel_place(&kernel->panel, kernel->launch.shared_bytes);
  if (kernel->panel.staged)
    kernel->launch.shared_bytes =
        (int32_t)(kernel->panel.room * kernel->tensor_bits[0] / 8) + (1 << kernel->panel.unit);
  kernel->launch.threads =
      kernel->target.simd_lanes
          ? 1
          : 1 << (kernel->lane_bits + kernel->warp_bits - kernel->cluster_bits + kernel->team_bits);
  kernel->launch.cluster = kernel->cluster_bits > 0 ? 1 << kernel->cluster_bits : 0;
  if (kernel->lookback.used)
    kernel->launch.shared_bytes = bits_max(kernel->launch.shared_bytes, 16);
  for (int i = 0; i < kernel->n_buffers; i++)
    kernel->launch.shared_bytes =
        bits_max(kernel->launch.shared_bytes, plan_buffer_end(&kernel->buffer[i]));
  if (plan_pushed_buffer(kernel) >= 0) {
    kernel->pushed = (kernel->launch.shared_bytes + 7) & -8;
    kernel->launch.shared_bytes = kernel->pushed + 8;
  }
  if (kernel->producers) {
    kernel->launch.threads += kernel->producers << kernel->lane_bits;
    kernel->barriers = (kernel->launch.shared_bytes + 7) & -8;
    kernel->launch.shared_bytes =
        kernel->barriers + (plan_landed_step(kernel) < 0 ? 16 : 24) * kernel->slots;
    if (kernel->team_bits > 0) kernel->launch.shared_bytes += 8 << kernel->team_bits;
  }
  if (kernel->deal.used) {
    kernel->deal.place = kernel->launch.shared_bytes;
    kernel->launch.shared_bytes += PLAN_DEAL_BYTES;
  }
  if (kernel->experts.shared && !kernel->target.simd_lanes) {
    kernel->experts.table = (kernel->launch.shared_bytes + 15) & -16;
    kernel->launch.shared_bytes =
        kernel->experts.table +
        (4 * PLAN_EXPERT_ENTRIES << (kernel->lane_bits + kernel->experts.sorted));
  }
  plan_cost_kernel(kernel);
  if (!kernel->flat) kernel->launch.block_bytes = kernel->cost.tile_bytes;
  if (kernel->launch.walk.n > 0) kernel->launch.block_bytes = WALK_BYTES;
}
