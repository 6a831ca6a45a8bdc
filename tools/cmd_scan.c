/* llrt scan: running sums, products, minima and maxima of a tensor in a file. */
#include "tools/request_run.h"

enum { OP = REQUEST_N_FILE_OPTIONS, AXIS, EXCLUSIVE, REVERSE, ACCUMULATE, OUT_DTYPE };

static const option_spec table[] = {
    REQUEST_FILE_OPTIONS,
    REQUEST_SCAN_OPTIONS,
    [OUT_DTYPE] = {"out-dtype", 0, "TYPE",
                   "element type of the result (default: floats their own,\ninteger sums and "
                   "products 64 bits)"},
    {0},
};

static int run(const options *given) {
  const char *const *value = given->value;
  const char *none[REQUEST_N_MAP_OPTIONS] = {0};
  none[REQUEST_OUT_DTYPE] = value[OUT_DTYPE];
  return request_run(&(request_call){.in = given->word[0],
                                     .value = value,
                                     .maps = none,
                                     .scan = {.command_name = "scan",
                                              .op = value[OP],
                                              .axis = value[AXIS],
                                              .exclusive = value[EXCLUSIVE] != NULL,
                                              .reverse = value[REVERSE] != NULL,
                                              .accumulate = value[ACCUMULATE],
                                              .scans = true},
                                     .index = {.command_name = "scan"}});
}

const command cmd_scan = {
    .name = "scan",
    .summary = "running sums, products, minima or maxima along an axis",
    .synopsis = "IN --op OP --axis A -o OUT [options]",
    .text =
        "Reads a tensor from IN and writes OUT[x] = OP over all positions of IN up to x along A,\n"
        "with x itself or without it (--exclusive). Floats are accumulated in f32, f64 in f64,\n"
        "integer sums and products in 64 bits. The same bits in every run.",
    .example = "  llrt scan x.npy --op sum --axis 1 -o running.npy\n"
               "  llrt scan counts.npy --op sum --axis 0 --exclusive -o offsets.npy",
    .option = table,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
