/* The forms in which `llrt compile` and `llrt compute --emit` give a kernel. */
#ifndef LLRT_TOOLS_EMIT_FORM_H
#define LLRT_TOOLS_EMIT_FORM_H

#include <llrt/op.h>

#include <stdbool.h>

#define EMIT_FORM_TEXT \
  "plan: what the kernel does, as text\n" \
  "ir: LLVM IR after optimisation\n" \
  "ptx: PTX text (targets sm_*)\n" \
  "hsaco: loadable code object (targets gfx*)\n" \
  "asm: the target's assembly\n" \
  "kernel: bytes that llrt_op_load runs without a compiler"

typedef struct emit_form {
  const char *name;
  llrt_emit emit;
  const char *target_prefix; /* NULL: any target */
  bool binary;
} emit_form;

/* *form: the one of that name, which the target has. to_file: the user names a file, which binary
 * forms want. TOOL_WRONG or TOOL_REFUSED where it is none. whose: the command with the option. */
int emit_form_find(const char *whose, const char *name, const char *target, bool to_file,
                   const emit_form **form);

/* Writes what was made into the file; NULL: standard output. */
int emit_form_write(const char *path, const char *bytes, size_t size);

#endif
