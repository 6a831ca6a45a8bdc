/* See dot_shared.h. */
#include "jit/plan/facts/dot_shared.h"

#include "base/bits.h"
#include "base/status.h"

#include <string.h>

#define PIECE_BITS 4 /* log2 bytes of what is permuted */
#define SOURCE_BIT 7 /* address bits that choose the permutation, from this one on */
#define ATOM_BITS 3  /* log2 rows of an atom */
#define MAX_SWIZZLE 3
#define OFFSET_LIMIT (1 << 18) /* a descriptor's distances have 14 bits, in units of 16 bytes */

uint64_t dot_shared_permuted(uint64_t offset, int swizzle) {
  return offset ^ (offset >> SOURCE_BIT & bits_mask(swizzle)) << PIECE_BITS;
}

llrt_status dot_shared_layout(const uint64_t *position, int n_position, const uint64_t *k, int n_k,
                              int bits, bool transposed, int tile_bits, llrt_layout *out) {
  const uint64_t *along = transposed ? position : k, *across = transposed ? k : position;
  int n_along = transposed ? n_position : n_k, n_across = transposed ? n_k : n_position;
  int element = bits_log2(bits) - 3, row = bits_min(n_along, PIECE_BITS + MAX_SWIZZLE - element);
  int swizzle = row + element - PIECE_BITS, n = 0;
  uint64_t plain[LLRT_MAX_BITS];
  if (element < 0 || swizzle < 0 || n_across < ATOM_BITS || n_along + n_across > LLRT_MAX_BITS)
    return llrt_error(LLRT_UNSUPPORTED,
                      "2^%d rows of 2^%d elements of %d bits are no atom of shared memory",
                      n_across, n_along, bits);
  for (int i = 0; i < row; i++) plain[n++] = along[i];
  for (int i = 0; i < n_across; i++) plain[n++] = across[i];
  for (int i = row; i < n_along; i++) plain[n++] = along[i];
  *out = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(out, "tile", tile_bits));
  LLRT_TRY(llrt_layout_add_in(out, "offset", n));
  for (int i = 0; i < n; i++) {
    out->column[i] = 0;
    for (uint64_t x = dot_shared_permuted(1ull << (element + i), swizzle) >> element; x; x &= x - 1)
      out->column[i] ^= plain[bits_lowest(x)];
  }
  LLRT_TRY(llrt_layout_add_in(out, "repetition", 0));
  return llrt_layout_add_in(out, "block", 0);
}

/* Columns i of bits past `first` move by *distance << (i - first); the first one says how far. */
static bool steps_by(uint64_t column, int i, int first, int32_t *distance) {
  if (i == first) *distance = (int32_t)column;
  return column < OFFSET_LIMIT && column == (uint64_t)*distance << (i - first) &&
         column % (1 << PIECE_BITS) == 0;
}

static bool fits(const uint64_t *along, int n_along, const uint64_t *across, int n_across,
                 int element, dot_matrix *matrix) {
  int row = PIECE_BITS + matrix->swizzle - element; /* log2 elements */
  matrix->leading = 1 << PIECE_BITS; /* where rows are not left the hardware asks for one */
  matrix->stride = 1 << (PIECE_BITS + matrix->swizzle + ATOM_BITS);
  for (int i = 0; i < n_along; i++) {
    uint64_t column = dot_shared_permuted(along[i], matrix->swizzle);
    if (i < row ? column != 1ull << (element + i) : !steps_by(column, i, row, &matrix->leading))
      return false;
  }
  for (int i = 0; i < n_across; i++) {
    uint64_t column = dot_shared_permuted(across[i], matrix->swizzle);
    if (i < ATOM_BITS ? column != 1ull << (element + row + i)
                      : !steps_by(column, i, ATOM_BITS, &matrix->stride))
      return false;
  }
  return true;
}

bool dot_matrix_of(const uint64_t *position, int n_position, const uint64_t *k, int n_k, int bits,
                   dot_matrix *out) {
  int element = bits_log2(bits) - 3;
  for (int transposed = 0; transposed <= (bits == 16); transposed++)
    for (int swizzle = MAX_SWIZZLE; swizzle >= transposed; swizzle--) {
      *out = (dot_matrix){.transposed = transposed, .swizzle = (uint8_t)swizzle};
      if (transposed ? fits(position, n_position, k, n_k, element, out)
                     : fits(k, n_k, position, n_position, element, out))
        return true;
    }
  return false;
}

bool dot_matrix_moves(const dot_matrix *matrix, uint64_t offset) {
  return (offset & bits_mask(matrix->swizzle) << SOURCE_BIT) == 0 &&
         offset % (1 << PIECE_BITS) == 0 && offset < OFFSET_LIMIT;
}
