/* Questions about the memory that a kernel touches: where a value's elements lie in a tensor or in
 * a buffer of shared memory, and how many of them one access may move. Planning, checks, the
 * interpreter and emission ask them, of finished kernels and of kernels in the making. */
#ifndef LLRT_JIT_PLAN_FACTS_ACCESS_H
#define LLRT_JIT_PLAN_FACTS_ACCESS_H

#include "base/bits.h"
#include "jit/plan/kernel/plan.h"
#include "layout/f2.h"

/* How the bits of the kernel's tile move an address. Addresses are in elements of the tensor or
 * buffer. */
typedef struct plan_address_map {
  /* By tile bit: what the bit XORs into the address through the tensor's COLUMNS digits. */
  uint64_t column[LLRT_MAX_BITS];
  /* Address bits that the grid's bits may move; 0 for a buffer. */
  uint64_t of_grid;
  /* By tile bit: bits of the digits (out bits of `space`) that it sets and whose effect is not in
   * `column`, because the digit adds a stride or chooses a value of an index. */
  uint64_t strided[LLRT_MAX_BITS];
} plan_address_map;

/* Whether `column` alone says how the tile coordinate `tile` moves the address: no bit of a STRIDE
 * digit or of an index is left once those that occur twice cancel. */
bool plan_is_unstrided(const plan_address_map *map, uint64_t tile);

/* The map of tensor number `tensor`. */
void plan_address_of_tensor(const plan_kernel *kernel, int tensor, plan_address_map *map);

/* The map of buffer number `buffer`, from a slot's first element on. The repetition is not part of
 * the address: the step names it. All zero for a buffer whose layout has no right inverse. */
void plan_address_of_buffer(const plan_kernel *kernel, int buffer, plan_address_map *map);

/* In which repetition of a buffer an element of a value is stored and loaded: the XOR of
 * `of_register` over the set bits of its register index and of `of_warp` over those of its warp.
 * All zero where the buffer holds the whole tile at once. */
typedef struct plan_repetitions {
  uint64_t of_register[24], of_warp[8];
  uint64_t warps; /* bits of the repetition's number that the warp decides and registers do not */
} plan_repetitions;

void plan_repetitions_of(const plan_kernel *kernel, int buffer, const plan_value *value,
                         plan_repetitions *out);

/* Whether register index `reg` is moved in a repetition, in those warps that take part in it. */
bool plan_repetition_has(const plan_repetitions *repetitions, int repetition, uint64_t reg);

/* Which block of the cluster holds an element of a buffer: the XOR of `of_tile` over the set bits
 * of its tile coordinate, and of the reading block's own number the bits in `own` (elements of
 * which every block has a copy). All zero where kernels have no clusters. */
typedef struct plan_blocks {
  uint64_t of_tile[LLRT_MAX_BITS], own;
} plan_blocks;

void plan_blocks_of_buffer(const plan_kernel *kernel, int buffer, plan_blocks *out);

/* Whether each block of the cluster finds all that it has of a value in its own shared memory. */
bool plan_is_local(const plan_kernel *kernel, int buffer, const plan_value *value);

/* log2 of the repetitions of a buffer that steps name; a loop's iterations number the others. */
static inline int plan_buffer_parts(const plan_buffer *buffer) {
  return buffer->layout.in[1].bits - buffer->iterations;
}

/* Bytes of an access of 2^vector elements of `bits` bits each. */
static inline int plan_access_bytes(int bits, int vector) { return (bits << vector) / 8; }

/* Bytes that a buffer's layout numbers. A slot may be shorter: by tile padding that ends it, which
 * nobody copies or multiplies. */
static inline int plan_buffer_held(const plan_buffer *buffer) {
  return plan_access_bytes(buffer->bits, buffer->layout.in[0].bits);
}

/* Where a buffer with all its slots ends: bytes from the beginning of shared memory. */
static inline int32_t plan_buffer_end(const plan_buffer *buffer) {
  return buffer->offset + buffer->bytes * bits_max(buffer->slots, 1);
}

/* For each j < vector: positions[j] is the number of the first bit of in-dim `dim` that moves the
 * address by exactly 2^j elements. False where a j has none. positions has room for `vector`
 * numbers; NULL: they are not wanted. */
bool plan_access_positions(const plan_value *value, const plan_address_map *map, plan_dim dim,
                           int vector, int *positions);

/* Whether every 32-bit word of a tensor's memory is whole in a value, its elements in memory's
 * order: on a GPU in the lowest bits of a thread's register index; on the host in those that a lane
 * holds in one machine word and then the lowest lane bits. True of elements of 32 bits and more. */
bool plan_keeps_words(const plan_kernel *kernel, const plan_value *value, int tensor);

/* Whether 2^vector elements of a value that are neighbours in in-dim `dim` can be one access: they
 * follow each other in memory, machine words have them in memory's order, and every such access
 * begins at a multiple of its own size (as far as columns say). */
bool plan_access_fits(const plan_value *value, const plan_address_map *map, plan_dim dim,
                      int vector);

/* log2 elements of the widest access that fits and that the target has; 0: one by one. */
int plan_access_widest(const plan_kernel *kernel, const plan_value *value,
                       const plan_address_map *map, plan_dim dim);

#endif
