/* Target operations of the host: one thread runs a range of blocks, a warp is a SIMD register,
 * shared memory is the stack. The entry is backend_host_entry (backends/backend.h). */
#include "backends/intrinsics.h"
#include "jit/emit/core/builder.h"

#include <stdio.h>
#include <string.h>

/* The assembly's constraint for a register that holds a value of the type; NULL: none does. */
#define CONSTRAINT_BYTES 8
static const char *register_of(const plan_target *target, LLVMTypeRef type,
                               char constraint[CONSTRAINT_BYTES]) {
  if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind)
    return LLVMGetIntTypeWidth(type) == 64 ? "=r,0" : NULL;
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return NULL;
  int bytes = (int)(LLVMGetVectorSize(type) * LLVMGetIntTypeWidth(LLVMGetElementType(type)) / 8);
  if (bytes != target->vector_bytes) return NULL;
  snprintf(constraint, CONSTRAINT_BYTES, "=%c,0", target->register_letter);
  return constraint;
}

/* Empty assembly: the code generator would otherwise try to combine every chain of shuffles into
 * fewer and wider ones, at a cost that grows with the square of their number. */
static LLVMValueRef host_opaque(emitter *e, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  char buffer[CONSTRAINT_BYTES];
  const char *constraint = register_of(&e->kernel->target, type, buffer);
  if (!constraint) return value;
  LLVMTypeRef function = LLVMFunctionType(type, &type, 1, false);
  LLVMValueRef assembly = LLVMGetInlineAsm(function, "", 0, constraint, strlen(constraint), false,
                                           false, LLVMInlineAsmDialectATT, false);
  return LLVMBuildCall2(e->builder, function, assembly, &value, 1, "");
}

/* Without it the code would have tables for unwinding, which the linker would have to read. */
static void set_nounwind(emitter *e) {
  unsigned kind = LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind"));
  LLVMAddAttributeAtIndex(e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(e->context, kind, 0));
}

/* What follows from the number of a block is made anew in each: the compiler would search all ways
 * to keep every address in a register from block to block. */
static void host_begin(emitter *e) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(e->context, 0);
  LLVMTypeRef params[] = {pointer, e->i64, e->i64};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), params, 3, false);
  e->function = LLVMAddFunction(e->module, PLAN_ENTRY_NAME, type);
  set_nounwind(e);
  LLVMBasicBlockRef entry = emit_new_block(e, "entry"), body = emit_new_block(e, "block");
  LLVMPositionBuilderAtEnd(e->builder, entry);
  LLVMValueRef args = LLVMGetParam(e->function, 0);
  for (int i = 0; i < e->kernel->launch.n_args; i++) {
    LLVMValueRef index = emit_i64(e, i);
    LLVMValueRef slot = LLVMBuildGEP2(e->builder, e->i64, args, &index, 1, "");
    e->args[i] = LLVMBuildLoad2(e->builder, e->i64, slot, "");
  }
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef block = LLVMBuildPhi(e->builder, e->i64, "block"),
               first = LLVMGetParam(e->function, 1);
  LLVMAddIncoming(block, &first, &entry, 1);
  e->block = host_opaque(e, block);
}

static void host_end(emitter *e) {
  LLVMBasicBlockRef body = LLVMGetInstructionParent(e->block), done = emit_new_block(e, "return");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMValueRef next = LLVMBuildAdd(e->builder, e->block, emit_i64(e, 1), "");
  LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSLT, next, LLVMGetParam(e->function, 2), "");
  LLVMBuildCondBr(e->builder, more, body, done);
  LLVMAddIncoming(LLVMGetFirstInstruction(body), &next, &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
  LLVMBuildRetVoid(e->builder);
}

/* In the entry block, so that the stack does not grow with the blocks. */
static LLVMValueRef host_shared(emitter *e, int bytes) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(e->function);
  LLVMPositionBuilderBefore(e->builder, LLVMGetFirstInstruction(entry));
  LLVMValueRef buffer = LLVMBuildAlloca(e->builder, LLVMArrayType2(e->i8, (uint64_t)bytes), "");
  LLVMSetAlignment(buffer, 64);
  LLVMPositionBuilderAtEnd(e->builder, here);
  return buffer;
}

static LLVMValueRef host_global(emitter *e, LLVMValueRef address) {
  return LLVMBuildIntToPtr(e->builder, address, LLVMPointerTypeInContext(e->context, 0), "");
}

static void host_barrier(emitter *e, bool own) { (void)e, (void)own; /* one warp, in order */ }

static bool host_has_half(const emitter *e) { return e->kernel->target.half_casts; }

static bool host_has_masks(const emitter *e, int bits) {
  int least = e->kernel->target.masked_bits;
  return least > 0 && bits >= least;
}

/* Lanes [first, first + n) of a vector, or with `next` those of both. */
static LLVMValueRef host_lanes(emitter *e, LLVMValueRef x, LLVMValueRef next, unsigned first,
                               unsigned n) {
  LLVMValueRef mask[EMIT_MAX_LANES];
  for (unsigned i = 0; i < n; i++) mask[i] = emit_i32(e, first + i);
  if (!next) next = LLVMGetUndef(LLVMTypeOf(x));
  return LLVMBuildShuffleVector(e->builder, x, next, LLVMConstVector(mask, n), "");
}

/* Of as many lanes as a register has: 16, which find one of 16 numbers, or 8, which find its
 * magnitude. */
static LLVMValueRef look_up_register(emitter *e, LLVMValueRef table, LLVMValueRef code,
                                     unsigned lanes) {
  const char *name = lanes == 16 ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps";
  LLVMValueRef args[] = {table, code}, found = emit_intrinsic(e, name, NULL, 0, args, 2);
  if (lanes == 16) return found;
  LLVMTypeRef type = LLVMTypeOf(code);
  LLVMValueRef sign = LLVMBuildShl(e->builder, code, emit_splat(type, 28), "");
  sign = LLVMBuildAnd(e->builder, sign, emit_splat(type, 0x80000000), "");
  found = LLVMBuildOr(e->builder, LLVMBuildBitCast(e->builder, found, type, ""), sign, "");
  return LLVMBuildBitCast(e->builder, found, LLVMTypeOf(table), "");
}

static LLVMValueRef host_look_up(emitter *e, const float number[16], LLVMValueRef code) {
  LLVMTypeRef type = LLVMTypeOf(code), f32 = LLVMFloatTypeInContext(e->context);
  unsigned unit = (unsigned)e->kernel->target.pick_lanes;
  LLVMValueRef entry[16];
  if (unit == 0 || LLVMGetTypeKind(type) != LLVMVectorTypeKind ||
      LLVMGetVectorSize(type) % unit != 0)
    return NULL;
  for (unsigned i = 0; i < unit; i++) entry[i] = LLVMConstReal(f32, (double)number[i]);
  LLVMValueRef table = LLVMConstVector(entry, unit);
  unsigned lanes = LLVMGetVectorSize(type);
  if (lanes == unit) return look_up_register(e, table, code, unit);
  LLVMValueRef low = host_look_up(e, number, host_lanes(e, code, NULL, 0, lanes / 2));
  LLVMValueRef high = host_look_up(e, number, host_lanes(e, code, NULL, lanes / 2, lanes / 2));
  return host_lanes(e, low, high, 0, lanes);
}

/* How a register of 32-bit lanes multiplies pairs of 16 bits and adds both. */
typedef struct pair_products {
  unsigned lanes;
  const char *sums;     /* adds to sums, too; NULL: */
  const char *products; /* does not */
} pair_products;

static const pair_products pairs[] = {
    {16, "llvm.x86.avx512.vpdpwssd.512", NULL},
    {16, NULL, "llvm.x86.avx512.pmaddw.d.512"},
    {8, NULL, "llvm.x86.avx2.pmadd.wd"},
    {4, NULL, "llvm.x86.sse2.pmadd.wd"},
};

static LLVMValueRef multiply_pairs(emitter *e, const pair_products *row, LLVMValueRef a,
                                   LLVMValueRef b, LLVMValueRef acc) {
  LLVMTypeRef type = LLVMTypeOf(acc),
              half = LLVMVectorType(LLVMInt16TypeInContext(e->context), row->lanes * 2);
  if (row->sums) {
    LLVMValueRef args[] = {acc, a, b};
    return emit_intrinsic(e, row->sums, NULL, 0, args, 3);
  }
  LLVMValueRef args[] = {LLVMBuildBitCast(e->builder, a, half, ""),
                         LLVMBuildBitCast(e->builder, b, half, "")};
  LLVMValueRef made = emit_intrinsic(e, row->products, NULL, 0, args, 2);
  return LLVMBuildAdd(e->builder, acc, LLVMBuildBitCast(e->builder, made, type, ""), "");
}

static LLVMValueRef host_multiply_halves(emitter *e, LLVMValueRef a, LLVMValueRef b,
                                         LLVMValueRef acc) {
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(acc));
  const plan_target *target = &e->kernel->target;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs && lanes == (unsigned)target->pair_lanes; i++)
    if (pairs[i].lanes == lanes && (pairs[i].sums != NULL) == target->pair_sums)
      return multiply_pairs(e, &pairs[i], a, b, acc);
  return NULL;
}

const emit_target_ops emit_ops_host = {
    .begin = host_begin,
    .end = host_end,
    .shared = host_shared,
    .global = host_global,
    .barrier = host_barrier,
    .opaque = host_opaque,
    .has_half = host_has_half,
    .has_masks = host_has_masks,
    .look_up = host_look_up,
    .multiply_halves = host_multiply_halves,
};
