/* Integer arithmetic in fewer words. */
#include "jit/emit/builder.h"

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

/* `pointer` plus so many bytes (i32, signed). */
LLVMValueRef emit_move_pointer(const emitter *e, LLVMValueRef pointer, LLVMValueRef bytes) {
  LLVMValueRef offset = LLVMBuildSExt(e->builder, bytes, e->i64, "");
  return LLVMBuildGEP2(e->builder, e->i8, pointer, &offset, 1, "");
}
