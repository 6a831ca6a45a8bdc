/* Which lanes shared memory serves together. */
#ifndef LLRT_JIT_PLAN_FACTS_SHARED_LANES_H
#define LLRT_JIT_PLAN_FACTS_SHARED_LANES_H

#include "jit/plan/kernel/plan.h"

/* The lanes whose XOR is bit `bit` of a lane's number inside the phase of shared memory that serves
 * it, for accesses of `bytes` bytes. */
uint64_t plan_phase_lane(const plan_target *target, int bytes, bool load, int bit);
/* Brings the addresses of a warp's lanes into the order in which shared memory serves them. */
void plan_order_lanes(const plan_target *target, int bytes, bool load, int64_t *address);

#endif
