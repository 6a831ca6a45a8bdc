/* How PLAN_REGISTERS makes one word of its result out of its thread's words: bytes are permuted,
 * moved by a nibble where elements of 4 bits change places inside them, and merged under masks. */
#ifndef LLRT_JIT_PLAN_FACTS_PERMUTE_H
#define LLRT_JIT_PLAN_FACTS_PERMUTE_H

#include "jit/plan/kernel/plan.h"

#define PLAN_PERMUTE_BYTES \
  4 /* of a word; words of 8 bytes hold one element and are only renamed \
     */

/* Byte i is byte byte[i] of source word word[i]; word -1: any. Then all is moved up by `shift`
 * bits. */
typedef struct plan_permute_part {
  int16_t word[PLAN_PERMUTE_BYTES];
  int8_t byte[PLAN_PERMUTE_BYTES];
  int8_t shift;  /* 0, 4 or -4 */
  uint32_t mask; /* bits of the result that this part gives */
} plan_permute_part;

/* The parts' masks are disjoint and cover the word. Nibbles: those that stay low or high give one
 * part, or two where they come from different bytes; those that go up and those that go down one
 * each. */
typedef struct plan_permute {
  int n_parts, bytes;
  plan_permute_part part[4];
} plan_permute;

/* Word `word` of out, counted in words. */
void plan_permute_of(const plan_value *in, const plan_value *out, int word, plan_permute *g);

/* The source word that has all bytes of the part at their places; -1: none. */
int plan_permute_whole(const plan_permute *g, const plan_permute_part *part);

/* Adds the instructions that it takes: byte permutes (two words each), and shifts and masked
 * merges. */
void plan_permute_cost(const plan_permute *g, int *permutes, int *logic);

#endif
