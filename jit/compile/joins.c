#include "jit/compile/joins.h"

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stddef.h>

/* An i1 that is neither a comparison nor a constant. */
static bool is_logic(LLVMValueRef condition) {
  if (!LLVMIsAInstruction(condition)) return false;
  LLVMOpcode code = LLVMGetInstructionOpcode(condition);
  return code == LLVMAnd || code == LLVMOr || code == LLVMXor || code == LLVMSelect;
}

/* Whether `condition` is `part`, or logic operations on it and others. */
static bool contains(LLVMValueRef condition, LLVMValueRef part) {
  if (condition == part) return true;
  for (int i = 0; is_logic(condition) && i < LLVMGetNumOperands(condition); i++)
    if (contains(LLVMGetOperand(condition, (unsigned)i), part)) return true;
  return false;
}

/* What decides where the block goes on; NULL: nothing does. */
static LLVMValueRef condition_of(LLVMBasicBlockRef block) {
  LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
  return LLVMIsABranchInst(last) && LLVMIsConditional(last) ? LLVMGetCondition(last) : NULL;
}

static LLVMBasicBlockRef from_of(LLVMUseRef edge) {
  return LLVMGetInstructionParent(LLVMGetUser(edge));
}

/* The edges to a block are its uses. */
static LLVMUseRef first_edge(LLVMBasicBlockRef block) {
  return LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
}

/* Whether who comes by this edge has come by one of a branch on a logic operation that `condition`
 * contains, and by no join since. */
static bool is_decided(LLVMUseRef edge, LLVMValueRef condition) {
  for (; edge; edge = first_edge(from_of(edge))) {
    LLVMValueRef before = condition_of(from_of(edge));
    if (before && is_logic(before) && contains(condition, before)) return true;
    LLVMUseRef first = first_edge(from_of(edge));
    if (!first || LLVMGetNextUse(first)) return false;
  }
  return false;
}

static bool is_decided_before(LLVMBasicBlockRef block, LLVMValueRef condition) {
  for (LLVMUseRef edge = first_edge(block); edge; edge = LLVMGetNextUse(edge))
    if (is_decided(edge, condition)) return true;
  return false;
}

/* Whether nothing is left to do from here on. */
static bool is_end(LLVMBasicBlockRef block) {
  LLVMValueRef first = LLVMGetFirstInstruction(block);
  while (LLVMIsAPHINode(first)) first = LLVMGetNextInstruction(first);
  if (LLVMIsAReturnInst(first)) return true;
  return LLVMIsABranchInst(first) && !LLVMIsConditional(first) &&
         LLVMGetSuccessor(first, 0) != block && is_end(LLVMGetSuccessor(first, 0));
}

static bool may_end(LLVMBasicBlockRef block) {
  LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
  return is_end(LLVMGetSuccessor(last, 0)) || is_end(LLVMGetSuccessor(last, 1));
}

/* A convergent instruction is not copied to where other conditions hold; it has no text. */
static void keep(LLVMBuilderRef builder, LLVMContextRef context, LLVMBasicBlockRef block) {
  static const char name[] = "convergent";
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, false);
  LLVMValueRef nothing =
      LLVMGetInlineAsm(type, "", 0, "", 0, true, false, LLVMInlineAsmDialectATT, false);
  unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
  LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(block));
  LLVMValueRef call = LLVMBuildCall2(builder, type, nothing, NULL, 0, "");
  LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(context, kind, 0));
}

void jit_keep_joins(LLVMModuleRef module) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
         block = LLVMGetNextBasicBlock(block)) {
      LLVMValueRef condition = condition_of(block);
      if (!condition || !is_logic(condition) || !may_end(block)) continue;
      if (is_decided_before(block, condition)) keep(builder, context, block);
    }
  }
  LLVMDisposeBuilder(builder);
}
