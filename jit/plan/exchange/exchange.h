/* One assignment of the tile to registers, lanes and warps -> another, as steps. exchange.c chooses
 * among the routes of exchange_route.c. */
#ifndef LLRT_JIT_PLAN_EXCHANGE_EXCHANGE_H
#define LLRT_JIT_PLAN_EXCHANGE_EXCHANGE_H

#include "jit/plan/draft/draft.h"

/* Log2 lanes of the 128-bit parts of a SIMD register, in which unpack instructions work; 0 on a
 * GPU. */
int draft_interleave_bits(const draft *d, int bits);
/* Appends steps that turn value `in` into the layout of *target; *out gets its number. */
llrt_status draft_exchange(draft *d, int in, const plan_value *target, int *out);

#endif
