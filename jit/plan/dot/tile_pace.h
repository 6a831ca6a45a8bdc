/* The pace of tiles (jit/plan/kernel/pace.h): from how a block is laid out to the clocks that its
 * parts take, by constants that were fitted to measurements (tile_constants.h). */
#ifndef LLRT_JIT_PLAN_DOT_TILE_PACE_H
#define LLRT_JIT_PLAN_DOT_TILE_PACE_H

#include "jit/plan/kernel/pace.h"

void tile_pace(const tile_facts *facts, plan_pace *out);

/* Of shapes whose rows begin inside sectors: how much longer boxes fetch these; */
void tile_pace_torn(plan_pace *out);
/* what it takes where blocks fetch them in common; */
void tile_pace_torn_beside(const tile_facts *facts, plan_pace *out);
/* and where no box brings what a last tile has of A alone (plan_box.rest). */
void tile_pace_absent(plan_pace *out);

#endif
