/* The flat kernel (in place: on panels, see in_place.c): thread n takes element n of the destination's order and finds its coordinates by
 * division. Right for every shape, and the better choice where a tile would be mostly outside. */
#include "jit/plan/draft.h"

#include "base/bits.h"
#include "base/status.h"

#include <stdio.h>

#define FLAT_HOST_BITS 10    /* log2 elements of a block on the host */
#define FLAT_REGISTER_BITS 2 /* GPU: log2 independent elements that a thread has in flight */

/* The digits' out-dims without a tile: column[t] is indexed by them. */
static llrt_status fill_digits(draft *d) {
  plan_kernel *kernel = d->kernel;
  char name[LLRT_NAME_BYTES];
  kernel->space = llrt_layout_empty();
  for (int i = 0; i < kernel->n_digits; i++) {
    plan_digit *digit = &kernel->digit[i];
    digit->bits = (uint8_t)d->bits[i];
    if (digit->rest) LLRT_TRY(draft_digit_count(d, i, digit->step, &digit->upper));
    snprintf(name, sizeof name, "d%d", i);
    LLRT_TRY(llrt_layout_add_out(&kernel->space, name, digit->bits));
    for (int t = 0; t < d->desc->n_tensors; t++)
      for (int b = 0; b < digit->bits; b++)
        kernel->column[t][d->first[i] + b] = d->column[t][d->first[i] + b];
  }
  LLRT_TRY(llrt_layout_add_in(&kernel->space, "tile", 0));
  return llrt_layout_add_in(&kernel->space, "grid", 0);
}

/* The lowest address bit that a digit moves on the destination; STRIDE digits after all columns. */
static int memory_order(const draft *d, int i) {
  const plan_digit *digit = &d->kernel->digit[i];
  if (digit->side[1].kind == PLAN_STRIDE) return 64 + d->side[i][1].order;
  uint64_t first = digit->bits ? d->column[1][d->first[i]] : (uint64_t)digit->side[1].stride.value;
  return first ? bits_lowest(first) : 63;
}

/* Splits the flat index in the destination's order, fastest first. */
static llrt_status fill_places(draft *d) {
  plan_kernel *kernel = d->kernel;
  for (int order = 0; order < 64 + LLRT_MAX_DIGITS; order++) {
    for (int i = 0; i < kernel->n_digits; i++) {
      if (memory_order(d, i) == order)
        LLRT_TRY(draft_digit_place(d, i, kernel->digit[i].step));
    }
  }
  return LLRT_OK;
}

static llrt_status add_dim(llrt_layout *layout, const char *name, int bits, int *next, bool copies) {
  int first = llrt_layout_in_bits(layout);
  LLRT_TRY(llrt_layout_add_in(layout, name, bits));
  for (int i = 0; i < bits && !copies; i++) layout->column[first + i] = 1ull << (*next)++;
  return LLRT_OK;
}

/* GPU: lanes, then warps, then registers; host: one scalar element an iteration. */
static llrt_status flat_value(const draft *d, int tile_bits, plan_value *value, int *iterations) {
  const plan_kernel *kernel = d->kernel;
  llrt_layout lanes = llrt_layout_empty();
  bool host = kernel->target.lanes_first;
  int next = 0, registers = host ? 0 : FLAT_REGISTER_BITS;
  *value = (plan_value){.bits = kernel->tensor_bits[0]};
  LLRT_TRY(llrt_layout_add_out(&lanes, "tile", tile_bits));
  LLRT_TRY(add_dim(&lanes, "lane", kernel->lane_bits, &next, host));
  LLRT_TRY(add_dim(&lanes, "warp", kernel->warp_bits, &next, false));
  LLRT_TRY(add_dim(&lanes, "register", registers, &next, false));
  *iterations = tile_bits - next;
  LLRT_TRY(add_dim(&lanes, "iteration", *iterations, &next, false));
  static const char *const order[] = {"register", "lane", "warp", "iteration"};
  return llrt_layout_transpose_ins(&lanes, order, 4, &value->layout);
}

llrt_status draft_flat(draft *d) {
  plan_kernel *kernel = d->kernel;
  plan_value value;
  plan_number elements;
  int iterations = 0, number = 0;
  kernel->warp_bits = kernel->target.warp_bits;
  int tile_bits = kernel->target.lanes_first
                      ? FLAT_HOST_BITS
                      : FLAT_REGISTER_BITS + kernel->lane_bits + kernel->warp_bits;
  if (d->desc->in_place) {
    LLRT_TRY(draft_panel(d));
    tile_bits = bits_max(tile_bits, bits_highest((uint64_t)(2 * kernel->panel.positions - 1)));
  }
  LLRT_TRY(fill_digits(d));
  LLRT_TRY(draft_bounds(d));
  LLRT_TRY(fill_places(d));
  LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_POSITIONS, .factor = 1}, &elements));
  kernel->flat_elements = elements;
  kernel->launch.block_elements =
      d->desc->in_place ? (int32_t)kernel->panel.positions : 1 << tile_bits;
  LLRT_TRY(flat_value(d, tile_bits, &value, &iterations));
  LLRT_TRY(draft_value(kernel, &value, &number));
  int present = -1; /* no index is uniform here */
  draft_uniform_indices(d);
  LLRT_TRY(draft_open_indices(d, number, iterations, &present));
  if (d->desc->in_place) {
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_STAGE}));
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  }
  if (iterations > 0)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOOP, .iterations = (uint8_t)iterations,
                                            .body = (uint8_t)(2 + kernel->n_maps)}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOAD, .tensor = 0, .masked = true,
                                          .staged = d->desc->in_place}));
  LLRT_TRY(draft_map_steps(d, 0, kernel->n_maps, true, &number));
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE, .tensor = 1, .in = (uint8_t)number,
                                        .masked = true});
}
