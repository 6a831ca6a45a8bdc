/* PLAN_REGISTERS in several rounds, where elements change places inside words.
 *
 * Let U and V be the spans of the in-word bits before and after. A result word draws on 2^r words,
 * r = dim V - dim(U n V), and gathering each by itself would cost 2^r - 1 byte permutes. A round
 * exchanges one vector of U for one of V instead, so that its words draw on two: r instructions a
 * word, the log-step transpose of a matrix between registers. Rounds go from the top of the word
 * down, so that only the last moves nibbles (a shift and a merge), and the last one puts everything
 * in its final order. */
#include "jit/plan/exchange/exchange_route.h"

#include "base/bits.h"
#include "jit/plan/facts/thread_basis.h"
#include "layout/f2.h"

/* Which register of `at` gives way to the vector with coordinates x: the in-word one, the highest
 * that no vector of `to`'s word needs, `wanted` if it can be. -1: none. */
static int leaving_position(const thread_basis *at, const thread_basis *to, int wanted) {
  uint64_t needed = 0, inside = bits_mask(at->word);
  for (int j = 0; j < to->word; j++) {
    uint64_t x = thread_basis_coordinates(at, to->registers[j]);
    if (!(x & ~inside)) needed |= x;
  }
  if (!(needed >> wanted & 1)) return wanted;
  uint64_t spare = inside & ~needed;
  return spare ? bits_highest(spare) : -1;
}

/* The highest in-word vector of `to` that is not in the word of `at`, and how many there are up to
 * the span of that word. */
static int next_incoming(const thread_basis *at, const thread_basis *to, int *n) {
  f2_basis span;
  int highest = -1;
  *n = 0;
  f2_basis_init(&span);
  for (int j = 0; j < at->word; j++) f2_basis_insert(&span, at->registers[j]);
  for (int j = to->word - 1; j >= 0; j--) {
    if (!f2_basis_insert(&span, to->registers[j])) continue;
    if (highest < 0) highest = j;
    ++*n;
  }
  return highest;
}

int rename_rounds(const thread_basis *from, const thread_basis *to, thread_basis *rounds) {
  thread_basis at = *from;
  int n = 0, left = 0;
  for (;;) {
    int incoming = at.word == to->word ? next_incoming(&at, to, &left) : -1;
    if (incoming < 0 || left <= 1) break;
    uint64_t u = to->registers[incoming];
    uint64_t outside =
        thread_basis_coordinates(&at, u) & ~bits_mask(at.word) & bits_mask(at.n_registers);
    int position = leaving_position(&at, to, incoming);
    if (position < 0) break;
    at.registers[bits_highest(outside)] = at.registers[position];
    at.registers[position] = u;
    rounds[n++] = at;
  }
  rounds[n++] = *to;
  return n;
}
