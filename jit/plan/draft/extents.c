/* What planning knows of numbers that a run brings: extents, strides, addresses. Needs: a validated
 * description. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/storage_rule.h"

#include <stdio.h>
#include <string.h>

llrt_status draft_arg(draft *d, plan_arg arg, plan_number *number) {
  plan_launch *launch = &d->kernel->launch;
  for (int i = 0; i < launch->n_args; i++) {
    const plan_arg *at = &launch->arg[i];
    if (at->kind != arg.kind || at->tensor != arg.tensor || at->index != arg.index ||
        at->padded != arg.padded || at->factor != arg.factor)
      continue;
    *number = (plan_number){.arg = i};
    return LLRT_OK;
  }
  if (launch->n_args == PLAN_MAX_ARGS)
    return llrt_error(LLRT_UNSUPPORTED, "the kernel would need more than %d arguments",
                      PLAN_MAX_ARGS);
  *number = (plan_number){.arg = launch->n_args};
  launch->arg[launch->n_args++] = arg;
  return LLRT_OK;
}

/* ---- extents ---- */

int draft_tile_bits(const llrt_storage *storage, int axis) {
  char name[LLRT_NAME_BYTES];
  snprintf(name, sizeof name, "dim%d", axis);
  int index = llrt_layout_out_index(&storage->tile, name);
  return index < 0 ? 0 : storage->tile.out[index].bits;
}

static int64_t saturating_product(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* A multiple of both where that stays small, else the larger. */
static int64_t common_multiple(int64_t a, int64_t b) {
  int64_t x = a, y = b, product;
  while (y) {
    int64_t rest = x % y;
    x = y;
    y = rest;
  }
  if (__builtin_mul_overflow(a / x, b, &product) || product > (int64_t)1 << 40)
    return a > b ? a : b;
  return product;
}

/* The positions along an axis that a storage's tile and fixed digits hold; *fixed: there are no
 * more. */
static int64_t axis_unit(const llrt_storage *storage, int axis, bool *fixed) {
  int64_t unit = (int64_t)1 << draft_tile_bits(storage, axis);
  *fixed = true;
  for (int i = 0; i < storage->n_digits; i++) {
    if (storage->digit[i].axis != axis) continue;
    if (storage->digit[i].extent == LLRT_EXTENT_REST) *fixed = false;
    else unit = saturating_product(unit, storage->digit[i].extent);
  }
  return unit;
}

int64_t draft_unit(const draft *d, int tensor, int axis) {
  bool fixed;
  return axis_unit(draft_storage(d, tensor), axis, &fixed);
}

static llrt_status set_known(draft_extent *extent, int axis, int64_t known) {
  if (extent->known >= 0 && extent->known != known)
    return llrt_error(LLRT_INVALID_ARGUMENT, "axis %d: one tensor has extent %lld, another %lld",
                      axis, (long long)extent->known, (long long)known);
  extent->known = known;
  return LLRT_OK;
}

/* The first digit whose extent a run gives, everything up to it being PACKED, and how many elements
 * lie inside it; -1 for none. */
static int first_open_digit(const llrt_storage *storage, int64_t *inside) {
  *inside = (int64_t)1 << llrt_layout_in_bits(&storage->tile);
  for (int i = 0; i < storage->n_digits; i++) {
    if (storage->digit[i].stride != LLRT_STRIDE_PACKED) return -1;
    if (storage->digit[i].extent == LLRT_EXTENT_REST) return i;
    *inside = saturating_product(*inside, storage->digit[i].extent);
  }
  return -1;
}

/* A PACKED stride is the extents inside it: the promise for the digit outside the first open one
 * says what divides the open one's extent. */
static int64_t multiple_by_stride(const draft *d, int tensor, int axis, int64_t unit) {
  const llrt_storage *storage = draft_storage(d, tensor);
  int64_t inside;
  bool folded;
  if (draft_is_indexed(d, tensor, axis, &folded)) return 1; /* its extent there is another */
  int i = first_open_digit(storage, &inside);
  if (i < 0 || storage->digit[i].axis != axis || i + 1 >= storage->n_digits) return 1;
  const llrt_digit *outer = &storage->digit[i + 1];
  if (outer->stride != LLRT_STRIDE_PACKED || outer->axis < 0) return 1;
  if (unit > 1 && storage->pad != LLRT_PAD_NONE) return 1;
  int64_t multiple = d->desc->promises[tensor].stride[outer->axis].multiple;
  if (multiple <= 1 || !bits_is_power_of_two(multiple) || unit > (int64_t)1 << 40) return 1;
  int bits = bits_alignment(multiple) - bits_alignment(inside);
  return bits > 0 ? unit << bits_min(bits, 20) : 1;
}

bool draft_on_device(const draft *d, int axis) {
  bool on_device = d->roles.grouped >> axis & 1;
  for (int t = 0; t < d->desc->n_tensors; t++)
    on_device |= d->desc->tensors[t].extent_ptr[axis] != NULL;
  return on_device;
}

/* The arguments of the extents that the kernel reads itself. */
static llrt_status learn_device_extent(draft *d, int axis) {
  plan_device_extent *extent = &d->kernel->extent[axis];
  if (!draft_on_device(d, axis) || d->roles.grouped >> axis & 1) return LLRT_OK;
  int t = 0;
  while (!d->desc->tensors[t].extent_ptr[axis]) t++;
  plan_arg arg = {.kind = PLAN_ARG_EXTENT_PTR, .tensor = (uint8_t)t, .index = (uint8_t)axis};
  extent->used = true;
  LLRT_TRY(draft_arg(d, arg, &extent->address));
  return draft_number(d, PLAN_ARG_CEIL, axis, 0, 1, &extent->limit);
}

static llrt_status learn_promise(draft *d, int axis, const llrt_promise *promise) {
  draft_extent *shape = &d->shape[axis];
  if (promise->multiple > 1) shape->multiple = common_multiple(shape->multiple, promise->multiple);
  if (promise->max > 0 && promise->max < shape->most) shape->most = promise->max;
  return promise->max > 0 && promise->min == promise->max ? set_known(shape, axis, promise->max)
                                                          : LLRT_OK;
}

/* Of a grouped product: the axis of experts and that whose positions belong to them. */
static bool is_of_experts(const draft *d, int axis) {
  return d->roles.grouped && (axis == 0 || d->roles.grouped >> axis & 1);
}

static llrt_status learn_shape(draft *d, int axis) {
  draft_extent *shape = &d->shape[axis];
  bool one = d->roles.one_promise;
  *shape = (draft_extent){.known = -1, .multiple = 1, .most = INT64_MAX};
  if (is_of_experts(d, axis)) return LLRT_OK;
  if (one) LLRT_TRY(learn_promise(d, axis, &d->desc->promises[0].shape[axis]));
  for (int t = 0; t < (one ? d->desc->n_tensors : 2); t++) {
    const llrt_storage *storage = draft_storage(d, t);
    bool fixed, folded;
    if (draft_is_dropped(d, t, axis) || (one && draft_group(d, t, axis) != 1)) continue;
    int64_t unit = axis_unit(storage, axis, &fixed);
    if (!one) LLRT_TRY(learn_promise(d, axis, &d->desc->promises[t].shape[axis]));
    if (draft_is_indexed(d, t, axis, &folded)) continue;
    if (fixed && unit < shape->most) shape->most = unit;
    if (fixed && storage->pad == LLRT_PAD_NONE) LLRT_TRY(set_known(shape, axis, unit));
    if (storage->pad == LLRT_PAD_NONE) shape->multiple = common_multiple(shape->multiple, unit);
    shape->multiple = common_multiple(shape->multiple, multiple_by_stride(d, t, axis, unit));
  }
  if (shape->known > shape->most)
    return llrt_error(LLRT_INVALID_ARGUMENT, "axis %d has %lld positions, a storage at most %lld",
                      axis, (long long)shape->known, (long long)shape->most);
  if (shape->known > 0) shape->multiple = shape->most = shape->known;
  return LLRT_OK;
}

/* n rounded up to a multiple of unit; saturating. */
static int64_t round_up(int64_t n, int64_t unit) {
  if (n > INT64_MAX - unit) return INT64_MAX;
  return bits_ceil_div(n, unit) * unit;
}

/* Of an expression pads are written of outputs but the first tensor, whose number says that there
 * are none. */
bool draft_stores_pads(const draft *d, int t, int axis) {
  const draft_extent *shape = &d->shape[axis];
  bool stores =
      d->desc->kind == LLRT_OP_COMPUTE ? draft_is_written(d, t) && t > 0 : t == PLAN_DESTINATION;
  bool joined = draft_is_reduced(d, axis) && !(d->roles.resident >> axis & 1), fixed;
  if (!stores || joined || draft_is_dropped(d, t, axis)) return false;
  if (draft_storage(d, t)->pad != LLRT_PAD_VALUE) return false;
  if (d->desc->tensors[t].n_indices) return false; /* llrt_index says so */
  int64_t unit = axis_unit(draft_storage(d, t), axis, &fixed);
  if (draft_on_device(d, axis) && unit > 1) return true;
  return fixed ? shape->known != unit : shape->multiple % unit != 0;
}

draft_extent draft_stored(const draft *d, int t, int axis) {
  const draft_extent *shape = &d->shape[axis];
  draft_extent stored = *shape;
  bool fixed;
  if (!draft_stores_pads(d, t, axis)) return stored;
  int64_t unit = axis_unit(draft_storage(d, t), axis, &fixed);
  if (fixed) return (draft_extent){.known = unit, .multiple = unit, .most = unit};
  if (shape->known >= 0) stored.known = round_up(shape->known, unit);
  stored.most = round_up(shape->most, unit);
  stored.multiple = stored.known > 0 ? stored.known : unit;
  return stored;
}

/* What blocks go through along the axis: the pads of the tensor that has most of them. */
static llrt_status learn_written(draft *d, int axis) {
  int64_t most = 0;
  d->padder[axis] = PLAN_DESTINATION;
  d->pads[axis] = false;
  d->written[axis] = d->shape[axis];
  for (int t = 0; t < d->desc->n_tensors; t++) {
    if (!draft_stores_pads(d, t, axis)) continue;
    int64_t unit = draft_unit(d, t, axis), larger = unit > most ? unit : most;
    if (most > 0 && larger % (unit + most - larger) != 0)
      return llrt_error(LLRT_UNSUPPORTED,
                        "outputs are padded along axis %d to multiples of %lld and of %lld", axis,
                        (long long)most, (long long)unit);
    d->pads[axis] = true;
    if (unit <= most) continue;
    most = unit;
    d->padder[axis] = (uint8_t)t;
    d->written[axis] = draft_stored(d, t, axis);
  }
  return LLRT_OK;
}

/* An offset that the launch adds to the address counts too. */
static void learn_address_alignment(draft *d) {
  for (int t = 0; t < d->desc->n_tensors; t++) {
    int64_t multiple = d->desc->promises[t].address.multiple;
    int bytes = multiple > 1 ? bits_alignment(multiple) : 0;
    int align = bits_max(0, bytes - draft_log2_bytes(d, t));
    int offset = bits_alignment(draft_storage(d, t)->offset[0]) + d->kernel->split_128;
    d->address_align[t] = bits_min(align, offset);
  }
}

llrt_status draft_extents(draft *d) {
  for (int a = 0; a < d->desc->tensors[0].rank; a++) {
    LLRT_TRY(learn_shape(d, a));
    LLRT_TRY(learn_written(d, a));
    LLRT_TRY(learn_device_extent(d, a));
  }
  learn_address_alignment(d);
  return LLRT_OK;
}

llrt_status draft_number(draft *d, plan_arg_kind kind, int axis, int stored, int64_t divisor,
                         plan_number *number) {
  bool padded = stored > 0 && draft_stores_pads(d, stored, axis);
  int64_t known = padded ? draft_stored(d, stored, axis).known : d->shape[axis].known;
  if (known < 0)
    return draft_arg(d,
                     (plan_arg){.kind = (uint8_t)kind,
                                .index = (uint8_t)axis,
                                .padded = (uint8_t)(padded ? stored : 0),
                                .factor = divisor},
                     number);
  int64_t quotient = kind == PLAN_ARG_FLOOR ? known / divisor : bits_ceil_div(known, divisor);
  *number =
      (plan_number){.arg = -1, .value = kind == PLAN_ARG_ROUND_UP ? quotient * divisor : quotient};
  return LLRT_OK;
}

/* ---- strides ---- */

/* Positions of storage digit i, or -1 where only a run knows; *align: log2 of what divides them. */
static int64_t digit_extent(const draft *d, int tensor, int i, int *align) {
  const llrt_storage *storage = draft_storage(d, tensor);
  const llrt_digit *digit = &storage->digit[i];
  *align = 0;
  if (digit->extent != LLRT_EXTENT_REST) {
    *align = bits_alignment(digit->extent);
    return digit->extent;
  }
  bool fixed, folded;
  if (draft_is_indexed(d, tensor, digit->axis, &folded)) return folded ? 1 : -1;
  const draft_extent *shape = &d->shape[digit->axis];
  int64_t unit = axis_unit(storage, digit->axis, &fixed);
  int64_t group = draft_group(d, tensor, digit->axis);
  if (group == LLRT_GROUP_ALL) return 1;
  unit = saturating_product(unit, group);
  if (shape->multiple % unit == 0) *align = bits_alignment(shape->multiple / unit);
  return shape->known < 0 ? -1 : bits_ceil_div(shape->known, unit);
}

int64_t draft_digit_extent(const draft *d, int tensor, int i) {
  int align;
  return digit_extent(d, tensor, i, &align);
}

/* A PACKED stride is the first place outside what is inside it (llrt_storage_bind): known when the
 * extents and strides of that are. */
int64_t draft_known_stride(const draft *d, int tensor, int i) {
  const llrt_storage *storage = draft_storage(d, tensor);
  int64_t outside = (int64_t)1 << llrt_layout_in_bits(&storage->tile), last = outside - 1, pitch;
  int align;
  if (storage_stride_is_number(&storage->digit[i])) return storage->digit[i].stride;
  for (int j = 0; j <= i; j++) {
    const llrt_digit *digit = &storage->digit[j];
    if (digit->stride == LLRT_STRIDE_RUNTIME) return -1;
    int64_t stride = storage_stride_is_number(digit) ? digit->stride : outside;
    if (j == i) return stride;
    int64_t extent = digit_extent(d, tensor, j, &align);
    if (extent < 0 || __builtin_mul_overflow(extent > 0 ? extent : 1, stride, &pitch) ||
        __builtin_add_overflow(last, pitch - stride, &last) || last == INT64_MAX)
      return -1;
    if (outside < pitch) outside = pitch;
    if (outside <= last) outside = last + 1;
  }
  return -1;
}

/* Whether digits 0 to i are PACKED: then the stride of i contains all that is inside. */
static bool is_packed(const llrt_storage *storage, int i) {
  for (int j = 0; j <= i; j++)
    if (storage->digit[j].stride != LLRT_STRIDE_PACKED) return false;
  return true;
}

/* Promises speak of strides that the rule leaves open alone. */
static int promised_alignment(const draft *d, int tensor, int i) {
  const llrt_storage *storage = draft_storage(d, tensor);
  int axis = storage->digit[i].axis;
  bool open =
      axis >= 0 && storage_open_strides(storage) >> i & 1 && draft_known_stride(d, tensor, i) < 0;
  int64_t multiple = open ? d->desc->promises[tensor].stride[axis].multiple : 1;
  return multiple > 1 ? bits_alignment(multiple) : 0;
}

int draft_stride_alignment(const draft *d, int tensor, int i) {
  const llrt_storage *storage = draft_storage(d, tensor);
  int64_t known = draft_known_stride(d, tensor, i);
  if (known >= 0) return bits_alignment(known);
  if (!is_packed(storage, i)) return promised_alignment(d, tensor, i);
  int align = llrt_layout_in_bits(&storage->tile), extent;
  for (int j = 0; j <= i; j++) {
    align = bits_max(align, promised_alignment(d, tensor, j));
    if (j == i) break;
    digit_extent(d, tensor, j, &extent);
    align = bits_min(align + extent, 62);
  }
  return align;
}
