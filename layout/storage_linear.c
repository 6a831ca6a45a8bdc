/* A storage as a map over F2 from places to elements, or the reason why it is none. */
#include "layout/tirx_rule.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"

/* The columns of one target's bits, as they are found. */
typedef struct place_bits {
  uint64_t used;
  uint64_t column[LLRT_MAX_BITS];
} place_bits;

static llrt_status refuse(const char *target, const char *reason, int64_t number) {
  return llrt_error(LLRT_UNSUPPORTED, "not linear over F2: %s, on %s (%lld)", reason, target,
                    (long long)number);
}

static const char *name_of(const llrt_storage *storage, int target) {
  return target == 0 ? STORAGE_MEMORY : storage->target[target - 1];
}

/* Axis bit positions in the flat element index; the whole must be of powers of two. */
static llrt_status find_shifts(const bound_shape *bound, int *shift) {
  int bits = 0;
  for (int axis = 0; axis < bound->rank; axis++) {
    if (!bits_is_power_of_two(bound->shape[axis]) || bits_log2(bound->shape[axis]) + bits > 62)
      return llrt_error(LLRT_UNSUPPORTED,
                        "not linear over F2: axis %d has %lld positions, no power of two", axis,
                        (long long)bound->shape[axis]);
    if (bound->binding.padded[axis] != bound->shape[axis])
      return llrt_error(LLRT_UNSUPPORTED, "not linear over F2: axis %d is padded", axis);
    shift[axis] = bits;
    bits += bits_log2(bound->shape[axis]);
  }
  return LLRT_OK;
}

static void tile_bits_of(const llrt_storage *storage, const int *shift, place_bits *memory) {
  if (!storage_has_tile(storage)) return;
  int n = storage->tile.in[0].bits;
  memory->used = bits_mask(n);
  for (int b = 0; b < n; b++) {
    uint64_t inside = storage->tile.column[b];
    for (int axis = 0; axis < storage->rank; axis++) {
      int bits = storage_tile_bits(storage, axis);
      if (bits) memory->column[b] |= (inside & bits_mask(bits)) << shift[axis];
      inside = bits < 64 ? inside >> bits : 0;
    }
  }
}

/* Digit i: its positions are bits of one place and of one axis (above `low` bits of it). */
static llrt_status digit_bits_of(const llrt_storage *storage, const bound_shape *bound, int i,
                                 int element_bit, place_bits *bits) {
  const llrt_digit *digit = &storage->digit[i];
  const char *target = name_of(storage, digit->target);
  int64_t extent = bound->binding.extent[i], stride = bound->binding.stride[i];
  if (extent == 1) return LLRT_OK;
  if (digit->reversed) return refuse(target, "a digit counts down", -stride);
  if (!bits_is_power_of_two(extent)) return refuse(target, "an extent is no power of two", extent);
  if (!bits_is_power_of_two(stride)) return refuse(target, "a stride is no power of two", stride);
  int first = bits_log2(stride), n = bits_log2(extent);
  uint64_t mask = bits_mask(n) << first;
  if (first + n > STORAGE_MAX_SPAN_BITS) return refuse(target, "a place is too large", stride);
  if (bits->used & mask) return refuse(target, "two digits add to one bit", stride);
  bits->used |= mask;
  for (int b = 0; b < n && digit->axis != LLRT_AXIS_REPLICA; b++)
    bits->column[first + b] = 1ull << (element_bit + b);
  return LLRT_OK;
}

static llrt_status collect(const llrt_storage *storage, const bound_shape *bound, const int *shift,
                           place_bits *targets) {
  int next[LLRT_MAX_RANK];
  for (int axis = 0; axis < storage->rank; axis++)
    next[axis] = shift[axis] + storage_tile_bits(storage, axis);
  tile_bits_of(storage, shift, &targets[0]);
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    int64_t extent = bound->binding.extent[i];
    int *bit = digit->axis == LLRT_AXIS_REPLICA ? NULL : &next[digit->axis];
    LLRT_TRY(digit_bits_of(storage, bound, i, bit ? *bit : 0, &targets[digit->target]));
    if (bit) *bit += bits_log2(extent);
  }
  for (int t = 0; t <= storage->n_targets; t++) {
    const char *name = name_of(storage, t);
    if (storage->offset[t]) return refuse(name, "an offset is added", storage->offset[t]);
    if (targets[t].used & (targets[t].used + 1))
      return refuse(name, "some places hold nothing, the first is",
                    1ll << bits_lowest(~targets[t].used));
  }
  return LLRT_OK;
}

/* place = Z(sum), so the element at place p is the one of sum Z(p). A downward Z changes bits below
 * those that it reads, and so stays among the bits in use; an upward one need not. */
static llrt_status apply_swizzle(const llrt_swizzle *swizzle, place_bits *memory) {
  place_bits before = *memory;
  int n = bits_count(memory->used);
  for (int b = 0; b < n; b++) {
    memory->column[b] = 0;
    uint64_t left = storage_swizzle(swizzle, 1ull << b);
    if (left & ~memory->used)
      return refuse(STORAGE_MEMORY, "the swizzle leads past the last place", 1ll << n);
    for (; left; left &= left - 1) memory->column[b] ^= before.column[bits_lowest(left)];
  }
  return LLRT_OK;
}

static llrt_status assemble(const llrt_storage *storage, const bound_shape *bound,
                            const place_bits *targets, llrt_layout *out) {
  int column = 0;
  *out = (llrt_layout){0};
  for (int t = tirx_names_memory(storage) ? 0 : 1; t <= storage->n_targets; t++) {
    int bits = bits_count(targets[t].used);
    LLRT_TRY(layout_append_in(out, name_of(storage, t), bits));
    for (int b = 0; b < bits; b++) out->column[column++] = targets[t].column[b];
  }
  for (int axis = 0; axis < storage->rank; axis++) {
    char name[LLRT_NAME_BYTES];
    layout_axis_name(axis, name);
    LLRT_TRY(layout_append_out(out, name, bits_log2(bound->shape[axis])));
  }
  return LLRT_OK;
}

/* A storage of one axis is given the shape's axes: its flat index has the last axis lowest. */
static llrt_status reshape(int rank, const int64_t *shape, llrt_layout *layout) {
  uint64_t flat[LLRT_MAX_BITS];
  int total = llrt_layout_out_bits(layout), n = llrt_layout_in_bits(layout);
  memcpy(flat, layout->column, sizeof flat);
  layout->n_out = 0;
  for (int axis = 0; axis < rank; axis++) {
    char name[LLRT_NAME_BYTES];
    if (!bits_is_power_of_two(shape[axis]))
      return llrt_error(LLRT_UNSUPPORTED,
                        "not linear over F2: axis %d has %lld positions, no power of two", axis,
                        (long long)shape[axis]);
    layout_axis_name(axis, name);
    LLRT_TRY(layout_append_out(layout, name, bits_log2(shape[axis])));
  }
  for (int b = 0; b < n; b++) {
    layout->column[b] = 0;
    for (int axis = 0, to = 0, from = total; axis < rank; axis++) {
      int bits = layout->out[axis].bits;
      from -= bits;
      if (bits) layout->column[b] |= (flat[b] >> from & bits_mask(bits)) << to;
      to += bits;
    }
  }
  return LLRT_OK;
}

static llrt_status to_layout(const llrt_storage *storage, int rank, const int64_t *shape,
                             llrt_layout *out) {
  bound_shape bound;
  int shift[LLRT_MAX_RANK];
  place_bits targets[LLRT_MAX_TARGETS + 1] = {0};
  LLRT_TRY(tirx_bind(storage, rank, shape, &bound));
  LLRT_TRY(find_shifts(&bound, shift));
  LLRT_TRY(collect(storage, &bound, shift, targets));
  if (storage_has_swizzle(storage)) LLRT_TRY(apply_swizzle(&storage->swizzle, &targets[0]));
  LLRT_TRY(assemble(storage, &bound, targets, out));
  return storage->rank == 1 && rank != 1 ? reshape(rank, shape, out) : LLRT_OK;
}

llrt_status llrt_storage_to_layout(const llrt_storage *storage, int rank, const int64_t *shape,
                                   llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(to_layout(storage, rank, shape, &result), &result, out);
}
