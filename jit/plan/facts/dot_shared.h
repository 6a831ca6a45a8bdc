/* Operands of warpgroups' products in shared memory (PTX ISA, "wgmma", "Shared Memory Matrix
 * Layout").
 *
 * Such an operand has positions (m or n) and k. Rows of 16, 32, 64 or 128 bytes go along one of
 * both, the *along* bits; eight rows that follow each other along the other one, the *across* bits,
 * form an atom. Inside an atom the 16-byte pieces of a row are permuted: address bits 4.. are XORed
 * with bits 7.., as many as a row has pieces bits. All of it is linear over F2: a buffer's layout
 * says it, and a descriptor is read off the layout. */
#ifndef LLRT_JIT_PLAN_FACTS_DOT_SHARED_H
#define LLRT_JIT_PLAN_FACTS_DOT_SHARED_H

#include <llrt/layout.h>

#include <stdbool.h>
#include <stdint.h>

/* Bytes of which a buffer's address has to be a multiple, for the swizzle. */
#define DOT_SHARED_ALIGNMENT 1024

/* A matrix as a descriptor has it. */
typedef struct dot_matrix {
  bool transposed; /* rows go along positions, else along k */
  uint8_t swizzle; /* log2 pieces of 16 bytes of a row, 0 to 3 */
  int32_t leading; /* bytes from one part of a row to the next: along */
  int32_t stride;  /* bytes from one atom to the next: across */
} dot_matrix;

/* Where the byte at `offset` of an unswizzled buffer lies in one that is swizzled by `swizzle`
 * bits, and the other way round: the permutation is its own inverse. */
uint64_t dot_shared_permuted(uint64_t offset, int swizzle);

/* The layout (offset, repetition, block -> tile of tile_bits bits) of a swizzled buffer that holds
 * the elements, of `bits` bits, at the tile vectors that `position` and `k` span; rows go along k,
 * or (transposed) along positions. UNSUPPORTED where there are too few of either for an atom. */
llrt_status dot_shared_layout(const uint64_t *position, int n_position, const uint64_t *k, int n_k,
                              int bits, bool transposed, int tile_bits, llrt_layout *out);

/* The matrix whose position bits and k bits (low bit first) move the address by position[i] and
 * k[i] bytes, for elements of `bits` bits. False where no descriptor describes that; rows along
 * positions need elements of 16 bits. */
bool dot_matrix_of(const uint64_t *position, int n_position, const uint64_t *k, int n_k, int bits,
                   dot_matrix *out);

/* Whether the matrix may begin `offset` bytes further on: that changes no address bits that choose
 * the permutation. */
bool dot_matrix_moves(const dot_matrix *matrix, uint64_t offset);

#endif
