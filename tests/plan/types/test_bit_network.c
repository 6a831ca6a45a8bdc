/* Permutations of a word's bits: the steps are carried out and compared bit by bit. */
#include "jit/plan/types/bit_network.h"

#include "jit/plan/types/dot_packed.h"
#include "tests/plan/random_layout.h"

#include <criterion/criterion.h>

static uint32_t carry_out(const bit_network *net, uint32_t x) {
  uint32_t made[BIT_NETWORK_STEPS + 1] = {x};
  for (int i = 0; i < net->n; i++) {
    const bit_step *s = &net->step[i];
    uint32_t a = made[s->a], bytes = 0;
    cr_assert(s->a <= i && s->b <= i);
    for (int b = 0; b < 4; b++) bytes |= (a >> 8 * s->byte[b] & 0xFF) << 8 * b;
    made[i + 1] = s->kind == BIT_STEP_BYTES    ? bytes
                  : s->kind == BIT_STEP_ROTATE ? (a << s->left | a >> (32 - s->left)) & s->mask
                                               : (a & ~s->mask) | (made[s->b] & s->mask);
  }
  return made[net->n];
}

static void check(const uint8_t perm[32]) {
  bit_network net;
  bit_network_make(perm, &net);
  cr_assert(net.n <= BIT_NETWORK_STEPS);
  for (int i = 0; i < 32; i++)
    cr_assert_eq(carry_out(&net, 1u << perm[i]), 1u << i, "bit %d from %d, %d steps", i, perm[i],
                 net.n);
}

static int steps_of(const uint8_t perm[32]) {
  bit_network net;
  check(perm);
  bit_network_make(perm, &net);
  return net.n;
}

Test(bit_network, random_permutations) {
  uint64_t random = 7;
  for (int n = 0; n < 300; n++) {
    uint8_t perm[32];
    for (int i = 0; i < 32; i++) {
      int j = (int)(test_random(&random) % (uint64_t)(i + 1));
      perm[i] = perm[j];
      perm[j] = (uint8_t)i;
    }
    check(perm);
  }
}

/* Rotations, nibbles and bytes in any order, and products with odd numbers. */
Test(bit_network, regular_permutations) {
  for (int k = 0; k < 32; k++) {
    uint8_t rotated[32], flipped[32], multiplied[32];
    for (int i = 0; i < 32; i++) {
      rotated[i] = (uint8_t)((i + k) % 32);
      flipped[i] = (uint8_t)(i ^ k);
      multiplied[i] = (uint8_t)(i * (2 * k + 1) % 32);
    }
    cr_assert_leq(steps_of(rotated), 1);
    check(flipped);
    check(multiplied);
  }
}

/* What a word takes: of the orders of packed weights (docs/dot-packed.md), of bytes, of nothing. */
Test(bit_network, steps) {
  static const struct {
    llrt_dtype element, other;
    int steps;
  } rows[] = {{LLRT_E2M1, LLRT_BF16, 11}, {LLRT_E2M1, LLRT_F16, 12}, {LLRT_I4, LLRT_F16, 5}};
  uint8_t packed[32], formed[32], same[32], bytes[32];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    dot_packed_words(rows[i].element, rows[i].other, false, packed, formed);
    cr_expect_eq(steps_of(packed), rows[i].steps, "%d", steps_of(packed));
    check(formed);
  }
  for (int i = 0; i < 32; i++) {
    same[i] = (uint8_t)i;
    bytes[i] = (uint8_t)(i ^ 24);
  }
  cr_expect_eq(steps_of(same), 0);
  cr_expect_eq(steps_of(bytes), 1);
}
