/* Number formats by their definition, for tests: a code's value by ldexp, a value's code by
 * searching all codes for the nearest. Slow, and made without looking at how kernels do it. */
#ifndef LLRT_TESTS_NUMBER_REFERENCE_H
#define LLRT_TESTS_NUMBER_REFERENCE_H

#include <llrt/tensor.h>

#include <math.h>
#include <string.h>

typedef struct reference_format {
  llrt_dtype dtype;
  int exponent, mantissa, bias; /* floats; exponent 0: an integer */
  uint64_t infinity, nan;       /* codes; 0: none */
  uint64_t largest;             /* code of the largest finite number */
  bool is_signed;
} reference_format;

static const reference_format reference_formats[] = {
    {LLRT_F32, 8, 23, 127, 0x7F800000, 0x7FFFFFFF, 0x7F7FFFFF, true},
    {LLRT_F16, 5, 10, 15, 0x7C00, 0x7FFF, 0x7BFF, true},
    {LLRT_BF16, 8, 7, 127, 0x7F80, 0x7FFF, 0x7F7F, true},
    {LLRT_E5M2, 5, 2, 15, 0x7C, 0x7F, 0x7B, true},
    {LLRT_E4M3, 4, 3, 7, 0, 0x7F, 0x7E, true},
    {LLRT_E5M2FNUZ, 5, 2, 16, 0, 0x80, 0x7F, true},
    {LLRT_E4M3FNUZ, 4, 3, 8, 0, 0x80, 0x7F, true},
    {LLRT_E2M1, 2, 1, 1, 0, 0, 0x7, true},
    {LLRT_E8M0, 8, 0, 127, 0, 0xFF, 0xFE, false},
    {LLRT_I32, 0, 0, 0, 0, 0, 0x7FFFFFFF, true},
    {LLRT_U32, 0, 0, 0, 0, 0, 0xFFFFFFFF, false},
    {LLRT_I16, 0, 0, 0, 0, 0, 0x7FFF, true},
    {LLRT_U16, 0, 0, 0, 0, 0, 0xFFFF, false},
    {LLRT_I8, 0, 0, 0, 0, 0, 0x7F, true},
    {LLRT_U8, 0, 0, 0, 0, 0, 0xFF, false},
    {LLRT_I4, 0, 0, 0, 0, 0, 0x7, true},
    {LLRT_U4, 0, 0, 0, 0, 0, 0xF, false},
};

static inline const reference_format *reference_format_of(llrt_dtype dtype) {
  for (size_t i = 0; i < sizeof reference_formats / sizeof *reference_formats; i++)
    if (reference_formats[i].dtype == dtype) return &reference_formats[i];
  return NULL;
}

/* The value of a code; NaN where it is one. */
static inline double reference_decode(llrt_dtype dtype, uint64_t code) {
  const reference_format *f = reference_format_of(dtype);
  int bits = llrt_dtype_bits(dtype), m = f ? f->mantissa : 0;
  uint64_t half = 1ull << (bits - 1);
  if (dtype == LLRT_F64) {
    double x;
    memcpy(&x, &code, sizeof x);
    return x;
  }
  if (dtype == LLRT_E8M0) return code == 0xFF ? (double)NAN : ldexp(1, (int)code - 127);
  if (f->exponent == 0)
    return f->is_signed && code >= half ? (double)code - 2.0 * (double)half : (double)code;
  double sign = code & half ? -1 : 1;
  uint64_t magnitude = code & (half - 1);
  if (f->nan == half) {
    if (code == half) return (double)NAN;
  } else {
    if (f->infinity && magnitude == f->infinity) return sign * (double)INFINITY;
    if (magnitude > f->largest) return (double)NAN;
  }
  int exponent = (int)(magnitude >> m);
  uint64_t fraction = magnitude & ((1ull << m) - 1);
  if (exponent == 0) return sign * ldexp((double)fraction, 1 - f->bias - m);
  return sign * ldexp((double)(fraction | 1ull << m), exponent - f->bias - m);
}

/* The code of the nearest value, ties to the even code; llrt/map.h says what overflow and NaN give.
 */
static inline uint64_t reference_encode(llrt_dtype dtype, double x) {
  const reference_format *f = reference_format_of(dtype);
  uint64_t half = 1ull << (llrt_dtype_bits(dtype) - 1), low = 0, high;
  if (dtype == LLRT_F64) {
    uint64_t code;
    if (isnan(x)) return INT64_MAX;
    memcpy(&code, &x, sizeof code);
    return code;
  }
  if (isnan(x)) return f->nan ? f->nan : f->exponent ? f->largest : 0;
  if (f->exponent == 0) {
    double most = (double)f->largest, least = f->is_signed ? -(double)half : 0;
    double near = nearbyint(x);
    near = near > most ? most : near < least ? least : near;
    return (uint64_t)(int64_t)near & (2 * half - 1);
  }
  bool negative = signbit(x);
  x = fabs(x);
  high = f->largest;
  double top = reference_decode(dtype, high), step = top - reference_decode(dtype, high - 1);
  bool overflows = f->largest & 1 ? x >= top + step / 2 : x > top + step / 2;
  uint64_t code;
  if (overflows || x >= top) {
    bool infinite = overflows && f->infinity && llrt_dtype_bits(dtype) > 8;
    code = infinite ? f->infinity : f->largest;
  } else {
    while (high - low > 1) {
      uint64_t middle = (low + high) / 2;
      if (reference_decode(dtype, middle) <= x) low = middle;
      else high = middle;
    }
    double below = x - reference_decode(dtype, low), above = reference_decode(dtype, high) - x;
    code = below < above || (below == above && low % 2 == 0) ? low : high;
  }
  if (f->nan == half && code == 0) return 0;
  return negative ? code | half : code;
}

/* What a cast gives; scale 1 is a plain cast. The product is rounded to f32 (f64 where either side
 * is). */
static inline uint64_t reference_cast(llrt_dtype from, llrt_dtype to, uint64_t code, double scale,
                                      bool scaled) {
  double x = reference_decode(from, code);
  if (scaled) {
    x *= scale;
    if (from != LLRT_F64 && to != LLRT_F64) x = (double)(float)x;
  }
  return reference_encode(to, x);
}

/* The code of element `index` of an array; of 4 bits, the even ones are the low halves of bytes. */
static inline uint64_t reference_read(llrt_dtype dtype, const void *data, int64_t index) {
  int bits = llrt_dtype_bits(dtype);
  const unsigned char *byte = (const unsigned char *)data + index * bits / 8;
  uint64_t code = 0;
  if (bits < 8) return *byte >> (index & 1) * 4 & 15;
  memcpy(&code, byte, (size_t)bits / 8);
  return code;
}

/* perm as llrt_map has it. */
static inline uint32_t reference_permute(const uint8_t perm[32], uint32_t word) {
  uint32_t out = 0;
  for (int i = 0; i < 32; i++) out |= (word >> perm[i] & 1) << i;
  return out;
}

/* The order in which Hopper kernels want eight 4-bit floats in a word: bit 3 of the first goes to
 * bit 15, and its others to bits 6 to 8 (no F2-linear map of bit numbers). */
static inline void reference_hopper_fp4(uint8_t perm[32]) {
  static const uint8_t place[4][4] = {{6, 7, 8, 15}, {3, 4, 5, 12}, {0, 1, 2, 9}, {13, 10, 11, 14}};
  for (int byte = 0; byte < 4; byte++)
    for (int nibble = 0; nibble < 2; nibble++)
      for (int bit = 0; bit < 4; bit++)
        perm[place[byte][bit] + 16 * nibble] = (uint8_t)(8 * byte + 4 * nibble + bit);
}

#endif
