/* The common refinement of all storages: one list of logical digits with what each contributes to every
 * tensor's address (DESIGN 2 and 6). Needs: a validated description. Keeps: for every logical
 * coordinate, the sum of contributions on tensor t is llrt_storage_offset on t. */
#include "jit/plan/draft.h"

#include "base/bits.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#define REST_END 127 /* bit position where a REST segment ends: never */

/* A stretch of one axis's bits that one tensor treats alike. */
typedef struct segment {
  int from, to; /* bit positions of the axis coordinate */
  int digit;    /* storage digit, or -1: the tile */
} segment;

typedef struct axis_segments {
  int n;
  segment at[LLRT_MAX_DIGITS + 1];
} axis_segments;

llrt_status draft_arg(draft *d, plan_arg arg, plan_number *number) {
  plan_launch *launch = &d->kernel->launch;
  for (int i = 0; i < launch->n_args; i++) {
    if (memcmp(&launch->arg[i], &arg, sizeof arg) == 0) {
      *number = (plan_number){.arg = i};
      return LLRT_OK;
    }
  }
  if (launch->n_args == PLAN_MAX_ARGS)
    return llrt_error(LLRT_UNSUPPORTED, "the kernel would need more than %d arguments",
                      PLAN_MAX_ARGS);
  *number = (plan_number){.arg = launch->n_args};
  launch->arg[launch->n_args++] = arg;
  return LLRT_OK;
}

static const llrt_storage *storage_of(const draft *d, int tensor) {
  return d->desc->tensors[tensor].storage;
}

static int tile_axis_bits(const llrt_storage *storage, int axis) {
  char name[LLRT_NAME_BYTES];
  snprintf(name, sizeof name, "dim%d", axis);
  int index = llrt_layout_out_index(&storage->tile, name);
  return index < 0 ? 0 : storage->tile.out[index].bits;
}

/* ---- extents ---- */

/* The extent that a rule without a REST digit fixes, or -1. */
static int64_t fixed_extent(const llrt_storage *storage, int axis) {
  int64_t extent = (int64_t)1 << tile_axis_bits(storage, axis);
  for (int i = 0; i < storage->n_digits; i++) {
    if (storage->digit[i].axis != axis) continue;
    if (storage->digit[i].extent == LLRT_EXTENT_REST) return -1;
    extent *= storage->digit[i].extent;
  }
  return extent;
}

static llrt_status learn_extents(draft *d) {
  const llrt_op_desc *desc = d->desc;
  for (int a = 0; a < desc->tensors[0].rank; a++) {
    d->extent[a] = -1;
    for (int t = 0; t < desc->n_tensors; t++) {
      const llrt_promise *promise = &desc->promises[t].shape[a];
      int64_t known = fixed_extent(storage_of(d, t), a);
      if (known < 0 && promise->max > 0 && promise->min == promise->max) known = promise->max;
      if (known >= 0 && d->extent[a] >= 0 && known != d->extent[a])
        return llrt_error(LLRT_INVALID_ARGUMENT,
                          "axis %d: one tensor has extent %lld, another %lld", a,
                          (long long)d->extent[a], (long long)known);
      if (known >= 0) d->extent[a] = known;
      if (promise->multiple > 1)
        d->extent_align[a] = bits_max(d->extent_align[a], bits_alignment(promise->multiple));
    }
    if (d->extent[a] >= 0) d->extent_align[a] = bits_alignment(d->extent[a]);
  }
  return LLRT_OK;
}

/* The total bits of an axis of known power-of-two extent, else REST_END. */
static int axis_total_bits(const draft *d, int axis) {
  return bits_is_power_of_two(d->extent[axis]) ? bits_log2(d->extent[axis]) : REST_END;
}

/* ---- strides ---- */

/* Positions of storage digit i, or -1 where only a run knows. */
static int64_t known_digit_extent(const draft *d, const llrt_storage *storage, int i) {
  const llrt_digit *digit = &storage->digit[i];
  if (digit->extent != LLRT_EXTENT_REST) return digit->extent;
  if (d->extent[digit->axis] < 0) return -1;
  int64_t below = (int64_t)1 << tile_axis_bits(storage, digit->axis);
  for (int j = 0; j < i; j++)
    if (storage->digit[j].axis == digit->axis) below *= storage->digit[j].extent;
  return bits_ceil_div(d->extent[digit->axis], below);
}

/* The stride of storage digit i, or -1 where only a run knows. A PACKED stride is known when all before
 * it is packed and of known extent: then it is the number of elements inside. */
static int64_t known_stride(const draft *d, const llrt_storage *storage, int i) {
  if (storage->digit[i].stride == LLRT_STRIDE_RUNTIME) return -1;
  if (storage->digit[i].stride != LLRT_STRIDE_PACKED) return storage->digit[i].stride;
  int64_t inside = (int64_t)1 << llrt_layout_in_bits(&storage->tile);
  for (int j = 0; j < i; j++) {
    int64_t extent = known_digit_extent(d, storage, j);
    if (extent < 0 || storage->digit[j].stride != LLRT_STRIDE_PACKED) return -1;
    inside *= extent;
  }
  return inside;
}

static int stride_alignment(const draft *d, int tensor, int axis, int64_t known) {
  if (known >= 0) return bits_alignment(known);
  int64_t multiple = d->desc->promises[tensor].stride[axis].multiple;
  return multiple > 1 ? bits_alignment(multiple) : 0;
}

/* ---- segments ---- */

static llrt_status list_segments(const draft *d, int tensor, int axis, axis_segments *out) {
  const llrt_storage *storage = storage_of(d, tensor);
  int bits = tile_axis_bits(storage, axis);
  out->n = 0;
  if (bits > 0) out->at[out->n++] = (segment){0, bits, -1};
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    if (digit->axis != axis) continue;
    int to = REST_END;
    if (digit->extent != LLRT_EXTENT_REST && bits_is_power_of_two(digit->extent))
      to = bits + bits_log2(digit->extent);
    if (bits == REST_END)
      return llrt_error(LLRT_UNSUPPORTED,
                        "tensor %d, axis %d: a digit stands above one whose extent is no power of two",
                        tensor, axis);
    out->at[out->n++] = (segment){bits, to, i};
    bits = to;
  }
  return LLRT_OK;
}

static const segment *segment_at(const axis_segments *segments, int position) {
  for (int i = 0; i < segments->n; i++)
    if (segments->at[i].from <= position && position < segments->at[i].to) return &segments->at[i];
  return NULL;
}

/* ---- digits ---- */

/* Positions that earlier COLUMNS of this tensor occupy, by tensor: a sum is an XOR only where supports
 * are disjoint. */
typedef struct supports {
  uint64_t used[LLRT_MAX_TENSORS];
} supports;

/* Columns of a digit that lies in the tile: offsets of its bits by the tile's right inverse. */
static llrt_status tile_columns(draft *d, int digit, int tensor, int axis, int from) {
  const llrt_storage *storage = storage_of(d, tensor);
  llrt_layout inverse;
  char name[LLRT_NAME_BYTES];
  LLRT_TRY(llrt_layout_right_inverse(&storage->tile, &inverse));
  snprintf(name, sizeof name, "dim%d", axis);
  int shift = llrt_layout_in_shift(&inverse, llrt_layout_in_index(&inverse, name)) + from;
  for (int i = 0; i < d->bits[digit]; i++)
    d->column[tensor][d->first[digit] + i] = inverse.column[shift + i];
  d->kernel->digit[digit].side[tensor].kind = PLAN_COLUMNS;
  d->side[digit][tensor] = (draft_side){.order = -1, .align = 0, .stride = -1};
  return LLRT_OK;
}

/* A digit that steps through storage digit `seg->digit` from axis bit `position` on. */
static llrt_status stride_side(draft *d, int digit, int tensor, const segment *seg, int position,
                               supports *support) {
  const llrt_storage *storage = storage_of(d, tensor);
  plan_digit *out = &d->kernel->digit[digit];
  int shift = position - seg->from, bits = d->bits[digit];
  int64_t known = known_stride(d, storage, seg->digit);
  int align = bits_min(stride_alignment(d, tensor, out->axis, known) + shift, 62);
  draft_side *side = &d->side[digit][tensor];
  *side = (draft_side){.order = seg->digit, .align = align, .stride = -1};
  if (known < 0) {
    out->side[tensor].kind = PLAN_STRIDE;
    return draft_arg(d,
                     (plan_arg){PLAN_ARG_STRIDE, (uint8_t)tensor, (uint8_t)seg->digit,
                                (uint8_t)shift},
                     &out->side[tensor].stride);
  }
  side->stride = known << shift;
  uint64_t reach = bits_is_power_of_two(known) && align + bits <= 62 ? bits_mask(bits) << align : 0;
  bool xor_able = known == 0 || (reach != 0 || bits == 0);
  if (!bits_is_power_of_two(known) && known != 0) xor_able = false;
  if (reach & support->used[tensor]) xor_able = false;
  out->side[tensor].kind = xor_able ? PLAN_COLUMNS : PLAN_STRIDE;
  out->side[tensor].stride = (plan_number){.arg = -1, .value = side->stride};
  if (!xor_able) return LLRT_OK;
  support->used[tensor] |= reach;
  for (int i = 0; i < bits; i++)
    d->column[tensor][d->first[digit] + i] = known == 0 ? 0 : (uint64_t)side->stride << i;
  return LLRT_OK;
}

static llrt_status new_digit(draft *d, int axis, int shift, int bits, bool rest, int *number) {
  plan_kernel *kernel = d->kernel;
  if (kernel->n_digits == PLAN_MAX_DIGITS)
    return llrt_error(LLRT_UNSUPPORTED, "the storages refine into more than %d digits",
                      PLAN_MAX_DIGITS);
  if (d->n_bits + bits > LLRT_MAX_BITS)
    return llrt_error(LLRT_UNSUPPORTED, "the fixed digits hold more than %d bits", LLRT_MAX_BITS);
  int i = kernel->n_digits++;
  kernel->digit[i] = (plan_digit){.axis = (int8_t)axis, .axis_shift = (uint8_t)shift, .rest = rest};
  d->first[i] = d->n_bits;
  d->bits[i] = bits;
  d->n_bits += bits;
  *number = i;
  return LLRT_OK;
}

/* Splits one axis at every boundary of every tensor. `rest_bits`: what a REST digit may give. */
static llrt_status refine_axis(draft *d, int axis, int rest_bits, supports *support) {
  int n = d->desc->n_tensors, total = axis_total_bits(d, axis);
  axis_segments segments[LLRT_MAX_TENSORS];
  for (int t = 0; t < n; t++) LLRT_TRY(list_segments(d, t, axis, &segments[t]));
  for (int position = 0; position < total;) {
    int end = total;
    for (int t = 0; t < n; t++) {
      const segment *seg = segment_at(&segments[t], position);
      if (!seg)
        return llrt_error(LLRT_UNSUPPORTED, "tensor %d, axis %d: no digit holds bit %d", t, axis,
                          position);
      end = bits_min(end, seg->to);
    }
    bool rest = end == REST_END;
    int digit = 0;
    LLRT_TRY(new_digit(d, axis, position, rest ? rest_bits : end - position, rest, &digit));
    for (int t = 0; t < n; t++) {
      const segment *seg = segment_at(&segments[t], position);
      if (seg->digit < 0)
        LLRT_TRY(tile_columns(d, digit, t, axis, position));
      else
        LLRT_TRY(stride_side(d, digit, t, seg, position, support));
    }
    position = end;
  }
  return LLRT_OK;
}

/* Copies in tensor t's tile (offset bits that are free variables) become a digit without an axis. For
 * the destination each copy is written; a source is read at the copy with those bits zero. */
static llrt_status add_copies(draft *d, int tensor) {
  const llrt_layout *tile = &storage_of(d, tensor)->tile;
  uint64_t masks[LLRT_MAX_IN_DIMS] = {0}, copies[LLRT_MAX_BITS];
  int n_copies = 0, digit = 0;
  LLRT_TRY(llrt_layout_free_variable_masks(tile, masks));
  llrt_layout inverse;
  LLRT_TRY(llrt_layout_right_inverse(tile, &inverse));
  for (int i = 0, bit = 0; i < tile->n_in; i++)
    for (int b = 0; b < tile->in[i].bits; b++, bit++)
      if (masks[i] >> b & 1)
        copies[n_copies++] = 1ull << bit ^ llrt_layout_apply_flat(&inverse, tile->column[bit]);
  if (n_copies == 0) return LLRT_OK;
  LLRT_TRY(new_digit(d, -1, 0, n_copies, false, &digit));
  for (int t = 0; t < d->desc->n_tensors; t++)
    d->side[digit][t] = (draft_side){.order = -1, .stride = -1};
  memcpy(&d->column[tensor][d->first[digit]], copies, (size_t)n_copies * sizeof *copies);
  return LLRT_OK;
}

/* Which bits act on tensor t through their column alone. */
static void mark_column_bits(draft *d) {
  for (int t = 0; t < d->desc->n_tensors; t++)
    for (int i = 0; i < d->kernel->n_digits; i++)
      if (d->kernel->digit[i].side[t].kind == PLAN_COLUMNS)
        d->column_bits[t] |= bits_mask(d->bits[i]) << d->first[i];
}

static void learn_address_alignment(draft *d) {
  for (int t = 0; t < d->desc->n_tensors; t++) {
    int64_t multiple = d->desc->promises[t].address.multiple;
    int bytes = multiple > 1 ? bits_alignment(multiple) : 0;
    d->address_align[t] = bits_max(0, bytes - draft_log2_bytes(d, t));
  }
}

llrt_status draft_digits(draft *d) {
  supports support = {0};
  int n_rest = 0, fixed = 0, rank = d->desc->tensors[0].rank;
  plan_number address;
  for (int t = 0; t < d->desc->n_tensors; t++) {
    LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_ADDRESS, .tensor = (uint8_t)t}, &address));
    support.used[t] = bits_mask(llrt_layout_in_bits(&storage_of(d, t)->tile));
  }
  LLRT_TRY(learn_extents(d));
  learn_address_alignment(d);
  for (int a = 0; a < rank; a++) {
    int total = axis_total_bits(d, a);
    if (total == REST_END) n_rest++;
    else fixed += total;
  }
  int rest_bits = n_rest == 0 ? 0 : bits_min(DRAFT_REST_BITS, (60 - bits_min(fixed, 60)) / n_rest);
  if (d->kernel->flat) rest_bits = 0;
  for (int a = 0; a < rank; a++) LLRT_TRY(refine_axis(d, a, rest_bits, &support));
  for (int t = 1; t < d->desc->n_tensors; t++) LLRT_TRY(add_copies(d, t));
  mark_column_bits(d);
  return LLRT_OK;
}
