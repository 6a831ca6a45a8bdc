/* The tables of arithmetic: the functions and the rows that the three lists of instructions
 * make. */
#include "gfx9_ops.h"

#include <math.h>

/* ---- what expressions use ---- */

static uint32_t ones(uint32_t x) { return (uint32_t)__builtin_popcount(x); }
static uint32_t below(int lane) { return ((uint32_t)1 << (lane & 31)) - 1; }

/* A width of 0 gives 0; what lies beyond bit 31 is the sign. */
static uint32_t signed_field(uint32_t value, uint32_t offset, uint32_t width) {
  if (width == 0) return 0;
  if (offset + width >= 32) return (uint32_t)(SIGNED32(value) >> offset);
  return (uint32_t)(SIGNED32(value << (32 - offset - width)) >> (32 - width));
}
/* The sum of four products of signed bytes. */
static uint32_t dot_of_bytes(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (int i = 0; i < 32; i += 8) sum += (uint32_t)((int8_t)(a >> i) * (int8_t)(b >> i));
  return sum;
}

static uint32_t dot_of_unsigned_bytes(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (int i = 0; i < 32; i += 8) sum += (a >> i & 0xff) * (b >> i & 0xff);
  return sum;
}

static uint64_t signed_field_64(uint64_t value, uint32_t offset, uint32_t width) {
  if (width == 0) return 0;
  if (offset + width >= 64) return (uint64_t)(SIGNED64(value) >> offset);
  return (uint64_t)(SIGNED64(value << (64 - offset - width)) >> (64 - width));
}
static uint64_t scalar_field(uint64_t value, uint32_t where, unsigned size) {
  unsigned offset = where & (size - 1), width = where >> 16 & 127;
  if (width >= 64) return value >> offset;
  return value >> offset & (((uint64_t)1 << width) - 1);
}

static uint32_t reversed(uint32_t x) {
  x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
  x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
  x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
  return __builtin_bswap32(x);
}

/* Bits from the top until one differs from the sign; none does: -1. */
static int leading_signs(int64_t x, int size) {
  uint64_t differs = (uint64_t)(x ^ x >> 63);
  return differs ? __builtin_clzll(differs) - (64 - size) : -1;
}

/* Selectors 0-7 take a byte of high:low, 8-11 repeat a sign, 12 is 0x00, above is 0xff. */
static uint32_t permuted_byte(uint64_t bytes, uint32_t selector) {
  if (selector < 8) return bytes >> 8 * selector & 0xff;
  if (selector < 12) return bytes >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
  return selector == 12 ? 0 : 0xff;
}
static uint32_t permuted(uint32_t high, uint32_t low, uint32_t selectors) {
  uint64_t bytes = (uint64_t)high << 32 | low;
  uint32_t made = 0;
  for (int k = 0; k < 32; k += 8) made |= permuted_byte(bytes, selectors >> k & 0xff) << k;
  return made;
}

/* Sum of the distances of the unsigned fields of `bits` bits. */
static uint32_t differences(uint32_t a, uint32_t b, int bits) {
  uint32_t mask = ((uint32_t)1 << bits) - 1, sum = 0;
  for (int k = 0; k < 32; k += bits) {
    uint32_t p = a >> k & mask, q = b >> k & mask;
    sum += p > q ? p - q : q - p;
  }
  return sum;
}

static uint32_t least(uint32_t a, uint32_t b) { return SIGNED32(a) < SIGNED32(b) ? a : b; }
static uint32_t middle(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t low = least(a, b), high = a ^ b ^ low;
  return least(high, ~least(~low, ~c));
}
#define HIGH(x) ((x) << 16)

static uint32_t held(int32_t x, int32_t low, int32_t high) {
  return (uint32_t)(x < low ? low : x > high ? high : x);
}
static uint32_t held_16(int32_t x) { return held(x, INT16_MIN, INT16_MAX) & 0xffff; }
static uint32_t byte_held(uint32_t x) { return held((int16_t)x, 0, 255); }
static int exponent_held(int32_t x) { return SIGNED32(held(x, -4096, 4096)); }
/* For CARRY: any bit above 31. */
static uint64_t carry_of(uint64_t sum) { return (uint32_t)sum | (uint64_t)(sum >> 32 != 0) << 32; }

static uint32_t f32_held(uint64_t bits, bool clamp) {
  return clamp ? f32_result(f32_of((uint32_t)bits), 0, 0, 0, true) : (uint32_t)bits;
}
static uint32_t f16_held(uint64_t bits, bool clamp) {
  return clamp ? f16_result(f16_of((uint32_t)bits), 0, 0, 0, true) : (uint32_t)bits;
}
static uint64_t f64_held(uint64_t bits, bool clamp) {
  return clamp ? f64_result(f64_of(bits), 0, 0, 0, true) : bits;
}

/* ---- functions ---- */

/* Two words and the carry out of them. */
#define WIDE(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(unsigned __int128 sum = (expression); d[i] = (uint32_t)sum; \
              dh[i] = (uint32_t)(sum >> 32); out |= (uint64_t)(sum >> 64 & 1) << i;) \
    x->out = out; \
  }
/* f16 from numbers of 32 bits. */
#define MIX16(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH( \
        float X = f32_of(A), Y = f32_of(B), Z = f32_of(C); \
        d[i] = f16_held(f32_to_f16(f32_result((expression), A, B, C, false), false), x->clamp);) \
  }

#define OP(name, form, operands, expression, ...) form(name, expression)
#define PACKED(...)
#define PACKED32(...)
#include "gfx9_vector.def"
#include "gfx9_float.def"
#include "gfx9_scalar.def"
#undef OP
#undef PACKED
#undef PACKED32

/* ---- rows ---- */

#define ARITHMETIC COUNT(arithmetic)
#define MOVE COUNT(moves)
#define PERMUTE COUNT(permutes)
#define CONVERT COUNT(conversions)
#define CONVERT_BITS CONVERT
#define BITS(sources) .rule = GFX9_MONOTONE, .data = sources /* bit k: source k */
#define SUM .rule = GFX9_UPWARD, ARITHMETIC
#define XOR .rule = GFX9_BITWISE, ARITHMETIC
#define OUT .scc = GFX9_SCC_OUT
#define NONZERO .scc = GFX9_SCC_NONZERO
#define CLAMP .modifiers = GFX9_CLAMP
#define KEEP .modifiers = GFX9_KEEP
#define CLAMP_KEEP .modifiers = GFX9_CLAMP | GFX9_KEEP
#define NEGATE ARITHMETIC, .modifiers = GFX9_NEGATE
#define NEGATE_KEEP NEGATE | GFX9_KEEP
#define NEGATE_KEEP_ONLY .modifiers = GFX9_NEGATE | GFX9_KEEP
#define REAL NEGATE | GFX9_CLAMP
#define REAL_KEEP REAL | GFX9_KEEP
#define REAL_MIX REAL | GFX9_MIX
#define CONVERT_REAL CONVERT, .modifiers = GFX9_NEGATE | GFX9_CLAMP

/* Of the forms, those whose sources are 16 bits. */
enum {
  HALVES_HALF = 1,
  HALVES_U16 = 1,
  HALVES_I16 = 1,
  HALVES_F16 = 1,
  HALVES_WORD16 = 1,
  HALVES_BIT16 = 1,
  HALVES_WORD = 0,
  HALVES_BIT = 0,
  HALVES_PAIR = 0,
  HALVES_CARRY = 0,
  HALVES_PAIR_CARRY = 0,
  HALVES_OVERFLOW = 0,
  HALVES_CHOICE = 0,
  HALVES_U32 = 0,
  HALVES_I32 = 0,
  HALVES_F32 = 0,
  HALVES_F64 = 0,
  HALVES_WIDE = 0,
  HALVES_MIX16 = 0
};
#define OP(name, form, operands, expression, ...) \
  {#name, operands, name, .halves = HALVES_##form, __VA_ARGS__},
#define PACKED(name, each, operands, ...) {#name, operands, each, .packed = 16, __VA_ARGS__},
#define PACKED32(name, each, operands, ...) {#name, operands, each, .packed = 32, __VA_ARGS__},

static const gfx9_info vector_rows[] = {
#include "gfx9_vector.def"
#include "gfx9_float.def"
};
static const gfx9_info scalar_rows[] = {
#include "gfx9_scalar.def"
};

const gfx9_table gfx9_vector_table = {vector_rows, sizeof vector_rows / sizeof *vector_rows};
const gfx9_table gfx9_scalar_table = {scalar_rows, sizeof scalar_rows / sizeof *scalar_rows};
