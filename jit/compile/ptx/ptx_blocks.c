/* A function's blocks. A value that depends on where control comes from has two registers: whoever
 * comes writes the first, the block copies it to the second, so blocks whose values take each
 * other's place need no order of copies. */
#include "jit/compile/ptx/ptx_writer.h"

#include <string.h>

/* ---- what is known of blocks before any is written: their numbers, and loops not to be unrolled
 */

typedef struct block_facts {
  unsigned number;
  bool keeps_rolled;
} block_facts;

static block_facts facts_of(ptx_writer *w, LLVMBasicBlockRef block) {
  ptx_part parts[PTX_PARTS_MAX];
  if (!ptx_value(w, LLVMBasicBlockAsValue(block), parts)) return (block_facts){0};
  return (block_facts){parts[0].reg, parts[0].number != 0};
}

static bool names(LLVMValueRef node, const char *what) {
  LLVMValueRef operand[8];
  unsigned n = LLVMGetMDNodeNumOperands(node), length;
  if (n == 0 || n > 8) return false;
  LLVMGetMDNodeOperands(node, operand);
  for (unsigned i = 0; i < n; i++) {
    const char *text = operand[i] ? LLVMGetMDString(operand[i], &length) : NULL;
    if (text && length == strlen(what) && memcmp(text, what, length) == 0) return true;
  }
  return false;
}

/* Whether the branch at the end of a loop says that it is not to be unrolled. */
static bool stays_rolled(LLVMContextRef context, LLVMValueRef branch) {
  LLVMValueRef operand[8];
  LLVMValueRef loop = LLVMGetMetadata(branch, LLVMGetMDKindIDInContext(context, "llvm.loop", 9));
  unsigned n = loop ? LLVMGetMDNodeNumOperands(loop) : 0;
  if (n < 2 || n > 8) return false;
  LLVMGetMDNodeOperands(loop, operand);
  for (unsigned i = 1; i < n; i++)
    if (operand[i] && LLVMIsAMDNode(operand[i]) && names(operand[i], "llvm.loop.unroll.disable"))
      return true;
  return false;
}

static void define_block(ptx_writer *w, LLVMBasicBlockRef block, unsigned number, bool rolled) {
  ptx_part part = {.kind = PTX_NUMBER, .reg = number, .number = rolled};
  ptx_define(w, LLVMBasicBlockAsValue(block), 1, &part);
}

static void number_blocks(ptx_writer *w, LLVMValueRef function) {
  unsigned number = 0;
  LLVMBasicBlockRef block;
  LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(function));
  for (block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
    define_block(w, block, number++, false);
  for (block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block)) {
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    if (!LLVMIsABranchInst(last) || !stays_rolled(context, last)) continue;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++) {
      LLVMBasicBlockRef to = LLVMGetSuccessor(last, i);
      if (facts_of(w, to).number <= facts_of(w, block).number)
        define_block(w, to, facts_of(w, to).number, true);
    }
  }
}

/* ---- values that depend on where control comes from */

static const char *const move[PTX_CLASSES] = {"mov.pred", "mov.b16", "mov.b32", "mov.b64"};

/* The second register of each element, which is the value; the first has the number before it. */
static void define_phi(ptx_writer *w, LLVMValueRef phi) {
  ptx_part parts[PTX_PARTS_MAX];
  ptx_type type = ptx_type_of(w, LLVMTypeOf(phi));
  for (int i = 0; i < type.n; i++) {
    (void)ptx_new(w, type.class);
    parts[i] = ptx_new(w, type.class);
  }
  ptx_define(w, phi, type.n, parts);
}

static ptx_part first_of(ptx_part second) {
  second.reg--;
  return second;
}

static void define_phis(ptx_writer *w, LLVMValueRef function) {
  LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);
  for (; block; block = LLVMGetNextBasicBlock(block)) {
    LLVMValueRef at = LLVMGetFirstInstruction(block);
    for (; at && LLVMIsAPHINode(at); at = LLVMGetNextInstruction(at)) define_phi(w, at);
  }
}

static void copy_phi(ptx_writer *w, LLVMValueRef phi) {
  ptx_part parts[PTX_PARTS_MAX];
  int n = ptx_value(w, phi, parts);
  for (int i = 0; i < n; i++) {
    ptx_part from = first_of(parts[i]);
    ptx_line(w, move[from.class], false, &parts[i], 1, &from);
  }
}

static LLVMValueRef incoming(LLVMValueRef phi, LLVMBasicBlockRef from) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
    if (LLVMGetIncomingBlock(phi, i) == from) return LLVMGetIncomingValue(phi, i);
  return NULL;
}

static void write_incoming(ptx_writer *w, LLVMValueRef phi, LLVMBasicBlockRef from) {
  ptx_part to[PTX_PARTS_MAX], parts[PTX_PARTS_MAX];
  LLVMValueRef value = incoming(phi, from);
  int n = ptx_value(w, phi, to);
  if (!value || ptx_value(w, value, parts) != n) {
    ptx_note_unknown(w, "a value of an edge");
    return;
  }
  for (int i = 0; i < n; i++) {
    ptx_part first = first_of(to[i]);
    ptx_part what = first.class == PTX_PRED ? ptx_in_register(w, parts[i]) : ptx_plain(w, parts[i]);
    ptx_line(w, move[first.class], false, &first, 1, &what);
  }
}

/* What the blocks behind want of this one. */
static void write_edges(ptx_writer *w, LLVMBasicBlockRef block, LLVMValueRef last) {
  for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++) {
    LLVMBasicBlockRef to = LLVMGetSuccessor(last, i);
    if (i == 1 && to == LLVMGetSuccessor(last, 0)) continue;
    for (LLVMValueRef at = LLVMGetFirstInstruction(to); LLVMIsAPHINode(at);
         at = LLVMGetNextInstruction(at))
      write_incoming(w, at, block);
  }
}

/* ---- control */

static void write_jump(ptx_writer *w, LLVMBasicBlockRef block, LLVMBasicBlockRef to) {
  if (to != LLVMGetNextBasicBlock(block))
    llrt_text_add(&w->body, "\tbra.uni \t$L%u;\n", facts_of(w, to).number);
}

static void write_branch(ptx_writer *w, LLVMBasicBlockRef block, LLVMValueRef last) {
  ptx_part condition[PTX_PARTS_MAX];
  if (ptx_value(w, LLVMGetCondition(last), condition) != 1) return;
  LLVMBasicBlockRef yes = LLVMGetSuccessor(last, 0), no = LLVMGetSuccessor(last, 1);
  bool falls = yes == LLVMGetNextBasicBlock(block);
  condition[0] = ptx_in_register(w, condition[0]);
  llrt_text_add(&w->body, "\t@%s%%p%u bra \t$L%u;\n", falls ? "!" : "", condition[0].reg,
                facts_of(w, falls ? no : yes).number);
  if (!falls) write_jump(w, block, no);
}

static void write_end(ptx_writer *w, LLVMBasicBlockRef block, LLVMValueRef last) {
  switch (LLVMGetInstructionOpcode(last)) {
  case LLVMRet: llrt_text_add(&w->body, "\tret;\n"); return;
  case LLVMBr:
    write_edges(w, block, last);
    if (LLVMIsConditional(last)) write_branch(w, block, last);
    else write_jump(w, block, LLVMGetSuccessor(last, 0));
    return;
  default: ptx_note_unknown(w, "an end of a block");
  }
}

static void write_instruction(ptx_writer *w, LLVMBasicBlockRef block, LLVMValueRef at) {
  LLVMOpcode code = LLVMGetInstructionOpcode(at);
  if (ptx_is_wide(at)) return; /* known as a part of what it is used for, or not at all */
  if (LLVMIsATerminatorInst(at)) write_end(w, block, at);
  else if (code == LLVMPHI) copy_phi(w, at);
  else if (code == LLVMCall) ptx_write_call(w, at);
  else if (code == LLVMICmp || code == LLVMFCmp) ptx_write_compare(w, at, code);
  else if (code == LLVMSelect) ptx_write_select(w, at);
  else if (code == LLVMGetElementPtr) ptx_write_address(w, at);
  else if (code == LLVMLoad) ptx_write_load(w, at);
  else if (code == LLVMStore) ptx_write_store(w, at);
  else if (code == LLVMExtractElement || code == LLVMInsertElement || code == LLVMShuffleVector ||
           code == LLVMExtractValue || code == LLVMFreeze)
    ptx_write_vector(w, at, code);
  else if (code == LLVMAlloca) ptx_write_own_memory(w, at);
  else if (code == LLVMAddrSpaceCast) ptx_write_space(w, at);
  else if (LLVMIsACastInst(at)) ptx_write_cast(w, at, code);
  else ptx_write_arithmetic(w, at, code);
}

void ptx_write_blocks(ptx_writer *w, LLVMValueRef function) {
  number_blocks(w, function);
  define_phis(w, function);
  LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);
  for (; block && !w->unknown; block = LLVMGetNextBasicBlock(block)) {
    block_facts facts = facts_of(w, block);
    llrt_text_add(&w->body, "$L%u:\n", facts.number);
    if (facts.keeps_rolled) llrt_text_add(&w->body, "\t.pragma \"nounroll\";\n");
    LLVMValueRef at = LLVMGetFirstInstruction(block);
    for (; at && !w->unknown; at = LLVMGetNextInstruction(at)) write_instruction(w, block, at);
  }
}
