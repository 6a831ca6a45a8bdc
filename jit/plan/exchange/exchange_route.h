/* The routes of an in-block conversion (exchange.c chooses one), and the steps that they are made
 * of. Private to jit/plan/exchange. */
#ifndef LLRT_JIT_PLAN_EXCHANGE_EXCHANGE_ROUTE_H
#define LLRT_JIT_PLAN_EXCHANGE_EXCHANGE_ROUTE_H

#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/thread_basis.h"

/* One conversion as its routes see it. A route appends its steps, or says by *found that it has
 * none. */
typedef struct exchange_ends {
  draft *d;
  const plan_value *start, *target;
  thread_basis from, to;
  const uint8_t *matrix; /* exchange_by_matrices: plan_matrix_kind of store and load */
} exchange_ends;

typedef llrt_status exchange_route(const exchange_ends *c, int *at, bool *found);

exchange_route exchange_by_shuffles, exchange_by_buffer, exchange_by_formed_words,
    exchange_by_matrices;

/* Appends `kind` from value *at to the thread basis `to`; *at becomes its result. */
llrt_status exchange_step(draft *d, plan_step_kind kind, const thread_basis *to,
                          const plan_value *warps_of, int *at);
/* Appends the registers' rounds from value *at in thread basis `from` to thread basis `to` of the
 * same lanes. */
llrt_status exchange_rename(draft *d, const thread_basis *from, const thread_basis *to,
                            const plan_value *warps_of, int *at);
/* Appends n lane shuffles, of which each makes the next thread basis. */
llrt_status exchange_shuffle_to(const exchange_ends *c, const thread_basis *rounds, int n, int *at);

/* shuffle.c: the rounds from one thread basis to another within a warp; each is one PLAN_SHUFFLE.
 * Returns the number of rounds, or -1 where whole words cannot make it. rounds has
 * THREAD_BASIS_MAX_LANES + 1 entries; the last is *to. chunk: log2 lanes within which the target
 * interleaves registers at the cost of one instruction; 0: none. Precondition: same word. */
int shuffle_rounds(const thread_basis *from, const thread_basis *to, int chunk,
                   thread_basis *rounds);

/* rename.c: the PLAN_REGISTERS steps from one thread basis to another of equal lanes. Returns how
 * many; rounds has THREAD_BASIS_MAX_RENAMES entries and the last is *to. */
#define THREAD_BASIS_MAX_RENAMES 4
int rename_rounds(const thread_basis *from, const thread_basis *to, thread_basis *rounds);

/* packed.c: the way from one thread basis to another where a word is two elements: shuffles of
 * words lead from `from` to `before` and from `after` to `to`, PLAN_REGISTERS from `before` to
 * `after`. Three registers are always enough; false when it takes more than there are. */
bool packed_middle(const thread_basis *from, const thread_basis *to, thread_basis *before,
                   thread_basis *after);
/* What both sides of a buffer agree on where at least one moves matrices (plan_matrix_kind; 0
 * stores, 1 loads): the 16 bytes of a row. `lead` is a side that moves matrices. */
typedef struct swizzle_rows {
  uint8_t matrix[2];
  int lead, n;
  uint64_t at[8];
} swizzle_rows;

/* Finds rows for the kinds in rows->matrix, and both sides with their registers on a basis of the
 * same span that begins with what they have of a row. False where matrices do not divide the sides.
 */
bool thread_basis_fit_rows(const thread_basis *from, const thread_basis *to, int element_bits,
                           swizzle_rows *rows, thread_basis fitted[2]);

/* copies.c: the thread bases on the way to one in which lanes that hold copies have taken a
 * register above the word, one a step; each step from `f` on is one PLAN_SHUFFLE, and so is each
 * step back. Copies that `other` has as well are left where !kept. *all: no other copies are left.
 * Returns the number of steps, THREAD_BASIS_MAX_LANES at most. */
int thread_basis_fill_copies(const thread_basis *f, const thread_basis *other, bool kept,
                             thread_basis *steps, bool *all);
/* swizzle.c: a shared buffer through which `from` becomes `to`, in 2^rep_bits repetitions where the
 * tile is larger than shared memory; vector: log2 elements of an access of either side. The
 * cheapest of a few candidates by exact count. held: bytes that a buffer may take whole, without
 * parts for the sake of more blocks. Errors: UNSUPPORTED where the tile does not fit. */
typedef struct swizzle {
  plan_buffer buffer;
  int vector[2], rep_bits;
} swizzle;
/* The buffer with rows as thread_basis_fit_rows found them; *found: false where a matrix or a byte
 * would be torn. */
llrt_status swizzle_plan_rows(const plan_target *target, int held, int element_bits,
                              const thread_basis *from, const thread_basis *to,
                              const swizzle_rows *rows, swizzle *out, bool *found);
llrt_status swizzle_plan(const plan_target *target, int held, int element_bits,
                         const thread_basis *from, const thread_basis *to, swizzle *out);

#endif
