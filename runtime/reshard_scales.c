#include "runtime/reshard_scales.h"

#include "base/bits.h"
#include "base/status.h"
#include "runtime/reshard_parts.h"

#include <string.h>

const llrt_map *reshard_scale_map(const llrt_reshard_desc *desc) {
  for (int i = 0; i < desc->n_maps; i++)
    if (desc->maps[i].kind == LLRT_MAP_SCALE) return &desc->maps[i];
  return NULL;
}

/* Positions of an axis that share a scale; LLRT_GROUP_ALL: all of them. */
static int64_t group_of(const llrt_map *map, int axis) {
  return map->group[axis] == 0 ? 1 : map->group[axis];
}

void reshard_scale_shape(const llrt_reshard_desc *desc, int64_t *shape) {
  const llrt_map *map = reshard_scale_map(desc);
  for (int axis = 0; axis < desc->source->rank; axis++) {
    int64_t group = group_of(map, axis);
    shape[axis] = group == LLRT_GROUP_ALL ? 1 : bits_ceil_div(desc->shape[axis], group);
  }
}

void reshard_scale_box(const llrt_reshard_desc *desc, const reshard_move *move, int64_t *begin,
                       int64_t *extent) {
  const llrt_map *map = reshard_scale_map(desc);
  for (int axis = 0; axis < desc->source->rank; axis++) {
    int64_t group = group_of(map, axis);
    begin[axis] = group == LLRT_GROUP_ALL ? 0 : move->begin[axis] / group;
    extent[axis] = group == LLRT_GROUP_ALL ? 1 : bits_ceil_div(move->extent[axis], group);
  }
}

bool reshard_has_scales(const llrt_reshard_desc *desc, int64_t rank, const reshard_move *move) {
  int64_t shape[LLRT_MAX_RANK], begin[LLRT_MAX_RANK], extent[LLRT_MAX_RANK];
  llrt_part part;
  reshard_scale_shape(desc, shape);
  reshard_scale_box(desc, move, begin, extent);
  if (!reshard_part(desc->scale, shape, rank, &part)) return false;
  for (int axis = 0; axis < desc->source->rank; axis++)
    if (begin[axis] < part.begin[axis] ||
        begin[axis] + extent[axis] > part.begin[axis] + part.extent[axis])
      return false;
  return true;
}

/* ---- pieces ---- */

/* Which copy of a part of the scales serves the move. */
static int64_t copy_for(const llrt_reshard_desc *desc, const int64_t *shape, const llrt_part *part,
                        const reshard_move *move) {
  const int first[2] = {move->from[0], move->to};
  llrt_part own;
  for (int i = 0; i < 2; i++)
    if (reshard_part(desc->scale, shape, first[i], &own) && reshard_same_box(&own, part))
      return own.copy;
  return move->to % reshard_count_copies(desc->scale);
}

/* The elements whose scales the part has, as a part of the tensor. */
static void spread(const llrt_reshard_desc *desc, const llrt_part *part, llrt_part *elements) {
  const llrt_map *map = reshard_scale_map(desc);
  *elements = *part;
  for (int axis = 0; axis < desc->source->rank; axis++) {
    int64_t group = group_of(map, axis), whole = desc->shape[axis];
    elements->begin[axis] = group == LLRT_GROUP_ALL ? 0 : part->begin[axis] * group;
    elements->extent[axis] =
        group == LLRT_GROUP_ALL ? part->extent[axis] * whole : part->extent[axis] * group;
  }
}

/* The pieces of a box that begins with groups, or lies in one, along every axis. */
static llrt_status each_part(const llrt_reshard_desc *desc, const reshard_move *box,
                             reshard_visit *visit, void *user) {
  const llrt_mesh *mesh = &desc->scale->mesh;
  int64_t shape[LLRT_MAX_RANK];
  llrt_part whole = {.copy = 0};
  memcpy(whole.begin, box->begin, sizeof whole.begin);
  memcpy(whole.extent, box->extent, sizeof whole.extent);
  reshard_scale_shape(desc, shape);
  for (int64_t i = 0; i < llrt_mesh_devices(mesh); i++) {
    llrt_part part, elements;
    reshard_move piece = *box;
    reshard_part(desc->scale, shape, mesh->first + i, &part);
    if (copy_for(desc, shape, &part, box) != part.copy) continue;
    spread(desc, &part, &elements);
    if (!reshard_overlap(desc->source->rank, &whole, &elements, piece.begin, piece.extent))
      continue;
    piece.scale = (int)(mesh->first + i);
    LLRT_TRY(visit(user, &piece));
  }
  return LLRT_OK;
}

/* Along each axis what comes before the first beginning of a group is cut off. */
llrt_status reshard_each_scaled(const llrt_reshard_desc *desc, const reshard_move *move,
                                reshard_visit *visit, void *user) {
  const llrt_map *map = reshard_scale_map(desc);
  int64_t ahead[LLRT_MAX_RANK];
  int rank = desc->source->rank;
  reshard_move box = *move;
  box.scale = -1;
  if (!map) return visit(user, &box);
  for (int axis = 0; axis < rank; axis++) {
    int64_t group = group_of(map, axis);
    int64_t past = group == LLRT_GROUP_ALL ? 0 : move->begin[axis] % group;
    ahead[axis] = past == 0 ? 0 : group - past;
    if (ahead[axis] > move->extent[axis]) ahead[axis] = move->extent[axis];
  }
  for (unsigned first = 0; first < 1u << rank; first++) { /* bit a: what is ahead along axis a */
    bool some = true;
    for (int axis = 0; axis < rank; axis++) {
      bool cut = first >> axis & 1;
      box.begin[axis] = move->begin[axis] + (cut ? 0 : ahead[axis]);
      box.extent[axis] = cut ? ahead[axis] : move->extent[axis] - ahead[axis];
      some &= box.extent[axis] > 0;
    }
    if (some) LLRT_TRY(each_part(desc, &box, visit, user));
  }
  return LLRT_OK;
}
