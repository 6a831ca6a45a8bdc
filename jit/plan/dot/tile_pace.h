/* The pace of tiles (jit/plan/kernel/pace.h): from how a block is laid out to the clocks that its
 * parts take, by constants that were fitted to measurements (tile_constants.h). */
#ifndef LLRT_JIT_PLAN_DOT_TILE_PACE_H
#define LLRT_JIT_PLAN_DOT_TILE_PACE_H

#include "jit/plan/kernel/pace.h"

void tile_pace(const tile_facts *facts, plan_pace *out);

#endif
