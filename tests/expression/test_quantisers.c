/* The catalogue's quantisers have the bits of the engines' functions that their texts name: these
 * are written out here for one group, in C's float arithmetic and number.h's rounding. Rows that
 * are all 0 and tiny ones are among the groups; those with infinities and NaN, of which engines'
 * functions differ, have what the language says: NaN is the largest magnitude of its group. */
#include "tests/expression/compute_trial.h"

#include "jit/plan/types/number.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 128, COLUMNS = 256 };
#define GLOBAL 150.f

static double code_of(llrt_dtype type, float x) {
  return (double)number_code(number_format_of(type), (double)x);
}

/* What an engine makes of a group whose largest magnitude is `largest`: the scale as it is stored
 * in *scale; what elements are divided by, or with `times` multiplied with. */
typedef struct factor {
  float scale, by;
  bool times;
} factor;

/* As `maximum` has it: NaN stays. */
static float larger(float a, float b) { return isnan(a) || isnan(b) ? a + b : fmaxf(a, b); }

static factor fp8_row(float largest) {
  float scale = larger(largest / 448.f, 1.f / (448.f * 512.f));
  return (factor){scale, scale, false};
}

static factor fp8_group(float largest) {
  float scale = larger(largest, 1e-10f) / 448.f;
  return (factor){scale, scale, false};
}

static factor fp8_block(float largest) {
  float scale = larger(largest, 1e-4f) / 448.f;
  return (factor){scale, 1.f / scale, true};
}

/* The smallest power of two that is not below x, from 2^-127 on. */
static float power_above(float x) {
  int exponent;
  float part = frexpf(x, &exponent);
  if (isnan(x)) return x;
  if (isinf(x)) return ldexpf(1, 127);
  if (x == 0 || exponent < -126) return ldexpf(1, -127);
  return ldexpf(1, part == 0.5f ? exponent - 1 : exponent);
}

static factor mx(float largest, float most) {
  float scale = power_above(largest * (1.f / most));
  return (factor){scale, 1.f / scale, true};
}

static factor mxfp8(float largest) { return mx(largest, 448.f); }
static factor mxfp4(float largest) { return mx(largest, 6.f); }

static factor nvfp4(float largest) {
  float scale = GLOBAL * (largest * (1.f / 6.f));
  const number_format *format = number_format_of(LLRT_E4M3);
  scale = (float)number_value(format, number_code(format, (double)scale));
  float inverse = scale * (1.f / GLOBAL);
  return (factor){scale, inverse == 0 ? 0 : 1.f / inverse, true};
}

static factor int8_token(float largest) {
  return (factor){largest / 127.f, largest == 0 ? 0 : 127.f / largest, true};
}

static const struct {
  const char *name;
  factor (*of)(float largest);
  int rows, columns; /* of a group */
  llrt_dtype element, scale;
  bool blocked; /* engines want its scales in 128x4 order, too */
} quantisers[] = {
    {"fp8_row", fp8_row, 1, COLUMNS, LLRT_E4M3, LLRT_F32, false},
    {"fp8_group", fp8_group, 1, 128, LLRT_E4M3, LLRT_F32, false},
    {"fp8_block", fp8_block, 128, 128, LLRT_E4M3, LLRT_F32, false},
    {"mxfp8", mxfp8, 1, 32, LLRT_E4M3, LLRT_E8M0, true},
    {"mxfp4", mxfp4, 1, 32, LLRT_E2M1, LLRT_E8M0, true},
    {"nvfp4", nvfp4, 1, 16, LLRT_E2M1, LLRT_E4M3, true},
    {"int8_token", int8_token, 1, COLUMNS, LLRT_I8, LLRT_F32, false},
};

/* Rows of very different sizes, of few bits, so that many quotients are ties; each eighth is 0. */
static void draw_rows(float *x) {
  uint32_t state = 7;
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    int row = i / COLUMNS;
    state = state * 1664525u + 1013904223u;
    float few = (float)((int)(state >> 24) - 128) / (row % 2 ? 16 : 127);
    x[i] = row % 8 == 3 ? 0 : ldexpf(few, row % 16 == 5 ? -60 : row % 11 - 6);
  }
}

static uint16_t as_bf16(float x) {
  return (uint16_t)number_code(number_format_of(LLRT_BF16), (double)x);
}

static uint32_t scale_code(llrt_dtype type, float scale) {
  uint32_t bits;
  memcpy(&bits, &scale, sizeof bits);
  if (type == LLRT_F32) return bits;
  if (type == LLRT_E8M0) return isnan(scale) ? 255 : (uint32_t)(ilogbf(scale) + 127);
  return (uint32_t)code_of(type, scale);
}

/* What the engine writes: codes, of 4 bits two in a byte. */
static void quantise(size_t k, const float *x, unsigned char *q, uint32_t *scales) {
  int across = COLUMNS / quantisers[k].columns;
  for (int g = 0; g < ROWS / quantisers[k].rows * across; g++) {
    int first = g / across * quantisers[k].rows, column = g % across * quantisers[k].columns;
    float largest = 0;
    for (int i = 0; i < quantisers[k].rows * quantisers[k].columns; i++)
      largest = larger(largest, fabsf(x[(first + i / quantisers[k].columns) * COLUMNS + column +
                                        i % quantisers[k].columns]));
    factor f = quantisers[k].of(largest);
    scales[g] = scale_code(quantisers[k].scale, f.scale);
    for (int i = 0; i < quantisers[k].rows * quantisers[k].columns; i++) {
      int at = (first + i / quantisers[k].columns) * COLUMNS + column + i % quantisers[k].columns;
      uint8_t code = (uint8_t)code_of(quantisers[k].element, f.times ? x[at] * f.by : x[at] / f.by);
      if (quantisers[k].element != LLRT_E2M1) q[at] = code;
      else q[at / 2] = (unsigned char)(at % 2 ? q[at / 2] | code << 4 : code);
    }
  }
}

/* Where cuBLAS wants the scale of row m and group g of so many groups: "1D block scaling factors
 * layout" of its documentation. */
static int64_t at_128x4(int m, int g, int across) {
  return (int64_t)(m / 128 * ((across + 3) / 4) + g / 4) * 512 + m % 32 * 16 + m % 128 / 32 * 4 +
         g % 4;
}

/* blocked: scales in 128x4 order. */
static void run_on(llrt_device *device, size_t k, bool blocked, const uint16_t *x, unsigned char *q,
                   unsigned char *scales, size_t q_bytes, size_t scale_bytes) {
  char text[4000];
  llrt_expr *expr;
  int across = COLUMNS / quantisers[k].columns;
  llrt_tensor t[3] = {{.dtype = LLRT_BF16, .rank = 2, .shape = {ROWS, COLUMNS}}};
  llrt_arg arg[4] = {
      {.name = "x"}, {.name = "q"}, {.name = "s"}, {.name = "global", .number = GLOBAL}};
  size_t bytes[3] = {ROWS * COLUMNS * sizeof *x, q_bytes, scale_bytes};
  t[1] = t[2] = t[0];
  t[1].dtype = quantisers[k].element;
  t[2].dtype = quantisers[k].scale;
  t[2].rank = across > 1 ? 2 : 1;
  t[2].shape[0] = ROWS / quantisers[k].rows;
  t[2].shape[1] = across;
  llrt_storage order;
  cr_assert_eq(llrt_storage_parse("scale_128x4", 2, NULL, &order), LLRT_OK);
  if (blocked) t[2].storage = &order;
  trial_read_text(quantisers[k].name, text, sizeof text);
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 3; i++) {
    t[i].device = device;
    arg[i].tensor = &t[i];
    cr_assert_eq(llrt_memory_allocate(device, bytes[i], &t[i].data), LLRT_OK);
  }
  llrt_memory_copy(device, t[0].data, x, bytes[0], LLRT_COPY_TO_DEVICE, NULL);
  cr_assert_eq(
      llrt_compute_into(expr, arg, strcmp(quantisers[k].name, "nvfp4") == 0 ? 4 : 3, NULL, NULL),
      LLRT_OK, "%s: %s", quantisers[k].name, llrt_last_error());
  llrt_memory_copy(device, q, t[1].data, q_bytes, LLRT_COPY_FROM_DEVICE, NULL);
  llrt_memory_copy(device, scales, t[2].data, scale_bytes, LLRT_COPY_FROM_DEVICE, NULL);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
  for (int i = 0; i < 3; i++) llrt_memory_free(device, t[i].data);
  llrt_expr_destroy(&expr);
}

/* Zeros have no sign that counts in e2m1 and i8, NaN has no one code in e4m3 and f32. */
static bool same_code(llrt_dtype type, uint32_t a, uint32_t b) {
  if (type == LLRT_E2M1 && (a & 7) == 0 && (b & 7) == 0) return true;
  if (type == LLRT_E4M3 || type == LLRT_F32) {
    const number_format *format = number_format_of(type);
    if (isnan(number_value(format, a)) && isnan(number_value(format, b))) return true;
  }
  return a == b;
}

static void check(const char *device, size_t k, bool blocked, const float *x,
                  const uint16_t *codes) {
  static unsigned char q[ROWS * COLUMNS], expected[ROWS * COLUMNS], s[ROWS * COLUMNS];
  static uint32_t scales[ROWS * COLUMNS];
  size_t element = (size_t)llrt_dtype_bits(quantisers[k].element);
  size_t scale = (size_t)llrt_dtype_bits(quantisers[k].scale) / 8;
  int groups = ROWS * COLUMNS / quantisers[k].rows / quantisers[k].columns;
  quantise(k, x, expected, scales);
  run_on(trial_device(device), k, blocked, codes, q, s, ROWS * COLUMNS * element / 8,
         (size_t)groups * scale);
  for (int g = 0; g < groups; g++) {
    uint32_t got = 0;
    int across = COLUMNS / quantisers[k].columns;
    int64_t at = blocked ? at_128x4(g / across, g % across, across) : g;
    memcpy(&got, s + (size_t)at * scale, scale);
    cr_assert(same_code(quantisers[k].scale, got, scales[g]),
              "%s%s on %s: scale %d is %#x, not %#x", quantisers[k].name, blocked ? ", 128x4" : "",
              device, g, got, scales[g]);
  }
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    int shift = element == 4 ? i % 2 * 4 : 0, mask = element == 4 ? 15 : 255;
    int at = element == 4 ? i / 2 : i, got = q[at] >> shift & mask,
        own = expected[at] >> shift & mask;
    cr_assert(same_code(quantisers[k].element, (uint32_t)got, (uint32_t)own),
              "%s on %s: element %d, %g, is %#x, not %#x", quantisers[k].name, device, i,
              (double)x[i], (unsigned)got, (unsigned)own);
  }
}

/* x as bf16, which the quantisers read. */
static void check_all(float *x) {
  static const char *const devices[] = {"host", "cuda-emu:sm_90a", "hip-emu:gfx942"};
  static uint16_t codes[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    codes[i] = as_bf16(x[i]);
    x[i] = (float)number_value(number_format_of(LLRT_BF16), codes[i]);
  }
  for (size_t k = 0; k < sizeof quantisers / sizeof *quantisers; k++)
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
      check(devices[d], k, false, x, codes);
      if (quantisers[k].blocked) check(devices[d], k, true, x, codes);
    }
}

Test(quantisers, bits_of_engines) {
  static float x[ROWS * COLUMNS];
  draw_rows(x);
  check_all(x);
}

/* One NaN, one infinity of either sign, both, nothing else but them, among rows that are finite. */
Test(quantisers, rows_that_are_not_finite) {
  static float x[ROWS * COLUMNS];
  draw_rows(x);
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    int row = i / COLUMNS % 16, column = i % COLUMNS;
    bool one = column % 128 == 77, other = column % 128 == 78;
    if ((one && (row == 1 || row == 4)) || row == 6) x[i] = (float)NAN;
    if ((one && row == 2) || (other && row == 4) || row == 7) x[i] = INFINITY;
    if (one && row == 5) x[i] = -INFINITY;
  }
  check_all(x);
}
