/* Numbers and their bits, for expectations: formulas of their own, not the emulator's. 16-bit and
 * narrower numbers are rounded by a search among all of them. */
#ifndef LLRT_TESTS_GFX9_NUMBERS_H
#define LLRT_TESTS_GFX9_NUMBERS_H

#include <stdint.h>

float single(uint32_t bits);
uint32_t of_single(float x);
double wide(uint64_t bits);
uint64_t of_wide(double x);

/* Sign, `e` exponent bits of that bias, m of the fraction; no infinities or NaN. */
double number_of(uint32_t bits, int e, int m, int bias);
/* The nearest of the numbers 0..last, even where two are as near; last + 1 stands for overflow. */
uint32_t nearest_of(double x, int e, int m, int bias, uint32_t last);
double half(uint32_t bits);
uint32_t of_half(double x);

/* The bits of x; for NaN, the first of p, q, r that is one, made quiet, or without any the plain
 * one. */
uint32_t f32_or_nan(float x, uint32_t p, uint32_t q, uint32_t r);
uint64_t f64_or_nan(double x, uint64_t p, uint64_t q, uint64_t r);
uint32_t f16_or_nan(double x, uint32_t p, uint32_t q, uint32_t r);

#define LOW(x) ((x) & 0xffff)
#define TOP(x) ((x) >> 16)
#define BOTH(low, high) (LOW(low) | (uint32_t)(high) << 16)

#endif
