/* What every digit contributes to every tensor's address (plan.h). Needs: a validated
 * description. Keeps: for every logical coordinate, origin, contributions and swizzle on tensor t
 * give llrt_storage_offset on t. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/types/tensor_role.h"
#include "layout/f2.h"
#include "layout/storage_rule.h"

#include <stdio.h>
#include <string.h>

/* Address bits that earlier COLUMNS of a tensor may set: a sum is an XOR only where supports are
 * disjoint. */
typedef struct supports {
  uint64_t used[LLRT_MAX_TENSORS];
} supports;

/* ---- one digit on one tensor ---- */

/* The same in what offsets count: halves of 128-bit elements. */
static llrt_status half_columns(const draft *d, const llrt_storage *storage, int axis, int from,
                                int n, uint64_t *columns) {
  LLRT_TRY(draft_tile_columns(storage, axis, from, n, columns));
  for (int i = 0; i < n; i++) columns[i] <<= d->kernel->split_128;
  return LLRT_OK;
}

/* Digit i steps through storage digit s in steps of `factor` of its positions. */
static llrt_status stride_side(draft *d, int i, int tensor, int s, int64_t factor,
                               supports *support) {
  plan_digit_side *out = &d->kernel->digit[i].side[tensor];
  int bits = d->bits[i];
  int align = draft_stride_alignment(d, tensor, s) + bits_alignment(factor) + d->kernel->split_128;
  align = bits_min(align, 62);
  d->side[i][tensor] = (draft_side){.order = s, .align = align};
  out->kind = PLAN_STRIDE;
  LLRT_TRY(draft_stride(d, tensor, s, factor, &out->stride));
  if (out->stride.arg >= 0) return LLRT_OK;
  int64_t stride = out->stride.value;
  uint64_t reach = stride == 0 ? 0 : bits_mask(bits) << align;
  if (stride != 0 && (!bits_is_power_of_two(stride) || align + bits > 62)) return LLRT_OK;
  if (reach & support->used[tensor]) return LLRT_OK;
  out->kind = PLAN_COLUMNS;
  support->used[tensor] |= reach;
  for (int b = 0; b < bits; b++)
    d->column[tensor][d->first[i] + b] = stride == 0 ? 0 : (uint64_t)stride << b;
  return LLRT_OK;
}

/* A digit that the tensor knows through an index only. */
static void indexed_side(draft *d, int i, int tensor) {
  const llrt_storage *storage = draft_storage(d, tensor);
  int order = -1;
  for (int s = 0; s < storage->n_digits; s++)
    if (storage->digit[s].axis == d->kernel->digit[i].axis) order = s;
  d->kernel->digit[i].side[tensor] = (plan_digit_side){.kind = PLAN_INDEXED, .stride = {.arg = -1}};
  d->side[i][tensor] = (draft_side){.order = order, .align = 62};
}

static llrt_status axis_side(draft *d, int i, int tensor, supports *support) {
  const llrt_storage *storage = draft_storage(d, tensor);
  const plan_digit *digit = &d->kernel->digit[i];
  draft_segments segments;
  bool folded;
  if (draft_is_indexed(d, tensor, digit->axis, &folded)) {
    indexed_side(d, i, tensor);
    return LLRT_OK;
  }
  LLRT_TRY(draft_list_segments(d, tensor, digit->axis, &segments));
  const draft_segment *segment = draft_segment_at(&segments, digit->step);
  if (segment->digit >= 0)
    return stride_side(d, i, tensor, segment->digit, digit->step / segment->start, support);
  d->side[i][tensor] = (draft_side){.order = -1};
  d->kernel->digit[i].side[tensor].stride.arg = -1;
  if (segment->digit == -2) return LLRT_OK;
  int from = bits_log2(digit->step / segment->start);
  return half_columns(d, storage, digit->axis, from, d->bits[i], &d->column[tensor][d->first[i]]);
}

/* Elements from one position of digit i to the next in tensor memory: 0 inside a tile and where it
 * has none, INT64_MAX where only a run knows. */
static llrt_status memory_step(const draft *d, int i, int tensor, int64_t *step) {
  const plan_digit *digit = &d->kernel->digit[i];
  draft_segments segments;
  bool folded;
  *step = 0;
  if (draft_is_indexed(d, tensor, digit->axis, &folded)) return LLRT_OK;
  LLRT_TRY(draft_list_segments(d, tensor, digit->axis, &segments));
  const draft_segment *segment = draft_segment_at(&segments, digit->step);
  if (segment->digit < 0) return LLRT_OK;
  int64_t stride = draft_known_stride(d, tensor, segment->digit);
  if (stride < 0 || __builtin_mul_overflow(stride, digit->step / segment->start, step))
    *step = INT64_MAX;
  return LLRT_OK;
}

/* Digits in the order of the tensor's memory: some overhang their extents, and where the reach of
 * two meets it is the inner one that is to be columns. */
static llrt_status axis_sides(draft *d, int tensor, supports *support) {
  int64_t step[PLAN_MAX_DIGITS], next;
  int order[PLAN_MAX_DIGITS], n = 0;
  for (int i = 0; i < d->kernel->n_digits; i++) {
    if (d->kernel->digit[i].axis < 0) continue;
    LLRT_TRY(memory_step(d, i, tensor, &next));
    int at = n++;
    for (; at > 0 && step[at - 1] > next; at--) {
      step[at] = step[at - 1];
      order[at] = order[at - 1];
    }
    step[at] = next;
    order[at] = i;
  }
  for (int i = 0; i < n; i++) LLRT_TRY(axis_side(d, order[i], tensor, support));
  return LLRT_OK;
}

/* ---- copies ---- */

static void no_sides(draft *d, int i) {
  for (int t = 0; t < d->desc->n_tensors; t++) {
    d->side[i][t] = (draft_side){.order = -1};
    d->kernel->digit[i].side[t].stride.arg = -1;
  }
}

/* Differences between copies in a tile: offset bits that are free variables. */
static llrt_status tile_copies(const llrt_storage *storage, int halves, uint64_t *copies, int *n) {
  const llrt_layout *tile = &storage->tile;
  uint64_t masks[LLRT_MAX_IN_DIMS] = {0};
  llrt_layout inverse;
  *n = 0;
  LLRT_TRY(llrt_layout_free_variable_masks(tile, masks));
  LLRT_TRY(llrt_layout_right_inverse(tile, &inverse));
  for (int i = 0, bit = 0; i < tile->n_in; i++)
    for (int b = 0; b < tile->in[i].bits; b++, bit++)
      if (masks[i] >> b & 1)
        copies[(*n)++] = (1ull << bit ^ llrt_layout_apply_flat(&inverse, tile->column[bit]))
                         << halves;
  return LLRT_OK;
}

/* The digits that number the destination's copies, without an axis; a source is read at its first.
 */
typedef struct copy_digits {
  int half_digit; /* of an element of 128 bits, on every tensor; -1: none */
  int in_tile;    /* -1: none */
  int n_bits;
  uint64_t column[LLRT_MAX_BITS];
  int of_replica[LLRT_MAX_DIGITS]; /* by storage digit; -1: none */
} copy_digits;

static llrt_status new_copies(draft *d, copy_digits *copies) {
  const llrt_storage *storage = draft_storage(d, PLAN_DESTINATION);
  copies->in_tile = copies->half_digit = -1;
  if (d->kernel->split_128) LLRT_TRY(draft_new_digit(d, -1, 1, 2, &copies->half_digit));
  LLRT_TRY(tile_copies(storage, d->kernel->split_128, copies->column, &copies->n_bits));
  if (copies->n_bits > 0)
    LLRT_TRY(draft_new_digit(d, -1, 1, (int64_t)1 << copies->n_bits, &copies->in_tile));
  for (int s = 0; s < storage->n_digits; s++) {
    copies->of_replica[s] = -1;
    if (storage->digit[s].axis == LLRT_AXIS_REPLICA && storage->digit[s].extent > 1)
      LLRT_TRY(draft_new_digit(d, -1, 1, storage->digit[s].extent, &copies->of_replica[s]));
  }
  return LLRT_OK;
}

static llrt_status copy_sides(draft *d, const copy_digits *copies, supports *support) {
  if (copies->in_tile >= 0) {
    no_sides(d, copies->in_tile);
    memcpy(&d->column[PLAN_DESTINATION][d->first[copies->in_tile]], copies->column,
           (size_t)copies->n_bits * sizeof *copies->column);
  }
  if (copies->half_digit >= 0) {
    no_sides(d, copies->half_digit);
    for (int t = 0; t < d->desc->n_tensors; t++) d->column[t][d->first[copies->half_digit]] = 1;
  }
  for (int s = 0; s < draft_storage(d, PLAN_DESTINATION)->n_digits; s++) {
    if (copies->of_replica[s] < 0) continue;
    no_sides(d, copies->of_replica[s]);
    LLRT_TRY(stride_side(d, copies->of_replica[s], PLAN_DESTINATION, s, 1, support));
  }
  return LLRT_OK;
}

/* Each split writes a result of its own behind that of the one before. */
static llrt_status split_sides(draft *d) {
  no_sides(d, d->split);
  if (d->roles.scanned) return LLRT_OK; /* blocks see each other's totals alone */
  for (int t = PLAN_DESTINATION; t < d->roles.results; t++) {
    plan_digit_side *side = &d->kernel->digit[d->split].side[t];
    int align = 0;
    for (int a = 0; a < d->desc->tensors[0].rank; a++)
      if (!draft_is_reduced(d, a)) align += bits_alignment(d->shape[a].multiple);
    side->kind = PLAN_STRIDE;
    d->side[d->split][t] = (draft_side){.order = LLRT_MAX_DIGITS, .align = bits_min(align, 62)};
    LLRT_TRY(
        draft_arg(d, (plan_arg){.kind = PLAN_ARG_PARTIAL, .tensor = (uint8_t)t}, &side->stride));
  }
  return LLRT_OK;
}

/* ---- what a division finds ---- */

static llrt_status add_term(draft *d, plan_term term) {
  plan_kernel *kernel = d->kernel;
  if (kernel->n_terms == PLAN_MAX_TERMS)
    return llrt_error(LLRT_UNSUPPORTED, "the source splits into more than %d digits",
                      PLAN_MAX_TERMS);
  kernel->term[kernel->n_terms++] = term;
  return LLRT_OK;
}

static llrt_status tile_terms(draft *d, int tensor, int axis) {
  const llrt_storage *storage = draft_storage(d, tensor);
  int bits = draft_tile_bits(storage, axis);
  for (int from = 0; from < bits; from += PLAN_TERM_BITS) {
    int n = bits_min(bits - from, PLAN_TERM_BITS);
    plan_term term = {.tensor = (int8_t)tensor,
                      .axis = (int8_t)axis,
                      .bits = (uint8_t)n,
                      .step = (int64_t)1 << from,
                      .extent = (int64_t)1 << n,
                      .stride.arg = -1};
    LLRT_TRY(half_columns(d, storage, axis, from, n, term.column));
    LLRT_TRY(add_term(d, term));
  }
  return LLRT_OK;
}

/* The source's address from the axes' coordinates alone. */
static llrt_status divide_source(draft *d) {
  for (int a = 0; a < d->desc->tensors[0].rank; a++) {
    draft_segments segments;
    bool folded;
    if (draft_is_indexed(d, 0, a, &folded)) continue;
    LLRT_TRY(draft_list_segments(d, 0, a, &segments));
    LLRT_TRY(tile_terms(d, 0, a));
    for (int i = 0; i < segments.n; i++) {
      const draft_segment *segment = &segments.at[i];
      if (segment->digit < 0) continue;
      plan_term term = {.axis = (int8_t)a, .step = segment->start};
      if (i + 1 < segments.n) term.extent = segments.at[i + 1].start / segment->start;
      LLRT_TRY(draft_stride(d, 0, segment->digit, 1, &term.stride));
      LLRT_TRY(add_term(d, term));
    }
  }
  return LLRT_OK;
}

/* ---- what shares a byte ---- */

/* The axis bit whose vector of the tile is offset 1, if it is one bit. */
static void tile_pair(draft *d, const llrt_layout *tile) {
  uint64_t moved = tile->column[0];
  for (int a = 0; a < tile->n_out && bits_count(moved) == 1; a++) {
    uint64_t bits = moved >> llrt_layout_out_shift(tile, a) & bits_mask(tile->out[a].bits);
    if (!bits) continue;
    d->pair_axis = a;
    d->pair_step = (int64_t)bits;
  }
}

/* Finds pair_axis and pair_step. */
static llrt_status find_pair(draft *d) {
  const llrt_storage *storage = draft_storage(d, PLAN_DESTINATION);
  d->pair_axis = -1;
  if (!d->kernel->flat || d->kernel->tensor_bits[PLAN_DESTINATION] >= 8) return LLRT_OK;
  if (d->by_memory || d->kernel->stored_half) return LLRT_OK;
  if (llrt_layout_in_bits(&storage->tile) > 0) {
    tile_pair(d, &storage->tile);
    return LLRT_OK;
  }
  for (int a = 0; a < storage->rank && d->pair_axis < 0; a++) {
    draft_segments segments;
    LLRT_TRY(draft_list_segments(d, PLAN_DESTINATION, a, &segments));
    for (int i = 0; i < segments.n; i++) {
      int s = segments.at[i].digit;
      if (s < 0 || storage->digit[s].extent % 2 != 0 ||
          draft_known_stride(d, PLAN_DESTINATION, s) != 1)
        continue;
      d->pair_axis = a;
      d->pair_step = segments.at[i].start;
    }
  }
  return LLRT_OK;
}

/* ---- addresses as a whole ---- */

/* Where the element at coordinate 0 lies: the offset, and of every digit that counts down the last
 * position. False where only a run knows. */
static bool known_origin(const draft *d, int t, int64_t *origin) {
  const llrt_storage *storage = draft_storage(d, t);
  *origin = storage->offset[0];
  for (int s = 0; s < storage->n_digits; s++) {
    if (!storage->digit[s].reversed || draft_is_high_first(d, t, s)) continue;
    int64_t stride = draft_known_stride(d, t, s), extent = draft_digit_extent(d, t, s), reach;
    if (stride < 0 || extent < 0) return false;
    if (extent < 1) extent = 1;
    if (__builtin_mul_overflow(extent - 1, stride, &reach) ||
        __builtin_add_overflow(*origin, reach, origin))
      *origin = 0; /* no shape binds to that */
  }
  return true;
}

/* Whether all of tensor t's address is columns of bits: then a swizzle of them is one too. Values
 * of indices are none, also along axes without digits. */
static bool is_linear(const draft *d, int t, int64_t origin) {
  for (int i = 0; i < d->kernel->n_digits; i++) {
    bool idle = d->splits && i == d->split && t == 0;
    if (!idle && (d->kernel->digit[i].rest || d->kernel->digit[i].side[t].kind != PLAN_COLUMNS))
      return false;
  }
  return !(d->divided && t == 0) && origin == 0 && d->desc->tensors[t].n_indices == 0;
}

/* Argument t is tensor t's address. */
static llrt_status begin_addresses(draft *d) {
  plan_number address;
  for (int t = 0; t < d->desc->n_tensors; t++)
    LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_ADDRESS, .tensor = (uint8_t)t}, &address));
  return LLRT_OK;
}

/* The address begins at an origin that 2^align elements divide: digits that count down of which
 * only one position is left are no digits of the kernel, so nothing else tells of them. */
static void limit_alignment(draft *d, int t, int align) {
  d->address_align[t] = bits_min(d->address_align[t], align + d->kernel->split_128);
}

static llrt_status refuse_origin(const draft *d, int t, const char *where) {
  return llrt_error(LLRT_UNSUPPORTED,
                    "the %s's storage has a digit that counts down along an extent or by a stride "
                    "that is not promised (least = most), %s",
                    op_tensor_called(d->desc->dot.roles, t), where);
}

/* The launch adds the origin to the address: possible without a swizzle, in whole bytes. */
static llrt_status run_time_origin(draft *d, int t) {
  const llrt_storage *storage = draft_storage(d, t);
  int align = bits_alignment(storage->offset[0]);
  int bits = d->kernel->tensor_bits[t] << d->kernel->split_128;
  for (int s = 0; s < storage->n_digits; s++)
    if (storage->digit[s].reversed && !draft_is_high_first(d, t, s))
      align = bits_min(align, draft_stride_alignment(d, t, s));
  if (storage->swizzle.swizzle_len > 0 || (bits < 8 && bits << bits_min(align, 3) < 8))
    return refuse_origin(d, t, "under a swizzle or inside a byte");
  if (draft_has_pointers(d, t)) return refuse_origin(d, t, "behind a pointer list");
  d->kernel->launch.arg[t].index = (uint8_t)bits;
  limit_alignment(d, t, align);
  return LLRT_OK;
}

/* Origin and swizzle: the origin goes into the address argument where there is one, nothing is
 * swizzled after it and it is whole bytes. */
static llrt_status finish_address(draft *d, int t) {
  const llrt_storage *storage = draft_storage(d, t);
  plan_kernel *kernel = d->kernel;
  llrt_swizzle swizzle = storage->swizzle;
  int64_t origin, bits;
  for (int s = 0; s < storage->n_digits; s++) kernel->high_first[t] |= draft_is_high_first(d, t, s);
  bool by_address = !draft_has_pointers(d, t);
  if (!known_origin(d, t, &origin)) return run_time_origin(d, t);
  limit_alignment(d, t, bits_alignment(origin));
  origin *= 1 << kernel->split_128;
  bool linear = swizzle.swizzle_len == 0 || is_linear(d, t, origin);
  swizzle.per_element += kernel->split_128 && swizzle.swizzle_len > 0;
  if (!linear) kernel->swizzle[t] = swizzle;
  if (linear && by_address && !__builtin_mul_overflow(origin, kernel->tensor_bits[t], &bits) &&
      bits % 8 == 0)
    kernel->launch.arg[t].factor = bits / 8;
  else kernel->origin[t] = origin;
  for (int z = 0; z < d->n_bits && linear && swizzle.swizzle_len > 0; z++)
    d->column[t][z] = storage_swizzle(&swizzle, d->column[t][z]);
  return LLRT_OK;
}

/* Which bits act on tensor t through their column alone. */
static void mark_column_bits(draft *d) {
  for (int t = 0; t < d->desc->n_tensors; t++)
    for (int i = 0; i < d->kernel->n_digits; i++)
      if (d->kernel->digit[i].side[t].kind == PLAN_COLUMNS)
        d->column_bits[t] |= bits_mask(d->bits[i]) << d->first[i];
  for (int t = 0; t < d->desc->n_tensors; t++) d->column_bits[t] &= ~d->selects[t];
}

llrt_status draft_digits(draft *d) {
  supports support = {0};
  copy_digits copies;
  LLRT_TRY(begin_addresses(d));
  LLRT_TRY(draft_extents(d));
  LLRT_TRY(find_pair(d));
  LLRT_TRY(draft_refine(d));
  if (d->divided && d->roles.refined_only) return LLRT_OK;
  draft_fuse(d);
  LLRT_TRY(new_copies(d, &copies));
  if (d->splits) LLRT_TRY(draft_new_digit(d, -1, 1, -1, &d->split));
  LLRT_TRY(draft_digit_bits(d));
  for (int t = 0; t < d->desc->n_tensors; t++)
    support.used[t] =
        bits_mask(llrt_layout_in_bits(&draft_storage(d, t)->tile) + d->kernel->split_128);
  for (int i = 0; i < d->kernel->n_digits && d->divided; i++)
    if (d->kernel->digit[i].axis >= 0) no_sides(d, i);
  for (int t = d->divided ? PLAN_DESTINATION : 0; t < d->desc->n_tensors; t++)
    LLRT_TRY(axis_sides(d, t, &support));
  LLRT_TRY(copy_sides(d, &copies, &support));
  if (d->splits) LLRT_TRY(split_sides(d));
  for (int t = 0; t < d->desc->n_tensors; t++) LLRT_TRY(finish_address(d, t));
  if (d->roles.moves) draft_swap_words(d);
  if (d->divided) LLRT_TRY(divide_source(d));
  LLRT_TRY(draft_indices(d));
  mark_column_bits(d);
  return LLRT_OK;
}
