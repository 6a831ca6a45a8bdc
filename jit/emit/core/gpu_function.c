/* What the GPU targets' entry functions have in common: one i64 parameter an argument, a thread and
 * a block index, memory in address spaces 1 (global) and 3 (shared). */
#include "jit/emit/core/builder.h"

#include <string.h>

#define GPU_GLOBAL 1
#define GPU_SHARED 3

/* Blocks of a cluster follow each other: the block's number becomes the cluster's, its rank joins
 * the warp (not yet of producers, which take the others' numbers: jit/emit/control/emit_roles.c).
 */
static void number_cluster(emitter *e) {
  int bits = e->kernel->cluster_bits, warps = e->kernel->warp_bits - bits;
  LLVMValueRef rank = LLVMBuildTrunc(e->builder, e->block, e->i32, "");
  rank = LLVMBuildAnd(e->builder, rank, emit_i32(e, (1 << bits) - 1), "");
  e->rank = LLVMBuildShl(e->builder, rank, emit_i32(e, warps), "");
  e->warp = LLVMBuildOr(e->builder, e->warp, e->rank, "");
  e->block = LLVMBuildLShr(e->builder, e->block, emit_i64(e, bits), "");
}

void emit_gpu_begin(emitter *e, unsigned convention, const char *thread_index,
                    const char *block_index) {
  const plan_launch *launch = &e->kernel->launch;
  int lane_bits = e->kernel->target.lane_bits;
  LLVMTypeRef params[PLAN_MAX_ARGS + PLAN_MAX_TENSOR_MAPS];
  for (int i = 0; i < launch->n_args; i++) params[i] = e->i64;
  const int maps = plan_map_count(launch->box, launch->n_boxes);
  for (int i = 0; i < maps; i++)
    params[launch->n_args + i] = LLVMPointerTypeInContext(e->context, 0);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), params,
                                      (unsigned)(launch->n_args + maps), false);
  e->function = LLVMAddFunction(e->module, PLAN_ENTRY_NAME, type);
  LLVMSetFunctionCallConv(e->function, convention);
  LLVMPositionBuilderAtEnd(e->builder, emit_new_block(e, "entry"));
  for (int i = 0; i < launch->n_args; i++) e->args[i] = LLVMGetParam(e->function, (unsigned)i);
  for (int i = 0, next = launch->n_boxes; i < launch->n_boxes; i++) {
    e->boxes[i] = LLVMGetParam(e->function, (unsigned)(launch->n_args + i));
    if (launch->box[i].rest)
      e->rests[i] = LLVMGetParam(e->function, (unsigned)(launch->n_args + next++));
  }
  LLVMValueRef thread = emit_intrinsic(e, thread_index, NULL, 0, NULL, 0);
  LLVMValueRef block = emit_intrinsic(e, block_index, NULL, 0, NULL, 0);
  e->block = LLVMBuildZExt(e->builder, block, e->i64, "");
  e->lane = LLVMBuildAnd(e->builder, thread, emit_i32(e, (1 << lane_bits) - 1), "");
  e->warp = e->block_warp = LLVMBuildLShr(e->builder, thread, emit_i32(e, lane_bits), "");
  if (e->kernel->cluster_bits > 0) number_cluster(e);
}

void emit_gpu_end(emitter *e) { LLVMBuildRetVoid(e->builder); }

LLVMValueRef emit_gpu_shared(emitter *e, int bytes) {
  LLVMTypeRef type = LLVMArrayType2(e->i8, (uint64_t)bytes);
  LLVMValueRef buffer = LLVMAddGlobalInAddressSpace(e->module, type, "shared", GPU_SHARED);
  LLVMSetInitializer(buffer, LLVMGetUndef(type));
  LLVMSetLinkage(buffer, LLVMInternalLinkage);
  LLVMSetAlignment(buffer, 16);
  return buffer;
}

LLVMValueRef emit_gpu_global(emitter *e, LLVMValueRef address) {
  return LLVMBuildIntToPtr(e->builder, address, LLVMPointerTypeInContext(e->context, GPU_GLOBAL),
                           "");
}

LLVMValueRef emit_gpu_opaque(emitter *e, LLVMValueRef value, const char *narrow, const char *wide) {
  LLVMTypeRef type = LLVMTypeOf(value), function = LLVMFunctionType(type, &type, 1, false);
  const char *constraint = type == e->i64 ? wide : narrow;
  LLVMValueRef assembly = LLVMGetInlineAsm(function, "", 0, constraint, strlen(constraint), true,
                                           false, LLVMInlineAsmDialectATT, false);
  return LLVMBuildCall2(e->builder, function, assembly, &value, 1, "");
}
