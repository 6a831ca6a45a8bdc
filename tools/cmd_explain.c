/* llrt explain: the plan of an operation and what it is predicted to cost. */
#include "tools/request.h"

#include <stdio.h>
#include <string.h>

enum { FROM, TO, SHAPE, DTYPE, TARGET, INDEX, OUT_OF_RANGE, AXIS, FORM, OP, ACCUMULATE, EXCLUSIVE, REVERSE, MAPS };

static const option_spec table[] = {
    [FROM] = {"from", 0, "EXPR", "storage of the source (default row_major)"},
    [TO] = {"to", 0, "EXPR", "storage of the destination"},
    [SHAPE] = {"shape", 0, "MxN", "logical shape of the source (scatter: the destination); a\nliteral expression carries its own"},
    [DTYPE] = {"dtype", 0, "TYPE", "element type, such as f32, bf16, u8 (default f32)"},
    [TARGET] = {"target", 0, "T",
                "sm_90a, sm_89, sm_80, gfx90a, gfx942, or host (the\ndefault: this machine)"},
    REQUEST_DESCRIBED_INDEX_OPTIONS,
    REQUEST_REDUCE_OPTIONS,
    REQUEST_DIRECTION_OPTIONS,
    REQUEST_MAP_OPTIONS,
    {0},
};

static int run(const options *given) {
  const char *const *value = given->value;
  const char *target = value[TARGET] ? value[TARGET] : "host";
  request r;
  char *text;
  size_t size;
  int code = request_parse(
      &(request_options){.command_name = "explain",
                         .operation = given->word[0],
                         .from = value[FROM],
                         .to = value[TO],
                         .shape = value[SHAPE],
                         .dtype = value[DTYPE],
                         .maps = &value[MAPS],
                         .index = {.command_name = "explain",
                                   .texts = given->repeated,
                                   .n = given->n_repeated,
                                   .axis = value[AXIS],
                                   .form = value[FORM],
                                   .out_of_range = value[OUT_OF_RANGE],
                                   .described = true},
                         .reduce = {.command_name = "explain",
                                    .op = value[OP],
                                    .axes = value[AXIS],
                                    .accumulate = value[ACCUMULATE]},
                         .scan = {.command_name = "explain",
                                  .op = value[OP],
                                  .axis = value[AXIS],
                                  .exclusive = value[EXCLUSIVE] != NULL,
                                  .reverse = value[REVERSE] != NULL,
                                  .accumulate = value[ACCUMULATE]}},
      &r);
  if (code == TOOL_DONE) code = request_compile(&r, target, LLRT_EMIT_PLAN, &text, &size);
  request_destroy(&r);
  if (code != TOOL_DONE) return code;
  fwrite(text, 1, size, stdout);
  llrt_buffer_free(&text);
  return TOOL_DONE;
}

const command cmd_explain = {
    .name = "explain",
    .summary = "print the plan of an operation and its predicted cost",
    .synopsis = "convert|gather|scatter|reduce|scan --to EXPR [options]",
    .text =
        "Prints what a kernel for this pair of storages does, step by step: which elements a\n"
        "block takes, how wide it reads and writes, how elements change threads in between,\n"
        "and the memory traffic that this is predicted to cause. An operation may have several\n"
        "variants for different sizes; all are shown. Needs no device and no compiler.",
    .example =
        "  llrt explain convert --from row_major --to col_major --shape 4096x4096 \\\n"
        "       --dtype bf16 --target sm_90a",
    .option = table,
    .repeated = REQUEST_INDEX,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
