/* Tensor memory of tcgen05: row x col x block -> dim0, dim1, rows being the 128 lanes.
 *
 * A zero column means a copy where it stands for rows 32 and 64, which are other warps' or, with
 * col_stride, columns that hold nothing. */
#include "base/bits.h"
#include "base/status.h"
#include "layout/family_rules.h"

static const int64_t order[] = {0, 1};

/* A layout row x col -> dim0 x dim1 of one position each, as factors are to be appended to. */
static llrt_status start(llrt_layout *out) {
  LLRT_TRY(family_start("row", 2, order, out));
  return fit_extend(out, 1, "col", 0);
}

/* Columns step over the shape that a tile leaves: M first, then N. */
static llrt_status repeat_along_columns(const int *bits, int first, int second, llrt_layout *out) {
  const int axes[] = {first, second};
  for (int i = 0; i < 2; i++) {
    int missing = bits[axes[i]] - out->out[axes[i]].bits; /* out-dims are dim0, dim1 throughout */
    if (missing > 0) LLRT_TRY(fit_extend(out, 1ll << missing, "col", axes[i]));
  }
  return LLRT_OK;
}

/* ---- accumulators and operands ---- */

static llrt_status check_tensor_memory(const family *self, int rank) {
  LLRT_REQUIRE(rank == 2, "tensor_memory needs rank 2, not %d", rank);
  LLRT_REQUIRE(self->block_m == 64 || self->block_m == 128, "block_m %lld is neither 64 nor 128",
               (long long)self->block_m);
  LLRT_TRY(family_check_power("block_n", self->block_n));
  if (self->col_stride) LLRT_TRY(family_check_power("col_stride", self->col_stride));
  return LLRT_OK;
}

/* 64 rows of block_n columns, 16 in each group of 32 lanes: rows 1 to 8 are themselves, 32 and
 * 64 are 16 and 32. Row 16 is the next tile along M, else along N, else nothing. */
static llrt_status rows_of_64(const int *bits, int block_n_bits, llrt_layout *out) {
  bool along_m = bits[0] > 6, along_n = !along_m && bits[1] > block_n_bits;
  LLRT_TRY(fit_extend(out, 16, "row", 0));
  LLRT_TRY(fit_extend(out, 1ll << block_n_bits, "col", 1));
  if (along_n) LLRT_TRY(fit_extend(out, 2, "row", 1));
  if (!along_m && !along_n) LLRT_TRY(fit_repeat(out, 2, "row", 0));
  LLRT_TRY(fit_extend(out, along_m ? 8 : 4, "row", 0));
  if (along_m) { /* rows 16, 32, 64 have got 16, 32, 64 of dim0: make them 64, 16, 32 */
    uint64_t row_64 = out->column[6];
    out->column[6] = out->column[5];
    out->column[5] = out->column[4];
    out->column[4] = row_64;
  }
  return LLRT_OK;
}

/* 64-row instructions of two blocks: the last column's place becomes the last row's. */
static llrt_status last_column_to_row(llrt_layout *out) {
  int rows = out->in[0].bits, columns = out->in[1].bits;
  LLRT_REQUIRE(columns > 0, "tensor_memory: two_ctas with block_m 64 needs two columns or more");
  uint64_t last = out->column[rows + columns - 1];
  for (int i = rows + columns - 1; i > rows; i--) out->column[i] = out->column[i - 1];
  out->column[rows] = last;
  out->in[0].bits++;
  out->in[1].bits--;
  return LLRT_OK;
}

llrt_status family_tensor_memory(const family *self, int rank, const int64_t *shape,
                                 llrt_layout *out) {
  LLRT_TRY(check_tensor_memory(self, rank));
  int bits[2];
  llrt_layout cga, block;
  LLRT_TRY(family_cluster(self, rank, FIT_NO_AXIS, &cga));
  fit_block_bits(&cga, rank, shape, bits);
  int block_n_bits = bits_min(bits_log2(self->block_n), bits[1]);
  LLRT_TRY(start(&block));
  if (self->col_stride) LLRT_TRY(fit_repeat(&block, self->col_stride, "col", 1));
  if (self->fp4_padded) LLRT_TRY(fit_repeat(&block, 2, "col", 1));
  if (self->block_m == 64 && !self->two_ctas) {
    LLRT_TRY(rows_of_64(bits, block_n_bits, &block));
  } else {
    LLRT_TRY(fit_extend(&block, self->block_m, "row", 0));
    LLRT_TRY(fit_extend(&block, 1ll << block_n_bits, "col", 1));
    if (self->block_m == 64) LLRT_TRY(last_column_to_row(&block));
  }
  LLRT_TRY(repeat_along_columns(bits, 0, 1, &block));
  return fit_to_shape(&block, &cga, rank, shape, out);
}

/* ---- scales ---- */

/* 32 rows of scales along MN, repeated in the four groups of 32 lanes; 4 columns along K and 2
 * along MN are an atom of 64 x 4. k_then_mn: atoms of 128 x 4, repeated along K first. */
llrt_status family_tensor_memory_scales(const family *self, int rank, const int64_t *shape,
                                        llrt_layout *out) {
  LLRT_REQUIRE(rank == 2, "tensor_memory_scales needs rank 2, not %d", rank);
  int bits[2];
  llrt_layout cga, block;
  LLRT_TRY(family_cluster(self, rank, FIT_NO_AXIS, &cga));
  fit_block_bits(&cga, rank, shape, bits);
  LLRT_TRY(start(&block));
  LLRT_TRY(fit_extend(&block, 32, "row", 0));
  LLRT_TRY(fit_repeat(&block, 4, "row", 0));
  LLRT_TRY(fit_extend(&block, 4, "col", 1));
  LLRT_TRY(fit_extend(&block, 2, "col", 0));
  if (self->k_then_mn && bits[0] > 6) LLRT_TRY(fit_extend(&block, 2, "col", 0));
  LLRT_TRY(repeat_along_columns(bits, self->k_then_mn ? 1 : 0, self->k_then_mn ? 0 : 1, &block));
  return fit_to_shape(&block, &cga, rank, shape, out);
}
