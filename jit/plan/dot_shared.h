/* Operands of warpgroups' products in shared memory (PTX ISA, "wgmma", "Shared Memory Matrix Layout").
 *
 * Such an operand has positions (m or n) and k. Rows of 16, 32, 64 or 128 bytes go along one of both, the *along*
 * bits; eight rows that follow each other along the other one, the *across* bits, form an atom. Inside an atom the
 * 16-byte pieces of a row are permuted: address bits 4.. are XORed with bits 7.., as many as a row has pieces bits. All
 * of it is linear over F2: a buffer's layout says it, and a descriptor is read off the layout. */
#ifndef LLRT_JIT_PLAN_DOT_SHARED_H
#define LLRT_JIT_PLAN_DOT_SHARED_H

#include <llrt/layout.h>

#include <stdbool.h>
#include <stdint.h>

/* What the swizzle wants of a buffer's address. */
#define DOT_SHARED_ALIGNMENT 1024

/* A matrix as a descriptor has it: bytes between atoms across, between rows' parts along. */
typedef struct dot_matrix {
  bool transposed;         /* rows go along positions */
  uint8_t swizzle;         /* log2 pieces of a row, 0 to 3 */
  int32_t leading, stride; /* bytes */
} dot_matrix;

/* An offset in bytes whose 16-byte pieces are permuted by so many bits; its own inverse. */
uint64_t dot_shared_permuted(uint64_t offset, int swizzle);

/* The layout of a buffer (offset, repetition, block -> tile of tile_bits bits) that holds elements of `bits` at the
 * tile vectors spanned by `position` and `k`, swizzled, in rows along k, or transposed along positions. UNSUPPORTED where
 * there are too few of either for an atom. */
llrt_status dot_shared_layout(const uint64_t *position, int n_position, const uint64_t *k, int n_k, int bits,
                              bool transposed, int tile_bits, llrt_layout *out);

/* The matrix whose position bits (low bit first) and k bits move the address by these bytes, for elements of `bits`;
 * false where no descriptor has it. Rows along positions need elements of 16 bits. */
bool dot_matrix_of(const uint64_t *position, int n_position, const uint64_t *k, int n_k, int bits, dot_matrix *out);

/* Whether an offset (bytes) may be added to the matrix's address: it moves no bits that choose a permutation. */
bool dot_matrix_moves(const dot_matrix *matrix, uint64_t offset);

#endif
