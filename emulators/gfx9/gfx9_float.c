/* See gfx9_float.h. */
#include "gfx9_float.h"

#include "emulators/common/emu_float.h"

#include <math.h>

double f16_of(uint32_t bits) { return emu_unpack(&emu_f16, bits & 0xffff); }

uint32_t f16_bits(double x) { return (uint32_t)emu_pack(&emu_f16, x, EMU_NEAREST, false); }

/* ---- by size ---- */

/* A format by its bits: what is above them is not looked at. */
typedef struct layout {
  uint64_t sign, infinity, quiet, all;
} layout;

static layout layout_of(int size) {
  switch (size) {
  case 16: return (layout){0x8000, 0x7c00, 0x0200, 0xffff};
  case 32: return (layout){0x80000000, 0x7f800000, 0x00400000, 0xffffffff};
  default: return (layout){1ull << 63, 0x7ffull << 52, 1ull << 51, ~0ull};
  }
}

static bool is_nan(const layout *l, uint64_t bits) {
  return (bits & ~l->sign & l->all) > l->infinity;
}

static double number(uint64_t bits, int size) {
  return size == 16   ? f16_of((uint32_t)bits)
         : size == 32 ? (double)f32_of((uint32_t)bits)
                      : f64_of(bits);
}

static uint64_t nan_of(uint64_t a, uint64_t b, uint64_t c, int size) {
  layout l = layout_of(size);
  if (is_nan(&l, a)) return (a & l.all) | l.quiet;
  if (is_nan(&l, b)) return (b & l.all) | l.quiet;
  if (is_nan(&l, c)) return (c & l.all) | l.quiet;
  return l.infinity | l.quiet;
}

static double clamped(double x) { return x > 0 ? fmin(x, 1) : 0; }

uint32_t f32_result(float x, uint32_t a, uint32_t b, uint32_t c, bool clamp) {
  if (clamp) return f32_bits((float)clamped((double)x));
  return isnan(x) ? (uint32_t)nan_of(a, b, c, 32) : f32_bits(x);
}

uint64_t f64_result(double x, uint64_t a, uint64_t b, uint64_t c, bool clamp) {
  if (clamp) return f64_bits(clamped(x));
  return isnan(x) ? nan_of(a, b, c, 64) : f64_bits(x);
}

uint32_t f16_result(double x, uint32_t a, uint32_t b, uint32_t c, bool clamp) {
  if (clamp) return f16_bits(clamped(x));
  return isnan(x) ? (uint32_t)nan_of(a, b, c, 16) : f16_bits(x);
}

uint64_t float_least(uint64_t a, uint64_t b, int size, int sign) {
  layout l = layout_of(size);
  a &= l.all;
  b &= l.all;
  if (is_nan(&l, a) && !(a & l.quiet)) return a | l.quiet;
  if (is_nan(&l, b) && !(b & l.quiet)) return b | l.quiet;
  if (is_nan(&l, a)) return b;
  if (is_nan(&l, b)) return a;
  double x = sign * number(a, size), y = sign * number(b, size);
  if (x == y) return sign > 0 ? a | b : a & b; /* equal, but for the sign of zero */
  return x < y ? a : b;
}

uint64_t float_middle(uint64_t a, uint64_t b, uint64_t c, int size) {
  layout l = layout_of(size);
  if (is_nan(&l, a) || is_nan(&l, b) || is_nan(&l, c)) {
    return float_least(float_least(a, b, size, 1), c, size, 1);
  }
  uint64_t least = float_least(a, b, size, 1), most = float_least(a, b, size, -1);
  return float_least(most, float_least(least, c, size, -1), size, 1);
}

uint32_t float_class(uint64_t bits, int size) {
  layout l = layout_of(size);
  uint64_t x = bits & l.all & ~l.sign, least_normal = l.infinity & (~l.infinity + 1);
  bool negative = bits & l.sign;
  if (x > l.infinity) return x & l.quiet ? 2 : 1;
  /* infinity, normal, denormal, zero: bits 2 to 5 if negative, 9 to 6 if not */
  int rank = x == l.infinity ? 0 : x >= least_normal ? 1 : x ? 2 : 3;
  return 1u << (negative ? 2 + rank : 9 - rank);
}

int32_t float_exponent(double x) {
  int exponent = 0;
  if (isfinite(x) && x != 0) (void)frexp(x, &exponent);
  return exponent;
}

double float_mantissa(double x) {
  int exponent;
  return isfinite(x) ? frexp(x, &exponent) : x;
}

static float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

float float_mad(float x, float y, float z) {
  volatile float product = flushed(x) * flushed(y); /* rounded by itself */
  return flushed(flushed(product) + flushed(z));
}

/* ---- conversions ---- */

uint32_t f32_to_f16(uint32_t bits, bool to_zero) {
  float x = f32_of(bits);
  if (isnan(x)) return (bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff);
  return (uint32_t)emu_pack(&emu_f16, (double)x, to_zero ? EMU_TO_ZERO : EMU_NEAREST, false);
}

uint32_t f16_to_f32(uint32_t bits) {
  if ((bits & 0x7fff) > 0x7c00) {
    return (bits & 0x8000) << 16 | 0x7fc00000 | (bits & 0x3ff) << 13;
  }
  return f32_bits((float)f16_of(bits));
}

uint32_t f64_to_f32(uint64_t bits) {
  double x = f64_of(bits);
  if (!isnan(x)) return f32_bits((float)x);
  return (uint32_t)(bits >> 32 & 0x80000000) | 0x7fc00000 | (uint32_t)(bits >> 29 & 0x7fffff);
}

uint64_t f32_to_f64(uint32_t bits) {
  float x = f32_of(bits);
  if (!isnan(x)) return f64_bits((double)x);
  return (uint64_t)(bits >> 31) << 63 | 0x7ff8ull << 48 | (uint64_t)(bits & 0x7fffff) << 29;
}

int64_t float_to_integer(double x, double low, double high) {
  if (isnan(x)) return 0;
  return (int64_t)(x <= low ? low : x >= high ? high : trunc(x));
}

/* Out of range: NaN, as without the mode that saturates. */
uint32_t f32_to_fp8(float x, bool e4m3) {
  const emu_format *format = e4m3 ? &emu_e4m3fnuz : &emu_e5m2fnuz;
  return (uint32_t)emu_pack(format, (double)x, EMU_NEAREST, false);
}

uint32_t fp8_to_f32(uint32_t bits, bool e4m3) {
  double x = emu_unpack(e4m3 ? &emu_e4m3fnuz : &emu_e5m2fnuz, bits & 0xff);
  return isnan(x) ? 0x7fc00000 : f32_bits((float)x);
}
