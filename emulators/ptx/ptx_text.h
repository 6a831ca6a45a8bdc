/* Tokens of PTX text, and the state of parsing that the parser's files share. */
#ifndef LLRT_EMULATORS_PTX_TEXT_H
#define LLRT_EMULATORS_PTX_TEXT_H

#include "emulators/ptx/ptx_program.h"

#define PTX_WORD 128

/* A name of a scope: a register, or `count` registers name0, name1, ... (count >= 0). */
typedef struct ptx_name {
  char text[48];
  int count; /* -1: one register of exactly this name */
  uint16_t reg;
  uint8_t bits;
  int depth; /* of the braces around it */
} ptx_name;

typedef enum ptx_symbol_kind {
  PTX_SHARED_SYMBOL,
  PTX_PARAM_SYMBOL,
  PTX_LOCAL_SYMBOL,
  PTX_LABEL
} ptx_symbol_kind;

typedef struct ptx_symbol {
  char text[PTX_WORD];
  ptx_symbol_kind kind;
  int64_t value; /* offset; of a label: pc, or -1 until it is found */
} ptx_symbol;

typedef struct ptx_parser {
  const char *start, *at; /* the text; just after the token */
  int line;
  int step;             /* of the last .loc, or EMU_NOWHERE */
  char token[PTX_WORD]; /* the current token; empty at the end */
  const char *token_at;
  ptx_module *module;
  ptx_kernel *kernel;
  ptx_name *name;
  int n_names, name_capacity, depth;
  uint8_t found_bits; /* width of the register that ptx_find_register found last; 0: special */
  ptx_symbol *symbol;
  int n_symbols, symbol_capacity;
  emu_fault *fault;
} ptx_parser;

/* Moves to the next token: a word ([A-Za-z0-9_.$%] and "::"), a string without its quotes, or one
 * other character. Comments are skipped. */
void ptx_next(ptx_parser *parser);

static inline bool ptx_at(const ptx_parser *parser, char c) {
  return parser->token[0] == c && parser->token[1] == 0;
}

/* Moves past the character, or faults. */
bool ptx_expect(ptx_parser *parser, char c);
/* Moves past the character if it is there. */
bool ptx_accept(ptx_parser *parser, char c);
/* A number with its sign: integers of C, 0f and 0d hexadecimal floats. Moves past it. */
bool ptx_number(ptx_parser *parser, int64_t *value);
bool ptx_is_number(const ptx_parser *parser);
/* Sets the fault with the line; false. */
bool ptx_refuse(ptx_parser *parser, const char *what, const char *word);

/* Grows *array to hold one more of `size` bytes. */
bool ptx_grow(void *array, int n, int *capacity, size_t size);

/* ptx_operands.c: the operands of an instruction whose form is known, up to the semicolon. */
bool ptx_parse_operands(ptx_parser *parser, ptx_op *op);
/* The register of this name, or -1. */
int ptx_find_register(ptx_parser *parser, const char *text);
/* The symbol of this name, added as a label not yet found if it is new; NULL: no memory. */
ptx_symbol *ptx_find_symbol(ptx_parser *parser, const char *text);

#endif
