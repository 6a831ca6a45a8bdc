/* The kernel of a convert that takes one element after the other, or vectors of them, in the
 * destination's order; also in place. */
#include "jit/plan/convert/convert.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/tile_steps.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/index_eval.h"

/* Words that a map acts on are whole. */
static llrt_status check_flat_words(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  int word = d->word_elements;
  bool whole = word == 0 || (d->by_memory && d->address_align[1] >= word &&
                             kernel->origin[1] % (1 << word) == 0);
  int divides = 0; /* log2 of what surely divides the number of positions */
  for (int i = 0; i < kernel->n_digits; i++)
    divides += d->count[i] > 0 ? bits_alignment(d->count[i]) : 0;
  for (int i = 0; i < kernel->n_bounds && word > 0; i++)
    whole &= !(kernel->bound[i].tensors >> PLAN_DESTINATION & 1);
  if (whole && divides >= word) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "a map of 32-bit words: the destination's elements do not lie in whole words");
}

/* 4 bits: whether the two elements of a byte may not both be stored. */
static bool parts_pair(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  bool even = false, bounded = false;
  if (kernel->tensor_bits[1] >= 8 || kernel->stored_half || draft_flat_pair(d) != 1) return false;
  for (int i = 0; i < kernel->n_digits && !d->by_memory; i++)
    if (kernel->digit[i].axis == d->pair_axis && kernel->digit[i].step == d->pair_step)
      return draft_parts_bytes(d, 1ull << d->first[i]);
  for (int i = 0; i < kernel->n_places; i++)
    even |= kernel->place[i].count.arg < 0 && kernel->place[i].count.value % 2 == 0;
  for (int i = 0; i < kernel->n_bounds; i++)
    bounded |= kernel->bound[i].tensors >> PLAN_DESTINATION & 1;
  for (int i = 0; i < kernel->n_indices; i++) bounded |= plan_leaves_out(&kernel->index[i]);
  return bounded || !even;
}

/* 4 bits: the destination's bytes are two neighbours along pair_axis, and nothing else moves offset
 * bit 0. */
static llrt_status check_pair(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  bool found = false, alone = kernel->origin[1] % 2 == 0;
  if (kernel->tensor_bits[1] >= 8 || kernel->stored_half || d->by_memory) return LLRT_OK;
  for (int i = 0; i < kernel->n_indices && !d->desc->in_place; i++)
    alone &= kernel->index[i].tensor != PLAN_DESTINATION;
  if (kernel->swizzle[1].swizzle_len > 0) alone &= kernel->swizzle[1].per_element > 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    bool pair = digit->axis == d->pair_axis && digit->axis >= 0 && digit->step == d->pair_step;
    found |= pair && d->bits[i] == 1 && !digit->rest && d->column[1][d->first[i]] == 1;
    if (digit->side[1].kind == PLAN_STRIDE) alone &= d->side[i][1].align > 0;
    else if (digit->rest) alone &= digit->side[1].stride.value % 2 == 0;
    for (int b = 0; b < d->bits[i] && !pair; b++) alone &= d->column[1][d->first[i] + b] % 2 == 0;
  }
  if (found && alone) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "no digit of the destination counts the 4-bit elements of a byte");
}

/* log2 positions that a block of a panel takes: the panel's; no fewer than its threads have, which
 * on the host is one. */
static int panel_tile(const draft *d) {
  int positions = bits_highest((uint64_t)(2 * d->kernel->panel.positions - 1));
  return bits_max(positions,
                  d->kernel->target.simd_lanes ? draft_flat_pair(d) : draft_flat_tile(d));
}

static llrt_status flat_steps(draft *d) {
  plan_kernel *kernel = d->kernel;
  plan_value value;
  int iterations = 0, number = 0;
  kernel->warp_bits = kernel->target.warp_bits;
  LLRT_TRY(check_pair(d));
  if (d->desc->in_place) LLRT_TRY(draft_panel(d));
  LLRT_TRY(draft_flat_digits(d, PLAN_DESTINATION));
  if (d->by_memory && !draft_is_dense(d))
    return llrt_error(LLRT_UNSUPPORTED,
                      "%sthe destination's elements have gaps between them, or lie in no order",
                      d->word_elements ? "a map of 32-bit words: " : "");
  LLRT_TRY(check_flat_words(d));
  if (d->desc->in_place && d->by_memory) LLRT_TRY(draft_panel_vector(d));
  if (kernel->panel.vector > 0) draft_panel_banks(d);
  draft_flat_vector(d);
  int tile_bits = d->desc->in_place ? panel_tile(d) : draft_flat_tile(d);
  kernel->launch.block_elements =
      d->desc->in_place ? (int32_t)kernel->panel.positions : 1 << tile_bits;
  LLRT_TRY(draft_flat_value(d, tile_bits, &value, &iterations));
  if (d->desc->in_place && kernel->panel.vector > 0) draft_panel_lanes(d, &value);
  LLRT_TRY(draft_value(kernel, &value, &number));
  int present = -1; /* an index is uniform here in place alone */
  draft_uniform_indices(d);
  LLRT_TRY(draft_open_indices(d, number, iterations, &present));
  if (d->desc->in_place) {
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_STAGE}));
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  }
  if (iterations > 0)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOOP,
                                            .iterations = (uint8_t)iterations,
                                            .body = (uint8_t)(2 + kernel->n_maps)}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOAD,
                                          .tensor = 0,
                                          .masked = true,
                                          .vector = (uint8_t)d->flat_vector,
                                          .staged = d->desc->in_place}));
  LLRT_TRY(draft_map_steps(d, 0, kernel->n_maps, true, &number));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_STORE,
                                          .tensor = 1,
                                          .in = (uint8_t)number,
                                          .vector = (uint8_t)draft_flat_pair(d),
                                          .masked = true,
                                          .parted = parts_pair(d)}));
  draft_close_indices(d, present);
  return LLRT_OK;
}

/* How a flat kernel comes by the bytes of 4-bit elements: by an axis that counts a byte's two, or
 * in the order of the destination's memory, with its digits alone or the source's, too; or one half
 * after the other (kernel.stored_half). */
typedef struct flat_way {
  bool by_memory, divides, breaks; /* as in the draft */
  uint8_t half;
} flat_way;

static llrt_status flat_by(const op_description *desc, const plan_target *target, flat_way way,
                           plan_kernel *kernel) {
  draft d;
  draft_begin(&d, desc, target, NULL, kernel);
  kernel->flat = true;
  kernel->stored_half = way.half;
  d.by_memory = way.by_memory;
  d.divides = way.divides;
  d.breaks = way.breaks;
  LLRT_TRY(draft_maps(&d));
  LLRT_TRY(draft_digits(&d));
  LLRT_TRY(flat_steps(&d));
  draft_finish(kernel);
  return LLRT_OK;
}

bool plan_maps_words(const op_description *desc) {
  for (int i = 0; i < desc->n_maps; i++)
    if (desc->maps[i].kind == LLRT_MAP_WORD_BITS)
      return llrt_dtype_bits(desc->tensors[PLAN_DESTINATION].dtype) < 32;
  return false;
}

/* Digits that are bits of a tile may have no one stride on both sides, so that a panel is found
 * where they are cut alone. */
static llrt_status flat_in_place(const op_description *desc, const plan_target *target,
                                 plan_kernel *kernel) {
  for (int by_memory = target->isa == PLAN_ISA_NVPTX; by_memory >= 0; by_memory--)
    for (int breaks = 0; breaks < 2; breaks++) {
      flat_way way = {.by_memory = by_memory, .breaks = breaks};
      llrt_status status = flat_by(desc, target, way, kernel);
      if (status != LLRT_UNSUPPORTED) return status;
    }
  return flat_by(desc, target, (flat_way){.half = 0}, kernel); /* for its reason */
}

/* Where a byte or a word holds several elements, which one thread has to store together, and the
 * axes do not give each thread whole ones, the order of the destination's memory may. */
llrt_status plan_flat(const op_description *desc, const plan_target *target, plan_kernel *kernel) {
  if (desc->in_place) return flat_in_place(desc, target, kernel);
  llrt_status status = flat_by(desc, target, (flat_way){.half = 0}, kernel);
  bool stores_several =
      llrt_dtype_bits(desc->tensors[PLAN_DESTINATION].dtype) < 8 || plan_maps_words(desc);
  if (!stores_several) return status;
  for (int divides = 0; divides < 2 && status == LLRT_UNSUPPORTED; divides++)
    status = flat_by(desc, target, (flat_way){.by_memory = true, .divides = divides}, kernel);
  return status;
}

llrt_status plan_half(const op_description *desc, const plan_target *target, int half,
                      plan_kernel *kernel) {
  LLRT_TRY(flat_by(desc, target, (flat_way){.half = (uint8_t)half}, kernel));
  kernel->launch.stage = half - 1;
  kernel->launch.later = 2 - half;
  return LLRT_OK;
}
