/* See gfx9_numbers.h. */
#include "gfx9_numbers.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

float single(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
uint32_t of_single(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}
double wide(uint64_t bits) {
  double x;
  memcpy(&x, &bits, 8);
  return x;
}
uint64_t of_wide(double x) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  return bits;
}

double number_of(uint32_t bits, int e, int m, int bias) {
  int exponent = (int)(bits >> m) & ((1 << e) - 1);
  double fraction = (double)(bits & ((1u << m) - 1)) / (1 << m);
  double x = exponent ? (1 + fraction) * pow(2, exponent - bias) : fraction * pow(2, 1 - bias);
  return bits >> (e + m) & 1 ? -x : x;
}
double half(uint32_t bits) {
  bits = (0xffff & bits);
  if ((bits & 0x7fff) > 0x7c00) return (double)NAN;
  return (bits & 0x7fff) == 0x7c00 ? (bits >> 15 ? -(double)INFINITY : (double)INFINITY)
                                   : number_of(bits, 5, 10, 15);
}

uint32_t nearest_of(double x, int e, int m, int bias, uint32_t last) {
  uint32_t low = 0, high = last + 1;
  double size = fabs(x);
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    if (number_of(middle, e, m, bias) <= size) low = middle;
    else high = middle;
  }
  double down = size - number_of(low, e, m, bias), up = number_of(high, e, m, bias) - size;
  if (high == last + 1) {
    up = 2 * number_of(last, e, m, bias) - number_of(last - 1, e, m, bias) - size;
  }
  return up < down || (up == down && low % 2) ? high : low;
}
uint32_t of_half(double x) {
  uint32_t sign = signbit(x) ? 0x8000 : 0;
  return sign | (isinf(x) ? 0x7c00 : nearest_of(x, 5, 10, 15, 0x7bff));
}

uint32_t f32_or_nan(float x, uint32_t p, uint32_t q, uint32_t r) {
  if (!isnan(x)) return of_single(x);
  uint32_t which = isnan(single(p)) ? p : isnan(single(q)) ? q : isnan(single(r)) ? r : 0x7f800000;
  return which | 1 << 22;
}
uint64_t f64_or_nan(double x, uint64_t p, uint64_t q, uint64_t r) {
  if (!isnan(x)) return of_wide(x);
  return (isnan(wide(p))   ? p
          : isnan(wide(q)) ? q
          : isnan(wide(r)) ? r
                           : 0x7ffull << 52) |
         1ull << 51;
}
uint32_t f16_or_nan(double x, uint32_t p, uint32_t q, uint32_t r) {
  if (!isnan(x)) return of_half(x);
  return (isnan(half(p))   ? (0xffff & p)
          : isnan(half(q)) ? (0xffff & q)
          : isnan(half(r)) ? (0xffff & r)
                           : 0x7c00) |
         1 << 9;
}
