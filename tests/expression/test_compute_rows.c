/* Long rows on emulated GPUs (docs/expressions.md): those that lie in a block, rows that the blocks
 * of a cluster share, and rows that are walked; aligned and not, and with numbers that are none. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <string.h>

#define SOFTMAX "(x[t n]) -> (y[t n]) { e = exp(x - max(x, n)); y = e / sum(e, n) }"

/* More than two for each of 132 multiprocessors. */
enum { ROWS = 266 };

static void run_on(const char *device, trial t) {
  t.device = trial_device(device);
  const char *wrong = trial_run(&t);
  cr_assert_null(wrong, "%s, %d x %d: %s", t.text, (int)t.extent[0], (int)t.extent[1], wrong);
}

static void run(trial t) { run_on("cuda-emu:sm_90a", t); }

/* Rows of a block of 16 warps, most of whose registers lie beyond their ends. */
Test(rows, blocks) {
  run((trial){.text = SOFTMAX,
              .extent = {ROWS, 8200},
              .tensor = {{.type = LLRT_BF16}, {.type = LLRT_BF16}}});
  run((trial){.text = "(x[t n], w[n]) -> (y[t n]) { y = x * rsqrt(mean(x * x, n) + 1e-6) * w }",
              .extent = {ROWS, 8193},
              .tensor = {{.type = LLRT_BF16}, {.type = LLRT_BF16}, {.type = LLRT_BF16}},
              .in_place = 1});
}

#define NORM "c = x - mean(x, n); y = c * rsqrt(mean(c * c, n) + 1e-6) * w + b"

/* Norms and softmax with weights: of several types, read backwards, of several outputs, and beside
 * rows of another tensor that are wanted as late. */
Test(rows, weights) {
  static const struct {
    const char *text;
    int64_t extent[4];
    llrt_dtype type[5];
  } cases[] = {
      {"(x[t n], w[n], b[n]) -> (y[t n]) { " NORM " }",
       {5, 4096},
       {LLRT_BF16, LLRT_BF16, LLRT_BF16, LLRT_BF16}},
      {"(x[t n], w[n], b[n]) -> (y[t n]) { " NORM " }",
       {3, 8192},
       {LLRT_F16, LLRT_F32, LLRT_BF16, LLRT_F16}},
      {"(x[t n], w[~n], b[n]) -> (y[t n]) { " NORM " }",
       {4, 2048},
       {LLRT_BF16, LLRT_BF16, LLRT_F32, LLRT_F32}},
      {"(x[t n], w[n], b[n]) -> (y[t n], z[t n]) { " NORM "; z = c + w }",
       {3, 4096},
       {LLRT_BF16, LLRT_BF16, LLRT_BF16, LLRT_BF16, LLRT_BF16}},
      {"(x[t n], w[n], b[t n]) -> (y[t n]) { " NORM " }",
       {3, 4096},
       {LLRT_BF16, LLRT_F32, LLRT_F32, LLRT_BF16}},
      {"(x[t n], w[n], b[n]) -> (y[t n]) { e = exp(x - max(x, n)); y = e / sum(e, n) * w + b }",
       {3, 4096},
       {LLRT_BF16, LLRT_BF16, LLRT_BF16, LLRT_BF16}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    trial t = {.text = cases[i].text};
    memcpy(t.extent, cases[i].extent, sizeof cases[i].extent);
    for (int k = 0; k < 5; k++) t.tensor[k].type = cases[i].type[k];
    run(t);
    run_on("cuda-emu:sm_80", t);
  }
}

/* Rows of which a multiprocessor has three, whose turns follow each other in the code: some of what
 * turns make waits in shared memory, or nothing does; of types and weights that have no such turns,
 * too, in place, and with NaN and infinities. */
Test(rows, straight_turns) {
  static const struct {
    const char *text;
    llrt_dtype type[5];
    int in_place;
    bool special;
  } cases[] = {
      {"(x[t n], w[n], b[n]) -> (y[t n]) { " NORM " }",
       {LLRT_BF16, LLRT_BF16, LLRT_BF16, LLRT_BF16},
       1,
       false},
      {"(x[t n], w[n], b[n]) -> (y[t n]) { " NORM " }",
       {LLRT_F16, LLRT_F32, LLRT_BF16, LLRT_F32},
       0,
       false},
      {"(x[t n], w[~n], b[n]) -> (y[t n]) { " NORM " }",
       {LLRT_BF16, LLRT_BF16, LLRT_BF16, LLRT_BF16},
       0,
       false},
      {"(x[t n], w[n]) -> (q[t n], s[t]: f32) { y = x * rsqrt(mean(x * x, n) + 1e-6) * w; "
       "s = maximum(max(abs(y), n), 1e-10) / 448; q = y / s }",
       {LLRT_BF16, LLRT_BF16, LLRT_E4M3, LLRT_F32},
       0,
       true},
      {"(x[t n], w[n]) -> (y[t n], m[t]: f32) { z = x * w / max(x, n); m = sum(z, n); y = z - m }",
       {LLRT_BF16, LLRT_BF16, LLRT_BF16, LLRT_F32},
       0,
       false},
      {"(x[t n]) -> (y[t n]) { c = x - mean(x, n); d = c - max(c, n); y = d * sum(d * c, n) }",
       {LLRT_BF16, LLRT_BF16},
       0,
       false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    trial t = {.text = cases[i].text,
               .extent = {3, 16384},
               .in_place = cases[i].in_place,
               .special = cases[i].special};
    for (int k = 0; k < 5; k++) t.tensor[k].type = cases[i].type[k];
    run(t);
    run_on("cuda-emu:sm_80", t);
  }
}

/* Blocks behind which others come for whose rows they ask, and those behind which none do. */
Test(rows, asked_for) {
  run((trial){.text = "(x[t n], w[n]) -> (y[t n]) { y = x * rsqrt(mean(x * x, n) + 1e-6) * w }",
              .extent = {1100, 1024 * 4},
              .tensor = {{.type = LLRT_BF16}, {.type = LLRT_BF16}, {.type = LLRT_BF16}},
              .in_place = 1});
}

/* The largest size of rows whose ends lie in the tile, or do not, with NaN and infinities, of
 * several groups of axes, and bytes that are made of it. */
Test(rows, sizes) {
  static const struct {
    const char *text;
    int64_t extent[4];
    llrt_dtype from, to;
  } cases[] = {
      {"(x[t n]) -> (q[t n], s[t]: f32) { s = max(abs(x), n) / 127; q = x / s }",
       {7, 2880},
       LLRT_BF16,
       LLRT_I8},
      {"(x[t n]) -> (q[t n], s[t]: f32) { s = max(abs(x), n) / 127; q = x / s }",
       {5, 4096},
       LLRT_F16,
       LLRT_I8},
      {"(x[t n]) -> (q[t n], s[t]: f32) { s = max(abs(x), n) / 8; q = x / s }",
       {5, 1000},
       LLRT_F32,
       LLRT_U8},
      {"(x[t n]) -> (q[t n], s[t]: f32) { s = min(abs(x), n); q = x + s }",
       {5, 2880},
       LLRT_BF16,
       LLRT_BF16},
      {"(x[t (g j:32)]) -> (q[t (g j)], s[t]: f32) { s = max(abs(x), (g, j)); q = x / max(abs(x), "
       "j) }",
       {3, 90},
       LLRT_BF16,
       LLRT_BF16},
  };
  for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
    trial t = {.text = cases[i / 2].text,
               .tensor = {{.type = cases[i / 2].from}, {.type = cases[i / 2].to}},
               .special = i & 1,
               .seed = 40 + i};
    memcpy(t.extent, cases[i / 2].extent, sizeof cases[i / 2].extent);
    run(t);
    run_on("cuda-emu:sm_80", t);
  }
}

/* Rows that begin anywhere: in a block, part of whose registers lies beyond their ends, and walked,
 * where most turns lie inside. Every tensor of them is off its alignment, too. */
Test(rows, odd) {
  static const char *const text = "(x[t n], r[t n], w[n]) -> (h[t n], y[t n]) "
                                  "{ h = x + r; y = h * rsqrt(mean(h * h, n) + 1e-6) * w }";
  static const struct {
    llrt_dtype type;
    int length;
  } cases[] = {{LLRT_BF16, 37}, {LLRT_F16, 1003}, {LLRT_F32, 2501}, {LLRT_BF16, 34111}};
  for (int i = 0; i < 4; i++)
    for (int offset = 0; offset < 2; offset++) {
      llrt_dtype type = cases[i].type;
      run((trial){
          .text = text,
          .extent = {5, cases[i].length},
          .tensor =
              {{.type = type}, {.type = type}, {.type = type}, {.type = type}, {.type = type}},
          .offset = offset});
    }
}

/* Rows that begin anywhere, by words of two elements: in registers, in several runs of a warp, and
 * walked, where some warps have nothing in the last turn; beside elements of 32 bits, and of 8. */
Test(rows, words) {
  static const char *const devices[] = {"cuda-emu:sm_90a", "hip-emu:gfx90a"};
  static const struct {
    int length;
    llrt_dtype from, to;
  } cases[] = {{257, LLRT_BF16, LLRT_BF16},   {5341, LLRT_BF16, LLRT_BF16},
               {5342, LLRT_F16, LLRT_F16},    {33793, LLRT_BF16, LLRT_BF16},
               {34817, LLRT_F16, LLRT_F32},   {33001, LLRT_F32, LLRT_BF16},
               {33281, LLRT_BF16, LLRT_E4M3}, {33284, LLRT_BF16, LLRT_BF16}};
  for (int i = 0; i < 16; i++)
    run_on(devices[i & 1],
           (trial){.text = SOFTMAX,
                   .extent = {3, cases[i / 2].length},
                   .tensor = {{.type = cases[i / 2].from}, {.type = cases[i / 2].to}},
                   .offset = i / 2 % 3,
                   .special = i / 2 % 2,
                   .seed = 11});
}

Test(rows, long_rows) {
  static const int lengths[] = {40000, 33001};
  static const char *const devices[] = {"cuda-emu:sm_80", "cuda-emu:sm_90a"};
  for (int i = 0; i < 8; i++) {
    int length = lengths[i & 1], special = i >> 1 & 1;
    run_on(
        devices[i >> 2],
        (trial){
            .text = SOFTMAX, .extent = {2, length}, .special = special, .seed = 3, .in_place = 1});
    run_on(devices[i >> 2],
           (trial){.text = "(x[t n]) -> (y[t n], m[t], s[t]) "
                           "{ m = max(x, n); s = sum(exp(x - m), n); y = x - m - log(s) }",
                   .extent = {2, length},
                   .special = special,
                   .seed = 5});
  }
}

/* Two joins behind each other, positions among them, in clusters of two to eight blocks. */
Test(rows, clusters) {
  static const char *const text =
      "(x[t n], r[t n]) -> (y[t n], a[t]: i32) "
      "{ c = x - mean(x, n); y = c * rsqrt(mean(c * c, n) + 1e-5) + r; a = argmax(x, n) }";
  static const int lengths[] = {34111, 65535, 151937};
  for (int i = 0; i < 3; i++)
    run((trial){.text = text,
                .extent = {3, lengths[i]},
                .tensor = {{.type = LLRT_BF16}, {.type = LLRT_BF16}, {.type = LLRT_BF16}},
                .offset = i & 1,
                .seed = 7});
}

/* Walked rows of which shared memory has not room for all: what
 * is written begins with the end of the row. */
Test(rows, kept_in_part) {
  static const char *const norm =
      "(x[t n]) -> (y[t n], m[t]) "
      "{ m = mean(x, n); y = (x - m) * rsqrt(mean((x - m) * (x - m), n)) }";
  run((trial){.text = SOFTMAX, .extent = {5, 60000}, .seed = 3});
  run((trial){.text = norm, .extent = {3, 60004}, .seed = 5, .in_place = 1});
  run((trial){.text = SOFTMAX,
              .extent = {2, 151937},
              .tensor = {{.type = LLRT_BF16}, {.type = LLRT_BF16}},
              .offset = 1});
}

#define LOSS(place) \
  "(x[t n]) -> (l[t]: f32) { m = max(x, n); l = m + log(sum(exp(x - m), n)) - sum(where(" place \
  ", x, 0), n) }"

/* Sums of which one position counts, in walked rows: the first and the last, one that the row
 * lacks, and one in the part of the last turn that the row has not. */
Test(rows, one_position) {
  static const char *const devices[] = {"cuda-emu:sm_90a", "cuda-emu:sm_80", "hip-emu:gfx942"};
  static const struct {
    const char *text;
    int64_t length;
    llrt_dtype type;
  } cases[] = {
      {LOSS("n == t * 9362"), 65536, LLRT_BF16},
      {LOSS("t * 9999 - 1 == n"), 70000, LLRT_BF16},
      {LOSS("n == t * 10017"), 70120, LLRT_F16},
      {LOSS("n == t * 9527"), 66690, LLRT_F32},
      {"(x[t n]) -> (s[t]: f32) { s = sum(where(n == 66000 - t * 9000, x * x + 1, 0), n) }", 66696,
       LLRT_BF16},
      {"(x[t n], w[n]) -> (s[t]: f32, a[t]: f32) "
       "{ s = sum(where(n == 66000 - t * 9000, exp(x) * w, 0), n); a = sum(x * w, n) }",
       66696, LLRT_BF16},
  };
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      run_on(devices[d], (trial){.text = cases[i].text,
                                 .extent = {8, cases[i].length},
                                 .tensor = {{.type = cases[i].type}, {.type = cases[i].type}}});
}
