/* A sharding as one storage, whose places on the mesh are digits on targets. */
#include "layout/mesh_rule.h"

#include "base/status.h"
#include "layout/storage_rule.h"

#include <string.h>

static llrt_status add_digit(llrt_storage *out, const llrt_mesh *mesh, int mesh_axis, int axis) {
  if (out->n_digits == LLRT_MAX_DIGITS || out->n_targets == LLRT_MAX_TARGETS)
    return llrt_error(LLRT_UNSUPPORTED, "a storage has at most %d digits on %d targets",
                      LLRT_MAX_DIGITS, LLRT_MAX_TARGETS);
  memcpy(out->target[out->n_targets++], mesh->name[mesh_axis], LLRT_NAME_BYTES);
  out->digit[out->n_digits++] = (llrt_digit){.extent = mesh->size[mesh_axis],
                                             .stride = 1,
                                             .axis = axis,
                                             .target = (int16_t)out->n_targets};
  return LLRT_OK;
}

/* The local rule with its extents as numbers, so that digits may follow. */
static llrt_status settle(const llrt_sharding *sharding, const int64_t *extent, llrt_storage *out) {
  llrt_storage_binding binding;
  *out = sharding->storage;
  for (int i = 0; i < out->n_digits; i++)
    if (out->digit[i].stride == LLRT_STRIDE_RUNTIME)
      return llrt_error(LLRT_UNSUPPORTED, "the strides of each part are known at run time alone");
  LLRT_TRY(llrt_storage_bind(out, out->rank, extent, NULL, &binding));
  for (int axis = 0; axis < out->rank; axis++)
    if (binding.padded[axis] != extent[axis])
      return llrt_error(LLRT_UNSUPPORTED, "parts have pads along axis %d", axis);
  for (int i = 0; i < out->n_digits; i++) out->digit[i].extent = binding.extent[i];
  return LLRT_OK;
}

static llrt_status convert(const llrt_sharding *sharding, const int64_t *shape, llrt_storage *out) {
  const llrt_mesh *mesh = &sharding->mesh;
  int64_t position[LLRT_MAX_MESH_AXES] = {0}, whole[LLRT_MAX_RANK];
  llrt_part part;
  if (sharding->partial)
    return llrt_error(LLRT_UNSUPPORTED, "parts are summands: no storage says that");
  sharding_part_at(sharding, shape, position, &part);
  for (int axis = 0; axis < sharding->rank; axis++) whole[axis] = part.extent[axis];
  for (int i = 0; i < sharding->n_splits; i++)
    if (__builtin_mul_overflow(whole[sharding->split[i].axis],
                               mesh->size[sharding->split[i].mesh_axis],
                               &whole[sharding->split[i].axis]))
      whole[sharding->split[i].axis] = INT64_MAX;
  for (int axis = 0; axis < sharding->rank; axis++)
    if (shape[axis] == 0 || whole[axis] != shape[axis])
      return llrt_error(LLRT_UNSUPPORTED, "axis %d of %lld positions is not split evenly", axis,
                        (long long)shape[axis]);
  LLRT_TRY(settle(sharding, part.extent, out));
  for (int i = sharding->n_splits - 1; i >= 0; i--)
    LLRT_TRY(add_digit(out, mesh, sharding->split[i].mesh_axis, sharding->split[i].axis));
  uint64_t split = sharding_split_axes(sharding);
  for (int axis = mesh->n_axes - 1; axis >= 0; axis--)
    if (!(split >> axis & 1)) LLRT_TRY(add_digit(out, mesh, axis, LLRT_AXIS_REPLICA));
  return llrt_storage_validate(out);
}

llrt_status llrt_sharding_storage(const llrt_sharding *sharding, const int64_t *shape,
                                  llrt_storage *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  *out = (llrt_storage){0};
  LLRT_TRY(llrt_sharding_validate(sharding));
  LLRT_REQUIRE(shape || sharding->rank == 0, "shape: NULL");
  for (int axis = 0; axis < sharding->rank; axis++)
    LLRT_REQUIRE(shape[axis] >= 0, "shape[%d] is %lld, not 0 or more", axis,
                 (long long)shape[axis]);
  llrt_storage result;
  llrt_status status = convert(sharding, shape, &result);
  if (status == LLRT_OK) *out = result;
  return status;
}
