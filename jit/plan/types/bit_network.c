/* See bit_network.h.
 *
 * One stage: bits that move by the same distance modulo 8 are a class. A class comes by byte
 * permutes, as many as its bits need for a byte of the result, which are merged, and one rotation
 * by less than a byte; or by rotations alone, one for each distance. Two stages: first whole
 * nibbles, by a linear map of their number, then the rest. Orders that elements of 4 bits have for
 * fast decoding move most bits of a nibble together (docs/dot-packed.md): of the 168 maps one
 * leaves so little for the second stage that both take less. */
#include "jit/plan/types/bit_network.h"

#include "base/bits.h"

#include <string.h>

#define BYTES 4
#define NIBBLES 8

static int add(bit_network *net, bit_step step) {
  net->step[net->n] = step;
  return ++net->n;
}

static bool is_identity(const uint8_t byte[BYTES]) {
  for (int i = 0; i < BYTES; i++)
    if (byte[i] != i) return false;
  return true;
}

/* ---- a class ---- */

/* Bits of the result, and how they come: rotated last by `left`, or (left < 0) each by its own
 * distance. */
typedef struct bit_class {
  const uint8_t *perm;
  uint32_t bits;
  int left;
  uint8_t need[BYTES]; /* left >= 0: by byte before the rotation: source bytes that bits in it come
                          from */
} bit_class;

static int distance(const bit_class *c, int bit) { return (bit - c->perm[bit]) & 31; }
static int byte_before(const bit_class *c, int bit) { return ((bit - c->left) & 31) / 8; }

static void find_needs(bit_class *c) {
  memset(c->need, 0, sizeof c->need);
  for (int i = 0; i < 32; i++)
    if (c->bits >> i & 1) c->need[byte_before(c, i)] |= (uint8_t)(1u << c->perm[i] / 8);
}

/* Permutes beside the word as it is, if `kept` helps. */
static int permutes(const bit_class *c, bool kept) {
  int most = 0;
  for (int b = 0; b < BYTES; b++)
    most = bits_max(most, bits_count((uint64_t)(c->need[b] & ~(kept ? 1u << b : 0))));
  return most;
}

static bool keeps(const bit_class *c) { return permutes(c, true) < permutes(c, false); }

/* Distances of its bits, a bit each. */
static uint32_t distances(const bit_class *c) {
  uint32_t all = 0;
  for (int i = 0; i < 32; i++)
    if (c->bits >> i & 1) all |= 1u << distance(c, i);
  return all;
}

static int class_steps(const bit_class *c) {
  if (c->left < 0) {
    uint32_t all = distances(c);
    return bits_count(all & ~1u) + bits_count(all) - 1;
  }
  int n = permutes(c, keeps(c));
  return n + (keeps(c) ? n : n - 1) + (c->left != 0);
}

/* ---- its steps ---- */

static int rotate(bit_network *net, int word, int left, uint32_t mask) {
  if (left == 0) return word;
  return add(
      net,
      (bit_step){.kind = BIT_STEP_ROTATE, .a = (uint8_t)word, .left = (uint8_t)left, .mask = mask});
}

static int merge(bit_network *net, int into, int word, uint32_t mask) {
  if (into < 0) return word;
  return add(
      net,
      (bit_step){.kind = BIT_STEP_MERGE, .a = (uint8_t)into, .b = (uint8_t)word, .mask = mask});
}

static int add_rotations(bit_network *net, const bit_class *c, int word, int into) {
  for (int left = 0; left < 32; left++) {
    uint32_t mask = 0;
    for (int i = 0; i < 32; i++)
      if (c->bits >> i & 1 && distance(c, i) == left) mask |= 1u << i;
    if (mask) into = merge(net, into, rotate(net, word, left, mask), mask);
  }
  return into;
}

/* The next permute of a class: takes one source byte for each byte that still needs one from *left
 * to do. */
static int next_permute(bit_network *net, int word, uint8_t need[BYTES], uint8_t byte[BYTES]) {
  for (int b = 0; b < BYTES; b++) {
    byte[b] = (uint8_t)(need[b] ? bits_lowest(need[b]) : b);
    need[b] &= (uint8_t)(need[b] - 1);
  }
  if (is_identity(byte)) return word;
  bit_step step = {.kind = BIT_STEP_BYTES, .a = (uint8_t)word};
  memcpy(step.byte, byte, BYTES);
  return add(net, step);
}

/* Where the class's bits lie before its rotation, of those whose source byte is byte[] there. */
static uint32_t mask_before(const bit_class *c, const uint8_t byte[BYTES]) {
  uint32_t mask = 0;
  for (int i = 0; i < 32; i++)
    if (c->bits >> i & 1 && byte[byte_before(c, i)] == c->perm[i] / 8)
      mask |= 1u << ((i - c->left) & 31);
  return mask;
}

static int add_permutes(bit_network *net, const bit_class *c, int word, int into) {
  uint8_t need[BYTES], byte[BYTES] = {0, 1, 2, 3};
  int so_far = -1;
  memcpy(need, c->need, sizeof need);
  if (keeps(c)) {
    so_far = word;
    for (int b = 0; b < BYTES; b++) need[b] &= (uint8_t)~(1u << b);
  }
  while (need[0] | need[1] | need[2] | need[3]) {
    int permuted = next_permute(net, word, need, byte);
    so_far = merge(net, so_far, permuted, mask_before(c, byte));
  }
  return merge(net, into, rotate(net, so_far, c->left, c->bits), c->bits);
}

/* ---- stages ---- */

/* Class `distance` of a permutation, by the way of fewest steps. */
static bit_class choose(const uint8_t perm[32], int distance_mod_8) {
  bit_class best = {.perm = perm, .left = -1};
  for (int i = 0; i < 32; i++)
    if (((i - perm[i]) & 7) == distance_mod_8) best.bits |= 1u << i;
  for (int down = 0; down <= (distance_mod_8 != 0); down++) {
    bit_class other = best;
    other.left = (distance_mod_8 + 24 * down) & 31;
    find_needs(&other);
    if (best.bits && class_steps(&other) < class_steps(&best)) best = other;
  }
  return best;
}

static int stage_steps(const uint8_t perm[32]) {
  int n = -1;
  for (int r = 0; r < 8; r++) {
    bit_class c = choose(perm, r);
    if (c.bits) n += class_steps(&c) + 1;
  }
  return n;
}

static int add_stage(bit_network *net, const uint8_t perm[32], int word) {
  int result = -1;
  for (int r = 0; r < 8; r++) {
    bit_class c = choose(perm, r);
    if (!c.bits) continue;
    result =
        c.left < 0 ? add_rotations(net, &c, word, result) : add_permutes(net, &c, word, result);
  }
  return result;
}

/* Nibble i from nibble f(i), f linear with the columns; false where f is not invertible. */
static bool nibble_permutation(const int column[3], uint8_t perm[32]) {
  unsigned seen = 0;
  for (int i = 0; i < NIBBLES; i++) {
    int from = (i & 1 ? column[0] : 0) ^ (i & 2 ? column[1] : 0) ^ (i & 4 ? column[2] : 0);
    seen |= 1u << from;
    for (int b = 0; b < 4; b++) perm[4 * i + b] = (uint8_t)(4 * from + b);
  }
  return seen == (1u << NIBBLES) - 1;
}

/* What is left of perm behind `first`. */
static void behind(const uint8_t perm[32], const uint8_t first[32], uint8_t rest[32]) {
  uint8_t place[32];
  for (int i = 0; i < 32; i++) place[first[i]] = (uint8_t)i;
  for (int i = 0; i < 32; i++) rest[i] = place[perm[i]];
}

void bit_network_make(const uint8_t perm[32], bit_network *out) {
  uint8_t first[32], rest[32], best_first[32], best_rest[32];
  int least = stage_steps(perm);
  bool two = false;
  for (int k = 0; k < NIBBLES * NIBBLES * NIBBLES && least > 1; k++) {
    const int column[3] = {k & 7, k >> 3 & 7, k >> 6};
    if (!nibble_permutation(column, first)) continue;
    behind(perm, first, rest);
    int steps = stage_steps(first);
    if (steps < least) steps += stage_steps(rest);
    if (steps >= least) continue;
    least = steps;
    two = true;
    memcpy(best_first, first, sizeof first);
    memcpy(best_rest, rest, sizeof rest);
  }
  out->n = 0;
  if (two) add_stage(out, best_rest, add_stage(out, best_first, 0));
  else add_stage(out, perm, 0);
}
