/* Integer arithmetic in fewer words. */
#include "jit/emit/core/builder.h"

#include "base/bits.h"
#include "jit/plan/types/bit_network.h"

LLVMValueRef emit_add(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAdd(e->builder, a, b, "");
}

LLVMValueRef emit_subtract(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSub(e->builder, a, b, "");
}

LLVMValueRef emit_choose(const emitter *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(e->builder, c, a, b, "");
}

LLVMValueRef emit_less(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, "");
}

LLVMValueRef emit_smaller(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return emit_choose(e, emit_less(e, a, b), a, b);
}

LLVMValueRef emit_larger(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return emit_choose(e, emit_less(e, a, b), b, a);
}

LLVMValueRef emit_rotated(emitter *e, LLVMValueRef word, int left, uint32_t mask) {
  LLVMValueRef args[] = {word, word, emit_i32(e, left)};
  if (left == 0) return word;
  if (!(mask & bits_mask(left))) return LLVMBuildShl(e->builder, word, args[2], "");
  if (!(mask >> left)) return LLVMBuildLShr(e->builder, word, emit_i32(e, 32 - left), "");
  return emit_intrinsic(e, "llvm.fshl", &e->i32, 1, args, 3);
}

LLVMValueRef emit_merged(const emitter *e, LLVMValueRef a, LLVMValueRef b, uint32_t mask) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef taken = LLVMBuildAnd(e->builder, b, emit_splat(type, mask), "");
  LLVMValueRef kept = LLVMBuildAnd(e->builder, a, emit_splat(type, ~mask), "");
  return LLVMBuildOr(e->builder, kept, taken, "");
}

/* `pointer` plus so many bytes (i32, signed). */
LLVMValueRef emit_move_pointer(const emitter *e, LLVMValueRef pointer, LLVMValueRef bytes) {
  LLVMValueRef offset = LLVMBuildSExt(e->builder, bytes, e->i64, "");
  return LLVMBuildGEP2(e->builder, e->i8, pointer, &offset, 1, "");
}

LLVMValueRef emit_divide_place(const emitter *e, LLVMValueRef numerator, const plan_place *place) {
  if (place->count.arg < 0)
    return LLVMBuildUDiv(e->builder, numerator, emit_number(e, &place->count), "");
  LLVMTypeRef i128 = emit_int_type(e, 128);
  LLVMValueRef twice = LLVMBuildShl(e->builder, numerator, emit_i64(e, 1), "");
  LLVMValueRef product =
      LLVMBuildMul(e->builder, LLVMBuildZExt(e->builder, twice, i128, ""),
                   LLVMBuildZExt(e->builder, emit_number(e, &place->magic), i128, ""), "");
  LLVMValueRef high = LLVMBuildLShr(e->builder, product, LLVMConstInt(i128, 64, false), "");
  return LLVMBuildLShr(e->builder, LLVMBuildTrunc(e->builder, high, e->i64, ""),
                       emit_number(e, &place->magic_shift), "");
}

LLVMValueRef emit_permuted_word(emitter *e, const bit_network *net, LLVMValueRef x) {
  LLVMValueRef made[BIT_NETWORK_STEPS + 1] = {x};
  for (int i = 0; i < net->n; i++) {
    const bit_step *step = &net->step[i];
    const int bytes[] = {step->byte[0], step->byte[1], step->byte[2], step->byte[3]};
    LLVMValueRef a = made[step->a], b = made[step->b];
    made[i + 1] = step->kind == BIT_STEP_BYTES    ? emit_permute(e, a, emit_i32(e, 0), bytes)
                  : step->kind == BIT_STEP_ROTATE ? emit_rotated(e, a, step->left, step->mask)
                                                  : emit_merged(e, a, b, step->mask);
  }
  return made[net->n];
}
