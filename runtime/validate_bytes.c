/* Destinations of 4-bit elements, which are written by the byte. */
#include "runtime/validate.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/launch.h"
#include "layout/storage_rule.h"

/* `bit` is a power of two. Two elements whose places before the swizzle differ by it alone differ along the axis by half of
 * what this returns: both are written where the axis' positions are a multiple of it. 1: not along this axis. */
static int64_t place_group(const llrt_storage *storage, const llrt_storage_binding *binding, int axis, int64_t bit) {
  const llrt_layout *tile = &storage->tile;
  int tile_bits = llrt_layout_in_bits(tile), at = bits_log2(bit);
  if (at < tile_bits) {
    uint64_t bits = tile->column[at] >> llrt_layout_out_shift(tile, axis) & bits_mask(tile->out[axis].bits);
    return bits ? (int64_t)2 << bits_highest(bits) : 1;
  }
  int64_t start = tile_bits > 0 ? (int64_t)1 << tile->out[axis].bits : 1;
  for (int i = 0; i < storage->n_digits; i++) {
    if (storage->digit[i].axis != axis) continue;
    int64_t stride = binding->stride[i] < 0 ? -binding->stride[i] : binding->stride[i];
    bool holds = stride > 0 && bit % stride == 0 && (bit == stride || bit / stride < binding->extent[i]);
    if (holds) return 2 * start * (bit / stride);
    start *= binding->extent[i];
  }
  return 1;
}

/* The positions along an axis of which there is a multiple where both elements of a byte are written; before the swizzle Z they
 * are Z(1) apart. */
static int64_t byte_group(const llrt_storage *storage, const llrt_storage_binding *binding, int axis) {
  int64_t most = 1;
  for (uint64_t apart = storage_swizzle(&storage->swizzle, 1); apart; apart &= apart - 1) {
    int64_t group = place_group(storage, binding, axis, (int64_t)(apart & -apart));
    if (group > most) most = group;
  }
  return most;
}

/* Whether a swizzle brings no element into a byte with a place that no digit reaches. */
static bool swizzle_keeps_pairs(const llrt_storage *storage, const llrt_storage_binding *binding) {
  uint64_t higher = storage_swizzle(&storage->swizzle, 1) & ~1ull;
  if (higher && binding->origin[0] % ((int64_t)2 << bits_highest(higher)) != 0) return false;
  for (; higher; higher &= higher - 1) {
    bool reached = false;
    for (int axis = 0; axis < storage->rank && !reached; axis++)
      reached = place_group(storage, binding, axis, (int64_t)(higher & -higher)) > 1;
    if (!reached) return false;
  }
  return true;
}

/* Elements of 4 bits are written by the byte: both elements of every byte of the destination are there. */
llrt_status llrt_validate_bytes(const storage_set *set, const op_call *call) {
  const llrt_storage *storage = &set->storage[PLAN_DESTINATION];
  const llrt_storage_binding *binding = &call->binding[PLAN_DESTINATION];
  if (call->bits[PLAN_DESTINATION] >= 8 || call->empty) return LLRT_OK;
  if (!swizzle_keeps_pairs(storage, binding))
    return llrt_error(LLRT_UNSUPPORTED,
                      "4-bit elements are written by the byte: the destination's swizzle leaves bytes with one element");
  for (int axis = 0; axis < storage->rank; axis++) {
    bool pads = storage->pad == LLRT_PAD_VALUE;
    int64_t written = pads ? binding->padded[axis] : call->tensor[PLAN_DESTINATION].shape[axis];
    int64_t group = byte_group(storage, binding, axis);
    bool later = group > 1 && call->tensor[PLAN_DESTINATION].extent_ptr[axis];
    if (!later && written % group == 0) continue;
    if (later)
      return llrt_error(LLRT_UNSUPPORTED,
                        "4-bit elements are written by the byte: axis %d of the destination has an "
                        "extent that only the device knows",
                        axis);
    return llrt_error(LLRT_UNSUPPORTED,
                      "4-bit elements are written by the byte: axis %d of the destination has %lld "
                      "positions, no multiple of %lld",
                      axis, (long long)written, (long long)group);
  }
  return LLRT_OK;
}
