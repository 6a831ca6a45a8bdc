/* A box of a tensor as a tensor of its own in the same memory. */
#ifndef LLRT_LAYOUT_BOX_H
#define LLRT_LAYOUT_BOX_H

#include <llrt/storage.h>

typedef struct storage_box {
  llrt_storage storage;           /* of the box; without offset, and pads are left as they are */
  int64_t strides[LLRT_MAX_RANK]; /* of its RUN-TIME digits */
  uint32_t open; /* bit a: the stride of axis a is the tensor's own, of a RUN-TIME digit */
  int64_t
      offset; /* elements: where the box's place 0 lies in the tensor's memory, as it is bound */
  int64_t steps[LLRT_MAX_RANK]; /* of it, how many positions along RUN-TIME digits: so many times
                                   the tensor's stride of that axis */
} storage_box;

/* The box begin + [0, extent) of a tensor of shape[rank], which the storage is bound to, as a rule
 * of its own: place(begin + x) = offset + place'(x), copies included. *fits: false where there is
 * none: a box that cuts a tile, or digits at other places than where they begin and end. Of an axis
 * with one digit and no tile the stride, unless it is 1, is RUN-TIME, so that boxes of tensors of
 * other extents are of one rule. Precondition: extents are 1 or more, the box lies in the shape. */
void storage_box_find(const llrt_storage *storage, const llrt_storage_binding *binding,
                      const int64_t *shape, const int64_t *begin, const int64_t *extent,
                      storage_box *box, bool *fits);

#endif
