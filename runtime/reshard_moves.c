#include "runtime/reshard_moves.h"

#include "base/hash.h"
#include "base/params.h"
#include "base/status.h"
#include "runtime/index_check.h"
#include "runtime/reshard_parts.h"
#include "runtime/reshard_scales.h"
#include "runtime/validate.h"

#include <string.h>

/* ---- the description ---- */

/* What is PACKED outside a RUN-TIME digit would lie elsewhere with each run. */
static llrt_status check_strides(const llrt_storage *storage, const int64_t *strides,
                                 const char *role) {
  bool open = false;
  for (int i = 0; i < storage->n_digits; i++) {
    if (open && storage->digit[i].stride == LLRT_STRIDE_PACKED)
      return llrt_error(LLRT_UNSUPPORTED, "the %s's parts have PACKED digits outside RUN-TIME ones",
                        role);
    open |= storage->digit[i].stride == LLRT_STRIDE_RUNTIME;
  }
  LLRT_REQUIRE(!open || strides, "the %s's parts have RUN-TIME strides, and desc has none for them",
               role);
  return LLRT_OK;
}

static llrt_status check_side(const llrt_sharding *sharding, const int64_t *strides,
                              const char *role) {
  LLRT_REQUIRE(sharding, "the %s's sharding is NULL", role);
  llrt_status status = llrt_sharding_validate(sharding);
  if (status != LLRT_OK) return llrt_error_prefix(status, "the %s", role);
  if (sharding->storage.n_targets > 0)
    return llrt_error(LLRT_UNSUPPORTED, "the %s's parts have digits on %s", role,
                      sharding->storage.target[0]);
  return check_strides(&sharding->storage, strides, role);
}

/* Every part binds: a storage may not fit the extents of an uneven one. */
static llrt_status check_parts(const llrt_sharding *sharding, const int64_t *strides,
                               const int64_t *shape, const llrt_index *indices, int n_indices,
                               const char *role) {
  llrt_part part, before = {.begin = {-1}};
  llrt_storage_binding binding;
  for (int64_t i = 0; i < llrt_mesh_devices(&sharding->mesh); i++) {
    int64_t rank = sharding->mesh.first + i;
    if (!reshard_part(sharding, shape, rank, &part)) continue;
    bool same = i > 0 && !strides && memcmp(part.extent, before.extent, sizeof part.extent) == 0;
    before = part;
    if (same) continue;
    reshard_index_part(indices, n_indices, &part);
    llrt_status status = reshard_bind(sharding, strides, rank, &part, &binding);
    if (status != LLRT_OK)
      return llrt_error_prefix(status, "the %s of rank %lld", role, (long long)rank);
  }
  return LLRT_OK;
}

static llrt_status check_maps(const llrt_reshard_desc *desc) {
  LLRT_TRY(llrt_validate_given_maps(desc->maps, desc->n_maps));
  for (int i = 0; i < desc->n_maps && reshard_count_summands(desc->source) > 1; i++)
    if (desc->maps[i].kind == LLRT_MAP_XOR)
      return llrt_error(LLRT_UNSUPPORTED, "map %d is XOR, of a source that is summands", i);
  return LLRT_OK;
}

static llrt_status check_index(const llrt_index *index, int rank, int number, const char *role) {
  if (index->kind == LLRT_INDEX_POINTER || index->out_of_range == LLRT_RANGE_REPORT)
    return llrt_error(LLRT_UNSUPPORTED, "the %s's index %d is a pointer list, or reports", role,
                      number);
  LLRT_REQUIRE(!index->data && !index->report,
               "the %s's index %d has data or a report: a run brings values", role, number);
  LLRT_REQUIRE(index->extent >= 0, "the %s's index %d has extent %lld, not 0 or more", role, number,
               (long long)index->extent);
  for (int axis = 0; axis < rank; axis++)
    LLRT_REQUIRE(!(index->axes >> axis & 1) || index->strides[axis] >= 0,
                 "the %s's index %d has stride %lld along axis %d, not 0 or more", role, number,
                 (long long)index->strides[axis], axis);
  return LLRT_OK;
}

static llrt_status check_indices(const llrt_reshard_desc *desc, bool source) {
  const char *role = source ? "source" : "destination";
  const llrt_tensor tensor = {.rank = desc->source->rank,
                              .indices = source ? desc->source_indices : desc->destination_indices,
                              .n_indices =
                                  source ? desc->n_source_indices : desc->n_destination_indices};
  LLRT_TRY(llrt_index_check_class(&tensor, role, !source));
  if (tensor.n_indices > 0 && (desc->source->partial || desc->destination->partial))
    return llrt_error(LLRT_UNSUPPORTED, "indices of the %s, where parts are summands", role);
  for (int i = 0; i < tensor.n_indices; i++)
    LLRT_TRY(check_index(&tensor.indices[i], tensor.rank, i, role));
  return LLRT_OK;
}

static llrt_status check_scales(const llrt_reshard_desc *desc) {
  int64_t shape[LLRT_MAX_RANK] = {0};
  LLRT_REQUIRE((reshard_scale_map(desc) != NULL) == (desc->scale != NULL),
               "desc: a SCALE map and the scales' sharding go together");
  if (!desc->scale) return LLRT_OK;
  LLRT_TRY(check_side(desc->scale, NULL, "scales"));
  LLRT_REQUIRE(desc->scale->rank == desc->source->rank, "the scales have rank %d, the source %d",
               desc->scale->rank, desc->source->rank);
  LLRT_REQUIRE(desc->scale->partial == 0, "the scales are summands");
  LLRT_TRY(
      llrt_validate_scale_types(desc->source_dtype, desc->destination_dtype, desc->scale_dtype));
  const llrt_storage *to = &desc->destination->storage;
  if (to->pad == LLRT_PAD_VALUE && to->pad_value != 0)
    return llrt_error(LLRT_UNSUPPORTED, "pads of scaled elements can only be 0");
  reshard_scale_shape(desc, shape);
  return check_parts(desc->scale, NULL, shape, NULL, 0, "scales");
}

llrt_status reshard_check(const llrt_reshard_desc *desc) {
  LLRT_TRY(check_side(desc->source, desc->source_strides, "source"));
  LLRT_TRY(check_side(desc->destination, desc->destination_strides, "destination"));
  LLRT_REQUIRE(desc->source->rank == desc->destination->rank,
               "the source has rank %d, the destination %d", desc->source->rank,
               desc->destination->rank);
  LLRT_REQUIRE(desc->shape || desc->source->rank == 0, "shape is NULL");
  for (int axis = 0; axis < desc->source->rank; axis++)
    LLRT_REQUIRE(desc->shape[axis] >= 0, "shape[%d] is %lld, not 0 or more", axis,
                 (long long)desc->shape[axis]);
  LLRT_REQUIRE(llrt_dtype_bits(desc->source_dtype) && llrt_dtype_bits(desc->destination_dtype),
               "a dtype is none");
  LLRT_REQUIRE(desc->reserved == 0, "desc: a reserved field is not 0");
  LLRT_REQUIRE(desc->path >= 0 && desc->path <= LLRT_RESHARD_NCCL, "desc: path is %d, not 0 to %d",
               desc->path, LLRT_RESHARD_NCCL);
  LLRT_REQUIRE(desc->access >= 0 && desc->access <= LLRT_RESHARD_READ,
               "desc: access is %d, not 0 to %d", desc->access, LLRT_RESHARD_READ);
  LLRT_REQUIRE(desc->parts >= 0 && desc->parts <= LLRT_RESHARD_MAX_PARTS,
               "desc: parts is %d, not 0 to %d", desc->parts, LLRT_RESHARD_MAX_PARTS);
  LLRT_TRY(check_maps(desc));
  LLRT_REQUIRE(reshard_count_summands(desc->source) <= RESHARD_MAX_SUMMANDS,
               "%lld summands; at most %d are added",
               (long long)reshard_count_summands(desc->source), RESHARD_MAX_SUMMANDS);
  LLRT_TRY(check_indices(desc, true));
  LLRT_TRY(check_indices(desc, false));
  LLRT_TRY(check_parts(desc->source, desc->source_strides, desc->shape, desc->source_indices,
                       desc->n_source_indices, "source"));
  LLRT_TRY(check_parts(desc->destination, desc->destination_strides, desc->shape,
                       desc->destination_indices, desc->n_destination_indices, "destination"));
  return check_scales(desc);
}

static void add_indices(llrt_hasher *hasher, const llrt_index *indices, int n) {
  llrt_hasher_add_u64(hasher, (uint64_t)n);
  for (int i = 0; i < n; i++) {
    llrt_hasher_add_u64(hasher, (uint64_t)indices[i].axis << 32 | (uint64_t)indices[i].dtype);
    llrt_hasher_add_u64(hasher, (uint64_t)indices[i].axes << 32 | indices[i].folded);
    llrt_hasher_add_u64(hasher, (uint64_t)indices[i].out_of_range);
    llrt_hasher_add_u64(hasher, (uint64_t)indices[i].extent);
    for (int axis = 0; axis < LLRT_MAX_RANK; axis++)
      if (indices[i].axes >> axis & 1)
        llrt_hasher_add_u64(hasher, (uint64_t)indices[i].strides[axis]);
  }
}

static void add_strides(llrt_hasher *hasher, const llrt_sharding *sharding,
                        const int64_t *strides) {
  uint32_t open = reshard_open_axes(&sharding->storage);
  for (int64_t i = 0; i < llrt_mesh_devices(&sharding->mesh) && open; i++)
    for (int axis = 0; axis < sharding->rank; axis++)
      if (open >> axis & 1)
        llrt_hasher_add_u64(hasher,
                            (uint64_t)strides[(sharding->mesh.first + i) * LLRT_MAX_RANK + axis]);
}

llrt_hash reshard_hash(const llrt_reshard_desc *desc, int32_t ranks) {
  llrt_hasher hasher;
  llrt_hash side[2] = {llrt_sharding_hash(desc->source), llrt_sharding_hash(desc->destination)};
  llrt_hasher_init(&hasher);
  for (int i = 0; i < 2; i++) {
    llrt_hasher_add_u64(&hasher, side[i].low);
    llrt_hasher_add_u64(&hasher, side[i].high);
  }
  llrt_hasher_add_u64(&hasher, (uint64_t)ranks);
  for (int axis = 0; axis < desc->source->rank; axis++)
    llrt_hasher_add_u64(&hasher, (uint64_t)desc->shape[axis]);
  llrt_hasher_add_u64(&hasher, (uint64_t)desc->source_dtype);
  llrt_hasher_add_u64(&hasher, (uint64_t)desc->destination_dtype);
  llrt_hasher_add_u64(&hasher, (uint64_t)desc->path);
  llrt_hasher_add_u64(&hasher, (uint64_t)desc->parts);
  llrt_hasher_add_u64(&hasher, (uint64_t)desc->access);
  for (int i = 0; i < desc->n_maps; i++) {
    llrt_hasher_add_u64(&hasher, (uint64_t)desc->maps[i].kind);
    llrt_hasher_add_u64(&hasher, desc->maps[i].constant);
    llrt_hasher_add_bytes(&hasher, desc->maps[i].perm, sizeof desc->maps[i].perm);
    for (int axis = 0; axis < desc->source->rank; axis++)
      llrt_hasher_add_u64(&hasher, (uint64_t)desc->maps[i].group[axis]);
  }
  add_indices(&hasher, desc->source_indices, desc->n_source_indices);
  add_indices(&hasher, desc->destination_indices, desc->n_destination_indices);
  add_strides(&hasher, desc->source, desc->source_strides);
  add_strides(&hasher, desc->destination, desc->destination_strides);
  if (desc->scale) {
    llrt_hash scale = llrt_sharding_hash(desc->scale);
    llrt_hasher_add_u64(&hasher, scale.low);
    llrt_hasher_add_u64(&hasher, scale.high);
    llrt_hasher_add_u64(&hasher, (uint64_t)desc->scale_dtype);
  }
  return llrt_hasher_finish(&hasher);
}

/* ---- moves ---- */

/* Which copy of a part of the source serves rank `to`: its own, where it has it; else copies take
 * turns. */
static int64_t copy_for(const llrt_reshard_desc *desc, const llrt_part *from, int64_t to) {
  llrt_part own;
  bool has = reshard_part(desc->source, desc->shape, to, &own) && own.summand == from->summand &&
             reshard_same_box(&own, from);
  return has ? own.copy : (to - desc->destination->mesh.first) % reshard_count_copies(desc->source);
}

static llrt_status each_sent(const llrt_reshard_desc *desc, int64_t rank, reshard_visit *visit,
                             void *user) {
  llrt_part from, to;
  int64_t first = desc->destination->mesh.first;
  int64_t n = llrt_mesh_devices(&desc->destination->mesh);
  if (!reshard_part(desc->source, desc->shape, rank, &from)) return LLRT_OK;
  for (int64_t i = 1; i <= n; i++) {
    int64_t other = first + ((rank - first) % n + n + i) % n;
    reshard_move move = {.n_from = 1, .from = {(int)rank}, .to = (int)other};
    if (!reshard_part(desc->destination, desc->shape, other, &to) || to.summand != 0) continue;
    if (!reshard_overlap(desc->source->rank, &from, &to, move.begin, move.extent)) continue;
    if (copy_for(desc, &from, other) == from.copy)
      LLRT_TRY(reshard_each_scaled(desc, &move, visit, user));
  }
  return LLRT_OK;
}

static llrt_status each_received(const llrt_reshard_desc *desc, int64_t rank, reshard_visit *visit,
                                 void *user) {
  llrt_part from, to;
  int64_t first = desc->source->mesh.first, n = llrt_mesh_devices(&desc->source->mesh);
  if (!reshard_part(desc->destination, desc->shape, rank, &to) || to.summand != 0) return LLRT_OK;
  for (int64_t i = 1; i <= n; i++) {
    int64_t other = first + ((rank - first) % n + n + i) % n;
    reshard_move move = {.n_from = 1, .from = {(int)other}, .to = (int)rank};
    reshard_part(desc->source, desc->shape, other, &from);
    if (copy_for(desc, &from, rank) != from.copy) continue;
    if (reshard_overlap(desc->source->rank, &from, &to, move.begin, move.extent))
      LLRT_TRY(reshard_each_scaled(desc, &move, visit, user));
  }
  return LLRT_OK;
}

/* The ranks whose parts are added up where `first` has the first summand. */
static void find_summands(const llrt_reshard_desc *desc, const llrt_part *first, int64_t to,
                          reshard_move *move) {
  const llrt_mesh *mesh = &desc->source->mesh;
  for (int64_t i = 0; i < llrt_mesh_devices(mesh); i++) {
    llrt_part part;
    reshard_part(desc->source, desc->shape, mesh->first + i, &part);
    if (!reshard_same_box(&part, first) || part.copy != copy_for(desc, &part, to)) continue;
    move->from[part.summand] = (int)(mesh->first + i);
  }
}

static llrt_status each_gathered(const llrt_reshard_desc *desc, int64_t rank, reshard_visit *visit,
                                 void *user) {
  const llrt_mesh *mesh = &desc->source->mesh;
  llrt_part from, to;
  if (!reshard_part(desc->destination, desc->shape, rank, &to) || to.summand != 0) return LLRT_OK;
  int64_t n = llrt_mesh_devices(mesh);
  for (int64_t i = 1; i <= n; i++) {
    int64_t other = mesh->first + ((rank - mesh->first) % n + n + i) % n;
    reshard_move move = {.n_from = (int)reshard_count_summands(desc->source), .to = (int)rank};
    reshard_part(desc->source, desc->shape, other, &from);
    if (from.summand != 0 || from.copy != copy_for(desc, &from, rank)) continue;
    if (!reshard_overlap(desc->source->rank, &from, &to, move.begin, move.extent)) continue;
    find_summands(desc, &from, rank, &move);
    LLRT_TRY(reshard_each_scaled(desc, &move, visit, user));
  }
  return LLRT_OK;
}

llrt_status reshard_each_move(const llrt_reshard_desc *desc, int64_t rank, reshard_visit *visit,
                              void *user) {
  if (reshard_count_summands(desc->source) > 1) return each_gathered(desc, rank, visit, user);
  return desc->access == LLRT_RESHARD_READ ? each_received(desc, rank, visit, user)
                                           : each_sent(desc, rank, visit, user);
}

int reshard_runner(const llrt_reshard_desc *desc, const reshard_move *move) {
  bool reads = desc->access == LLRT_RESHARD_READ || reshard_count_summands(desc->source) > 1;
  return reads ? move->to : move->from[0];
}

typedef struct crossing {
  const llrt_reshard_desc *desc;
  bool found;
} crossing;

static llrt_status note_crossing(void *user, const reshard_move *move) {
  crossing *c = user;
  c->found |= move->from[0] != move->to;
  if (move->scale >= 0)
    c->found |= !reshard_has_scales(c->desc, reshard_runner(c->desc, move), move);
  return LLRT_OK;
}

bool reshard_crosses(const llrt_reshard_desc *desc) {
  const llrt_mesh *mesh =
      desc->access == LLRT_RESHARD_READ ? &desc->destination->mesh : &desc->source->mesh;
  crossing c = {.desc = desc, .found = reshard_count_summands(desc->source) > 1};
  for (int64_t i = 0; i < llrt_mesh_devices(mesh) && !c.found; i++)
    reshard_each_move(desc, mesh->first + i, note_crossing, &c);
  return c.found;
}

bool reshard_fills(const llrt_reshard_desc *desc, int64_t rank) {
  llrt_part part;
  llrt_storage_binding binding;
  const llrt_sharding *to = desc->destination;
  if (!reshard_part(to, desc->shape, rank, &part)) return false;
  if (desc->n_destination_indices > 0) return false; /* pads stay, as llrt_index has it */
  if (reshard_bind(to, desc->destination_strides, rank, &part, &binding) != LLRT_OK ||
      binding.span == 0)
    return false;
  bool pads = false;
  for (int axis = 0; axis < to->rank; axis++) pads |= binding.padded[axis] != part.extent[axis];
  return part.summand != 0 || (pads && to->storage.pad == LLRT_PAD_VALUE);
}
