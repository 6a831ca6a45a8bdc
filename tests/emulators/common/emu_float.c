/* See emu_float.h. Narrow formats round once, from double, which holds every operand exactly. */
#include "tests/emulators/common/emu_float.h"

#include <math.h>
#include <string.h>

static const emu_format formats[] = {
    {"f16", 5, 10, true, false},      {"bf16", 8, 7, true, false},
    {"tf32", 8, 10, true, false},     {"f32", 8, 23, true, false},
    {"e5m2fnuz", 5, 2, false, true},  {"e4m3fnuz", 4, 3, false, true},
    {"e5m2", 5, 2, true, false},      {"e4m3", 4, 3, false, false},
};

const emu_format *emu_format_named(const char *name) {
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    if (strncmp(formats[i].name, name, strlen(formats[i].name)) == 0) return &formats[i];
  }
  return NULL;
}

static int bias_of(const emu_format *format) {
  return (1 << (format->exponent - 1)) - !format->unsigned_zero;
}

double emu_unpack(const emu_format *format, uint64_t bits) {
  int m = format->mantissa, bias = bias_of(format);
  int exponent = (int)(bits >> m) & ((1 << format->exponent) - 1);
  uint64_t fraction = bits & (((uint64_t)1 << m) - 1);
  double sign = bits >> (m + format->exponent) & 1 ? -1.0 : 1.0;
  bool top = exponent == (1 << format->exponent) - 1 && !format->unsigned_zero;
  if (format->unsigned_zero && sign < 0 && exponent == 0 && !fraction) return (double)NAN;
  if (format->infinity && top) return fraction ? (double)NAN : sign * (double)INFINITY;
  if (!format->infinity && top && fraction == ((uint64_t)1 << m) - 1) return (double)NAN;
  if (exponent == 0) return sign * ldexp((double)fraction, 1 - bias - m);
  return sign * ldexp((double)(fraction | (uint64_t)1 << m), exponent - bias - m);
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

uint64_t emu_pack(const emu_format *format, double x, emu_rounding rounding, bool saturate) {
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
