/* Instructions, once for each address: LLVM's disassembler gives the text, the table in
 * gfx9_table.c its meaning. Whatever the text holds beyond that is a fault. */
#include "gfx9_code.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const suffixes[] = {"_e32", "_e64", "_sdwa", "_dpp"};

/* Finds the table's row for the mnemonic, whole or without the suffix of its encoding. */
static bool find_info(const char *text, size_t length, gfx9_op *op) {
  op->info = gfx9_find(text, length);
  for (int i = 0; i < 4 && !op->info; i++) {
    size_t n = strlen(suffixes[i]);
    if (length <= n || strncmp(text + length - n, suffixes[i], n) != 0) continue;
    op->info = gfx9_find(text, length - n);
    op->sdwa =
        (gfx9_sdwa){.used = i == 2, GFX9_DWORD, GFX9_PAD, {GFX9_DWORD, GFX9_DWORD, GFX9_DWORD}};
    op->dpp = (gfx9_dpp){.used = i == 3, .row_mask = 15, .bank_mask = 15};
    return op->info && (i < 2 || op->info->lanes);
  }
  return op->info != NULL;
}

static int data_words(int parameter) {
  int words = (parameter & GFX9_BYTES) / 4;
  return words ? words : 1;
}

/* The words that a letter of info->operands stands for; 0: any. */
static int letter_words(char letter, const gfx9_info *info) {
  switch (letter) {
  case 'd':
  case 'x':
  case 's': return 1;
  case 'w': return data_words(info->parameter) * (info->parameter & GFX9_TWO ? 2 : 1);
  case 'W': return data_words(info->parameter);
  case 'q': return data_words(info->parameter);
  case 'P': return 2 * data_words(info->parameter);
  case 'B': return 4;
  case 'r':
  case 'R':
  case 'v':
  case 'o': return 0;
  default: return 2;
  }
}

static bool is_right_kind(char letter, const gfx9_op *op, const gfx9_operand *operand) {
  switch (letter) {
  case 'd':
  case 'D':
  case 'x':
  case 'X':
  case 'w': return operand->kind == GFX9_VECTOR || operand->kind == GFX9_SCALAR;
  case 'm': return operand->kind == GFX9_SCALAR;
  case 'M': return operand->kind != GFX9_VECTOR;
  case 'r': return operand->kind == GFX9_VECTOR;
  case 'q':
  case 'P':
  case 'W': return operand->kind == GFX9_VECTOR && operand->words <= 4;
  case 'v':
    return operand->kind == GFX9_NONE || (operand->kind == GFX9_VECTOR && operand->words <= 2);
  case 'B': return operand->kind == GFX9_SCALAR && operand->words == 4;
  case 'o':
    return operand->kind == GFX9_NONE || (operand->kind == GFX9_SCALAR && operand->words <= 2);
  default: return operand->kind != GFX9_NONE && !(op->scalar && operand->kind == GFX9_VECTOR);
  }
}

/* Bits of the number that a source is, from the last type in the instruction's name. */
static int float_bits(const gfx9_info *info) {
  const char *name = info->name;
  size_t n = strlen(name);
  if (info->modifiers & GFX9_MIX) return 32;
  return strcmp(name + n - 2, "64") == 0 ? 64 : strcmp(name + n - 2, "16") == 0 ? 16 : 32;
}

static bool ends(char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  if (n < m || strcmp(text + n - m, end) != 0) return false;
  text[n - m] = 0;
  return true;
}

/* Takes -v0, |v0|, sext(v0) off the register's name. */
static bool strip(char **text, int k, gfx9_op *op) {
  if (k >= 3) return true;
  if (**text == '-' && strchr("|vas", (*text)[1])) {
    op->negate[0] |= (uint8_t)(1 << k);
    ++*text;
  }
  if (**text == '|') {
    op->absolute |= (uint8_t)(1 << k);
    if (!ends(++*text, "|")) return false;
  }
  if (strncmp(*text, "sext(", 5) == 0) {
    op->sext |= (uint8_t)(1 << k);
    *text += 5;
    if (!ends(*text, ")") || !op->sdwa.used) return false;
  }
  return true;
}

static bool add_operand(char letter, char *text, gfx9_op *op) {
  gfx9_operand *operand = &op->operand[op->n_operands];
  bool source = strchr("sSxX", letter) != NULL;
  if (source && !strip(&text, op->n_sources, op)) return false;
  if (!gfx9_parse_operand(text, letter_words(letter, op->info), op->sign_bit + 1,
                          op->info->modifiers & GFX9_NEGATE, operand)) {
    return false;
  }
  if (!is_right_kind(letter, op, operand)) return false;
  operand->destination = strchr("dDmwxXqr", letter) != NULL;
  operand->mask = letter == 'm' || letter == 'M';
  if (source) {
    if (op->n_sources == 3) return op->info->step != NULL;
    if (letter == 'x' || letter == 'X') op->first = 1;
    op->source[op->n_sources++] = op->n_operands;
  }
  op->n_operands++;
  return true;
}

/* What a constant is in the upper half of a packed operand is not written down, unless its halves
 * are equal or it has none; and of mixed operands only 32-bit ones are. */
static bool check_constants(const gfx9_op *op) {
  for (int k = 0; k < op->n_sources; k++) {
    const gfx9_operand *operand = &op->operand[op->source[k]];
    uint64_t value = operand->value;
    if (operand->kind != GFX9_CONSTANT || value == 0) continue;
    bool upper = (op->op_sel | op->op_sel_hi) >> k & 1;
    bool equal = op->info->packed == 16 && (uint16_t)value == (uint16_t)(value >> 16);
    bool in_parts = op->info->packed || op->info->modifiers & (GFX9_OP_SEL | GFX9_MIX);
    if (in_parts && upper && !equal) return false;
  }
  return true;
}

/* Halves are selected as sub-dword addressing selects them. */
static bool finish(gfx9_op *op, emu_fault *fault) {
  int known = op->info->modifiers;
  op->plain = !op->negate[0] && !op->negate[1] && !op->absolute && !(known & GFX9_MIX);
  if ((op->negate[0] || op->absolute) && !(known & GFX9_NEGATE)) {
    return emu_fault_set(fault, EMU_UNKNOWN, "a sign is not known of this instruction");
  }
  if (!check_constants(op)) return emu_fault_set(fault, EMU_UNKNOWN, "the constant has halves");
  if (known & (GFX9_KEEP | GFX9_OP_SEL_16)) {
    op->sdwa = (gfx9_sdwa){true, GFX9_DWORD, GFX9_PRESERVE, {GFX9_DWORD, GFX9_DWORD, GFX9_DWORD}};
    for (int k = 0; k < 3; k++)
      if (op->op_sel >> k & 1) op->sdwa.source[k] = GFX9_WORD_0 + 1;
  }
  if (known & GFX9_KEEP) {
    op->sdwa.destination = (uint8_t)(GFX9_WORD_0 + (op->op_sel >> op->n_sources & 1));
  }
  if (known & (GFX9_LOW | GFX9_HIGH_HALF)) {
    uint8_t half = (uint8_t)(known & GFX9_LOW ? GFX9_WORD_0 : GFX9_WORD_0 + 1);
    op->sdwa = (gfx9_sdwa){true, half, GFX9_PRESERVE, {GFX9_DWORD, GFX9_DWORD, GFX9_DWORD}};
  }
  return true;
}

/* Cuts the next operand or modifier off `rest`: up to a comma or space outside brackets. */
static char *next_token(char **rest) {
  char *start = *rest + strspn(*rest, " \t,");
  char *end = start;
  for (int depth = 0; *end && (depth > 0 || !strchr(", \t", *end)); end++) {
    depth += (*end == '[' || *end == '(') - (*end == ']' || *end == ')');
  }
  *rest = *end ? end + 1 : end;
  *end = 0;
  return *start ? start : NULL;
}

static bool parse_rest(char *rest, gfx9_op *op, emu_fault *fault) {
  const char *letters = op->info->operands;
  bool returns = strstr(rest, " glc") || strstr(rest, " sc0");
  if (*letters == 'q' && !returns) letters++; /* an atomic that gives nothing back */
  op->sign_bit = (uint8_t)(float_bits(op->info) - 1);
  op->op_sel_hi = op->info->packed ? 7 : 0;
  for (char *token; (token = next_token(&rest)) != NULL;) {
    bool ok = *letters ? add_operand(*letters++, token, op) : gfx9_parse_modifier(token, op);
    if (!ok) {
      return emu_fault_set(fault, EMU_UNKNOWN, "'%s' is not known of this instruction", token);
    }
  }
  if (*letters) return emu_fault_set(fault, EMU_UNKNOWN, "an operand is missing");
  return finish(op, fault);
}

static bool decode_text(const char *text, gfx9_op *op, emu_fault *fault) {
  char copy[sizeof op->text];
  while (*text == ' ' || *text == '\t') text++;
  if (strlen(text) >= sizeof op->text) return emu_fault_set(fault, EMU_UNKNOWN, "a long text");
  snprintf(op->text, sizeof op->text, "%.*s", (int)sizeof op->text - 1, text);
  memcpy(copy, op->text, sizeof copy);
  for (char *tab = op->text; (tab = strchr(tab, '\t')) != NULL;) *tab = ' ';
  size_t length = strcspn(copy, " \t");
  op->scalar = copy[0] == 's' && copy[1] == '_';
  if (!find_info(copy, length, op)) {
    return emu_fault_set(fault, EMU_UNKNOWN, "%.*s is not in the table", (int)length, copy);
  }
  return op->info->modifiers & GFX9_RAW || parse_rest(copy + length, op, fault);
}

static bool decode_one(gfx9_op *op, const char *text, emu_fault *fault) {
  if (decode_text(text, op, fault)) return true;
  snprintf(fault->instruction, sizeof fault->instruction, "%s", op->text);
  fault->line = (int)op->pc;
  return false;
}

/* From a byte offset to an op; -1: none begins there. */
static int find_op(const gfx9_code *code, int64_t pc) {
  for (int low = 0, high = code->n - 1; low <= high;) {
    int middle = (low + high) / 2;
    if (code->op[middle].pc == pc) return middle;
    if (code->op[middle].pc < pc) {
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return -1;
}

static bool resolve_branches(gfx9_code *code, emu_fault *fault) {
  for (int i = 0; i < code->n; i++) {
    gfx9_op *op = &code->op[i];
    if (op->info->step != gfx9_branch) continue;
    op->target = find_op(code, (int64_t)op->pc + 4 + 4 * (int16_t)op->dword);
    if (op->target < 0) return emu_fault_set(fault, EMU_UNKNOWN, "%s leaves the kernel", op->text);
  }
  return true;
}

static void count_registers(gfx9_code *code) {
  for (int i = 0; i < code->n; i++) {
    for (int k = 0; k < code->op[i].n_operands; k++) {
      const gfx9_operand *operand = &code->op[i].operand[k];
      int end = operand->index + operand->words;
      if (operand->kind == GFX9_VECTOR && end > code->vectors) code->vectors = end;
    }
  }
  if (code->vectors == 0) code->vectors = 1; /* v0 is given to every wave */
}

static bool decode_all(LLVMDisasmContextRef context, const uint8_t *bytes, uint32_t size,
                       gfx9_code *code, emu_fault *fault) {
  size_t length;
  for (uint32_t pc = 0; pc < size; pc += (uint32_t)length) {
    char text[256];
    gfx9_op *op = &code->op[code->n++];
    length = LLVMDisasmInstruction(context, (uint8_t *)(uintptr_t)bytes + pc, size - pc, pc, text,
                                   sizeof text);
    if (length == 0) return emu_fault_set(fault, EMU_UNKNOWN, "no instruction at 0x%x", pc);
    op->pc = pc;
    op->step = EMU_NOWHERE;
    memcpy(&op->dword, bytes + pc, sizeof op->dword);
    if (!decode_one(op, text, fault)) return false;
  }
  count_registers(code);
  return resolve_branches(code, fault);
}

bool gfx9_decode(const char *cpu, const uint8_t *bytes, uint32_t size, gfx9_code *code,
                 emu_fault *fault) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUDisassembler();
  LLVMDisasmContextRef context = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", cpu, NULL, 0, NULL, NULL);
  code->op = calloc(size / 4 + 1, sizeof *code->op);
  bool ok = context && code->op;
  if (ok) {
    ok = decode_all(context, bytes, size, code, fault);
  } else {
    emu_fault_set(fault, EMU_LIMIT, "no disassembler for %s", cpu);
  }
  if (context) LLVMDisasmDispose(context);
  return ok;
}
