/* What decode_block.c, position.c, place.c and mask.c share; what they offer to others is in
 * address.h. */
#ifndef LLRT_JIT_EMIT_PLACE_H
#define LLRT_JIT_EMIT_PLACE_H

#include "jit/emit/core/emitter.h"

/* ---- position.c ---- */

/* An unsigned number in another integer type that holds it. */
LLVMValueRef emit_resize(const emitter *e, LLVMValueRef x, LLVMTypeRef type);

/* Of maps tile -> something (columns `of_tile`) and grid -> the same (`of_grid`, or NULL):
 * the XOR of what thread, iteration and grid add, in the narrower of i32 and i64 that holds `bits`,
 * a superset of what it can set; the bits that it can set; and the image of tile coordinate `tile`
 * XOR all of that, i64. */
LLVMValueRef emit_moving_part(emitter *e, const plan_value *value, const uint64_t *of_tile,
                              const uint64_t *of_grid, uint64_t bits);
uint64_t emit_moving_bits(const emitter *e, const plan_value *value, const uint64_t *of_tile,
                          const uint64_t *of_grid);
LLVMValueRef emit_linear_sum(emitter *e, const plan_value *value, uint64_t tile,
                             const uint64_t *of_tile, const uint64_t *of_grid);

/* The position of digit i at tile coordinate `tile` XOR the moving parts; not of flat kernels. */
LLVMValueRef emit_digit_position(emitter *e, const plan_value *value, int i, uint64_t tile);

/* Pointer to a tensor's element at the digits' positions (of 4 bits, to its byte), and the
 * element's offset, i64. The tensor has no indices. */
LLVMValueRef emit_pointer_at(emitter *e, int tensor, const LLVMValueRef position[PLAN_MAX_DIGITS],
                             LLVMValueRef *offset);

/* Flat kernels: the index of the block's first position; the position in the block at tile
 * coordinate `tile` XOR what the thread adds; their sum. */
LLVMValueRef emit_first_index(emitter *e);
LLVMValueRef emit_flat_low(emitter *e, const plan_value *value, uint64_t tile);
LLVMValueRef emit_flat_index(emitter *e, const plan_value *value, uint64_t tile);
/* Positions of all digits of what lies `low` (i64, below 2^31) behind the block's first; an axis's
 * coordinate of them. */
void emit_flat_positions(emitter *e, LLVMValueRef low, LLVMValueRef position[PLAN_MAX_DIGITS]);
LLVMValueRef emit_coordinate_of(const emitter *e, int axis,
                                const LLVMValueRef position[PLAN_MAX_DIGITS]);

#endif
