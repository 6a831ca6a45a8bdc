/* Where an element lies: evaluating a bound storage. */
#include "layout/storage_rule.h"

#include "base/bits.h"
#include "layout/f2.h"

/* The offset inside the tile of the first copy of a flat tile coordinate. */
static int64_t tile_offset(const llrt_layout *tile, uint64_t coordinate) {
  uint64_t offset;
  f2_solve(tile->column, tile->in[0].bits, &coordinate, 1, &offset);
  return (int64_t)offset;
}

/* Splits the tile's bits off each axis; left[axis] is what remains above them. */
static uint64_t take_tile(const llrt_storage *storage, const int64_t *coords, int64_t *left) {
  uint64_t inside = 0;
  for (int axis = 0, shift = 0; axis < storage->rank; axis++) {
    int bits = storage_tile_bits(storage, axis);
    if (bits) inside |= ((uint64_t)coords[axis] & bits_mask(bits)) << shift;
    left[axis] = coords[axis] >> bits;
    shift += bits;
  }
  return inside;
}

int64_t llrt_storage_offset(const llrt_storage *storage, const llrt_storage_binding *binding,
                            const int64_t *coords) {
  int64_t left[LLRT_MAX_RANK]; /* of each axis's coordinate, above what was taken */
  uint64_t inside = take_tile(storage, coords, left);
  int64_t offset = binding->origin[0];
  if (storage_has_tile(storage)) offset += tile_offset(&storage->tile, inside);
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    if (digit->axis == LLRT_AXIS_REPLICA) continue;
    int64_t *coordinate = &left[digit->axis];
    if (digit->target == 0) offset += *coordinate % binding->extent[i] * binding->stride[i];
    *coordinate /= binding->extent[i];
  }
  if (!storage_has_swizzle(storage)) return offset;
  return (int64_t)storage_swizzle(&storage->swizzle, (uint64_t)offset);
}

/* The tile's free variables: offset bits whose column depends on earlier ones. */
static uint64_t free_bits(const llrt_storage *storage) {
  if (!storage_has_tile(storage)) return 0;
  int bits = storage->tile.in[0].bits;
  return ~f2_pivots(storage->tile.column, bits) & bits_mask(bits);
}

int64_t storage_copies(const llrt_storage *storage, const llrt_storage_binding *binding) {
  int n_free = bits_count(free_bits(storage));
  int64_t copies = n_free < 63 ? 1ll << n_free : INT64_MAX;
  for (int i = 0; i < storage->n_digits; i++)
    if (storage->digit[i].axis == LLRT_AXIS_REPLICA &&
        __builtin_mul_overflow(copies, binding->extent[i], &copies))
      copies = INT64_MAX;
  return copies;
}

bool storage_writes_more(const llrt_storage *storage) {
  bool more = storage->pad == LLRT_PAD_VALUE || free_bits(storage) != 0;
  for (int i = 0; i < storage->n_digits; i++)
    more |= storage->digit[i].axis == LLRT_AXIS_REPLICA && storage->digit[i].extent != 1;
  return more;
}

/* The difference between the tile's first copy and another: the free bits of `copy` set, and the
 * others so that the map stays the same. */
static int64_t tile_copy(const llrt_storage *storage, int64_t *copy) {
  int64_t difference = 0;
  for (uint64_t left = free_bits(storage); left; left &= left - 1, *copy >>= 1) {
    int bit = bits_lowest(left);
    if (*copy & 1)
      difference ^= 1ll << bit ^ tile_offset(&storage->tile, storage->tile.column[bit]);
  }
  return difference;
}

void storage_place(const llrt_storage *storage, const llrt_storage_binding *binding,
                   const int64_t *coords, int64_t copy, int64_t *place) {
  int64_t left[LLRT_MAX_RANK];
  uint64_t inside = take_tile(storage, coords, left);
  for (int t = 0; t <= storage->n_targets; t++) place[t] = binding->origin[t];
  if (storage_has_tile(storage))
    place[0] += tile_offset(&storage->tile, inside) ^ tile_copy(storage, &copy);
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    int64_t *from = digit->axis == LLRT_AXIS_REPLICA ? &copy : &left[digit->axis];
    place[digit->target] += *from % binding->extent[i] * binding->stride[i];
    *from /= binding->extent[i];
  }
  if (storage_has_swizzle(storage))
    place[0] = (int64_t)storage_swizzle(&storage->swizzle, (uint64_t)place[0]);
}
