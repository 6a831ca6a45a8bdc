#include "runtime/validate.h"

#include "base/bits.h"
#include "base/params.h"
#include "base/status.h"
#include "jit/plan/kernel/launch.h"
#include "jit/plan/types/number.h"
#include "runtime/context.h"
#include "runtime/index_check.h"
#include "runtime/op_kinds.h"

#include <string.h>

/* ---- descriptions ---- */

static llrt_status check_dtype(llrt_dtype dtype, const char *role) {
  int bits = llrt_dtype_bits(dtype);
  LLRT_REQUIRE(bits != 0, "the %s's dtype is %d, which is none", role, (int)dtype);
  return LLRT_OK;
}

/* Differing types mean a cast of values. */
static llrt_status check_cast(llrt_dtype from, llrt_dtype to) {
  if (from == to || number_cast_exists(from, to)) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "the source is %s, the destination %s: there is no such cast",
                    llrt_dtype_name(from), llrt_dtype_name(to));
}

llrt_status llrt_validate_cast(const op_description *desc) {
  return check_cast(desc->tensors[0].dtype, desc->tensors[1].dtype);
}

/* An expression's tensors have roles by number: what is written of them its program says, and
 * llrt_validate_compute checks their indices by that. */
static llrt_status check_types(const llrt_tensor *tensors, int n, uint32_t roles) {
  bool numbered = roles == LLRT_ROLES_NUMBERED;
  for (int i = 0; i < n; i++) {
    const char *role = op_tensor_called(roles, i);
    LLRT_TRY(check_dtype(tensors[i].dtype, role));
    LLRT_REQUIRE(tensors[i].rank >= 0 && tensors[i].rank <= LLRT_MAX_RANK,
                 "the %s's rank is %d, not 0 to %d", role, tensors[i].rank, LLRT_MAX_RANK);
    LLRT_REQUIRE(llrt_params_are_zero(tensors[i].reserved, sizeof tensors[i].reserved),
                 "the %s: a reserved field is not 0", role);
    LLRT_REQUIRE(tensors[i].rank == tensors[0].rank, "the %s has rank %d, the %s %d", role,
                 tensors[i].rank, op_tensor_called(roles, 0), tensors[0].rank);
    LLRT_TRY(llrt_index_check_class(&tensors[i], role, i == PLAN_DESTINATION && !numbered));
    bool product = !numbered && roles >> LLRT_DOT_B & 1 && i == 2; /* B of a dot */
    LLRT_REQUIRE(i < 2 || numbered || product || tensors[i].n_indices == 0,
                 "the %s cannot have indices", role);
  }
  return LLRT_OK;
}

static llrt_status check_promise(const llrt_promise *promise, const char *role, const char *what) {
  LLRT_REQUIRE(promise->multiple >= 0 && promise->min >= 0 && promise->max >= 0,
               "a promise for the %s's %s is negative", role, what);
  LLRT_REQUIRE(promise->max == 0 || promise->min <= promise->max,
               "a promise for the %s's %s has min %lld above max %lld", role, what,
               (long long)promise->min, (long long)promise->max);
  return LLRT_OK;
}

static llrt_status check_index_promises(const llrt_tensor *tensor,
                                        const llrt_index_promise *promises, const char *role) {
  for (int i = 0; i < tensor->n_indices; i++) {
    LLRT_REQUIRE(promises[i].along >= 0 && promises[i].along <= tensor->rank,
                 "a promise for the %s's index %d names axis %d, the tensor has rank %d", role, i,
                 promises[i].along - 1, tensor->rank);
    LLRT_REQUIRE(promises[i].along == 0 || tensor->indices[i].axes >> (promises[i].along - 1) & 1,
                 "a promise for the %s's index %d names axis %d, along which values do not differ",
                 role, i, promises[i].along - 1);
    LLRT_REQUIRE(promises[i].multiple == 0 || bits_is_power_of_two(promises[i].multiple),
                 "a promise for the %s's index %d: %d bytes are no power of two", role, i,
                 promises[i].multiple);
  }
  return LLRT_OK;
}

/* ---- maps ---- */

static llrt_status check_permutation(const uint8_t perm[32], int map) {
  uint32_t seen = 0;
  for (int i = 0; i < 32; i++) {
    LLRT_REQUIRE(perm[i] < 32, "map %d: perm[%d] is %d, not 0 to 31", map, i, perm[i]);
    LLRT_REQUIRE(!(seen >> perm[i] & 1), "map %d: perm has bit %d twice", map, perm[i]);
    seen |= 1u << perm[i];
  }
  return LLRT_OK;
}

static llrt_status check_groups(const int64_t group[LLRT_MAX_RANK], int map) {
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++)
    LLRT_REQUIRE(group[axis] >= LLRT_GROUP_ALL && group[axis] <= (int64_t)1 << 40,
                 "map %d: group[%d] is %lld, not 1 to 2^40, 0 or LLRT_GROUP_ALL", map, axis,
                 (long long)group[axis]);
  return LLRT_OK;
}

const llrt_map *llrt_map_of_scale(const op_description *desc) {
  for (int i = 0; i < desc->n_maps; i++)
    if (desc->maps[i].kind == LLRT_MAP_SCALE) return &desc->maps[i];
  return NULL;
}

llrt_status llrt_validate_scale_types(llrt_dtype from, llrt_dtype to, llrt_dtype type) {
  if (!number_cast_exists(from, to))
    return llrt_error(LLRT_UNSUPPORTED, "%s to %s: no numbers that can be scaled",
                      llrt_dtype_name(from), llrt_dtype_name(to));
  const number_format *scale = number_format_of(type);
  if (!scale || scale->kind == NUMBER_INTEGER || scale->bits < 8 || scale->bits > 32)
    return llrt_error(LLRT_UNSUPPORTED, "scales of type %s, not a float of 8 to 32 bits",
                      llrt_dtype_name(type));
  return LLRT_OK;
}

llrt_status llrt_validate_scale(const op_description *desc) {
  if (!llrt_map_of_scale(desc)) return LLRT_OK;
  return llrt_validate_scale_types(desc->tensors[0].dtype, desc->tensors[1].dtype,
                                   desc->tensors[2].dtype);
}

llrt_status llrt_validate_map_reserved(const llrt_map *map, int number) {
  LLRT_REQUIRE(llrt_params_are_zero(map->reserved, sizeof map->reserved),
               "map %d: a reserved field is not 0", number);
  return LLRT_OK;
}

llrt_status llrt_validate_given_maps(const llrt_map *maps, int n_maps) {
  LLRT_REQUIRE(maps || n_maps == 0, "maps is NULL, n_maps %d", n_maps);
  return llrt_validate_maps(maps, n_maps);
}

llrt_status llrt_validate_maps(const llrt_map *maps, int n_maps) {
  int scales = 0;
  LLRT_REQUIRE(n_maps >= 0 && n_maps <= LLRT_MAX_MAPS, "%d maps, not 0 to %d", n_maps,
               LLRT_MAX_MAPS);
  for (int i = 0; i < n_maps; i++) {
    LLRT_TRY(llrt_validate_map_reserved(&maps[i], i));
    switch (maps[i].kind) {
    case LLRT_MAP_XOR: break;
    case LLRT_MAP_WORD_BITS:
      LLRT_REQUIRE(i + 1 == n_maps, "map %d: WORD_BITS must be the last map", i);
      LLRT_TRY(check_permutation(maps[i].perm, i));
      break;
    case LLRT_MAP_SCALE:
      LLRT_REQUIRE(++scales == 1, "map %d: a second SCALE", i);
      LLRT_TRY(check_groups(maps[i].group, i));
      break;
    default:
      return llrt_error(LLRT_INVALID_ARGUMENT, "map %d: there is no map of kind %d", i,
                        (int)maps[i].kind);
    }
  }
  return LLRT_OK;
}

/* ---- the whole ---- */

llrt_status llrt_validate_convert(const op_description *desc) {
  LLRT_TRY(llrt_validate_maps(desc->maps, desc->n_maps));
  int n = 2 + (llrt_map_of_scale(desc) != NULL);
  LLRT_REQUIRE(desc->n_tensors == n, "a convert %s has %d tensors, not %d",
               n == 3 ? "with SCALE" : "without SCALE", n, desc->n_tensors);
  LLRT_TRY(check_types(desc->tensors, desc->n_tensors, 0));
  LLRT_TRY(llrt_validate_cast(desc));
  return llrt_validate_scale(desc);
}

llrt_status llrt_validate_desc(const op_description *desc) {
  LLRT_REQUIRE(desc, "desc is NULL");
  const op_kind_row *row = llrt_op_kind_row((int)desc->kind);
  LLRT_REQUIRE(row, "there is no operation of kind %d", (int)desc->kind);
  LLRT_REQUIRE(desc->n_tensors >= 2 && desc->n_tensors <= LLRT_MAX_TENSORS,
               "an operation of %d tensors, not 2 to %d", desc->n_tensors, LLRT_MAX_TENSORS);
  bool numbered = desc->kind == LLRT_OP_COMPUTE;
  LLRT_REQUIRE(numbered ? desc->dot.roles == LLRT_ROLES_NUMBERED
                        : (desc->kind == LLRT_OP_DOT) == (desc->dot.roles != 0),
               "a dot has roles, nothing else has");
  if (desc->kind != LLRT_OP_CONVERT)
    LLRT_TRY(check_types(desc->tensors, desc->n_tensors, desc->dot.roles));
  LLRT_TRY(row->validate(desc));
  for (int i = 0; i < desc->n_tensors; i++) {
    const llrt_tensor_promise *promises = &desc->promises[i];
    const char *role = op_tensor_called(desc->dot.roles, i);
    LLRT_REQUIRE(llrt_params_are_zero(promises->reserved, sizeof promises->reserved),
                 "the %s's promises: a reserved field is not 0", role);
    LLRT_TRY(check_promise(&promises->address, role, "address"));
    LLRT_TRY(check_index_promises(&desc->tensors[i], promises->index, role));
    for (int axis = 0; axis < desc->tensors[i].rank; axis++) {
      LLRT_TRY(check_promise(&promises->shape[axis], role, "shape"));
      LLRT_TRY(check_promise(&promises->stride[axis], role, "strides"));
    }
  }
  return LLRT_OK;
}

/* ---- tensors ---- */

llrt_status llrt_validate_tensors(const llrt_tensor *tensors, int n, uint32_t roles,
                                  const void *stream) {
  LLRT_TRY(check_types(tensors, n, roles));
  const llrt_device *device = tensors[0].device;
  for (int i = 0; i < n; i++) {
    LLRT_REQUIRE(tensors[i].device, "the %s has no device", op_tensor_called(roles, i));
    if (tensors[i].device->context != device->context) {
      return llrt_error(LLRT_INVALID_ARGUMENT, "the tensors belong to two contexts");
    }
    if (tensors[i].device != device) {
      return llrt_error(LLRT_UNSUPPORTED, "the %s is on %s, the %s on %s: one call, one device",
                        op_tensor_called(roles, 0), device->info.name, op_tensor_called(roles, i),
                        tensors[i].device->info.name);
    }
  }
  return llrt_validate_stream(device, stream);
}

/* ---- shapes ---- */

static llrt_status check_scale_shape(const llrt_map *scale, const llrt_tensor *tensors) {
  for (int axis = 0; axis < tensors[0].rank; axis++) {
    int64_t group = scale->group[axis], extent = tensors[0].shape[axis];
    int64_t wanted = group == LLRT_GROUP_ALL ? 1 : bits_ceil_div(extent, group > 1 ? group : 1);
    bool nothing = extent == 0 && tensors[2].shape[axis] == 0; /* which no scale stands on */
    LLRT_REQUIRE(nothing || tensors[2].shape[axis] == wanted,
                 "the scale's shape[%d] is %lld, not %lld", axis, (long long)tensors[2].shape[axis],
                 (long long)wanted);
  }
  return LLRT_OK;
}

static llrt_status check_shapes(const llrt_tensor *tensors) {
  for (int i = 0; i < 2; i++) {
    for (int axis = 0; axis < tensors[i].rank; axis++) {
      long long extent = tensors[i].shape[axis];
      LLRT_REQUIRE(extent >= 0, "the %s's shape[%d] is %lld, not 0 or more", op_tensor_called(0, i),
                   axis, extent);
      LLRT_REQUIRE(extent == tensors[0].shape[axis],
                   "the %s's shape[%d] is %lld, the source's %lld", op_tensor_called(0, i), axis,
                   extent, (long long)tensors[0].shape[axis]);
    }
  }
  return LLRT_OK;
}

/* Extents in device memory: one address an axis. */
static llrt_status check_device_extents(const llrt_tensor *tensors, int n) {
  for (int axis = 0; axis < tensors[0].rank; axis++) {
    const int32_t *known = NULL;
    for (int i = 0; i < n; i++) {
      const int32_t *at = tensors[i].extent_ptr[axis];
      if (!at) continue;
      LLRT_REQUIRE(i < 2, "the %s has extent_ptr[%d]: its extents follow from the source's",
                   op_tensor_called(0, i), axis);
      LLRT_REQUIRE((uintptr_t)at % sizeof *at == 0, "the %s's extent_ptr[%d] is no multiple of 4",
                   op_tensor_called(0, i), axis);
      LLRT_REQUIRE(!known || known == at, "extent_ptr[%d] is another one on the %s", axis,
                   op_tensor_called(0, i));
      known = at;
    }
  }
  return LLRT_OK;
}

/* Of what is written, which has every axis but those that are reduced. */
static bool is_empty(const llrt_tensor *written, uint32_t reduced) {
  for (int axis = 0; axis < written->rank; axis++)
    if (written->shape[axis] == 0 && !(reduced >> axis & 1)) return true;
  return false;
}

llrt_status llrt_validate_shapes(const op_description *desc, const llrt_tensor *tensors,
                                 const storage_set *set, op_call *call) {
  uint32_t reduced = desc->kind == LLRT_OP_REDUCE ? desc->combine.axes : 0;
  bool compute = desc->kind == LLRT_OP_COMPUTE;
  bool dot = desc->kind == LLRT_OP_DOT || compute; /* not all tensors have all axes */
  if (compute) LLRT_TRY(llrt_validate_compute_shapes(desc, tensors, set, call->extents));
  else if (dot) LLRT_TRY(llrt_validate_dot_shapes(desc, tensors, set));
  else if (reduced) LLRT_TRY(llrt_validate_reduced_shapes(desc, tensors, set));
  else LLRT_TRY(check_shapes(tensors));
  if (set->n > 2 && !reduced && !dot) LLRT_TRY(check_scale_shape(llrt_map_of_scale(desc), tensors));
  if (!dot) LLRT_TRY(check_device_extents(tensors, set->n));
  call->n = set->n;
  call->cache = NULL;
  call->room_bytes = 0;
  call->alpha = desc->dot.alpha;
  call->beta = desc->dot.beta;
  call->empty = compute ? !llrt_compute_has_elements(&desc->program, call->extents)
                        : is_empty(&tensors[dot ? PLAN_DESTINATION : 0], reduced);
  call->scalars = desc->scalars;
  for (int i = 0; i < set->n; i++) {
    int64_t shape[LLRT_MAX_RANK];
    const char *role = op_tensor_called(set->roles, i);
    LLRT_TRY(llrt_index_check_values(&tensors[i], role));
    llrt_index_shape(&tensors[i], shape);
    call->tensor[i] = tensors[i];
    call->bits[i] = llrt_dtype_bits(tensors[i].dtype);
    call->tensor[i].storage = &set->storage[i];
    llrt_status status = llrt_storage_bind(&set->storage[i], tensors[i].rank, shape,
                                           tensors[i].strides, &call->binding[i]);
    if (status != LLRT_OK) return llrt_error_prefix(status, "the %s", role);
  }
  if (compute) memcpy(call->tensor[0].shape, call->extents, sizeof call->extents);
  else if (dot) llrt_dot_extents(desc, tensors, call->tensor[0].shape);
  return LLRT_OK;
}
