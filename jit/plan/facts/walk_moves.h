/* What a walk moves, for warps that leave out its last turn (plan_step.by_warps). */
#ifndef LLRT_JIT_PLAN_FACTS_WALK_MOVES_H
#define LLRT_JIT_PLAN_FACTS_WALK_MOVES_H

#include "jit/plan/kernel/plan.h"

/* What one walk keeps in a ring, another one reads there. Who left out a turn that others keep or
 * read would make them read what nobody has stored; so walks that share rings, directly or by way
 * of others, leave out by the same bounds: those that keep all tensors that any of them moves. */
typedef struct plan_moves {
  int value;        /* of the whole tile, if the walk moves such; -1: it moves nothing */
  bool tells_whole; /* value varies along all that bounds are about: where it is inside, all is */
  uint32_t tensors; /* bit t: the walk, or one that shares rings with it, moves tensor t */
  bool may_leave;   /* all of those are by_warps */
} plan_moves;

/* at: the walk's step. */
plan_moves plan_walk_moves(const plan_kernel *kernel, int at);

#endif
