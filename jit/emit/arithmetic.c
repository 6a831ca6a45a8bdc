/* Integer arithmetic in fewer words. */
#include "jit/emit/builder.h"

#include "base/bits.h"

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
