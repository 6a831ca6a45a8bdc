/* Outputs in orders that products and engines read: scales in 128x4 order, weights and scales as
 * llrt_dot_pack has them, fragments; with pads. Against the reference. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const devices[] = {"host", "cuda-emu:sm_90a", "hip-emu:gfx942"};
enum { DEVICES = sizeof devices / sizeof *devices };

/* llrt_dot_pack's e4m3 [K, N] with e8m0 scales per 32 along K, and e2m1's elements without the
 * permutation of their words. */
#define PACKED_8 \
  "storage(rank=2, digits=[dim0: rest, dim1: rest], tile={offset: [[1,0],[0,8],[8,0],[16,0]," \
  "[2,0],[4,0],[0,1],[0,2],[0,4],[32,0],[64,0],[128,0]]} -> [dim0:256, dim1:16], pad=0)"
#define PACKED_4 \
  "storage(rank=2, digits=[dim0: rest, dim1: rest], tile={offset: [[1,0],[0,8],[8,0],[16,0]," \
  "[32,0],[2,0],[4,0],[0,1],[0,2],[0,4],[64,0],[128,0]]} -> [dim0:256, dim1:16], pad=0)"
#define PACKED_SCALES \
  "storage(rank=2, digits=[dim0: rest, dim1: rest], tile={offset: [[0,8],[1,0],[2,0],[4,0]," \
  "[0,1],[0,2],[0,4]]} -> [dim0:8, dim1:16], pad=0)"

#define MXFP8 \
  "(x[m (g j:32)]) -> (q[m (g j)]: e4m3, s[m g]: e8m0) " \
  "{ s = e8m0(max(abs(x), j) * (1 / 448), round=up); q = x / s }"
#define MXFP4 \
  "(x[m (g j:32)]) -> (q[m (g j)]: e2m1, s[m g]: e8m0) " \
  "{ s = e8m0(max(abs(x), j) * (1 / 6), round=up); q = x / s }"
/* Weights of a product: [N, K] -> operand B [K, N]. */
#define WEIGHTS_8 \
  "(x[n (g j:32)]) -> (q[(g j) n]: e4m3, s[g n]: e8m0) " \
  "{ s = e8m0(max(abs(x), j) * (1 / 448), round=up); q = x / s }"
#define WEIGHTS_4 \
  "(x[n (g j:32)]) -> (q[(g j) n]: e2m1, s[g n]: e8m0) " \
  "{ s = e8m0(max(abs(x), j) * (1 / 6), round=up); q = x / s }"

static const struct {
  const char *text;
  int64_t extent[4];
  const char *storage[3];
} cases[] = {
    {MXFP8, {128, 8}, {NULL, NULL, "scale_128x4"}},
    {MXFP8, {200, 9}, {NULL, NULL, "scale_128x4"}},
    {MXFP8, {1100, 3}, {NULL, NULL, "scale_128x4"}},
    {MXFP8, {1, 1}, {NULL, NULL, "scale_128x4(pad=127)"}},
    {MXFP8, {200, 9}, {"col_major", NULL, "aiter_scale_n32k4"}},
    {MXFP4, {130, 5}, {NULL, NULL, "scale_128x4"}},
    {"(x[m (g j:16)], global: f32) -> (q[m (g j)]: e2m1, s[m g]: e4m3) "
     "{ s = e4m3(global * (max(abs(x), j) * (1 / 6))); f = s * (1 / global); "
     "q = where(f == 0, 0, x * (1 / f)) }",
     {130, 6},
     {NULL, NULL, "scale_128x4"}},
    {"(x[t (g j:128)]) -> (q[t (g j)]: e4m3, s[t g]: f32) "
     "{ s = maximum(max(abs(x), j), 1e-10) / 448; q = x / s }",
     {33, 3},
     {NULL, NULL, "scale_8x4(pad=0)"}},
    /* weights, whole and with pads */
    {WEIGHTS_8, {16, 8}, {NULL, PACKED_8, PACKED_SCALES}},
    {WEIGHTS_8, {40, 11}, {NULL, PACKED_8, PACKED_SCALES}},
    {WEIGHTS_4, {48, 16}, {NULL, PACKED_4, PACKED_SCALES}},
    {WEIGHTS_4, {33, 5}, {NULL, PACKED_4, PACKED_SCALES}},
    /* a scale a row, whose whole row is joined, into the order of 8-bit products */
    {"(x[n k]) -> (q[k n]: e4m3, s[n]: f32) "
     "{ s = maximum(max(abs(x), k) / 448, 1 / 229376); q = x / s }",
     {40, 256},
     {NULL, PACKED_8, NULL}},
    {"(x[n k]) -> (q[k n]: e4m3, s[n]: f32) "
     "{ s = maximum(max(abs(x), k) / 448, 1 / 229376); q = x / s }",
     {40, 200},
     {NULL, PACKED_8, NULL}},
    /* two outputs whose pads are of different length; fragments; no input before an output */
    {"(x[m k]) -> (y[m k], z[m k]) { y = x + 1; z = x - max(x, k) }",
     {21, 50},
     {NULL, "scale_8x4(pad=0)", "scale_128x4(pad=0)"}},
    {"(x[m k]) -> (y[m k]: bf16) { y = x * 2 }", {48, 80}, {NULL, "mma_m16n8k16_a"}},
    {"(x[m k]) -> (y[m k]: bf16) { y = x / sum(x, k) }", {16, 48}, {"mma_m16n8k16_a", NULL}},
    {"(x[m k]) -> (y[m k]: i32) { y = k * 8 + m }", {9, 7}, {NULL, "scale_8x4(pad=5)"}},
    /* no input has the axis along which whole blocks are pads */
    {"(w[k]) -> (y[m k]) { y = ceil(w) }", {27, 64}, {NULL, "scale_8x4(pad=3)"}},
};

Test(packed, against_reference) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int d = 0; d < DEVICES; d++) {
      trial t = {.text = cases[i].text,
                 .scalar = {150},
                 .seed = 700 + i,
                 .device = trial_device(devices[d])};
      memcpy(t.extent, cases[i].extent, sizeof cases[i].extent);
      for (int k = 0; k < 3; k++) t.tensor[k].storage = cases[i].storage[k];
      const char *wrong = trial_run(&t);
      cr_expect_null(wrong, "%zu, %s on %s: %s", i, t.text, devices[d], wrong);
    }
}

/* What such storages cannot be told, or are not read by: nothing is written. */
Test(packed, refused) {
  static const struct {
    const char *text;
    int64_t extent[3];
    trial_tensor tensor[3];
    const char *message;
  } rows[] = {
      /* pads that are no truth, and none that the type of the value has */
      {"(x[m k]) -> (y[m k]: bool) { y = x > 0 }",
       {9, 7},
       {{0}, {.storage = "scale_8x4(pad=3)"}},
       "pads of 0x3, which is no number"},
      {"(x[m k]) -> (y[m k]: bool) { y = any(x > 0, k) }",
       {9, 7},
       {{0}, {.storage = "scale_8x4(pad=255)"}},
       "pads of 0xff, which is no number"},
      {"(x[m k]) -> (y[m k]: e4m3) { y = x }",
       {9, 7},
       {{0}, {.storage = "scale_8x4(pad=127)"}},
       "pads of 0x7f, which is no number"},
      {"(x[m k]) -> (y[m k]: e8m0) { y = e8m0(abs(x)) }",
       {9, 7},
       {{0}, {.storage = "scale_8x4(pad=255)"}},
       "pads of 0xff, which is no number"},
      /* positions of axes that tiles have */
      {"(x[m k:4]) -> (y[m]) { y = x[k=1] }",
       {16},
       {{.storage = "scale_8x4"}},
       "a position of an axis is taken that is in the storage's tile"},
      {"(x[m (k:8 j)]) -> (y[m j]) { y = x[k=0] - x[k=7] }",
       {16, 0, 4},
       {{.storage = "mma_m16n8k16_a"}},
       "tile"},
      {"(x[m k:4]) -> (y[m k]) { y = flip(x, k) }", {16}, {{.storage = "scale_8x4"}}, "tile"},
      /* two positions of a storage in one */
      {"(x[m k]) -> (y[m k]) { y = x }",
       {9, 7},
       {{0}, {.storage = "storage(rank=2, digits=[replica:2, dim1:rest, dim0:rest])"}},
       "copies"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int d = 0; d < DEVICES; d++) {
      trial t = {.text = rows[i].text, .device = trial_device(devices[d])};
      memcpy(t.extent, rows[i].extent, sizeof rows[i].extent);
      memcpy(t.tensor, rows[i].tensor, sizeof rows[i].tensor);
      const char *wrong = trial_run(&t);
      cr_expect(wrong && trial_refused() && strstr(wrong, rows[i].message), "%zu on %s: %s", i,
                devices[d], wrong);
    }
}

/* Truth's pads that are one. */
Test(packed, pads_of_truth) {
  for (int d = 0; d < DEVICES; d++)
    for (int pad = 0; pad < 2; pad++) {
      trial t = {.text = "(x[m k]) -> (y[m k]: bool) { y = x > 0 }",
                 .extent = {9, 7},
                 .device = trial_device(devices[d])};
      t.tensor[1].storage = pad ? "scale_8x4(pad=1)" : "scale_8x4(pad=0)";
      const char *wrong = trial_run(&t);
      cr_expect_null(wrong, "%s: %s", devices[d], wrong);
    }
}
