/* Evaluating a kernel's maps on numbers: what the interpreter and the cost count share, and what emitted
 * code must agree with. */
#ifndef LLRT_JIT_PLAN_EVAL_H
#define LLRT_JIT_PLAN_EVAL_H

#include "jit/plan/plan.h"

/* The value of a number; args may be NULL, then run-time numbers read as `unknown`. */
int64_t plan_number_value(const plan_number *number, const uint64_t *args, int64_t unknown);

/* Splits a block index into grid bits and the digits' upper parts. */
void plan_decode_block(const plan_kernel *kernel, int64_t block, const uint64_t *args,
                       uint64_t *grid, int64_t upper[PLAN_MAX_DIGITS]);

/* The digits' positions of tile coordinate y in that block. */
void plan_tile_position(const plan_kernel *kernel, uint64_t y, uint64_t grid,
                        const int64_t upper[PLAN_MAX_DIGITS], int64_t position[PLAN_MAX_DIGITS]);

/* The digits' positions of element `index` of a flat kernel. */
void plan_flat_position(const plan_kernel *kernel, int64_t index, const uint64_t *args,
                        int64_t position[PLAN_MAX_DIGITS]);

/* The element offset on a tensor. */
int64_t plan_offset(const plan_kernel *kernel, int tensor,
                    const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args, int64_t unknown);

/* Whether every bound on accesses to a tensor holds. */
bool plan_position_inside(const plan_kernel *kernel, int tensor,
                          const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args);

/* Whether every bound holds for all of a block. */
bool plan_block_interior(const plan_kernel *kernel, const int64_t upper[PLAN_MAX_DIGITS],
                         const uint64_t *args);

/* Tile coordinate of (register, lane, warp, iteration). */
uint64_t plan_value_at(const plan_value *value, uint64_t reg, uint64_t lane, uint64_t warp,
                       uint64_t iteration);

#endif
