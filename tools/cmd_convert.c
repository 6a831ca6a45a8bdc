/* llrt convert: a tensor in a file, to another storage. */
#include "tools/request_run.h"

enum { INDEX = REQUEST_N_FILE_OPTIONS, OUT_OF_RANGE, MAPS };

static const option_spec table[] = {
    REQUEST_FILE_OPTIONS,
    REQUEST_INDEX_OPTIONS,
    REQUEST_MAP_OPTIONS,
    {0},
};

static int run(const options *given) {
  if (!given->value[REQUEST_TO]) return tool_wrong("convert", "--to is missing");
  return request_run(&(request_call){.in = given->word[0],
                                     .value = given->value,
                                     .maps = &given->value[MAPS],
                                     .index = {.command_name = "convert",
                                               .texts = given->repeated,
                                               .n = given->n_repeated,
                                               .out_of_range = given->value[OUT_OF_RANGE]}});
}

const command cmd_convert = {
    .name = "convert",
    .summary = "convert a tensor in a file to another storage",
    .synopsis = "IN --to EXPR -o OUT [options]",
    .text =
        "Reads a tensor from IN (a .npy file, or model.safetensors:TENSOR), moves its elements to\n"
        "the storage that --to describes, and writes the result. With --to row_major the result\n"
        "has the tensor's shape; otherwise it is the destination's memory as a list. bf16 and the\n"
        "8-bit floats are uint16 and uint8 in .npy: say --dtype. --index takes positions of the\n"
        "source as a list names them: rows, or blocks of a paged cache. OUT is written only when\n"
        "all went well. `llrt layout --list` names the expressions.",
    .example = "  llrt convert weights.npy --to col_major -o transposed.npy\n"
               "  llrt convert transposed.npy --from col_major --shape 512x128 --to row_major \\\n"
               "       -o back.npy",
    .option = table,
    .repeated = REQUEST_INDEX,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
