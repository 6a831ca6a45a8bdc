/* Where blocks that look back find what stands before them, and what PLAN_PICK keeps. */
#include "jit/plan/facts/lookback.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

bool plan_pick_of(const plan_value *in, const plan_value *out, plan_pick *pick) {
  f2_basis span;
  f2_basis_init(&span);
  for (int i = 0; i < plan_value_bits(in, PLAN_REGISTER); i++)
    f2_basis_insert_as(&span, plan_value_columns(in, PLAN_REGISTER)[i], 1ull << i);
  pick->n_registers = plan_value_bits(out, PLAN_REGISTER);
  pick->n_warps = plan_value_bits(out, PLAN_WARP);
  for (int i = 0; i < pick->n_registers; i++)
    if (!f2_basis_coordinates(&span, plan_value_columns(out, PLAN_REGISTER)[i],
                              &pick->of_register[i]))
      return false;
  for (int i = 0; i < pick->n_warps; i++) {
    uint64_t moved = plan_value_columns(out, PLAN_WARP)[i] ^ plan_value_columns(in, PLAN_WARP)[i];
    pick->of_warp[i] = 0;
    if (moved && !f2_basis_coordinates(&span, moved, &pick->of_warp[i])) return false;
  }
  for (int i = 0; i < plan_value_bits(out, PLAN_LANE); i++)
    if (plan_value_columns(out, PLAN_LANE)[i] != plan_value_columns(in, PLAN_LANE)[i]) return false;
  return true;
}

int plan_lookback_places(const plan_lookback *lookback, int level) {
  int last = lookback->levels - 1;
  return level < last ? lookback->bits + (lookback->lags && level == last - 1) : 0;
}

int64_t plan_lookback_distance(const plan_lookback *lookback, int level, int64_t turn, int64_t k) {
  int low = lookback->bits * level, high = low + lookback->bits, top = lookback->levels - 1;
  int64_t group = turn >> low << low, first = turn >> high << high;
  if (lookback->lags && level == top) group -= (int64_t)1 << low;
  if (lookback->lags && level == top - 1) first -= (int64_t)1 << high;
  if (level == top) return group > 0 ? turn - group + 1 : 0;
  int64_t last = first + (k << low) + (int64_t)bits_mask(low);
  return last >= 0 && last < group ? turn - last : 0;
}

bool plan_lookback_publishes(const plan_lookback *lookback, int level, int64_t turn) {
  return ((uint64_t)(turn + 1) & bits_mask(lookback->bits * level)) == 0;
}

int plan_lookback_kept(const plan_kernel *kernel, const plan_step *step, const plan_value *value) {
  return value->layout.out[0].bits -
         (step->kind == PLAN_AWAIT ? plan_lookback_places(&kernel->lookback, step->level) : 0);
}
