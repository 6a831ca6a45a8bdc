/* Casts. */
#include "jit/compile/ptx/ptx_writer.h"

#include <stdio.h>

static ptx_part mask(ptx_writer *w, ptx_part from, int bits) {
  static const char *const opcode[PTX_CLASSES] = {"", "and.b16", "and.b32", "and.b64"};
  ptx_part low = ptx_number(from.class, ((uint64_t)1 << bits) - 1);
  return ptx_binary(w, opcode[from.class], from.class, from, low);
}

static ptx_part convert(ptx_writer *w, ptx_part from, ptx_class to, char letter, int from_bits) {
  char opcode[24];
  snprintf(opcode, sizeof opcode, "cvt.%c%s.%c%d", letter, ptx_width(to), letter, from_bits);
  return ptx_unary(w, opcode, to, from);
}

static ptx_part sign_extended(ptx_writer *w, ptx_part from, int bits, ptx_class class) {
  if (bits != 8 && bits != 16 && bits != 32) ptx_note_unknown(w, "a sign of few bits");
  return convert(w, from, class, 's', bits);
}

static int class_bits(ptx_class class) {
  return class == PTX_B16 ? 16 : class == PTX_B32 ? 32 : 64;
}

static uint64_t extended_number(uint64_t number, int bits, bool is_signed) {
  uint64_t above = bits == 64 ? 0 : ~(uint64_t)0 << bits;
  return is_signed && number >> (bits - 1) & 1 ? number | above : number & ~above;
}

ptx_part ptx_extended(ptx_writer *w, ptx_part from, int bits, ptx_class class, bool is_signed) {
  if (from.kind == PTX_NUMBER)
    return ptx_number(class, extended_number(from.number, bits, is_signed));
  from = ptx_plain(w, from);
  if (from.class == class && bits == class_bits(class)) return from;
  if (is_signed) return sign_extended(w, from, bits, class);
  if (from.class != class) from = convert(w, from, class, 'u', class_bits(from.class));
  return bits == 16 || bits == 32 ? from : mask(w, from, bits);
}

/* A truth as one of two numbers. */
static ptx_part number_of_truth(ptx_writer *w, ptx_part from, ptx_class class, uint64_t if_true) {
  static const char *const opcode[PTX_CLASSES] = {"", "selp.b16", "selp.b32", "selp.b64"};
  ptx_part result = ptx_new(w, class);
  ptx_part operands[3] = {ptx_number(class, if_true), ptx_number(class, 0),
                          ptx_in_register(w, from)};
  ptx_line(w, opcode[class], false, &result, 3, operands);
  return result;
}

static ptx_part truncated(ptx_writer *w, ptx_part from, ptx_type to) {
  if (to.class == PTX_PRED) {
    ptx_part low = mask(w, ptx_in_register(w, from), 1), none = ptx_number(low.class, 0);
    const char *opcode = low.class == PTX_B64   ? "setp.ne.s64"
                         : low.class == PTX_B32 ? "setp.ne.s32"
                                                : "setp.ne.s16";
    return ptx_binary(w, opcode, PTX_PRED, low, none);
  }
  if (from.kind == PTX_NUMBER || from.class == to.class) return (from.class = to.class, from);
  return convert(w, from, to.class, 'u', class_bits(from.class));
}

static ptx_part extend(ptx_writer *w, ptx_part from, ptx_type was, ptx_type to, bool is_signed) {
  if (was.class == PTX_PRED)
    return number_of_truth(w, from, to.class, is_signed ? ~(uint64_t)0 : 1);
  return ptx_extended(w, from, was.bits, to.class, is_signed);
}

static ptx_part float_of_integer(ptx_writer *w, ptx_part from, ptx_type was, ptx_type to,
                                 bool is_signed) {
  static const uint64_t one[PTX_CLASSES] = {0, 0x3c00, 0x3f800000, 0x3ff0000000000000};
  char opcode[28];
  if (was.class == PTX_PRED && !is_signed) return number_of_truth(w, from, to.class, one[to.class]);
  if (was.class == PTX_PRED) ptx_note_unknown(w, "a signed truth");
  from = ptx_in_register(w, ptx_extended(w, from, was.bits, was.class, is_signed));
  snprintf(opcode, sizeof opcode, "cvt.rn.f%s.%c%s", ptx_width(to.class), is_signed ? 's' : 'u',
           ptx_width(from.class));
  return ptx_unary(w, opcode, to.class, from);
}

static ptx_part integer_of_float(ptx_writer *w, ptx_part from, ptx_type to, bool is_signed) {
  char opcode[28];
  if (to.class == PTX_PRED || to.bits < 16) ptx_note_unknown(w, "an integer of few bits");
  snprintf(opcode, sizeof opcode, "cvt.rzi.%c%s.f%s", is_signed ? 's' : 'u', ptx_width(to.class),
           ptx_width(from.class));
  return ptx_unary(w, opcode, to.class, ptx_in_register(w, from));
}

static ptx_part float_of_float(ptx_writer *w, ptx_part from, ptx_type to, bool rounds) {
  char opcode[28];
  snprintf(opcode, sizeof opcode, "cvt.%sf%s.f%s", rounds ? "rn." : "", ptx_width(to.class),
           ptx_width(from.class));
  return ptx_unary(w, opcode, to.class, ptx_in_register(w, from));
}

static ptx_part cast(ptx_writer *w, LLVMOpcode code, ptx_part from, ptx_type was, ptx_type to) {
  switch (code) {
  case LLVMTrunc: return truncated(w, ptx_plain(w, from), to);
  case LLVMZExt: return extend(w, from, was, to, false);
  case LLVMSExt: return extend(w, from, was, to, true);
  case LLVMUIToFP: return float_of_integer(w, from, was, to, false);
  case LLVMSIToFP: return float_of_integer(w, from, was, to, true);
  case LLVMFPToUI: return integer_of_float(w, from, to, false);
  case LLVMFPToSI: return integer_of_float(w, from, to, true);
  case LLVMFPTrunc: return float_of_float(w, from, to, true);
  case LLVMFPExt: return float_of_float(w, from, to, false);
  case LLVMBitCast:
  case LLVMIntToPtr:
  case LLVMPtrToInt:
    if (was.bits != to.bits) ptx_note_unknown(w, "bits that become more or fewer elements");
    return from;
  default: ptx_note_unknown(w, "a cast"); return from;
  }
}

static LLVMValueRef operand_of(LLVMValueRef value, LLVMOpcode code, unsigned number) {
  bool is = value && LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == code;
  return is ? LLVMGetOperand(value, number) : NULL;
}

/* 128 bits are known as the product of two numbers of 64 of which the upper half is wanted: the
 * value is not written, but this. */
static void write_upper_half(ptx_writer *w, LLVMValueRef at) {
  ptx_part a[PTX_PARTS_MAX], b[PTX_PARTS_MAX];
  LLVMValueRef shifted = LLVMGetOperand(at, 0), product = operand_of(shifted, LLVMLShr, 0);
  LLVMValueRef by = product ? LLVMGetOperand(shifted, 1) : NULL;
  LLVMValueRef first = operand_of(operand_of(product, LLVMMul, 0), LLVMZExt, 0);
  LLVMValueRef second = operand_of(operand_of(product, LLVMMul, 1), LLVMZExt, 0);
  bool known = by && LLVMIsAConstantInt(by) && LLVMConstIntGetZExtValue(by) == 64;
  known = known && first && second && ptx_value(w, first, a) == 1 && ptx_value(w, second, b) == 1;
  if (!known || a->class != PTX_B64 || b->class != PTX_B64) {
    ptx_note_unknown(w, "128 bits");
    return;
  }
  ptx_part upper = ptx_binary(w, "mul.hi.u64", PTX_B64, ptx_in_register(w, *a), ptx_plain(w, *b));
  ptx_define(w, at, 1, &upper);
}

void ptx_write_cast(ptx_writer *w, LLVMValueRef at, LLVMOpcode code) {
  ptx_part part[PTX_PARTS_MAX];
  if (ptx_is_wide(LLVMGetOperand(at, 0))) {
    write_upper_half(w, at);
    return;
  }
  ptx_type to = ptx_type_of(w, LLVMTypeOf(at));
  ptx_type was = ptx_type_of(w, LLVMTypeOf(LLVMGetOperand(at, 0)));
  int n = ptx_value(w, LLVMGetOperand(at, 0), part);
  if (n != to.n) ptx_note_unknown(w, "a cast of several elements to one");
  if (w->unknown) return;
  for (int i = 0; i < n; i++) part[i] = cast(w, code, part[i], was, to);
  ptx_define(w, at, n, part);
}
