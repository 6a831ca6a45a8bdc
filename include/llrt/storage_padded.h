/* Shared memory with gaps: after every so many elements, some are left out, which spreads
 * columns over banks without a swizzle. Not linear over F2, so a storage and no layout. */
#ifndef LLRT_STORAGE_PADDED_H
#define LLRT_STORAGE_PADDED_H

#include <llrt/layout_families.h>
#include <llrt/storage.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_MAX_INTERVALS 8

/* Axes are laid out without gaps, order[0] fastest, in each block of a cluster; or as `linear`
 * says, a map offset (and block) -> dim0, dim1, … that permutes bits. An element at position p of
 * that lies at
 *
 *   p + sum over i of floor(p / interval[i]) * padding[i],
 *
 * in elements. Intervals and paddings are powers of two; intervals ascend, each once. A cluster's
 * blocks are the target `block` of the storage. */
typedef struct llrt_padded_params {
  size_t size;
  int rank, n_intervals;
  int64_t interval[LLRT_MAX_INTERVALS], padding[LLRT_MAX_INTERVALS];
  int order[LLRT_MAX_RANK]; /* read only without `linear`, as is the next */
  llrt_cluster_params cluster;
  const llrt_layout *linear; /* or NULL; borrowed for the call */
} llrt_padded_params;

/* For one shape of powers of two, to which the storage's extents are fixed; with `linear` it must
 * be that map's, or NULL. Errors: INVALID_ARGUMENT for parameters that are no powers of two, or a
 * map that is not surjective; UNSUPPORTED when there are more digits than a storage holds, or a
 * basis of the map is more than one bit: what is padded is then no sum of digits. Source: Triton's
 * padded shared encoding. */
LLRT_API llrt_status llrt_storage_padded_shared(const llrt_padded_params *params,
                                                const int64_t *shape, llrt_storage *out);

#ifdef __cplusplus
}
#endif
#endif
