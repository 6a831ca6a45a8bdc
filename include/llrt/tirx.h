/* Places with named axes: where an element lies when a storage's digits add to lanes, warps,
 * columns of tensor memory and the like, and the way back. TIRx layouts are such storages: S[…] +
 * R[…] + offsets, possibly swizzled (docs/layout-language.md).
 *
 * A storage of one axis stands for every shape of its size: coordinates of another rank are
 * flattened first, the last axis fastest. The general rules of layout.h hold here too. Source: the
 * TIRx layout documentation of Apache TVM. */
#ifndef LLRT_TIRX_H
#define LLRT_TIRX_H

#include <llrt/storage.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_MAX_PLACES 64 /* of one answer */

/* Copies of one element: copy c has coordinate at[c][i] on axis[i]. */
typedef struct llrt_places {
  int64_t copies; /* of the element, in all */
  int32_t n;      /* of them here: min(copies - first, LLRT_MAX_PLACES) */
  int32_t n_axes;
  char axis[LLRT_MAX_TARGETS + 1]
           [LLRT_NAME_BYTES]; /* those that the storage names; `m`, memory, last */
  int64_t at[LLRT_MAX_PLACES][LLRT_MAX_TARGETS + 1];
} llrt_places;

/* OK when the storage takes this shape: by its own axes, or, having one axis, by its size. */
LLRT_API llrt_status llrt_tirx_admits(const llrt_storage *storage, int rank, const int64_t *shape);

/* The same rule with the axes of shape: a storage of one axis and fixed digits, its digits split
 * where an axis ends inside them. Errors: INVALID_ARGUMENT when the sizes differ; UNSUPPORTED when
 * an axis does not end at a divisor of a digit, so that no digits of this rank say the rule. */
LLRT_API llrt_status llrt_tirx_group(const llrt_storage *flat, int rank, const int64_t *shape,
                                     llrt_storage *out);

/* Copies first, first + 1, … of the element at coords[rank] of shape[rank]. Of one R[…] the extent
 * written last changes fastest. Errors: as llrt_storage_bind; a coordinate outside the shape;
 * RUN-TIME strides. */
LLRT_API llrt_status llrt_storage_places(const llrt_storage *storage, int rank,
                                         const int64_t *shape, const int64_t *coords, int64_t first,
                                         llrt_places *out);

/* The way back: *found = whether an element of shape has a copy at the place with coordinate at[i]
 * on the axis named axes[i]; then coords[rank] is one such element, the only one where no two share
 * a place. Axes of the storage that are not listed are at 0. Errors: as above; INVALID_ARGUMENT for
 * an axis that the storage does not have; UNSUPPORTED when strides overlap so much that the search
 * is given up. */
LLRT_API llrt_status llrt_storage_find(const llrt_storage *storage, int rank, const int64_t *shape,
                                       const char *const *axes, const int64_t *at, int n,
                                       bool *found, int64_t *coords);

/* The storage on this shape as a map over F2 from places to elements: in-dims `m` and the storage's
 * targets in its order, out-dims dim0..dim(rank-1). Errors: UNSUPPORTED, with the reason, when it
 * is not linear over F2: extents or strides that are no powers of two, an offset, digits that add
 * into the same bits, places that hold nothing, pads. */
LLRT_API llrt_status llrt_storage_to_layout(const llrt_storage *storage, int rank,
                                            const int64_t *shape, llrt_layout *out);

#ifdef __cplusplus
}
#endif
#endif
