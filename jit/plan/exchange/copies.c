/* Lanes that hold copies take one register each: afterwards a lane has half the registers, and no
 * two lanes the same. Nothing moves between lanes, a lane selects one of two registers. Before
 * shared memory this stores every element once with all lanes at work; before and after shuffles it
 * ends and begins copies. */
#include "jit/plan/exchange/exchange_route.h"

#include "jit/plan/facts/thread_basis.h"

static bool holds(const uint64_t *vectors, int n, uint64_t x) {
  for (int i = 0; i < n; i++)
    if (vectors[i] == x) return true;
  return false;
}

/* How well lane `lane` takes register vector x: the other side has it in this lane, in a lane, in
 * no register. */
static int fitness(const thread_basis *other, int lane, uint64_t x) {
  if (other->lanes[lane] == x) return 3;
  if (holds(other->lanes, other->n_lanes, x)) return 2;
  return !holds(other->registers, other->n_registers, x);
}

/* The register above the word for that lane, the highest of equals; -1: there is none. */
static int best_register(const thread_basis *f, const thread_basis *other, int lane) {
  int best = -1;
  for (int i = f->word; i < f->n_registers; i++)
    if (best < 0 ||
        fitness(other, lane, f->registers[i]) >= fitness(other, lane, f->registers[best]))
      best = i;
  return best;
}

static void give(thread_basis *f, int position, int lane) {
  f->lanes[lane] = f->registers[position];
  f->n_registers--;
  for (int i = position; i < f->n_registers; i++) f->registers[i] = f->registers[i + 1];
  f->registers[f->n_registers] = 0;
}

int thread_basis_fill_copies(const thread_basis *f, const thread_basis *other, bool kept,
                             thread_basis *steps, bool *all) {
  thread_basis at = *f;
  int n = 0;
  *all = true;
  for (int lane = 0; lane < f->n_lanes; lane++) {
    if (f->lanes[lane] >> f->tile_bits == 0) continue;
    if (!kept && holds(other->lanes, other->n_lanes, f->lanes[lane])) continue;
    int position = best_register(&at, other, lane);
    *all &= position >= 0;
    if (position < 0) continue;
    give(&at, position, lane);
    steps[n++] = at;
  }
  return n;
}
