/* DTensor's placements, one for each mesh axis, and shardings. A _StridedShard is an order of
 * splits other than the mesh's: what it splits, mesh axes to its right have split before. */
#include "layout/mesh_rule.h"

#include "base/status.h"

/* Puts a split of mesh axis `at` into the list, behind those of its axis that make the split
 * factor: read from the last mesh axis to the first, so that these are there already. */
static llrt_status insert(llrt_sharding *sharding, int at, int axis, int64_t factor) {
  int64_t before = 1;
  int place = 0;
  for (; place < sharding->n_splits && before < factor; place++)
    if (sharding->split[place].axis == axis)
      before *= sharding->mesh.size[sharding->split[place].mesh_axis];
  LLRT_REQUIRE(before == factor,
               "placement %d: no splits of axis %d by mesh axes to the right make the split factor "
               "%lld",
               at, axis, (long long)factor);
  for (int i = sharding->n_splits++; i > place; i--) sharding->split[i] = sharding->split[i - 1];
  sharding->split[place] = (llrt_split){.mesh_axis = at, .axis = axis};
  return LLRT_OK;
}

static llrt_status add(llrt_sharding *sharding, int at, const llrt_placement *placement) {
  bool shard = placement->kind == LLRT_PLACE_SHARD, partial = placement->kind == LLRT_PLACE_PARTIAL;
  bool strided = placement->kind == LLRT_PLACE_STRIDED_SHARD;
  LLRT_REQUIRE(shard || strided || partial || placement->kind == LLRT_PLACE_REPLICATE,
               "placement %d: there is no kind %d", at, placement->kind);
  if (partial) sharding->partial |= 1ull << at;
  if (!shard && !strided) return LLRT_OK;
  LLRT_REQUIRE(placement->axis >= 0 && placement->axis < sharding->rank,
               "placement %d is of axis %d, the rank is %d", at, placement->axis, sharding->rank);
  LLRT_REQUIRE(!strided || placement->split_factor >= 1, "placement %d has split factor %lld", at,
               (long long)placement->split_factor);
  return insert(sharding, at, placement->axis, strided ? placement->split_factor : 1);
}

static llrt_status from_placements(const llrt_mesh *mesh, const llrt_placement *placements,
                                   const llrt_storage *storage, llrt_sharding *out) {
  LLRT_TRY(llrt_mesh_validate(mesh));
  LLRT_TRY(llrt_storage_validate(storage));
  LLRT_REQUIRE(placements, "placements: NULL");
  *out = (llrt_sharding){.mesh = *mesh, .rank = storage->rank, .storage = *storage};
  for (int at = mesh->n_axes - 1; at >= 0; at--) LLRT_TRY(add(out, at, &placements[at]));
  return llrt_sharding_validate(out);
}

llrt_status llrt_sharding_from_placements(const llrt_mesh *mesh, const llrt_placement *placements,
                                          const llrt_storage *storage, llrt_sharding *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  llrt_sharding result;
  llrt_status status = from_placements(mesh, placements, storage, &result);
  *out = status ? (llrt_sharding){0} : result;
  return status;
}

/* The product of the sizes of mesh axes right of split i's that split its axis before it. */
static int64_t factor_of(const llrt_sharding *sharding, int i) {
  const llrt_split *split = &sharding->split[i];
  int64_t factor = 1;
  for (int j = 0; j < i; j++)
    if (sharding->split[j].axis == split->axis && sharding->split[j].mesh_axis > split->mesh_axis)
      factor *= sharding->mesh.size[sharding->split[j].mesh_axis];
  return factor;
}

/* Splits over one device change nothing. */
static bool act_alike(const llrt_sharding *a, const llrt_sharding *b) {
  llrt_sharding act[2];
  const llrt_sharding *given[2] = {a, b};
  for (int t = 0; t < 2; t++) {
    act[t] = *given[t];
    act[t].n_splits = 0;
    for (int i = 0; i < given[t]->n_splits; i++)
      if (given[t]->mesh.size[given[t]->split[i].mesh_axis] > 1)
        act[t].split[act[t].n_splits++] = given[t]->split[i];
  }
  return llrt_sharding_equal(&act[0], &act[1]);
}

llrt_status llrt_sharding_to_placements(const llrt_sharding *sharding, llrt_placement *placements) {
  LLRT_ENTRY();
  llrt_sharding back;
  LLRT_REQUIRE(placements, "placements: NULL");
  LLRT_TRY(llrt_sharding_validate(sharding));
  llrt_placement made[LLRT_MAX_MESH_AXES];
  for (int at = 0; at < sharding->mesh.n_axes; at++)
    made[at] = (llrt_placement){.kind = sharding->partial >> at & 1 ? LLRT_PLACE_PARTIAL
                                                                    : LLRT_PLACE_REPLICATE};
  for (int i = 0; i < sharding->n_splits; i++) {
    int64_t factor = factor_of(sharding, i);
    made[sharding->split[i].mesh_axis] =
        factor > 1 ? (llrt_placement){.kind = LLRT_PLACE_STRIDED_SHARD,
                                      .axis = sharding->split[i].axis,
                                      .split_factor = factor}
                   : (llrt_placement){.kind = LLRT_PLACE_SHARD, .axis = sharding->split[i].axis};
  }
  LLRT_TRY(from_placements(&sharding->mesh, made, &sharding->storage, &back));
  if (!act_alike(sharding, &back))
    return llrt_error(LLRT_UNSUPPORTED, "DTensor has no placements for this order of splits");
  for (int at = 0; at < sharding->mesh.n_axes; at++) placements[at] = made[at];
  return LLRT_OK;
}
