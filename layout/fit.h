/* The pieces that register families are multiplied together from, and the fit to a shape. */
#ifndef LLRT_LAYOUT_FIT_H
#define LLRT_LAYOUT_FIT_H

#include <llrt/layout.h>

#define FIT_NO_AXIS (-1)

/* An in-dim walking over sizes[order[0]], sizes[order[1]], … positions: the identity onto out-dims
 * in that order. The positions along `broadcast` (or FIT_NO_AXIS) are copies. */
llrt_status fit_spread(const char *in, int rank, const int64_t *sizes, const int64_t *order,
                       int broadcast, llrt_layout *out);

/* self = self * identity1d(size, in, dim<axis>); zeros instead of the identity for fit_repeat. */
llrt_status fit_extend(llrt_layout *self, int64_t size, const char *in, int axis);
llrt_status fit_repeat(llrt_layout *self, int64_t size, const char *in, int axis);

/* Puts the out-dims into the order dim0, dim1, …; they are these. */
llrt_status fit_order_axes(int rank, llrt_layout *self);

/* bits[axis] = log2 of the part of the shape that one block of the cluster has. */
void fit_block_bits(const llrt_layout *cga, int rank, const int64_t *shape, int *bits);

/* (block cut or grown to its part of the shape) * (cga cut to the shape), out-dims dim0, dim1, ….
 * Growth is the identity on the first in-dim, over out-dims in block's order; cutting makes 0 of
 * coordinates outside. shape: powers of two. */
llrt_status fit_to_shape(const llrt_layout *block, const llrt_layout *cga, int rank,
                         const int64_t *shape, llrt_layout *out);

#endif
