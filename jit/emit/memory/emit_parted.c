/* Pieces of a SIMD register that bounds part: on the host the elements inside are moved, each by
 * its lane.
 *
 * What a bound looks at differs from the first lane's by a number that is known for each lane, so
 * one comparison of a constant vector with the distance to the limit makes the mask. Where the
 * instruction set moves vectors under masks of that width, one instruction follows; else a loop
 * over the lanes inside, past a scratch register of memory. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"

#include <assert.h>

/* How far lane l is ahead of the first lane in what a bound looks at; false where that is not
 * known. */
static bool lane_steps(emitter *e, const emit_place *place, const plan_bound *bound, uint64_t tile,
                       const uint64_t *lanes, int lane_bits, int64_t *step) {
  const plan_kernel *kernel = e->kernel;
  uint64_t known = f2_apply(kernel->space.column, tile);
  for (int l = 0; l < 1 << lane_bits; l++) step[l] = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    if (bound->axis < 0 ? i != bound->top : digit->axis != bound->axis) continue;
    int64_t first =
        (int64_t)(known >> llrt_layout_out_shift(&kernel->space, i) & bits_mask(digit->bits));
    for (int l = 0; l < 1 << lane_bits; l++) {
      int64_t moved = emit_position_known(e, place->value, i, f2_apply(lanes, (uint64_t)l));
      if (moved < 0) return false;
      step[l] += ((first ^ moved) - first) * (bound->axis < 0 ? 1 : digit->step);
    }
  }
  return true;
}

/* Bits of an integer that holds every step, and one more than the greatest; at least `bits`. */
static int step_bits(const int64_t *step, int n, int bits) {
  int64_t most = 0;
  for (int l = 0; l < n; l++) {
    int64_t size = step[l] < 0 ? -step[l] : step[l];
    if (size > most) most = size;
  }
  int needed = most < INT8_MAX ? 8 : most < INT16_MAX ? 16 : most < INT32_MAX ? 32 : 64;
  return bits_max(needed, bits);
}

/* x in all lanes. */
static LLVMValueRef in_all_lanes(emitter *e, LLVMValueRef x, unsigned lanes) {
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(x), lanes);
  LLVMValueRef first =
      LLVMBuildInsertElement(e->builder, LLVMGetUndef(type), x, emit_i32(e, 0), "");
  LLVMValueRef zero = LLVMConstNull(LLVMVectorType(e->i32, lanes));
  return LLVMBuildShuffleVector(e->builder, first, LLVMGetUndef(type), zero, "");
}

/* <n x i1>: step[l] < distance. */
static LLVMValueRef compare_steps(emitter *e, const int64_t *step, int lane_bits, int bits,
                                  LLVMValueRef distance) {
  LLVMValueRef steps[1 << 7];
  int n = 1 << lane_bits;
  bits = step_bits(step, n, bits);
  LLVMTypeRef unit = emit_int_type(e, bits);
  if (bits < 64) {
    LLVMValueRef most[] = {distance, emit_i64(e, ((int64_t)1 << (bits - 1)) - 1)};
    LLVMValueRef least[] = {emit_intrinsic(e, "llvm.smin", &e->i64, 1, most, 2),
                            emit_i64(e, -((int64_t)1 << (bits - 1)))};
    distance = emit_intrinsic(e, "llvm.smax", &e->i64, 1, least, 2);
    distance = LLVMBuildTrunc(e->builder, distance, unit, "");
  }
  for (int l = 0; l < n; l++) steps[l] = LLVMConstInt(unit, (uint64_t)step[l], true);
  LLVMValueRef all = in_all_lanes(e, distance, (unsigned)n);
  return LLVMBuildICmp(e->builder, LLVMIntSLT, LLVMConstVector(steps, (unsigned)n), all, "");
}

/* The same, by a comparison of each lane. */
static LLVMValueRef compare_lanes(emitter *e, const emit_place *place, const plan_bound *bound,
                                  uint64_t tile, const uint64_t *lanes, int lane_bits) {
  LLVMValueRef mask = LLVMGetUndef(LLVMVectorType(e->i1, 1u << lane_bits));
  for (int l = 0; l < 1 << lane_bits; l++) {
    LLVMValueRef at = emit_bounded(e, place->value, bound, tile ^ f2_apply(lanes, (uint64_t)l));
    LLVMValueRef inside = LLVMBuildICmp(e->builder, LLVMIntSLT, at, emit_bound_limit(e, bound), "");
    mask = LLVMBuildInsertElement(e->builder, mask, inside, emit_i32(e, l), "");
  }
  return mask;
}

static bool is_even(const int64_t *step, int n) {
  for (int l = 0; l < n; l++)
    if (step[l] != 0) return false;
  return true;
}

LLVMValueRef emit_all_lanes(emitter *e, LLVMValueRef condition, unsigned lanes) {
  LLVMValueRef mask = LLVMBuildSExt(e->builder, condition, emit_int_type(e, (int)lanes), "");
  return LLVMBuildBitCast(e->builder, mask, LLVMVectorType(e->i1, lanes), "");
}

bool emit_masks_whole(const emitter *e, int bits) {
  bool of_bits = e->ops->has_masks(e, 8); /* masks of bytes are no lanes */
  return !e->turned && of_bits && e->ops->has_masks(e, bits);
}

static void mask_all(emitter *e, int lane_bits, emit_parted *out) {
  if (!out->whole) return;
  out->mask = emit_and(e, out->mask, emit_all_lanes(e, out->whole, 1u << lane_bits));
  out->whole = NULL;
}

void emit_part(emitter *e, const emit_place *place, uint64_t tile, const uint64_t *lanes,
               int lane_bits, emit_parted *out) {
  int64_t step[1 << 7];
  *out = (emit_parted){NULL, NULL};
  assert(lane_bits < 8);
  for (int i = 0; i < e->kernel->n_bounds; i++) {
    const plan_bound *bound = &e->kernel->bound[i];
    if (!(bound->tensors >> place->tensor & 1) || e->ignored_bounds >> i & 1) continue;
    bool known = lane_steps(e, place, bound, tile, lanes, lane_bits, step);
    if (!known) {
      out->mask = emit_and(e, out->mask, compare_lanes(e, place, bound, tile, lanes, lane_bits));
      continue;
    }
    if (is_even(step, 1 << lane_bits)) {
      out->whole = emit_and(e, out->whole, emit_is_bounded(e, place->value, bound, tile));
      continue;
    }
    LLVMValueRef at = emit_bounded(e, place->value, bound, tile),
                 limit = emit_bound_limit(e, bound);
    LLVMValueRef distance = emit_subtract(e, limit, at);
    LLVMValueRef mask = compare_steps(e, step, lane_bits, bits_max(place->bits, 8), distance);
    out->mask = emit_and(e, out->mask, mask);
  }
  if (emit_masks_whole(e, bits_max(place->bits, 8))) mask_all(e, lane_bits, out);
}

/* ---- moving what is inside ---- */

static int element_bits(LLVMTypeRef type) {
  return (int)LLVMGetIntTypeWidth(LLVMGetElementType(type));
}

static LLVMValueRef scratch_of(emitter *e) {
  if (!e->scratch) e->scratch = e->ops->shared(e, e->kernel->target.vector_bytes);
  return e->scratch;
}

/* The mask as bits of an i64. */
static LLVMValueRef bits_of(emitter *e, LLVMValueRef mask) {
  unsigned n = LLVMGetVectorSize(LLVMTypeOf(mask));
  LLVMValueRef bits = LLVMBuildBitCast(e->builder, mask, emit_int_type(e, (int)n), "");
  return LLVMBuildZExt(e->builder, bits, e->i64, "");
}

/* Copies the elements whose bits are set from one array of `unit`s to another. */
static void copy_lanes(emitter *e, LLVMTypeRef unit, LLVMValueRef from, LLVMValueRef to,
                       LLVMValueRef bits) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), head = emit_new_block(e, "lanes");
  LLVMBasicBlockRef body = emit_new_block(e, "lane"), done = emit_new_block(e, "lanes_done");
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, head);
  LLVMValueRef left = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMAddIncoming(left, &bits, &before, 1);
  LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntNE, left, emit_i64(e, 0), "");
  LLVMBuildCondBr(e->builder, more, body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef args[] = {left, LLVMConstInt(e->i1, 1, false)};
  LLVMValueRef lane = emit_intrinsic(e, "llvm.cttz", &e->i64, 1, args, 2);
  LLVMValueRef source = LLVMBuildGEP2(e->builder, unit, from, &lane, 1, "");
  LLVMValueRef element = LLVMBuildLoad2(e->builder, unit, source, "");
  LLVMValueRef stored =
      LLVMBuildStore(e->builder, element, LLVMBuildGEP2(e->builder, unit, to, &lane, 1, ""));
  LLVMSetAlignment(element, 1);
  LLVMSetAlignment(stored, 1);
  LLVMValueRef next = LLVMBuildAnd(e->builder, left, emit_subtract(e, left, emit_i64(e, 1)), "");
  LLVMAddIncoming(left, &next, &body, 1);
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

LLVMValueRef emit_parted_load(emitter *e, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef mask,
                              LLVMValueRef otherwise) {
  if (e->ops->has_masks(e, element_bits(type))) {
    LLVMTypeRef types[] = {type, LLVMTypeOf(pointer)};
    LLVMValueRef args[] = {pointer, emit_i32(e, 1), mask, otherwise};
    return emit_intrinsic(e, "llvm.masked.load", types, 2, args, 4);
  }
  LLVMValueRef scratch = scratch_of(e);
  LLVMSetAlignment(LLVMBuildStore(e->builder, otherwise, scratch), 1);
  copy_lanes(e, LLVMGetElementType(type), pointer, scratch, bits_of(e, mask));
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, scratch, "");
  LLVMSetAlignment(loaded, 1);
  return loaded;
}

void emit_parted_store(emitter *e, LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef mask) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (e->ops->has_masks(e, element_bits(type))) {
    LLVMTypeRef types[] = {type, LLVMTypeOf(pointer)};
    LLVMValueRef args[] = {value, pointer, emit_i32(e, 1), mask};
    emit_intrinsic(e, "llvm.masked.store", types, 2, args, 4);
    return;
  }
  LLVMValueRef scratch = scratch_of(e);
  LLVMSetAlignment(LLVMBuildStore(e->builder, value, scratch), 1);
  copy_lanes(e, LLVMGetElementType(type), scratch, pointer, bits_of(e, mask));
}
