/* Combiners as IR: what jit/plan/types/combine.h says, on words of the accumulator's type (i32,
 * i64; scalars or vectors of lanes, each by itself). Operands keep their order: a stands before b.
 */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "jit/plan/types/combine.h"

static bool is_floating(llrt_dtype type) { return type == LLRT_F32 || type == LLRT_F64; }

static bool is_signed(llrt_dtype type) { return type == LLRT_I32 || type == LLRT_I64; }

static bool wants_least(int op) { return op == LLRT_COMBINE_MIN || op == LLRT_COMBINE_ARGMIN; }

/* Bits as numbers of the accumulator's type. */
static LLVMValueRef as_real(emitter *e, llrt_dtype type, LLVMValueRef bits) {
  LLVMTypeRef scalar =
      type == LLRT_F64 ? LLVMDoubleTypeInContext(e->context) : LLVMFloatTypeInContext(e->context);
  LLVMTypeRef like = LLVMTypeOf(bits);
  if (LLVMGetTypeKind(like) == LLVMVectorTypeKind)
    scalar = LLVMVectorType(scalar, LLVMGetVectorSize(like));
  return LLVMBuildBitCast(e->builder, bits, scalar, "");
}

/* SUM, PROD, MIN or MAX of codes of floats; MIN and MAX give NaN where either is NaN. */
static LLVMValueRef combine_reals(emitter *e, int op, llrt_dtype type, LLVMValueRef a,
                                  LLVMValueRef b) {
  LLVMValueRef args[2] = {as_real(e, type, a), as_real(e, type, b)}, x;
  LLVMTypeRef real = LLVMTypeOf(args[0]);
  if (op == LLRT_COMBINE_SUM) x = LLVMBuildFAdd(e->builder, args[0], args[1], "");
  else if (op == LLRT_COMBINE_PROD) x = LLVMBuildFMul(e->builder, args[0], args[1], "");
  else x = emit_intrinsic(e, wants_least(op) ? "llvm.minimum" : "llvm.maximum", &real, 1, args, 2);
  return LLVMBuildBitCast(e->builder, x, LLVMTypeOf(a), "");
}

/* p = p_a p_b, q = p_b q_a + q_b, in 16 bits each. */
static LLVMValueRef combine_affine(emitter *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef low = emit_splat(type, 0xFFFF), half = emit_splat(type, 16);
  LLVMValueRef p = LLVMBuildAnd(e->builder, b, low, "");
  LLVMValueRef scaled = LLVMBuildMul(e->builder, LLVMBuildAnd(e->builder, a, low, ""), p, "");
  LLVMValueRef q = LLVMBuildMul(e->builder, LLVMBuildLShr(e->builder, a, half, ""), p, "");
  q = LLVMBuildAdd(e->builder, q, LLVMBuildLShr(e->builder, b, half, ""), "");
  return LLVMBuildOr(e->builder, LLVMBuildAnd(e->builder, scaled, low, ""),
                     LLVMBuildShl(e->builder, q, half, ""), "");
}

static LLVMValueRef combine_extremes(emitter *e, int op, llrt_dtype type, LLVMValueRef a,
                                     LLVMValueRef b) {
  const char *least = is_signed(type) ? "llvm.smin" : "llvm.umin";
  const char *most = is_signed(type) ? "llvm.smax" : "llvm.umax";
  LLVMTypeRef word = LLVMTypeOf(a);
  LLVMValueRef args[2] = {a, b};
  return emit_intrinsic(e, wants_least(op) ? least : most, &word, 1, args, 2);
}

LLVMValueRef emit_combine(emitter *e, int op, llrt_dtype type, LLVMValueRef a, LLVMValueRef b) {
  if (is_floating(type)) return combine_reals(e, op, type, a, b);
  switch (op) {
  case LLRT_COMBINE_SUM: return LLVMBuildAdd(e->builder, a, b, "");
  case LLRT_COMBINE_PROD: return LLVMBuildMul(e->builder, a, b, "");
  case LLRT_COMBINE_ANY: return LLVMBuildOr(e->builder, a, b, "");
  case LLRT_COMBINE_ALL: return LLVMBuildAnd(e->builder, a, b, "");
  case COMBINE_AFFINE: return combine_affine(e, a, b);
  default: return combine_extremes(e, op, type, a, b);
  }
}

LLVMValueRef emit_combine_identity(int op, llrt_dtype type, LLVMTypeRef like) {
  return emit_splat(like, combine_identity(op, type));
}

/* ---- pairs ---- */

/* i1: whether key a is strictly better than key b; of floats a NaN is better than all numbers. */
static LLVMValueRef key_wins(emitter *e, int op, llrt_dtype type, LLVMValueRef a, LLVMValueRef b) {
  bool least = wants_least(op);
  if (!is_floating(type)) {
    LLVMIntPredicate below = is_signed(type) ? LLVMIntSLT : LLVMIntULT;
    LLVMIntPredicate above = is_signed(type) ? LLVMIntSGT : LLVMIntUGT;
    return LLVMBuildICmp(e->builder, least ? below : above, a, b, "");
  }
  LLVMValueRef x = as_real(e, type, a), y = as_real(e, type, b);
  /* Unordered or below, and b a number: what is left of the unordered is a NaN beside a number. */
  LLVMValueRef wins = LLVMBuildFCmp(e->builder, least ? LLVMRealULT : LLVMRealUGT, x, y, "");
  return LLVMBuildAnd(e->builder, wins, LLVMBuildFCmp(e->builder, LLVMRealORD, y, y, ""), "");
}

emit_pair emit_combine_pair(emitter *e, int op, llrt_dtype type, emit_pair a, emit_pair b) {
  LLVMBuilderRef builder = e->builder;
  LLVMValueRef a_wins = key_wins(e, op, type, a.key, b.key);
  LLVMValueRef b_wins = key_wins(e, op, type, b.key, a.key);
  LLVMValueRef first = LLVMBuildICmp(builder, LLVMIntSLE, a.index, b.index, "");
  LLVMValueRef takes_a = LLVMBuildAnd(builder, LLVMBuildNot(builder, b_wins, ""), first, "");
  takes_a = LLVMBuildOr(builder, a_wins, takes_a, "");
  return (emit_pair){.key = LLVMBuildSelect(builder, takes_a, a.key, b.key, ""),
                     .index = LLVMBuildSelect(builder, takes_a, a.index, b.index, "")};
}

emit_pair emit_combine_ordered_pair(emitter *e, int op, llrt_dtype type, emit_pair a, emit_pair b) {
  LLVMValueRef b_wins = key_wins(e, op, type, b.key, a.key);
  return (emit_pair){.key = LLVMBuildSelect(e->builder, b_wins, b.key, a.key, ""),
                     .index = LLVMBuildSelect(e->builder, b_wins, b.index, a.index, "")};
}

LLVMValueRef emit_combine_same_key(emitter *e, llrt_dtype type, LLVMValueRef own,
                                   LLVMValueRef best) {
  if (!is_floating(type)) return LLVMBuildICmp(e->builder, LLVMIntEQ, own, best, "");
  LLVMValueRef x = as_real(e, type, own), y = as_real(e, type, best);
  LLVMValueRef none = LLVMBuildFCmp(e->builder, LLVMRealUNO, x, x, "");
  return LLVMBuildOr(e->builder, LLVMBuildFCmp(e->builder, LLVMRealOEQ, x, y, ""), none, "");
}

/* ---- truth ---- */

LLVMValueRef emit_combine_truth(emitter *e, llrt_dtype element, LLVMValueRef code) {
  uint64_t magnitude = bits_mask(llrt_dtype_bits(element));
  const number_format *f = number_format_of(element);
  LLVMTypeRef type = LLVMTypeOf(code), truth = e->i32;
  bool negative_zero = f && f->kind == NUMBER_FLOAT && f->nan != 1ull << (f->bits - 1);
  if (negative_zero) magnitude >>= 1;
  code = LLVMBuildAnd(e->builder, code, emit_splat(type, magnitude), "");
  LLVMValueRef set = LLVMBuildICmp(e->builder, LLVMIntNE, code, LLVMConstNull(type), "");
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
    truth = LLVMVectorType(truth, LLVMGetVectorSize(type));
  return LLVMBuildZExt(e->builder, set, truth, "");
}
