/* llrt explain: the plan of an operation and what it is predicted to cost. */
#include "tools/request_described.h"

#include <stdio.h>

static const option_spec table[] = {
    REQUEST_DESCRIBED_OPTIONS,
    {"why", 0, NULL, "every variant that was tried, and what refused it, instead"},
    {0}};
enum { EXPLAIN_WHY = REQUEST_N_DESCRIBED_OPTIONS };

static int run(const options *given) {
  const char *target = given->value[DESCRIBED_TARGET] ? given->value[DESCRIBED_TARGET] : "host";
  char *text;
  size_t size;
  llrt_emit emit = given->value[EXPLAIN_WHY] ? LLRT_EMIT_WHY : LLRT_EMIT_PLAN;
  int code = request_described_compile("explain", given, target, emit, &text, &size);
  if (code != TOOL_DONE) return code;
  fwrite(text, 1, size, stdout);
  llrt_buffer_free(&text);
  return TOOL_DONE;
}

const command cmd_explain = {
    .name = "explain",
    .summary = "print the plan of an operation and its predicted cost",
    .synopsis = REQUEST_DESCRIBED_SYNOPSIS " --to EXPR [options]",
    .text =
        "Prints what a kernel for this pair of storages does, step by step: which elements a\n"
        "block takes, how wide it reads and writes, how elements change threads in between,\n"
        "and the memory traffic that this is predicted to cause. An operation may have several\n"
        "variants for different sizes; all are shown. A dot's A and B are files, or types with\n"
        "shapes. Needs no device and no compiler; without --target it is for this machine.\n"
        "With --why: what was planned for, and of every variant that was tried whether it was\n"
        "taken, its predicted cost, or what refused it.",
    .example = "  llrt explain convert --from row_major --to col_major --shape 4096x4096 \\\n"
               "       --dtype bf16 --target sm_90a\n"
               "  llrt explain dot 'bf16[16x8192]' 'e2m1[8192x8192]' --scale-b 'e8m0[256x8192]' "
               "--target sm_90a",
    .option = table,
    .repeated = REQUEST_INDEX,
    .min_words = 1,
    .max_words = REQUEST_DESCRIBED_WORDS,
    .run = run,
};
