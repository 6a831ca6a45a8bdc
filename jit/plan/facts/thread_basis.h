/* A value's layout as bare vectors of tile coordinates, for the exchange planners. Lanes that hold
 * copies stand for directions outside the tile, so that a thread basis is always a basis. */
#ifndef LLRT_JIT_PLAN_FACTS_THREAD_BASIS_H
#define LLRT_JIT_PLAN_FACTS_THREAD_BASIS_H

#include "jit/plan/kernel/plan.h"
#include "layout/f2.h"

#define THREAD_BASIS_MAX_REGISTERS 24
#define THREAD_BASIS_MAX_LANES 8
#define THREAD_BASIS_MAX_WARPS 8

typedef struct thread_basis {
  int word, n_registers, n_lanes, n_warps, tile_bits;
  int iterations; /* tile bits that a loop numbers */
  int cluster;    /* the highest warps are blocks of a cluster */
  uint64_t registers[THREAD_BASIS_MAX_REGISTERS];
  uint64_t lanes[THREAD_BASIS_MAX_LANES];
  uint64_t warps[THREAD_BASIS_MAX_WARPS];
} thread_basis;

void thread_basis_of_value(const plan_value *value, thread_basis *out);

/* Both sides of an exchange: lanes that hold copies before and after stand for the same directions.
 */
void thread_basis_of_values(const plan_value *in, const plan_value *out, thread_basis *from,
                            thread_basis *to);

/* The value with `from`'s warps and iterations and this thread basis's registers, of which there
 * may be fewer or more, and lanes. */
void thread_basis_to_value(const thread_basis *f, const plan_value *from, plan_value *out);

bool thread_basis_equal(const thread_basis *a, const thread_basis *b);

/* Coordinates of a tile vector: registers from bit 0, then lanes, then warps. */
uint64_t thread_basis_coordinates(const thread_basis *f, uint64_t x);

/* `from` with its registers on another basis of the same span: first the word of `to`, then
 * registers of `to` as far as they are in the span, then from's own, freed of that word. False when
 * to's word is not in the span. */
bool thread_basis_rebase(const thread_basis *from, const thread_basis *to, thread_basis *out);

#endif
