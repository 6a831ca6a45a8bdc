/* Operands and modifiers as LLVM's disassembler writes them. */
#include "gfx9_code.h"
#include "gfx9_float.h"

#include <stdlib.h>
#include <string.h>

static bool starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "5" or "[4:7]" -> index and words. */
static bool parse_index(const char *text, int *index, int *words) {
  char *end;
  bool range = *text == '[';
  if (range) text++;
  if (*text < '0' || *text > '9') return false;
  *index = (int)strtol(text, &end, 10);
  *words = 1;
  if (!range) return *end == 0;
  if (*end++ != ':') return false;
  *words = (int)strtol(end, &end, 10) - *index + 1;
  return end[0] == ']' && end[1] == 0 && *words > 0;
}

static bool parse_register(const char *text, gfx9_operand *operand) {
  int index, words;
  if (!strchr("vas", text[0]) || !parse_index(text + 1, &index, &words)) return false;
  int limit = text[0] == 's' ? 102 : 256;
  if (index + words > limit) return false;
  operand->kind = text[0] == 's' ? GFX9_SCALAR : GFX9_VECTOR;
  operand->index = (uint16_t)(text[0] == 'a' ? GFX9_ACC + index : index);
  operand->words = (uint8_t)words;
  return true;
}

static const struct {
  const char *name;
  uint8_t index, words;
} named[] = {{"vcc", GFX9_VCC, 2},       {"vcc_lo", GFX9_VCC, 1},   {"vcc_hi", GFX9_VCC + 1, 1},
             {"exec", GFX9_EXEC, 2},     {"exec_lo", GFX9_EXEC, 1}, {"exec_hi", GFX9_EXEC + 1, 1},
             {"m0", GFX9_M0, 1},         {"flat_scratch", 102, 2},  {"flat_scratch_lo", 102, 1},
             {"flat_scratch_hi", 103, 1}};

static bool parse_named(const char *text, gfx9_operand *operand) {
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
    if (strcmp(text, named[i].name) != 0) continue;
    operand->kind = GFX9_SCALAR;
    operand->index = named[i].index;
    operand->words = named[i].words;
    return true;
  }
  return false;
}

/* Inline constants are written in decimal and extend their sign; literals in hexadecimal, 32 bits
 * that are zero-extended, or the upper word of a double. Of the floating-point ones, the bits of a
 * float of the operand's size. */
static bool parse_constant(const char *text, int words, int float_bits, bool real,
                           gfx9_operand *operand) {
  char *end;
  operand->kind = GFX9_CONSTANT;
  operand->words = (uint8_t)words;
  if (strchr(text, '.')) {
    double value = strtod(text, &end);
    operand->value = float_bits == 64 && words == 2 ? f64_bits(value)
                     : float_bits == 16             ? f16_bits(value)
                                                    : f32_bits((float)value);
  } else if (starts_with(text, "0x")) {
    operand->value = strtoull(text, &end, 16);
    if (real && float_bits == 64 && words == 2) operand->value <<= 32;
  } else {
    operand->value = (uint64_t)strtoll(text, &end, 10);
  }
  return end != text && *end == 0;
}

bool gfx9_parse_operand(const char *text, int words, int float_bits, bool real,
                        gfx9_operand *operand) {
  if (strcmp(text, "off") == 0) return words == 0;
  if (!parse_register(text, operand) && !parse_named(text, operand)) {
    return parse_constant(text, words ? words : 1, float_bits, real, operand);
  }
  return words == 0 || operand->words == words;
}

/* ---- modifiers ---- */

static bool parse_selection(const char *text, uint8_t *selection) {
  static const char *const names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                      "WORD_0", "WORD_1", "DWORD"};
  for (uint8_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(text, names[i]) != 0) continue;
    *selection = i;
    return true;
  }
  return false;
}

static bool parse_unused(const char *text, uint8_t *unused) {
  static const char *const names[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  for (uint8_t i = 0; i < 3; i++) {
    if (strcmp(text, names[i]) != 0) continue;
    *unused = i;
    return true;
  }
  return false;
}

static bool parse_sdwa(const char *text, gfx9_sdwa *sdwa) {
  if (starts_with(text, "dst_sel:")) return parse_selection(text + 8, &sdwa->destination);
  if (starts_with(text, "dst_unused:")) return parse_unused(text + 11, &sdwa->unused);
  if (starts_with(text, "src0_sel:")) return parse_selection(text + 9, &sdwa->source[0]);
  if (starts_with(text, "src1_sel:")) return parse_selection(text + 9, &sdwa->source[1]);
  return false;
}

/* Controls with a count, by the first value of their nine bits (CDNA3 ISA, "DPP_CTRL
 * Enumeration"). */
static const struct {
  const char *name;
  uint16_t base, least, most;
} dpp_counted[] = {{"row_shl:", 0x100, 1, 15},
                   {"row_shr:", 0x110, 1, 15},
                   {"row_ror:", 0x120, 1, 15},
                   {"row_newbcast:", 0x150, 0, 15}};
static const struct {
  const char *name;
  uint16_t control;
} dpp_plain[] = {{"wave_shl:1", 0x130},   {"wave_rol:1", 0x134},  {"wave_shr:1", 0x138},
                 {"wave_ror:1", 0x13c},   {"row_mirror", 0x140},  {"row_half_mirror", 0x141},
                 {"row_bcast:15", 0x142}, {"row_bcast:31", 0x143}};

static bool parse_dpp_control(const char *text, uint16_t *control) {
  if (starts_with(text, "quad_perm:[") && strlen(text) == 19) {
    *control = 0;
    for (int i = 0; i < 4; i++) {
      int lane = text[11 + 2 * i] - '0';
      if (lane < 0 || lane > 3) return false;
      *control |= (uint16_t)(lane << (2 * i));
    }
    return true;
  }
  for (size_t i = 0; i < sizeof dpp_plain / sizeof *dpp_plain; i++) {
    *control = dpp_plain[i].control;
    if (strcmp(text, dpp_plain[i].name) == 0) return true;
  }
  for (size_t i = 0; i < sizeof dpp_counted / sizeof *dpp_counted; i++) {
    size_t length = strlen(dpp_counted[i].name);
    if (strncmp(text, dpp_counted[i].name, length) != 0) continue;
    int count = atoi(text + length);
    *control = (uint16_t)(dpp_counted[i].base + count);
    return count >= dpp_counted[i].least && count <= dpp_counted[i].most;
  }
  return false;
}

static bool parse_dpp(const char *text, gfx9_dpp *dpp) {
  if (starts_with(text, "row_mask:0x")) {
    dpp->row_mask = (uint8_t)strtol(text + 9, NULL, 16);
    return true;
  }
  if (starts_with(text, "bank_mask:0x")) {
    dpp->bank_mask = (uint8_t)strtol(text + 10, NULL, 16);
    return true;
  }
  if (strcmp(text, "bound_ctrl:1") == 0 || strcmp(text, "bound_ctrl:0") == 0) {
    dpp->bound_ctrl = true; /* older releases of LLVM write the set bit as 0 */
    return true;
  }
  return parse_dpp_control(text, &dpp->control);
}

static bool parse_number(const char *text, const char *name, int32_t *number) {
  char *end;
  if (!starts_with(text, name)) return false;
  text += strlen(name);
  *number = (int32_t)strtol(text, &end, 0);
  return end != text && *end == 0;
}

static bool is_cache_hint(const char *text) {
  static const char *const hints[] = {"glc", "slc", "sc0", "sc1", "nt"};
  for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
    if (strcmp(text, hints[i]) == 0) return true;
  return false;
}

/* "name:[0,1,1]" to bits, the first the lowest. */
static bool parse_bits(const char *text, const char *name, uint8_t *bits) {
  size_t n = strlen(name);
  if (!starts_with(text, name) || strncmp(text + n, ":[", 2) != 0) return false;
  *bits = 0;
  text += n + 1;
  for (int k = 0; *text == (k ? ',' : '['); k++, text += 2) {
    if (text[1] != '0' && text[1] != '1') return false;
    *bits |= (uint8_t)((text[1] - '0') << k);
  }
  return strcmp(text, "]") == 0;
}

static bool parse_arithmetic(const char *text, gfx9_op *op) {
  int known = op->info->modifiers;
  bool parts = op->info->packed || known & (GFX9_MIX | GFX9_OP_SEL);
  if (known & GFX9_CLAMP && strcmp(text, "clamp") == 0) return op->clamp = true;
  if (parts && parse_bits(text, "op_sel_hi", &op->op_sel_hi)) return true;
  if ((parts || known & (GFX9_KEEP | GFX9_OP_SEL_16)) && parse_bits(text, "op_sel", &op->op_sel)) {
    return true;
  }
  if (!op->info->packed || !(known & GFX9_NEGATE)) return false;
  return parse_bits(text, "neg_lo", &op->negate[0]) || parse_bits(text, "neg_hi", &op->negate[1]);
}

bool gfx9_parse_modifier(const char *text, gfx9_op *op) {
  int known = op->info->modifiers;
  if (op->sdwa.used && parse_sdwa(text, &op->sdwa)) return true;
  if (op->dpp.used && parse_dpp(text, &op->dpp)) return true;
  if (known & GFX9_OFFSET && parse_number(text, "offset:", &op->offset)) return true;
  if (known & GFX9_OFFSET2 && parse_number(text, "offset0:", &op->offset)) return true;
  if (known & GFX9_OFFSET2 && parse_number(text, "offset1:", &op->offset1)) return true;
  if (known & GFX9_CACHE && is_cache_hint(text)) return true;
  if (known & GFX9_OFFEN && strcmp(text, "offen") == 0) return op->offen = true;
  if (known & GFX9_SWIZZLE && starts_with(text, "offset:")) {
    op->offset = (int32_t)(op->dword & 0xffff);
    return true;
  }
  return parse_arithmetic(text, op);
}
