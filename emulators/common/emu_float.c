/* See emu_float.h. Narrow formats round once, from double, which holds every operand exactly. */
#include "emulators/common/emu_float.h"

#include <math.h>
#include <string.h>

const emu_format emu_f16 = {5, 10, true, false};
const emu_format emu_bf16 = {8, 7, true, false};
const emu_format emu_tf32 = {8, 10, true, false};
const emu_format emu_f32 = {8, 23, true, false};
const emu_format emu_e5m2 = {5, 2, true, false};
const emu_format emu_e4m3 = {4, 3, false, false};
const emu_format emu_e5m2fnuz = {5, 2, false, true};
const emu_format emu_e4m3fnuz = {4, 3, false, true};

#define DOUBLE_BIAS 1023
#define DOUBLE_MANTISSA 52

static int bias_of(const emu_format *format) {
  return (1 << (format->exponent - 1)) - !format->unsigned_zero;
}

static double unpack_f32(uint64_t bits) {
  uint32_t word = (uint32_t)bits;
  float x;
  memcpy(&x, &word, sizeof x);
  return isnan(x) ? (double)NAN : (double)x;
}

double emu_unpack(const emu_format *format, uint64_t bits) {
  if (format == &emu_f32) return unpack_f32(bits);
  int m = format->mantissa, bias = bias_of(format);
  int exponent = (int)(bits >> m) & ((1 << format->exponent) - 1);
  uint64_t fraction = bits & (((uint64_t)1 << m) - 1),
           negative = bits >> (m + format->exponent) & 1;
  double sign = negative ? -1.0 : 1.0, x;
  bool top = exponent == (1 << format->exponent) - 1 && !format->unsigned_zero;
  if (format->unsigned_zero && negative && exponent == 0 && !fraction) return (double)NAN;
  if (format->infinity && top) return fraction ? (double)NAN : sign * (double)INFINITY;
  if (!format->infinity && top && fraction == ((uint64_t)1 << m) - 1) return (double)NAN;
  if (exponent == 0) return fraction ? sign * ldexp((double)fraction, 1 - bias - m) : sign * 0;
  uint64_t wide = negative << 63 | (uint64_t)(exponent - bias + DOUBLE_BIAS) << DOUBLE_MANTISSA |
                  fraction << (DOUBLE_MANTISSA - m);
  memcpy(&x, &wide, sizeof x);
  return x;
}

/* x / 2^scale as an integer, rounded. */
static double round_scaled(double x, int scale, emu_rounding rounding) {
  double scaled = ldexp(x, -scale);
  switch (rounding) {
  case EMU_NEAREST_DEFAULT:
  case EMU_NEAREST: return nearbyint(scaled);
  case EMU_AWAY: return floor(scaled + 0.5); /* x >= 0 */
  default: return trunc(scaled);
  }
}

/* To the nearest f32, as the processor rounds. */
static uint64_t pack_f32(double x) {
  float narrow = (float)x;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  return bits;
}

uint64_t emu_pack(const emu_format *format, double x, emu_rounding rounding, bool saturate) {
  if (format == &emu_f32 && rounding <= EMU_NEAREST && !saturate && !isnan(x)) return pack_f32(x);
  int m = format->mantissa, bias = bias_of(format), exponent;
  uint64_t top = ((uint64_t)1 << format->exponent) - 1;
  uint64_t sign = (uint64_t)(signbit(x) != 0) << (m + format->exponent);
  uint64_t nan = format->unsigned_zero       ? (uint64_t)1 << (m + format->exponent)
                 : format->infinity && m > 2 ? top << m | (((uint64_t)1 << m) - 1)
                                             : ((uint64_t)1 << (m + format->exponent)) - 1;
  uint64_t limit = format->infinity ? (top << m) - 1 : nan - 1; /* the largest finite number */
  if (isnan(x)) return nan;
  x = fabs(x);
  if (x == 0) return format->unsigned_zero ? 0 : sign;
  if (!isinf(x)) {
    frexp(x, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    uint64_t integer = exponent > bias + 1 ? 0 : (uint64_t)round_scaled(x, exponent - m, rounding);
    uint64_t bits = integer + ((uint64_t)(exponent + bias - 1) << m);
    if (bits == 0 && format->unsigned_zero) return 0;
    if (exponent <= bias + 1 && bits <= limit) return sign | bits;
    if (rounding == EMU_TO_ZERO) saturate = true;
  }
  if (saturate) return sign | limit;
  return format->infinity ? sign | top << m : nan;
}
