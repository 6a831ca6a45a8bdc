/* Opcodes: which row of the tables a text like "ld.global.v2.u64" is. */
#include "emulators/ptx/ptx_program.h"

#include <stdio.h>
#include <string.h>

static const ptx_type types[] = {
    {"pred", 1, 'p', NULL},         {"b8", 8, 'b', NULL},           {"b16", 16, 'b', NULL},
    {"b32", 32, 'b', NULL},         {"b64", 64, 'b', NULL},         {"u8", 8, 'u', NULL},
    {"u16", 16, 'u', NULL},         {"u32", 32, 'u', NULL},         {"u64", 64, 'u', NULL},
    {"s8", 8, 's', NULL},           {"s16", 16, 's', NULL},         {"s32", 32, 's', NULL},
    {"s64", 64, 's', NULL},         {"f16", 16, 'f', &emu_f16},     {"bf16", 16, 'f', &emu_bf16},
    {"tf32", 32, 'f', &emu_tf32},   {"f32", 32, 'f', &emu_f32},     {"f64", 64, 'f', NULL},
    {"f16x2", 32, 'x', &emu_f16},   {"bf16x2", 32, 'x', &emu_bf16}, {"e4m3x2", 16, 'x', &emu_e4m3},
    {"e5m2x2", 16, 'x', &emu_e5m2}, {"e4m3", 8, 'x', &emu_e4m3},    {"e5m2", 8, 'x', &emu_e5m2},
};

const ptx_type *ptx_type_named(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (strcmp(types[i].name, name) == 0) return &types[i];
  }
  return NULL;
}

/* Classes of types: I integers of 16 bits and more, W those but for 64 bits, B untyped of those
 * widths, L those and predicates, C and S what compares and selects, F floats with arithmetic, R
 * those of C, M what memory holds, N and O those of I and B of 32 bits and more, U u32, J integers,
 * T tf32, H pairs of 16-bit floats, E pairs of 8-bit floats, D what moves, A any. */
static bool type_in_class(const ptx_type *type, char class) {
  bool integer = type->kind == 'u' || type->kind == 's', wide = type->bits >= 16;
  switch (class) {
  case 'I': return integer && wide;
  case 'W': return integer && wide && type->bits < 64;
  case 'N': return integer && type->bits >= 32;
  case 'O': return type->kind == 'b' && type->bits >= 32;
  case 'U': return type->kind == 'u' && type->bits == 32;
  case 'B': return type->kind == 'b' && wide;
  case 'L': return (type->kind == 'b' && wide) || type->kind == 'p';
  case 'C': return (integer || type->kind == 'b') && wide;
  case 'S': return (integer || type->kind == 'b' || type->kind == 'f') && wide;
  case 'F': return type->kind == 'f' && strcmp(type->name, "tf32") != 0;
  case 'M': return type->kind != 'p' && type->kind != 'x' && strcmp(type->name, "tf32") != 0;
  case 'R': return type->kind == 'f' && type->bits >= 32 && strcmp(type->name, "tf32") != 0;
  case 'J': return integer;
  case 'T': return strcmp(type->name, "tf32") == 0;
  case 'H': return type->kind == 'x' && type->bits == 32;
  case 'E': return type->kind == 'x' && type->bits == 16;
  case 'D': return type->kind != 'p' && type->kind != 'x' && wide;
  case 'A': return true;
  default: return false;
  }
}

/* The number (from 1) of the alternative in list[0 .. length) that equals word; 0: none. */
static int alternative(const char *list, size_t length, const char *word) {
  size_t size = strlen(word);
  int n = 1;
  for (const char *end = list + length; list <= end; n++) {
    size_t part = strcspn(list, "| ");
    if (part == size && strncmp(list, word, size) == 0) return n;
    list += part + 1;
  }
  return 0;
}

/* Whether the modifiers word[0 .. n) are those of form; fills types and choices. */
static bool matches(const ptx_form *form, char *const *word, int n, ptx_op *op) {
  const char *at = form->syntax + strcspn(form->syntax, " ");
  int i = 0, n_types = 0, n_choices = 0;
  memset(op->choice, 0, sizeof op->choice);
  memset(op->type, 0, sizeof op->type);
  while (*at == ' ') {
    at++;
    bool optional = *at == '?';
    at += optional;
    size_t length = strcspn(at, " ");
    if (*at == '%') {
      const ptx_type *type = i < n ? ptx_type_named(word[i]) : NULL;
      if (!type || !type_in_class(type, at[1])) return false;
      op->type[n_types++] = type;
      i++;
    } else {
      int found = i < n ? alternative(at, length, word[i]) : 0;
      if (!found && !optional) return false;
      i += found != 0;
      if (optional || memchr(at, '|', length)) op->choice[n_choices++] = (int8_t)found;
    }
    at += length;
  }
  return i == n;
}

static bool find_in(const ptx_form *table, char *const *word, int n, ptx_op *op, bool *known) {
  size_t length = strlen(word[0]);
  for (const ptx_form *form = table; form->syntax; form++) {
    if (strncmp(form->syntax, word[0], length) != 0) continue;
    if (form->syntax[length] != ' ' && form->syntax[length] != 0) continue;
    *known = true;
    if (!matches(form, word + 1, n - 1, op)) continue;
    op->form = form;
    return true;
  }
  return false;
}

/* Splits "a.b::c.d" at its points. */
static int split(char *text, char **word, int limit) {
  int n = 0;
  for (char *at = text; at && n < limit;) {
    word[n++] = at;
    at = strchr(at, '.');
    if (at) *at++ = 0;
  }
  return n;
}

bool ptx_decode(const char *opcode, ptx_op *op, char *why, size_t why_size) {
  static const ptx_form *const tables[] = {ptx_integer_forms, ptx_float_forms,   ptx_control_forms,
                                           ptx_memory_forms,  ptx_warp_forms,    ptx_matrix_forms,
                                           ptx_async_forms,   ptx_cluster_forms, ptx_mbarrier_forms,
                                           ptx_tensor_forms,  ptx_wgmma_forms};
  char copy[128], *word[16];
  snprintf(copy, sizeof copy, "%s", opcode);
  int n = split(copy, word, 16);
  bool known = false, found = false;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0] && !found; i++) {
    found = find_in(tables[i], word, n, op, &known);
  }
  if (!found) {
    snprintf(why, why_size, known ? "modifiers or types of %s" : "opcode %s", opcode);
    return false;
  }
  int bits = op->type[0] ? op->type[0]->bits : 32;
  op->bits = (uint8_t)bits;
  if (op->form->result == PTX_TWICE) bits *= 2;
  if (op->form->result && op->form->result != PTX_TWICE) bits = op->form->result;
  op->mask = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
  return true;
}
