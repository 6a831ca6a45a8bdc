/* Conversions whose blocks keep panels in shared memory: executed, whatever they are worth, against
 * the storages' own offsets. */
#include "emulators/tests/emu_plan.h"

#include <criterion/criterion.h>

#define IMAGES "storage(digits=[dim0: 40, dim1: rest, dim0: rest])"
#define BLOCKS "storage(digits=[dim0: 16, dim1: rest, dim0: rest], pad=9)"
#define PITCHED "storage(digits=[dim1: 64, dim1: rest, dim0: rest], pad=0)"

static const struct row {
  const char *source, *destination;
  int rank;
  int64_t shape[4];
  int panels; /* plan_options */
} rows[] = {
    /* channels become the fastest, and back; of a vector and a half, too */
    {"row_major", "channels_last", 4, {3, 40, 27, 29}, 1},
    {"channels_last", "row_major", 4, {3, 40, 27, 29}, 1},
    {"row_major", IMAGES, 2, {120, 45}, 1},
    {IMAGES, "row_major", 2, {120, 45}, 1},
    /* 16 at a time, the last of which are fewer */
    {"row_major", "onednn_nchw16c", 4, {2, 43, 7, 9}, 1},
    {"onednn_nchw16c", "row_major", 4, {2, 43, 7, 9}, 1},
    {"row_major", "onednn(inner_blks=[48], inner_idxs=[1])", 4, {3, 83, 7, 9}, 1},
    {"onednn(inner_blks=[48], inner_idxs=[1])", "row_major", 4, {3, 83, 7, 9}, 1},
    {"row_major", BLOCKS, 2, {43, 63}, 1},
    {BLOCKS, "row_major", 2, {43, 63}, 1},
    /* vectors of several digits; digits whose bits lie in another order */
    {"row_major", "onednn_oihw4i16o4i", 4, {20, 24, 3, 3}, 1},
    {"onednn_oihw4i16o4i", "row_major", 4, {20, 24, 3, 3}, 1},
    {"row_major", "scale_128x4", 2, {150, 90}, 1},
    {"scale_128x4", "row_major", 2, {150, 90}, 1},
    /* parts of rows: of one digit, of two, as many as are left */
    {"row_major", "channels_last", 4, {3, 64, 7, 9}, 2},
    {"channels_last", "row_major", 4, {3, 64, 7, 9}, 2},
    {"row_major", "onednn(inner_blks=[48], inner_idxs=[1])", 4, {3, 83, 7, 9}, 2},
    {"onednn(inner_blks=[48], inner_idxs=[1])", "row_major", 4, {3, 83, 7, 9}, 2},
    {"row_major", "trt_hwc16", 4, {3, 83, 7, 9}, 2},
    {"trt_hwc16", "row_major", 4, {3, 83, 7, 9}, 2},
    {"onednn_oihw16i16o", "row_major", 4, {40, 24, 3, 3}, 2},
    /* rows with room behind them: of several axes, of one; panels of fewer than there are */
    {"trt_dla_linear(element_bits=8)", "row_major", 4, {2, 5, 7, 29}, 3},
    {"trt_dla_linear(element_bits=16)", "row_major", 4, {11, 23, 27, 29}, 3},
    {PITCHED, "row_major", 2, {1500, 21}, 3},
    /* panels of a few bytes */
    {"row_major", "storage(digits=[dim0: 8, dim1: 3, dim0: rest])", 2, {80, 3}, 1},
    {"storage(digits=[dim0: 8, dim1: 3, dim0: rest])", "row_major", 2, {80, 3}, 1},
};

static bool check(const struct row *row, llrt_dtype dtype, const char *target) {
  static plan_kernel kernel;
  emu_outcome outcome;
  emu_conversion conversion = {.source = row->source,
                               .destination = row->destination,
                               .rank = row->rank,
                               .dtype = dtype,
                               .target = target,
                               .panels = row->panels};
  for (int a = 0; a < row->rank; a++) conversion.shape[a] = row->shape[a];
  emu_plan_make(&conversion, &kernel);
  if (!kernel.panel.staged) return false;
  emu_plan_run(&conversion, &kernel, &outcome);
  cr_expect(outcome.done && outcome.wrong == 0, "%s -> %s, %s, %s: %zu wrong, %s", row->source,
            row->destination, llrt_dtype_name(dtype), target, outcome.wrong, outcome.message);
  return true;
}

Test(ptx_panel, conversions_through_panels) {
  static const llrt_dtype widths[] = {LLRT_B8, LLRT_B16, LLRT_B32};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int ran = 0;
    for (int w = 0; w < 3; w++)
      ran += check(&rows[i], widths[w], "sm_90a") + (w == 1 && check(&rows[i], widths[w], "sm_80"));
    cr_expect_gt(ran, 0, "%s -> %s keeps no panels", rows[i].source, rows[i].destination);
  }
}
