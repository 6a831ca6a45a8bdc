/* What panels reach of memory, and what moving their elements costs. Private to jit/plan. */
#ifndef LLRT_JIT_PLAN_PANEL_REACH_H
#define LLRT_JIT_PLAN_PANEL_REACH_H

#include "jit/plan/draft.h"

/* Sets panel->elements and room: what digits `inside` (bit i: digit i) reach of tensor t. False where that is not known. */
bool panel_reach(const draft *d, int t, uint64_t inside, plan_panel *panel);
/* Whether what they number within the bounds follows each other on the destination without a gap, in every block; sets
 * panel->ended and pitch. Where a bound ends the panel, its axis moves it the farthest. Needs: panel->elements. */
bool panel_is_whole(const draft *d, uint64_t inside, plan_panel *panel);
/* Wavefronts of shared memory by which the kernel moves 32 bytes to the panel or from there. Memory moves those there and back in
 * the time of 3.5 of a multiprocessor. */
double panel_wavefronts(const plan_kernel *kernel);

#endif
