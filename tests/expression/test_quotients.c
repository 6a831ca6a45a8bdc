/* Quotients of many numbers by few, and sums of halves, which GPUs make in a short way where the
 * program tells that they may (expression/program_range.c, jit/emit/value/emit_halves.c): bit for
 * bit those of the host, which divides, and adds in f32. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 256, LENGTH = 64, ALL = ROWS * LENGTH, MOST_BYTES = 4 * ALL };

typedef struct quotients {
  const char *text;
  llrt_dtype type[2]; /* of s, where it is an input, and of q */
} quotients;

/* Rows of one size each, from the least subnormal number to the largest, with some of any less,
 * zeros of both signs, and here and there an infinity or NaN, in some rows infinities alone. */
static void fill(float *x) {
  uint32_t state = 1;
  for (int i = 0; i < ALL; i++) {
    state = state * 1664525u + 1013904223u;
    uint32_t row = (uint32_t)(i / LENGTH), code = (row << 23 | state >> 9) ^ (state << 31);
    if (i % 7 == 0) code = (state & 0x807fffffu) | (state >> 23) % (row + 1) << 23;
    if (i % 11 == 0) code = state & 0x80000000u;
    if (i % 13 == 0) code = (state & 0x80000000u) | (state >> 20);
    if (row % 8 && (code >> 23 & 255) == 255) code ^= 1u << 30;
    if (row % 16 == 0 && (code >> 23 & 255) == 255) code &= 0xff800000u;
    memcpy(&x[i], &code, sizeof code);
  }
}

static void run(const char *name, const quotients *q, const float *x, const void *s,
                unsigned char *out) {
  llrt_device *device = trial_device(name);
  llrt_expr *expr;
  llrt_tensor t[3] = {
      {.dtype = LLRT_F32, .rank = 2, .shape = {ROWS, LENGTH}, .device = device},
      {.dtype = q->type[0], .rank = 1, .shape = {ROWS}, .device = device},
      {.dtype = q->type[1], .rank = 2, .shape = {ROWS, LENGTH}, .device = device},
  };
  const llrt_arg args[] = {{.name = "x", .tensor = &t[0]},
                           {.name = "s", .tensor = &t[1]},
                           {.name = "q", .tensor = &t[2]}};
  cr_assert_not_null(device, "%s: %s", name, llrt_last_error());
  cr_assert_eq(llrt_expr_parse(q->text, &expr), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 3; i++)
    cr_assert_eq(llrt_memory_allocate(device, MOST_BYTES, &t[i].data), LLRT_OK);
  llrt_memory_copy(device, t[0].data, x, MOST_BYTES, LLRT_COPY_TO_DEVICE, NULL);
  llrt_memory_copy(device, t[1].data, s, ROWS * 4, LLRT_COPY_TO_DEVICE, NULL);
  cr_assert_eq(llrt_compute_into(expr, args, 3, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  llrt_memory_copy(device, out, t[2].data, (size_t)ALL * llrt_dtype_bits(q->type[1]) / 8,
                   LLRT_COPY_FROM_DEVICE, NULL);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 3; i++) llrt_memory_free(device, t[i].data);
  llrt_expr_destroy(&expr);
}

static const quotients cases[] = {
    {"(x[t n]) -> (q[t n], s[t]) { s = maximum(max(abs(x), n), 1e-37) / 448; q = x / s }",
     {LLRT_F32, LLRT_E4M3}},
    {"(x[t n]) -> (q[t n], s[t]) { s = maximum(max(abs(x), n), 1e-10) / 448; q = x / s }",
     {LLRT_F32, LLRT_E4M3}},
    {"(x[t n]) -> (q[t n], s[t]) { s = maximum(max(abs(x), n), 1e-10) / 127; q = round(x / s) }",
     {LLRT_F32, LLRT_I8}},
    {"(x[t n]) -> (q[t n], s[t]) { s = maximum(max(abs(x), n), 1e-10) / 448; q = x * (1 / s) }",
     {LLRT_F32, LLRT_F32}},
    {"(x[t n]) -> (q[t n], s[t]) { s = maximum(max(abs(x), n), 1e-10) / 65537; q = x * rcp(s) }",
     {LLRT_F32, LLRT_F32}},
    {"(x[t n]) -> (q[t n], s[t]) { s = max(abs(x), n) / 6; q = x / s }", {LLRT_F32, LLRT_F16}},
    {"(x[t n]) -> (q[t n], s[t]) { s = max(abs(x), n) / 127; q = x / s }", {LLRT_F32, LLRT_F32}},
    /* sums that are rounded to the halves which they are made of */
    {"(x[t n]) -> (q[t n], s[t]) { s = max(x, n); q = bf16(bf16(x) + bf16(x * -0.99)) }",
     {LLRT_F32, LLRT_BF16}},
    {"(x[t n]) -> (q[t n], s[t]) { s = max(x, n); q = bf16(bf16(x) - bf16(x * 0.0123)) }",
     {LLRT_F32, LLRT_BF16}},
    {"(x[t n]) -> (q[t n], s[t]) { s = max(x, n); q = f16(f16(x * 77.7) - f16(x)) }",
     {LLRT_F32, LLRT_F16}},
    {"(x[t n], s[t]) -> (q[t n]) { q = x / s }", {LLRT_E8M0, LLRT_F32}},
    {"(x[t n], s[t]) -> (q[t n]) { q = x / s }", {LLRT_F32, LLRT_E4M3}},
};

/* Whether both are NaN of f32. */
static bool both_nan(const unsigned char *a, const unsigned char *b, llrt_dtype type, int i) {
  float x, y;
  if (type != LLRT_F32) return false;
  memcpy(&x, a + 4 * i, 4);
  memcpy(&y, b + 4 * i, 4);
  return isnan(x) && isnan(y);
}

static void compare(const char *device, const quotients *q) {
  static float x[ALL], by[ROWS];
  static unsigned char s[ROWS * 4], expected[MOST_BYTES], found[MOST_BYTES];
  int bytes = llrt_dtype_bits(q->type[1]) / 8;
  fill(x);
  for (int r = 0; r < ROWS; r++) {
    by[r] = ldexpf(1 + 0.37f * (float)(r % 3), (r * 7) % 252 - 126);
    s[r] = (unsigned char)r;
  }
  const void *given = q->type[0] == LLRT_E8M0 ? (const void *)s : by;
  run("host", q, x, given, expected);
  run(device, q, x, given, found);
  for (int i = 0; i < ALL; i++)
    cr_assert(memcmp(expected + i * bytes, found + i * bytes, (size_t)bytes) == 0 ||
                  both_nan(expected, found, q->type[1], i),
              "%s on %s: [%d][%d], of %a", q->text, device, i / LENGTH, i % LENGTH, (double)x[i]);
}

Test(quotients, bits) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    compare("cuda-emu:sm_90a", &cases[i]);
    compare("hip-emu:gfx942", &cases[i]);
  }
}
