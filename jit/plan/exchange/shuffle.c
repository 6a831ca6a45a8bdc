/* Conversion inside a warp as lane exchange rounds (paper section 5.4, generalised from
 * permutations to any linear map: docs/exchange.md).
 *
 * Let L0 and L1 be the spans of the lanes before and after. Each round moves the lanes' span one
 * dimension from L0 towards L1: a vector u of L1 that is not among the lanes comes in, a vector a
 * outside the intersection goes out and becomes a register. A lane's new register then comes from
 * one of exactly two registers, chosen by one functional of the lane. m = dim L1 - dim(L0 n L1)
 * rounds. */
#include "jit/plan/exchange/exchange_route.h"

#include "base/bits.h"
#include "jit/plan/facts/thread_basis.h"
#include "layout/f2.h"

#include <string.h>

/* Coordinates of x in a thread basis: registers from bit 0, lanes from bit n_registers. */
static void coordinate_basis(const thread_basis *f, f2_basis *basis) {
  f2_basis_init(basis);
  for (int i = 0; i < f->n_registers; i++) f2_basis_insert_as(basis, f->registers[i], 1ull << i);
  for (int i = 0; i < f->n_lanes; i++)
    f2_basis_insert_as(basis, f->lanes[i], 1ull << (f->n_registers + i));
}

/* Whether one PLAN_SHUFFLE turns `from` into `to`: words stay whole, and the register that a lane
 * draws from depends on at most one functional of the lane. */
static bool is_round(const thread_basis *from, const thread_basis *to) {
  f2_basis basis;
  uint64_t x, drawn = 0, word = bits_mask(from->word), registers = bits_mask(from->n_registers);
  coordinate_basis(from, &basis);
  for (int i = 0; i < to->n_registers; i++) {
    if (i < to->word) {
      if (to->registers[i] != from->registers[i]) return false;
    } else if (!f2_basis_coordinates(&basis, to->registers[i], &x) || (x & word)) {
      return false;
    }
  }
  for (int i = 0; i < to->n_lanes; i++) {
    if (!f2_basis_coordinates(&basis, to->lanes[i], &x) || (x & word)) return false;
    uint64_t r = x & registers;
    if (r && drawn && r != drawn) return false;
    if (r) drawn = r;
  }
  return true;
}

/* A basis of span(a's lanes) n span(b's lanes). */
static int common_lanes(const thread_basis *a, const thread_basis *b, uint64_t *common) {
  f2_basis sum;
  int n = 0;
  f2_basis_init(&sum);
  for (int i = 0; i < a->n_lanes; i++) f2_basis_insert_as(&sum, a->lanes[i], 0);
  for (int i = 0; i < b->n_lanes; i++) {
    uint64_t in_both = b->lanes[i];
    if (f2_basis_reduce(&sum, b->lanes[i], &in_both) == 0) common[n++] = in_both;
    else f2_basis_insert_as(&sum, b->lanes[i], b->lanes[i]);
  }
  return n;
}

/* The lanes' span after a round: the common part and u, completed by current lanes to its size;
 * lane `last` comes last, so that it is the one to leave if it can. */
static void next_span(const thread_basis *at, const uint64_t *common, int n_common, uint64_t u,
                      int last, f2_basis *span) {
  f2_basis_init(span);
  for (int i = 0; i < n_common; i++) f2_basis_insert(span, common[i]);
  f2_basis_insert(span, u);
  for (int i = 0; i < at->n_lanes && span->rank < at->n_lanes; i++)
    if (i != last) f2_basis_insert(span, at->lanes[i]);
  if (span->rank < at->n_lanes) f2_basis_insert(span, at->lanes[last]);
}

/* Puts u among the lanes that stay, in the place of what leaves; where several lanes change (maps
 * that are no permutations), span vectors fill up. */
static void replace_lanes(const thread_basis *at, const f2_basis *span, uint64_t u,
                          thread_basis *next) {
  f2_basis kept;
  f2_basis_init(&kept);
  for (int i = 0; i < at->n_lanes; i++)
    if (f2_basis_contains(span, at->lanes[i])) f2_basis_insert(&kept, at->lanes[i]);
  for (int i = 0; i < at->n_lanes; i++) {
    if (f2_basis_contains(span, at->lanes[i])) continue;
    next->lanes[i] = u;
    if (f2_basis_insert(&kept, u)) continue;
    for (uint64_t p = span->pivots; p; p &= p - 1) {
      next->lanes[i] = span->row[bits_lowest(p)];
      if (f2_basis_insert(&kept, next->lanes[i])) break;
    }
  }
}

/* Interleaving: u becomes lane bit 0, the others of the chunk move up, its top lane leaves. This is
 * one unpack instruction where a chunk is 128 bits of a SIMD register. */
static void interleave_lanes(const thread_basis *at, int chunk, uint64_t u, thread_basis *next) {
  for (int i = chunk - 1; i > 0; i--) next->lanes[i] = at->lanes[i - 1];
  next->lanes[0] = u;
}

/* One round towards `to`: brings lane vector u in, in the place of lane `last` if that can leave.
 * False when no register can give way. */
static bool step_round(const thread_basis *at, const uint64_t *common, int n_common, uint64_t u,
                       int chunk, int last, thread_basis *next) {
  f2_basis span, coordinates;
  uint64_t leaving = 0, x;
  *next = *at;
  next_span(at, common, n_common, u, last, &span);
  for (int i = 0; i < at->n_lanes; i++)
    if (!f2_basis_contains(&span, at->lanes[i])) leaving = at->lanes[i];
  if (chunk > 0 && leaving == at->lanes[chunk - 1]) interleave_lanes(at, chunk, u, next);
  else replace_lanes(at, &span, u, next);
  coordinate_basis(at, &coordinates);
  if (!f2_basis_coordinates(&coordinates, u, &x)) return false;
  x &= bits_mask(at->n_registers) & ~bits_mask(at->word);
  if (x == 0) return false;
  next->registers[bits_highest(x)] = leaving;
  return true;
}

/* The next lane vector of `to` that is not among the lanes: inside a chunk from the top, because
 * each interleaving moves those before it up; then the others. -1 when all are there. */
static int next_lane(const thread_basis *at, const thread_basis *to, int chunk) {
  f2_basis span;
  f2_basis_init(&span);
  for (int i = 0; i < at->n_lanes; i++) f2_basis_insert(&span, at->lanes[i]);
  for (int i = chunk - 1; i >= 0; i--)
    if (!f2_basis_contains(&span, to->lanes[i])) return i;
  for (int i = chunk; i < to->n_lanes; i++)
    if (!f2_basis_contains(&span, to->lanes[i])) return i;
  return -1;
}

int shuffle_rounds(const thread_basis *from, const thread_basis *to, int chunk,
                   thread_basis *rounds) {
  thread_basis at = *from;
  int n = 0;
  if (from->word != to->word || from->n_registers != to->n_registers) return -1;
  for (;;) {
    uint64_t common[THREAD_BASIS_MAX_LANES];
    int n_common = common_lanes(&at, to, common);
    if (n_common + 1 >= to->n_lanes) break;
    int lane = next_lane(&at, to, chunk);
    /* Without chunks a vector goes to its own place at once: a swap that leaves the other lanes
     * alone needs half the shuffles. */
    int last = lane < chunk ? chunk - 1 : chunk > 0 ? at.n_lanes - 1 : lane;
    if (!step_round(&at, common, n_common, to->lanes[lane], lane < chunk ? chunk : 0, last,
                    &rounds[n]) ||
        !is_round(&at, &rounds[n]))
      return -1;
    at = rounds[n++];
  }
  if (!is_round(&at, to)) return -1;
  rounds[n++] = *to;
  return n;
}
