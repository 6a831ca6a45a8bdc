#include "layout/fit.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"

llrt_status fit_spread(const char *in, int rank, const int64_t *sizes, const int64_t *order,
                       int broadcast, llrt_layout *out) {
  *out = (llrt_layout){0};
  int columns = 0;
  for (int i = 0; i < rank; i++) columns += bits_log2(sizes[order[i]]);
  LLRT_TRY(llrt_layout_add_in(out, in, columns));
  int column = 0, row = 0;
  for (int i = 0; i < rank; i++) {
    char name[LLRT_NAME_BYTES];
    layout_axis_name((int)order[i], name);
    int bits = bits_log2(sizes[order[i]]);
    bool copies = order[i] == broadcast;
    LLRT_TRY(llrt_layout_add_out(out, name, copies ? 0 : bits));
    for (int k = 0; k < bits; k++) out->column[column++] = copies ? 0 : 1ull << row++;
  }
  return LLRT_OK;
}

llrt_status fit_extend(llrt_layout *self, int64_t size, const char *in, int axis) {
  char name[LLRT_NAME_BYTES];
  layout_axis_name(axis, name);
  llrt_layout factor;
  LLRT_TRY(llrt_layout_strided1d(size, 1, in, name, &factor));
  return llrt_layout_product(self, &factor, self);
}

llrt_status fit_repeat(llrt_layout *self, int64_t size, const char *in, int axis) {
  char name[LLRT_NAME_BYTES];
  layout_axis_name(axis, name);
  llrt_layout factor;
  LLRT_TRY(llrt_layout_zeros1d(size, in, name, 1, &factor));
  return llrt_layout_product(self, &factor, self);
}

/* The axis that out-dim dim<n> names. */
static int axis_of(const llrt_dim *dim) { return dim->name[3] - '0'; }

/* Appends identities on the first in-dim until no out-dim is smaller than bits[axis]. */
static llrt_status grow(llrt_layout *self, const int *bits) {
  for (int i = 0; i < self->n_out; i++) {
    int axis = axis_of(&self->out[i]), missing = bits[axis] - self->out[i].bits;
    if (missing > 0) LLRT_TRY(fit_extend(self, 1ll << missing, self->in[0].name, axis));
  }
  return LLRT_OK;
}

/* Shrinks out-dims larger than bits[axis]; a coordinate that no longer fits becomes 0. */
static void cut(llrt_layout *self, const int *bits) {
  llrt_layout whole = *self;
  memset(self->column, 0, sizeof self->column);
  for (int i = 0, from = 0, to = 0; i < whole.n_out; i++) {
    int had = whole.out[i].bits, kept = bits_min(had, bits[axis_of(&whole.out[i])]);
    for (int k = 0; had > 0 && k < llrt_layout_in_bits(&whole); k++) {
      uint64_t coordinate = (whole.column[k] >> from) & bits_mask(had);
      if (kept > 0 && coordinate <= bits_mask(kept)) self->column[k] |= coordinate << to;
    }
    self->out[i].bits = (uint8_t)kept;
    from += had;
    to += kept;
  }
}

llrt_status fit_order_axes(int rank, llrt_layout *self) {
  char names[LLRT_MAX_RANK][LLRT_NAME_BYTES];
  const char *axes[LLRT_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    layout_axis_name(i, names[i]);
    axes[i] = names[i];
  }
  return llrt_layout_transpose_outs(self, axes, rank, self);
}

/* bits[axis] = of the part of the shape that one block has; *blocks = cga cut to the shape. */
static void divide_shape(const llrt_layout *cga, int rank, const int64_t *shape, int *bits,
                         llrt_layout *blocks) {
  for (int i = 0; i < rank; i++) bits[i] = bits_log2(shape[i]);
  *blocks = *cga;
  cut(blocks, bits);
  for (int i = 0; i < blocks->n_out; i++) bits[axis_of(&blocks->out[i])] -= blocks->out[i].bits;
}

void fit_block_bits(const llrt_layout *cga, int rank, const int64_t *shape, int *bits) {
  llrt_layout blocks;
  divide_shape(cga, rank, shape, bits, &blocks);
}

llrt_status fit_to_shape(const llrt_layout *block, const llrt_layout *cga, int rank,
                         const int64_t *shape, llrt_layout *out) {
  int bits[LLRT_MAX_RANK];
  llrt_layout blocks, one = *block;
  divide_shape(cga, rank, shape, bits, &blocks);
  LLRT_TRY(grow(&one, bits));
  cut(&one, bits);
  LLRT_TRY(llrt_layout_product(&one, &blocks, out));
  return fit_order_axes(rank, out);
}
