/* Operands of an instruction, as its form's letters ask (see ptx_form). */
#include "emulators/ptx/ptx_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- registers and constants ---- */

/* "%r12" as the number 12 of the range "%r"; -1: the name is not such. */
static int range_index(const ptx_name *name, const char *text) {
  size_t length = strlen(name->text);
  if (strncmp(text, name->text, length) != 0 || !isdigit((unsigned char)text[length])) return -1;
  if (text[length] == '0' && text[length + 1]) return -1;
  char *end;
  long index = strtol(text + length, &end, 10);
  return *end == 0 && index < name->count ? (int)index : -1;
}

static const struct {
  const char *text;
  ptx_special special;
} specials[] = {
    {"%tid.x", PTX_TID_X},
    {"%tid.y", PTX_TID_YZ},
    {"%tid.z", PTX_TID_YZ},
    {"%ntid.x", PTX_NTID_X},
    {"%ntid.y", PTX_NTID_YZ},
    {"%ntid.z", PTX_NTID_YZ},
    {"%ctaid.x", PTX_CTAID_X},
    {"%ctaid.y", PTX_CTAID_YZ},
    {"%ctaid.z", PTX_CTAID_YZ},
    {"%nctaid.x", PTX_NCTAID_X},
    {"%nctaid.y", PTX_NCTAID_YZ},
    {"%nctaid.z", PTX_NCTAID_YZ},
    {"%laneid", PTX_LANEID},
    {"%warpid", PTX_WARPID},
    {"%lanemask_eq", PTX_LANEMASK_EQ},
    {"%lanemask_lt", PTX_LANEMASK_LT},
    {"%lanemask_le", PTX_LANEMASK_LE},
    {"%lanemask_gt", PTX_LANEMASK_GT},
    {"%lanemask_ge", PTX_LANEMASK_GE},
    {"%cluster_ctarank", PTX_CLUSTER_CTARANK},
    {"%cluster_nctarank", PTX_CLUSTER_NCTARANK},
    {"%clusterid.x", PTX_CLUSTERID_X},
    {"%nclusterid.x", PTX_NCLUSTERID_X},
    {"%globaltimer", PTX_GLOBALTIMER},
};

static int find_special(ptx_kernel *kernel, const char *text) {
  for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
    if (strcmp(specials[i].text, text) != 0) continue;
    int *reg = &kernel->special[specials[i].special];
    if (*reg < 0) *reg = kernel->n_registers++;
    return *reg;
  }
  return -1;
}

int ptx_find_register(ptx_parser *parser, const char *text) {
  for (int i = parser->n_names - 1; i >= 0; i--) {
    const ptx_name *name = &parser->name[i];
    int index =
        name->count < 0 ? (strcmp(name->text, text) == 0 ? 0 : -1) : range_index(name, text);
    if (index < 0) continue;
    parser->found_bits = name->bits;
    return name->reg + index;
  }
  parser->found_bits = 0;
  return find_special(parser->kernel, text);
}

/* A register that holds the constant in all lanes. */
static int constant_register(ptx_kernel *kernel, uint64_t value) {
  for (int i = 0; i < kernel->n_constants; i++) {
    if (kernel->constant[i].value == value) return kernel->constant[i].reg;
  }
  if (!ptx_grow(&kernel->constant, kernel->n_constants, &kernel->constant_capacity,
                sizeof(ptx_constant))) {
    return -1;
  }
  int reg = kernel->n_registers++;
  kernel->constant[kernel->n_constants++] = (ptx_constant){value, (uint16_t)reg};
  return reg;
}

static bool add_register(ptx_parser *parser, ptx_op *op, ptx_operand *operand, int reg) {
  ptx_kernel *kernel = parser->kernel;
  int used = (int)kernel->pool_used, capacity = (int)kernel->pool_capacity;
  if (reg < 0) return ptx_refuse(parser, "register", parser->token);
  if (kernel->n_registers >= UINT16_MAX || !ptx_grow(&kernel->pool, used, &capacity, 2)) {
    return ptx_refuse(parser, "too many registers:", parser->token);
  }
  kernel->pool_capacity = (uint32_t)capacity;
  if (operand->count++ == 0) operand->first = (uint16_t)(kernel->pool_used - op->pool);
  kernel->pool[kernel->pool_used++] = (uint16_t)reg;
  return true;
}

/* ---- operands ---- */

ptx_symbol *ptx_find_symbol(ptx_parser *parser, const char *text) {
  for (int i = 0; i < parser->n_symbols; i++) {
    if (strcmp(parser->symbol[i].text, text) == 0) return &parser->symbol[i];
  }
  if (!ptx_grow(&parser->symbol, parser->n_symbols, &parser->symbol_capacity, sizeof(ptx_symbol))) {
    return NULL;
  }
  ptx_symbol *symbol = &parser->symbol[parser->n_symbols++];
  snprintf(symbol->text, sizeof symbol->text, "%s", text);
  symbol->kind = PTX_LABEL;
  symbol->value = -1;
  return symbol;
}

/* A register, a constant, or the address of a variable. */
static bool parse_source(ptx_parser *parser, ptx_op *op, ptx_operand *operand, bool constants) {
  const ptx_type *type = op->type[0];
  uint64_t mask = type && type->bits < 64 && op->form->result != PTX_TWICE
                      ? ((uint64_t)1 << type->bits) - 1
                      : UINT64_MAX;
  if (constants && ptx_is_number(parser)) {
    if (!ptx_number(parser, &operand->value)) return false;
  } else {
    int reg = ptx_find_register(parser, parser->token);
    if (reg >= 0 || !constants) {
      operand->bits = parser->found_bits;
      if (!add_register(parser, op, operand, reg)) return false;
      ptx_next(parser);
      return true;
    }
    const ptx_symbol *symbol = ptx_find_symbol(parser, parser->token);
    bool address = symbol && op->form->class == PTX_MOVE &&
                   (symbol->kind == PTX_PARAM_SYMBOL || symbol->kind == PTX_LOCAL_SYMBOL);
    if (!symbol || (symbol->kind != PTX_SHARED_SYMBOL && !address)) {
      return ptx_refuse(parser, "operand", parser->token);
    }
    operand->value = symbol->value;
    ptx_next(parser);
  }
  operand->immediate = true;
  return add_register(parser, op, operand,
                      constant_register(parser->kernel, (uint64_t)operand->value & mask));
}

/* Width that operand n must have: the types', but for conversions, memory and what is wider than
 * its type (loads and stores may use wider registers). 0: any. */
static int operand_bits(const ptx_op *op, int n) {
  const ptx_form *form = op->form;
  char letter = form->operands[n];
  if (form->class == PTX_MEMORY || form->class == PTX_CONVERT || !op->type[0]) return 0;
  if (letter != 'd' && letter != 's') return 0;
  if (n == 0) {
    return form->result == PTX_TWICE ? 2 * op->bits : form->result ? form->result : op->bits;
  }
  return form->result == PTX_TWICE && n == 3 ? 2 * op->bits : n == 1 ? op->bits : 0;
}

/* [register + constant], [variable + constant], [constant]. */
static bool parse_memory(ptx_parser *parser, ptx_op *op, ptx_operand *operand) {
  if (!ptx_expect(parser, '[')) return false;
  int64_t offset = 0;
  int reg = ptx_is_number(parser) ? -1 : ptx_find_register(parser, parser->token);
  if (reg >= 0) {
    ptx_next(parser);
  } else if (!ptx_is_number(parser)) {
    const ptx_symbol *symbol = ptx_find_symbol(parser, parser->token);
    if (!symbol || symbol->kind == PTX_LABEL) return ptx_refuse(parser, "address", parser->token);
    operand->value = symbol->value;
    ptx_next(parser);
  }
  if (ptx_accept(parser, '+') || ptx_is_number(parser)) {
    if (!ptx_number(parser, &offset)) return false;
  }
  operand->value += offset;
  if (reg < 0) reg = constant_register(parser->kernel, 0);
  return ptx_expect(parser, ']') && add_register(parser, op, operand, reg);
}

/* {a, b, ...} or one register. "_", a result that is dropped, goes to a register that nobody
 * reads. */
static bool parse_vector(ptx_parser *parser, ptx_op *op, ptx_operand *operand, bool constants) {
  bool braces = ptx_accept(parser, '{');
  do {
    if (!constants && strcmp(parser->token, "_") == 0) {
      if (!add_register(parser, op, operand, parser->kernel->n_registers++)) return false;
      ptx_next(parser);
    } else if (!parse_source(parser, op, operand, constants)) {
      return false;
    }
  } while (braces && ptx_accept(parser, ','));
  return !braces || ptx_expect(parser, '}');
}

/* [register, {a, b, ...}]: the register first. */
static bool parse_box(ptx_parser *parser, ptx_op *op, ptx_operand *operand) {
  return ptx_expect(parser, '[') && parse_source(parser, op, operand, false) &&
         ptx_expect(parser, ',') && parse_vector(parser, op, operand, true) &&
         ptx_expect(parser, ']');
}

static bool parse_label(ptx_parser *parser, ptx_op *op) {
  const ptx_symbol *symbol = ptx_find_symbol(parser, parser->token);
  if (!symbol || symbol->kind != PTX_LABEL) return ptx_refuse(parser, "label", parser->token);
  op->target = (int)(symbol - parser->symbol);
  ptx_next(parser);
  return true;
}

static bool parse_operand(ptx_parser *parser, ptx_op *op, char letter) {
  ptx_operand *operand = &op->operand[op->n_operands++];
  switch (letter) {
  case 'd': return parse_vector(parser, op, operand, false) && operand->count == 1;
  case 'q':
    if (!parse_vector(parser, op, operand, false)) return false;
    return !ptx_accept(parser, '|') || parse_vector(parser, op, operand, false);
  case 's': return parse_source(parser, op, operand, true);
  case 'v': return parse_vector(parser, op, operand, false);
  case 'w': return parse_vector(parser, op, operand, true);
  case 'm': return parse_memory(parser, op, operand);
  case 'b': return parse_box(parser, op, operand);
  case 'l': return parse_label(parser, op);
  case 'i': operand->immediate = true; return ptx_number(parser, &operand->value);
  default: return ptx_refuse(parser, "operand letter of form", op->form->syntax);
  }
}

bool ptx_parse_operands(ptx_parser *parser, ptx_op *op) {
  const char *letters = op->form->operands;
  op->pool = parser->kernel->pool_used;
  for (int i = 0; *letters; i++) {
    bool optional = *letters == '?';
    if (optional && ptx_at(parser, ';')) break;
    letters += optional;
    if (i > 0 && !ptx_expect(parser, ',')) return false;
    if (!parse_operand(parser, op, *letters++)) {
      return parser->fault->kind ? false : ptx_refuse(parser, "operand before", parser->token);
    }
    int found = op->operand[i].bits, needed = operand_bits(op, i);
    if (found && needed && found != needed) {
      return ptx_refuse(parser, "width of a register before", parser->token);
    }
  }
  return ptx_expect(parser, ';');
}
