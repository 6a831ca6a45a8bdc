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

/* The turns [*begin, *end) of a block whose uppers are given; turn t changes grid bits and upper parts. */
/* What a block does of plan_deal when `left` of its turns are left (-1: all): turns from .. to of a position, behind
 * which `rest` are left; blocks from `before` to the one before this one have turns of it before these. */
typedef struct plan_piece {
  int64_t left, rest, position, from, to, before;
} plan_piece;
plan_piece plan_deal_piece(int64_t positions, int64_t turns, int64_t blocks, int64_t block, int64_t left);

void plan_block_turns(const plan_kernel *kernel, const int64_t upper[PLAN_MAX_DIGITS],
                      const uint64_t *args, int64_t *begin, int64_t *end);
void plan_decode_turn(const plan_kernel *kernel, int64_t turn, const uint64_t *args, uint64_t *grid,
                      int64_t upper[PLAN_MAX_DIGITS]);

/* Whether the PLAN_AHEAD step has a PLAN_COPY in it: a group, in turns that are not there of no copies. */
bool plan_begins_copies(const plan_kernel *kernel, int at);

/* The digits' positions of tile coordinate y in that block. */
void plan_tile_position(const plan_kernel *kernel, uint64_t y, uint64_t grid,
                        const int64_t upper[PLAN_MAX_DIGITS], int64_t position[PLAN_MAX_DIGITS]);

/* The flat index at tile coordinate `tile` of a block; false outside the block's part or the tensor. */
bool plan_flat_index(const plan_kernel *kernel, int64_t block, uint64_t tile, const uint64_t *args,
                     int64_t *index);
/* The digits' positions of element `index` of a flat kernel; of those that are walked, as `upper` has them. */
void plan_flat_position(const plan_kernel *kernel, int64_t index, const uint64_t *args,
                        const int64_t upper[PLAN_MAX_DIGITS],
                        int64_t position[PLAN_MAX_DIGITS]);

/* The coordinate of an axis at these positions. */
int64_t plan_coordinate(const plan_kernel *kernel, int axis,
                        const int64_t position[PLAN_MAX_DIGITS]);
/* What positions of arguments count (plan_kernel.position). */
int64_t plan_position_of(const plan_kernel *kernel, const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args);

/* What a tensor's indices add at one position. */
typedef struct plan_index_terms {
  uint64_t columns; /* joins the XOR */
  int64_t sum;      /* joins the sum */
  void *base;       /* a pointer list's address; NULL: the tensor's own */
  bool valid;       /* every value is in range: memory may be touched */
  bool kept;        /* no value leaves the element out: it is written */
} plan_index_terms;

/* The element offset on a tensor; terms NULL: it has no indices. */
int64_t plan_offset(const plan_kernel *kernel, int tensor,
                    const int64_t position[PLAN_MAX_DIGITS], const plan_index_terms *terms,
                    const uint64_t *args, int64_t unknown);

/* index_eval.c */

/* The out bits of space that belong to digits along any of the axes (bit a: axis a); those that choose a
 * value of one of the tensor's indices. */
uint64_t plan_axes_bits(const plan_kernel *kernel, unsigned axes);
uint64_t plan_selecting_bits(const plan_kernel *kernel, int tensor);

/* Whether elements with a value out of range are not moved. */
bool plan_leaves_out(const plan_index *index);

/* Whether a kernel's elements may lie beyond the axis's shape. */
bool plan_overhangs(const plan_kernel *kernel, int axis);

/* Where the index's value for these positions lies, in values; -1: beyond the last. */
int64_t plan_index_place(const plan_kernel *kernel, const plan_index *index,
                         const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args, int64_t unknown);

/* log2 consecutive values that a thread loads at once for an access by `value`, all of whose elements lie
 * inside the shape: position[j] is the register bit that moves the index's coordinate by 2^j. */
int plan_index_vector(const plan_kernel *kernel, const plan_index *index, const plan_value *value,
                      int position[]);

/* Reads the value from memory, clamps it where asked to; whether it is in range. True beyond the shape,
 * where there are no values: an index says nothing of pads. */
bool plan_index_value(const plan_kernel *kernel, const plan_index *index,
                      const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args, int64_t *value);

/* What all indices of a tensor add; and, for the cost, with values unknown: `far` apart. */
void plan_index_terms_at(const plan_kernel *kernel, int tensor,
                         const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args,
                         plan_index_terms *terms);
void plan_index_terms_far(const plan_kernel *kernel, int tensor,
                          const int64_t position[PLAN_MAX_DIGITS], int64_t far,
                          plan_index_terms *terms);

/* Whether every bound on accesses to a tensor holds. */
bool plan_position_inside(const plan_kernel *kernel, int tensor, uint32_t apart,
                          const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args);

/* The positions of the element that lies before another one's in the destination's memory (kernel.sequence); false where there is
 * none. */
bool plan_position_before(const plan_kernel *kernel, const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args,
                          int64_t before[PLAN_MAX_DIGITS]);

/* Whether every bound holds for all of a block. */
bool plan_block_interior(const plan_kernel *kernel, const int64_t upper[PLAN_MAX_DIGITS], uint32_t apart,
                         const uint64_t *args);
/* overhang.c: whether tensor 0's memory has all of the vectors that the block's rows overhang, where that
 * guards the interior. */
bool plan_block_within(const plan_kernel *kernel, uint64_t grid, const int64_t upper[PLAN_MAX_DIGITS],
                       const uint64_t *args);

/* What a position that a bound looks at must stay below. */
int64_t plan_bound_limit(const plan_kernel *kernel, const plan_bound *bound, const uint64_t *args);

/* region.c: the bits of a digit's position that registers, lanes and warps of the value move; whether all that
 * it has in an iteration is surely inside every bound, and surely beyond one of the destination's. */
uint64_t plan_iteration_mask(const plan_kernel *kernel, const plan_value *value, int digit);
/* Positions that a bound looks at from the least to the greatest that an iteration may have, where that is a multiple of
 * a power of two. */
int64_t plan_iteration_span(const plan_kernel *kernel, const plan_value *value, const plan_bound *bound);
void plan_iteration_reach(const plan_kernel *kernel, const plan_value *value, uint64_t iteration,
                          uint64_t grid, const int64_t upper[PLAN_MAX_DIGITS], const uint64_t *args,
                          bool *interior, bool *beyond);

/* Whether a block lies beyond a device extent. */
bool plan_block_beyond(const plan_kernel *kernel, const int64_t upper[PLAN_MAX_DIGITS],
                       const uint64_t *args);
/* The axis's extent where it is read from memory. */
int64_t plan_device_limit(const plan_kernel *kernel, int axis, const uint64_t *args);

/* Tile coordinate of (register, lane, warp, iteration). */
uint64_t plan_value_at(const plan_value *value, uint64_t reg, uint64_t lane, uint64_t warp,
                       uint64_t iteration);

#endif
