/* What panels reach of memory, and what moving their elements costs. Private to jit/plan. */
#ifndef LLRT_JIT_PLAN_PANEL_REACH_H
#define LLRT_JIT_PLAN_PANEL_REACH_H

#include "jit/plan/draft.h"

/* Sets panel->elements and room: what digits `inside` (bit i: digit i) reach of tensor t. False where that is not known. */
bool panel_reach(const draft *d, int t, uint64_t inside, plan_panel *panel);
/* Whether what they number within the bounds follows each other on the destination without a gap, in every block; sets
 * panel->ended and pitch. Where a bound ends the panel, its axis moves it the farthest. Needs: panel->elements. */
bool panel_is_whole(const draft *d, uint64_t inside, plan_panel *panel);
/* Whether banks of shared memory keep the kernel's elements waiting for longer than memory does. */
bool panel_is_slow(const plan_kernel *kernel);

#endif
