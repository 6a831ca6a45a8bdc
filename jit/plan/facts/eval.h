/* A kernel's maps evaluated on numbers, as one block or thread would: which positions a block has,
 * where their elements lie, what bounds say. The interpreter and the cost count use these
 * functions, and emitted code must agree with them.
 *
 * Everywhere here `args` are the kernel's arguments, one of 64 bits each, in the order of
 * launch.arg; NULL where no run is known. `upper[d]` is the upper part of digit d, `position[d]`
 * its whole position, upper part and fixed bits together. */
#ifndef LLRT_JIT_PLAN_FACTS_EVAL_H
#define LLRT_JIT_PLAN_FACTS_EVAL_H

#include "jit/plan/facts/index_eval.h"
#include "jit/plan/kernel/plan.h"

/* The value of a number: its constant, or the argument that it names; `unknown` where it names an
 * argument and args is NULL. */
int64_t plan_number_value(const plan_number *number, const uint64_t *args, int64_t unknown);

/* Splits the number of a block, 0 .. positions of the grid - 1, into its grid bits and the upper
 * parts of the digits that are grid places; upper parts of all others become 0. */
void plan_decode_block(const plan_kernel *kernel, int64_t block, const uint64_t *args,
                       uint64_t *grid, int64_t upper[PLAN_MAX_DIGITS]);

/* What a block does next where turns are dealt out (plan_deal): some turns of one position. */
typedef struct plan_piece {
  int64_t left;     /* turns that the block still has, this piece's among them; 0: it is done */
  int64_t rest;     /* turns that it has behind this piece */
  int64_t position; /* of the grid */
  int64_t from, to; /* turns [from, to) of that position */
  int64_t before; /* blocks [before, its own number) have the position's turns in front of `from` */
} plan_piece;

/* The piece of block `block` of `blocks`, of `positions` positions with `turns` turns each, when it
 * has `left` turns left; left = -1: its first piece. */
plan_piece plan_deal_piece(int64_t positions, int64_t turns, int64_t blocks, int64_t block,
                           int64_t left);

/* The turns [*begin, *end) of the walk that a block with these upper parts takes. */
void plan_block_turns(const plan_kernel *kernel, const int64_t upper[PLAN_MAX_DIGITS],
                      const uint64_t *args, int64_t *begin, int64_t *end);

/* Puts turn number `turn` of the walk into *grid and upper, above and beside what the block's own
 * number gave them. */
void plan_decode_turn(const plan_kernel *kernel, int64_t turn, const uint64_t *args, uint64_t *grid,
                      int64_t upper[PLAN_MAX_DIGITS]);

/* Whether step number `at`, a PLAN_AHEAD, owns a PLAN_COPY. It then forms a commit group in every
 * turn; in turns whose later turn does not exist, a group of no copies. */
bool plan_begins_copies(const plan_kernel *kernel, int at);

/* The digits' positions of tile coordinate y in the block with these grid bits and upper parts. */
void plan_tile_position(const plan_kernel *kernel, uint64_t y, uint64_t grid,
                        const int64_t upper[PLAN_MAX_DIGITS], int64_t position[PLAN_MAX_DIGITS]);

/* Flat kernels: the element index at tile coordinate `tile` of block number `block`. False where it
 * is behind what the block takes, or behind the last element. */
bool plan_flat_index(const plan_kernel *kernel, int64_t block, uint64_t tile, const uint64_t *args,
                     int64_t *index);

/* Flat kernels: the digits' positions of element `index`; digits that are walked, and so are no
 * places, keep the position in `upper`. */
void plan_flat_position(const plan_kernel *kernel, int64_t index, const uint64_t *args,
                        const int64_t upper[PLAN_MAX_DIGITS], int64_t position[PLAN_MAX_DIGITS]);

/* The coordinate along an axis, in elements: the sum of position * step over the axis's digits. */
int64_t plan_coordinate(const plan_kernel *kernel, int axis,
                        const int64_t position[PLAN_MAX_DIGITS]);

/* What an argmin or argmax reports for these positions: the coordinates along the axes of
 * kernel.position_axes, weighted by kernel.position. */
int64_t plan_position_of(const plan_kernel *kernel, const int64_t position[PLAN_MAX_DIGITS],
                         const uint64_t *args);

/* The offset of the element at these positions in a tensor, in elements from the tensor's address
 * on. terms: what the tensor's indices add; NULL: it has none. Strides that are arguments count as
 * `unknown` where args is NULL. */
int64_t plan_offset(const plan_kernel *kernel, int tensor, const int64_t position[PLAN_MAX_DIGITS],
                    const plan_index_terms *terms, const uint64_t *args, int64_t unknown);

/* Whether the element at these positions is inside every bound on accesses to the tensor but those
 * in `ignored_bounds` (bit i: bound i). */
bool plan_position_inside(const plan_kernel *kernel, int tensor, uint32_t ignored_bounds,
                          const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args);

/* The positions of the element in front of the one at `position` in the destination's memory, by
 * kernel.sequence. False for the first element. */
bool plan_position_before(const plan_kernel *kernel, const int64_t position[PLAN_MAX_DIGITS],
                          const uint64_t *args, int64_t before[PLAN_MAX_DIGITS]);

/* Whether every element of the block with these upper parts is inside every bound but those in
 * `ignored_bounds`. */
bool plan_block_interior(const plan_kernel *kernel, const int64_t upper[PLAN_MAX_DIGITS],
                         uint32_t ignored_bounds, const uint64_t *args);

/* What the coordinate or position that a bound looks at must stay below. Reads device memory where
 * the bound is of a device extent and args are given; INT64_MAX where the limit is not known. */
int64_t plan_bound_limit(const plan_kernel *kernel, const plan_bound *bound, const uint64_t *args);

/* Whether nothing of the destination's part of a block is within the device extents: the block has
 * nothing to do. */
bool plan_block_beyond(const plan_kernel *kernel, const int64_t upper[PLAN_MAX_DIGITS],
                       const uint64_t *args);

/* The extent of an axis that is read from device memory, taken into 0 .. its limit; the limit where
 * args is NULL or the axis has no device extent. */
int64_t plan_device_limit(const plan_kernel *kernel, int axis, const uint64_t *args);

/* The tile coordinate of the element in register `reg` of lane `lane` of warp `warp` in loop
 * iteration `iteration` of a value. */
uint64_t plan_value_at(const plan_value *value, uint64_t reg, uint64_t lane, uint64_t warp,
                       uint64_t iteration);

#endif
