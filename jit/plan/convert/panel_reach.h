/* What panels reach of memory, and what moving their elements costs. Private to jit/plan/convert.
 */
#ifndef LLRT_JIT_PLAN_CONVERT_PANEL_REACH_H
#define LLRT_JIT_PLAN_CONVERT_PANEL_REACH_H

#include "jit/plan/draft/draft.h"

/* Sets panel->elements and panel->room, both in elements: how far the positions of digits `inside`
 * (bit i: digit i) reach in tensor t's memory. False where a stride or extent is not known. */
bool panel_reach(const draft *d, int t, uint64_t inside, plan_panel *panel);
/* Whether in every block the positions of digits `inside`, those within the bounds, are stored to
 * the destination without a gap; then sets panel->ended and panel->pitch. A bound may cut the panel
 * short only along the axis that moves its address the farthest. Needs: panel->elements. */
bool panel_is_whole(const draft *d, uint64_t inside, plan_panel *panel);
/* Wavefronts of shared memory that a multiprocessor takes to move 32 bytes to the panel or from it.
 * In the time of 3.5 of them its part of memory's speed moves 32 bytes there and back. */
double panel_wavefronts(const plan_kernel *kernel);

#endif
