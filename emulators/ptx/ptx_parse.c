/* Modules, entries, directives and statements of PTX text. */
#include "emulators/ptx/ptx_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PTX_MAX_SHARED (256 * 1024)
#define PTX_MAX_LOCAL (16 * 1024)

static bool is_word(const ptx_parser *parser, const char *word) {
  return strcmp(parser->token, word) == 0;
}

/* ---- declarations ---- */

/* .reg .b32 %r<5>, %x; */
static bool parse_registers(ptx_parser *parser) {
  ptx_next(parser);
  const ptx_type *type = parser->token[0] == '.' ? ptx_type_named(parser->token + 1) : NULL;
  if (!type) return ptx_refuse(parser, "type", parser->token);
  do {
    ptx_next(parser);
    if (!ptx_grow(&parser->name, parser->n_names, &parser->name_capacity, sizeof(ptx_name))) {
      return ptx_refuse(parser, "too many names:", parser->token);
    }
    ptx_name *name = &parser->name[parser->n_names++];
    *name = (ptx_name){.count = -1, .bits = type->bits, .depth = parser->depth};
    name->reg = (uint16_t)parser->kernel->n_registers;
    if (strlen(parser->token) >= sizeof name->text) {
      return ptx_refuse(parser, "name", parser->token);
    }
    snprintf(name->text, sizeof name->text, "%.47s", parser->token);
    ptx_next(parser);
    if (ptx_accept(parser, '<')) {
      int64_t count;
      if (!ptx_number(parser, &count) || !ptx_expect(parser, '>')) return false;
      name->count = (int)count;
    }
    parser->kernel->n_registers += name->count < 0 ? 1 : name->count;
    if (parser->kernel->n_registers >= UINT16_MAX) {
      return ptx_refuse(parser, "registers of", name->text);
    }
  } while (ptx_at(parser, ','));
  return ptx_expect(parser, ';');
}

/* [.align N] .type name [ [count] ] of a variable or parameter. */
static bool parse_variable(ptx_parser *parser, char *name, uint32_t *align, int64_t *bytes) {
  int64_t number = 0;
  *align = 0;
  for (;; ptx_next(parser)) {
    if (is_word(parser, ".align")) {
      ptx_next(parser);
      if (!ptx_number(parser, &number)) return false;
      *align = (uint32_t)number;
    }
    if (!is_word(parser, ".ptr") && !is_word(parser, ".global")) break;
  }
  const ptx_type *type = parser->token[0] == '.' ? ptx_type_named(parser->token + 1) : NULL;
  if (!type) return ptx_refuse(parser, "type", parser->token);
  ptx_next(parser);
  while (is_word(parser, ".ptr") || is_word(parser, ".global") || is_word(parser, ".align")) {
    bool aligned = is_word(parser, ".align");
    ptx_next(parser);
    if (aligned && !ptx_number(parser, &number)) return false;
  }
  snprintf(name, PTX_WORD, "%s", parser->token);
  ptx_next(parser);
  *bytes = type->bits / 8;
  if (*align == 0) *align = (uint32_t)*bytes;
  if (!ptx_accept(parser, '[')) return true;
  if (ptx_accept(parser, ']')) {
    *bytes = 0;
    return true;
  }
  if (!ptx_number(parser, &number)) return false;
  *bytes *= number;
  return ptx_expect(parser, ']');
}

static bool add_symbol(ptx_parser *parser, const char *name, ptx_symbol_kind kind, int64_t value) {
  ptx_symbol *symbol = ptx_find_symbol(parser, name);
  if (!symbol || symbol->kind != PTX_LABEL || symbol->value >= 0) {
    return ptx_refuse(parser, "second", name);
  }
  symbol->kind = kind;
  symbol->value = value;
  return true;
}

/* .shared variables lie one after the other; one without size is the dynamic part, which is
 * last. */
static bool parse_shared(ptx_parser *parser) {
  char name[PTX_WORD];
  uint32_t align;
  int64_t bytes;
  ptx_next(parser);
  if (!parse_variable(parser, name, &align, &bytes)) return false;
  ptx_module *module = parser->module;
  uint32_t at = (module->shared_bytes + align - 1) / align * align;
  if (bytes > PTX_MAX_SHARED || module->dynamic_shared) return ptx_refuse(parser, ".shared", name);
  module->dynamic_shared = bytes == 0;
  module->shared_bytes = at + (uint32_t)bytes;
  return add_symbol(parser, name, PTX_SHARED_SYMBOL, at) && ptx_expect(parser, ';');
}

/* .local variables of an entry lie one after the other. */
static bool parse_local(ptx_parser *parser) {
  char name[PTX_WORD];
  uint32_t align;
  int64_t bytes;
  ptx_next(parser);
  if (!parse_variable(parser, name, &align, &bytes)) return false;
  uint32_t at = (parser->kernel->local_bytes + align - 1) / align * align;
  if (bytes > PTX_MAX_LOCAL - at) return ptx_refuse(parser, ".local", name);
  parser->kernel->local_bytes = at + (uint32_t)bytes;
  return add_symbol(parser, name, PTX_LOCAL_SYMBOL, (int64_t)(PTX_LOCAL_WINDOW | at)) &&
         ptx_expect(parser, ';');
}

/* .loc file line column [, function_name ...]: line is 1 + the plan's step. */
static bool parse_location(ptx_parser *parser) {
  int64_t file, line, column;
  int here = parser->line;
  ptx_next(parser);
  if (!ptx_number(parser, &file) || !ptx_number(parser, &line)) return false;
  if (parser->line == here && !ptx_number(parser, &column)) return false;
  parser->step = line > 0 ? (int)line - 1 : EMU_NOWHERE;
  return true;
}

static void skip_line(ptx_parser *parser) {
  int here = parser->line;
  while (parser->line == here && parser->token[0]) ptx_next(parser);
}

/* .version 8.4 */
static void parse_version(ptx_parser *parser) {
  int major = 0, minor = 0;
  sscanf(parser->at, " %d.%d", &major, &minor);
  parser->module->version = 10 * major + minor;
  skip_line(parser);
}

/* .target sm_90a */
static void parse_target(ptx_parser *parser) {
  char end[8] = "";
  sscanf(parser->at, " sm_%d%7s", &parser->module->target, end);
  parser->module->exact = end[0] == 'a';
  skip_line(parser);
}

/* ---- statements ---- */

/* The PTX ISA version of what came later than its target (PTX ISA notes of mma and
 * wgmma.mma_async), tenths. */
static int least_version(const ptx_op *op) {
  const char *name = op->form->syntax;
  const ptx_type *a = op->type[1], *b = op->type[2];
  bool fp8 = a && a->bits == 8 && a->kind == 'x', integers = a && a->bits == 8 && !fp8;
  if (strncmp(name, "st async ", 9) == 0) return 81;
  if (strncmp(name, "mma ", 4) == 0 && fp8) return 84;
  if (strncmp(name, "wgmma mma_async", 15) == 0 && integers && a != b) return 84;
  return 0;
}

/* The least target that has an instruction (PTX ISA, "Target ISA Notes"); of wgmma and setmaxnreg
 * 90 with the a. */
static int least_target(const ptx_op *op) {
  static const char *const since_90[] = {"wgmma ",          "setmaxnreg ",     "stmatrix ",
                                         "mapa ",           "barrier cluster", "cp async bulk",
                                         "griddepcontrol ", "elect ",          "st async "};
  const char *name = op->form->syntax;
  for (size_t i = 0; i < sizeof since_90 / sizeof *since_90; i++)
    if (strncmp(name, since_90[i], strlen(since_90[i])) == 0) return 90;
  return least_version(op) == 84 ? 89 : 80;
}

static bool suits_target(const ptx_module *module, const ptx_op *op) {
  const char *name = op->form->syntax;
  if (module->target < least_target(op)) return false;
  bool specific = strncmp(name, "wgmma ", 6) == 0 || strncmp(name, "setmaxnreg ", 11) == 0;
  return module->exact || !specific;
}

static bool parse_guard(ptx_parser *parser, ptx_op *op) {
  op->guard = -1;
  if (!ptx_accept(parser, '@')) return true;
  op->guard_negated = ptx_accept(parser, '!');
  op->guard = ptx_find_register(parser, parser->token);
  if (op->guard < 0) return ptx_refuse(parser, "predicate", parser->token);
  ptx_next(parser);
  return true;
}

static bool parse_instruction(ptx_parser *parser) {
  ptx_kernel *kernel = parser->kernel;
  char why[160], opcode[PTX_WORD];
  if (!ptx_grow(&kernel->op, kernel->n_ops, &kernel->op_capacity, sizeof(ptx_op))) {
    return ptx_refuse(parser, "no memory for", parser->token);
  }
  ptx_op *op = &kernel->op[kernel->n_ops++];
  memset(op, 0, sizeof *op);
  op->line = parser->line;
  op->step = parser->step;
  const char *begin = parser->token_at;
  op->text = (uint32_t)(begin - parser->start);
  if (!parse_guard(parser, op)) return false;
  snprintf(opcode, sizeof opcode, "%s", parser->token);
  if (!ptx_decode(opcode, op, why, sizeof why)) return ptx_refuse(parser, "", why);
  if (parser->module->version < least_version(op))
    return ptx_refuse(parser, "a later .version for", opcode);
  if (!suits_target(parser->module, op)) return ptx_refuse(parser, "another .target for", opcode);
  ptx_next(parser);
  if (!ptx_parse_operands(parser, op)) return false;
  op->text_length = (uint32_t)strcspn(begin, ";\n");
  return true;
}

/* A label or an instruction. */
static bool parse_word(ptx_parser *parser) {
  const char *rest = parser->at;
  if (*rest != ':') return parse_instruction(parser);
  ptx_symbol *symbol = ptx_find_symbol(parser, parser->token);
  if (!symbol || symbol->kind != PTX_LABEL || symbol->value >= 0) {
    return ptx_refuse(parser, "second label", parser->token);
  }
  symbol->value = parser->kernel->n_ops;
  ptx_next(parser);
  return ptx_expect(parser, ':');
}

static void close_scope(ptx_parser *parser) {
  while (parser->n_names && parser->name[parser->n_names - 1].depth == parser->depth) {
    parser->n_names--;
  }
  parser->depth--;
}

static bool parse_statement(ptx_parser *parser) {
  if (ptx_at(parser, '{')) parser->depth++;
  if (ptx_at(parser, '}')) close_scope(parser);
  if (ptx_accept(parser, '{') || ptx_accept(parser, '}') || ptx_accept(parser, ';')) return true;
  if (is_word(parser, ".reg")) return parse_registers(parser);
  if (is_word(parser, ".shared")) return parse_shared(parser);
  if (is_word(parser, ".local")) return parse_local(parser);
  if (is_word(parser, ".loc")) return parse_location(parser);
  if (is_word(parser, ".pragma")) return skip_line(parser), true;
  if (parser->token[0] == '.' || !parser->token[0]) {
    return ptx_refuse(parser, "directive", parser->token);
  }
  return parse_word(parser);
}

static bool parse_body(ptx_parser *parser) {
  if (!ptx_expect(parser, '{')) return false;
  parser->depth = 1;
  while (parser->depth > 0) {
    if (!parse_statement(parser)) return false;
  }
  return true;
}

/* ---- entries ---- */

static bool parse_parameters(ptx_parser *parser) {
  ptx_kernel *kernel = parser->kernel;
  while (!ptx_at(parser, ')')) {
    char name[PTX_WORD];
    uint32_t align;
    int64_t bytes;
    if (!is_word(parser, ".param")) return ptx_refuse(parser, "parameter", parser->token);
    ptx_next(parser);
    if (!parse_variable(parser, name, &align, &bytes)) return false;
    uint32_t at = (kernel->param_bytes + align - 1) / align * align;
    if (kernel->n_params == PTX_MAX_PARAMS || at + bytes > 4096) {
      return ptx_refuse(parser, "parameters at", name);
    }
    kernel->param_offset[kernel->n_params] = at;
    kernel->param_size[kernel->n_params++] = (uint32_t)bytes;
    kernel->param_bytes = at + (uint32_t)bytes;
    if (!add_symbol(parser, name, PTX_PARAM_SYMBOL, at)) return false;
    if (!ptx_accept(parser, ',')) break;
  }
  return ptx_expect(parser, ')');
}

/* .maxntid, .reqntid, .minnctapersm, .maxnreg and their numbers. */
static bool parse_performance(ptx_parser *parser) {
  while (parser->token[0] == '.') {
    bool threads = is_word(parser, ".maxntid") || is_word(parser, ".reqntid");
    if (!threads && !is_word(parser, ".minnctapersm") && !is_word(parser, ".maxnreg")) {
      return ptx_refuse(parser, "directive", parser->token);
    }
    int64_t number, product = 1;
    do {
      ptx_next(parser);
      if (!ptx_number(parser, &number)) return false;
      product *= number;
    } while (ptx_at(parser, ','));
    if (threads) parser->kernel->max_threads = (uint32_t)product;
  }
  return true;
}

/* Ends parsing of the kernel: operands get their registers, branches their targets. */
static bool finish_kernel(ptx_parser *parser) {
  ptx_kernel *kernel = parser->kernel;
  for (int i = 0; i < kernel->n_ops; i++) {
    ptx_op *op = &kernel->op[i];
    op->reg = kernel->pool + op->pool;
    if (!strchr(op->form->operands, 'l')) continue;
    const ptx_symbol *label = &parser->symbol[op->target];
    if (label->value < 0 || label->value >= kernel->n_ops) {
      return ptx_refuse(parser, "label", label->text);
    }
    op->target = (int)label->value;
  }
  kernel->shared_bytes = parser->module->shared_bytes;
  kernel->dynamic_shared = parser->module->dynamic_shared;
  return kernel->n_ops > 0 || ptx_refuse(parser, "empty", kernel->name);
}

static bool parse_entry(ptx_parser *parser) {
  ptx_module *module = parser->module;
  ptx_kernel *kernel = calloc(1, sizeof *kernel);
  ptx_kernel **grown = realloc(module->kernel, (size_t)(module->n_kernels + 1) * sizeof(void *));
  if (grown) module->kernel = grown;
  if (!kernel || !grown) {
    free(kernel);
    return ptx_refuse(parser, "no memory for", parser->token);
  }
  kernel->shared_limit = 48 * 1024;
  module->kernel[module->n_kernels++] = kernel;
  parser->kernel = kernel;
  parser->step = EMU_NOWHERE;
  kernel->module = module;
  for (int i = 0; i < PTX_SPECIALS; i++) kernel->special[i] = -1;
  ptx_next(parser);
  snprintf(kernel->name, sizeof kernel->name, "%.63s", parser->token);
  ptx_next(parser);
  if (ptx_accept(parser, '(') && !parse_parameters(parser)) return false;
  return parse_performance(parser) && parse_body(parser) && finish_kernel(parser);
}

/* .section .debug_loc { ... }: nothing that runs. */
static bool skip_section(ptx_parser *parser) {
  while (parser->token[0] && !ptx_at(parser, '}')) ptx_next(parser);
  return ptx_expect(parser, '}');
}

static bool parse_module(ptx_parser *parser) {
  while (parser->token[0]) {
    if (is_word(parser, ".version")) {
      parse_version(parser);
    } else if (is_word(parser, ".target")) {
      parse_target(parser);
    } else if (is_word(parser, ".address_size") || is_word(parser, ".file")) {
      skip_line(parser);
    } else if (is_word(parser, ".visible") || is_word(parser, ".weak") ||
               is_word(parser, ".extern")) {
      ptx_next(parser);
    } else if (is_word(parser, ".section")) {
      if (!skip_section(parser)) return false;
    } else if (is_word(parser, ".shared")) {
      if (!parse_shared(parser)) return false;
    } else if (is_word(parser, ".entry")) {
      if (!parse_entry(parser)) return false;
    } else {
      return ptx_refuse(parser, "directive", parser->token);
    }
  }
  return true;
}

bool ptx_module_runs_on(const ptx_module *module, int capability) {
  return module->exact ? capability == module->target : capability >= module->target;
}

ptx_module *ptx_module_parse(const char *text, emu_fault *fault) {
  ptx_module *module = calloc(1, sizeof *module);
  if (module) module->text = strdup(text);
  memset(fault, 0, sizeof *fault);
  if (!module || !module->text) {
    free(module);
    emu_fault_set(fault, EMU_LIMIT, "no memory for a module");
    return NULL;
  }
  ptx_parser parser = {
      .start = module->text, .at = module->text, .line = 1, .module = module, .fault = fault};
  ptx_next(&parser);
  bool parsed = parse_module(&parser);
  free(parser.name);
  free(parser.symbol);
  if (parsed) return module;
  ptx_module_free(module);
  return NULL;
}

void ptx_module_free(ptx_module *module) {
  if (!module) return;
  for (int i = 0; i < module->n_kernels; i++) {
    free(module->kernel[i]->op);
    free(module->kernel[i]->pool);
    free(module->kernel[i]->constant);
    free(module->kernel[i]);
  }
  free(module->kernel);
  free(module->text);
  free(module);
}

uint32_t ptx_kernel_parameters(const ptx_kernel *kernel, uint32_t *offset, uint32_t *bytes,
                               uint32_t *total) {
  memcpy(offset, kernel->param_offset, kernel->n_params * sizeof *offset);
  memcpy(bytes, kernel->param_size, kernel->n_params * sizeof *bytes);
  *total = kernel->param_bytes;
  return kernel->n_params;
}

uint32_t ptx_kernel_shared_limit(const ptx_kernel *kernel) { return kernel->shared_limit; }

bool ptx_kernel_allow_shared(ptx_kernel *kernel, uint32_t bytes) {
  if (bytes > PTX_MAX_SHARED) return false;
  kernel->shared_limit = bytes;
  return true;
}

const ptx_kernel *ptx_module_kernel(const ptx_module *module, const char *name) {
  for (int i = 0; i < module->n_kernels; i++) {
    if (strcmp(module->kernel[i]->name, name) == 0) return module->kernel[i];
  }
  return NULL;
}
