/* What an operation makes of axes and tensors: the only file of this room that knows operations by
 * their kind. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/dot_type.h"

#include <string.h>

void draft_set_roles(draft *d) {
  const op_description *desc = d->desc;
  draft_roles *roles = &d->roles;
  memset(roles, 0, sizeof *roles);
  roles->results = desc->n_tensors;
  switch (desc->kind) {
  case LLRT_OP_CONVERT: roles->moves = true; break;
  case LLRT_OP_REDUCE:
    roles->reduced = roles->may_be_empty = desc->combine.axes;
    roles->has_positions = combine_is_arg(desc->combine.op);
    break;
  case LLRT_OP_SCAN: roles->scanned = desc->combine.axes; break;
  case LLRT_OP_COMPUTE:
    roles->reduced = roles->may_be_empty = desc->program.reduced;
    roles->group = desc->dot.group;
    roles->has_positions = roles->one_promise = roles->keeps_pads = roles->refined_only = true;
    roles->moves_halves = true;
    break;
  case LLRT_OP_DOT:
    if (dot_grouped_axis(&desc->dot) >= 0) {
      roles->grouped = 1u << dot_grouped_axis(&desc->dot);
      roles->ends = dot_tensor(&desc->dot, LLRT_DOT_ENDS);
      roles->sorted = dot_is_sorted(&desc->dot);
    }
    roles->group = desc->dot.group;
    roles->results = PLAN_DESTINATION + 1;
    roles->zeros_count = roles->keeps_pads = roles->one_promise = roles->refined_only = true;
    break;
  }
}

void draft_sum_along(draft *d, int summed, int first_tiled) {
  d->summed = summed;
  d->first_tiled = first_tiled;
  d->roles.reduced = 1u << summed;
  d->roles.tiled = (uint32_t)(bits_mask(d->desc->tensors[0].rank) & ~bits_mask(first_tiled));
}

static bool has(uint32_t axes, int axis) { return axis >= 0 && axes >> axis & 1; }

bool draft_is_reduced(const draft *d, int axis) { return has(d->roles.reduced, axis); }

bool draft_is_scanned(const draft *d, int axis) { return has(d->roles.scanned, axis); }

bool draft_is_tiled(const draft *d, int axis) { return has(d->roles.tiled, axis); }

bool draft_is_walked(const draft *d, int axis) {
  return has(d->roles.reduced | d->roles.scanned, axis) ||
         (d->walks_panel && axis == d->panel_axis);
}

/* Tensors 1 and 2 are what a reduce writes. */
bool draft_is_dropped(const draft *d, int t, int axis) {
  if (d->roles.group) return d->roles.group[t][axis] == LLRT_GROUP_ALL;
  return draft_is_reduced(d, axis) && (t == 1 || t == 2);
}

bool draft_is_written(const draft *d, int t) {
  return d->desc->kind == LLRT_OP_COMPUTE ? d->desc->program.tensor[t].output
                                          : t >= PLAN_DESTINATION && t < d->roles.results;
}

int64_t draft_group(const draft *d, int t, int axis) {
  if (draft_is_dropped(d, t, axis)) return LLRT_GROUP_ALL;
  if (d->roles.group) return d->roles.group[t][axis] ? d->roles.group[t][axis] : 1;
  for (int i = 0; t == SCALE_TENSOR && i < d->desc->n_maps; i++)
    if (d->desc->maps[i].kind == LLRT_MAP_SCALE)
      return d->desc->maps[i].group[axis] ? d->desc->maps[i].group[axis] : 1;
  return 1;
}

bool draft_is_indexed(const draft *d, int tensor, int axis, bool *folded) {
  const llrt_tensor *of = &d->desc->tensors[tensor];
  bool indexed = false;
  *folded = false;
  for (int i = 0; i < of->n_indices; i++) {
    const llrt_index *index = &of->indices[i];
    bool own = index->axis == axis;
    indexed |= own;
    *folded |= (own && index->kind == LLRT_INDEX_POINTER) || index->folded >> axis & 1;
  }
  return indexed || *folded;
}

bool draft_has_pointers(const draft *d, int tensor) {
  const llrt_tensor *of = &d->desc->tensors[tensor];
  for (int i = 0; i < of->n_indices; i++)
    if (of->indices[i].kind == LLRT_INDEX_POINTER) return true;
  return false;
}
