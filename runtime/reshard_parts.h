/* Parts of shardings, rank by rank, and what two of them have in common. */
#ifndef LLRT_RUNTIME_RESHARD_PARTS_H
#define LLRT_RUNTIME_RESHARD_PARTS_H

#include <llrt/mesh.h>
#include <llrt/tensor.h>

/* The part of a rank; *part has extents 0 where it is not of the mesh, and the result is false. */
bool reshard_part(const llrt_sharding *sharding, const int64_t *shape, int64_t rank,
                  llrt_part *part);

/* What parts of `axes` axes have in common; false: nothing. */
bool reshard_overlap(int axes, const llrt_part *a, const llrt_part *b, int64_t *begin,
                     int64_t *extent);

/* Whether two parts are the same box. */
bool reshard_same_box(const llrt_part *a, const llrt_part *b);

/* The storage of rank's part, whose RUN-TIME digits have the strides of that rank: strides[rank]
 * [LLRT_MAX_RANK], elements; NULL where there are no such digits. */
llrt_status reshard_bind(const llrt_sharding *sharding, const int64_t *strides, int64_t rank,
                         const llrt_part *part, llrt_storage_binding *binding);

/* The part as its memory has it: indexed axes have the indices' extents, folded ones 1. */
void reshard_index_part(const llrt_index *indices, int n, llrt_part *part);

/* Bit a: axis a has a RUN-TIME digit. */
uint32_t reshard_open_axes(const llrt_storage *storage);

/* How many summands each element is the sum of, and how many copies there are of each. */
int64_t reshard_count_summands(const llrt_sharding *sharding);
int64_t reshard_count_copies(const llrt_sharding *sharding);

#endif
