/* How much memory a panel covers, and what moving its elements costs. Private to
 * jit/plan/convert. */
#ifndef LLRT_JIT_PLAN_CONVERT_PANEL_REACH_H
#define LLRT_JIT_PLAN_CONVERT_PANEL_REACH_H

#include "jit/plan/draft/draft.h"

/* Sets panel->elements and panel->room, both in elements of tensor t: from the first to behind the
 * last that the positions of digits `inside` (bit i: digit i) have in its memory, with the bounds
 * and without. False where a stride or an extent of these digits is not known. */
bool panel_reach(const draft *d, int t, uint64_t inside, plan_panel *panel);

/* Whether in every block the positions of digits `inside` that the bounds leave are stored to the
 * destination without a gap. If so, sets panel->ended (1 + the bound that may end a panel early; 0:
 * none) and panel->pitch (elements of a position of that bound's axis). Such a bound is of the axis
 * with the largest stride alone. Needs: panel->elements. */
bool panel_is_whole(const draft *d, uint64_t inside, plan_panel *panel);

/* Wavefronts of shared memory, on average, in which a multiprocessor moves 32 bytes into the panel
 * or out of it. 3.5 take as long as its share of the memory's bandwidth takes for these bytes,
 * there and back. */
double panel_wavefronts(const plan_kernel *kernel);

#endif
