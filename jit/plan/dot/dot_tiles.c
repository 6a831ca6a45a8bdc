/* Tiles of products: results of a block, K positions of a turn, warps. See dot_planner.h. */
#include "jit/plan/dot/dot_planner.h"

#include "base/bits.h"

/* Sums, A and B of a turn fit scratch memory, and operands of the innermost loops the nearest
 * cache. */
static dot_shape blocked_tile(const dot_planner *p) {
  int wide = llrt_dtype_bits(p->job.rule.sums) == 64;
  return (dot_shape){.bits = {6 - wide, 7 - wide, 6}, .blocked = true};
}

/* log2 K positions of a turn: a line of 128 bytes of an operand, half of one where there are no
 * copies ahead; fewer where each lane multiplies by itself. */
static int turn_bits(const dot_planner *p) {
  int wide = bits_max(llrt_dtype_bits(p->desc->tensors[0].dtype),
                      llrt_dtype_bits(p->desc->tensors[2].dtype));
  return 9 + p->target->async_copies - bits_log2(bits_max(wide, 8));
}

/* Warps of 64 x 64 results (half of that where there are sums of turns beside), so that fragments
 * are read from shared memory at half the rate of what multiplies them; the largest tile whose
 * rings fit. */
static dot_shape matrix_tile(const dot_planner *p, int warps) {
  static const dot_shape tiles[] = {{.bits = {7, 8, 0}, .warps = 3},
                                    {.bits = {7, 8, -1}, .warps = 3},
                                    {.bits = {7, 7, -1}, .warps = 2}};
  static const dot_shape twice = {.bits = {7, 7, 0}, .warps = 3};
  bool tf32 = p->job.rule.compute == DOT_TF32; /* a lane has room for 64 x 64 of a warp's operand */
  int least = 5 - tf32, turn = tf32 ? bits_min(turn_bits(p), 6) : turn_bits(p);
  int wide = bits_max(llrt_dtype_bits(p->desc->tensors[0].dtype),
                      llrt_dtype_bits(p->desc->tensors[2].dtype));
  for (int i = 0; i < 3 && p->target->async_copies; i++) {
    dot_shape shape = dot_sums_short(&p->job, p->target) && i == 0 ? twice : tiles[i];
    shape.bits[DOT_DIM_K] = bits_max(turn + tiles[i].bits[DOT_DIM_K], least);
    int64_t positions = ((int64_t)1 << shape.bits[0]) + ((int64_t)1 << shape.bits[1]);
    if ((positions * wide / 8 << shape.bits[DOT_DIM_K]) * DOT_SLOTS <=
        p->target->facts.shared_bytes)
      return shape;
  }
  return (dot_shape){.bits = {7, 7, bits_max(turn, least)}, .warps = warps};
}

#define WORD_K \
  4 /* log2 positions of K among which a word's elements lie that llrt_dot_pack packs */

static dot_shape plain_tile(const dot_planner *p) {
  llrt_dtype sum = p->job.rule.sums;
  if (p->target->simd_lanes) return blocked_tile(p);
  int warps = bits_min(p->target->warp_bits, dot_has_matrices(&p->job, p->target) ? 2 : 3);
  int least = p->job.words[0] || p->job.words[1] ? WORD_K : 0;
  if (!dot_has_matrices(&p->job, p->target))
    return (dot_shape){.bits = {6, 6, bits_max(sum == LLRT_F32 || sum == LLRT_I32 ? 3 : 2, least)},
                       .warps = warps};
  if (sum == LLRT_F64) return (dot_shape){.bits = {6, 6, bits_max(3, least)}, .warps = warps};
  return matrix_tile(p, warps);
}

/* Turns are lines of 128 bytes. Where sums of a turn join those of all turns there are four
 * warpgroups, so that while one adds the products of three fill the tensor cores. */
dot_shape dot_warpgroup_tile(const dot_planner *p) {
  dot_shape shape = {.bits = {7, 8, turn_bits(p)},
                     .warps = 3,
                     .warpgroups = true,
                     .rounds = true,
                     .all_memory = true};
  if (!p->four_warpgroups) return shape;
  shape.bits[DOT_DIM_M] = 8;
  shape.bits[DOT_DIM_N] = 7;
  shape.warps = 4;
  return shape;
}

dot_shape dot_large_tile(const dot_planner *p) {
  return p->warpgroups ? dot_warpgroup_tile(p) : plain_tile(p);
}

dot_shape dot_narrow_tile(const dot_planner *p, int narrow, int bits) {
  dot_shape shape = plain_tile(p);
  shape.bits[narrow] = bits;
  if (!dot_has_matrices(&p->job, p->target)) return shape;
  shape.bits[1 - narrow] = bits == DOT_NARROW_BITS ? 6 : 7;
  shape.warps = bits_min(shape.warps, 2);
  return shape;
}
