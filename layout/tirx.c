/* Places with named axes, forward: admitting shapes, and all copies of an element. */
#include "layout/tirx_rule.h"

#include "base/bits.h"
#include "base/status.h"

#include <string.h>

/* ---- shapes ---- */

static llrt_status shape_size(int rank, const int64_t *shape, int64_t *size) {
  *size = 1;
  LLRT_REQUIRE(rank >= 0 && rank <= LLRT_MAX_RANK, "rank %d is not in 0..%d", rank, LLRT_MAX_RANK);
  LLRT_REQUIRE(shape || rank == 0, "shape: NULL");
  for (int axis = 0; axis < rank; axis++) {
    LLRT_REQUIRE(shape[axis] >= 0, "shape[%d] is %lld, not 0 or more", axis,
                 (long long)shape[axis]);
    LLRT_REQUIRE(!__builtin_mul_overflow(*size, shape[axis], size),
                 "the shape has 2^63 elements or more");
  }
  return LLRT_OK;
}

/* The positions that tile and digits of axis 0 hold; 0 when a REST digit holds any number. */
static llrt_status flat_size(const llrt_storage *storage, int64_t *size) {
  int bits = storage_tile_bits(storage, 0);
  LLRT_REQUIRE(bits <= STORAGE_MAX_SPAN_BITS, "the tile is too large");
  *size = 1ll << bits;
  for (int i = 0; i < storage->n_digits; i++)
    if (storage->digit[i].axis == 0)
      LLRT_REQUIRE(!__builtin_mul_overflow(*size, storage->digit[i].extent, size),
                   "the layout has 2^63 elements or more");
  return LLRT_OK;
}

llrt_status tirx_bind(const llrt_storage *storage, int rank, const int64_t *shape,
                      bound_shape *out) {
  int64_t size, own;
  *out = (bound_shape){.rank = 0};
  LLRT_TRY(llrt_storage_validate(storage));
  LLRT_TRY(shape_size(rank, shape, &size));
  out->rank = storage->rank;
  if (storage->rank == 1) {
    LLRT_TRY(flat_size(storage, &own));
    LLRT_REQUIRE(own == 0 || own == size || storage->pad != LLRT_PAD_NONE,
                 "the layout has %lld elements, the shape %lld", (long long)own, (long long)size);
    out->shape[0] = size;
  } else {
    LLRT_REQUIRE(rank == storage->rank, "the shape has rank %d, the layout %d", rank,
                 storage->rank);
    for (int axis = 0; axis < rank; axis++) out->shape[axis] = shape[axis];
  }
  return llrt_storage_bind(storage, out->rank, out->shape, NULL, &out->binding);
}

llrt_status llrt_tirx_admits(const llrt_storage *storage, int rank, const int64_t *shape) {
  LLRT_ENTRY();
  bound_shape bound;
  return tirx_bind(storage, rank, shape, &bound);
}

/* ---- dealing digits out to axes ---- */

typedef struct dealer {
  llrt_storage *out;
  int axis; /* that still needs `need` positions */
  int64_t need;
} dealer;

static llrt_status deal(dealer *to, const llrt_digit *digit, int64_t extent, int64_t stride) {
  if (to->out->n_digits == LLRT_MAX_DIGITS)
    return llrt_error(LLRT_UNSUPPORTED, "the shape splits the layout into more than %d digits",
                      LLRT_MAX_DIGITS);
  llrt_digit *part = &to->out->digit[to->out->n_digits++];
  *part = *digit;
  part->extent = extent;
  part->stride = stride;
  part->axis = to->axis;
  to->need /= extent;
  return LLRT_OK;
}

/* Splits one digit over as many axes as it reaches, innermost first. */
static llrt_status deal_digit(dealer *to, const llrt_digit *digit, const int64_t *shape) {
  int64_t left = digit->extent, stride = digit->stride;
  if (left == 1) return deal(to, digit, 1, stride); /* it still names its target */
  while (left > 1) {
    while (to->need == 1 && to->axis > 0) to->need = shape[--to->axis];
    int64_t part = left < to->need ? left : to->need;
    if (left % part != 0 || to->need % part != 0)
      return llrt_error(LLRT_UNSUPPORTED,
                        "axis %d of the shape ends inside a digit of %lld positions", to->axis,
                        (long long)digit->extent);
    LLRT_TRY(deal(to, digit, part, stride));
    left /= part;
    if (left > 1 && __builtin_mul_overflow(stride, part, &stride))
      return llrt_error(LLRT_UNSUPPORTED, "a stride passes 2^63");
  }
  return LLRT_OK;
}

static llrt_status group(const llrt_storage *flat, int rank, const int64_t *shape,
                         llrt_storage *out) {
  bound_shape bound;
  LLRT_TRY(tirx_bind(flat, rank, shape, &bound));
  LLRT_REQUIRE(flat->rank == 1, "the layout has %d axes, not one", flat->rank);
  bool plain = !storage_has_tile(flat) && flat->pad == LLRT_PAD_NONE;
  for (int i = 0; i < flat->n_digits; i++)
    plain &= flat->digit[i].extent != LLRT_EXTENT_REST && storage_stride_is_number(&flat->digit[i]);
  LLRT_REQUIRE(plain, "the layout is more than digits of fixed extents and strides");
  *out = *flat;
  out->rank = rank;
  out->n_digits = 0;
  if (rank == 0) return LLRT_OK;
  dealer to = {out, rank - 1, shape[rank - 1]};
  for (int i = 0; i < flat->n_digits; i++)
    if (flat->digit[i].axis != LLRT_AXIS_REPLICA) LLRT_TRY(deal_digit(&to, &flat->digit[i], shape));
  to.axis = LLRT_AXIS_REPLICA;
  for (int i = 0; i < flat->n_digits; i++)
    if (flat->digit[i].axis == LLRT_AXIS_REPLICA)
      LLRT_TRY(deal(&to, &flat->digit[i], flat->digit[i].extent, flat->digit[i].stride));
  memset(out->digit + out->n_digits, 0,
         (size_t)(LLRT_MAX_DIGITS - out->n_digits) * sizeof out->digit[0]);
  return LLRT_OK;
}

llrt_status llrt_tirx_group(const llrt_storage *flat, int rank, const int64_t *shape,
                            llrt_storage *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  llrt_storage result;
  llrt_status status = group(flat, rank, shape, &result);
  *out = status ? (llrt_storage){0} : result;
  return status;
}

/* ---- places ---- */

bool tirx_names_memory(const llrt_storage *storage) {
  bool named = storage->n_targets == 0 || storage->offset[0] != 0 || storage_has_tile(storage);
  for (int i = 0; i < storage->n_digits; i++) named |= storage->digit[i].target == 0;
  return named;
}

static void name_axes(const llrt_storage *storage, llrt_places *out) {
  for (int t = 0; t < storage->n_targets; t++)
    memcpy(out->axis[out->n_axes++], storage->target[t], LLRT_NAME_BYTES);
  if (tirx_names_memory(storage)) strcpy(out->axis[out->n_axes++], STORAGE_MEMORY);
}

/* coords of shape[rank] as coordinates of the storage. */
static llrt_status to_own_axes(const llrt_storage *storage, int rank, const int64_t *shape,
                               const int64_t *coords, int64_t *own) {
  LLRT_REQUIRE(coords || rank == 0, "coords: NULL");
  for (int axis = 0; axis < rank; axis++)
    LLRT_REQUIRE(coords[axis] >= 0 && coords[axis] < shape[axis],
                 "coordinate %lld is outside axis %d of extent %lld", (long long)coords[axis], axis,
                 (long long)shape[axis]);
  if (storage->rank != 1) {
    for (int axis = 0; axis < rank; axis++) own[axis] = coords[axis];
    return LLRT_OK;
  }
  own[0] = 0;
  for (int axis = 0; axis < rank; axis++) own[0] = own[0] * shape[axis] + coords[axis];
  return LLRT_OK;
}

static llrt_status list_places(const llrt_storage *storage, int rank, const int64_t *shape,
                               const int64_t *coords, int64_t first, llrt_places *out) {
  bound_shape bound;
  int64_t own[LLRT_MAX_RANK], place[LLRT_MAX_TARGETS + 1];
  LLRT_TRY(tirx_bind(storage, rank, shape, &bound));
  LLRT_TRY(to_own_axes(storage, rank, shape, coords, own));
  LLRT_REQUIRE(first >= 0, "first is %lld, not 0 or more", (long long)first);
  out->copies = storage_copies(storage, &bound.binding);
  name_axes(storage, out);
  for (; out->n < LLRT_MAX_PLACES && first + out->n < out->copies; out->n++) {
    storage_place(storage, &bound.binding, own, first + out->n, place);
    for (int i = 0; i < out->n_axes; i++)
      out->at[out->n][i] = place[i < storage->n_targets ? i + 1 : 0];
  }
  return LLRT_OK;
}

llrt_status llrt_storage_places(const llrt_storage *storage, int rank, const int64_t *shape,
                                const int64_t *coords, int64_t first, llrt_places *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  memset(out, 0, sizeof *out);
  llrt_status status = list_places(storage, rank, shape, coords, first, out);
  if (status) memset(out, 0, sizeof *out);
  return status;
}
