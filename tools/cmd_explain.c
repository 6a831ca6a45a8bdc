/* llrt explain: the plan of an operation and what it is predicted to cost. */
#include "tools/common/best_device.h"
#include "tools/explain_reshard.h"

#include <llrt/tune.h>

#include <stdio.h>
#include <string.h>

static const option_spec table[] = {
    REQUEST_DESCRIBED_OPTIONS,
    {"why", 0, NULL, "every variant that was tried, and what refused it, instead"},
    {"device", 0, "NAME",
     "say first which kernels run there, and why: where\nllrt tune has kept a choice, that one"},
    {"link-speed", 0, "G", "reshard: of a device's links, each way, in GB/s (default 450)"},
    {"memory-speed", 0, "G", "reshard: of a device's memory, in GB/s (default 3350)"},
    {0}};
enum { EXPLAIN_WHY = REQUEST_N_DESCRIBED_OPTIONS, EXPLAIN_DEVICE, EXPLAIN_LINK, EXPLAIN_MEMORY };

static int run_reshard(const options *given) {
  if (given->value[EXPLAIN_WHY]) return tool_wrong("explain", "--why is not for reshard");
  return explain_reshard(given, given->value[EXPLAIN_LINK], given->value[EXPLAIN_MEMORY]);
}

/* ---- on a device ---- */

static int print_choice(void *user, const llrt_op_desc *desc) {
  llrt_device *device = user;
  llrt_op *op;
  char line[512];
  llrt_status status = llrt_op_prepare(device, desc, &op);
  if (status == LLRT_OK)
    status = llrt_op_choice_print(op, desc->tensors, desc->n_tensors, line, sizeof line, NULL);
  if (status == LLRT_OK) printf("%s\n", line);
  llrt_op_destroy(&op);
  return status == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
}

/* Prepares the operation on the device that is named, and prints what would run. */
static int tell_choice(const options *given, llrt_device_info *info) {
  llrt_context *context;
  llrt_device *device = NULL;
  if (tool_context_create(&context) != LLRT_OK) return tool_refuse_library(NULL);
  llrt_status status = best_device_open(context, given->value[EXPLAIN_DEVICE],
                                        given->value[DESCRIBED_TARGET], &device);
  if (status == LLRT_OK) status = llrt_device_get_info(device, info);
  int code = status == LLRT_OK
                 ? request_described_use("explain", given, device, print_choice, device)
                 : tool_refuse_library(NULL);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return code;
}

static int run(const options *given) {
  const char *target = given->value[DESCRIBED_TARGET] ? given->value[DESCRIBED_TARGET] : "host";
  llrt_device_info info = {0};
  char *text;
  size_t size;
  if (strcmp(given->word[0], "reshard") == 0) return run_reshard(given);
  if (given->value[EXPLAIN_DEVICE]) {
    int code = tell_choice(given, &info);
    if (code != TOOL_DONE) return code;
    target = info.target;
  }
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
