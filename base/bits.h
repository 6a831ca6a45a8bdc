/* Bit tricks and F2 vectors in a machine word. */
#ifndef LLRT_BASE_BITS_H
#define LLRT_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>

/* Ones of x; whether their number is odd. */
static inline int bits_count(uint64_t x) { return __builtin_popcountll(x); }
static inline bool bits_parity(uint64_t x) { return __builtin_parityll(x); }
/* The number of the lowest one of x, and of the highest; x is not 0. */
static inline int bits_lowest(uint64_t x) { return __builtin_ctzll(x); }
static inline int bits_highest(uint64_t x) { return 63 - __builtin_clzll(x); }
/* Ones in bits 0 to n - 1; n >= 0. */
static inline uint64_t bits_mask(int n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }
static inline bool bits_is_power_of_two(int64_t x) { return x > 0 && (x & (x - 1)) == 0; }
/* log2 of a power of two. */
static inline int bits_log2(int64_t x) { return bits_lowest((uint64_t)x); }
/* The exponent of the largest power of two that divides x; 63 for 0. */
static inline int bits_alignment(int64_t x) { return x == 0 ? 63 : bits_lowest((uint64_t)x); }
/* a / b rounded up; a >= 0, b > 0. */
static inline int64_t bits_ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static inline int bits_min(int a, int b) { return a < b ? a : b; }
static inline int bits_max(int a, int b) { return a > b ? a : b; }

#endif
