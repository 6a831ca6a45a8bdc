/* For the tables of operations: one expression, and what it means for every lane. */
#ifndef LLRT_TESTS_GFX9_OPS_H
#define LLRT_TESTS_GFX9_OPS_H

#include "gfx9_code.h"

#include <stddef.h>

/* Inside an expression: i is the lane; A, B, C are the low words of the sources, A2, B2, C2 all 64 bits;
 * IN is the lane's condition or carry. */
#define GFX9_EACH(statement)                                                                  \
  const uint32_t *a = x->source[0][0], *b = x->source[1][0], *c = x->source[2][0];            \
  const uint32_t *ah = x->source[0][1], *bh = x->source[1][1], *ch = x->source[2][1];         \
  uint32_t *restrict d = x->d, *restrict dh = x->dh;                                          \
  uint64_t in = x->in, out = 0;                                                               \
  for (int i = 0; i < n; i++) {                                                               \
    uint32_t A = a[i], B = b[i], C = c[i];                                                    \
    uint64_t A2 = A | (uint64_t)ah[i] << 32, B2 = B | (uint64_t)bh[i] << 32;                  \
    uint64_t C2 = C | (uint64_t)ch[i] << 32;                                                  \
    uint32_t IN = (uint32_t)(in >> i & 1);                                                    \
    (void)A, (void)B, (void)C, (void)A2, (void)B2, (void)C2, (void)IN;                        \
    statement                                                                                 \
  }                                                                                           \
  (void)d, (void)dh, (void)out;

/* A word; two words; one bit a lane; a word and a carry (bit 32 of the expression). */
#define WORD(name, expression) \
  static void name(gfx9_args *x, int n) { GFX9_EACH(d[i] = (uint32_t)(expression);) }
#define PAIR(name, expression)                \
  static void name(gfx9_args *x, int n) {     \
    GFX9_EACH(uint64_t both = (expression);   \
              d[i] = (uint32_t)both;          \
              dh[i] = (uint32_t)(both >> 32);) \
  }
#define BIT(name, expression)                             \
  static void name(gfx9_args *x, int n) {                 \
    GFX9_EACH(out |= (uint64_t)((expression) != 0) << i;) \
    x->out = out;                                         \
  }
#define CARRY(name, expression)                          \
  static void name(gfx9_args *x, int n) {                \
    GFX9_EACH(uint64_t sum = (expression);               \
              d[i] = (uint32_t)sum;                      \
              out |= (sum >> 32 & 1) << i;)              \
    x->out = out;                                        \
  }

#define COUNT(name) .counter = offsetof(emu_counters, name)
#define SIGNED32(x) ((int32_t)(x))
#define SIGNED64(x) ((int64_t)(x))

#endif
