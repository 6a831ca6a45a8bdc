/* Where digits overhang the tensors, and so where accesses need masks. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

llrt_status draft_bound(draft *d, plan_bound bound) {
  plan_kernel *kernel = d->kernel;
  for (int i = 0; i < kernel->n_bounds; i++) {
    plan_bound *at = &kernel->bound[i];
    if (at->axis != bound.axis || at->top != bound.top || at->round != bound.round ||
        at->limit.arg != bound.limit.arg || at->limit.value != bound.limit.value)
      continue;
    at->tensors |= bound.tensors;
    return LLRT_OK;
  }
  if (kernel->n_bounds == PLAN_MAX_BOUNDS)
    return llrt_error(LLRT_UNSUPPORTED, "the kernel would need more than %d bounds",
                      PLAN_MAX_BOUNDS);
  kernel->bound[kernel->n_bounds++] = bound;
  return LLRT_OK;
}

/* Positions of the axis that one upper position of its outermost digit covers. */
static int64_t top_group(const draft *d, int top) {
  return d->kernel->digit[top].step << d->kernel->digit[top].bits;
}

/* Whether what is walked along the axis is exactly what tensor t has: its shape, or what is stored
 * of it. */
static bool is_exact(const draft *d, int axis, int top, int t) {
  const draft_extent *walked = &d->written[axis], extent = draft_stored(d, t, axis);
  int64_t group = top_group(d, top);
  bool stores = draft_stores_pads(d, t, axis);
  if (draft_on_device(d, axis)) return false;
  if (walked->known >= 0)
    return extent.known == walked->known && walked->known % group == 0 &&
           (d->kernel->digit[top].rest || walked->known == group);
  if (d->pads[axis] && !(stores && extent.multiple == walked->multiple))
    return false; /* pads are walked, too, even where one position covers no more than one */
  return extent.multiple % group == 0 && d->count[top] < 0;
}

static bool is_step(const draft *d, int axis, int64_t step) {
  bool found = false;
  for (int i = 0; i < d->kernel->n_digits; i++)
    found |= d->kernel->digit[i].axis == axis && d->kernel->digit[i].step == step;
  return found;
}

/* Of the positions of an axis that the tensor's tile and fixed digits hold, those that the kernel's
 * digits address: where no shape reaches the next digit of the tensor there may be no digit of the
 * axis that begins with it (refine.c), but one that goes on, past it for another tensor's tile. */
static llrt_status addressed_unit(const draft *d, int top, int tensor, int64_t *unit) {
  int axis = d->kernel->digit[top].axis;
  draft_segments segments;
  *unit = draft_unit(d, tensor, axis) * draft_group(d, tensor, axis);
  LLRT_TRY(draft_list_segments(d, tensor, axis, &segments));
  for (int i = 0; i < segments.n; i++) {
    int64_t start = segments.at[i].start;
    if (start < *unit && !is_step(d, axis, start)) *unit = start;
  }
  return LLRT_OK;
}

/* Pads of a dot's operands that hold zeros are read like elements: what bounds them are whole
 * units, of which the axis's outermost digit may have one each; else the axis ends behind the last
 * one. */
static llrt_status bound_pads(draft *d, int top, int tensor, bool *bounded) {
  const llrt_storage *storage = draft_storage(d, tensor);
  int axis = d->kernel->digit[top].axis;
  int64_t unit;
  LLRT_TRY(addressed_unit(d, top, tensor, &unit));
  bool counts = d->kernel->digit[top].step == unit && d->kernel->digit[top].rest;
  *bounded = d->roles.zeros_count && tensor != PLAN_DESTINATION && storage->pad == LLRT_PAD_VALUE &&
             storage->pad_value == 0 && (counts || unit > 1);
  if (!*bounded) return LLRT_OK;
  plan_bound bound = {.axis = (int8_t)(counts ? -1 : axis),
                      .top = (int8_t)top,
                      .tensors = (uint16_t)(1u << tensor),
                      .round = counts ? 0 : unit};
  LLRT_TRY(
      draft_number(d, counts ? PLAN_ARG_CEIL : PLAN_ARG_ROUND_UP, axis, 0, unit, &bound.limit));
  LLRT_TRY(draft_number(d, PLAN_ARG_FLOOR, axis, 0, top_group(d, top), &bound.full));
  return draft_bound(d, bound);
}

/* Tensor t needs coordinate < shape (or, where its pads are stored, their end). */
static llrt_status bound_axis(draft *d, int top, int tensor) {
  int axis = d->kernel->digit[top].axis;
  if (draft_is_dropped(d, tensor, axis)) return LLRT_OK;
  if (is_exact(d, axis, top, tensor)) return LLRT_OK;
  bool bounded;
  LLRT_TRY(bound_pads(d, top, tensor, &bounded));
  if (bounded) return LLRT_OK;
  plan_bound bound = {
      .axis = (int8_t)axis, .top = (int8_t)top, .tensors = (uint16_t)(1u << tensor)};
  LLRT_TRY(draft_number(d, PLAN_ARG_CEIL, axis, tensor, 1, &bound.limit));
  LLRT_TRY(draft_number(d, PLAN_ARG_FLOOR, axis, tensor, top_group(d, top), &bound.full));
  bound.device = draft_on_device(d, axis);
  bound.covered = top_group(d, top);
  bound.round = draft_stores_pads(d, tensor, axis) ? draft_unit(d, tensor, axis) : 1;
  return draft_bound(d, bound);
}

/* A digit of its own: where the bits that the tile takes do not divide its positions. It is no
 * bound of a dot's result that lacks the axis: steps for what lies beyond one of those are left
 * out, and what a turn along K lacks is to be zero. */
static llrt_status bound_digit(draft *d, int i) {
  const plan_digit *digit = &d->kernel->digit[i];
  if (!digit->rest || digit->bits == 0 || d->count[i] % ((int64_t)1 << digit->bits) == 0)
    return LLRT_OK;
  plan_bound bound = {
      .axis = -1, .top = (int8_t)i, .tensors = (uint16_t)bits_mask(d->desc->n_tensors)};
  for (int t = 0; t < d->desc->n_tensors && d->tile_positions[digit->axis] > 0; t++)
    if (draft_is_dropped(d, t, digit->axis)) bound.tensors &= (uint16_t)~(1u << t);
  if (d->roles.zeros_count && draft_is_dropped(d, PLAN_DESTINATION, digit->axis))
    bound.tensors &= (uint16_t)~(1u << PLAN_DESTINATION);
  bound.limit = (plan_number){.arg = -1, .value = d->count[i]};
  bound.full = (plan_number){.arg = -1, .value = d->count[i] >> digit->bits};
  return draft_bound(d, bound);
}

llrt_status draft_bounds(draft *d) {
  plan_kernel *kernel = d->kernel;
  const llrt_storage *destination = draft_storage(d, PLAN_DESTINATION);
  if (kernel->split_128 && destination->pad == LLRT_PAD_VALUE && destination->pad_value != 0)
    return llrt_error(LLRT_UNSUPPORTED, "pads of 128-bit elements can only be 0");
  if (destination->pad == LLRT_PAD_VALUE && !d->roles.keeps_pads)
    LLRT_TRY(draft_unmap(kernel, destination->pad_value, &kernel->fill));
  for (int i = 0; i < kernel->n_digits; i++) {
    if (kernel->digit[i].axis < 0) continue;
    bool of_axis = d->top[i] && !d->mixed[kernel->digit[i].axis];
    if (!of_axis) LLRT_TRY(bound_digit(d, i));
    for (int t = 0; of_axis && t < d->desc->n_tensors; t++) LLRT_TRY(bound_axis(d, i, t));
  }
  return LLRT_OK;
}

/* ---- vectors ---- */

/* The positions of its axis (or digit) that the bits of `moved`, a vector of space bits, reach: all
 * inside an aligned group of so many. */
static int64_t moved_group(const plan_kernel *kernel, const plan_bound *bound, uint64_t moved) {
  int64_t group = 1;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    uint64_t bits = moved >> llrt_layout_out_shift(&kernel->space, i) & bits_mask(digit->bits);
    bool counts = bound->axis < 0 ? i == bound->top : digit->axis == bound->axis;
    if (!counts || bits == 0) continue;
    int64_t reach = (bound->axis < 0 ? 1 : digit->step) << (bits_highest(bits) + 1);
    if (reach > group) group = reach;
  }
  return group;
}

static int64_t limit_multiple(const draft *d, const plan_bound *bound, int tensor) {
  if (bound->device) return bound->round;
  if (bound->limit.arg < 0) return bound->limit.value;
  if (bound->axis < 0) return 1;
  if (draft_stores_pads(d, tensor, bound->axis))
    return draft_stored(d, tensor, bound->axis).multiple;
  return bound->round > 1 ? bound->round : d->shape[bound->axis].multiple;
}

const plan_bound *draft_splits(const draft *d, uint64_t moved, int tensor) {
  for (int i = 0; i < d->kernel->n_bounds; i++) {
    const plan_bound *bound = &d->kernel->bound[i];
    if (!(bound->tensors >> tensor & 1)) continue;
    if (limit_multiple(d, bound, tensor) % moved_group(d->kernel, bound, moved) != 0) return bound;
  }
  return NULL;
}

bool draft_parts_bytes(const draft *d, uint64_t pair) {
  if (d->kernel->tensor_bits[PLAN_DESTINATION] >= 8) return false;
  return (pair & d->skips) != 0 || draft_splits(d, draft_repack(d, pair), PLAN_DESTINATION) != NULL;
}

bool draft_known_parts(const draft *d, const plan_value *value, int tensor, int vector) {
  const plan_kernel *kernel = d->kernel;
  plan_address_map map;
  int positions[LLRT_MAX_BITS];
  uint64_t moved = 0;
  plan_address_of_tensor(kernel, tensor, &map);
  if (!plan_access_positions(value, &map, PLAN_REGISTER, vector, positions)) return false;
  for (int v = 0; v < vector; v++)
    moved |= f2_apply(kernel->space.column, plan_value_columns(value, PLAN_REGISTER)[positions[v]]);
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!(bound->tensors >> tensor & 1) || bound->device || bound->limit.arg >= 0) continue;
    if (bound->limit.value % moved_group(kernel, bound, moved) != 0) return true;
  }
  return false;
}

int draft_whole_vector(const draft *d, const plan_value *value, int tensor, int vector) {
  const plan_kernel *kernel = d->kernel;
  plan_address_map map;
  int positions[LLRT_MAX_BITS];
  uint64_t moved = 0;
  plan_dim dim = kernel->target.simd_lanes ? PLAN_LANE : PLAN_REGISTER;
  if (kernel->n_bounds == 0) return vector;
  plan_address_of_tensor(kernel, tensor, &map);
  if (!plan_access_positions(value, &map, dim, vector, positions)) return 0;
  for (int v = 0; v < vector; v++) {
    uint64_t tile = plan_value_columns(value, dim)[positions[v]];
    moved |= f2_apply(kernel->space.column, tile);
    if (draft_splits(d, moved, tensor)) return v;
  }
  return vector;
}

/* ---- words ---- */

llrt_status draft_check_words(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  int word = d->word_elements;
  if (d->run[1] < word || d->align[1] < word)
    return llrt_error(
        LLRT_UNSUPPORTED,
        "a map of 32-bit words: the destination's elements do not lie in whole words");
  uint64_t moved = 0;
  for (int j = 0; j < word; j++) moved |= draft_repack(d, d->order[1][j]);
  const plan_bound *bound = draft_splits(d, moved, PLAN_DESTINATION);
  if (bound)
    return llrt_error(LLRT_UNSUPPORTED,
                      "a map of 32-bit words: axis %d ends inside a word of the destination",
                      kernel->digit[bound->top].axis);
  return LLRT_OK;
}
