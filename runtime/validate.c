#include "runtime/validate.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/dot_type.h"
#include "jit/plan/number.h"
#include "runtime/context.h"
#include "runtime/index_check.h"

#define DESTINATION 1 /* of a convert: the tensor that is written */

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

llrt_status llrt_validate_cast(const llrt_op_desc *desc) {
  return check_cast(desc->tensors[0].dtype, desc->tensors[1].dtype);
}

static llrt_status check_types(const llrt_tensor *tensors, int n, uint32_t roles) {
  for (int i = 0; i < n; i++) {
    const char *role = llrt_tensor_role(roles, i);
    LLRT_TRY(check_dtype(tensors[i].dtype, role));
    LLRT_REQUIRE(tensors[i].rank >= 0 && tensors[i].rank <= LLRT_MAX_RANK,
                 "the %s's rank is %d, not 0 to %d", role, tensors[i].rank, LLRT_MAX_RANK);
    LLRT_REQUIRE(tensors[i].rank == tensors[0].rank, "the %s has rank %d, the %s %d", role,
                 tensors[i].rank, llrt_tensor_role(roles, 0), tensors[0].rank);
    LLRT_TRY(llrt_index_check_class(&tensors[i], role, i == DESTINATION));
    LLRT_REQUIRE(i < 2 || tensors[i].n_indices == 0, "the %s cannot have indices", role);
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

static llrt_status check_index_promises(const llrt_tensor *tensor, const llrt_index_promise *promises,
                                        const char *role) {
  for (int i = 0; i < tensor->n_indices; i++) {
    LLRT_REQUIRE(promises[i].along >= 0 && promises[i].along <= tensor->rank,
                 "a promise for the %s's index %d names axis %d of %d", role, i, promises[i].along - 1,
                 tensor->rank);
    LLRT_REQUIRE(promises[i].along == 0 || tensor->indices[i].axes >> (promises[i].along - 1) & 1,
                 "a promise for the %s's index %d names axis %d, along which values do not differ", role, i,
                 promises[i].along - 1);
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
                 "map %d: group[%d] is %lld", map, axis, (long long)group[axis]);
  return LLRT_OK;
}

const llrt_map *llrt_map_of_scale(const llrt_op_desc *desc) {
  for (int i = 0; i < desc->n_maps; i++)
    if (desc->maps[i].kind == LLRT_MAP_SCALE) return &desc->maps[i];
  return NULL;
}

llrt_status llrt_validate_scale(const llrt_op_desc *desc) {
  llrt_dtype from = desc->tensors[0].dtype, to = desc->tensors[1].dtype;
  if (!llrt_map_of_scale(desc)) return LLRT_OK;
  if (!number_cast_exists(from, to))
    return llrt_error(LLRT_UNSUPPORTED, "%s to %s: no numbers that can be scaled",
                      llrt_dtype_name(from), llrt_dtype_name(to));
  const number_format *scale = number_format_of(desc->tensors[2].dtype);
  if (!scale || scale->kind == NUMBER_INTEGER || scale->bits < 8 || scale->bits > 32)
    return llrt_error(LLRT_UNSUPPORTED, "scales of type %s",
                      llrt_dtype_name(desc->tensors[2].dtype));
  return LLRT_OK;
}

llrt_status llrt_validate_maps(const llrt_map *maps, int n_maps) {
  int scales = 0;
  LLRT_REQUIRE(n_maps >= 0 && n_maps <= LLRT_MAX_MAPS, "%d maps, not 0 to %d", n_maps,
               LLRT_MAX_MAPS);
  for (int i = 0; i < n_maps; i++) {
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
      default: return llrt_error(LLRT_INVALID_ARGUMENT, "map %d: there is no map of kind %d", i,
                                 (int)maps[i].kind);
    }
  }
  return LLRT_OK;
}

/* ---- the whole ---- */

/* A convert's own. */
static llrt_status check_convert(const llrt_op_desc *desc) {
  LLRT_TRY(llrt_validate_maps(desc->maps, desc->n_maps));
  int n = 2 + (llrt_map_of_scale(desc) != NULL);
  LLRT_REQUIRE(desc->n_tensors == n, "a convert %s has %d tensors, not %d",
               n == 3 ? "with SCALE" : "without SCALE", n, desc->n_tensors);
  LLRT_TRY(check_types(desc->tensors, desc->n_tensors, 0));
  LLRT_TRY(llrt_validate_cast(desc));
  return llrt_validate_scale(desc);
}

llrt_status llrt_validate_desc(const llrt_op_desc *desc) {
  LLRT_REQUIRE(desc, "desc is NULL");
  LLRT_REQUIRE(desc->kind >= LLRT_OP_CONVERT && desc->kind <= LLRT_OP_DOT,
               "there is no operation of kind %d", (int)desc->kind);
  LLRT_REQUIRE(desc->n_tensors >= 2 && desc->n_tensors <= LLRT_MAX_TENSORS, "an operation of %d tensors",
               desc->n_tensors);
  LLRT_REQUIRE((desc->kind == LLRT_OP_DOT) == (desc->dot.roles != 0), "a dot has roles, nothing else has");
  if (desc->kind == LLRT_OP_CONVERT) {
    LLRT_TRY(check_convert(desc));
  } else {
    LLRT_TRY(check_types(desc->tensors, desc->n_tensors, desc->dot.roles));
    LLRT_TRY(desc->kind == LLRT_OP_DOT    ? llrt_validate_dot(desc)
             : desc->kind == LLRT_OP_SCAN ? llrt_validate_scan(desc)
                                          : llrt_validate_reduce(desc));
  }
  for (int i = 0; i < desc->n_tensors; i++) {
    const llrt_tensor_promise *promises = &desc->promises[i];
    const char *role = llrt_tensor_role(desc->dot.roles, i);
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
    LLRT_REQUIRE(tensors[i].device, "the %s has no device", llrt_tensor_role(roles, i));
    if (tensors[i].device->context != device->context) {
      return llrt_error(LLRT_INVALID_ARGUMENT, "the tensors belong to two contexts");
    }
    if (tensors[i].device != device) {
      return llrt_error(LLRT_UNSUPPORTED, "the %s is on %s, the %s on %s: one call, one device",
                        llrt_tensor_role(roles, 0), device->info.name, llrt_tensor_role(roles, i),
                        tensors[i].device->info.name);
    }
  }
  return llrt_validate_stream(device, stream);
}

/* ---- shapes ---- */

static llrt_status check_scale_shape(const llrt_map *scale, const llrt_tensor *tensors) {
  for (int axis = 0; axis < tensors[0].rank; axis++) {
    int64_t group = scale->group[axis], extent = tensors[0].shape[axis];
    int64_t wanted =
        group == LLRT_GROUP_ALL ? extent > 0 : bits_ceil_div(extent, group > 1 ? group : 1);
    LLRT_REQUIRE(tensors[2].shape[axis] == wanted, "the scale's shape[%d] is %lld, not %lld", axis,
                 (long long)tensors[2].shape[axis], (long long)wanted);
  }
  return LLRT_OK;
}

static llrt_status check_shapes(const llrt_tensor *tensors) {
  for (int i = 0; i < 2; i++) {
    for (int axis = 0; axis < tensors[i].rank; axis++) {
      long long extent = tensors[i].shape[axis];
      LLRT_REQUIRE(extent >= 0, "the %s's shape[%d] is %lld", llrt_tensor_role(0, i), axis, extent);
      LLRT_REQUIRE(extent == tensors[0].shape[axis],
                   "the %s's shape[%d] is %lld, the source's %lld", llrt_tensor_role(0, i), axis,
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
                   llrt_tensor_role(0, i), axis);
      LLRT_REQUIRE((uintptr_t)at % sizeof *at == 0, "the %s's extent_ptr[%d] is no multiple of 4",
                   llrt_tensor_role(0, i), axis);
      LLRT_REQUIRE(!known || known == at, "extent_ptr[%d] is another one on the %s", axis,
                   llrt_tensor_role(0, i));
      known = at;
    }
  }
  return LLRT_OK;
}

/* How many positions along an axis have the elements in them that share bytes with others: the two of a byte
 * are half of it apart. 1: the two do not differ along this axis. */
static int64_t byte_group(const llrt_storage *storage, const llrt_storage_binding *binding, int axis) {
  const llrt_layout *tile = &storage->tile;
  int64_t start = 1;
  if (llrt_layout_in_bits(tile) > 0) {
    uint64_t bits = tile->column[0] >> llrt_layout_out_shift(tile, axis) & bits_mask(tile->out[axis].bits);
    return bits ? (int64_t)2 << bits_highest(bits) : 1;
  }
  for (int i = 0; i < storage->n_digits; i++) {
    if (storage->digit[i].axis != axis) continue;
    if (binding->stride[i] == 1 || binding->stride[i] == -1) return 2 * start;
    start *= binding->extent[i];
  }
  return 1;
}

/* Elements of 4 bits are written by the byte: both elements of every byte of the destination are there. */
static llrt_status check_whole_bytes(const op_call *call, const storage_set *set) {
  const llrt_storage *storage = &set->storage[DESTINATION];
  const llrt_storage_binding *binding = &call->binding[DESTINATION];
  if (call->bits[DESTINATION] >= 8 || call->empty) return LLRT_OK;
  for (int axis = 0; axis < storage->rank; axis++) {
    bool pads = storage->pad == LLRT_PAD_VALUE;
    int64_t written = pads ? binding->padded[axis] : call->tensor[DESTINATION].shape[axis];
    int64_t group = byte_group(storage, binding, axis);
    bool later = group > 1 && call->tensor[DESTINATION].extent_ptr[axis];
    if (!later && written % group == 0) continue;
    if (later)
      return llrt_error(LLRT_UNSUPPORTED,
                        "4-bit elements are written by the byte: axis %d of the destination has an "
                        "extent that only the device knows",
                        axis);
    return llrt_error(LLRT_UNSUPPORTED,
                      "4-bit elements are written by the byte: axis %d of the destination has %lld "
                      "positions, no multiple of %lld",
                      axis, (long long)written, (long long)group);
  }
  return LLRT_OK;
}

llrt_status llrt_validate_shapes(const llrt_op_desc *desc, const llrt_tensor *tensors,
                                 const storage_set *set, op_call *call) {
  uint32_t reduced = desc->kind == LLRT_OP_REDUCE ? desc->combine.axes : 0;
  bool dot = desc->kind == LLRT_OP_DOT;
  if (dot) LLRT_TRY(llrt_validate_dot_shapes(desc, tensors, set));
  else if (reduced) LLRT_TRY(llrt_validate_reduced_shapes(desc, tensors, set));
  else LLRT_TRY(check_shapes(tensors));
  if (set->n > 2 && !reduced && !dot) LLRT_TRY(check_scale_shape(llrt_map_of_scale(desc), tensors));
  if (!dot) LLRT_TRY(check_device_extents(tensors, set->n));
  call->n = set->n;
  call->empty = false;
  const llrt_tensor *whole = &tensors[dot ? DESTINATION : 0]; /* has every axis along which nothing is joined */
  for (int axis = 0; axis < whole->rank; axis++)
    call->empty |= whole->shape[axis] == 0 && !(reduced >> axis & 1);
  for (int i = 0; i < set->n; i++) {
    int64_t shape[LLRT_MAX_RANK];
    const char *role = llrt_tensor_role(set->roles, i);
    LLRT_TRY(llrt_index_check_values(&tensors[i], role));
    llrt_index_shape(&tensors[i], shape);
    call->tensor[i] = tensors[i];
    call->bits[i] = llrt_dtype_bits(tensors[i].dtype);
    call->tensor[i].storage = &set->storage[i];
    llrt_status status = llrt_storage_bind(&set->storage[i], tensors[i].rank, shape,
                                           tensors[i].strides, &call->binding[i]);
    if (status != LLRT_OK) return llrt_error_prefix(status, "the %s", role);
  }
  if (dot) llrt_dot_extents(desc, tensors, call->tensor[0].shape);
  return check_whole_bytes(call, set);
}

/* ---- memory ---- */

/* One place of an address: offsets 0, stride, … (extent - 1) * stride. */
typedef struct reach {
  int64_t extent, stride;
} reach;

/* Whether sum d_i * stride_i = target has a solution with |d_i| < extent_i over places [0, n),
 * strides falling with i. `span` is the largest sum that these places reach. Every call costs one
 * of *budget; with none left the answer is yes. */
static bool can_cancel(const reach *places, int n, int64_t target, int64_t span, int *budget) {
  if (--*budget < 0 || target == 0) return true;
  if (target < 0) target = -target;
  if (n == 0 || target > span) return false;
  int64_t inner = span - (places[0].extent - 1) * places[0].stride;
  int64_t low = (target - inner + places[0].stride - 1) / places[0].stride;
  if (target < inner) low = -((inner - target) / places[0].stride);
  for (int64_t d = low; d < places[0].extent && d * places[0].stride <= target + inner; d++) {
    if (d <= -places[0].extent) continue;
    if (can_cancel(places + 1, n - 1, target - d * places[0].stride, inner, budget)) return true;
  }
  return false;
}

/* The tile (offsets 0 .. 2^bits - 1) and the digits of more than one position, strides falling.
 * Returns how many. */
static int collect_places(const llrt_storage *storage, const llrt_storage_binding *binding,
                          reach *places) {
  int n = 0;
  reach tile = {(int64_t)1 << llrt_layout_in_bits(&storage->tile), 1};
  if (tile.extent > 1) places[n++] = tile;
  for (int i = 0; i < storage->n_digits; i++) {
    int64_t stride = binding->stride[i]; /* a reversed digit reaches as far down as another up */
    if (binding->extent[i] > 1) places[n++] = (reach){binding->extent[i], stride < 0 ? -stride : stride};
  }
  for (int i = 1; i < n; i++) {
    reach moved = places[i];
    int at = i;
    for (; at > 0 && places[at - 1].stride < moved.stride; at--) places[at] = places[at - 1];
    places[at] = moved;
  }
  return n;
}

/* No two elements share an offset. Two that did would differ by d_i at each place, not all zero,
 * with sum d_i * stride_i = 0. Strides above all that lies inside them exclude it at once;
 * otherwise the outermost place that differs (d >= 1) is tried against the places inside it. */
static llrt_status check_no_sharing(const llrt_storage *storage, const llrt_storage_binding *binding,
                                    const char *role) {
  reach places[LLRT_MAX_DIGITS + 1];
  int n = collect_places(storage, binding, places);
  int64_t span = 0;
  int budget = 4096; /* calls; ordinary storages need none */
  for (int i = n - 1; i >= 0; i--) {
    for (int64_t d = 1; d < places[i].extent && d * places[i].stride <= span; d++) {
      bool shared = can_cancel(places + i + 1, n - i - 1, d * places[i].stride, span, &budget);
      if (budget < 0) {
        return llrt_error(LLRT_UNSUPPORTED,
                          "cannot tell whether the %s puts two elements at one offset", role);
      }
      LLRT_REQUIRE(!shared, "the %s puts two elements at one offset (stride %lld)", role,
                   (long long)places[i].stride);
    }
    span += (places[i].extent - 1) * places[i].stride;
  }
  return LLRT_OK;
}

static llrt_status check_address(const llrt_tensor *tensor, int64_t span, int bits, const char *role) {
  int64_t alignment;
  if (llrt_index_has_pointers(tensor, &alignment)) {
    LLRT_REQUIRE(alignment % bits_max(bits / 8, 1) == 0,
                 "the %s's pointer list promises %lld bytes, less than an element", role,
                 (long long)alignment);
    return LLRT_OK;
  }
  if (span == 0) return LLRT_OK; /* every value of an index will be out of range */
  LLRT_REQUIRE(tensor->data, "the %s's data is NULL", role);
  LLRT_REQUIRE((uintptr_t)tensor->data % (unsigned)bits_max(bits / 8, 1) == 0,
               "the %s's data is not aligned to its %d-bit elements", role, bits);
  return LLRT_OK;
}

/* Where the values of indices decide what is read and what is written, no overlap can be told: within one
 * pool blocks are copied to others. */
static bool overlap_is_open(const op_call *call, int read) {
  int64_t alignment;
  bool open = call->tensor[read].n_indices > 0 && call->tensor[DESTINATION].n_indices > 0;
  open |= llrt_index_has_pointers(&call->tensor[read], &alignment);
  open |= llrt_index_has_pointers(&call->tensor[DESTINATION], &alignment);
  return open || call->binding[read].span == 0 || call->binding[DESTINATION].span == 0;
}

/* The tensor that may lie where the destination does, or -1. */
static int tensor_in_place(const llrt_op_desc *desc) {
  if (!desc->in_place) return -1;
  return desc->kind == LLRT_OP_DOT ? dot_tensor(&desc->dot, LLRT_DOT_C) : 0;
}

/* Source and destination in place, or what is read overlapping what is written; values: tensor 2 is
 * written, too. */
static llrt_status check_overlap(const llrt_op_desc *desc, const op_call *call, bool values) {
  int same = tensor_in_place(desc);
  uintptr_t begin[LLRT_MAX_TENSORS] = {0}, end[LLRT_MAX_TENSORS] = {0};
  for (int i = 0; i < call->n; i++) {
    int64_t bytes;
    begin[i] = (uintptr_t)call->tensor[i].data;
    bool past = llrt_storage_bytes(&call->binding[i], call->bits[i], &bytes) != LLRT_OK ||
                __builtin_add_overflow(begin[i], (uintptr_t)bytes, &end[i]);
    LLRT_REQUIRE(!past, "the %s ends past the address space", llrt_tensor_role(desc->dot.roles, i));
  }
  int indexed = call->tensor[0].n_indices > 0 ? 0 : DESTINATION;
  if (same >= 0) {
    LLRT_REQUIRE(begin[same] == begin[1], "the operation works in place; the tensors begin at two addresses");
  } else if (desc->kind == LLRT_OP_CONVERT && begin[0] == begin[1] && !overlap_is_open(call, 0)) {
    if (call->tensor[indexed].n_indices > 0)
      return llrt_error(LLRT_UNSUPPORTED,
                        "source and destination begin at one address: with an index on the %s, elements "
                        "would be read after others were written over them",
                        llrt_tensor_role(0, indexed));
    return llrt_error(LLRT_UNSUPPORTED, "source and destination begin at one address, and the operation "
                                        "was not prepared in_place");
  }
  for (int i = 0; i < call->n; i++)
    LLRT_REQUIRE(i == DESTINATION || i == same || overlap_is_open(call, i) || end[i] <= begin[1] ||
                     end[1] <= begin[i],
                 "%s and %s overlap", llrt_tensor_role(desc->dot.roles, i),
                 llrt_tensor_role(desc->dot.roles, DESTINATION));
  bool apart = call->n < 3 || !values || end[0] <= begin[2] || end[2] <= begin[0];
  LLRT_REQUIRE(apart, "source and values overlap");
  return LLRT_OK;
}

llrt_status llrt_validate_memory(const llrt_op_desc *desc, const storage_set *set, const op_call *call) {
  bool values = desc->kind == LLRT_OP_REDUCE;
  for (int i = 0; i < call->n; i++)
    LLRT_TRY(check_address(&call->tensor[i], call->binding[i].span, call->bits[i],
                           llrt_tensor_role(set->roles, i)));
  LLRT_TRY(check_overlap(desc, call, values));
  if (desc->kind == LLRT_OP_DOT) LLRT_TRY(llrt_validate_dot_memory(desc, set));
  for (int i = DESTINATION; i < (values ? call->n : 2); i++)
    if (!set->packed[i])
      LLRT_TRY(check_no_sharing(&set->storage[i], &call->binding[i], llrt_tensor_role(set->roles, i)));
  return LLRT_OK;
}
