/* A storage on one shape as a list of digits with numbers, which recipes split into finer axes, cut
 * into parts along an axis, and pad. */
#ifndef LLRT_RECIPE_IMAGE_H
#define LLRT_RECIPE_IMAGE_H

#include "recipe/recipe.h"

#include <llrt/storage.h>

#define IMAGE_MAX_DIGITS 64

typedef struct image_digit {
  int64_t extent, stride; /* positions; elements */
  int32_t axis;
  bool down; /* position d adds (extent - 1 - d) * stride */
} image_digit;

/* The place of x is `offset` plus what the digits of each axis add, which split its coordinate from
 * the first (the lowest) to the last. */
typedef struct storage_image {
  int n;
  image_digit digit[IMAGE_MAX_DIGITS];
  int64_t offset; /* elements */
  int64_t span;   /* of the whole storage: elements from place 0 on */
  bool pads;      /* places without an element are written as pad_value, else left alone */
  uint64_t pad_value;
} storage_image;

/* The image of a storage on shape[rank]. Errors: as llrt_storage_bind; UNSUPPORTED for one that has
 * copies, swizzles, or other targets than memory. */
llrt_status image_make(const llrt_storage *storage, int rank, const int64_t *shape,
                       storage_image *out);

/* Puts finer axes in the place of `axis`: n of them, the slowest first, with numbers to[i] and
 * extents extent[i]; the slowest keeps what is left, pads among it. n = 0: no axis takes it, so
 * that `axis` has one position. Errors: UNSUPPORTED where a digit would be torn. */
llrt_status image_split(storage_image *image, int axis, int n, const int32_t *to,
                        const int64_t *extent);

/* Keeps the positions begin .. begin + length - 1 of an axis, from 0 on. Errors: UNSUPPORTED where
 * they begin inside of a tile, or end there and are not the axis's last: `last` says that they are.
 */
llrt_status image_cut(storage_image *image, int axis, int64_t begin, int64_t length, bool last);

/* Lets an axis of `extent` positions count down. Errors: UNSUPPORTED where it has pads. */
llrt_status image_turn(storage_image *image, int axis, int64_t extent);

/* Positions that the axis has with its pads. */
int64_t image_extent(const storage_image *image, int axis);

/* The storage of `rank` axes that places elements so, from element `image->offset` on. Errors:
 * UNSUPPORTED where it has more digits than a storage holds. */
llrt_status image_storage(const storage_image *image, int rank, llrt_storage *out);

#endif
