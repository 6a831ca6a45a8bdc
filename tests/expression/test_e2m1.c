/* Casts to floats of 4 and 8 bits and quotients by powers of two in front of them: every bf16 and
 * f16, and f32 at and beside those of 16 bits, signs of zeros, infinities and NaN of either sign
 * among them, have the code that number.h gives. */
#include "tests/expression/compute_trial.h"

#include "jit/plan/types/number.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 256, PATTERNS = 1 << 16 };

static const char *const devices[] = {"host", "cuda-emu:sm_90a", "cuda-emu:sm_80",
                                      "hip-emu:gfx942"};

static const struct {
  const char *text;
  llrt_dtype to;
  bool divides; /* by a power of two for each row: code t mod 256 of e8m0 */
  bool is_nan;  /* every element, and known to be before anything runs */
} cases[] = {
    {"(x[t n]) -> (q[t n]) { q = x }", LLRT_E2M1, false, false},
    {"(x[t n], s[t]) -> (q[t n]) { q = x / s }", LLRT_E2M1, true, false},
    {"(x[t n], s[t]) -> (q[t n]) { q = x / s }", LLRT_E4M3, true, false},
    {"(x[t n], s[t]) -> (q[t n]) { q = x / s }", LLRT_E5M2, true, false},
    /* columns: no thread has a word of eight */
    {"(x[n t]) -> (q[t n]) { q = x }", LLRT_E2M1, false, false},
    {"(x[t n]) -> (q[t n]) { q = x + log2(-3) }", LLRT_E2M1, false, true},
    {"(x[t n]) -> (q[t n]) { q = x * -log2(-3) }", LLRT_E2M1, false, true},
};

/* What stands behind the upper 16 bits of f32. */
static const uint32_t lower[] = {0, 1, 0x8000, 0xFFFF};

static int elements_of(llrt_dtype from) {
  return from == LLRT_F32 ? PATTERNS * (int)(sizeof lower / sizeof *lower) : PATTERNS;
}

/* All exponents are in every row. */
static void fill(llrt_dtype from, void *x) {
  for (int i = 0; i < elements_of(from); i++) {
    uint32_t pattern = (uint32_t)i % PATTERNS * 257 % PATTERNS;
    if (from == LLRT_F32) ((uint32_t *)x)[i] = pattern << 16 | lower[i / PATTERNS];
    else ((uint16_t *)x)[i] = (uint16_t)pattern;
  }
}

static uint64_t code_at(llrt_dtype from, const void *x, int i) {
  return from == LLRT_F32 ? ((const uint32_t *)x)[i] : ((const uint16_t *)x)[i];
}

/* Of element i of the result. */
static uint64_t expected(size_t k, llrt_dtype from, const void *x, int i) {
  bool turned = cases[k].text[3] == 'n';
  int rows = elements_of(from) / COLUMNS, t = i / COLUMNS, n = i % COLUMNS;
  double value = number_value(number_format_of(from), code_at(from, x, turned ? n * rows + t : i));
  if (cases[k].divides)
    value = (float)(value / number_value(number_format_of(LLRT_E8M0), (uint64_t)t % 256));
  return number_code(number_format_of(cases[k].to), cases[k].is_nan ? NAN : value);
}

static void run_on(llrt_device *device, size_t k, llrt_dtype from, const void *x, size_t bytes,
                   const unsigned char *scale, unsigned char *q, size_t q_bytes) {
  int64_t rows = elements_of(from) / COLUMNS;
  bool turned = cases[k].text[3] == 'n';
  llrt_expr *expr;
  llrt_tensor t[3] = {
      {.dtype = from, .rank = 2, .shape = {turned ? COLUMNS : rows, turned ? rows : COLUMNS}},
      {.dtype = cases[k].to, .rank = 2, .shape = {rows, COLUMNS}},
      {.dtype = LLRT_E8M0, .rank = 1, .shape = {rows}}};
  llrt_arg arg[3] = {{.name = "x"}, {.name = "q"}, {.name = "s"}};
  const void *from_host[3] = {x, NULL, scale};
  size_t size[3] = {bytes, q_bytes, (size_t)rows};
  int n = cases[k].divides ? 3 : 2;
  cr_assert_eq(llrt_expr_parse(cases[k].text, &expr), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < n; i++) {
    t[i].device = device;
    arg[i].tensor = &t[i];
    cr_assert_eq(llrt_memory_allocate(device, size[i], &t[i].data), LLRT_OK);
    if (from_host[i])
      llrt_memory_copy(device, t[i].data, from_host[i], size[i], LLRT_COPY_TO_DEVICE, NULL);
  }
  cr_assert_eq(llrt_compute_into(expr, arg, n, NULL, NULL), LLRT_OK, "%s: %s", cases[k].text,
               llrt_last_error());
  llrt_memory_copy(device, q, t[1].data, q_bytes, LLRT_COPY_FROM_DEVICE, NULL);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
  for (int i = 0; i < n; i++) llrt_memory_free(device, t[i].data);
  llrt_expr_destroy(&expr);
}

/* Any NaN of an 8-bit float is one. */
static bool is_nan(llrt_dtype type, uint64_t code) {
  double value = number_value(number_format_of(type), code);
  return value != value;
}

static void check(const char *name, size_t k, llrt_dtype from) {
  int n = elements_of(from), bits = llrt_dtype_bits(cases[k].to), wrong = 0;
  size_t bytes = (size_t)n * (size_t)llrt_dtype_bits(from) / 8;
  unsigned char scale[PATTERNS * 4 / COLUMNS];
  void *x = malloc(bytes);
  unsigned char *q = malloc((size_t)n);
  cr_assert(x && q);
  for (size_t i = 0; i < sizeof scale; i++) scale[i] = (unsigned char)i;
  fill(from, x);
  run_on(trial_device(name), k, from, x, bytes, scale, q, (size_t)n * (size_t)bits / 8);
  for (int i = 0; i < n && wrong < 3; i++) {
    uint64_t got = bits == 4 ? (uint64_t)(q[i / 2] >> i % 2 * 4 & 15) : q[i],
             own = expected(k, from, x, i);
    if (got == own || (is_nan(cases[k].to, got) && is_nan(cases[k].to, own))) continue;
    wrong++;
    cr_expect(false, "%s, %s to %s on %s: row %d, %#x is %#x, not %#x", cases[k].text,
              llrt_dtype_name(from), llrt_dtype_name(cases[k].to), name, i / COLUMNS,
              (unsigned)code_at(from, x, i), (unsigned)got, (unsigned)own);
  }
  free(x);
  free(q);
}

Test(e2m1, all_patterns) {
  static const llrt_dtype from[] = {LLRT_BF16, LLRT_F16, LLRT_F32};
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
      for (size_t f = 0; f < sizeof from / sizeof *from; f++) check(devices[d], k, from[f]);
}
