/* What a tile of a strip, one iteration of a block, reaches: along a digit, of what bounds look
 * at. */
#include "jit/plan/facts/iteration.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

uint64_t plan_iteration_mask(const plan_kernel *kernel, const plan_value *value, int digit) {
  uint64_t touched = 0;
  int n = llrt_layout_in_bits(&value->layout) - plan_value_bits(value, PLAN_ITERATION);
  for (int i = 0; i < n; i++)
    touched |= f2_apply(kernel->space.column, plan_tile_bits_of(value, value->layout.column[i]));
  return touched >> llrt_layout_out_shift(&kernel->space, digit) &
         bits_mask(kernel->digit[digit].bits);
}

int64_t plan_iteration_span(const plan_kernel *kernel, const plan_value *value,
                            const plan_bound *bound) {
  int64_t most = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    if (bound->axis < 0 ? i != bound->top : kernel->digit[i].axis != bound->axis) continue;
    most += (int64_t)plan_iteration_mask(kernel, value, i) *
            (bound->axis < 0 ? 1 : kernel->digit[i].step);
  }
  return most + 1;
}

/* What tile coordinate x, of which each digit has one bit at most, adds to what a bound looks at;
 * 0: nothing, or it has more. */
static int64_t added_by(const plan_kernel *kernel, const plan_bound *bound, uint64_t x) {
  uint64_t moved = f2_apply(kernel->space.column, x);
  int64_t sum = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    if (bound->axis < 0 ? i != bound->top : kernel->digit[i].axis != bound->axis) continue;
    uint64_t own =
        moved >> llrt_layout_out_shift(&kernel->space, i) & bits_mask(kernel->digit[i].bits);
    if (own & (own - 1)) return 0;
    sum += (int64_t)own * (bound->axis < 0 ? 1 : kernel->digit[i].step);
  }
  return sum;
}

/* The bits of digits that the value's in-dims before iterations move, or the kernel's grid. */
static uint64_t moved_besides(const plan_kernel *kernel, const plan_value *value) {
  int n = llrt_layout_in_bits(&value->layout) - plan_value_bits(value, PLAN_ITERATION);
  uint64_t moved = 0;
  for (int i = 0; i < n; i++)
    moved |= f2_apply(kernel->space.column, plan_tile_bits_of(value, value->layout.column[i]));
  for (int i = kernel->space.in[0].bits; i < llrt_layout_in_bits(&kernel->space); i++)
    moved |= kernel->space.column[i];
  return moved;
}

int64_t plan_iteration_step(const plan_kernel *kernel, const plan_value *value,
                            const plan_bound *bound) {
  uint64_t besides = moved_besides(kernel, value);
  int64_t step = 0;
  for (int j = 0; j < plan_value_bits(value, PLAN_ITERATION); j++) {
    uint64_t x = plan_tile_bits_of(value, plan_value_columns(value, PLAN_ITERATION)[j]);
    int64_t added = added_by(kernel, bound, x);
    if (f2_apply(kernel->space.column, x) & besides) return 0;
    if (j == 0) step = added;
    if (added == 0 || added != step << j) return 0;
  }
  return step;
}

/* Least and greatest of what a bound looks at: exact where no bit of the tile is moved by the grid
 * as well. */
static void reach_of(const plan_kernel *kernel, const plan_bound *bound, const plan_value *value,
                     const int64_t *first, int64_t *least, int64_t *most) {
  *least = *most = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    if (bound->axis < 0 ? i != bound->top : kernel->digit[i].axis != bound->axis) continue;
    int64_t step = bound->axis < 0 ? 1 : kernel->digit[i].step;
    int64_t mask = (int64_t)plan_iteration_mask(kernel, value, i);
    *least += (first[i] & ~mask) * step;
    *most += (first[i] | mask) * step;
  }
}

void plan_iteration_reach(const plan_kernel *kernel, const plan_value *value, uint64_t iteration,
                          uint64_t grid, const int64_t upper[PLAN_MAX_DIGITS],
                          uint32_t ignored_bounds, const uint64_t *args, bool *interior,
                          bool *beyond) {
  int64_t first[PLAN_MAX_DIGITS], least, most;
  plan_tile_position(kernel, plan_tile_bits_of(value, plan_value_at(value, 0, 0, 0, iteration)),
                     grid, upper, first);
  *interior = true;
  *beyond = false;
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    int64_t limit = plan_bound_limit(kernel, bound, args);
    reach_of(kernel, bound, value, first, &least, &most);
    *interior &= most < limit || ignored_bounds >> i & 1;
    *beyond |= bound->tensors >> PLAN_DESTINATION & 1 && least >= limit;
  }
}
