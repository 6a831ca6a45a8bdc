/* Shared memory: offset x block -> dims. An offset that lies past a shape smaller than the layout's
 * own tile holds a copy, so that elements stay where the hardware looks for them. */
#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/family_rules.h"

/* ---- swizzled and rotating ---- */

static llrt_status check_swizzle(const family *self, int rank) {
  LLRT_TRY(family_check_power("vec", self->vec));
  LLRT_TRY(family_check_power("per_phase", self->per_phase));
  LLRT_TRY(family_check_power("max_phase", self->max_phase));
  return family_check_order("order", &self->order, rank);
}

/* The phase of row 2^bit: rows change phase every per_phase of them, and after max_phase phases
 * begin anew; rotating layouts then also XOR in how often they began anew. All of it is linear over
 * rows, so the phases of powers of two say it all. */
static int64_t phase_of(const family *self, int bit) {
  int64_t step = (1ll << bit) / self->per_phase;
  int64_t phase = step % self->max_phase;
  if (self->kind == FAMILY_ROTATING_SHARED) phase ^= step / self->max_phase % self->max_phase;
  return phase;
}

/* The fastest axis is a row of memory; vectors of vec elements in it are XORed by the row's
 * phase, the row being the coordinate of the second axis. */
llrt_status family_swizzled(const family *self, int rank, const int64_t *shape, llrt_layout *out) {
  LLRT_TRY(check_swizzle(self, rank));
  int bits[LLRT_MAX_RANK];
  int64_t sizes[LLRT_MAX_RANK];
  llrt_layout cga, block;
  LLRT_TRY(family_cluster(self, rank, FIT_NO_AXIS, &cga));
  fit_block_bits(&cga, rank, shape, bits);
  for (int i = 0; i < rank; i++) sizes[i] = 1ll << bits[i];
  const int64_t *order = self->order.value;
  LLRT_TRY(fit_spread("offset", rank, sizes, order, FIT_NO_AXIS, &block));
  int columns = bits[order[0]], rows = rank > 1 ? bits[order[1]] : 0;
  for (int i = 0; i < rows; i++) {
    uint64_t phase = (uint64_t)phase_of(self, i);
    block.column[columns + i] |= phase * (uint64_t)self->vec & bits_mask(columns);
  }
  return fit_to_shape(&block, &cga, rank, shape, out);
}

/* ---- as wgmma, tcgen05 and the tensor memory accelerator see it ---- */

enum {
  CORE_ROWS = 8,       /* rows of a core matrix */
  CORE_ROW_BITS = 128, /* 16 bytes of each */
  BOX_LIMIT = 256      /* positions along an axis of one copy by the tensor memory accelerator */
};

static llrt_status check_nvmma_shared(const family *self, int rank) {
  int64_t swizzle = self->swizzle_bytes, element = self->element_bits;
  LLRT_REQUIRE(swizzle == 0 || swizzle == 32 || swizzle == 64 || swizzle == 128,
               "swizzle_bytes %lld is none of 0, 32, 64, 128", (long long)swizzle);
  LLRT_REQUIRE(bits_is_power_of_two(element) && element >= 4 && element <= CORE_ROW_BITS,
               "element_bits %lld is none of 4, 8, 16, 32, 64, 128", (long long)element);
  LLRT_REQUIRE(swizzle == 0 || rank >= 2, "a swizzled nvmma_shared needs rank 2 or more, not %d",
               rank);
  LLRT_REQUIRE(!self->fp4_padded || (element == 8 && swizzle != 0),
               "fp4_padded needs element_bits 8 and a swizzle");
  return LLRT_OK;
}

/* Columns of a swizzle atom as offsets count them, padding included. */
static int64_t atom_columns(const family *self) {
  return 8 * self->swizzle_bytes / self->element_bits;
}

/* Tensor columns of one: half as many where 8 of 16 offsets are padding. */
static int64_t packed_columns(const family *self) {
  return atom_columns(self) / (self->fp4_padded ? 2 : 1);
}

/* The column at which offset column 2^bit lies: the padding, bit 3, repeats the 8 before it. */
static uint64_t packed_column(const family *self, int bit) {
  if (!self->fp4_padded || bit < 3) return 1ull << bit;
  return bit == 3 ? 0 : 1ull << (bit - 1);
}

/* 8 rows of swizzle_bytes, 16-byte vectors XORed by the row: offset -> dim1, dim0. */
static llrt_status swizzle_atom(const family *self, llrt_layout *out) {
  static const int64_t order[] = {1, 0};
  int columns = bits_log2(atom_columns(self));
  int vector = bits_log2(CORE_ROW_BITS / self->element_bits);
  int rows_a_phase = bits_log2(128 / self->swizzle_bytes), rows = bits_log2(CORE_ROWS);
  LLRT_TRY(family_start("offset", 2, order, out));
  LLRT_TRY(fit_repeat(out, atom_columns(self) * CORE_ROWS, "offset", 1));
  out->out[0].bits = (uint8_t)bits_log2(packed_columns(self));
  out->out[1].bits = (uint8_t)rows;
  for (int i = 0; i < columns; i++) out->column[i] = packed_column(self, i);
  for (int i = 0; i < rows; i++) {
    out->column[columns + i] = 1ull << (out->out[0].bits + i);
    if (i >= rows_a_phase)
      out->column[columns + i] |= packed_column(self, vector + i - rows_a_phase);
  }
  return LLRT_OK;
}

/* One copy's box: the block's shape, at most 256 along an axis, and one swizzle atom wide along the
 * contiguous axis. A box lower than the atom is raised to it; the layout is cut in the end. */
static void box_bits(const family *self, int rank, const int *block, int *box) {
  for (int i = 0; i < rank; i++) box[i] = bits_min(block[i], bits_log2(BOX_LIMIT));
  if (self->swizzle_bytes == 0) return;
  box[self->transposed ? 0 : rank - 1] = bits_log2(packed_columns(self));
  int rows = 0, first = self->transposed ? rank - 1 : 0, count = self->transposed ? 1 : rank - 1;
  for (int i = first; i < first + count; i++) rows += box[i];
  int missing = bits_log2(CORE_ROWS) - rows;
  if (missing > 0) box[first + count - 1] += missing;
}

/* Lays the atoms side by side over a box seen as rows x columns, rows first, and reads the
 * result as row-major positions of the box's axes. Seen as a matrix, a box has its last axis as
 * columns; when transposed as rows, and its first axis, which is contiguous in memory, is the
 * fastest of the others. So with three axes, (a, b, c) is read as (c; b, a)'s positions in the
 * order b, c, a: a quirk of Triton's, kept. */
static llrt_status tile_box(const family *self, int rank, const int *box, llrt_layout *out) {
  LLRT_TRY(swizzle_atom(self, out));
  int outer = 0, last = box[rank - 1], total;
  for (int i = 0; i + 1 < rank; i++) outer += box[i];
  total = outer + last;
  int rows = self->transposed ? last : outer, columns = total - rows;
  LLRT_TRY(fit_extend(out, 1ll << (rows - out->out[1].bits), "offset", 0));
  LLRT_TRY(fit_extend(out, 1ll << (columns - out->out[0].bits), "offset", 1));
  out->n_out = 0;
  memset(out->out, 0, sizeof out->out);
  for (int i = 0; i < rank; i++) {
    char name[LLRT_NAME_BYTES];
    int axis = self->transposed ? (rank - i) % rank : rank - 1 - i;
    layout_axis_name(axis, name);
    LLRT_TRY(layout_append_out(out, name, box[axis]));
  }
  return LLRT_OK;
}

llrt_status family_nvmma_shared(const family *self, int rank, const int64_t *shape,
                                llrt_layout *out) {
  LLRT_TRY(check_nvmma_shared(self, rank));
  int block_bits[LLRT_MAX_RANK], box[LLRT_MAX_RANK];
  llrt_layout cga, block;
  LLRT_TRY(family_cluster(self, rank, FIT_NO_AXIS, &cga));
  fit_block_bits(&cga, rank, shape, block_bits);
  box_bits(self, rank, block_bits, box);
  if (self->swizzle_bytes) {
    LLRT_TRY(tile_box(self, rank, box, &block));
  } else {
    int64_t order[LLRT_MAX_RANK], sizes[LLRT_MAX_RANK];
    family_matrix_order(rank, false, order);
    for (int i = 0; i < rank; i++) sizes[i] = 1ll << box[i];
    LLRT_TRY(fit_spread("offset", rank, sizes, order, FIT_NO_AXIS, &block));
  }
  LLRT_TRY(fit_order_axes(rank, &block)); /* boxes follow each other along dim0 first */
  return fit_to_shape(&block, &cga, rank, shape, out);
}
