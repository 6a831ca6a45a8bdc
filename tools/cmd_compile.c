/* llrt compile: a kernel, or a stage on the way to it, without a device. */
#include "tools/common/array_file.h"
#include "tools/request_described.h"

#include <stdio.h>
#include <string.h>

enum { EMIT = REQUEST_N_DESCRIBED_OPTIONS, OUTPUT };

static const option_spec table[] = {
    REQUEST_DESCRIBED_OPTIONS,
    [EMIT] = {"emit", 0, "FORM",
              "plan: what the kernel does, as text\n"
              "ir: LLVM IR after optimisation\n"
              "ptx: PTX text (targets sm_*)\n"
              "hsaco: loadable code object (targets gfx*)\n"
              "asm: the target's assembly\n"
              "kernel: bytes that llrt_op_load runs without a compiler"},
    [OUTPUT] = {"output", 'o', "FILE", "where it goes (default for text: standard output)"},
    {0},
};

typedef struct form {
  const char *name;
  llrt_emit emit;
  const char *target_prefix; /* NULL: any target */
  bool binary;
} form;

static const form forms[] = {
    {"plan", LLRT_EMIT_PLAN, NULL, false},   {"ir", LLRT_EMIT_IR, NULL, false},
    {"ptx", LLRT_EMIT_OBJECT, "sm_", false}, {"hsaco", LLRT_EMIT_OBJECT, "gfx", true},
    {"asm", LLRT_EMIT_ASM, NULL, false},     {"kernel", LLRT_EMIT_KERNEL, NULL, true},
};

static const form *find_form(const char *name) {
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
    if (strcmp(forms[i].name, name) == 0) return &forms[i];
  return NULL;
}

static int write_bytes(const char *path, const char *bytes, size_t size) {
  outfile file;
  array_error error;
  if (!path) {
    fwrite(bytes, 1, size, stdout);
    return TOOL_DONE;
  }
  if (!outfile_open(path, &file, &error)) return tool_refuse("%s", error.text);
  fwrite(bytes, 1, size, file.stream);
  return outfile_commit(&file, &error) ? TOOL_DONE : tool_refuse("%s", error.text);
}

static int run(const options *given) {
  const char *const *value = given->value;
  char *bytes;
  size_t size;
  if (!value[DESCRIBED_TARGET]) return tool_wrong("compile", "--target is missing");
  if (!value[EMIT]) return tool_wrong("compile", "--emit is missing");
  const form *wanted = find_form(value[EMIT]);
  if (!wanted) return tool_wrong("compile", "--emit %s is no form", value[EMIT]);
  if (wanted->binary && !value[OUTPUT])
    return tool_wrong("compile", "--emit %s needs -o FILE", wanted->name);
  const char *prefix = wanted->target_prefix;
  if (prefix && strncmp(value[DESCRIBED_TARGET], prefix, strlen(prefix)) != 0)
    return tool_refuse("--emit %s is for targets %s*, not %s", wanted->name, prefix,
                       value[DESCRIBED_TARGET]);
  int code = request_described_compile("compile", given, value[DESCRIBED_TARGET], wanted->emit,
                                       &bytes, &size);
  if (code != TOOL_DONE) return code;
  code = write_bytes(value[OUTPUT], bytes, size);
  llrt_buffer_free(&bytes);
  return code;
}

const command cmd_compile = {
    .name = "compile",
    .summary = "compile an operation for a target, without a device",
    .synopsis = REQUEST_DESCRIBED_SYNOPSIS " --to EXPR --target T --emit FORM [options]",
    .text = "Plans the operation for a target and writes the plan, the code at a stage of\n"
            "compilation, or the finished kernel. Several variants of an operation follow each\n"
            "other in text forms; ptx and hsaco give the first.",
    .example = "  llrt compile convert --to col_major --shape 4096x4096 --dtype bf16 \\\n"
               "       --target sm_90a --emit ptx -o transpose.ptx",
    .option = table,
    .repeated = REQUEST_INDEX,
    .min_words = 1,
    .max_words = REQUEST_DESCRIBED_WORDS,
    .run = run,
};
