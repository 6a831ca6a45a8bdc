/* Numbers from bits and back, as gfx9 rounds them: to nearest even, denormals kept, IEEE mode. */
#ifndef LLRT_EMULATORS_GFX9_FLOAT_H
#define LLRT_EMULATORS_GFX9_FLOAT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float f32_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline uint32_t f32_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline double f64_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline uint64_t f64_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
double f16_of(uint32_t bits);
uint32_t f16_bits(double x);

/* The bits of x, or, where it is NaN, the first source that is, made quiet; without one
 * 0x7f..fc00..0. clamp: to [0, 1], NaN to 0. */
uint32_t f32_result(float x, uint32_t a, uint32_t b, uint32_t c, bool clamp);
uint64_t f64_result(double x, uint64_t a, uint64_t b, uint64_t c, bool clamp);
uint32_t f16_result(double x, uint32_t a, uint32_t b, uint32_t c, bool clamp);

/* The lesser (sign 1) or greater (-1) of two numbers of `size` bits. NaN gives way to a number, -0
 * is below 0, and a signalling NaN wins, made quiet. */
uint64_t float_least(uint64_t a, uint64_t b, int size, int sign);
/* The middle of three; with a NaN the least of them. */
uint64_t float_middle(uint64_t a, uint64_t b, uint64_t c, int size);

/* Conversions between formats keep what of a NaN's bits the new format holds. */
uint32_t f32_to_f16(uint32_t bits, bool to_zero);
uint32_t f16_to_f32(uint32_t bits);
uint32_t f64_to_f32(uint64_t bits);
uint64_t f32_to_f64(uint32_t bits);

/* Towards zero, held to the range; NaN is 0. */
int64_t float_to_integer(double x, double low, double high);
/* The ten classes of v_cmp_class, as bits; the number's exponent and its mantissa, as v_frexp gives
 * them. */
uint32_t float_class(uint64_t bits, int size);
int32_t float_exponent(double x);
double float_mantissa(double x);
/* x * y + z, the product rounded by itself; denormal numbers are zeros of their sign. */
float float_mad(float x, float y, float z);

/* The OCP or FNUZ 8-bit formats: gfx942 has the second. e4m3: else e5m2. */
uint32_t f32_to_fp8(float x, bool e4m3);
uint32_t fp8_to_f32(uint32_t bits, bool e4m3);

#endif
