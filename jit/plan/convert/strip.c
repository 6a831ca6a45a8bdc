/* Strips: what a block of the host's takes tile by tile, in a loop. What an iteration reaches, and
 * what is asked for ahead of it. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/tile_steps.h"
#include "jit/plan/facts/value.h"

#include <string.h>

static llrt_status open_step(draft *d, plan_step step, draft_strip *opened) {
  opened->step[opened->n++] = d->kernel->n_steps;
  return draft_step(d->kernel, step);
}

static llrt_status open_loop(draft *d, int iterations, draft_strip *opened) {
  if (iterations == 0) return LLRT_OK;
  return open_step(d, (plan_step){.kind = PLAN_LOOP, .iterations = (uint8_t)iterations}, opened);
}

/* The `n` lowest iterations become the highest registers. */
static void unroll_iterations(plan_value *value, int n) {
  llrt_layout *layout = &value->layout;
  uint64_t moved[LLRT_MAX_BITS];
  int left = layout->in[PLAN_REGISTER].bits,
      after = layout->in[PLAN_LANE].bits + layout->in[PLAN_WARP].bits;
  memcpy(moved, &layout->column[left + after], (size_t)n * sizeof *moved);
  memmove(&layout->column[left + n], &layout->column[left], (size_t)after * sizeof *layout->column);
  memcpy(&layout->column[left], moved, (size_t)n * sizeof *moved);
  layout->in[PLAN_REGISTER].bits = (uint8_t)(left + n);
  layout->in[PLAN_ITERATION].bits = (uint8_t)(layout->in[PLAN_ITERATION].bits - n);
}

llrt_status draft_open_strip(draft *d, const draft_values *values, draft_strip *opened) {
  const draft_collection *collection = &d->collection;
  *opened = (draft_strip){.n = 0};
  LLRT_TRY(open_loop(d, d->strip_bits - collection->iterations, opened));
  if (collection->elements == 0) return LLRT_OK;
  plan_value tiles = values->load;
  int number = 0;
  unroll_iterations(&tiles, collection->iterations);
  LLRT_TRY(draft_value(d->kernel, &tiles, &number));
  LLRT_TRY(open_step(d,
                     (plan_step){.kind = PLAN_COLLECT,
                                 .tensor = PLAN_DESTINATION,
                                 .in = (uint8_t)number,
                                 .elements = collection->elements,
                                 .rows = collection->rows,
                                 .pitch = collection->pitch,
                                 .reach = collection->reach,
                                 .vector = (uint8_t)collection->align},
                     opened));
  return open_loop(d, collection->iterations, opened);
}

void draft_close_strip(draft *d, const draft_strip *opened) {
  for (int i = 0; i < opened->n; i++) draft_close(d->kernel, opened->step[i]);
}

llrt_status draft_prefetch(draft *d, const draft_values *values, int inner) {
  plan_kernel *kernel = d->kernel;
  plan_value ahead = values->ahead;
  int number = 0, line = bits_log2(kernel->target.sector_bytes) - draft_log2_bytes(d, 0);
  if (d->strip_bits == 0) return LLRT_OK;
  plan_iterate_registers(&ahead, inner);
  LLRT_TRY(draft_value(kernel, &ahead, &number));
  return draft_step(kernel, (plan_step){.kind = PLAN_PREFETCH,
                                        .tensor = 0,
                                        .in = (uint8_t)number,
                                        .vector = (uint8_t)line});
}
