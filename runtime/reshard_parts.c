#include "runtime/reshard_parts.h"

#include "layout/mesh_rule.h"

#include <string.h>

bool reshard_part(const llrt_sharding *sharding, const int64_t *shape, int64_t rank,
                  llrt_part *part) {
  int64_t position[LLRT_MAX_MESH_AXES], rest = rank - sharding->mesh.first;
  *part = (llrt_part){.copy = 0};
  if (rest < 0 || rest >= llrt_mesh_devices(&sharding->mesh)) return false;
  for (int axis = sharding->mesh.n_axes - 1; axis >= 0; axis--) {
    position[axis] = rest % sharding->mesh.size[axis];
    rest /= sharding->mesh.size[axis];
  }
  sharding_part_at(sharding, shape, position, part);
  return true;
}

bool reshard_overlap(int axes, const llrt_part *a, const llrt_part *b, int64_t *begin,
                     int64_t *extent) {
  for (int axis = 0; axis < axes; axis++) {
    int64_t end_a = a->begin[axis] + a->extent[axis], end_b = b->begin[axis] + b->extent[axis];
    int64_t end = end_a < end_b ? end_a : end_b;
    begin[axis] = a->begin[axis] > b->begin[axis] ? a->begin[axis] : b->begin[axis];
    extent[axis] = end - begin[axis];
    if (extent[axis] <= 0) return false;
  }
  return true;
}

bool reshard_same_box(const llrt_part *a, const llrt_part *b) {
  return memcmp(a->begin, b->begin, sizeof a->begin) == 0 &&
         memcmp(a->extent, b->extent, sizeof a->extent) == 0;
}

llrt_status reshard_bind(const llrt_sharding *sharding, const int64_t *strides, int64_t rank,
                         const llrt_part *part, llrt_storage_binding *binding) {
  return llrt_storage_bind(&sharding->storage, sharding->rank, part->extent,
                           strides ? strides + rank * LLRT_MAX_RANK : NULL, binding);
}

void reshard_index_part(const llrt_index *indices, int n, llrt_part *part) {
  for (int i = 0; i < n; i++) {
    part->begin[indices[i].axis] = 0;
    part->extent[indices[i].axis] = indices[i].extent;
    for (int axis = 0; axis < LLRT_MAX_RANK; axis++)
      if (indices[i].folded >> axis & 1) {
        part->begin[axis] = 0;
        part->extent[axis] = 1;
      }
  }
}

uint32_t reshard_open_axes(const llrt_storage *storage) {
  uint32_t axes = 0;
  for (int i = 0; i < storage->n_digits; i++)
    if (storage->digit[i].stride == LLRT_STRIDE_RUNTIME) axes |= 1u << storage->digit[i].axis;
  return axes;
}

int64_t reshard_count_summands(const llrt_sharding *sharding) {
  int64_t n = 1;
  for (int axis = 0; axis < sharding->mesh.n_axes; axis++)
    if (sharding->partial >> axis & 1) n *= sharding->mesh.size[axis];
  return n;
}

int64_t reshard_count_copies(const llrt_sharding *sharding) {
  return llrt_sharding_holders(sharding) / reshard_count_summands(sharding);
}
