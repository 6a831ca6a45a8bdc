/* Target operations of AMDGPU. */
#include "backends/intrinsics.h"
#include "jit/emit/core/builder.h"
#include "jit/plan/kernel/step_table.h"
#include "jit/plan/types/dot_instruction.h"

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <stdio.h>
#include <string.h>

#define AMDGPU_KERNEL_CONVENTION 91 /* llvm::CallingConv::AMDGPU_KERNEL */

/* LLVM-C cannot name a sync scope, and s_barrier alone gets no s_waitcnt before it; a system-scope
 * fence would cost a cache write-back. So the barrier is a function in text, and what blocks
 * exchange, too. */
static const char helper_text[] =
    "define void @llrt_barrier() alwaysinline convergent {\n"
    "  fence syncscope(\"workgroup\") release\n"
    "  call void @llvm.amdgcn.s.barrier()\n"
    "  fence syncscope(\"workgroup\") acquire\n"
    "  ret void\n"
    "}\n"
    "declare void @llvm.amdgcn.s.barrier()\n"
    "define i32 @llrt_ticket(ptr addrspace(1) %p) alwaysinline {\n"
    "  %x = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope(\"agent\") monotonic\n"
    "  ret i32 %x\n"
    "}\n"
    "define i64 @llrt_peek(ptr addrspace(1) %p, i1 %c, i64 %o) alwaysinline {\n"
    "  br i1 %c, label %look, label %done\n"
    "look:\n"
    "  %x = load atomic i64, ptr addrspace(1) %p syncscope(\"agent\") monotonic, align 8\n"
    "  br label %done\n"
    "done:\n"
    "  %y = phi i64 [ %x, %look ], [ %o, %0 ]\n"
    "  ret i64 %y\n"
    "}\n"
    "define void @llrt_poke(ptr addrspace(1) %p, i64 %x) alwaysinline {\n"
    "  store atomic i64 %x, ptr addrspace(1) %p syncscope(\"agent\") monotonic, align 8\n"
    "  ret void\n"
    "}\n";

static const char *const helper_names[] = {"llrt_barrier", "llrt_ticket", "llrt_peek", "llrt_poke"};
#define HELPERS (int)(sizeof helper_names / sizeof *helper_names)

static void set_attribute(emitter *e, const char *key, const char *value) {
  LLVMAttributeRef attribute = LLVMCreateStringAttribute(e->context, key, (unsigned)strlen(key),
                                                         value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(e->function, LLVMAttributeFunctionIndex, attribute);
}

static void amdgpu_begin(emitter *e) {
  char size[32];
  int threads = e->kernel->launch.threads;
  emit_gpu_begin(e, AMDGPU_KERNEL_CONVENTION, "llvm.amdgcn.workitem.id.x",
                 "llvm.amdgcn.workgroup.id.x");
  LLVMSetVisibility(e->function, LLVMProtectedVisibility);
  snprintf(size, sizeof size, "%d,%d", threads, threads);
  set_attribute(e, "amdgpu-flat-work-group-size", size);
  for (int i = 0; i < e->kernel->n_steps; i++) {
    if (!plan_step_row_of(e->kernel->step[i].kind)->multiplies) continue;
    set_attribute(e, "amdgpu-no-agpr",
                  ""); /* results of matrix instructions stay in vector registers */
    break;
  }
}

/* A function of the helpers' text, which is linked into the module once. */
static LLVMValueRef helper(emitter *e, const char *name) {
  LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
  if (function) return function;
  LLVMModuleRef helpers = NULL;
  char *message = NULL;
  LLVMMemoryBufferRef text =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(helper_text, sizeof helper_text - 1, "helpers");
  if (LLVMParseIRInContext(e->context, text, &helpers, &message)) {
    LLVMDisposeMessage(message);
    return NULL;
  }
  LLVMLinkModules2(e->module, helpers);
  for (int i = 0; i < HELPERS; i++)
    LLVMSetLinkage(LLVMGetNamedFunction(e->module, helper_names[i]), LLVMInternalLinkage);
  return LLVMGetNamedFunction(e->module, name);
}

static LLVMValueRef call_helper(emitter *e, const char *name, LLVMTypeRef result,
                                LLVMValueRef *args, unsigned n_args) {
  LLVMTypeRef types[3];
  for (unsigned i = 0; i < n_args; i++) types[i] = LLVMTypeOf(args[i]);
  return LLVMBuildCall2(e->builder, LLVMFunctionType(result, types, n_args, false), helper(e, name),
                        args, n_args, "");
}

static void amdgpu_barrier(emitter *e, bool own) {
  (void)own; /* there are no clusters */
  call_helper(e, "llrt_barrier", LLVMVoidTypeInContext(e->context), NULL, 0);
}

static LLVMValueRef amdgpu_ticket(emitter *e, LLVMValueRef pointer) {
  return call_helper(e, "llrt_ticket", e->i32, &pointer, 1);
}

static LLVMValueRef amdgpu_peek(emitter *e, LLVMValueRef pointer, LLVMValueRef condition,
                                LLVMValueRef otherwise) {
  LLVMValueRef args[] = {pointer, condition, otherwise};
  return call_helper(e, "llrt_peek", e->i64, args, 3);
}

static void amdgpu_poke(emitter *e, LLVMValueRef pointer, LLVMValueRef cell) {
  LLVMValueRef args[] = {pointer, cell};
  call_helper(e, "llrt_poke", LLVMVoidTypeInContext(e->context), args, 2);
}

/* No lane is without it. Lanes that a branch leaves out are those that it does not see, and a
 * shuffle gets 0 from them. */
static LLVMValueRef amdgpu_all_lanes(emitter *e, LLVMValueRef condition) {
  LLVMValueRef lacks = LLVMBuildNot(e->builder, condition, "");
  LLVMValueRef lanes = emit_intrinsic(e, "llvm.amdgcn.ballot", &e->i64, 1, &lacks, 1);
  return LLVMBuildICmp(e->builder, LLVMIntEQ, lanes, emit_i64(e, 0), "");
}

static LLVMValueRef amdgpu_opaque(emitter *e, LLVMValueRef value) {
  return emit_gpu_opaque(e, value, "=v,0", "=v,0");
}

/* ds_bpermute_b32: the address is the lane times 4. */
static LLVMValueRef amdgpu_shuffle(emitter *e, LLVMValueRef word, LLVMValueRef lane) {
  LLVMValueRef args[] = {LLVMBuildShl(e->builder, lane, emit_i32(e, 2), ""), word};
  return emit_intrinsic(e, "llvm.amdgcn.ds.bpermute", NULL, 0, args, 2);
}

/* v_perm_b32: selector bytes, bytes 0-3 of the second operand, 4-7 of the first. */
static uint32_t amdgpu_selector(const int number[4]) {
  uint32_t bytes = 0;
  for (int i = 0; i < 4; i++) bytes |= (uint32_t)number[i] << (8 * i);
  return bytes;
}

static LLVMValueRef amdgpu_permute(emitter *e, LLVMValueRef low, LLVMValueRef high,
                                   LLVMValueRef selector) {
  LLVMValueRef args[] = {high, low, selector};
  return emit_intrinsic(e, "llvm.amdgcn.perm", NULL, 0, args, 3);
}

static bool amdgpu_has_half(const emitter *e) {
  (void)e;
  return true;
}

/* ---- matrix products ---- */

/* `words` of an operand of `bits` elements as the intrinsic takes them: numbers of 32 and 64 bits
 * and packed bytes as scalars, halves as a vector. */
static LLVMValueRef product_operand(emitter *e, llrt_dtype type, const LLVMValueRef *words, int n) {
  LLVMTypeRef unit = type == LLRT_F16   ? LLVMHalfTypeInContext(e->context)
                     : type == LLRT_F32 ? LLVMFloatTypeInContext(e->context)
                     : type == LLRT_F64 ? LLVMDoubleTypeInContext(e->context)
                                        : emit_int_type(e, 16);
  LLVMTypeRef word = LLVMTypeOf(words[0]);
  LLVMValueRef all = words[0];
  if (n > 1) {
    all = LLVMGetUndef(LLVMVectorType(word, (unsigned)n));
    for (int i = 0; i < n; i++)
      all = LLVMBuildInsertElement(e->builder, all, words[i], emit_i32(e, i), "");
  }
  int bits = llrt_dtype_bits(type);
  LLVMTypeRef to = bits == 16   ? LLVMVectorType(unit, (unsigned)(2 * n))
                   : bits >= 32 ? unit
                   : n > 1      ? e->i64
                                : e->i32;
  return LLVMBuildBitCast(e->builder, all, to, "");
}

static int product_words(const dot_instruction *row, int operand, llrt_dtype type) {
  dot_operand columns;
  dot_instruction_operand(row, operand, &columns);
  int bits = llrt_dtype_bits(type);
  return bits >= 32 ? 1 << columns.registers : (bits << columns.registers) / 32;
}

/* The operand's flags (broadcasts, permutations) stay 0. */
static void amdgpu_product(emitter *e, const dot_instruction *row, const LLVMValueRef *a,
                           const LLVMValueRef *b, LLVMValueRef *acc) {
  int n_acc = product_words(row, DOT_ACC, (llrt_dtype)row->acc);
  LLVMTypeRef word = LLVMTypeOf(acc[0]);
  LLVMTypeRef unit = row->acc == LLRT_F64   ? LLVMDoubleTypeInContext(e->context)
                     : row->acc == LLRT_F32 ? LLVMFloatTypeInContext(e->context)
                                            : e->i32;
  LLVMValueRef sum = LLVMGetUndef(LLVMVectorType(unit, (unsigned)n_acc));
  for (int i = 0; i < n_acc; i++)
    sum = LLVMBuildInsertElement(e->builder, sum, LLVMBuildBitCast(e->builder, acc[i], unit, ""),
                                 emit_i32(e, i), "");
  LLVMValueRef args[] = {
      product_operand(e, (llrt_dtype)row->a, a, product_words(row, DOT_A, (llrt_dtype)row->a)),
      product_operand(e, (llrt_dtype)row->b, b, product_words(row, DOT_B, (llrt_dtype)row->b)),
      sum,
      emit_i32(e, 0),
      emit_i32(e, 0),
      emit_i32(e, 0)};
  sum = emit_intrinsic(e, row->code, NULL, 0, args, 6);
  for (int i = 0; i < n_acc; i++)
    acc[i] = LLVMBuildBitCast(
        e->builder, LLVMBuildExtractElement(e->builder, sum, emit_i32(e, i), ""), word, "");
}

const emit_target_ops emit_ops_amdgpu = {
    .begin = amdgpu_begin,
    .mixes_halves = true,
    .end = emit_gpu_end,
    .shared = emit_gpu_shared,
    .global = emit_gpu_global,
    .barrier = amdgpu_barrier,
    .ticket = amdgpu_ticket,
    .peek = amdgpu_peek,
    .poke = amdgpu_poke,
    .all_lanes = amdgpu_all_lanes,
    .opaque = amdgpu_opaque,
    .shuffle = amdgpu_shuffle,
    .permute = amdgpu_permute,
    .selector = amdgpu_selector,
    .has_half = amdgpu_has_half,
    .product = amdgpu_product,
};
