/* Regions: what a block of the host's takes tile by tile, in a loop. What an iteration reaches, and what is
 * asked for ahead of it. */
#include "jit/plan/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/eval.h"

#include <string.h>

uint64_t plan_iteration_mask(const plan_kernel *kernel, const plan_value *value, int digit) {
  uint64_t touched = 0;
  int n = llrt_layout_in_bits(&value->layout) - plan_value_bits(value, PLAN_ITERATION);
  for (int i = 0; i < n; i++)
    touched |= f2_apply(kernel->space.column, plan_tile_bits_of(value, value->layout.column[i]));
  return touched >> llrt_layout_out_shift(&kernel->space, digit) & bits_mask(kernel->digit[digit].bits);
}

int64_t plan_iteration_span(const plan_kernel *kernel, const plan_value *value, const plan_bound *bound) {
  int64_t most = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    if (bound->axis < 0 ? i != bound->top : kernel->digit[i].axis != bound->axis) continue;
    most += (int64_t)plan_iteration_mask(kernel, value, i) * (bound->axis < 0 ? 1 : kernel->digit[i].step);
  }
  return most + 1;
}

/* Least and greatest of what a bound looks at: exact where no bit of the tile is moved by the grid as well. */
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
                          uint64_t grid, const int64_t upper[PLAN_MAX_DIGITS], const uint64_t *args,
                          bool *interior, bool *beyond) {
  int64_t first[PLAN_MAX_DIGITS], least, most;
  plan_tile_position(kernel, plan_tile_bits_of(value, plan_value_at(value, 0, 0, 0, iteration)), grid, upper, first);
  *interior = true;
  *beyond = false;
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    int64_t limit = plan_bound_limit(kernel, bound, args);
    reach_of(kernel, bound, value, first, &least, &most);
    *interior &= most < limit;
    *beyond |= bound->tensors >> PLAN_DESTINATION & 1 && least >= limit;
  }
}

static llrt_status open_step(draft *d, plan_step step, draft_region *opened) {
  opened->step[opened->n++] = d->kernel->n_steps;
  return draft_step(d->kernel, step);
}

static llrt_status open_loop(draft *d, int iterations, draft_region *opened) {
  if (iterations == 0) return LLRT_OK;
  return open_step(d, (plan_step){.kind = PLAN_LOOP, .iterations = (uint8_t)iterations}, opened);
}

/* The `n` lowest iterations become the highest registers. */
static void unroll_iterations(plan_value *value, int n) {
  llrt_layout *layout = &value->layout;
  uint64_t moved[LLRT_MAX_BITS];
  int left = layout->in[PLAN_REGISTER].bits, after = layout->in[PLAN_LANE].bits + layout->in[PLAN_WARP].bits;
  memcpy(moved, &layout->column[left + after], (size_t)n * sizeof *moved);
  memmove(&layout->column[left + n], &layout->column[left], (size_t)after * sizeof *layout->column);
  memcpy(&layout->column[left], moved, (size_t)n * sizeof *moved);
  layout->in[PLAN_REGISTER].bits = (uint8_t)(left + n);
  layout->in[PLAN_ITERATION].bits = (uint8_t)(layout->in[PLAN_ITERATION].bits - n);
}

llrt_status draft_open_region(draft *d, const draft_values *values, draft_region *opened) {
  const draft_stretch *stretch = &d->stretch;
  *opened = (draft_region){.n = 0};
  LLRT_TRY(open_loop(d, d->region_bits - stretch->iterations, opened));
  if (stretch->elements == 0) return LLRT_OK;
  plan_value tiles = values->load;
  int number = 0;
  unroll_iterations(&tiles, stretch->iterations);
  LLRT_TRY(draft_value(d->kernel, &tiles, &number));
  LLRT_TRY(open_step(d, (plan_step){.kind = PLAN_COLLECT, .tensor = PLAN_DESTINATION, .in = (uint8_t)number,
                                    .elements = stretch->elements, .rows = stretch->rows, .pitch = stretch->pitch,
                                    .reach = stretch->reach, .vector = (uint8_t)stretch->align}, opened));
  return open_loop(d, stretch->iterations, opened);
}

void draft_close_region(draft *d, const draft_region *opened) {
  for (int i = 0; i < opened->n; i++)
    d->kernel->step[opened->step[i]].body = (uint8_t)(d->kernel->n_steps - opened->step[i] - 1);
}

void plan_iterate_registers(plan_value *value, int n) {
  llrt_layout *layout = &value->layout;
  uint64_t moved[LLRT_MAX_BITS];
  int left = layout->in[PLAN_REGISTER].bits - n, after = layout->in[PLAN_LANE].bits + layout->in[PLAN_WARP].bits;
  memcpy(moved, &layout->column[left], (size_t)n * sizeof *moved);
  memmove(&layout->column[left], &layout->column[left + n], (size_t)after * sizeof *moved);
  memcpy(&layout->column[left + after], moved, (size_t)n * sizeof *moved);
  layout->in[PLAN_REGISTER].bits = (uint8_t)left;
  layout->in[PLAN_ITERATION].bits = (uint8_t)(layout->in[PLAN_ITERATION].bits + n);
}

void plan_drop_iterations(plan_value *value, int n) {
  llrt_layout *layout = &value->layout;
  int at = llrt_layout_in_bits(layout) - layout->in[PLAN_ITERATION].bits, left = layout->in[PLAN_ITERATION].bits - n;
  memmove(&layout->column[at], &layout->column[at + n], (size_t)left * sizeof *layout->column);
  memset(&layout->column[at + left], 0, (size_t)n * sizeof *layout->column);
  layout->in[PLAN_ITERATION].bits = (uint8_t)left;
}

llrt_status draft_prefetch(draft *d, const draft_values *values, int inner) {
  plan_kernel *kernel = d->kernel;
  plan_value ahead = values->ahead;
  int number = 0, line = bits_log2(kernel->target.sector_bytes) - draft_log2_bytes(d, 0);
  if (d->region_bits == 0) return LLRT_OK;
  plan_iterate_registers(&ahead, inner);
  LLRT_TRY(draft_value(kernel, &ahead, &number));
  return draft_step(kernel, (plan_step){.kind = PLAN_PREFETCH, .tensor = 0, .in = (uint8_t)number,
                                        .vector = (uint8_t)line});
}
