/* Helpers over LLVM-C that every emission file uses. */
#include "jit/emit/core/builder.h"

#include <llvm-c/DebugInfo.h>

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

LLVMValueRef emit_splat(LLVMTypeRef type, uint64_t x) {
  LLVMValueRef lanes[EMIT_MAX_LANES];
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  LLVMTypeRef element = vector ? LLVMGetElementType(type) : type;
  LLVMValueRef one =
      LLVMConstInt(element, x & bits_mask((int)bits_min(LLVMGetIntTypeWidth(element), 64)), false);
  if (!vector) return one;
  unsigned n = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < n; i++) lanes[i] = one;
  return LLVMConstVector(lanes, n);
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

LLVMValueRef emit_permute(emitter *e, LLVMValueRef low, LLVMValueRef high, const int number[4]) {
  return e->ops->permute(e, low, high, emit_i32(e, e->ops->selector(number)));
}

bool emit_is_host(const emitter *e) { return e->kernel->target.isa == PLAN_ISA_HOST; }

LLVMValueRef emit_and(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  if (!a || !b) return a ? a : b;
  return LLVMBuildAnd(e->builder, a, b, "");
}

LLVMBasicBlockRef emit_open_guard_of_warps(emitter *e, LLVMValueRef condition) {
  if (!condition) return NULL;
  LLVMBasicBlockRef body = emit_new_block(e, "guarded"), next = emit_new_block(e, "next");
  LLVMBuildCondBr(e->builder, condition, body, next);
  LLVMPositionBuilderAtEnd(e->builder, body);
  return next;
}

LLVMBasicBlockRef emit_open_guard(emitter *e, LLVMValueRef condition) {
  e->parted |= condition != NULL;
  return emit_open_guard_of_warps(e, condition);
}

void emit_close_guard(emitter *e, LLVMBasicBlockRef next) {
  if (!next) return;
  LLVMBuildBr(e->builder, next);
  LLVMPositionBuilderAtEnd(e->builder, next);
}

/* (x & mask) moved up by `distance` (down where negative). */
static LLVMValueRef masked_shift(const emitter *e, LLVMValueRef x, uint64_t mask, int distance) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef part = LLVMBuildAnd(e->builder, x, emit_splat(type, mask), "");
  if (distance > 0) return LLVMBuildShl(e->builder, part, emit_splat(type, (unsigned)distance), "");
  if (distance < 0)
    return LLVMBuildLShr(e->builder, part, emit_splat(type, (unsigned)-distance), "");
  return part;
}

/* How bits travel: bit i of x goes to bit j of the result by distance j - i, one mask for each
 * distance. */
typedef struct distances {
  uint64_t mask[127];
  int n; /* masks that are not zero */
} distances;

static void add_column(distances *d, int i, uint64_t column) {
  for (; column; column &= column - 1) {
    uint64_t *mask = &d->mask[bits_lowest(column) - i + 63];
    d->n += *mask == 0;
    *mask |= 1ull << i;
  }
}

/* column where bit i of x is set, else 0. */
static LLVMValueRef chosen_column(const emitter *e, LLVMValueRef x, int i, uint64_t column) {
  LLVMTypeRef type = LLVMTypeOf(x);
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  unsigned top = LLVMGetIntTypeWidth(vector ? LLVMGetElementType(type) : type) - 1;
  LLVMValueRef all = LLVMBuildShl(e->builder, x, emit_splat(type, top - (unsigned)i), "");
  all = LLVMBuildAShr(e->builder, all, emit_splat(type, top), "");
  return LLVMBuildAnd(e->builder, all, emit_splat(type, column), "");
}

/* Instructions of a distance (shift, and-xor) and of a column by itself (two shifts, and-xor). */
enum { DISTANCE_COST = 2, COLUMN_COST = 3 };

LLVMValueRef emit_linear(const emitter *e, LLVMValueRef x, const uint64_t *columns, int n) {
  distances all = {.n = 0}, single = {.n = 0};
  uint64_t irregular = 0;
  for (int i = 0; i < n; i++) {
    add_column(&all, i, columns[i]);
    if (bits_count(columns[i]) > 1) irregular |= 1ull << i;
    else add_column(&single, i, columns[i]);
  }
  if (all.n * DISTANCE_COST <= single.n * DISTANCE_COST + bits_count(irregular) * COLUMN_COST) {
    single = all;
    irregular = 0;
  }
  LLVMValueRef sum = LLVMConstNull(LLVMTypeOf(x));
  for (int d = 0; d < 127; d++)
    if (single.mask[d])
      sum = LLVMBuildXor(e->builder, sum, masked_shift(e, x, single.mask[d], d - 63), "");
  for (int i = 0; i < n; i++)
    if (irregular >> i & 1)
      sum = LLVMBuildXor(e->builder, sum, chosen_column(e, x, i, columns[i]), "");
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

/* It is mostly one of the edge's steps that parts lanes: inner blocks pay nothing. */
void emit_bring_together(emitter *e) {
  if (e->parted && e->whole_warps && e->ops->meet_warp) e->ops->meet_warp(e);
  e->parted = false;
}

/* The number of this thread in the block; the host has one. */
LLVMValueRef emit_thread_index(const emitter *e) {
  if (emit_is_host(e)) return emit_i64(e, 0);
  LLVMValueRef warps = LLVMBuildShl(e->builder, e->warp, emit_i32(e, e->kernel->lane_bits), "");
  return LLVMBuildZExt(e->builder, LLVMBuildOr(e->builder, warps, e->lane, ""), e->i64, "");
}

void emit_keep_rolled(const emitter *e, LLVMValueRef branch) {
  static const char disable[] = "llvm.loop.unroll.disable";
  LLVMMetadataRef name = LLVMMDStringInContext2(e->context, disable, sizeof disable - 1);
  LLVMMetadataRef parts[2] = {LLVMTemporaryMDNode(e->context, NULL, 0),
                              LLVMMDNodeInContext2(e->context, &name, 1)};
  LLVMMetadataRef loop = LLVMMDNodeInContext2(e->context, parts, 2); /* names itself */
  LLVMMetadataReplaceAllUsesWith(parts[0], loop);
  unsigned kind = LLVMGetMDKindIDInContext(e->context, "llvm.loop", 9);
  LLVMSetMetadata(branch, kind, LLVMMetadataAsValue(e->context, loop));
}
