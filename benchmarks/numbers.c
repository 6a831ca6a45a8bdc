#include "numbers.h"

#include "harness.h"
#include "jit/plan/types/number.h"

#include <math.h>
#include <string.h>

/* An element as a code of its type. */
static uint64_t code_at(int bits, const void *data, int64_t i) {
  uint64_t code = 0;
  memcpy(&code, (const char *)data + i * bits / 8, (size_t)bits / 8);
  return code;
}

void numbers_fill(llrt_dtype dtype, void *data, int64_t n, uint64_t seed) {
  const number_format *format = number_format_of(dtype);
  size_t bytes = (size_t)format->bits / 8;
  uint64_t codes[256];
  for (int k = 0; k < 256; k++) codes[k] = number_code(format, (k - 128) / 128.0);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    memcpy((char *)data + (size_t)i * bytes, &codes[harness_mix(seed ^ (uint64_t)i) & 255], bytes);
}

/* f32, whose upper half is bf16: most of what is compared, so without number_value. */
static double float_of(uint32_t code) {
  float x;
  memcpy(&x, &code, sizeof x);
  return x;
}

double numbers_at(llrt_dtype dtype, const void *data, int64_t i) {
  uint64_t code = code_at(llrt_dtype_bits(dtype), data, i);
  if (dtype == LLRT_I64) return (double)(int64_t)code;
  if (dtype == LLRT_F32) return float_of((uint32_t)code);
  if (dtype == LLRT_BF16) return float_of((uint32_t)code << 16);
  return number_value(number_format_of(dtype), code);
}

double numbers_rounding(llrt_dtype dtype, double x) {
  const number_format *format = number_format_of(dtype);
  return ldexp(fabs(x), -format->mantissa - 1);
}
