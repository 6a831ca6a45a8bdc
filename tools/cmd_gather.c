/* llrt gather: elements of a tensor in a file along an axis, as an index tensor names them. */
#include "tools/request_run.h"

enum { INDEX = REQUEST_N_FILE_OPTIONS, AXIS, FORM, OUT_OF_RANGE, MAPS };

static const option_spec table[] = {
    REQUEST_FILE_OPTIONS,   [INDEX] = {REQUEST_INDEX, 0, "I.npy", "the positions, int32 or int64"},
    REQUEST_GATHER_OPTIONS, REQUEST_OUT_OF_RANGE_OPTION,
    REQUEST_MAP_OPTIONS,    {0},
};

static int run(const options *given) {
  const char *const *value = given->value;
  return request_run(&(request_call){.in = given->word[0],
                                     .value = value,
                                     .maps = &value[MAPS],
                                     .index = {.command_name = "gather",
                                               .texts = &value[INDEX],
                                               .n = value[INDEX] != NULL,
                                               .axis = value[AXIS],
                                               .form = value[FORM],
                                               .out_of_range = value[OUT_OF_RANGE],
                                               .gathers = true}});
}

const command cmd_gather = {
    .name = "gather",
    .summary = "take elements along an axis as an index tensor names them",
    .synopsis = "IN --index I.npy --axis A -o OUT [options]",
    .text =
        "Reads a tensor from IN and one of positions from I, and writes\n"
        "  take_along  OUT[x] = IN[x with its coordinate along A replaced by I[x]]\n"
        "  select      OUT[x] = IN[x with its coordinate along A replaced by I[x[A]]]\n"
        "Beside A the extents of IN and I are equal, or one of them is 1 and stands for all of\n"
        "the other. A negative position is out of range, too. Storages, types and maps are\n"
        "convert's.",
    .example =
        "  llrt gather table.npy --index rows.npy --axis 0 --form select -o taken.npy\n"
        "  llrt gather x.npy --index argsort.npy --axis 1 --out-of-range error -o sorted.npy",
    .option = table,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
