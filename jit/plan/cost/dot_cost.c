/* What products cost. */
#include "jit/plan/cost/cost.h"

#include "jit/plan/facts/dot_tiling.h"

void plan_cost_dot(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  dot_tiling tiling;
  if (plan_dot_tiling(kernel, step, &tiling) != LLRT_OK) return;
  int products = (1 << (tiling.n_out + tiling.n_sum)) -
                 (tiling.skipped ? 1 << (tiling.n_out + tiling.n_sum - 2) : 0);
  cost->products += products;
  cost->product_clocks += tiling.row->clocks * products * tiling.columns / (1 << tiling.row->n);
}
