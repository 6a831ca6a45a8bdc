/* llrt reduce: elements of a tensor in a file joined along axes. */
#include "tools/request_run.h"

enum { OP = REQUEST_N_FILE_OPTIONS, ACCUMULATE, AXIS, VALUES, OUT_DTYPE };

static const option_spec table[] = {
    REQUEST_FILE_OPTIONS,
    REQUEST_REDUCE_OPTIONS,
    [AXIS] = {"axis", 0, "A[,B]", "the axes that are reduced, and dropped"},
    [VALUES] = {"values", 0, "V.npy", "argmin, argmax: where the values go"},
    [OUT_DTYPE] = {"out-dtype", 0, "TYPE",
                   "element type of the result (default: floats their\n"
                   "own, sums and products of integers i64 or u64, positions\n"
                   "i64, any and all bool)"},
    {0},
};

static int run(const options *given) {
  const char *const *value = given->value;
  const char *maps[REQUEST_N_MAP_OPTIONS] = {[REQUEST_OUT_DTYPE] = value[OUT_DTYPE]};
  return request_run(&(request_call){.in = given->word[0],
                                     .value = value,
                                     .maps = maps,
                                     .values = value[VALUES],
                                     .index = {.command_name = "reduce"},
                                     .reduce = {.command_name = "reduce",
                                                .reduces = true,
                                                .values = value[VALUES] != NULL,
                                                .op = value[OP],
                                                .axes = value[AXIS],
                                                .accumulate = value[ACCUMULATE]}});
}

const command cmd_reduce = {
    .name = "reduce",
    .summary = "join elements along axes: sums, extremes, positions, truth",
    .synopsis = "IN --op OP --axis A[,B] -o OUT [options]",
    .text =
        "Reads a tensor from IN, joins its elements along the axes, and writes what is left of\n"
        "it: a tensor without these axes. NaN is the minimum and the maximum of what has one;\n"
        "argmin and argmax give the first position of the extreme value. The result has the same\n"
        "bits in every run on one kind of device.",
    .example = "  llrt reduce x.npy --op sum --axis 1 -o sums.npy\n"
               "  llrt reduce logits.npy --op argmax --axis 1 --values best.npy -o token.npy",
    .option = table,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
