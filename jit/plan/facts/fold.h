/* What a fold leaves of a value, and which of its bits it joins. */
#ifndef LLRT_JIT_PLAN_FACTS_FOLD_H
#define LLRT_JIT_PLAN_FACTS_FOLD_H

#include "jit/plan/kernel/plan.h"

/* Value laid out as `in` after elements were joined until the tile has so many bits: columns beyond
 * go from the registers, those of lanes (host: the others move up) and warps become 0. */
llrt_status plan_fold_laid_out(const plan_kernel *kernel, const plan_value *in, int tile_bits,
                               int bits, plan_value *out);

/* The register bits of a value whose columns lie beyond `tile_bits`, lowest column first. */
int plan_fold_bits(const plan_value *in, plan_dim dim, int tile_bits, int bit[LLRT_MAX_BITS]);

/* Whether a PLAN_FOLD step joins words of two 16-bit floats. */
bool plan_folds_halves(const plan_step *step);

/* Whether a PLAN_FOLD_LANES step is one instruction a register (target.fold_lanes): integers of 32
 * bits across all lanes of a warp, of which some may hold copies where joining these changes
 * nothing. */
bool plan_folds_at_once(const plan_kernel *kernel, const plan_step *step);
/* Whether one of pairs finds the best key first, and the position of that by such an instruction.
 */
bool plan_folds_pairs_at_once(const plan_kernel *kernel, const plan_step *step);

#endif
