/* For the tables of operations: one expression, and what it means for every lane. */
#ifndef LLRT_EMULATORS_GFX9_OPS_H
#define LLRT_EMULATORS_GFX9_OPS_H

#include "gfx9_code.h"
#include "gfx9_float.h"

#include <stddef.h>

/* Inside an expression: i is the lane; A, B, C are the low words of the sources, A2, B2, C2 all 64
 * bits; IN is the lane's condition or carry. */
#define GFX9_EACH(...) \
  const uint32_t *a = x->source[0][0], *b = x->source[1][0], *c = x->source[2][0]; \
  const uint32_t *ah = x->source[0][1], *bh = x->source[1][1], *ch = x->source[2][1]; \
  uint32_t *restrict d = x->d, *restrict dh = x->dh; \
  uint64_t in = x->in, out = 0; \
  for (int i = 0; i < n; i++) { \
    uint32_t A = a[i], B = b[i], C = c[i]; \
    uint64_t A2 = A | (uint64_t)ah[i] << 32, B2 = B | (uint64_t)bh[i] << 32; \
    uint64_t C2 = C | (uint64_t)ch[i] << 32; \
    uint32_t IN = (uint32_t)(in >> i & 1); \
    (void)A, (void)B, (void)C, (void)A2, (void)B2, (void)C2, (void)IN; \
    __VA_ARGS__ \
  } \
  (void)d, (void)dh, (void)out;

/* The forms: what an expression gives. A word; two words; one bit a lane; a word and a carry (bit
 * 32 of the expression). HALF: A, B, C are 16 bits, and so is the result. */
#define WORD(name, expression) \
  static void name(gfx9_args *x, int n) { GFX9_EACH(d[i] = (uint32_t)(expression);) }
#define HALF(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(A &= 0xffff; B &= 0xffff; C &= 0xffff; d[i] = (uint16_t)(expression);) \
  }
/* Of sources of 16 bits, too: a word; one bit a lane. */
#define WORD16(name, expression) WORD(name, expression)
#define BIT16(name, expression) BIT(name, expression)
#define PAIR(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(uint64_t both = (expression); d[i] = (uint32_t)both; \
              dh[i] = (uint32_t)(both >> 32);) \
  }
#define BIT(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(out |= (uint64_t)((expression) != 0) << i;) \
    x->out = out; \
  }
#define CARRY(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(uint64_t sum = (expression); d[i] = (uint32_t)sum; out |= (sum >> 32 & 1) << i;) \
    x->out = out; \
  }
/* Two words, and a bit that no expression sets. */
#define PAIR_CARRY(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(uint64_t both = (expression); d[i] = (uint32_t)both; \
              dh[i] = (uint32_t)(both >> 32);) \
    x->out = out; \
  }
/* A word, and a bit if it differs from the exact result: signed overflow. */
#define OVERFLOW(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(int64_t sum = (expression); d[i] = (uint32_t)sum; \
              out |= (uint64_t)(sum != (int32_t)sum) << i;) \
    x->out = out; \
  }
/* A if the expression holds, else B; and the bit. */
#define CHOICE(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(bool first = (expression); d[i] = first ? A : B; out |= (uint64_t)first << i;) \
    x->out = out; \
  }
/* Integers whose exact value the modifier clamp holds to their type's range. */
#define CLAMPED(name, expression, type, low, high) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(int64_t exact = (expression); \
              if (x->clamp) exact = exact<(low) ? (low) : exact>(high) ? (high) : exact; \
              d[i] = (type)exact;) \
  }
#define U32(name, expression) CLAMPED(name, expression, uint32_t, 0, UINT32_MAX)
#define I32(name, expression) CLAMPED(name, expression, uint32_t, INT32_MIN, INT32_MAX)
#define U16(name, expression) CLAMPED(name, expression, uint16_t, 0, UINT16_MAX)
#define I16(name, expression) CLAMPED(name, expression, uint16_t, INT16_MIN, INT16_MAX)

/* Floating point: A, B and C as numbers X, Y, Z. The result of a sum, product or rounding is NaN as
 * gfx9_float.h says. */
#define F32(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(float X = f32_of(A), Y = f32_of(B), Z = f32_of(C); (void)X, (void)Y, (void)Z; \
              d[i] = f32_result((expression), A, B, C, x->clamp);) \
  }
#define F64(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(double X = f64_of(A2), Y = f64_of(B2), Z = f64_of(C2); (void)X, (void)Y, (void)Z; \
              uint64_t both = f64_result((expression), A2, B2, C2, x->clamp); \
              d[i] = (uint32_t)both; dh[i] = (uint32_t)(both >> 32);) \
  }
#define F16(name, expression) \
  static void name(gfx9_args *x, int n) { \
    GFX9_EACH(double X = f16_of(A), Y = f16_of(B), Z = f16_of(C); (void)X, (void)Y, (void)Z; \
              d[i] = f16_result((expression), A, B, C, x->clamp);) \
  }

#define COUNT(name) .counter = offsetof(emu_counters, name)
#define SIGNED32(x) ((int32_t)(x))
#define SIGNED64(x) ((int64_t)(x))
#define SIGNED24(x) ((int64_t)(SIGNED32((x) << 8) >> 8))
#define SIGNED16(x) ((int32_t)(int16_t)(x))

#endif
