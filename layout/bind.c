/* A storage's rule on one shape: numbers, and the offset of an element. */
#include "layout/storage_rule.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/f2.h"

#define MAX_SPAN (1ll << STORAGE_MAX_SPAN_BITS)

/* Where binding stands after the tile and some digits. */
typedef struct binder {
  int64_t below[LLRT_MAX_RANK]; /* positions of each axis that tile and digits so far cover */
  int64_t last;                 /* the largest offset so far */
  int64_t outside;              /* the first offset outside, pads of given strides included */
  int64_t elsewhere;            /* no smaller than the largest coordinate on any other target */
} binder;

static llrt_status check_arguments(const llrt_storage *storage, int rank, const int64_t *shape) {
  LLRT_REQUIRE(storage, "storage: NULL");
  LLRT_REQUIRE(rank >= 0 && rank <= LLRT_MAX_RANK && rank == storage->rank,
               "the tensor has rank %d, its storage %d", rank, storage->rank);
  LLRT_REQUIRE(shape || rank == 0, "shape: NULL");
  LLRT_REQUIRE(storage->n_digits >= 0 && storage->n_digits <= LLRT_MAX_DIGITS,
               "%d digits are not in 0..%d", storage->n_digits, LLRT_MAX_DIGITS);
  LLRT_REQUIRE(storage->n_targets >= 0 && storage->n_targets <= LLRT_MAX_TARGETS,
               "%d targets are not in 0..%d", storage->n_targets, LLRT_MAX_TARGETS);
  LLRT_REQUIRE(storage->offset[0] >= 0 && storage->offset[0] <= STORAGE_MAX_OFFSET &&
                   storage_swizzle_end(&storage->swizzle) <= STORAGE_MAX_SPAN_BITS,
               "the storage's offset or swizzle reaches past 2^%d", STORAGE_MAX_SPAN_BITS);
  for (int axis = 0; axis < rank; axis++)
    LLRT_REQUIRE(shape[axis] >= 0, "shape[%d] is %lld, not 0 or more", axis,
                 (long long)shape[axis]);
  return LLRT_OK;
}

static llrt_status start(const llrt_storage *storage, binder *at) {
  int bits = storage_has_tile(storage) ? storage->tile.in[0].bits : 0;
  LLRT_REQUIRE(bits <= STORAGE_MAX_SPAN_BITS, "a tile of 2^%d elements is larger than 2^%d", bits,
               STORAGE_MAX_SPAN_BITS);
  for (int axis = 0; axis < storage->rank; axis++) {
    int below = storage_tile_bits(storage, axis);
    LLRT_REQUIRE(below <= bits, "the tile is not surjective");
    at->below[axis] = 1ll << below;
  }
  at->last = (1ll << bits) - 1;
  at->outside = 1ll << bits;
  return LLRT_OK;
}

/* `pads`: the last position of a REST digit may overhang. */
static llrt_status digit_extent(const llrt_digit *digit, int64_t positions, bool pads,
                                const binder *at, int64_t *extent) {
  *extent = digit->extent;
  if (digit->extent != LLRT_EXTENT_REST) {
    LLRT_REQUIRE(digit->extent > 0, "a digit of axis %d has extent %lld, not 1 or more",
                 digit->axis, (long long)digit->extent);
    return LLRT_OK;
  }
  int64_t below = at->below[digit->axis];
  LLRT_REQUIRE(below > 0 && (pads || positions % below == 0),
               "axis %d has %lld positions, no multiple of the storage's %lld", digit->axis,
               (long long)positions, (long long)below);
  *extent = bits_ceil_div(positions, below);
  return LLRT_OK;
}

static llrt_status digit_stride(const llrt_digit *digit, const int64_t *strides, const binder *at,
                                int64_t *stride) {
  *stride = digit->stride == LLRT_STRIDE_PACKED ? at->outside : digit->stride;
  if (digit->stride == LLRT_STRIDE_RUNTIME) {
    LLRT_REQUIRE(strides, "the storage takes its strides from the tensor, which has none");
    LLRT_REQUIRE(!__builtin_mul_overflow(strides[digit->axis], at->below[digit->axis], stride),
                 "the stride of axis %d is too large", digit->axis);
  }
  LLRT_REQUIRE(*stride >= 0, "the stride of axis %d is negative", digit->axis);
  return LLRT_OK;
}

/* Counts a digit's positions into its axis. */
static llrt_status widen(binder *at, const llrt_digit *digit, int64_t extent) {
  if (digit->axis == LLRT_AXIS_REPLICA) return LLRT_OK;
  int64_t *below = &at->below[digit->axis];
  LLRT_REQUIRE(!__builtin_mul_overflow(*below, extent, below),
               "axis %d of the storage has 2^63 positions or more", digit->axis);
  return LLRT_OK;
}

/* Puts a digit outside what is there. An empty one counts as one position. */
static llrt_status advance(binder *at, int64_t extent, int64_t stride) {
  int64_t positions = extent > 0 ? extent : 1, reach, pitch;
  bool overflow = __builtin_mul_overflow(positions - 1, stride, &reach);
  overflow |= __builtin_mul_overflow(positions, stride, &pitch);
  overflow |= __builtin_add_overflow(at->last, reach, &at->last);
  LLRT_REQUIRE(!overflow && at->last < MAX_SPAN, "the tensor spans more than 2^%d elements",
               STORAGE_MAX_SPAN_BITS);
  if (at->outside < pitch) at->outside = pitch;
  if (at->outside <= at->last) at->outside = at->last + 1;
  return LLRT_OK;
}

static llrt_status advance_elsewhere(binder *at, int64_t extent, int64_t stride) {
  int64_t reach;
  bool overflow = __builtin_mul_overflow(extent > 0 ? extent - 1 : 0, stride, &reach);
  overflow |= __builtin_add_overflow(at->elsewhere, reach, &at->elsewhere);
  LLRT_REQUIRE(!overflow && at->elsewhere < MAX_SPAN, "a coordinate passes 2^%d",
               STORAGE_MAX_SPAN_BITS);
  return LLRT_OK;
}

static llrt_status check_digit(const llrt_digit *digit, int i, int rank, int n_targets) {
  LLRT_REQUIRE(digit->axis >= LLRT_AXIS_REPLICA && digit->axis < rank,
               "digit %d is of axis %d, the rank is %d", i, digit->axis, rank);
  LLRT_REQUIRE(digit->target >= 0 && digit->target <= n_targets, "digit %d is on target %d of %d",
               i, digit->target, n_targets);
  LLRT_REQUIRE(digit->axis != LLRT_AXIS_REPLICA || digit->extent > 0, "replica %d has no extent",
               i);
  return LLRT_OK;
}

static llrt_status bind_digits(const llrt_storage *storage, const int64_t *shape,
                               const int64_t *strides, binder *at, llrt_storage_binding *out) {
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    LLRT_TRY(check_digit(digit, i, storage->rank, storage->n_targets));
    int64_t positions = digit->axis == LLRT_AXIS_REPLICA ? 1 : shape[digit->axis];
    LLRT_TRY(digit_extent(digit, positions, storage->pad != LLRT_PAD_NONE, at, &out->extent[i]));
    LLRT_TRY(digit_stride(digit, strides, at, &out->stride[i]));
    LLRT_TRY(widen(at, digit, out->extent[i]));
    LLRT_TRY(digit->target == 0 ? advance(at, out->extent[i], out->stride[i])
                                : advance_elsewhere(at, out->extent[i], out->stride[i]));
  }
  return LLRT_OK;
}

/* Reversed digits begin at their last position and step down. */
static void turn_reversed(const llrt_storage *storage, llrt_storage_binding *out) {
  for (int t = 0; t <= storage->n_targets; t++) out->origin[t] = storage->offset[t];
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    if (!digit->reversed) continue;
    if (out->extent[i] > 0) out->origin[digit->target] += (out->extent[i] - 1) * out->stride[i];
    out->stride[i] = -out->stride[i];
  }
}

/* One past the last place: a swizzle may exchange places within groups of 2^end of what it changes.
 */
static llrt_status find_span(const llrt_storage *storage, const binder *at, int64_t *span) {
  const llrt_swizzle *swizzle = &storage->swizzle;
  int64_t last = at->last + storage->offset[0];
  LLRT_REQUIRE(last < MAX_SPAN, "the tensor spans more than 2^%d elements", STORAGE_MAX_SPAN_BITS);
  if (storage_has_swizzle(storage))
    last |=
        (int64_t)bits_mask(bits_min(storage_swizzle_changes_below(swizzle), STORAGE_MAX_SPAN_BITS));
  *span = last + 1;
  return LLRT_OK;
}

static llrt_status bind(const llrt_storage *storage, int rank, const int64_t *shape,
                        const int64_t *strides, llrt_storage_binding *out) {
  LLRT_TRY(check_arguments(storage, rank, shape));
  binder at = {.last = 0};
  LLRT_TRY(start(storage, &at));
  LLRT_TRY(bind_digits(storage, shape, strides, &at, out));
  LLRT_TRY(find_span(storage, &at, &out->span));
  turn_reversed(storage, out);
  for (int axis = 0; axis < rank; axis++) {
    bool fits = storage->pad == LLRT_PAD_NONE ? at.below[axis] == shape[axis]
                                              : at.below[axis] >= shape[axis];
    LLRT_REQUIRE(fits, "axis %d has %lld positions, its storage %lld", axis, (long long)shape[axis],
                 (long long)at.below[axis]);
    out->padded[axis] = at.below[axis];
    if (shape[axis] == 0) out->span = 0;
  }
  return LLRT_OK;
}

llrt_status llrt_storage_bind(const llrt_storage *storage, int rank, const int64_t *shape,
                              const int64_t *strides, llrt_storage_binding *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  *out = (llrt_storage_binding){0};
  llrt_status status = bind(storage, rank, shape, strides, out);
  if (status) *out = (llrt_storage_binding){0};
  return status;
}

llrt_status llrt_storage_bytes(const llrt_storage_binding *binding, int element_bits,
                               int64_t *bytes) {
  LLRT_ENTRY();
  LLRT_REQUIRE(bytes, "bytes: NULL");
  *bytes = 0;
  LLRT_REQUIRE(binding && binding->span >= 0, "binding: NULL or malformed");
  LLRT_REQUIRE(element_bits >= 1 && element_bits <= 128, "%d bits are no element", element_bits);
  int64_t eighths, rest = binding->span % 8 * element_bits;
  LLRT_REQUIRE(!__builtin_mul_overflow(binding->span / 8, element_bits, &eighths) &&
                   !__builtin_add_overflow(eighths, (rest + 7) / 8, &eighths),
               "the tensor has 2^63 bytes or more");
  *bytes = eighths;
  return LLRT_OK;
}
