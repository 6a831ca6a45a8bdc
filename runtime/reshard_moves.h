/* Which boxes of a tensor go from which rank to which, by two shardings alone. */
#ifndef LLRT_RUNTIME_RESHARD_MOVES_H
#define LLRT_RUNTIME_RESHARD_MOVES_H

#include <llrt/reshard.h>

/* Summands that one move adds up, and that one launch does: the tensors of an operation but the
 * destination. More are added in rounds. */
#define RESHARD_MAX_SUMMANDS 256
#define RESHARD_LAUNCH_SUMMANDS (LLRT_MAX_TENSORS - 1)

/* One box that one rank moves: it reads `from` and writes `to`. */
typedef struct reshard_move {
  int64_t begin[LLRT_MAX_RANK], extent[LLRT_MAX_RANK]; /* of the whole tensor; extents >= 1 */
  int n_from;                                          /* summands; 1: there are none */
  int from[RESHARD_MAX_SUMMANDS];                      /* ranks, in the order of the sum */
  int to;
  int scale; /* a rank that has all scales of the box; -1: there is no SCALE map */
} reshard_move;

/* Checks what can be said of the description alone. Errors: INVALID_ARGUMENT, UNSUPPORTED. */
llrt_status reshard_check(const llrt_reshard_desc *desc);

/* The description as its hash: equal on ranks that mean the same. */
llrt_hash reshard_hash(const llrt_reshard_desc *desc, int32_t ranks);

/* Calls visit for every move that `rank` makes: what it sends, the next rank's part first and its
 * own last, or, where ranks read (desc->access) and of summands, what it gathers. Stops at the
 * first error, which it returns. Precondition: a checked description. */
typedef llrt_status reshard_visit(void *user, const reshard_move *move);
llrt_status reshard_each_move(const llrt_reshard_desc *desc, int64_t rank, reshard_visit *visit,
                              void *user);

/* Whether any rank reads or writes memory of another: the same on all of them. */
bool reshard_crosses(const llrt_reshard_desc *desc);

/* The rank that launches a move by peers' memory: it reads or writes the others'. */
int reshard_runner(const llrt_reshard_desc *desc, const reshard_move *move);

/* Whether a rank has to fill its part before others write to it: pads with a value, or a summand
 * that gets nothing. */
bool reshard_fills(const llrt_reshard_desc *desc, int64_t rank);

#endif
