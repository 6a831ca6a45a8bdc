/* llrt explain: the plan of an operation and what it is predicted to cost. */
#include "tools/explain_reshard.h"

#include <stdio.h>
#include <string.h>

static const option_spec table[] = {
    REQUEST_DESCRIBED_OPTIONS,
    {"why", 0, NULL, "every variant that was tried, and what refused it, instead"},
    {"link-speed", 0, "G", "reshard: of a device's links, each way, in GB/s (default 450)"},
    {"memory-speed", 0, "G", "reshard: of a device's memory, in GB/s (default 3350)"},
    {0}};
enum { EXPLAIN_WHY = REQUEST_N_DESCRIBED_OPTIONS, EXPLAIN_LINK, EXPLAIN_MEMORY };

static int run_reshard(const options *given) {
  if (given->value[EXPLAIN_WHY]) return tool_wrong("explain", "--why is not for reshard");
  return explain_reshard(given, given->value[EXPLAIN_LINK], given->value[EXPLAIN_MEMORY]);
}

static int run(const options *given) {
  const char *target = given->value[DESCRIBED_TARGET] ? given->value[DESCRIBED_TARGET] : "host";
  char *text;
  size_t size;
  if (strcmp(given->word[0], "reshard") == 0) return run_reshard(given);
  if (given->value[EXPLAIN_LINK] || given->value[EXPLAIN_MEMORY])
    return tool_wrong("explain", "--link-speed and --memory-speed are for reshard");
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
        "taken, its predicted cost, or what refused it.\n"
        "reshard: what moves between devices from the sharding --from to the sharding --to,\n"
        "messages and bytes of each, and the least time on links and in memory.",
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
