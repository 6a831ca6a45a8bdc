/* Who is inside: bounds, and the first of several copies. Must agree with jit/plan/facts/eval.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/place.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"

static LLVMValueRef below(const emitter *e, LLVMValueRef at, LLVMValueRef limit) {
  return LLVMBuildICmp(e->builder, LLVMIntULT, at, limit, "");
}

LLVMValueRef emit_bound_limit(emitter *e, const plan_bound *bound) {
  if (!bound->device) return emit_number(e, &bound->limit);
  LLVMValueRef extent = e->extent[bound->axis];
  if (bound->round == 1) return extent;
  LLVMValueRef round = emit_i64(e, bound->round);
  extent = LLVMBuildAdd(e->builder, extent, emit_i64(e, bound->round - 1), "");
  return LLVMBuildMul(e->builder, LLVMBuildUDiv(e->builder, extent, round, ""), round, "");
}

static LLVMValueRef bound_full(emitter *e, const plan_bound *bound) {
  if (!bound->device) return emit_number(e, &bound->full);
  return LLVMBuildUDiv(e->builder, emit_bound_limit(e, bound), emit_i64(e, bound->covered), "");
}

LLVMValueRef emit_bounded(emitter *e, const plan_value *value, const plan_bound *bound,
                          uint64_t tile) {
  if (bound->axis < 0) return emit_position(e, value, bound->top, tile);
  return emit_coordinate(e, value, bound->axis, tile);
}

/* What the registers of `tile` add to what a bound looks at; -1: not known. */
static int64_t bounded_known(emitter *e, const plan_value *value, const plan_bound *bound,
                             uint64_t tile) {
  int64_t sum = 0;
  for (int i = 0; i < e->kernel->n_digits; i++) {
    if (bound->axis < 0 ? i != bound->top : e->kernel->digit[i].axis != bound->axis) continue;
    int64_t at = emit_position_known(e, value, i, tile);
    if (at < 0) return -1;
    sum += at * (bound->axis < 0 ? 1 : e->kernel->digit[i].step);
  }
  return sum;
}

/* The host, whose registers are many, asks each about the distance to the limit, which they share.
 */
LLVMValueRef emit_is_bounded(emitter *e, const plan_value *value, const plan_bound *bound,
                             uint64_t tile) {
  int64_t known = emit_is_host(e) && !e->kernel->flat ? bounded_known(e, value, bound, tile) : -1;
  LLVMValueRef limit = emit_bound_limit(e, bound);
  if (known < 0) return below(e, emit_bounded(e, value, bound, tile), limit);
  LLVMValueRef left = LLVMBuildSub(e->builder, limit, emit_bounded(e, value, bound, 0), "");
  return LLVMBuildICmp(e->builder, LLVMIntSGT, left, emit_i64(e, known), "");
}

/* Whether a position is the block's, and the tensor's. */
static LLVMValueRef flat_inside(emitter *e, const plan_value *value, uint64_t tile) {
  LLVMValueRef panel = emit_i64(e, e->kernel->panel.positions);
  if (e->kernel->panel.positions > 0) return below(e, emit_flat_low(e, value, tile), panel);
  return below(e, emit_flat_index(e, value, tile), emit_number(e, &e->kernel->flat_elements));
}

LLVMValueRef emit_inside(emitter *e, const emit_place *place, uint64_t tile) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef inside = NULL;
  if (kernel->flat) inside = flat_inside(e, place->value, tile);
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!(bound->tensors >> place->tensor & 1) || e->ignored_bounds >> i & 1) continue;
    inside = emit_and(e, inside, emit_is_bounded(e, place->value, bound, tile));
  }
  return inside;
}

LLVMValueRef emit_interior(emitter *e, uint32_t ignored_bounds) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef inside = NULL;
  for (int i = 0; i < kernel->n_bounds; i++) {
    if (ignored_bounds >> i & 1) continue;
    LLVMValueRef full = bound_full(e, &kernel->bound[i]);
    inside = emit_and(e, inside, below(e, e->upper[kernel->bound[i].top], full));
  }
  if (inside && e->walked && e->walked->whole)
    inside = LLVMBuildOr(e->builder, inside, e->walked->whole, "");
  LLVMValueRef within = emit_block_within(e);
  return inside ? emit_and(e, within, inside) : within;
}

static uint64_t copy_mask(const plan_value *value, plan_dim dim) {
  uint64_t mask = 0;
  for (int i = 0; i < plan_value_bits(value, dim); i++)
    if (plan_value_columns(value, dim)[i] == 0) mask |= 1ull << i;
  return mask;
}

/* Among the lanes and warps whose bits these are. */
static LLVMValueRef is_first(emitter *e, const plan_value *value, uint64_t lanes, uint64_t warps) {
  LLVMValueRef first = NULL;
  const struct {
    plan_dim dim;
    LLVMValueRef at;
    uint64_t among;
  } dims[] = {{PLAN_LANE, e->lane, lanes}, {PLAN_WARP, e->warp, warps}};
  for (int d = 0; d < 2; d++) {
    uint64_t mask = copy_mask(value, dims[d].dim) & dims[d].among;
    if (!dims[d].at || mask == 0) continue;
    LLVMValueRef bits = LLVMBuildAnd(e->builder, dims[d].at, emit_i32(e, (int64_t)mask), "");
    first = emit_and(e, first, LLVMBuildICmp(e->builder, LLVMIntEQ, bits, emit_i32(e, 0), ""));
  }
  return first;
}

/* Bits of warps that count inside a block. */
static uint64_t warps_of_block(const emitter *e) {
  return bits_mask(e->kernel->warp_bits - e->kernel->cluster_bits);
}

LLVMValueRef emit_is_first_copy(emitter *e, const plan_value *value) {
  return is_first(e, value, UINT64_MAX, UINT64_MAX);
}

LLVMValueRef emit_is_first_in_block(emitter *e, const plan_value *value) {
  return is_first(e, value, UINT64_MAX, warps_of_block(e));
}

bool emit_has_copies_in_block(const emitter *e, const plan_value *value) {
  return copy_mask(value, PLAN_LANE) || copy_mask(value, PLAN_WARP) & warps_of_block(e);
}

LLVMValueRef emit_is_first_warp(emitter *e, const plan_value *value) {
  return is_first(e, value, 0, warps_of_block(e));
}

LLVMValueRef emit_is_first_lane(emitter *e, const plan_value *value) {
  return is_first(e, value, UINT64_MAX, 0);
}

LLVMValueRef emit_block_of(emitter *e, const plan_value *value, const plan_blocks *blocks,
                           uint64_t known) {
  int warps = e->kernel->warp_bits - e->kernel->cluster_bits;
  LLVMValueRef block =
      emit_moving_part(e, value, blocks->of_tile, NULL, bits_mask(e->kernel->cluster_bits));
  LLVMValueRef own = LLVMBuildLShr(e->builder, e->warp, emit_i32(e, warps), "");
  own = LLVMBuildAnd(e->builder, own, emit_i32(e, (int64_t)blocks->own), "");
  block = LLVMBuildXor(e->builder, block, own, "");
  return LLVMBuildXor(e->builder, block, emit_i32(e, (int64_t)known), "");
}
