/* Whether values of an index follow each other, so that an access may have several of them: each
 * lane of a warp looks at one, and all agree. Every warp of a block looks at all that the block
 * chooses, so that they take the same way. Must agree with jit/plan/facts/following.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/index.h"

#include "base/bits.h"
#include "jit/plan/facts/following.h"
#include "jit/plan/facts/index_eval.h"

#include <string.h>

/* The block's positions along an index's axis, as far as there are lanes one in each: by lane bit
 * the tile bit, those of the lowest positions first. left: tile bits of the others. */
typedef struct lane_positions {
  uint64_t of_lane[LLRT_MAX_BITS], left;
} lane_positions;

static lane_positions find_positions(const emitter *e, const plan_index *index, int following) {
  const llrt_layout *space = &e->kernel->space;
  uint64_t low = plan_following_bits(e->kernel, index, following);
  const uint64_t among[2] = {low, plan_axes_bits(e->kernel, index->axes) & ~low};
  lane_positions found = {.left = 0};
  int n = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < LLRT_MAX_BITS; k++)
      for (int b = 0; b < space->in[0].bits; b++) {
        if (space->column[b] != 1ull << k || !(among[pass] >> k & 1)) continue;
        if (n < e->kernel->lane_bits) found.of_lane[n++] = 1ull << b;
        else found.left |= 1ull << b;
      }
  return found;
}

/* A value whose lanes have these positions; first: each the first of its 2^following. */
static plan_value lay_positions(const emitter *e, const lane_positions *at, int first) {
  plan_value value = e->kernel->value[0];
  uint64_t *lane = &value.layout.column[value.layout.in[PLAN_REGISTER].bits];
  memset(value.layout.column, 0, sizeof value.layout.column);
  for (int i = first; i < e->kernel->lane_bits; i++) lane[i] = at->of_lane[i];
  value.reduced = 0;
  value.layout.out[0].bits = e->kernel->space.in[0].bits;
  return value;
}

static LLVMValueRef equals(emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(e->builder, LLVMIntEQ, a, b, "");
}

/* Of the block's first two positions. */
static LLVMValueRef begin_to_follow(emitter *e, const plan_index *index) {
  lane_positions at = find_positions(e, index, 1);
  plan_value still = lay_positions(e, &at, e->kernel->lane_bits);
  LLVMValueRef first = emit_raw_value(e, index, &still, 0);
  LLVMValueRef second = emit_raw_value(e, index, &still, at.of_lane[0]);
  return equals(e, second, LLVMBuildAdd(e->builder, first, emit_i64(e, 1), ""));
}

/* Beyond the shape the last value stands in, which does not follow itself. */
LLVMValueRef emit_values_follow(emitter *e, const plan_index *index, int following) {
  if (following == 0) return e->ops->all_lanes(e, begin_to_follow(e, index));
  lane_positions at = find_positions(e, index, following);
  plan_value all = lay_positions(e, &at, 0), firsts = lay_positions(e, &at, following);
  LLVMValueRef mask = emit_i64(e, (int64_t)bits_mask(following)), follow = NULL;
  LLVMValueRef behind =
      LLVMBuildAnd(e->builder, LLVMBuildZExt(e->builder, e->lane, e->i64, ""), mask, "");
  uint64_t tile = 0;
  do {
    LLVMValueRef value = emit_raw_value(e, index, &all, tile);
    LLVMValueRef first = emit_raw_value(e, index, &firsts, tile);
    LLVMValueRef offset = LLVMBuildAnd(e->builder, first, mask, "");
    follow = emit_and(e, follow, equals(e, value, LLVMBuildAdd(e->builder, first, behind, "")));
    follow = emit_and(e, follow, equals(e, offset, emit_i64(e, 0)));
    follow =
        emit_and(e, follow,
                 LLVMBuildICmp(e->builder, LLVMIntULT, value, emit_number(e, &index->extent), ""));
    tile = (tile - at.left) & at.left; /* the next subset of these bits */
  } while (tile);
  return e->ops->all_lanes(e, follow);
}
