/* Arithmetic, comparisons, choices: element by element. */
#include "jit/compile/ptx/ptx_writer.h"

#include <stdio.h>
#include <string.h>

/* How the bits of an operand are read. */
typedef enum reading { BITS, SIGNED, UNSIGNED, REAL } reading;

typedef struct operation {
  const char *name;
  reading reads;
  bool extends; /* bits beyond those of a narrow type change the result */
} operation;

static operation operation_of(LLVMOpcode code) {
  switch (code) {
  case LLVMAdd: return (operation){"add", SIGNED, false};
  case LLVMSub: return (operation){"sub", SIGNED, false};
  case LLVMMul: return (operation){"mul.lo", SIGNED, false};
  case LLVMUDiv: return (operation){"div", UNSIGNED, true};
  case LLVMSDiv: return (operation){"div", SIGNED, true};
  case LLVMURem: return (operation){"rem", UNSIGNED, true};
  case LLVMSRem: return (operation){"rem", SIGNED, true};
  case LLVMShl: return (operation){"shl", BITS, false};
  case LLVMLShr: return (operation){"shr", UNSIGNED, true};
  case LLVMAShr: return (operation){"shr", SIGNED, true};
  case LLVMAnd: return (operation){"and", BITS, false};
  case LLVMOr: return (operation){"or", BITS, false};
  case LLVMXor: return (operation){"xor", BITS, false};
  case LLVMFAdd: return (operation){"add.rn", REAL, false};
  case LLVMFSub: return (operation){"sub.rn", REAL, false};
  case LLVMFMul: return (operation){"mul.rn", REAL, false};
  case LLVMFDiv: return (operation){"div.rn", REAL, false};
  case LLVMFNeg: return (operation){"neg", REAL, false};
  default: return (operation){0};
  }
}

/* "add.s32": what is printed for each instruction is put together without printf. */
static void name_opcode(char opcode[24], operation o, ptx_class class) {
  static const char letter[] = {'b', 's', 'u', 'f'};
  size_t n = strlen(o.name);
  memcpy(opcode, o.name, n);
  opcode[n++] = '.';
  if (class != PTX_PRED) opcode[n++] = letter[o.reads];
  memcpy(opcode + n, ptx_width(class), strlen(ptx_width(class)) + 1);
}

/* Distances are of 32 bits, whatever is shifted. */
static ptx_part distance(ptx_writer *w, ptx_part by, int bits) {
  if (by.kind == PTX_NUMBER) return ptx_number(PTX_B32, by.number);
  if (by.class == PTX_B64) return ptx_unary(w, "cvt.u32.u64", PTX_B32, by);
  return ptx_extended(w, by, bits, PTX_B32, false);
}

static bool is_shift(LLVMOpcode code) {
  return code == LLVMShl || code == LLVMLShr || code == LLVMAShr;
}

/* Predicates are what programs make of comparisons: and, or, xor of two registers. */
static ptx_part arithmetic(ptx_writer *w, LLVMOpcode code, ptx_type type, ptx_part a, ptx_part b) {
  operation o = operation_of(code);
  char opcode[24];
  name_opcode(opcode, o, type.class);
  if (type.class == PTX_PRED || a.kind == PTX_NUMBER) a = ptx_in_register(w, a);
  if (type.class == PTX_PRED || (type.real && type.class == PTX_B16)) b = ptx_in_register(w, b);
  if (o.extends) a = ptx_extended(w, a, type.bits, type.class, o.reads == SIGNED);
  if (is_shift(code)) b = distance(w, b, type.bits);
  else if (o.extends) b = ptx_extended(w, b, type.bits, type.class, o.reads == SIGNED);
  return ptx_binary(w, opcode, type.class, a, b);
}

static bool may_fuse(LLVMValueRef at) {
  return LLVMCanValueUseFastMathFlags(at) &&
         (LLVMGetFastMathFlags(at) & LLVMFastMathAllowContract) != 0;
}

void ptx_write_arithmetic(ptx_writer *w, LLVMValueRef at, LLVMOpcode code) {
  ptx_type type = ptx_type_of(w, LLVMTypeOf(at));
  ptx_part a[PTX_PARTS_MAX], b[PTX_PARTS_MAX];
  int n = ptx_value(w, LLVMGetOperand(at, 0), a);
  bool known = operation_of(code).name && !may_fuse(at) && n == type.n;
  known = known && (code == LLVMFNeg || ptx_value(w, LLVMGetOperand(at, 1), b) == n);
  known = known && (type.class != PTX_PRED || code == LLVMAnd || code == LLVMOr || code == LLVMXor);
  if (!known) {
    ptx_note_unknown(w, "an operation");
    return;
  }
  for (int i = 0; i < n; i++) {
    char opcode[24];
    name_opcode(opcode, operation_of(code), type.class);
    if (code == LLVMFNeg) a[i] = ptx_unary(w, opcode, type.class, ptx_in_register(w, a[i]));
    else a[i] = arithmetic(w, code, type, ptx_plain(w, a[i]), ptx_plain(w, b[i]));
  }
  ptx_define(w, at, n, a);
}

/* ---- comparisons */

static const char *integer_comparison(LLVMIntPredicate predicate, bool *is_signed) {
  *is_signed = predicate >= LLVMIntSGT;
  switch (predicate) {
  case LLVMIntEQ: return "eq";
  case LLVMIntNE: return "ne";
  case LLVMIntUGT:
  case LLVMIntSGT: return "gt";
  case LLVMIntUGE:
  case LLVMIntSGE: return "ge";
  case LLVMIntULT:
  case LLVMIntSLT: return "lt";
  default: return "le";
  }
}

static const char *real_comparison(LLVMRealPredicate predicate) {
  static const char *const name[] = {
      [LLVMRealOEQ] = "eq",  [LLVMRealOGT] = "gt",  [LLVMRealOGE] = "ge",
      [LLVMRealOLT] = "lt",  [LLVMRealOLE] = "le",  [LLVMRealONE] = "ne",
      [LLVMRealORD] = "num", [LLVMRealUNO] = "nan", [LLVMRealUEQ] = "equ",
      [LLVMRealUGT] = "gtu", [LLVMRealUGE] = "geu", [LLVMRealULT] = "ltu",
      [LLVMRealULE] = "leu", [LLVMRealUNE] = "neu", [LLVMRealPredicateTrue] = NULL};
  return name[predicate];
}

static ptx_part compare_truths(ptx_writer *w, const char *name, ptx_part a, ptx_part b) {
  ptx_part differ =
      ptx_binary(w, "xor.pred", PTX_PRED, ptx_in_register(w, a), ptx_in_register(w, b));
  if (name[0] == 'n') return differ;
  if (name[0] != 'e') ptx_note_unknown(w, "an order of truths");
  return ptx_unary(w, "not.pred", PTX_PRED, differ);
}

static ptx_part compare(ptx_writer *w, const char *name, char letter, ptx_type type, ptx_part a,
                        ptx_part b) {
  char opcode[24];
  if (type.class == PTX_PRED) return compare_truths(w, name, a, b);
  if (type.real && type.class == PTX_B16) b = ptx_in_register(w, b);
  if (!type.real) a = ptx_extended(w, a, type.bits, type.class, letter == 's');
  if (!type.real) b = ptx_extended(w, b, type.bits, type.class, letter == 's');
  snprintf(opcode, sizeof opcode, "setp.%s.%c%s", name, letter, ptx_width(type.class));
  return ptx_binary(w, opcode, PTX_PRED, ptx_in_register(w, a), ptx_plain(w, b));
}

void ptx_write_compare(ptx_writer *w, LLVMValueRef at, LLVMOpcode code) {
  ptx_part a[PTX_PARTS_MAX], b[PTX_PARTS_MAX];
  ptx_type type = ptx_type_of(w, LLVMTypeOf(LLVMGetOperand(at, 0)));
  bool is_signed = false;
  const char *name = code == LLVMICmp ? integer_comparison(LLVMGetICmpPredicate(at), &is_signed)
                                      : real_comparison(LLVMGetFCmpPredicate(at));
  int n = ptx_value(w, LLVMGetOperand(at, 0), a);
  if (!name || n != type.n || ptx_value(w, LLVMGetOperand(at, 1), b) != n) {
    ptx_note_unknown(w, "a comparison");
    return;
  }
  char letter = 'u';
  if (code == LLVMFCmp) letter = 'f';
  else if (is_signed) letter = 's';
  for (int i = 0; i < n; i++) a[i] = compare(w, name, letter, type, a[i], b[i]);
  ptx_define(w, at, n, a);
}

/* ---- choices */

static ptx_part choose_truth(ptx_writer *w, ptx_part condition, ptx_part a, ptx_part b) {
  ptx_part other = ptx_unary(w, "not.pred", PTX_PRED, condition);
  a = ptx_binary(w, "and.pred", PTX_PRED, condition, ptx_in_register(w, a));
  b = ptx_binary(w, "and.pred", PTX_PRED, other, ptx_in_register(w, b));
  return ptx_binary(w, "or.pred", PTX_PRED, a, b);
}

static ptx_part choose(ptx_writer *w, ptx_part condition, ptx_part a, ptx_part b) {
  static const char *const opcode[PTX_CLASSES] = {"", "selp.b16", "selp.b32", "selp.b64"};
  if (a.class == PTX_PRED) return choose_truth(w, condition, a, b);
  ptx_part result = ptx_new(w, a.class);
  ptx_part operands[3] = {ptx_plain(w, a), ptx_plain(w, b), condition};
  ptx_line(w, opcode[a.class], false, &result, 3, operands);
  return result;
}

void ptx_write_select(ptx_writer *w, LLVMValueRef at) {
  ptx_part condition[PTX_PARTS_MAX], a[PTX_PARTS_MAX], b[PTX_PARTS_MAX];
  int n_conditions = ptx_value(w, LLVMGetOperand(at, 0), condition);
  int n = ptx_value(w, LLVMGetOperand(at, 1), a);
  if (ptx_value(w, LLVMGetOperand(at, 2), b) != n || n_conditions == 0) return;
  for (int i = 0; i < n; i++)
    a[i] = choose(w, ptx_in_register(w, condition[n_conditions == 1 ? 0 : i]), a[i], b[i]);
  ptx_define(w, at, n, a);
}
