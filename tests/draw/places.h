/* Where a storage puts every element of a tensor, by the definition at the head of llrt/storage.h
 * alone: no function of the library is asked. */
#ifndef LLRT_TESTS_DRAW_PLACES_H
#define LLRT_TESTS_DRAW_PLACES_H

#include <llrt/storage.h>

/* A rule on a shape. */
typedef struct places {
  llrt_storage rule;
  int64_t shape[LLRT_MAX_RANK], padded[LLRT_MAX_RANK];
  int64_t unit[LLRT_MAX_RANK]; /* positions that a pad rule fills up to */
  int64_t extent[LLRT_MAX_DIGITS], stride[LLRT_MAX_DIGITS], below[LLRT_MAX_DIGITS];
  int64_t span, elements, positions; /* of the shape, of the padded shape */
  int tile_bits[LLRT_MAX_RANK], tile_shift[LLRT_MAX_RANK];
  int tile_copies, copies;
  uint32_t *tile; /* tile_copies offsets of each coordinate inside the tile, the first being the one
                     that is read */
  bool open[LLRT_MAX_DIGITS]; /* the stride follows the tensor: RUN-TIME, or PACKED outside a digit
                                 that does */
} places;

/* False, with the reason, where the rule does not take the shape, or reaches past 2^31 places.
 * strides are read for RUN-TIME digits. To be freed in any event. */
bool places_make(const llrt_storage *rule, const int64_t *shape, const int64_t *strides,
                 places *made, const char **why);
void places_free(places *of);

/* The place of copy 0 .. copies - 1 of the element at coords inside the padded shape. Copy 0 is the
 * one that is read. */
int64_t places_at(const places *of, const int64_t *coords, int copy);

/* To the next coordinates below `ends`, the last axis fastest; false after the last. */
bool places_next(const int64_t *ends, int rank, int64_t *coords);

#endif
