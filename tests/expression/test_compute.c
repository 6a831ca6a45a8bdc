/* The catalogue's expressions (examples/expressions) and the machinery's corners on the host and on
 * emulated GPUs, against the reference. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const devices[] = {"host",           "cuda-emu:sm_90a", "hip-emu:gfx942",
                                      "cuda-emu:sm_80", "cuda-emu:sm_89",  "hip-emu:gfx90a"};
enum { DEVICES = sizeof devices / sizeof *devices, FEW_DEVICES = 3 };

/* Whether the n-th trial runs on a device: on the host always, and where LLRT_TEST_TURN has a
 * number (scripts/test) on one emulated GPU, the next one at the next commit. */
static bool is_of_turn(int n, int device, int n_devices) {
  const char *turn = getenv("LLRT_TEST_TURN");
  return !turn || device == 0 || (n + device + atoi(turn)) % (n_devices - 1) == 0;
}

static void run_on(trial t, int n_devices, const char *name) {
  static int trials;
  int n = trials++;
  for (int d = 0; d < n_devices; d++) {
    if (!is_of_turn(n, d, n_devices)) continue;
    t.device = trial_device(devices[d]);
    cr_assert_not_null(t.device, "%s: %s", devices[d], llrt_last_error());
    const char *wrong = trial_run(&t);
    cr_assert_null(wrong, "%s on %s: %s", name, devices[d], wrong);
  }
}

/* name, extents of the named axes without one in the text, in the text's order, types of tensors.
 */
static const struct {
  const char *name;
  int64_t extent[6];
  llrt_dtype type[8];
  double scalar[2];
} catalogue[] = {
    {"softmax", {5, 200}, {LLRT_BF16, LLRT_BF16}, {0}},
    {"log_softmax", {3, 100}, {LLRT_F16, LLRT_F32}, {0}},
    {"layer_norm", {4, 192}, {LLRT_BF16, LLRT_BF16, LLRT_F32, LLRT_BF16}, {1e-5}},
    {"rms_norm", {6, 128}, {LLRT_BF16, LLRT_BF16, LLRT_BF16}, {1e-6}},
    {"residual_rms_norm",
     {3, 320},
     {LLRT_BF16, LLRT_BF16, LLRT_BF16, LLRT_BF16, LLRT_BF16},
     {1e-6}},
    {"swiglu", {3, 77}, {LLRT_BF16, LLRT_BF16, LLRT_BF16}, {0}},
    {"geglu", {3, 64}, {LLRT_F16, LLRT_F16, LLRT_F16}, {0}},
    {"clamped_gate", {3, 40}, {LLRT_BF16, LLRT_BF16}, {7}},
    {"rope_halves", {3, 2, 0, 16}, {LLRT_BF16, LLRT_F32, LLRT_F32, LLRT_BF16}, {0}},
    {"rope_pairs", {3, 2, 16}, {LLRT_BF16, LLRT_F32, LLRT_F32, LLRT_BF16}, {0}},
    {"fp8_row", {4, 256}, {LLRT_BF16}, {0}},
    {"fp8_group", {3, 2}, {LLRT_BF16}, {0}},
    {"fp8_block", {1, 0, 2}, {LLRT_BF16}, {0}},
    {"mxfp8", {5, 4}, {LLRT_BF16}, {0}},
    {"mxfp8_weights", {5, 4}, {LLRT_BF16}, {0}},
    {"mxfp4_weights", {8, 4}, {LLRT_BF16}, {0}},
    {"mxfp4", {3, 4}, {LLRT_BF16}, {0}},
    {"nvfp4", {3, 4}, {LLRT_BF16}, {100}},
    {"int8_token", {3, 96}, {LLRT_BF16}, {0}},
    {"cross_entropy", {4, 150}, {LLRT_BF16, LLRT_I64}, {0}},
    {"rms_norm_fp8", {3, 128}, {LLRT_BF16, LLRT_BF16, LLRT_BF16}, {1e-6}},
    {"qk_norm_rope", {2, 3, 0, 16}, {LLRT_BF16, LLRT_BF16, LLRT_F32, LLRT_F32, LLRT_BF16}, {1e-6}},
};

/* Entries from `first` on, one in `step`. LLRT_TEST_NAME: one by its name. */
static void run_catalogue(size_t first, size_t step, bool special) {
  const char *only = getenv("LLRT_TEST_NAME");
  for (size_t i = first; i < sizeof catalogue / sizeof *catalogue; i += step) {
    char text[4000];
    if (only && strcmp(only, catalogue[i].name) != 0) continue;
    trial_read_text(catalogue[i].name, text, sizeof text);
    trial t = {.text = text, .seed = 17 + i, .special = special};
    memcpy(t.extent, catalogue[i].extent, sizeof catalogue[i].extent);
    memcpy(t.scalar, catalogue[i].scalar, sizeof catalogue[i].scalar);
    for (int k = 0; k < 8; k++) t.tensor[k].type = catalogue[i].type[k];
    run_on(t, special ? FEW_DEVICES : DEVICES, catalogue[i].name);
  }
}

Test(compute, catalogue_0) { run_catalogue(0, 4, false); }
Test(compute, catalogue_1) { run_catalogue(1, 4, false); }
Test(compute, catalogue_2) { run_catalogue(2, 4, false); }
Test(compute, catalogue_3) { run_catalogue(3, 4, false); }
/* Some elements are 0, infinite or NaN, and some rows all 0. */
Test(compute, special_0) { run_catalogue(0, 2, true); }
Test(compute, special_1) { run_catalogue(1, 2, true); }

/* What the catalogue has not: each line one corner of the machinery. */
static const struct {
  const char *text;
  int64_t extent[4];
  trial_tensor tensor[4];
  int in_place, offset;
} corners[] = {
    {"(x[t n]) -> (y[t n]) { y = x - max(x, n) }", {7, 3000}, {{0}}, 0, 0}, /* walked on the host */
    {"(x[t n]) -> (y[t n]) { y = x - mean(x, n) }",
     {3, 513},
     {{LLRT_BF16, NULL, {0}, false}, {LLRT_BF16, NULL, {0}, false}},
     0,
     3},
    {"(x[t n]) -> (y[t n]) { y = x / sum(x, t) }", {65, 9}, {{0}}, 0, 0}, /* along the slow axis */
    /* positions outside and between axes of open extents */
    {"(x[p:3 t n]) -> (y[t n]) { y = x[p=2] - x[p=0] }", {0, 7, 33}, {{0}}, 0, 0},
    {"(x[t p:3 n]) -> (y[t n]) { y = x[p=1] * 2 + x[p=2] }", {7, 0, 33}, {{0}}, 0, 0},
    {"(x[t (n p:3)]) -> (y[t n]) { y = max(x[p=1], n) - x[p=2] }", {7, 65}, {{0}}, 0, 0},
    /* neighbours are halves of words, where these are aligned (runtime/compute_pairs.c) */
    {"(x[t (n p:2)]) -> (y[t n]) { y = minimum(x[p=1], 1) * x[p=0] }",
     {7, 65},
     {{.type = LLRT_BF16}},
     0,
     0},
    {"(x[t (n p:2)]) -> (y[t n]) { y = minimum(x[p=1], 1) * x[p=0] }",
     {7, 65},
     {{.type = LLRT_BF16}},
     0,
     1},
    {"(x[t (n p:4)], b[n], r[t n]) -> (y[t n], z[t n]) "
     "{ y = r - x[p=3] * b; z = x[p=2] - x[p=0] * x[p=1] }",
     {5, 70},
     {{.type = LLRT_BF16}, {0}, {0}, {.type = LLRT_BF16}},
     0,
     2},
    {"(x[t (n:48 p:2)]) -> (y[t n]) { y = flip(x[p=0], n) - x[p=1] * n }",
     {5, 48},
     {{.type = LLRT_BF16}},
     0,
     0},
    {"(x[t (n p:2)]) -> (y[t n]) { y = x[p=1] / sum(x[p=0], n) }",
     {5, 48},
     {{.type = LLRT_BF16}},
     0,
     0},
    {"(x[t n]) -> (y[t n]) { y = x / sum(x, n) }",
     {33, 66},
     {{0, "col_major", {0}, false}, {0}},
     0,
     0},
    {"(x[t n]) -> (y[n t]) { y = x * 2 }",
     {33, 66},
     {{LLRT_BF16, NULL, {0}, false}, {LLRT_BF16, NULL, {0}, false}},
     0,
     0},
    {"(x[t n]) -> (y[t n]) { y = x * x }", {5, 64}, {{0}}, 1, 0}, /* in place */
    {"(x[t n]) -> (y[t n]) { y = x - max(x, n) }", {5, 700}, {{0}}, 1, 0},
    /* more reductions than a kernel has buffers in shared memory */
    {"(x[t n]) -> (y[t n]) { a = max(x, n); b = max(x - a, n); c = max(x + b, n); "
     "d = min(x - c, n); e = max(x + d, n); f = min(x - e, n); g = max(x + f, n); "
     "h = max(x - g, n); i = min(x + h, n); y = x - i }",
     {3, 3000},
     {{0}},
     0,
     0},
    /* what the second output reads, the first overwrites */
    {"(x[t n], r[t n]) -> (h[t n], y[t n]) { m = max(x, n); h = x - m; y = r + m }",
     {3, 3000},
     {{0}},
     2,
     0},
    {"(x[t n]) -> (y[]) { y = sum(x, (t, n)) }", {9, 17}, {{0}}, 0, 0},
    {"(x[t n]) -> (y[t]: i32, z[t]) { y = argmax(x, n); z = max(x, n) }", {6, 90}, {{0}}, 0, 0},
    {"(x[t (g j:16)]) -> (y[t (g j)]) { y = x / max(abs(x), j) / max(abs(x), (g, j)) }",
     {4, 5},
     {{0}},
     0,
     0},
    {"(x[t ~n]) -> (y[t n]) { y = x + n }", {3, 20}, {{0}}, 0, 0},
    {"(x[t n]) -> (y[t n]: i8) { y = where((n % 3 == 1) & (t < 2), x // 2, t - n) }",
     {4, 30},
     {{LLRT_I8, NULL, {0}, false}},
     0,
     0},
    {"(x[t n], w[1 n]) -> (y[t 1 n]) { y = x * w }", {4, 12}, {{0}}, 0, 0},
    {"(x[t n]) -> (y[t n]: bool, z[t]: bool) { y = x > 0; z = all(y, n) }", {4, 12}, {{0}}, 0, 0},
    {"(x[t n]) -> (y[t n]: f64) { y = f64(x) / 3 }", {4, 12}, {{0}}, 0, 0},
    /* literals that are cast, or stored */
    {"(x[t n]) -> (y[t n]: f64, z[t n], v[t n]: f64, w[t n]: bf16, u[t n]: i32) {\n"
     "y = f64(x) * f64(-1e-45) + f64(1e300)\n"
     "z = f32(f64(1e-45) * f64(e8m0(x * 1e38))); v = 0.1; w = 1.00390625001\n"
     "u = i32(16777217.0) + bool(1e-50) + i32(bf16(1.00390625001) * 256) }",
     {4, 12},
     {{0}},
     0,
     0},
    {"(x[t n]) -> (y[t n]) { y = sqrt(x * x + 1) }",
     {4, 12},
     {{LLRT_F64, NULL, {0}, false}, {LLRT_F64, NULL, {0}, false}},
     0,
     0},
    {"(x[t n]) -> (y[t n]) { y = x + 1 }", {1, 1}, {{0}}, 0, 0},
    /* the sign of a zero that a number between -1 and 0 is rounded up to */
    {"(x[t n]) -> (y[t n], z[t n]) { y = 1 / ceil(x / 5); z = 1 / floor(-x / 5) }",
     {4, 40},
     {{0}},
     0,
     0},
    /* literals beside truth */
    {"(x[t n], b[t n]: bool) -> (y[t n], z[t n]: i32) { y = where(x > 0, b, 2); "
     "z = (b == 2) + where(b == 1, 3, b) + where(b, -1, b) }",
     {4, 40},
     {{0}},
     0,
     0},
    /* bytes with two elements, in tensors that lack the axis which lies beside itself */
    {"(x[t n], w[n]: e2m1) -> (y[n t]) { y = x - max(x, t) + w }",
     {4, 24},
     {{LLRT_BF16, NULL, {0}, false}},
     0,
     0},
    {"(x[t n]: i4) -> (y[n t]) { y = x - max(x, t) }", {6, 32}, {{0}}, 0, 0},
    {"(x[t n], w[n]: i4) -> (y[n t]: e2m1) { y = x * w }", {8, 30}, {{0}}, 0, 0},
    /* scans: along both axes, of what lacks one, in either direction, of whole numbers */
    {"(x[t n]) -> (y[t n]) { y = cumsum(x, n) }", {5, 300}, {{0}}, 0, 0},
    {"(x[t n]) -> (y[t n]) { y = cumsum(x, n, exclusive=True, reverse=True) * 2 }",
     {3, 1500},
     {{LLRT_BF16, NULL, {0}, false}, {0}},
     0,
     3},
    {"(x[t n]) -> (y[t n]) { y = cummax(x, t) }", {70, 40}, {{0}}, 0, 0},
    {"(x[t n], w[n]) -> (y[t n], z[t n]: i32) { y = x / (1 + cumsum(abs(w), n)); "
     "z = cumsum(x > 0, n, exclusive=True) + argmax(x, n) }",
     {7, 65},
     {{0}, {LLRT_F16, NULL, {0}, false}},
     0,
     0},
    {"(x[t (g j:16)]) -> (y[t (g j)]) { y = cumprod(x, j) + flip(cummin(x, j, exclusive=True), j) "
     "}",
     {4, 5},
     {{0}},
     0,
     0},
    {"(x[t n]) -> (y[t n]: i64) { y = cumsum(i64(n), n) - cummax(n - t, n, exclusive=True) }",
     {2, 50},
     {{0, "col_major", {0}, false}},
     0,
     0},
    /* 64-bit integers beyond 32 bits, and beyond 24, as floats: rounded once */
    {"(x[t n]) -> (y[t n], z[t n]: bf16, w[t n]: f64, e[t n]: e4m3) { a = i64(n) * 3000000001 + t; "
     "y = bf16(a); z = a + 16842753; w = a; e = a - i64(n) * 2999999999 }",
     {4, 40},
     {{0}},
     0,
     0},
    /* how long an axis is is told by a tensor that no value uses */
    {"(x[t n]) -> (y[t]) { y = sum(n, n) }", {4, 40}, {{0}}, 0, 0},
    {"(x[t n], w[t]: i32) -> (y[t]: i32, z[t]) { y = sum(n < w, n); z = sum(n + t, n) }",
     {4, 70},
     {{LLRT_E4M3, "col_major", {0}, false}},
     0,
     0},
    {"(x[t:4 n]) -> (y[n]) { y = x[t=0] + sum(t, t) }", {4, 40}, {{0}}, 0, 0},
    {"(x[t n], u[t], w[m]) -> (y[t], z[m]) { y = max(n, n) + u; z = w }", {4, 40, 3}, {{0}}, 0, 0},
    /* or by an output, whose pads are none of its positions */
    {"(s[t]) -> (y[t n]: bf16, r[]: f32) { y = bf16(-3); r = sum(t + n + s, (t, n)) }",
     {3, 5},
     {{0}, {0, "col4_4r2_8c", {0}, false}},
     0,
     0},
    {"(s[t]) -> (y[t n], r[t]) { y = cumsum(n + s, n, reverse=True); r = max(n * s, n) }",
     {4, 37},
     {{0}, {LLRT_F16, "scale_8x4(pad=3)", {0}, false}},
     0,
     0},
    {"(s[t], w[m]) -> (r[t], z[m], y[t n]) { y = n + s; r = sum(n * s, n); z = w }",
     {4, 3, 37},
     {{0}},
     0,
     0},
    /* turns of a walked row load weights alone, which lie inside where the row's end does not */
    {"(w[p], s[t]) -> (y[t h p]: bf16, r[t]) { y = s; r = max(h + maximum(t, w), (h, p)) }",
     {2, 3, 33001},
     {{0}},
     0,
     0},
    {"(w[p:2], s[t]) -> (y[t h p], r[t]) { y = s; r = sum(h * w, (h, p)) }",
     {3, 33005},
     {{LLRT_I8, NULL, {0}, false},
      {0},
      {LLRT_I16, "storage(rank=3, digits=[dim1:rest, dim2:rest, dim0:rest])", {0}, false}},
     0,
     0},
    /* of floats each operation is rounded */
    {"(x[t n], w[n]) -> (y[t n], z[t n], v[t n]: f64) { y = x // w; z = x % w; v = f64(x) % w }",
     {4, 40},
     {{0}},
     0,
     0},
    /* no value uses a tensor */
    {"(x[t n], c: f32) -> (y[t n]) { y = c }", {4, 12}, {{0}}, 0, 0},
    {"(c: f32) -> (y[t n]) { y = c }", {9, 70}, {{LLRT_BF16, NULL, {0}, false}}, 0, 3},
    {"() -> (y[t n]: i32) { y = t * 100 + n }",
     {9, 33},
     {{LLRT_I32, "col_major", {0}, false}},
     0,
     0},
    {"() -> (y[t n]: i32, z[n t]) { y = n; z = t / 2 }", {5, 130}, {{0}}, 0, 0},
    /* the first output uses none */
    {"(x[t n]) -> (y[t n], r[t]) { y = t - n; r = sum(x, n) }", {5, 40}, {{0}}, 0, 0},
};

/* Rows of 4-bit elements that begin inside of a byte are refused, or right. */
Test(compute, odd_pitch_of_nibbles) {
  static const char *const texts[] = {"(x[t n]: i4) -> (y[t n]) { y = x + n }",
                                      "(x[t n]: e2m1) -> (y[t]) { y = sum(x, n) }",
                                      "(x[t n]) -> (y[t n]: i4) { y = x * 2 }"};
  for (int i = 0; i < 3; i++)
    for (int d = 0; d < FEW_DEVICES; d++) {
      trial t = {
          .text = texts[i], .extent = {4, 64}, .seed = 3, .device = trial_device(devices[d])};
      t.tensor[i == 2].storage = "storage(rank=2, digits=[dim1:rest, dim0:rest @ 65])";
      const char *wrong = trial_run(&t);
      cr_expect(!wrong || trial_refused(), "%s on %s: %s", texts[i], devices[d], wrong);
    }
}

/* Two elements of a byte lie along n in one tensor, along t in the other: right, or refused on the
 * host, whose words hold them so. */
Test(compute, nibbles_along_two_axes) {
  static const char *const texts[] = {"(s[n], x[t n]) -> (y[n t]) { y = s + x * 0 }",
                                      "(s[n t], x[t n]) -> (y[t n]) { y = s + x * 0 }",
                                      "(s[n t], x[t n]) -> (y[t]) { y = max(s + x * 0, n) }"};
  static const llrt_dtype types[] = {LLRT_U4, LLRT_I4, LLRT_E2M1};
  for (int i = 0; i < 3; i++)
    for (int d = 0; d < FEW_DEVICES; d++) {
      trial t = {.text = texts[i],
                 .extent = {2 + 2 * i, 4},
                 .tensor = {{types[i]}, {LLRT_F32}, {types[(i + 1) % 3]}},
                 .seed = 5,
                 .device = trial_device(devices[d])};
      const char *wrong = trial_run(&t);
      cr_expect(!wrong || (d == 0 && trial_refused()), "%s on %s: %s", texts[i], devices[d], wrong);
    }
}

/* Bytes with the second element in the lower half: right, or refused where a thread has not both
 * in a word. */
Test(compute, nibbles_that_count_down) {
  static const char *const texts[] = {"(z[n t]) -> (y[n t]) { y = z - max(z, n) }",
                                      "(z[n t]) -> (y[t n]) { y = z }",
                                      "(z[n t]) -> (y[t]) { y = max(z, n) }"};
  for (int i = 0; i < 3; i++)
    for (int d = 0; d < FEW_DEVICES; d++) {
      trial t = {.text = texts[i],
                 .extent = {9, 6},
                 .tensor = {{.type = LLRT_E2M1,
                             .storage = "storage(rank=2, digits=[dim1:2 reversed, dim1:rest, "
                                        "dim0:rest])"}},
                 .seed = 5,
                 .device = trial_device(devices[d])};
      const char *wrong = trial_run(&t);
      cr_expect(!wrong || (i > 0 && trial_refused()), "%s on %s: %s", texts[i], devices[d], wrong);
    }
}

Test(compute, corners) {
  for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) {
    trial t = {.text = corners[i].text,
               .seed = 90 + i,
               .in_place = corners[i].in_place,
               .offset = corners[i].offset};
    memcpy(t.extent, corners[i].extent, sizeof corners[i].extent);
    for (int k = 0; k < 4; k++) t.tensor[k] = corners[i].tensor[k];
    run_on(t, FEW_DEVICES, corners[i].text);
  }
}

/* Noise is drawn from (0, 1). */
Test(compute, argmax_temperature) {
  char text[4000];
  trial_read_text("argmax_temperature", text, sizeof text);
  trial t = {.text = text, .extent = {4, 90}, .scalar = {0.7}, .seed = 11};
  t.tensor[0].type = LLRT_BF16;
  t.tensor[1].unit = true;
  run_on(t, DEVICES, "argmax_temperature");
}

/* "..." holds any leading axes; a tensor may have fewer of them. */
Test(compute, leading_axes) {
  trial t = {.text = "(x[... n], w[n]) -> (y[... n]) { y = x * w - max(x, n) }",
             .extent = {24},
             .leading = {3, 4},
             .n_leading = 2,
             .seed = 5};
  run_on(t, FEW_DEVICES, "leading");
}

/* Each row of a batch has the bits of that row alone. */
Test(compute, row_alone) {
  static const char *const texts[] = {
      "(x[t n]) -> (y[t n]) { e = exp(x - max(x, n)); y = e / sum(e, n) }",
      "(x[t n]) -> (y[t n]) { y = x * rsqrt(mean(x * x, n) + 1e-6) }"};
  enum { ROWS = 6, LENGTH = 300 };
  static float x[ROWS * LENGTH], all[ROWS * LENGTH], one[LENGTH];
  for (int i = 0; i < ROWS * LENGTH; i++) x[i] = (float)((i * 7919) % 1013) / 97 - 5;
  for (int d = 0; d < FEW_DEVICES; d++)
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
      llrt_device *device = trial_device(devices[d]);
      llrt_expr *expr;
      void *from, *to;
      cr_assert_eq(llrt_expr_parse(texts[k], &expr), LLRT_OK);
      cr_assert_eq(llrt_memory_allocate(device, sizeof x, &from), LLRT_OK);
      cr_assert_eq(llrt_memory_allocate(device, sizeof x, &to), LLRT_OK);
      llrt_memory_copy(device, from, x, sizeof x, LLRT_COPY_TO_DEVICE, NULL);
      for (int row = -1; row < ROWS; row++) {
        size_t first = row < 0 ? 0 : (size_t)row * LENGTH;
        llrt_tensor in = {.data = (float *)from + first,
                          .dtype = LLRT_F32,
                          .rank = 2,
                          .shape = {row < 0 ? ROWS : 1, LENGTH},
                          .device = device},
                    out = in;
        out.data = (float *)to + first;
        llrt_arg args[] = {{.name = "x", .tensor = &in}, {.name = "y", .tensor = &out}};
        cr_assert_eq(llrt_compute_into(expr, args, 2, NULL, NULL), LLRT_OK, "%s",
                     llrt_last_error());
        llrt_memory_copy(device, row < 0 ? all : one, out.data, row < 0 ? sizeof all : sizeof one,
                         LLRT_COPY_FROM_DEVICE, NULL);
        llrt_stream_synchronize(device, NULL);
        if (row >= 0)
          cr_assert_eq(memcmp(one, all + first, sizeof one), 0, "%s, row %d on %s", texts[k], row,
                       devices[d]);
      }
      llrt_memory_free(device, from);
      llrt_memory_free(device, to);
      llrt_expr_destroy(&expr);
    }
}

/* A product that rounds to f16 keeps the sign of a zero, and is a number as all of its bits say. */
Test(compute, halves_of_products) {
  enum { N = 64 };
  uint16_t x[N], y[N];
  float z[N];
  llrt_expr *expr;
  for (int i = 0; i < N; i++) {
    x[i] = (uint16_t)(i % 2 ? 0x8000 : 0x3C00); /* -0, 1 */
    z[i] = i % 3 ? 2.0f : -0.0f;
  }
  cr_assert_eq(llrt_expr_parse("(x[n], z[n]) -> (y[n]) { y = f16(x * z) }", &expr), LLRT_OK);
  for (int d = 0; d < DEVICES; d++) {
    llrt_tensor in[3] = {{.dtype = LLRT_F16}, {.dtype = LLRT_F32}, {.dtype = LLRT_F16}};
    const void *from[2] = {x, z};
    llrt_arg args[3] = {{.name = "x"}, {.name = "z"}, {.name = "y"}};
    for (int t = 0; t < 3; t++) {
      in[t].rank = 1;
      in[t].shape[0] = N;
      in[t].device = trial_device(devices[d]);
      args[t].tensor = &in[t];
      size_t bytes = N * (size_t)llrt_dtype_bits(in[t].dtype) / 8;
      cr_assert_eq(llrt_memory_allocate(in[t].device, bytes, &in[t].data), LLRT_OK);
      if (t < 2)
        llrt_memory_copy(in[t].device, in[t].data, from[t], bytes, LLRT_COPY_TO_DEVICE, NULL);
    }
    cr_assert_eq(llrt_compute_into(expr, args, 3, NULL, NULL), LLRT_OK, "%s: %s", devices[d],
                 llrt_last_error());
    llrt_memory_copy(in[2].device, y, in[2].data, sizeof y, LLRT_COPY_FROM_DEVICE, NULL);
    cr_assert_eq(llrt_stream_synchronize(in[2].device, NULL), LLRT_OK, "%s: %s", devices[d],
                 llrt_last_error());
    for (int i = 0; i < N; i++) {
      uint16_t size = i % 2 || i % 3 == 0 ? 0 : 0x4000, sign = (i % 2 != 0) != (i % 3 == 0);
      cr_expect_eq(y[i], size | sign << 15, "%s: %d: %#x", devices[d], i, y[i]);
    }
    for (int t = 0; t < 3; t++) llrt_memory_free(in[t].device, in[t].data);
  }
  llrt_expr_destroy(&expr);
}

/* Described, prepared, saved, loaded, run. */
Test(compute, prepared_and_saved) {
  llrt_device *device = trial_device("host");
  llrt_expr *expr;
  float x[40], y[40] = {0};
  for (int i = 0; i < 40; i++) x[i] = (float)i;
  cr_assert_eq(llrt_expr_parse("(x[t n], k: f32) -> (y[t n]) { y = x * k / sum(x, n) }", &expr),
               LLRT_OK);
  llrt_tensor in = {.data = x, .dtype = LLRT_F32, .rank = 2, .shape = {4, 10}, .device = device},
              out = in;
  out.data = y;
  llrt_arg args[] = {
      {.name = "x", .tensor = &in}, {.name = "y", .tensor = &out}, {.name = "k", .number = 2}};
  llrt_op_desc *desc;
  llrt_op *op, *loaded;
  cr_assert_eq(llrt_compute_describe(expr, args, 3, NULL, &desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_promise_coarse(desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_prepare(device, desc, &op), LLRT_OK, "%s", llrt_last_error());
  size_t size;
  cr_assert_eq(llrt_op_save(op, NULL, &size), LLRT_OK);
  void *bytes = malloc(size);
  cr_assert_eq(llrt_op_save(op, bytes, &size), LLRT_OK);
  cr_assert_eq(llrt_op_load(device, bytes, size, &loaded), LLRT_OK, "%s", llrt_last_error());
  llrt_run_params params = {.size = sizeof params, .scalars = desc->scalars};
  cr_assert_eq(llrt_op_run(loaded, NULL, desc->tensors, desc->n_tensors, NULL),
               LLRT_INVALID_ARGUMENT);
  cr_assert_eq(llrt_op_run(loaded, NULL, desc->tensors, desc->n_tensors, &params), LLRT_OK, "%s",
               llrt_last_error());
  for (int i = 0; i < 40; i++) {
    float sum = 0;
    for (int n = 0; n < 10; n++) sum += x[i / 10 * 10 + n];
    cr_assert_float_eq(y[i], x[i] * 2 / sum, 1e-6f);
  }
  free(bytes);
  llrt_op_destroy(&op);
  llrt_op_destroy(&loaded);
  llrt_op_desc_destroy(&desc);
  llrt_expr_destroy(&expr);
}

/* Nothing is written, and the message says what is wrong. */
Test(compute, refused) {
  static const struct {
    const char *text;
    int64_t shape[2][2]; /* of x and y */
    int shares;          /* y begins so many elements behind x; 0: elsewhere */
    llrt_status status;
    const char *message;
  } cases[] = {
      {"(x[t n]) -> (y[t n]) { y = x }",
       {{2, 3}, {2, 4}},
       0,
       LLRT_INVALID_ARGUMENT,
       "y has 4 positions along n, others 3"},
      {"(x[t n], w[n]) -> (y[t n]) { y = x }",
       {{2, 3}, {2, 3}},
       0,
       LLRT_INVALID_ARGUMENT,
       "w is not given"},
      {"(x[t n]) -> (y[t n]) { y = x * 2 }",
       {{2, 3}, {2, 3}},
       1,
       LLRT_INVALID_ARGUMENT,
       "overlaps"},
      {"(x[t (g j:2)]) -> (y[t (g j)]) { y = flip(x, j) }",
       {{2, 4}, {2, 4}},
       99,
       LLRT_INVALID_ARGUMENT,
       "overlaps"},
      {"(x[t (g j:2)]) -> (y[t (g j)]) { y = x }",
       {{2, 3}, {2, 3}},
       0,
       LLRT_INVALID_ARGUMENT,
       "do not divide"},
      {"(x[t n]) -> (y[t n]) { y = x & 1 }",
       {{2, 3}, {2, 3}},
       0,
       LLRT_INVALID_ARGUMENT,
       "1:30: an operation on bits, of a real"},
      {"(x[t n]) -> (y[t n]) { y = x - max(x, n) - max(x, t) }",
       {{2, 3}, {2, 3}},
       0,
       LLRT_UNSUPPORTED,
       "neither"},
      {"(x[t n:2]) -> (y[t n]) { y = x * 0 + cumsum(x, n)[n=1] }",
       {{3, 2}, {3, 2}},
       0,
       LLRT_UNSUPPORTED,
       "one position of a scan is taken"},
      {"(x[t n]) -> (y[t n]: f64) { y = exp(f64(x)) }",
       {{2, 3}, {2, 3}},
       0,
       LLRT_INVALID_ARGUMENT,
       "y is f32"},
      {"(x[t n]) -> (y[t n]) { y = x + f32(exp(f64(x))) }",
       {{2, 3}, {2, 3}},
       0,
       LLRT_UNSUPPORTED,
       "1:36: exp of f64"},
      {"(x[t n]) -> (y[t n]) { y = f32(sin(f64(x))) }",
       {{2, 3}, {2, 3}},
       0,
       LLRT_UNSUPPORTED,
       "1:32: sin of f64"},
  };
  llrt_device *device = trial_device("host");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    float x[32] = {0}, y[32] = {0};
    llrt_expr *expr;
    llrt_tensor in = {.data = x, .dtype = LLRT_F32, .rank = 2, .device = device}, out = in;
    memcpy(in.shape, cases[i].shape[0], sizeof cases[i].shape[0]);
    memcpy(out.shape, cases[i].shape[1], sizeof cases[i].shape[1]);
    out.data = cases[i].shares == 99 ? x : cases[i].shares ? x + cases[i].shares : y;
    llrt_arg args[] = {{.name = "x", .tensor = &in}, {.name = "y", .tensor = &out}};
    llrt_status status = llrt_expr_parse(cases[i].text, &expr);
    if (status == LLRT_OK) status = llrt_compute_into(expr, args, 2, NULL, NULL);
    cr_expect_eq(status, cases[i].status, "%s: %d, %s", cases[i].text, status, llrt_last_error());
    cr_expect(strstr(llrt_last_error(), cases[i].message), "%s: %s", cases[i].text,
              llrt_last_error());
    for (int k = 0; k < 32; k++) cr_assert_eq(y[k], 0);
    llrt_expr_destroy(&expr);
  }
}
