/* What storage's own files share. */
#ifndef LLRT_LAYOUT_STORAGE_RULE_H
#define LLRT_LAYOUT_STORAGE_RULE_H

#include <llrt/storage.h>

#define STORAGE_IN_DIM "offset"  /* the in-dim of a tile */
#define STORAGE_MEMORY "m"       /* target 0, in text */
#define STORAGE_MAX_SPAN_BITS 62 /* a span in elements is at most 2^62 */
#define STORAGE_MAX_OFFSET (1ll << STORAGE_MAX_SPAN_BITS)

static inline bool storage_has_tile(const llrt_storage *storage) { return storage->tile.n_in != 0; }

/* log2 of the tile's positions along an axis. */
static inline int storage_tile_bits(const llrt_storage *storage, int axis) {
  return storage_has_tile(storage) ? storage->tile.out[axis].bits : 0;
}

static inline bool storage_stride_is_number(const llrt_digit *digit) {
  return digit->stride != LLRT_STRIDE_PACKED && digit->stride != LLRT_STRIDE_RUNTIME;
}

/* Digits (bit i: digit i) whose stride the rule leaves open: RUN-TIME, or PACKED outside one or
 * outside a REST digit. */
static inline uint32_t storage_open_strides(const llrt_storage *storage) {
  uint32_t open = 0;
  bool open_below = false;
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    bool runtime = digit->stride == LLRT_STRIDE_RUNTIME;
    if (runtime || (digit->stride == LLRT_STRIDE_PACKED && open_below)) open |= 1u << i;
    open_below |= runtime || digit->extent == LLRT_EXTENT_REST;
  }
  return open;
}

static inline bool storage_has_reversed(const llrt_storage *storage) {
  for (int i = 0; i < storage->n_digits; i++)
    if (storage->digit[i].reversed) return true;
  return false;
}

static inline bool storage_has_swizzle(const llrt_storage *storage) {
  return storage->swizzle.swizzle_len != 0;
}

/* Z(place). Z is its own inverse: the bits that it reads are not those that it changes. */
static inline uint64_t storage_swizzle(const llrt_swizzle *swizzle, uint64_t place) {
  uint64_t inner = ((1ull << swizzle->swizzle_len) - 1) << swizzle->per_element;
  if (swizzle->upward) return place ^ (place & inner) << swizzle->atom_len;
  return place ^ (place >> swizzle->atom_len & inner);
}

/* The bits that Z changes lie below this one. */
static inline int storage_swizzle_changes_below(const llrt_swizzle *swizzle) {
  return swizzle->per_element + swizzle->swizzle_len + (swizzle->upward ? swizzle->atom_len : 0);
}

/* The bits of a place that Z reads or changes lie below this one. */
static inline int storage_swizzle_end(const llrt_swizzle *swizzle) {
  return swizzle->per_element + swizzle->swizzle_len + swizzle->atom_len;
}

/* What tells copies apart: one number from 0 below storage_copies(), mixed radix over the replica
 * digits in the order of the list, the tile's free variables lowest. 0 is the first copy. */

/* Copies of every element; INT64_MAX where they are more. Precondition: binding came from storage.
 */
int64_t storage_copies(const llrt_storage *storage, const llrt_storage_binding *binding);

/* place[0] = where copy `copy` of the element at coords lies in memory, place[t] = its coordinate
 * on target t; place has n_targets + 1 entries. */
void storage_place(const llrt_storage *storage, const llrt_storage_binding *binding,
                   const int64_t *coords, int64_t copy, int64_t *place);

/* Whether whoever writes every element once has not written everything: elements have copies, or
 * pads get a value. */
bool storage_writes_more(const llrt_storage *storage);

/* One form of storages that differ only in how the rule is written: PACKED becomes a number where
 * it is one whatever the shape, digits of one position go, digits that continue each other are one,
 * digits that continue the tile become part of it, the others stand in one order; so does a swizzle
 * that only the tile meets; targets stand by name; a pad rule that never pads is none; an empty
 * tile is the empty layout, unused entries are zero. Errors: as llrt_storage_validate. */
llrt_status storage_canonicalise(const llrt_storage *storage, llrt_storage *out);

/* The one rule that operations are keyed, planned and bound by for all rules that are equal to it:
 * the canonical form with as few digits and as many PACKED strides as it can be written with.
 * Bindings of equal rules to a shape are then the same numbers, digit by digit. Errors: as
 * llrt_storage_validate. */
llrt_status storage_representative(const llrt_storage *storage, llrt_storage *out);

/* row_major, whose rows take memory by whole numbers of 2^bits elements. */
llrt_status storage_whole_rows(int rank, int bits, llrt_storage *out);

/* `bits` bits of the positions along a tile's axis, from bit `first` on: bits 0, 1, … of another's.
 */
typedef struct storage_tile_piece {
  int8_t from, to, first, bits;
} storage_tile_piece;

/* The tile whose axes are dealt out so, on `rank` axes. Precondition: no two pieces have one `to`,
 * and together they have all of the tile's bits. */
llrt_status storage_deal_tile(const llrt_layout *tile, const storage_tile_piece *piece, int n,
                              int rank, llrt_layout *out);

/* The same rule with axis a called to[a], on `rank` axes; axes that nothing is called have one
 * position, and so have those with a negative to[a], of which the tile has no bits (precondition):
 * their digits stay where they are, as replicas of one position, so that bindings of either rule
 * serve the other. */
llrt_status storage_renumber(const llrt_storage *storage, const int8_t to[LLRT_MAX_RANK], int rank,
                             llrt_storage *out);

#endif
