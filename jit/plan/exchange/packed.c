/* Two elements in a lane (4 bits on the host): how their in-word vector changes.
 *
 * With p and q the in-word vectors before and after, shuffles of whole lanes keep p and what its
 * complement C is (the span of the other registers and the lanes), and likewise q and C' after.
 * PLAN_REGISTERS alone exchanges p for q, where both are in the registers. So the way goes through
 * two thread bases of equal lanes (n: intersection),
 *
 *   before = [p, R n C | L]
 *   after  = [q, R n C' | L]
 *
 * with L in C n C', p and q in R, and R + L = everything; L are the final lanes as far as they lie
 * in both complements. */
#include "jit/plan/exchange/exchange_route.h"

#include "jit/plan/facts/thread_basis.h"
#include "layout/f2.h"

/* Two thread bases of a word of two elements under way. */
typedef struct middle {
  const thread_basis *from, *to;
  f2_basis span;     /* of p, q, lanes and registers so far */
  f2_basis together; /* (in-word coordinates in from and to) labelled with vectors that have them */
} middle;

/* In-word coordinates in `from` (bit 0) and `to` (bit 1): 0 for vectors of C n C'. */
static uint64_t in_word(const middle *m, uint64_t x) {
  return (thread_basis_coordinates(m->from, x) & 1) | (thread_basis_coordinates(m->to, x) & 1) << 1;
}

/* x, or x and earlier such vectors, in C n C'; 0 where that takes more. */
static uint64_t in_both(middle *m, uint64_t x) {
  uint64_t earlier = 0;
  if (f2_basis_insert_as(&m->together, in_word(m, x), x)) return 0;
  f2_basis_coordinates(&m->together, in_word(m, x), &earlier);
  return x ^ earlier;
}

/* All vectors of both thread bases, those of `to` first; returns how many. */
static int list_vectors(const middle *m, uint64_t *list) {
  const thread_basis *bases[2] = {m->to, m->from};
  int n = 0;
  for (int f = 0; f < 2; f++)
    for (int i = 0; i < bases[f]->n_lanes; i++) list[n++] = bases[f]->lanes[i];
  for (int f = 0; f < 2; f++)
    for (int i = 0; i < bases[f]->n_registers; i++) list[n++] = bases[f]->registers[i];
  return n;
}

static bool choose_lanes(middle *m, const uint64_t *list, int n, thread_basis *before) {
  bool placed[THREAD_BASIS_MAX_LANES] = {false};
  for (int i = 0; i < m->to->n_lanes; i++) {
    if (in_word(m, m->to->lanes[i]) != 0) continue;
    placed[i] = f2_basis_insert(&m->span, m->to->lanes[i]);
    before->lanes[i] = m->to->lanes[i];
  }
  for (int i = 0, at = 0; i < m->to->n_lanes; i++) {
    for (; at < n && !placed[i]; at++) {
      before->lanes[i] = in_both(m, list[at]);
      placed[i] = before->lanes[i] && f2_basis_insert(&m->span, before->lanes[i]);
    }
    if (!placed[i]) return false;
  }
  return true;
}

bool packed_middle(const thread_basis *from, const thread_basis *to, thread_basis *before,
                   thread_basis *after) {
  middle m = {.from = from, .to = to};
  uint64_t p = from->registers[0], q = to->registers[0];
  uint64_t list[2 * (THREAD_BASIS_MAX_REGISTERS + THREAD_BASIS_MAX_LANES)];
  int n = list_vectors(&m, list), used = 0;
  *before = *from;
  f2_basis_init(&m.span);
  f2_basis_init(&m.together);
  f2_basis_insert(&m.span, p);
  bool differ = f2_basis_insert(&m.span, q);
  if (!choose_lanes(&m, list, n, before)) return false;
  *after = *before;
  before->registers[used] = p;
  after->registers[used++] = q;
  if (differ) {
    before->registers[used] = in_word(&m, q) & 1 ? q ^ p : q;
    after->registers[used++] = in_word(&m, p) & 2 ? p ^ q : p;
  }
  for (int i = 0; i < n && used < from->n_registers; i++) {
    uint64_t x = list[i], coordinates = in_word(&m, x);
    if (!f2_basis_insert(&m.span, x)) continue;
    before->registers[used] = coordinates & 1 ? x ^ p : x;
    after->registers[used++] = coordinates & 2 ? x ^ q : x;
  }
  return used == from->n_registers;
}
