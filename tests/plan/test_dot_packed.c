/* Dots with packed weights: plans executed by the interpreter, and on an emulated device, against sums by
 * coordinates. All numbers are such that sums are exact in any order. */
#include "base/bits.h"
#include "jit/plan/dot_packed.h"
#include "jit/plan/number.h"
#include "jit/plan/target.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 2

typedef struct problem {
  int64_t m, n, k;
  llrt_dtype a, d;
  bool known; /* extents are promised */
  uint8_t low, high; /* of scales, and promised where low > 0 */
  llrt_dtype b, scale;
  int group;
  llrt_dtype zero;
  uint8_t words; /* true: of permuted bits; BYTES, too: in the order of instructions of 8 bits */
  int gap;    /* elements of A between rows */
} problem;

#define MXFP4(low, high) low, high, LLRT_E2M1, LLRT_E8M0, 32, NONE
#define MXFP8(type) 124, 127, LLRT_##type, LLRT_E8M0, 32, NONE
#define NVFP4 4, 8, LLRT_E2M1, LLRT_E4M3, 16, NONE
#define NONE LLRT_DTYPE_NONE

/* More than kernels for few columns take, and more than what a device takes at once. */
static const int64_t many_columns[] = {8192, 16384};
#define SHORT 608         /* along K: what is interpreted by those for many columns, too */

static const problem problems[] = {
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
    {70, 144, 512, LLRT_E4M3, LLRT_F32, false, 12, 16, LLRT_I4, LLRT_F16, 32, NONE, true, 0}, /* in shorter turns */
    {5, 32, 512, LLRT_E4M3, LLRT_F32, false, 12, 16, LLRT_I4, LLRT_F16, 128, NONE, true, 0},
    /* rows of 8 bits as they are: rings that go round more than once, scales far below 1 and above, other words */
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
};

typedef struct trial {
  const problem *of;
  llrt_storage values, scales, zeros, rows;
  llrt_storage_binding value_binding, scale_binding, zero_binding;
  llrt_tensor a, b, d, scale, zero;
  llrt_dot_call call;
  uint64_t seed;
} trial;

static plan made;

static uint32_t draw(trial *t, uint32_t n) {
  t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(t->seed >> 33) % n;
}

static void *zeros(int64_t bytes) {
  size_t size = ((size_t)bytes + 255) / 256 * 256 + 256;
  void *memory = aligned_alloc(256, size);
  memset(memory, 0, size);
  return memory;
}

static void put_nibble(uint8_t *data, int64_t at, unsigned code) { data[at / 2] |= (uint8_t)(code << (at % 2 * 4)); }

static void put_code(llrt_dtype type, uint8_t *data, int64_t at, unsigned code) {
  if (llrt_dtype_bits(type) == 4) put_nibble(data, at, code & 15);
  else data[at] = (uint8_t)code;
}

static unsigned code_at(llrt_dtype type, const uint8_t *data, int64_t at) {
  return llrt_dtype_bits(type) == 4 ? data[at / 2] >> (at % 2 * 4) & 15u : data[at];
}

/* Any code of integers and of e2m1; of wider floats small numbers. */
static unsigned element_code(trial *t) {
  const number_format *format = number_format_of(t->of->b);
  unsigned any = draw(t, 256);
  if (format->kind == NUMBER_INTEGER || format->bits == 4) return any;
  return (unsigned)number_code(format, (double)((int)(any % 15) - 7) / 4);
}

/* A power of two; the number is its exponent field. */
static uint64_t scale_code(trial *t) {
  const problem *p = t->of;
  uint64_t field = p->low + draw(t, (uint32_t)(p->high - p->low + 1));
  return field << number_format_of(p->scale)->mantissa;
}

static void fill(trial *t) {
  const problem *p = t->of;
  char *a = t->a.data;
  int bytes = llrt_dtype_bits(p->scale) / 8, width = llrt_dtype_bits(p->a) / 8;
  for (int64_t i = 0; i < p->m * (p->k + p->gap); i++)
  {
    uint64_t code = number_code(number_format_of(p->a), (double)((int)draw(t, 7) - 3));
    memcpy(a + i * width, &code, (size_t)width);
  }
  for (int64_t k = 0; k < p->k; k++)
    for (int64_t n = 0; n < p->n; n++) {
      int64_t x[2] = {k, n}, group[2] = {k / p->group, n};
      put_code(p->b, t->b.data, llrt_storage_offset(&t->values, &t->value_binding, x), element_code(t));
      if (!p->scale) continue;
      uint64_t code = k % p->group == 0 ? scale_code(t) : 0;
      char *place = (char *)t->scale.data + llrt_storage_offset(&t->scales, &t->scale_binding, group) * bytes;
      if (k % p->group == 0) memcpy(place, &code, (size_t)bytes);
      if (k % p->group == 0 && p->zero) put_code(p->zero, t->zero.data, llrt_storage_offset(&t->zeros, &t->zero_binding, group), draw(t, 256));
    }
}

static void make(trial *t, const problem *p) {
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
  if (scaled) cr_assert_eq(llrt_storage_bind(&t->scales, 2, s_shape, NULL, &t->scale_binding), LLRT_OK);
  t->a = (llrt_tensor){.dtype = p->a, .rank = 2, .shape = {p->m, p->k}, .storage = &t->rows,
                       .data = zeros(p->m * (p->k + p->gap) * 2)};
  t->d = (llrt_tensor){.dtype = p->d, .rank = 2, .shape = {p->m, p->n}, .data = zeros(p->m * p->n * 4)};
  t->b = (llrt_tensor){.dtype = p->b, .rank = 2, .shape = {p->k, p->n}, .storage = &t->values,
                       .data = zeros(t->value_binding.span * bits / 8)};
  if (scaled)
    t->scale = (llrt_tensor){.dtype = p->scale, .rank = 2, .shape = {s_shape[0], p->n}, .storage = &t->scales,
                             .data = zeros(t->scale_binding.span * llrt_dtype_bits(p->scale) / 8)};
  if (p->zero) {
    cr_assert_eq(dot_packed_zeros(bits_log2(p->group), 0, &t->zeros), LLRT_OK);
    cr_assert_eq(llrt_storage_bind(&t->zeros, 2, s_shape, NULL, &t->zero_binding), LLRT_OK);
    t->zero = (llrt_tensor){.dtype = p->zero, .rank = 2, .shape = {s_shape[0], p->n}, .storage = &t->zeros,
                            .data = zeros(t->zero_binding.span)};
  }
  fill(t);
}

static llrt_dot_scaling scaling_of(const trial *t) {
  bool promised = t->of->scale == LLRT_E8M0 && t->of->low > 0 && t->of->high < 255;
  uint8_t packed[32];
  llrt_dot_scaling scaling = {0};
  if (t->of->scale)
    scaling = (llrt_dot_scaling){.scale = &t->scale, .group = {t->of->group, 1}, .range_low = promised ? t->of->low : 0,
                                 .range_high = promised ? t->of->high : 0};
  if (t->of->zero) scaling.zero = &t->zero;
  if (t->of->words & true) dot_packed_words(t->of->b, t->of->a, t->of->words & BYTES, packed, scaling.word_bits);
  return scaling;
}

/* The words of W as they are packed, and back. */
static void permute_words(trial *t, bool back) {
  uint8_t packed[32], formed[32];
  uint32_t *words = t->b.data;
  dot_packed_words(t->of->b, t->of->a, t->of->words & BYTES, packed, formed);
  for (int64_t i = 0; t->of->words & true && i < t->value_binding.span * llrt_dtype_bits(t->of->b) / 32; i++) {
    uint32_t word = 0;
    for (int b = 0; b < 32; b++) word |= (words[i] >> (back ? formed : packed)[b] & 1) << b;
    words[i] = word;
  }
}

static void describe(trial *t) {
  const llrt_dot_params params = {.b = scaling_of(t)};
  cr_assert_eq(llrt_dot_describe(&t->a, &t->b, &t->d, &params, &t->call), LLRT_OK, "%s", llrt_last_error());
  llrt_op_desc *desc = &t->call.desc;
  const int64_t extents[] = {t->of->m, t->of->n, t->of->k};
  for (int axis = 0; axis < 3; axis++) {
    llrt_promise *promise = &desc->promises[0].shape[axis];
    *promise = (llrt_promise){.multiple = axis ? 16 : 0, .max = axis ? INT32_MAX : 0};
    if (t->of->known) *promise = (llrt_promise){0, extents[axis], extents[axis]};
  }
  for (int i = 0; i < desc->n_tensors; i++) {
    desc->promises[i].address.multiple = 16;
    for (int axis = 0; axis < 3; axis++) desc->promises[i].stride[axis].multiple = 16;
  }
}

static double value_at(const trial *t, int64_t k, int64_t n) {
  int64_t x[2] = {k, n}, group[2] = {k / t->of->group, n};
  int64_t at = llrt_storage_offset(&t->values, &t->value_binding, x);
  unsigned code = code_at(t->of->b, t->b.data, at);
  if (!t->of->scale) return number_value(number_format_of(t->of->b), code);
  int bytes = llrt_dtype_bits(t->of->scale) / 8;
  uint64_t scale = 0;
  memcpy(&scale, (char *)t->scale.data + llrt_storage_offset(&t->scales, &t->scale_binding, group) * bytes, (size_t)bytes);
  double zero = 0;
  if (t->of->zero)
    zero = number_value(number_format_of(t->of->zero),
                        code_at(t->of->zero, t->zero.data, llrt_storage_offset(&t->zeros, &t->zero_binding, group)));
  double product = (number_value(number_format_of(t->of->b), code) - zero) * number_value(number_format_of(t->of->scale), scale);
  llrt_dtype rounded = llrt_dtype_bits(t->of->a) == 16 ? t->of->a : t->of->scale == LLRT_E8M0 ? LLRT_BF16 : t->of->scale;
  return number_value(number_format_of(rounded), number_code(number_format_of(rounded), product));
}

/* Elements of A along K, row by row. */
static double *rows_of(const trial *t) {
  const problem *p = t->of;
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

static void check(const trial *t, const char *where) {
  const problem *p = t->of;
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
        cr_expect(false, "%s: %d x %d x %d at %d, %d: %#llx, not %#llx (%g)", where, (int)p->m, (int)p->n, (int)p->k,
                  (int)m, (int)n, (unsigned long long)got, (unsigned long long)want, sum);
    }
  }
  free(column);
  free(rows);
  cr_expect_eq(wrong, 0, "%s: %d x %d x %d: %d wrong", where, (int)p->m, (int)p->n, (int)p->k, wrong);
}

static void drop(trial *t) {
  free(t->a.data);
  free(t->b.data);
  free(t->d.data);
  free(t->scale.data);
  free(t->zero.data);
}

/* The first stage for a problem's rows where there are so many columns. */
static const plan_kernel *variant_for(const problem *of, int64_t columns) {
  for (int i = 0; i < made.n_variants; i += 1 + made.variant[i].launch.later)
    if (plan_range_contains(&made.variant[i].launch.range, 3, (int64_t[]){of->m, columns, of->k})) return &made.variant[i];
  return NULL;
}

static llrt_status interpret(const trial *t, const plan_kernel *kernel) {
  const llrt_op_desc *desc = &t->call.desc;
  const int64_t shape[3] = {t->of->m, t->of->n, t->of->k};
  llrt_storage_binding bindings[LLRT_MAX_TENSORS];
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  for (int n = 0; n < desc->n_tensors; n++) {
    tensors[n] = desc->tensors[n];
    cr_assert_eq(llrt_storage_bind(tensors[n].storage, 3, tensors[n].shape, tensors[n].strides, &bindings[n]), LLRT_OK,
                 "%s", llrt_last_error());
    memcpy(tensors[n].shape, shape, sizeof shape);
  }
  return plan_interpret(kernel, tensors, bindings, desc->n_tensors);
}

Test(dot_packed, plans) {
  static trial t;
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    plan_target target;
    make(&t, &problems[i]);
    describe(&t);
    llrt_op_desc *desc = &t.call.desc;
    cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK, "%s", llrt_last_error());
    llrt_status status = plan_make(desc, &target, NULL, &made);
    cr_assert_eq(status, LLRT_OK, "%s", llrt_last_error());
    permute_words(&t, false);
    const plan_kernel *kernel[3] = {variant_for(&problems[i], problems[i].n)};
    int n = 1;
    for (int j = 0; j < 2 && problems[i].k <= SHORT; j++) {
      const plan_kernel *other = variant_for(&problems[i], many_columns[j]);
      if (other && other != kernel[n - 1]) kernel[n++] = other;
    }
    for (int k = 0; k < n; k++) {
      memset(t.d.data, 0xff, (size_t)(problems[i].m * problems[i].n * llrt_dtype_bits(problems[i].d) / 8));
      status = interpret(&t, kernel[k]);
      cr_assert_eq(status, LLRT_OK, "%d: %s", (int)i, llrt_last_error());
      permute_words(&t, true);
      check(&t, "interpreter");
      permute_words(&t, false);
    }
    permute_words(&t, true);
    drop(&t);
  }
}

/* Slots of products under way are not free: the interpreter says so. */
Test(dot_packed, planted) {
  static trial t;
  static const problem of = {260, 144, 512, LLRT_BF16, LLRT_F32, true, MXFP4(124, 127), true, 0};
  plan_target target;
  make(&t, &of);
  describe(&t);
  llrt_op_desc *desc = &t.call.desc;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
  plan_kernel *kernel = &made.variant[made.n_variants - 1];
  int at = 0, released = 0;
  for (; at < kernel->n_steps; at++) {
    if (kernel->step[at].kind == PLAN_RELEASE) released += kernel->step[at].turns--;
  }
  cr_assert_eq(released, 1, "no producers");
  cr_expect_eq(kernel->launch.n_boxes, 1);
  cr_expect_eq(interpret(&t, kernel), LLRT_INTERNAL);
  cr_expect(strstr(llrt_last_error(), "is free while products read it"), "%s", llrt_last_error());
  drop(&t);
}

/* What only scales that make e5m2 of e2m1 may do, and only sums in registers beside others. */
Test(dot_packed, bytes_verified) {
  static trial t;
  static const problem rows[] = {{60, 64, 256, LLRT_BF16, LLRT_F32, true, MXFP4(124, 127), true, 0},
                                 {60, 64, 256, LLRT_E4M3, LLRT_F32, true, MXFP4(124, 127), true | BYTES, 0}};
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK, "%s", llrt_last_error());
  for (int bytes = 0; bytes < 2; bytes++) {
    make(&t, &rows[bytes]);
    describe(&t);
    cr_assert_eq(plan_make(&t.call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    plan_kernel *kernel = (plan_kernel *)variant_for(&rows[bytes], rows[bytes].n);
    int map = 0, product = 0;
    while (kernel->map[map].kind != PLAN_MAP_SCALE) map++;
    while (kernel->step[product].kind != PLAN_DOT) product++;
    cr_expect_eq(kernel->map[map].to, bytes ? LLRT_E5M2 : LLRT_BF16);
    cr_expect_eq(kernel->step[product].beside, bytes);
    kernel->map[map].shift = 3;
    cr_expect_eq(plan_verify(kernel), bytes ? LLRT_OK : LLRT_INTERNAL, "%s", llrt_last_error());
    kernel->map[map].shift = 0;
    kernel->step[product].parts = kernel->step[product].beside = true;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL);
    drop(&t);
  }
}

/* Boxes are what products read, and come first; what threads copy beside them is for threads alone. */
Test(dot_packed, boxes) {
  static trial t;
  static const problem rows[] = {{260, 144, 512, LLRT_BF16, LLRT_F32, true, MXFP4(124, 127), true, 0},
                                 {100, 144, 512, LLRT_F16, LLRT_F32, false, 12, 16, LLRT_I4, LLRT_F16, 128, NONE, true, 8},
                                 {260, 144, 512, LLRT_E4M3, LLRT_F32, true, MXFP4(124, 127), true, 0},
                                 {260, 144, 512, LLRT_BF16, LLRT_F32, true, MXFP4(124, 127), true, 4}};
  static const int n_boxes[] = {1, 1, 1, 0};
  static const char *const without[] = {"beside boxes", "beside boxes", "no ring of producers"};
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK, "%s", llrt_last_error());
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    make(&t, &rows[i]);
    describe(&t);
    for (int s = 0; s < t.call.desc.n_tensors && rows[i].gap % 8; s++)
      t.call.desc.promises[s].stride[1].multiple = t.call.desc.promises[s].stride[0].multiple = 4;
    cr_assert_eq(plan_make(&t.call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    plan_kernel *kernel = (plan_kernel *)variant_for(&rows[i], rows[i].n);
    cr_assert(kernel);
    kernel += kernel->launch.later;
    cr_expect_eq(kernel->launch.n_boxes, n_boxes[i], "%zu: %d boxes", i, kernel->launch.n_boxes);
    drop(&t);
    if (kernel->launch.n_boxes == 0) continue;
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "%zu: %s", i, llrt_last_error());
    int at = 0;
    while (kernel->step[at].box == 0) at++;
    kernel->step[at].box = 0;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "%zu", i);
    cr_expect(strstr(llrt_last_error(), without[i]), "%zu: %s", i, llrt_last_error());
  }
}

/* The same by llrt_dot_into on an emulated device, whose memory holds copies of the tensors. */
static void run_on(llrt_device *device, trial *t) {
  llrt_tensor *tensors[] = {&t->a, &t->b, &t->d, &t->scale, &t->zero};
  const int n = t->of->zero ? 5 : t->of->scale ? 4 : 3;
  const int64_t bytes[] = {t->of->m * (t->of->k + t->of->gap) * 2, t->value_binding.span * llrt_dtype_bits(t->of->b) / 8, t->of->m * t->of->n * 4,
                           t->of->scale ? t->scale_binding.span * llrt_dtype_bits(t->of->scale) / 8 : 0, t->zero_binding.span};
  const llrt_dot_params params = {.b = scaling_of(t)};
  void *host[5];
  permute_words(t, false);
  for (int i = 0; i < n; i++) {
    host[i] = tensors[i]->data;
    cr_assert_eq(llrt_memory_allocate(device, (size_t)bytes[i], &tensors[i]->data), LLRT_OK, "%s", llrt_last_error());
    cr_assert_eq(llrt_memory_copy(device, tensors[i]->data, host[i], (size_t)bytes[i], LLRT_COPY_TO_DEVICE, NULL),
                 LLRT_OK, "%s", llrt_last_error());
    tensors[i]->device = device;
  }
  llrt_status status = llrt_dot_into(&t->a, &t->b, &t->d, &params, NULL);
  cr_expect_eq(status, LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(llrt_stream_synchronize(device, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(llrt_memory_copy(device, host[2], t->d.data, (size_t)bytes[2], LLRT_COPY_FROM_DEVICE, NULL), LLRT_OK,
               "%s", llrt_last_error());
  for (int i = 0; i < n; i++) {
    llrt_memory_free(device, tensors[i]->data);
    tensors[i]->data = host[i];
  }
  permute_words(t, true);
}

Test(dot_packed, emulated) {
  static trial t;
  static const char *const names[] = {"cuda-emu:sm_90a", "cuda-emu:sm_80"};
  llrt_context *context;
  const llrt_context_params with = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  cr_assert_eq(llrt_context_create(&with, &context), LLRT_OK);
  for (int n = 0; n < 2; n++) {
    llrt_device *device;
    cr_assert_eq(llrt_device_open(context, names[n], NULL, &device), LLRT_OK, "%s", llrt_last_error());
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
      make(&t, &problems[i]);
      run_on(device, &t);
      check(&t, names[n]);
      drop(&t);
    }
    llrt_device_close(&device);
  }
  llrt_context_destroy(&context);
}

/* Printed and parsed a packing stays what it is, and a convert with its map packs. */
static void check_packing(const problem *of) {
  static trial t;
  const llrt_dot_pack_params what = {.dtype = LLRT_E2M1, .scale = LLRT_E8M0, .group = {32}, .other = of->a,
                                     .range_low = of->low, .range_high = of->high};
  llrt_dot_packing packing;
  char text[2048];
  cr_assert_eq(llrt_dot_pack(&what, "sm_90a", LLRT_DOT_B, &packing), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 2; i++) {
    llrt_storage parsed;
    size_t length;
    cr_assert_eq(llrt_storage_print(&packing.storages[i], text, sizeof text, &length), LLRT_OK);
    cr_assert_eq(llrt_storage_parse(text, 2, NULL, &parsed), LLRT_OK, "%s: %s", text, llrt_last_error());
    cr_expect(llrt_storage_equal(&parsed, &packing.storages[i]), "%s", text);
  }
  make(&t, of);
  uint8_t *rows = zeros(of->k * of->n / 2), *packed = zeros(t.value_binding.span / 2);
  for (int64_t k = 0; k < of->k; k++)
    for (int64_t n = 0; n < of->n; n++) {
      int64_t at = llrt_storage_offset(&t.values, &t.value_binding, (int64_t[]){k, n});
      put_nibble(rows, k * of->n + n, ((uint8_t *)t.b.data)[at / 2] >> (at % 2 * 4) & 15);
    }
  permute_words(&t, false);
  llrt_context *context;
  llrt_device *device;
  const llrt_context_params with = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  cr_assert_eq(llrt_context_create(&with, &context), LLRT_OK);
  cr_assert_eq(llrt_device_open(context, "host", NULL, &device), LLRT_OK);
  llrt_tensor from = t.b, to = t.b;
  from.storage = NULL, from.data = rows, to.data = packed, from.device = to.device = device;
  to.storage = &packing.storages[0];
  const llrt_convert_params params = {.n_maps = packing.n_maps, .maps = {packing.map}};
  cr_assert_eq(llrt_convert_into(&from, &to, &params, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect(memcmp(packed, t.b.data, (size_t)t.value_binding.span / 2) == 0);
  free(rows);
  free(packed);
  drop(&t);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
}

/* What llrt_dot_pack names: for 8 bits only where the promise is of few enough powers of two, and rows are such. */
Test(dot_packed, packing) {
  static const problem rows[] = {{4, 64, 512, LLRT_BF16, LLRT_F32, false, MXFP4(120, 127), true, 0},
                                 {4, 64, 512, LLRT_E4M3, LLRT_F32, false, MXFP4(0, 0), true, 0},
                                 {4, 64, 512, LLRT_E5M2, LLRT_F32, false, MXFP4(100, 127), true, 0},
                                 {4, 64, 512, LLRT_E4M3, LLRT_F32, false, MXFP4(101, 127), true | BYTES, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_packing(&rows[i]);
}

#define WHAT(dtype_, scale_, k, n, other_, ...) \
  {.dtype = LLRT_##dtype_, .scale = LLRT_##scale_, .group = {k, n}, .other = LLRT_##other_, __VA_ARGS__}

Test(dot_packed, refused) {
  static const struct {
    llrt_dot_pack_params what;
    const char *target, *words;
    llrt_dot_role operand;
  } rows[] = {
      {WHAT(E4M3FNUZ, E8M0, 32, 1, F16), "sm_90a", "elements of type e4m3fnuz", LLRT_DOT_B},
      {WHAT(E2M1, E5M2, 32, 1, F16), "sm_90a", "scales of type e5m2", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 24, 1, F16), "sm_90a", "groups of 24 x 1", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 8, 1, F16), "sm_90a", "groups of 8 along K", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 2, F16), "sm_90a", "groups of 32 x 2", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16), "gfx942", "gfx942 has no kernels", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16), "sm_90a", "only operand B", LLRT_DOT_A},
      {WHAT(E2M1, E8M0, 32, 1, F16), "vax", "vax", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16, .zero = LLRT_U4), "sm_90a", "zero points of type u4", LLRT_DOT_B},
      {WHAT(U4, F16, 32, 1, F16, .zero = LLRT_F16), "sm_90a", "zero points of type f16", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16, .n_batch = LLRT_MAX_RANK), "sm_90a", "batch axes", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, E8M0), "sm_90a", "operand of type e8m0", LLRT_DOT_B},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    llrt_dot_packing packing;
    cr_expect_neq(llrt_dot_pack(&rows[i].what, rows[i].target, rows[i].operand, &packing), LLRT_OK, "row %d", (int)i);
    cr_expect(strstr(llrt_last_error(), rows[i].words), "row %d: %s", (int)i, llrt_last_error());
  }
}
