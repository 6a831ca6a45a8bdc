/* Where the elements of a block lie: what decode_block.c, position.c, place.c and mask.c share.
 * What they offer to other rooms is in address.h. */
#ifndef LLRT_JIT_EMIT_PLACE_H
#define LLRT_JIT_EMIT_PLACE_H

#include "jit/emit/core/emitter.h"

/* ---- position.c ---- */

/* x as `type`, an integer type that holds it; x is unsigned. */
LLVMValueRef emit_resize(const emitter *e, LLVMValueRef x, LLVMTypeRef type);

/* A linear map is given by its columns: `of_tile` of the tile bits, `of_grid` of the grid bits
 * (NULL: the grid adds nothing). Its moving part is the XOR of what the thread, the iteration and
 * the grid contribute; what the register contributes is known when code is made. */

/* The moving part. `bits`: a superset of the bits that it can set; i32 where that holds them, else
 * i64. */
LLVMValueRef emit_moving_part(emitter *e, const plan_value *value, const uint64_t *of_tile,
                              const uint64_t *of_grid, uint64_t bits);
/* The bits that the moving part can set. */
uint64_t emit_moving_bits(const emitter *e, const plan_value *value, const uint64_t *of_tile,
                          const uint64_t *of_grid);
/* i64: the image of tile coordinate `tile`, XOR the moving part. */
LLVMValueRef emit_linear_sum(emitter *e, const plan_value *value, uint64_t tile,
                             const uint64_t *of_tile, const uint64_t *of_grid);

/* The position of digit i at tile coordinate `tile` XOR the moving parts. Not for flat kernels. */
LLVMValueRef emit_digit_position(emitter *e, const plan_value *value, int i, uint64_t tile);
/* Whether iterations of loops move digit i's position. */
bool emit_iterations_move(const emitter *e, const plan_value *value, int i);

/* Pointer to a tensor's element at these positions, one a digit; of 4-bit elements, to its byte.
 * Sets *offset (i64) to the element's offset in elements. Not for tensors with indices. */
LLVMValueRef emit_pointer_at(emitter *e, int tensor, const LLVMValueRef position[PLAN_MAX_DIGITS],
                             LLVMValueRef *offset);

/* Flat kernels number all positions by one index. That of the block's first position. */
LLVMValueRef emit_first_index(emitter *e);
/* How far the position at tile coordinate `tile` XOR what the thread adds is behind the first. */
LLVMValueRef emit_flat_low(emitter *e, const plan_value *value, uint64_t tile);
/* Its index: the sum of both. */
LLVMValueRef emit_flat_index(emitter *e, const plan_value *value, uint64_t tile);
/* The positions, one a digit, of what is `low` (i64, below 2^31) behind the block's first. */
void emit_flat_positions(emitter *e, LLVMValueRef low, LLVMValueRef position[PLAN_MAX_DIGITS]);
/* The coordinate along an axis that positions are. */
LLVMValueRef emit_coordinate_of(const emitter *e, int axis,
                                const LLVMValueRef position[PLAN_MAX_DIGITS]);

#endif
