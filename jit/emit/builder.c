/* Helpers over LLVM-C that every emission file uses. */
#include "jit/emit/builder.h"

#include "base/bits.h"

#include <string.h>

LLVMValueRef emit_i32(const emitter *e, int64_t x) {
  return LLVMConstInt(e->i32, (unsigned long long)x, true);
}

LLVMValueRef emit_i64(const emitter *e, int64_t x) {
  return LLVMConstInt(e->i64, (unsigned long long)x, true);
}

LLVMTypeRef emit_int_type(const emitter *e, int bits) {
  return LLVMIntTypeInContext(e->context, (unsigned)bits);
}

LLVMValueRef emit_number(const emitter *e, const plan_number *number) {
  return number->arg < 0 ? emit_i64(e, number->value) : e->args[number->arg];
}

LLVMBasicBlockRef emit_new_block(const emitter *e, const char *name) {
  return LLVMAppendBasicBlockInContext(e->context, e->function, name);
}

LLVMValueRef emit_intrinsic(const emitter *e, const char *name, LLVMTypeRef *types, int n_types,
                            LLVMValueRef *args, int n_args) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(e->module, id, types, (size_t)n_types);
  LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, types, (size_t)n_types);
  return LLVMBuildCall2(e->builder, type, function, args, (unsigned)n_args, "");
}

bool emit_is_host(const emitter *e) { return e->kernel->target.isa == PLAN_ISA_HOST; }

/* (x & mask) moved up by `distance` (down where negative). */
static LLVMValueRef masked_shift(const emitter *e, LLVMValueRef x, uint64_t mask, int distance) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef part = LLVMBuildAnd(e->builder, x, LLVMConstInt(type, mask, false), "");
  if (distance > 0)
    return LLVMBuildShl(e->builder, part, LLVMConstInt(type, (unsigned)distance, false), "");
  if (distance < 0)
    return LLVMBuildLShr(e->builder, part, LLVMConstInt(type, (unsigned)-distance, false), "");
  return part;
}

LLVMValueRef emit_linear(const emitter *e, LLVMValueRef x, const uint64_t *columns, int n) {
  /* Bit i of x goes to bit j of the result by distance j - i: one mask for each distance. */
  uint64_t mask[127] = {0};
  LLVMValueRef sum = LLVMConstInt(LLVMTypeOf(x), 0, false);
  for (int i = 0; i < n; i++)
    for (uint64_t column = columns[i]; column; column &= column - 1)
      mask[bits_lowest(column) - i + 63] |= 1ull << i;
  for (int d = 0; d < 127; d++)
    if (mask[d])
      sum = LLVMBuildXor(e->builder, sum, masked_shift(e, x, mask[d], d - 63), "");
  return sum;
}

LLVMValueRef emit_functional(const emitter *e, LLVMValueRef x, uint64_t mask) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef bits = LLVMBuildAnd(e->builder, x, LLVMConstInt(type, mask, false), "");
  if (bits_count(mask) > 1) {
    bits = emit_intrinsic(e, "llvm.ctpop", &type, 1, &bits, 1);
    bits = LLVMBuildAnd(e->builder, bits, LLVMConstInt(type, 1, false), "");
  }
  return LLVMBuildICmp(e->builder, LLVMIntNE, bits, LLVMConstInt(type, 0, false), "");
}
