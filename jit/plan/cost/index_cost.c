/* Traffic that reading the values of indices causes, by evaluating every load of one tile. */

#include "jit/plan/cost/cost.h"

#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"
#include "layout/traffic.h"

/* The loads of one index by the threads of a block that hold `value`. */
typedef struct index_walk {
  const plan_kernel *kernel;
  const plan_index *index;
  const plan_value *value;
  int vector;                 /* log2 values of a load */
  uint64_t selecting, inside; /* space bits: that choose a value; inside a load */
} index_walk;

static uint64_t space_at(const index_walk *walk, uint64_t reg, uint64_t lane, uint64_t warp) {
  return f2_apply(walk->kernel->space.column, plan_value_at(walk->value, reg, lane, warp, 0));
}

/* Whether register `reg` is the first of those that the load of its value serves. */
static bool is_first(const index_walk *walk, uint64_t reg) {
  uint64_t chosen = walk->selecting & ~walk->inside, key = space_at(walk, reg, 0, 0) & chosen;
  for (uint64_t r = 0; r < reg; r++)
    if ((space_at(walk, r, 0, 0) & chosen) == key) return false;
  return true;
}

static int64_t address_of(const index_walk *walk, uint64_t reg, uint64_t lane, uint64_t warp) {
  static const int64_t no_upper[PLAN_MAX_DIGITS];
  int64_t position[PLAN_MAX_DIGITS], bytes = walk->index->wide ? 8 : 4;
  uint64_t tile = plan_value_at(walk->value, reg, lane, warp, 0);
  plan_tile_position(walk->kernel, tile, 0, no_upper, position);
  int64_t at = plan_index_place(walk->kernel, walk->index, position, NULL, PLAN_FAR_STRIDE) * bytes;
  return at & ~((bytes << walk->vector) - 1);
}

static int walk_index(const index_walk *walk) {
  const plan_kernel *kernel = walk->kernel;
  int64_t address[TRAFFIC_MAX_LANES];
  int total = 0, lanes = 1 << kernel->lane_bits,
      bytes = (walk->index->wide ? 8 : 4) << walk->vector;
  for (uint64_t reg = 0; reg < 1ull << plan_value_bits(walk->value, PLAN_REGISTER); reg++) {
    if (!is_first(walk, reg)) continue;
    for (uint64_t warp = 0; warp < 1ull << kernel->warp_bits; warp++) {
      for (int lane = 0; lane < lanes; lane++)
        address[lane] = address_of(walk, reg, (uint64_t)lane, warp);
      total += traffic_sectors(address, lanes, bytes, kernel->target.sector_bytes);
    }
  }
  return total;
}

int plan_index_sectors(const plan_kernel *kernel, const plan_value *value, int tensor) {
  int total = 0, position[LLRT_MAX_BITS];
  for (int i = 0; i < kernel->n_indices; i++) {
    index_walk walk = {.kernel = kernel, .index = &kernel->index[i], .value = value};
    if (walk.index->tensor != tensor || walk.index->uniform) continue;
    walk.selecting = plan_axes_bits(kernel, walk.index->axes);
    walk.vector = plan_index_vector(kernel, walk.index, value, position);
    for (int j = 0; j < walk.vector; j++)
      walk.inside |=
          f2_apply(kernel->space.column, plan_value_columns(value, PLAN_REGISTER)[position[j]]);
    total += walk_index(&walk);
  }
  return total;
}
