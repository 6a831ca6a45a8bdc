/* Where a logical element lives: all solutions x of layout(x) = y. */
#ifndef LLRT_TOOLS_LAYOUT_INVERSE_H
#define LLRT_TOOLS_LAYOUT_INVERSE_H

#include <llrt/layout.h>

/* Columns of the layout reduced to echelon form: `value` has its highest bit where no other value
 * has its own, and layout(input) = value. */
typedef struct layout_inverse {
  const llrt_layout *layout; /* borrowed */
  int n_pivots;
  uint64_t value[LLRT_MAX_BITS], input[LLRT_MAX_BITS];
  int n_free;                   /* each element of the image has 2^n_free copies */
  uint64_t free[LLRT_MAX_BITS]; /* a basis of the kernel: layout(free[i]) = 0 */
} layout_inverse;

void layout_inverse_init(const llrt_layout *layout, layout_inverse *out);

/* Finds the flat input of copy number `copy` (< 2^n_free) of the flat output y; copy 0 has all free
 * variables zero. False when y is not in the image. */
bool layout_inverse_find(const layout_inverse *inverse, uint64_t y, uint64_t copy, uint64_t *x);

/* The coordinate of in-dim (out-dim) `index` inside a flat input (output). */
uint64_t layout_in_coordinate(const llrt_layout *layout, int index, uint64_t flat);
uint64_t layout_out_coordinate(const llrt_layout *layout, int index, uint64_t flat);

/* Fills axis[i] with the out-dim that is logical axis i: "dim<i>" where all out-dims are so named,
 * else the layout's own order. */
void layout_axes(const llrt_layout *layout, int axis[LLRT_MAX_OUT_DIMS]);

/* The extents of dim0..dim<n-1>, when these are all the out-dims there are; false for other
 * layouts. */
bool layout_extents(const llrt_layout *layout, int *rank, int64_t shape[LLRT_MAX_RANK]);

#endif
