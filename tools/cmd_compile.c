/* llrt compile: a kernel, or a stage on the way to it, without a device. */
#include "tools/emit_form.h"
#include "tools/request_described.h"

enum { EMIT = REQUEST_N_DESCRIBED_OPTIONS, OUTPUT };

static const option_spec table[] = {
    REQUEST_DESCRIBED_OPTIONS,
    [EMIT] = {"emit", 0, "FORM", EMIT_FORM_TEXT},
    [OUTPUT] = {"output", 'o', "FILE", "where it goes (default for text: standard output)"},
    {0},
};

static int run(const options *given) {
  const char *const *value = given->value;
  char *bytes;
  size_t size;
  if (!value[DESCRIBED_TARGET]) return tool_wrong("compile", "--target is missing");
  if (!value[EMIT]) return tool_wrong("compile", "--emit is missing");
  const emit_form *wanted;
  int code = emit_form_find("compile", value[EMIT], value[DESCRIBED_TARGET], value[OUTPUT] != NULL,
                            &wanted);
  if (code == TOOL_DONE)
    code = request_described_compile("compile", given, value[DESCRIBED_TARGET], wanted->emit,
                                     &bytes, &size);
  if (code != TOOL_DONE) return code;
  code = emit_form_write(value[OUTPUT], bytes, size);
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
