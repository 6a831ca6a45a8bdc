/* Lines of PTX. */
#include "jit/compile/ptx/ptx_writer.h"

#include <stdio.h>
#include <string.h>

static const char *const prefix[PTX_CLASSES] = {"%p", "%h", "%r", "%d"};

const char *ptx_width(ptx_class class) {
  static const char *const width[PTX_CLASSES] = {"pred", "16", "32", "64"};
  return width[class];
}

static void add(ptx_writer *w, const char *text) {
  llrt_text_add_bytes(&w->body, text, strlen(text));
}

static void add_decimal(ptx_writer *w, uint64_t number) {
  char digits[20];
  int at = sizeof digits;
  do digits[--at] = (char)('0' + number % 10);
  while (number /= 10);
  llrt_text_add_bytes(&w->body, digits + at, sizeof digits - (size_t)at);
}

static void add_signed(ptx_writer *w, int64_t number) {
  if (number < 0) add(w, "-");
  add_decimal(w, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

static void add_number(ptx_writer *w, ptx_part part, bool real) {
  if (real && part.class == PTX_B32) llrt_text_add(&w->body, "0f%08X", (unsigned)part.number);
  else if (real) llrt_text_add(&w->body, "0d%016llX", (unsigned long long)part.number);
  else if (part.class == PTX_B32) add_signed(w, (int32_t)part.number);
  else if (part.class == PTX_B16) add_signed(w, (int16_t)part.number);
  else add_signed(w, (int64_t)part.number);
}

void ptx_add_part(ptx_writer *w, ptx_part part, bool real) {
  if (part.kind == PTX_NUMBER) {
    add_number(w, part, real);
    return;
  }
  if (part.kind == PTX_REGISTER) add(w, prefix[part.class]);
  else add(w, part.symbol ? part.symbol : "own");
  if (part.kind == PTX_REGISTER || !part.symbol) add_decimal(w, part.reg);
  if (!part.number) return;
  add(w, "+");
  add_signed(w, (int64_t)part.number);
}

void ptx_line(ptx_writer *w, const char *opcode, bool real, const ptx_part *result, int n,
              const ptx_part *operands) {
  add(w, "\t");
  add(w, opcode);
  add(w, " \t");
  if (result) ptx_add_part(w, *result, false);
  for (int i = 0; i < n; i++) {
    if (result || i) add(w, ", ");
    ptx_add_part(w, operands[i], real);
  }
  add(w, ";\n");
}

static bool is_real(const char *opcode) {
  const char *last = strrchr(opcode, '.');
  return last && last[1] == 'f';
}

ptx_part ptx_unary(ptx_writer *w, const char *opcode, ptx_class class, ptx_part a) {
  ptx_part result = ptx_new(w, class);
  ptx_line(w, opcode, is_real(opcode), &result, 1, &a);
  return result;
}

ptx_part ptx_binary(ptx_writer *w, const char *opcode, ptx_class class, ptx_part a, ptx_part b) {
  ptx_part result = ptx_new(w, class);
  ptx_line(w, opcode, is_real(opcode), &result, 2, (ptx_part[]){a, b});
  return result;
}

ptx_part ptx_plain(ptx_writer *w, ptx_part part) {
  if (part.kind == PTX_NUMBER || (part.kind == PTX_REGISTER && !part.number)) return part;
  ptx_part base = part;
  base.number = 0;
  if (part.kind == PTX_SYMBOL) base = ptx_unary(w, "mov.u64", PTX_B64, base);
  if (!part.number) return base;
  return ptx_binary(w, "add.s64", PTX_B64, base, ptx_number(PTX_B64, part.number));
}

ptx_part ptx_in_register(ptx_writer *w, ptx_part part) {
  static const char *const move[PTX_CLASSES] = {"", "mov.b16", "mov.b32", "mov.b64"};
  if (part.kind != PTX_NUMBER) return ptx_plain(w, part);
  if (part.class != PTX_PRED) return ptx_unary(w, move[part.class], part.class, part);
  ptx_part result = ptx_new(w, PTX_PRED);
  ptx_part numbers[2] = {ptx_number(PTX_B32, part.number & 1), ptx_number(PTX_B32, 0)};
  numbers[0] = ptx_unary(w, "mov.b32", PTX_B32, numbers[0]);
  ptx_line(w, "setp.ne.s32", false, &result, 2, numbers);
  return result;
}
