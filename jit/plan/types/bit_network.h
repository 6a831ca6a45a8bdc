/* A permutation of the bits of a 32-bit word by few instructions: byte permutes, rotations and
 * merges under masks. Private to jit. */
#ifndef LLRT_JIT_PLAN_TYPES_BIT_NETWORK_H
#define LLRT_JIT_PLAN_TYPES_BIT_NETWORK_H

#include <stdint.h>

#define BIT_NETWORK_STEPS 128

typedef enum bit_step_kind {
  BIT_STEP_BYTES = 1, /* byte i = byte byte[i] of a */
  BIT_STEP_ROTATE,    /* a rotated to the left by `left`; what is used of it lies in `mask` */
  BIT_STEP_MERGE      /* b where `mask` is 1, else a */
} bit_step_kind;

typedef struct bit_step {
  uint8_t kind;
  uint8_t a, b; /* numbers of words: 0 is the one that is permuted, i + 1 what step i makes */
  uint8_t left;
  uint8_t byte[4];
  uint32_t mask;
} bit_step;

typedef struct bit_network {
  int n; /* the last step makes the result; 0: it is word 0 */
  bit_step step[BIT_NETWORK_STEPS];
} bit_network;

/* Bit i of the result = bit perm[i] of word 0; perm is a permutation of 0 .. 31. */
void bit_network_make(const uint8_t perm[32], bit_network *out);

#endif
