/* See word_lane_swap.h. */
#include "jit/plan/facts/word_lane_swap.h"

#include "base/bits.h"
#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/facts/value.h"

#include <string.h>

/* The bit of a byte's number in its word that position i stands for, in a word of elements of
 * `bits` bits; negative: the position is inside a byte. */
static int byte_bit_of(int i, int bits) { return i + bits_log2(bits) - 3; }

/* The first entry in which two lists of n vectors differ; -1: they are equal. */
static int differing(const uint64_t *a, const uint64_t *b, int n) {
  for (int i = 0; i < n; i++)
    if (a[i] != b[i]) return i;
  return -1;
}

bool plan_word_lane_swap_of(const plan_value *in, const plan_value *out,
                            plan_word_lane_swap *swap) {
  int registers = plan_value_bits(in, PLAN_REGISTER), lanes = plan_value_bits(in, PLAN_LANE);
  if (registers != plan_value_bits(out, PLAN_REGISTER) || in->word != out->word) return false;
  thread_basis from, to;
  thread_basis_of_value(in, &from);
  thread_basis_of_value(out, &to);
  int position = differing(from.registers, to.registers, registers);
  int lane = differing(from.lanes, to.lanes, lanes);
  if (position < 0 || position >= in->word || lane < 0) return false;
  if (to.registers[position] != from.lanes[lane] || to.lanes[lane] != from.registers[position])
    return false;
  to.registers[position] = from.registers[position];
  to.lanes[lane] = from.lanes[lane];
  swap->byte_bit = byte_bit_of(position, in->bits);
  swap->lane = lane;
  swap->paired = registers > in->word;
  return swap->byte_bit >= 0 && differing(from.registers, to.registers, registers) < 0 &&
         differing(from.lanes, to.lanes, lanes) < 0;
}

/* A pair that is packed takes 3 permutes and a shuffle, one that is sent whole 2 of each, and a
 * permute half as long as a shuffle (jit/plan/types/target.c). */
bool plan_word_lane_swap_packs(const plan_tuning *tuning, const plan_word_lane_swap *swap, int w) {
  return swap->paired && (w / 2 + 1) % tuning->whole_swap_pairs != 0;
}

void plan_word_select(const plan_word_lane_swap *swap, int b, plan_word_selectors *selectors) {
  int q = swap->byte_bit, sent = 0;
  for (int place = 0; place < 4; place++) {
    int other = q == 0 ? place >> 1 : place & 1; /* its number among those with the same bit q */
    int theirs = (place & ~(1 << q)) | b << q;
    bool mine = (place >> q & 1) == b;
    if (!mine) {
      selectors->send[sent] = place;
      selectors->send[2 + sent++] = 4 + place;
    }
    for (int k = 0; k < 2; k++) selectors->keep[k][place] = mine ? place : 4 + 2 * k + other;
    selectors->whole[place] = mine ? place : 4 + theirs;
  }
}

void plan_word_lane_swap_cost(const plan_tuning *tuning, const plan_word_lane_swap *swap,
                              const plan_value *out, plan_cost *cost) {
  int words = 1 << (plan_value_bits(out, PLAN_REGISTER) - out->word);
  int pairs = swap->paired ? words / 2 : 0, whole = pairs / tuning->whole_swap_pairs;
  cost->shuffles += words - pairs + whole;
  cost->permutes += words + pairs - whole;
}

/* ---- planning ---- */

static bool holds(const uint64_t *vectors, int n, uint64_t x) {
  for (int i = 0; i < n; i++)
    if (vectors[i] == x) return true;
  return false;
}

/* The in-word position of `at`, of a whole byte or more, that gives way: `wanted` if `to` does not
 * have its vector in the word. */
static int leaving(const thread_basis *at, const thread_basis *to, int wanted, int element_bits) {
  for (int k = 0; k < at->word; k++) {
    int i = k == 0 ? wanted : k == wanted ? 0 : k;
    if (byte_bit_of(i, element_bits) >= 0 && !holds(to->registers, to->word, at->registers[i]))
      return i;
  }
  return -1;
}

int thread_basis_swap_words(const thread_basis *from, const thread_basis *to, int element_bits,
                            thread_basis *steps) {
  thread_basis at = *from;
  int n = 0;
  if (from->word != to->word) return 0;
  for (int i = 0; i < to->word; i++) {
    for (int lane = 0; lane < at.n_lanes; lane++) {
      if (at.lanes[lane] != to->registers[i]) continue;
      int position = leaving(&at, to, i, element_bits);
      if (position < 0) break;
      at.lanes[lane] = at.registers[position];
      at.registers[position] = to->registers[i];
      steps[n++] = at;
      break;
    }
  }
  return n;
}
