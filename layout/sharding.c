/* Shardings: which device holds which elements. */
#include "layout/mesh_rule.h"

#include "base/bits.h"
#include "base/hash.h"
#include "base/params.h"
#include "base/status.h"

#include <string.h>

uint64_t sharding_split_axes(const llrt_sharding *sharding) {
  uint64_t axes = 0;
  for (int i = 0; i < sharding->n_splits; i++) axes |= 1ull << sharding->split[i].mesh_axis;
  return axes;
}

static llrt_status validate_splits(const llrt_sharding *sharding) {
  const llrt_mesh *mesh = &sharding->mesh;
  uint64_t seen = sharding->partial;
  LLRT_REQUIRE(sharding->n_splits >= 0 && sharding->n_splits <= mesh->n_axes,
               "%d splits of a mesh with %d axes", sharding->n_splits, mesh->n_axes);
  LLRT_REQUIRE(seen >> mesh->n_axes == 0, "an axis that the mesh has not is partial");
  for (int i = 0; i < sharding->n_splits; i++) {
    const llrt_split *split = &sharding->split[i];
    LLRT_REQUIRE(split->mesh_axis >= 0 && split->mesh_axis < mesh->n_axes,
                 "split %d is over axis %d of a mesh with %d axes", i, split->mesh_axis,
                 mesh->n_axes);
    LLRT_REQUIRE(split->axis >= 0 && split->axis < sharding->rank,
                 "split %d is of axis %d, the rank is %d", i, split->axis, sharding->rank);
    LLRT_REQUIRE(!(seen >> split->mesh_axis & 1), "axis %s of the mesh is used twice",
                 mesh->name[split->mesh_axis]);
    seen |= 1ull << split->mesh_axis;
  }
  return LLRT_OK;
}

llrt_status llrt_sharding_validate(const llrt_sharding *sharding) {
  LLRT_ENTRY();
  LLRT_REQUIRE(sharding, "sharding: NULL");
  LLRT_TRY(llrt_mesh_validate(&sharding->mesh));
  LLRT_REQUIRE(sharding->rank >= 0 && sharding->rank <= LLRT_MAX_RANK, "rank %d is not in 0..%d",
               sharding->rank, LLRT_MAX_RANK);
  LLRT_REQUIRE(llrt_params_are_zero(sharding->reserved, sizeof sharding->reserved),
               "sharding: a reserved field is not 0");
  LLRT_TRY(validate_splits(sharding));
  LLRT_TRY(llrt_storage_validate(&sharding->storage));
  LLRT_REQUIRE(sharding->storage.rank == sharding->rank, "the sharding has rank %d, its storage %d",
               sharding->rank, sharding->storage.rank);
  return LLRT_OK;
}

/* The part of n positions that is number `i` of `parts`, as torch.chunk cuts. */
static void cut(int64_t n, int64_t parts, int64_t i, int64_t *begin, int64_t *extent) {
  int64_t whole = bits_ceil_div(n, parts);
  bool inside = whole > 0 && i <= n / whole; /* else i * whole may be past 2^63 */
  *begin = inside ? i * whole : n;
  *extent = n - *begin < whole ? n - *begin : whole;
}

/* A number for the position along the mesh axes in `axes`, the last fastest. */
static int64_t count_along(const llrt_mesh *mesh, uint64_t axes, const int64_t *position) {
  int64_t number = 0;
  for (int axis = 0; axis < mesh->n_axes; axis++)
    if (axes >> axis & 1) number = number * mesh->size[axis] + position[axis];
  return number;
}

void sharding_part_at(const llrt_sharding *sharding, const int64_t *shape, const int64_t *position,
                      llrt_part *part) {
  const llrt_mesh *mesh = &sharding->mesh;
  *part = (llrt_part){.copy = 0};
  for (int axis = 0; axis < sharding->rank; axis++) part->extent[axis] = shape[axis];
  for (int i = 0; i < sharding->n_splits; i++) {
    const llrt_split *split = &sharding->split[i];
    int64_t begin;
    cut(part->extent[split->axis], mesh->size[split->mesh_axis], position[split->mesh_axis], &begin,
        &part->extent[split->axis]);
    part->begin[split->axis] += begin;
  }
  uint64_t others = ~(sharding_split_axes(sharding) | sharding->partial);
  part->copy = count_along(mesh, others, position);
  part->summand = count_along(mesh, sharding->partial, position);
}

static llrt_status check_shape(const llrt_sharding *sharding, const int64_t *shape) {
  LLRT_TRY(llrt_sharding_validate(sharding));
  LLRT_REQUIRE(shape || sharding->rank == 0, "shape: NULL");
  for (int axis = 0; axis < sharding->rank; axis++)
    LLRT_REQUIRE(shape[axis] >= 0, "shape[%d] is %lld, not 0 or more", axis,
                 (long long)shape[axis]);
  return LLRT_OK;
}

llrt_status llrt_sharding_part(const llrt_sharding *sharding, const int64_t *shape, int64_t device,
                               llrt_part *part) {
  LLRT_ENTRY();
  int64_t position[LLRT_MAX_MESH_AXES];
  LLRT_REQUIRE(part, "part: NULL");
  *part = (llrt_part){.copy = 0};
  LLRT_TRY(check_shape(sharding, shape));
  LLRT_TRY(llrt_mesh_position(&sharding->mesh, device, position));
  sharding_part_at(sharding, shape, position, part);
  return LLRT_OK;
}

static int64_t holders_of(const llrt_sharding *sharding) {
  uint64_t split = sharding_split_axes(sharding);
  int64_t holders = 1;
  for (int axis = 0; axis < sharding->mesh.n_axes; axis++)
    if (!(split >> axis & 1)) holders *= sharding->mesh.size[axis];
  return holders;
}

int64_t llrt_sharding_holders(const llrt_sharding *sharding) {
  return llrt_sharding_validate(sharding) == LLRT_OK ? holders_of(sharding) : 0;
}

/* The position along the splitting axes of the device that holds coords, and coords inside its
 * part. */
static void descend(const llrt_sharding *sharding, const int64_t *shape, const int64_t *coords,
                    int64_t *position, int64_t *local) {
  int64_t extent[LLRT_MAX_RANK];
  for (int axis = 0; axis < sharding->rank; axis++) {
    extent[axis] = shape[axis];
    local[axis] = coords[axis];
  }
  for (int i = 0; i < sharding->n_splits; i++) {
    const llrt_split *split = &sharding->split[i];
    int64_t parts = sharding->mesh.size[split->mesh_axis], *n = &extent[split->axis], begin;
    int64_t *at = &position[split->mesh_axis];
    *at = local[split->axis] / bits_ceil_div(*n, parts);
    cut(*n, parts, *at, &begin, n);
    local[split->axis] -= begin;
  }
}

llrt_status llrt_sharding_find(const llrt_sharding *sharding, const int64_t *shape,
                               const int64_t *coords, int64_t holder, int64_t *device,
                               int64_t *local) {
  LLRT_ENTRY();
  int64_t position[LLRT_MAX_MESH_AXES] = {0};
  LLRT_REQUIRE(device, "device: NULL");
  *device = 0;
  LLRT_TRY(check_shape(sharding, shape));
  LLRT_REQUIRE((coords && local) || sharding->rank == 0, "coords or local: NULL");
  for (int axis = 0; axis < sharding->rank; axis++)
    LLRT_REQUIRE(coords[axis] >= 0 && coords[axis] < shape[axis],
                 "coordinate %lld is outside axis %d of %lld positions", (long long)coords[axis],
                 axis, (long long)shape[axis]);
  LLRT_REQUIRE(holder >= 0 && holder < holders_of(sharding), "holder %lld of %lld",
               (long long)holder, (long long)holders_of(sharding));
  descend(sharding, shape, coords, position, local);
  uint64_t split = sharding_split_axes(sharding);
  for (int axis = sharding->mesh.n_axes - 1; axis >= 0; axis--) {
    if (split >> axis & 1) continue;
    position[axis] = holder % sharding->mesh.size[axis];
    holder /= sharding->mesh.size[axis];
  }
  return llrt_mesh_device(&sharding->mesh, position, device);
}

/* ---- equality ---- */

/* Splits by the tensor's axis, those of one axis in the order in which they act. */
static void sort_splits(const llrt_sharding *sharding, llrt_split *sorted) {
  int n = 0;
  for (int axis = 0; axis < sharding->rank; axis++)
    for (int i = 0; i < sharding->n_splits; i++)
      if (sharding->split[i].axis == axis) sorted[n++] = sharding->split[i];
}

static bool meshes_equal(const llrt_mesh *a, const llrt_mesh *b) {
  if (a->n_axes != b->n_axes || a->first != b->first) return false;
  for (int axis = 0; axis < a->n_axes; axis++)
    if (a->size[axis] != b->size[axis] || strcmp(a->name[axis], b->name[axis]) != 0) return false;
  return true;
}

bool llrt_sharding_equal(const llrt_sharding *a, const llrt_sharding *b) {
  llrt_split x[LLRT_MAX_MESH_AXES], y[LLRT_MAX_MESH_AXES];
  if (llrt_sharding_validate(a) != LLRT_OK || llrt_sharding_validate(b) != LLRT_OK) return false;
  if (!meshes_equal(&a->mesh, &b->mesh) || a->rank != b->rank || a->partial != b->partial ||
      a->n_splits != b->n_splits)
    return false;
  sort_splits(a, x);
  sort_splits(b, y);
  for (int i = 0; i < a->n_splits; i++)
    if (x[i].mesh_axis != y[i].mesh_axis || x[i].axis != y[i].axis) return false;
  return llrt_storage_equal(&a->storage, &b->storage);
}

llrt_hash llrt_sharding_hash(const llrt_sharding *sharding) {
  llrt_split sorted[LLRT_MAX_MESH_AXES];
  llrt_hasher hasher;
  if (llrt_sharding_validate(sharding) != LLRT_OK) return (llrt_hash){0, 0};
  const llrt_mesh *mesh = &sharding->mesh;
  sort_splits(sharding, sorted);
  llrt_hasher_init(&hasher);
  llrt_hasher_add_u64(&hasher, (uint64_t)mesh->n_axes);
  llrt_hasher_add_u64(&hasher, (uint64_t)mesh->first);
  for (int axis = 0; axis < mesh->n_axes; axis++) {
    llrt_hasher_add_bytes(&hasher, mesh->name[axis], strlen(mesh->name[axis]) + 1);
    llrt_hasher_add_u64(&hasher, (uint64_t)mesh->size[axis]);
  }
  llrt_hasher_add_u64(&hasher, (uint64_t)sharding->n_splits);
  for (int i = 0; i < sharding->n_splits; i++) {
    llrt_hasher_add_u64(&hasher, (uint64_t)sorted[i].mesh_axis);
    llrt_hasher_add_u64(&hasher, (uint64_t)sorted[i].axis);
  }
  llrt_hasher_add_u64(&hasher, sharding->partial);
  llrt_hash storage = llrt_storage_hash(&sharding->storage);
  llrt_hasher_add_u64(&hasher, storage.low);
  llrt_hasher_add_u64(&hasher, storage.high);
  return llrt_hasher_finish(&hasher);
}
