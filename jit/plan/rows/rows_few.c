/* Outputs in slots that an index chooses, of few positions: a decoder's step appends one token of
 * each sequence to a cache, whose slots lie in blocks of their own. Such slots fill no sectors
 * together, and a multiprocessor has a block or none: what it waits for is all the time there is.
 * So there is a variant for them, whose tile has no positions for the sake of slots and half as
 * many elements, and which loads what rows share with the rows. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"

/* Positions for each multiprocessor, at most. */
#define MOST_OF_UNIT 4

/* The axis of the positions for which an index chooses an output's; -1: there is none. */
static int slots_axis(const op_description *desc) {
  for (int t = 0; t < desc->n_tensors; t++) {
    const llrt_tensor *tensor = &desc->tensors[t];
    if (!desc->program.tensor[t].output || tensor->n_indices != 1) continue;
    const llrt_index *index = &tensor->indices[0];
    if (index->kind == LLRT_INDEX_COORDINATE && bits_count(index->axes) == 1)
      return bits_lowest(index->axes);
  }
  return -1;
}

bool rows_few(const op_description *desc, const plan_target *target, plan_range *range) {
  int axis = slots_axis(desc);
  *range = (plan_range){.min_elements = 0};
  if (axis < 0 || target->simd_lanes || desc->program.reduced >> axis & 1) return false;
  range->max_extent[axis] = MOST_OF_UNIT * PLAN_MEASURED_UNITS;
  return true;
}
