#include "packed_trial.h"

#include "base/bits.h"
#include "jit/plan/types/dot_packed.h"
#include "jit/plan/types/number.h"
#include "runtime/described.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const packed_problem packed_problems[PACKED_PROBLEMS] = {
    {1, 32, 256, LLRT_BF16, LLRT_F32, false, MXFP4(120, 130), false, 0},
    {8, 64, 2048, LLRT_BF16, LLRT_BF16, true, MXFP4(124, 127), false, 0},
    {3, 64, 4096, LLRT_BF16, LLRT_F32, true, MXFP4(120, 130), false, 0},
    {16, 96, 4096, LLRT_BF16, LLRT_F32, false, MXFP4(120, 130), false, 0},
    {5, 48, 320, LLRT_BF16, LLRT_F32, false, MXFP4(120, 130), false, 0},
    {2, 80, 2880, LLRT_BF16, LLRT_F32, true, MXFP4(120, 130), false, 0},
    {33, 64, 1024, LLRT_BF16, LLRT_F32, false, MXFP4(120, 130), false, 0},
    {70, 32, 512, LLRT_BF16, LLRT_F32, false, MXFP4(120, 130), false, 0},
    {100, 144, 256, LLRT_BF16, LLRT_F32, false, MXFP4(120, 130), true, 0},
    {130, 48, 352, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127), true, 0},
    {260, 48, 256, LLRT_BF16, LLRT_F32, false, MXFP4(124, 127), true, 0},
    {129, 272, 256, LLRT_F16, LLRT_F32, true, MXFP4(120, 127), true, 0},
    /* producers, whose rings go round more than once */
    {150, 136, 1312, LLRT_BF16, LLRT_F32, false, MXFP4(124, 127), true, 0},
    {270, 144, 608, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127), true, 0},
    /* rows of A that no copy takes */
    {18, 64, 1024, LLRT_BF16, LLRT_F32, false, MXFP4(120, 130), true, 1},
    {3, 32, 512, LLRT_F16, LLRT_F32, false, MXFP4(120, 127), true, 3},
    {7, 64, 512, LLRT_F16, LLRT_F32, false, MXFP4(120, 130), false, 0},
    {12, 64, 512, LLRT_F16, LLRT_F32, false, MXFP4(115, 127), true, 0},
    {4, 64, 768, LLRT_BF16, LLRT_F32, false, MXFP4(122, 128), true, 0},
    {20, 32, 1024, LLRT_BF16, LLRT_F32, false, MXFP4(126, 134), true, 0},
    /* scales at both ends: values beyond bf16's, and below */
    {4, 32, 256, LLRT_BF16, LLRT_F32, false, MXFP4(0, 6), false, 0},
    {4, 32, 256, LLRT_BF16, LLRT_F32, false, MXFP4(236, 242), false, 0},
    {4, 32, 256, LLRT_BF16, LLRT_F32, false, MXFP4(255, 255), false, 0}, /* NaN */
    {9, 64, 1024, LLRT_F16, LLRT_F16, false, 12, 16, LLRT_I4, LLRT_F16, 128, NONE, false, 0},
    {17, 64, 768, LLRT_F16, LLRT_F32, true, 12, 16, LLRT_U4, LLRT_F16, 64, NONE, false, 0},
    {2, 96, 512, LLRT_BF16, LLRT_F32, false, 124, 128, LLRT_I4, LLRT_BF16, 32, NONE, false, 0},
    {9, 32, 256, LLRT_F16, LLRT_F16, false, 12, 16, LLRT_I4, LLRT_F16, 128, NONE, true, 0},
    {17, 16, 256, LLRT_F16, LLRT_F32, true, 12, 16, LLRT_U4, LLRT_F16, 64, NONE, true, 0},
    {2, 96, 512, LLRT_BF16, LLRT_F32, false, 124, 128, LLRT_I4, LLRT_BF16, 32, NONE, true, 0},
    {4, 32, 256, LLRT_BF16, LLRT_F32, false, MXFP4(120, 130), true, 0},
    {4, 32, 256, LLRT_BF16, LLRT_F32, false, MXFP4(0, 6), true, 0},
    /* rows of 8 bits, which are cast on their way */
    {1, 32, 512, LLRT_E4M3, LLRT_F32, true, MXFP4(120, 127), true, 0},
    {8, 32, 512, LLRT_E5M2, LLRT_BF16, false, MXFP4(120, 127), true, 0},
    {13, 32, 256, LLRT_E4M3, LLRT_F32, false, MXFP4(0, 6), true, 0},
    {30, 32, 512, LLRT_E5M2, LLRT_F32, true, MXFP4(120, 127), true, 0},
    {60, 16, 256, LLRT_E4M3, LLRT_F32, false, MXFP4(120, 130), false, 0},
    {100, 16, 256, LLRT_E4M3, LLRT_BF16, false, MXFP4(124, 127), true, 0},
    {260, 16, 256, LLRT_E5M2, LLRT_F32, false, MXFP4(120, 127), true, 0},
    /* the same by producers, whose rings go round more than once */
    {150, 80, 1312, LLRT_E4M3, LLRT_F32, false, MXFP4(124, 127), true, 0},
    {100, 80, 2560, LLRT_E5M2, LLRT_F32, true, MXFP4(120, 127), true, 16},
    {270, 80, 608, LLRT_E4M3, LLRT_BF16, false, MXFP4(120, 130), true, 0},
    {40, 144, 1312, LLRT_E4M3, LLRT_BF16, false, MXFP4(120, 127), true, 0},
    {40, 144, 576, LLRT_E5M2, LLRT_F32, false, MXFP4(120, 127), true, 8}, /* by threads */
    {70, 144, 512, LLRT_E4M3, LLRT_F32, false, 12, 16, LLRT_I4, LLRT_F16, 32, NONE, true,
     0}, /* in shorter turns */
    {5, 32, 512, LLRT_E4M3, LLRT_F32, false, 12, 16, LLRT_I4, LLRT_F16, 128, NONE, true, 0},
    /* rows of 8 bits as they are: rings that go round more than once, scales far below 1 and above,
       other words */
    {1, 64, 1024, LLRT_E4M3, LLRT_F32, true, MXFP4(120, 127), true | BYTES, 0},
    {8, 64, 512, LLRT_E5M2, LLRT_BF16, false, MXFP4(114, 126), true | BYTES, 0},
    {13, 64, 2560, LLRT_E4M3, LLRT_F32, false, MXFP4(128, 140), true | BYTES, 0},
    {3, 80, 320, LLRT_E4M3, LLRT_F32, false, MXFP4(120, 127), BYTES, 0},
    {30, 72, 512, LLRT_E5M2, LLRT_F32, true, MXFP4(120, 127), true | BYTES, 16},
    {30, 64, 320, LLRT_E5M2, LLRT_F32, false, MXFP4(90, 100), true | BYTES, 0},
    {60, 64, 2560, LLRT_E4M3, LLRT_BF16, false, MXFP4(150, 160), true | BYTES, 0},
    {100, 64, 320, LLRT_E4M3, LLRT_BF16, false, MXFP4(124, 127), true | BYTES, 0},
    {130, 72, 1312, LLRT_E5M2, LLRT_F32, false, MXFP4(120, 127), true | BYTES, 0},
    {270, 136, 352, LLRT_E4M3, LLRT_BF16, false, MXFP4(120, 127), true | BYTES, 0},
    /* copied by threads, by none; too few columns for a group; no promise; other rows */
    {60, 64, 256, LLRT_E4M3, LLRT_F32, false, MXFP4(120, 127), true | BYTES, 8},
    {20, 64, 256, LLRT_E4M3, LLRT_F32, false, MXFP4(120, 127), true | BYTES, 1},
    {20, 32, 256, LLRT_E4M3, LLRT_F32, true, MXFP4(120, 127), true | BYTES, 0},
    {8, 64, 256, LLRT_E4M3, LLRT_F32, false, MXFP4(0, 6), true | BYTES, 0},
    {8, 64, 256, LLRT_BF16, LLRT_F32, false, MXFP4(120, 127), true | BYTES, 0},
    /* zero points */
    {1, 32, 512, LLRT_F16, LLRT_F32, true, 12, 16, LLRT_U4, LLRT_F16, 128, LLRT_U4, true, 0},
    {9, 64, 640, LLRT_BF16, LLRT_F32, false, 124, 128, LLRT_U4, LLRT_BF16, 64, LLRT_U8, true, 0},
    {20, 32, 512, LLRT_F16, LLRT_F32, true, 12, 16, LLRT_I4, LLRT_F16, 32, LLRT_I8, true, 0},
    {40, 80, 320, LLRT_BF16, LLRT_F32, false, 124, 128, LLRT_U4, LLRT_BF16, 32, LLRT_U4, false, 0},
    {100, 80, 640, LLRT_BF16, LLRT_F32, true, 124, 128, LLRT_I4, LLRT_BF16, 128, LLRT_I4, true, 0},
    {260, 16, 256, LLRT_F16, LLRT_F32, true, 12, 14, LLRT_U4, LLRT_F16, 64, LLRT_I4, true, 0},
    {70, 80, 512, LLRT_E4M3, LLRT_F32, false, 12, 14, LLRT_U4, LLRT_F16, 128, LLRT_U4, true, 0},
    {16, 32, 256, LLRT_F16, LLRT_F32, false, 12, 16, LLRT_U4, LLRT_F16, 128, LLRT_U8, true, 3},
    /* elements of 8 bits */
    {1, 32, 512, LLRT_BF16, LLRT_F32, true, 124, 127, LLRT_I8, LLRT_BF16, 128, NONE, true, 0},
    {9, 64, 320, LLRT_F16, LLRT_F32, false, 12, 15, LLRT_I8, LLRT_F16, 32, NONE, true, 0},
    {20, 32, 512, LLRT_BF16, LLRT_F32, true, 124, 127, LLRT_U8, LLRT_BF16, 64, LLRT_U8, true, 0},
    {40, 48, 256, LLRT_F16, LLRT_F32, false, 12, 15, LLRT_U8, LLRT_F16, 128, LLRT_U8, false, 0},
    {4, 32, 256, LLRT_BF16, LLRT_F32, true, MXFP8(E4M3), true, 0},
    {18, 64, 512, LLRT_F16, LLRT_F32, true, MXFP8(E4M3), true, 0},
    {60, 80, 288, LLRT_F16, LLRT_F32, false, MXFP8(E5M2), true, 0},
    {100, 80, 640, LLRT_BF16, LLRT_F32, true, MXFP8(E5M2), true, 0},
    {7, 32, 256, LLRT_BF16, LLRT_F32, true, 124, 127, LLRT_E4M3, LLRT_BF16, 128, NONE, true, 0},
    {260, 16, 256, LLRT_BF16, LLRT_F32, false, 0, 0, LLRT_I8, NONE, 1, NONE, true, 0},
    {3, 32, 256, LLRT_F16, LLRT_F32, false, 0, 0, LLRT_E4M3, NONE, 1, NONE, true, 3},
    {150, 80, 288, LLRT_F16, LLRT_F32, true, 0, 0, LLRT_E4M3, NONE, 1, NONE, true, 0},
    {2, 32, 512, LLRT_BF16, LLRT_F32, true, NVFP4, true, 0},
    {18, 64, 320, LLRT_F16, LLRT_F32, false, NVFP4, true, 0},
    {70, 80, 288, LLRT_F16, LLRT_F32, true, NVFP4, true, 0},
    {150, 80, 640, LLRT_BF16, LLRT_F32, true, NVFP4, true, 0},
    /* Blocks that share K push sums, and results lie where those did. */
    {16, 288, 2880, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127), true, 1},
};

static uint32_t draw(packed_trial *t, uint32_t n) {
  t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(t->seed >> 33) % n;
}

void *packed_zeros(int64_t bytes) {
  size_t size = ((size_t)bytes + 255) / 256 * 256 + 256;
  void *memory = aligned_alloc(256, size);
  memset(memory, 0, size);
  return memory;
}

void packed_put_nibble(uint8_t *data, int64_t at, unsigned code) {
  data[at / 2] |= (uint8_t)(code << (at % 2 * 4));
}

static void put_code(llrt_dtype type, uint8_t *data, int64_t at, unsigned code) {
  if (llrt_dtype_bits(type) == 4) packed_put_nibble(data, at, code & 15);
  else data[at] = (uint8_t)code;
}

static unsigned code_at(llrt_dtype type, const uint8_t *data, int64_t at) {
  return llrt_dtype_bits(type) == 4 ? data[at / 2] >> (at % 2 * 4) & 15u : data[at];
}

/* Any code of integers and of e2m1; of wider floats small numbers. */
static unsigned element_code(packed_trial *t) {
  const number_format *format = number_format_of(t->of->b);
  unsigned any = draw(t, 256);
  if (format->kind == NUMBER_INTEGER || format->bits == 4) return any;
  return (unsigned)number_code(format, (double)((int)(any % 15) - 7) / 4);
}

/* A power of two; the number is its exponent field. */
static uint64_t scale_code(packed_trial *t) {
  const packed_problem *p = t->of;
  uint64_t field = p->low + draw(t, (uint32_t)(p->high - p->low + 1));
  return field << number_format_of(p->scale)->mantissa;
}

static void fill(packed_trial *t) {
  const packed_problem *p = t->of;
  char *a = t->a.data;
  int bytes = llrt_dtype_bits(p->scale) / 8, width = llrt_dtype_bits(p->a) / 8;
  for (int64_t i = 0; i < p->m * (p->k + p->gap); i++) {
    uint64_t code = number_code(number_format_of(p->a), (double)((int)draw(t, 7) - 3));
    memcpy(a + i * width, &code, (size_t)width);
  }
  for (int64_t k = 0; k < p->k; k++)
    for (int64_t n = 0; n < p->n; n++) {
      int64_t x[2] = {k, n}, group[2] = {k / p->group, n};
      put_code(p->b, t->b.data, llrt_storage_offset(&t->values, &t->value_binding, x),
               element_code(t));
      if (!p->scale) continue;
      uint64_t code = k % p->group == 0 ? scale_code(t) : 0;
      char *place =
          (char *)t->scale.data + llrt_storage_offset(&t->scales, &t->scale_binding, group) * bytes;
      if (k % p->group == 0) memcpy(place, &code, (size_t)bytes);
      if (k % p->group == 0 && p->zero)
        put_code(p->zero, t->zero.data, llrt_storage_offset(&t->zeros, &t->zero_binding, group),
                 draw(t, 256));
    }
}

void packed_trial_make(packed_trial *t, const packed_problem *p) {
  const bool scaled = p->scale != NONE;
  const int64_t b_shape[] = {p->k, p->n}, s_shape[] = {(p->k + p->group - 1) / p->group, p->n};
  memset(t, 0, sizeof *t);
  t->of = p;
  t->seed = 5;
  const int bits = llrt_dtype_bits(p->b);
  cr_assert_eq(dot_packed_values(bits, p->words & BYTES, 0, &t->values), LLRT_OK);
  if (scaled) cr_assert_eq(dot_packed_scales(bits_log2(p->group), 0, &t->scales), LLRT_OK);
  cr_assert_eq(llrt_storage_strided(2, (int64_t[]){p->k + p->gap, 1}, &t->rows), LLRT_OK);
  cr_assert_eq(llrt_storage_bind(&t->values, 2, b_shape, NULL, &t->value_binding), LLRT_OK);
  if (scaled)
    cr_assert_eq(llrt_storage_bind(&t->scales, 2, s_shape, NULL, &t->scale_binding), LLRT_OK);
  t->a = (llrt_tensor){.dtype = p->a,
                       .rank = 2,
                       .shape = {p->m, p->k},
                       .storage = &t->rows,
                       .data = packed_zeros(p->m * (p->k + p->gap) * 2)};
  t->d = (llrt_tensor){
      .dtype = p->d, .rank = 2, .shape = {p->m, p->n}, .data = packed_zeros(p->m * p->n * 4)};
  t->b = (llrt_tensor){.dtype = p->b,
                       .rank = 2,
                       .shape = {p->k, p->n},
                       .storage = &t->values,
                       .data = packed_zeros(t->value_binding.span * bits / 8)};
  if (scaled)
    t->scale =
        (llrt_tensor){.dtype = p->scale,
                      .rank = 2,
                      .shape = {s_shape[0], p->n},
                      .storage = &t->scales,
                      .data = packed_zeros(t->scale_binding.span * llrt_dtype_bits(p->scale) / 8)};
  if (p->zero) {
    cr_assert_eq(dot_packed_zeros(bits_log2(p->group), 0, &t->zeros), LLRT_OK);
    cr_assert_eq(llrt_storage_bind(&t->zeros, 2, s_shape, NULL, &t->zero_binding), LLRT_OK);
    t->zero = (llrt_tensor){.dtype = p->zero,
                            .rank = 2,
                            .shape = {s_shape[0], p->n},
                            .storage = &t->zeros,
                            .data = packed_zeros(t->zero_binding.span)};
  }
  fill(t);
}

llrt_dot_scaling packed_trial_scaling(const packed_trial *t) {
  bool promised = t->of->scale == LLRT_E8M0 && t->of->low > 0 && t->of->high < 255;
  uint8_t packed[32];
  llrt_dot_scaling scaling = {0};
  if (t->of->scale)
    scaling = (llrt_dot_scaling){.scale = &t->scale,
                                 .group = {t->of->group, 1},
                                 .range_low = promised ? t->of->low : 0,
                                 .range_high = promised ? t->of->high : 0};
  if (t->of->zero) scaling.zero = &t->zero;
  if (t->of->words & true)
    dot_packed_words(t->of->b, t->of->a, t->of->words & BYTES, packed, scaling.word_bits);
  return scaling;
}

void packed_trial_permute(packed_trial *t, bool back) {
  uint8_t packed[32], formed[32];
  uint32_t *words = t->b.data;
  dot_packed_words(t->of->b, t->of->a, t->of->words & BYTES, packed, formed);
  for (int64_t i = 0;
       t->of->words & true && i < t->value_binding.span * llrt_dtype_bits(t->of->b) / 32; i++) {
    uint32_t word = 0;
    for (int b = 0; b < 32; b++) word |= (words[i] >> (back ? formed : packed)[b] & 1) << b;
    words[i] = word;
  }
}

/* The largest power of two up to 16 that divides n. */
static int64_t most_promised(int64_t n) {
  int64_t promised = 16;
  while (n % promised) promised /= 2;
  return promised;
}

void packed_trial_describe(packed_trial *t) {
  const llrt_dot_params params = {.b = packed_trial_scaling(t)};
  cr_assert_eq(described_dot_make(&t->a, &t->b, &t->d, &params, &t->call), LLRT_OK, "%s",
               llrt_last_error());
  op_description *desc = &t->call.desc;
  const int64_t extents[] = {t->of->m, t->of->n, t->of->k};
  const int64_t rows[] = {t->of->k + t->of->gap, t->of->n}; /* elements from row to row: A, D */
  for (int axis = 0; axis < 3; axis++) {
    llrt_promise *promise = &desc->promises[0].shape[axis];
    *promise = (llrt_promise){.multiple = axis ? most_promised(extents[axis]) : 0,
                              .max = axis ? INT32_MAX : 0};
    if (t->of->known) *promise = (llrt_promise){0, extents[axis], extents[axis]};
  }
  for (int i = 0; i < desc->n_tensors; i++) {
    desc->promises[i].address.multiple = 16;
    for (int axis = 0; axis < 3; axis++)
      desc->promises[i].stride[axis].multiple = i < 2 ? most_promised(rows[i]) : 16;
  }
}

static double value_at(const packed_trial *t, int64_t k, int64_t n) {
  int64_t x[2] = {k, n}, group[2] = {k / t->of->group, n};
  int64_t at = llrt_storage_offset(&t->values, &t->value_binding, x);
  unsigned code = code_at(t->of->b, t->b.data, at);
  if (!t->of->scale) return number_value(number_format_of(t->of->b), code);
  int bytes = llrt_dtype_bits(t->of->scale) / 8;
  uint64_t scale = 0;
  memcpy(&scale,
         (char *)t->scale.data + llrt_storage_offset(&t->scales, &t->scale_binding, group) * bytes,
         (size_t)bytes);
  double zero = 0;
  if (t->of->zero)
    zero = number_value(number_format_of(t->of->zero),
                        code_at(t->of->zero, t->zero.data,
                                llrt_storage_offset(&t->zeros, &t->zero_binding, group)));
  double product = (number_value(number_format_of(t->of->b), code) - zero) *
                   number_value(number_format_of(t->of->scale), scale);
  llrt_dtype rounded = llrt_dtype_bits(t->of->a) == 16 ? t->of->a
                       : t->of->scale == LLRT_E8M0     ? LLRT_BF16
                                                       : t->of->scale;
  return number_value(number_format_of(rounded), number_code(number_format_of(rounded), product));
}

/* Elements of A along K, row by row. */
static double *rows_of(const packed_trial *t) {
  const packed_problem *p = t->of;
  int width = llrt_dtype_bits(p->a) / 8;
  double *rows = malloc((size_t)(p->m * p->k) * sizeof *rows);
  for (int64_t m = 0; m < p->m; m++)
    for (int64_t k = 0; k < p->k; k++) {
      uint64_t code = 0;
      memcpy(&code, (char *)t->a.data + (m * (p->k + p->gap) + k) * width, (size_t)width);
      rows[m * p->k + k] = number_value(number_format_of(p->a), code);
    }
  return rows;
}

void packed_trial_check(const packed_trial *t, const char *where) {
  const packed_problem *p = t->of;
  double *rows = rows_of(t), *column = malloc((size_t)p->k * sizeof *column);
  int wrong = 0;
  for (int64_t n = 0; n < p->n; n++) {
    for (int64_t k = 0; k < p->k; k++) column[k] = value_at(t, k, n);
    for (int64_t m = 0; m < p->m; m++) {
      double sum = 0;
      for (int64_t k = 0; k < p->k; k++) sum += rows[m * p->k + k] * column[k];
      uint64_t got = 0, bytes = (uint64_t)llrt_dtype_bits(p->d) / 8;
      memcpy(&got, (char *)t->d.data + (uint64_t)(m * p->n + n) * bytes, bytes);
      uint64_t want = number_cast(LLRT_F32, p->d, number_code(number_format_of(LLRT_F32), sum));
      bool same = isnan(sum) ? isnan(number_value(number_format_of(p->d), got)) : got == want;
      if (!same && wrong++ == 0)
        cr_expect(false, "%s: %d x %d x %d at %d, %d: %#llx, not %#llx (%g)", where, (int)p->m,
                  (int)p->n, (int)p->k, (int)m, (int)n, (unsigned long long)got,
                  (unsigned long long)want, sum);
    }
  }
  free(column);
  free(rows);
  cr_expect_eq(wrong, 0, "%s: %d x %d x %d: %d wrong", where, (int)p->m, (int)p->n, (int)p->k,
               wrong);
}

void packed_trial_drop(packed_trial *t) {
  free(t->a.data);
  free(t->b.data);
  free(t->d.data);
  free(t->scale.data);
  free(t->zero.data);
}

void packed_trial_run_on(llrt_device *device, packed_trial *t,
                         llrt_status (*run)(packed_trial *t)) {
  llrt_tensor *tensors[] = {&t->a, &t->b, &t->d, &t->scale, &t->zero};
  const int n = t->of->zero ? 5 : t->of->scale ? 4 : 3;
  const int64_t bytes[] = {
      t->of->m * (t->of->k + t->of->gap) * 2, t->value_binding.span * llrt_dtype_bits(t->of->b) / 8,
      t->of->m * t->of->n * 4,
      t->of->scale ? t->scale_binding.span * llrt_dtype_bits(t->of->scale) / 8 : 0,
      t->zero_binding.span};
  void *host[5];
  packed_trial_permute(t, false);
  for (int i = 0; i < n; i++) {
    host[i] = tensors[i]->data;
    cr_assert_eq(llrt_memory_allocate(device, (size_t)bytes[i], &tensors[i]->data), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_eq(llrt_memory_copy(device, tensors[i]->data, host[i], (size_t)bytes[i],
                                  LLRT_COPY_TO_DEVICE, NULL),
                 LLRT_OK, "%s", llrt_last_error());
    tensors[i]->device = device;
  }
  llrt_status status = run(t);
  cr_expect_eq(status, LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(llrt_stream_synchronize(device, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(
      llrt_memory_copy(device, host[2], t->d.data, (size_t)bytes[2], LLRT_COPY_FROM_DEVICE, NULL),
      LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < n; i++) {
    llrt_memory_free(device, tensors[i]->data);
    tensors[i]->data = host[i];
  }
  packed_trial_permute(t, true);
}
