/* What the files of this folder share. Every register is untyped (.b16, .b32, .b64): instructions
 * say what they take its bits for, so a bitcast is no instruction. */
#ifndef LLRT_JIT_COMPILE_PTX_WRITER_H
#define LLRT_JIT_COMPILE_PTX_WRITER_H

#include "base/text.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdint.h>

/* Elements of a vector or results of an inline assembly. */
#define PTX_PARTS_MAX 16

typedef enum ptx_class { PTX_PRED, PTX_B16, PTX_B32, PTX_B64, PTX_CLASSES } ptx_class;

typedef enum ptx_part_kind { PTX_NUMBER, PTX_REGISTER, PTX_SYMBOL } ptx_part_kind;

/* One word of a value. Bits of a register beyond those of its type are undefined. */
typedef struct ptx_part {
  ptx_part_kind kind;
  ptx_class class;
  unsigned reg;       /* REGISTER */
  const char *symbol; /* SYMBOL: the address of a variable in shared memory; or NULL: of the
                         thread's own one of number `reg` */
  uint64_t number;    /* NUMBER: its bits. REGISTER, SYMBOL: what is to be added to 64 bits */
} ptx_part;

typedef struct ptx_type {
  ptx_class class;
  int bits; /* of an element */
  int n;    /* parts; 0: a type that is not known here */
  bool real;
} ptx_type;

typedef struct ptx_entry {
  LLVMValueRef key;
  unsigned first, n;
} ptx_entry;

typedef struct ptx_writer {
  llrt_text body;
  const char *unknown; /* what is not known here; NULL: nothing yet */
  LLVMTargetDataRef layout;
  ptx_entry *entry; /* by the value's address */
  unsigned n_entries, entry_capacity;
  ptx_part *part; /* of all values, one after the other */
  unsigned n_parts, part_capacity;
  unsigned registers[PTX_CLASSES];
  unsigned n_own; /* variables of a thread's own memory */
} ptx_writer;

/* ---- ptx_parts.c: values */

ptx_type ptx_type_of(ptx_writer *w, LLVMTypeRef type);
/* The parts of a value that was defined before, or of a constant. Returns how many; 0 where it is
 * not known, which is noted. */
int ptx_value(ptx_writer *w, LLVMValueRef value, ptx_part parts[PTX_PARTS_MAX]);
void ptx_define(ptx_writer *w, LLVMValueRef value, int n, const ptx_part *parts);
ptx_part ptx_new(ptx_writer *w, ptx_class class);
void ptx_note_unknown(ptx_writer *w, const char *what);
void ptx_map_fini(ptx_writer *w);

/* ---- ptx_text.c: lines */

static inline ptx_part ptx_number(ptx_class class, uint64_t bits) {
  return (ptx_part){.kind = PTX_NUMBER, .class = class, .number = bits};
}
/* "\topcode \tr, a, b;" . Numbers of real opcodes are written as floats. result: NULL: none. */
void ptx_line(ptx_writer *w, const char *opcode, bool real, const ptx_part *result, int n,
              const ptx_part *operands);
ptx_part ptx_unary(ptx_writer *w, const char *opcode, ptx_class class, ptx_part a);
ptx_part ptx_binary(ptx_writer *w, const char *opcode, ptx_class class, ptx_part a, ptx_part b);
void ptx_add_part(ptx_writer *w, ptx_part part, bool real);
/* The part in a register of its own, with what is to be added. */
ptx_part ptx_in_register(ptx_writer *w, ptx_part part);
/* A number, or a register to which nothing is to be added. */
ptx_part ptx_plain(ptx_writer *w, ptx_part part);
/* "16", "32", "64". */
const char *ptx_width(ptx_class class);

/* ---- by kinds of instruction; all define what the instruction's value is */

void ptx_write_arithmetic(ptx_writer *w, LLVMValueRef at, LLVMOpcode code);
void ptx_write_compare(ptx_writer *w, LLVMValueRef at, LLVMOpcode code);
void ptx_write_select(ptx_writer *w, LLVMValueRef at);
void ptx_write_cast(ptx_writer *w, LLVMValueRef at, LLVMOpcode code);
/* The number of `bits` in a register of `class`, without what is undefined beyond them. */
ptx_part ptx_extended(ptx_writer *w, ptx_part from, int bits, ptx_class class, bool is_signed);
/* Whether it has 128 bits. */
bool ptx_is_wide(LLVMValueRef value);
void ptx_write_vector(ptx_writer *w, LLVMValueRef at, LLVMOpcode code);
void ptx_write_own_memory(ptx_writer *w, LLVMValueRef at);
void ptx_write_space(ptx_writer *w, LLVMValueRef at);
void ptx_write_address(ptx_writer *w, LLVMValueRef at);
void ptx_write_load(ptx_writer *w, LLVMValueRef at);
void ptx_write_store(ptx_writer *w, LLVMValueRef at);
void ptx_write_call(ptx_writer *w, LLVMValueRef at);
/* A kernel's lines, with its braces. */
void ptx_write_blocks(ptx_writer *w, LLVMValueRef function);

#endif
