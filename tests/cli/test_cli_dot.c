/* llrt dot: products against plain C, explain and compile of dots, and what is refused. */
#include "tool_run.h"

#include "tools/common/array_file.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

TestSuite(cli_dot, .init = tool_folder_enter, .fini = tool_folder_leave);

enum { M = 5, N = 12, K = 64 };

/* Small whole numbers, so that every order of additions gives the same. */
static float a[M][K], b[K][N];

static void write_array(const char *name, llrt_dtype dtype, int rank, const int64_t *shape,
                        const void *data) {
  array made;
  array_error error;
  cr_assert(array_create(dtype, rank, shape, &made, &error), "%s", error.text);
  memcpy(made.data, data, made.bytes);
  cr_assert(array_write(name, &made, &error), "%s", error.text);
  array_destroy(&made);
}

static void write_inputs(void) {
  float columns[N][K];
  for (int m = 0; m < M; m++)
    for (int k = 0; k < K; k++) a[m][k] = (float)((m * 31 + k * 17) % 9) - 4;
  for (int k = 0; k < K; k++)
    for (int n = 0; n < N; n++) columns[n][k] = b[k][n] = (float)((k * 7 + n * 5) % 11) - 5;
  write_array("a.npy", LLRT_F32, 2, (int64_t[]){M, K}, a);
  write_array("b.npy", LLRT_F32, 2, (int64_t[]){K, N}, b);
  write_array("columns.npy", LLRT_F32, 2, (int64_t[]){N, K}, columns);
}

static float expected(int m, int n) {
  float sum = 0;
  for (int k = 0; k < K; k++) sum += a[m][k] * b[k][n];
  return sum;
}

Test(cli_dot, two_matrices) {
  static const char *const lines[] = {
      "dot a.npy b.npy --device host -o d.npy",
      "dot a.npy columns.npy --layout-b col_major --shape 5x12x64 --device host -o d.npy",
      "dot a.npy b.npy --tf32 --out-dtype f32 --device host -o d.npy",
      "dot a.npy told.safetensors:b --device host -o d.npy"};
  write_inputs();
  tool_run_quietly("convert b.npy --to col_major --device host -o told.safetensors:b");
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    array d = tool_array(lines[i], "d.npy");
    cr_assert(d.dtype == LLRT_F32 && d.rank == 2 && d.shape[0] == M && d.shape[1] == N);
    for (int m = 0; m < M; m++)
      for (int n = 0; n < N; n++)
        cr_expect_eq(((float *)d.data)[m * N + n], expected(m, n), "%s", lines[i]);
    array_destroy(&d);
  }
}

Test(cli_dot, a_literal_brings_its_shape) {
  float x[3][8], w[4][8];
  for (int i = 0; i < 24; i++) x[i / 8][i % 8] = (float)(i % 5 - 2);
  for (int i = 0; i < 32; i++) w[i / 8][i % 8] = (float)(i % 7 - 3);
  write_array("x.npy", LLRT_F32, 2, (int64_t[]){3, 8}, x);
  write_array("w.npy", LLRT_F32, 1, (int64_t[]){32}, w);
  array d = tool_array(
      "dot x.npy w.npy --layout-b '{offset: [[1,0],[2,0],[4,0],[0,1],[0,2]]} -> [dim0:8, dim1:4]' "
      "--device host -o d.npy",
      "d.npy");
  cr_assert(d.rank == 2 && d.shape[0] == 3 && d.shape[1] == 4);
  for (int m = 0; m < 3; m++)
    for (int n = 0; n < 4; n++) {
      float sum = 0;
      for (int k = 0; k < 8; k++) sum += x[m][k] * w[n][k];
      cr_expect_eq(((float *)d.data)[m * 4 + n], sum);
    }
  array_destroy(&d);
}

Test(cli_dot, edges) {
  float line[N];
  write_inputs();
  for (int n = 0; n < N; n++) line[n] = (float)(n - 6);
  write_array("line.npy", LLRT_F32, 1, (int64_t[]){N}, line);
  array d = tool_array("dot a.npy b.npy --alpha 0.5 --bias line.npy --activation relu --out-dtype "
                       "f64 --device host -o d.npy",
                       "d.npy");
  cr_assert_eq(d.dtype, LLRT_F64);
  for (int m = 0; m < M; m++)
    for (int n = 0; n < N; n++) {
      double value = 0.5 * expected(m, n) + line[n];
      cr_expect_eq(((double *)d.data)[m * N + n], value > 0 ? value : 0);
    }
  array_destroy(&d);
}

/* mxfp4: two numbers a byte along N, the first low; a scale of 2^(byte - 127) for 32 of K. */
Test(cli_dot, scaled_weights) {
  static const float e2m1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  uint8_t packed[K][N / 2], scales[K / 32][N], columns[N][K / 32];
  write_inputs();
  for (int k = 0; k < K; k++)
    for (int n = 0; n < N; n += 2)
      packed[k][n / 2] = (uint8_t)((k + n) % 16 | (k * 3 + n) % 16 << 4);
  for (int g = 0; g < K / 32; g++)
    for (int n = 0; n < N; n++) columns[n][g] = scales[g][n] = (uint8_t)(126 + (g + n) % 3);
  write_array("w.npy", LLRT_U8, 2, (int64_t[]){K, N / 2}, packed);
  write_array("s.npy", LLRT_U8, 2, (int64_t[]){K / 32, N}, scales);
  write_array("columns.npy", LLRT_U8, 2, (int64_t[]){K / 32, N}, columns);
  tool_result found = tool_expect_success(
      "dot a.npy w.npy --dtype-b e2m1 --scale-b s.npy --scale-range auto --device host "
      "-o found.npy");
  tool_result_fini(&found);
  array d = tool_array("dot a.npy w.npy --dtype-b e2m1 --scale-b s.npy --device host -o d.npy",
                       "d.npy"),
        ranged;
  array_error error;
  cr_assert(array_read("found.npy", &ranged, &error), "%s", error.text);
  cr_expect_eq(memcmp(ranged.data, d.data, d.bytes), 0);
  array_destroy(&ranged);
  ranged = tool_array("dot a.npy w.npy --dtype-b e2m1 --scale-b columns.npy --layout-scale-b "
                      "col_major --device host -o d.npy",
                      "d.npy");
  cr_expect_eq(memcmp(ranged.data, d.data, d.bytes), 0);
  array_destroy(&ranged);
  for (int m = 0; m < M; m++)
    for (int n = 0; n < N; n++) {
      float sum = 0;
      for (int k = 0; k < K; k++) {
        int code = packed[k][n / 2] >> n % 2 * 4 & 15;
        float power = (float)(1 << (scales[k / 32][n] - 126)) / 2;
        sum += a[m][k] * (code & 8 ? -1 : 1) * e2m1[code & 7] * power;
      }
      cr_expect_eq(((float *)d.data)[m * N + n], sum);
    }
  array_destroy(&d);
}

Test(cli_dot, explained_and_compiled) {
  static const char *const lines[] = {
      "explain dot --shape 16x64x32 --target sm_90a",
      "explain dot 'bf16[16x8192]' 'e2m1[8192x8192]' --scale-b 'e8m0[256x8192]' --target sm_90a",
      "explain dot 'f16[16x8192]' 'e2m1[8192x8192]' --scale-b 'e8m0[256x8192]' --scale-range "
      "110,130 --target sm_90a",
      "explain dot 'f16[16x512]' 'u4[512x128]' --layout-b marlin_w4 --scale-b 'f16[4x128]' "
      "--layout-scale-b marlin_scales "
      "--target sm_90a",
      "compile dot 'f16[16x64]' 'f16[64x64]' --target sm_80 --emit ptx",
      "compile dot 'i8[16x64]' 'i8[64x64]' --target host --emit ir"};
  static const char *const words[] = {"block:",   "e2m1",  "f16", "u4 in words of permuted bits",
                                      "mma.sync", "define"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    tool_result r = tool_expect_success(lines[i]);
    cr_expect(strstr(r.out, words[i]), "llrt %s: no %s", lines[i], words[i]);
    tool_result_fini(&r);
  }
}

Test(cli_dot, what_is_refused) {
  static const tool_failure rows[] = {
      {"dot a.npy b.npy --device host", 2, "-o OUT is missing"},
      {"dot a.npy --device host -o d.npy", 2, "too few words"},
      {"dot a.npy columns.npy --device host -o d.npy", 1,
       "operand B has 12 positions along K, not 64"},
      {"dot a.npy b.npy --dtype-b e9m9 --device host -o d.npy", 2,
       "--dtype-b: unknown dtype 'e9m9'"},
      {"dot a.npy b.npy --scale-b b.npy --device host -o d.npy", 1,
       "operand B is f32: scales that differ"},
      {"dot a.npy w.npy --dtype-b e2m1 --scale-b three.npy --device host -o d.npy", 1,
       "scale of B has 3 positions for 64"},
      {"dot a.npy w.npy --dtype-b e2m1 --scale-b narrow.npy --device host -o d.npy", 1,
       "scale of B has 5 positions for 12"},
      {"dot a.npy w.npy --dtype-b u4 --scale-b scales.npy --zero-b three.npy --device host -o "
       "d.npy",
       1, "the zero of B has 3 positions for 64"},
      {"dot a.npy w.npy --dtype-b bool --device host -o d.npy", 1, "the operand B is bool"},
      {"dot a.npy w.npy --dtype-b u4 --layout-b marlin_w4 --device host -o d.npy", 1, "B: axis"},
      {"dot a.npy b.npy --bias scales.npy --device host -o d.npy", 1, "the bias has rank 2, not 1"},
      {"dot a.npy b.npy --out-dtype e8m0 --device host -o d.npy", 1, "the result cannot be e8m0"},
      {"dot a.npy b.npy --accumulate i32 --device host -o d.npy", 1, "not in i32"},
      {"dot a.npy b.npy --to scale --device host -o d.npy", 1, "--to"},
      {"dot a.npy b.npy --global-b scales.npy --device host -o d.npy", 1, "global scale of B"},
      {"dot a.npy b.npy --activation tanh --device host -o d.npy", 2, "there is no such"},
      {"dot a.npy b.npy --alpha x --device host -o d.npy", 2, "--alpha x"},
      {"dot a.npy b.npy --alpha nan --device host -o d.npy", 2, "--alpha nan is no number"},
      {"dot a.npy b.npy --scale-range 1,2 --device host -o d.npy", 2, "--scale-range without"},
      {"dot a.npy b.npy --scale-dtype e4m3 --device host -o d.npy", 2, "--scale-dtype without"},
      {"dot a.npy b.npy --layout-scale-b col_major --device host -o d.npy", 2,
       "--layout-scale-b without"},
      {"dot a.npy b.npy --layout-zero-b col_major --device host -o d.npy", 2,
       "--layout-zero-b without"},
      {"dot a.npy b.npy --shape 5x12 --device host -o d.npy", 2, "MxNxK"},
      {"dot a.npy columns.npy --layout-b col_major --shape 5x12x60 --device host -o d.npy", 1,
       "holds"},
      {"dot a.npy b.npy --scale-b b.npy --scale-range 3 --device host -o d.npy", 2,
       "--scale-range 3 is no range"},
      {"dot a.npy b.npy --scale-b b.npy --scale-range 3,255 --device host -o d.npy", 2,
       "--scale-range 3,255 is no range"},
      {"explain dot --shape 4x4x4 --scale-b 'e8m0[1x4]' --scale-range auto --target sm_90a", 2,
       "there are no scales to look at"},
      {"explain dot --target sm_90a", 2, "--shape MxNxK"},
      {"explain dot --shape 4x4x4 --xor 1 --target sm_90a", 2, "not for a dot"},
      {"explain convert a b --to col_major --target sm_90a", 2, "only a dot names tensors"},
  };
  static const uint8_t bytes[K * N];
  write_inputs();
  write_array("w.npy", LLRT_U8, 2, (int64_t[]){K, N / 2}, bytes);
  write_array("scales.npy", LLRT_U8, 2, (int64_t[]){K / 32, N}, bytes);
  write_array("three.npy", LLRT_U8, 2, (int64_t[]){3, N}, bytes);
  write_array("narrow.npy", LLRT_U8, 2, (int64_t[]){K / 32, 5}, bytes);
  tool_expect_failures(rows, sizeof rows / sizeof *rows);
}

/* Factors, inputs and results lie in their files: a process that may have less memory of its own
 * than each of them takes multiplies and computes. */
Test(cli_dot, files_larger_than_memory) {
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
  enum { LONG = 1 << 22, DEEP = 8, BYTES = LONG * DEEP * 4, LIMIT = BYTES / 2 };
  static const char *const lines[] = {
      "dot rows.npy few.npy --device host -o d.npy",
      "compute '(x[t n]) -> (y[t n]) { y = x + x }' x=rows.npy -o y=y.npy --device host"};
  struct rlimit before, little;
  float few[DEEP][DEEP] = {{0}};
  array rows;
  array_error error;
  for (int i = 0; i < DEEP; i++) few[i][(i + 1) % DEEP] = 2; /* columns are turned, doubled */
  write_array("few.npy", LLRT_F32, 2, (int64_t[]){DEEP, DEEP}, few);
  cr_assert(array_create(LLRT_F32, 2, (int64_t[]){LONG, DEEP}, &rows, &error), "%s", error.text);
  for (int64_t i = 0; i < (int64_t)LONG * DEEP; i++) ((float *)rows.data)[i] = (float)(i % 1009);
  cr_assert(array_write("rows.npy", &rows, &error), "%s", error.text);
  array_destroy(&rows); /* the limit is this process's, too */
  cr_assert_eq(getrlimit(RLIMIT_DATA, &before), 0);
  little = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
  cr_assert_eq(setrlimit(RLIMIT_DATA, &little), 0);
  for (int i = 0; i < 2; i++) tool_run_quietly(lines[i]);
  cr_assert_eq(setrlimit(RLIMIT_DATA, &before), 0);
  array d = tool_array_read("d.npy"), y = tool_array_read("y.npy");
  int64_t wrong = 0;
  for (int64_t i = 0; i < (int64_t)LONG * DEEP; i++) {
    int64_t from = i / DEEP * DEEP + (i + DEEP - 1) % DEEP;
    wrong += ((float *)d.data)[i] != 2 * (float)(from % 1009);
    wrong += ((float *)y.data)[i] != 2 * (float)(i % 1009);
  }
  cr_expect_eq(wrong, 0, "%lld elements", (long long)wrong);
  array_destroy(&d);
  array_destroy(&y);
#endif
}
