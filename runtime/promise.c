#include "runtime/promise.h"

#include "backends/backend.h"
#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/types/dot_type.h"
#include "runtime/compute_promises.h"
#include "runtime/description.h"
#include "runtime/index_check.h"

#include <string.h>
#include <stdio.h>

/* Of a tensor without a device: a line of the host, which stores past the caches fill. */
#define HOST_ALIGN_BYTES 64

/* More alignment changes no plan. */
static int64_t coarse_bytes(const llrt_tensor *tensor) {
  return tensor->device ? tensor->device->target.enough_align_bytes : HOST_ALIGN_BYTES;
}

/* Values of indices are loaded in accesses of at most so many bytes. */
#define INDEX_ACCESS_BYTES 16

/* Extents below this are compiled in: heads, head sizes, block sizes, channels. A tile along such
 * an axis has to end where the axis does, which only a kernel that knows the extent can do without
 * waste. */
#define SMALL_EXTENT 1024

/* Of a dot: rows that the narrow side of a matrix instruction holds, and what divides tiles along N
 * and K. */
#define DOT_FEW_ROWS 16
#define DOT_MULTIPLE 256

/* Promises of extents as llrt_description_normalise leaves them, so that calls need not. */
static llrt_promise fixed_extent(int64_t extent) {
  return (llrt_promise){.multiple = extent, .min = extent, .max = extent};
}

static llrt_promise any_extent(int64_t multiple, int64_t most) {
  return (llrt_promise){.multiple = multiple, .max = most - most % multiple};
}

static int64_t most_of(int64_t extent) { return extent <= INT32_MAX ? INT32_MAX : 0; }

/* The largest power of two that divides x, at most `most` (a power of two). */
static int64_t coarse_multiple(int64_t x, int64_t most) {
  int64_t power = x & -x;
  return power == 0 || power > most ? most : power;
}

/* Whether digit i's stride is open and of an axis. A replica's is PACKED: it follows from those
 * inside. */
static bool is_promised(const storage_set *set, int tensor, int i) {
  return set->open_strides[tensor] >> i & 1 && set->storage[tensor].digit[i].axis >= 0;
}

/* Per axis, what all its open strides together are a multiple of: of a tensor without elements
 * anything. */
static void coarse_strides(const op_call *call, const storage_set *set, int tensor,
                           llrt_tensor_promise *promises) {
  const llrt_storage *storage = &set->storage[tensor];
  int64_t most = coarse_bytes(&call->tensor[tensor]) * 8 / call->bits[tensor];
  for (int axis = 0; axis < set->rank; axis++) promises->stride[axis].multiple = most;
  for (int i = 0; i < storage->n_digits && !call->empty; i++) {
    if (!is_promised(set, tensor, i)) continue;
    int64_t *multiple = &promises->stride[storage->digit[i].axis].multiple;
    *multiple = coarse_multiple(call->binding[tensor].stride[i], *multiple);
  }
}

/* A number that divides the tensor's address, or each of its pointer list. */
static int64_t address_multiple(const llrt_tensor *tensor) {
  int64_t alignment;
  if (llrt_index_has_pointers(tensor, &alignment)) return alignment;
  return (int64_t)(uintptr_t)tensor->data;
}

/* Whether an axis beside `along` has a stride that counts. */
static bool steps_along(const llrt_tensor *tensor, const llrt_index *index, int axis, int along) {
  return axis != along && index->axes >> axis & 1 && tensor->shape[axis] > 1;
}

/* The axis along which values follow each other, and what divides all else, up to the widest
 * access. */
static llrt_index_promise coarse_index(const llrt_tensor *tensor, const llrt_index *index) {
  int along = -1, bytes = llrt_dtype_bits(index->dtype) / 8;
  for (int axis = 0; axis < tensor->rank; axis++)
    if (steps_along(tensor, index, axis, -1) && index->strides[axis] == 1) along = axis;
  if (along < 0) return (llrt_index_promise){0};
  int64_t multiple = coarse_multiple((int64_t)(uintptr_t)index->data, INDEX_ACCESS_BYTES);
  for (int axis = 0; axis < tensor->rank; axis++)
    if (steps_along(tensor, index, axis, along))
      multiple = coarse_multiple(index->strides[axis] * bytes, multiple);
  return (llrt_index_promise){.along = along + 1, .multiple = (int32_t)multiple};
}

static void coarse_indices(const llrt_tensor *tensor, llrt_tensor_promise *promises) {
  memset(promises->index, 0, sizeof promises->index);
  for (int i = 0; i < tensor->n_indices; i++)
    if (tensor->indices[i].kind == LLRT_INDEX_COORDINATE)
      promises->index[i] = coarse_index(tensor, &tensor->indices[i]);
}

static bool acts_on_words(const op_description *desc) {
  return desc->n_maps > 0 && desc->maps[desc->n_maps - 1].kind == LLRT_MAP_WORD_BITS;
}

#define WORD_BYTES 4

/* Elements of a tensor that share a word on which a map acts: of the destination. */
static int64_t elements_in_word(const op_description *desc, int tensor) {
  if (tensor != 1 || !acts_on_words(desc)) return 1;
  return bits_max(8 * WORD_BYTES / llrt_dtype_bits(desc->tensors[1].dtype), 1);
}

/* Extents of a dot's axes: rows as they come from call to call, so in three classes; others as far
 * as vectors and tiles divide them. Of axis `grouped`, whose positions belong to experts, and then
 * of rows nothing is said, nor of rows where results do not depend on how many there are. */
static void coarse_dot_extents(const llrt_tensor *first, const op_dot *dot,
                               llrt_promise shape[LLRT_MAX_RANK]) {
  const int grouped = dot_grouped_axis(dot);
  for (int axis = 0; axis < first->rank; axis++) {
    int64_t extent = first->shape[axis];
    bool rows = axis == first->rank - 3 && grouped < 0 && !dot->batch_invariant;
    bool few = rows && extent <= DOT_FEW_ROWS;
    int64_t most = rows && extent <= 1 ? 1 : few ? DOT_FEW_ROWS : most_of(extent);
    bool divided = axis > first->rank - 3 && axis != grouped;
    shape[axis] = any_extent(divided ? coarse_multiple(extent, DOT_MULTIPLE) : 1, most);
  }
}

/* What accesses to expressions' tensors are multiples of. */
#define COMPUTE_MULTIPLE 16

/* Elements of a tile along memory of expressions without rows. */
static int64_t flat_tile(const llrt_tensor *tensor) {
  const plan_target *target = tensor->device ? &tensor->device->target : NULL;
  if (!target || target->simd_lanes) return COMPUTE_MULTIPLE;
  return 1ll << (target->lane_bits + target->tuning->rows_flat_bits +
                 target->tuning->rows_flat_warp_bits);
}

/* Of an axis along which nothing is joined: whole tiles, which need no code for ends, or what
 * accesses want. */
static int64_t compute_multiple(const llrt_tensor *tensor, int64_t extent) {
  int64_t tile = flat_tile(tensor);
  return extent % tile == 0 ? tile : coarse_multiple(extent, COMPUTE_MULTIPLE);
}

/* Extents of an expression's axes: of rows as they are, and those that are short, but for the axis
 * that tensors have first: there are as many rows as come, unless they are another axis's. */
static void coarse_compute_extents(op_description *desc, const op_call *call) {
  const expr_program *program = &desc->program;
  int first = 0;
  while (first < program->rank - 1 && !(program->tensor[0].axes >> first & 1)) first++;
  for (int axis = 0; axis < program->rank; axis++) {
    int64_t extent = call->tensor[0].shape[axis];
    bool row = program->reduced >> axis & 1, merged = desc->merged >> axis & 1;
    bool short_ = (axis != first || merged) && extent < SMALL_EXTENT;
    bool divided = !row && axis != first && extent > 0;
    desc->promises[0].shape[axis] =
        extent > 0 && (row || short_)
            ? fixed_extent(extent)
            : any_extent(divided ? compute_multiple(&call->tensor[0], extent) : 1, most_of(extent));
  }
}

/* Extents of a tensor's axes: small ones as they are. An empty tensor's may be odd. */
static void coarse_extents(const op_description *desc, const op_call *call, int64_t in_word,
                           const llrt_tensor *tensor, llrt_promise shape[LLRT_MAX_RANK]) {
  for (int axis = 0; axis < tensor->rank; axis++) {
    int64_t extent = tensor->shape[axis], most = call->empty ? bits_max(in_word, 2) : in_word;
    bool small = extent < SMALL_EXTENT && !call->empty;
    shape[axis] = extent > 0 && (small || desc->in_place)
                      ? fixed_extent(extent)
                      : any_extent(coarse_multiple(extent, most), most_of(extent));
  }
}

void llrt_promises_coarse(const op_call *call, const storage_set *set, op_description *desc) {
  llrt_tensor_promise *promises = desc->promises;
  int64_t in_word = elements_in_word(desc, 1);
  bool first_says = desc->kind == LLRT_OP_DOT || desc->kind == LLRT_OP_COMPUTE;
  for (int i = 0; i < call->n; i++) {
    const llrt_tensor *tensor = &call->tensor[i];
    promises[i].address.multiple = coarse_multiple(address_multiple(tensor), coarse_bytes(tensor));
    if (!first_says) coarse_extents(desc, call, in_word, tensor, promises[i].shape);
    for (int axis = 0; axis < tensor->rank && first_says; axis++)
      promises[i].shape[axis] = any_extent(1, 0);
    coarse_strides(call, set, i, &promises[i]);
    coarse_indices(tensor, &promises[i]);
  }
  if (desc->kind == LLRT_OP_DOT)
    coarse_dot_extents(&call->tensor[0], &desc->dot, promises[0].shape);
  if (desc->kind == LLRT_OP_COMPUTE) coarse_compute_extents(desc, call);
}

void llrt_promises_exact(const op_call *call, llrt_tensor_promise *promises) {
  for (int i = 0; i < call->n; i++)
    for (int axis = 0; axis < call->tensor[i].rank; axis++) {
      int64_t extent = call->tensor[i].shape[axis];
      promises[i].shape[axis] = (llrt_promise){extent, extent, extent};
    }
}

bool llrt_promises_fix_extents(const op_description *desc, int rank) {
  bool fixed = false;
  for (int i = 0; i < desc->n_tensors; i++)
    for (int axis = 0; axis < rank; axis++) {
      const llrt_promise *shape = &desc->promises[i].shape[axis];
      fixed |= shape->max > 0 && shape->min == shape->max;
    }
  return fixed;
}

bool llrt_promises_open_axis(op_description *desc, int axis) {
  int64_t in_word = elements_in_word(desc, 1);
  bool fixed = false;
  for (int i = 0; i < desc->n_tensors && desc->kind != LLRT_OP_COMPUTE; i++) {
    llrt_promise *shape = &desc->promises[i].shape[axis];
    if (shape->max == 0 || shape->min != shape->max) continue;
    *shape = any_extent(coarse_multiple(shape->max, in_word), INT32_MAX);
    fixed = true;
  }
  return fixed;
}

void llrt_promises_open_extents(op_description *desc, int rank) {
  for (int axis = 0; axis < rank; axis++) llrt_promises_open_axis(desc, axis);
}

/* ---- classes ---- */

static int64_t full_stride(const llrt_tensor *tensor) {
  return coarse_bytes(tensor) * 8 / llrt_dtype_bits(tensor->dtype);
}

static bool is_full_address(const llrt_tensor *tensor, const llrt_tensor_promise *promises) {
  return promises->address.multiple >= coarse_bytes(tensor);
}

static bool are_full_strides(const llrt_tensor *tensor, const llrt_tensor_promise *promises,
                             int rank) {
  bool full = true;
  for (int axis = 0; axis < rank; axis++)
    full &= promises->stride[axis].multiple >= full_stride(tensor);
  for (int i = 0; i < tensor->n_indices; i++)
    full &= !promises->index[i].along || promises->index[i].multiple >= INDEX_ACCESS_BYTES;
  return full;
}

/* Addresses are multiples of an element's bytes; where a map acts on words, of those that there
 * are: it does on nothing less. */
static void forget_address(op_description *desc, int tensor) {
  int64_t *multiple = &desc->promises[tensor].address.multiple;
  int64_t least = elements_in_word(desc, tensor) > 1 ? coarse_multiple(*multiple, WORD_BYTES) : 1;
  *multiple = bits_max(llrt_dtype_bits(desc->tensors[tensor].dtype) / 8, (int)least);
}

static void forget_strides(op_description *desc, int tensor) {
  llrt_tensor_promise *promises = &desc->promises[tensor];
  int64_t in_word = elements_in_word(desc, tensor);
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    llrt_promise *stride = &promises->stride[axis];
    stride->multiple = in_word > 1 ? coarse_multiple(stride->multiple, in_word) : 1;
  }
  memset(promises->index, 0, sizeof promises->index);
}

void llrt_promises_classes(const storage_set *set, op_description *desc) {
  for (int i = 0; i < set->n && desc->kind != LLRT_OP_DOT; i++) {
    const llrt_tensor *tensor = &desc->tensors[i];
    if (!is_full_address(tensor, &desc->promises[i])) forget_address(desc, i);
    if (!are_full_strides(tensor, &desc->promises[i], set->rank)) forget_strides(desc, i);
  }
}

void llrt_promises_widen(const storage_set *set, op_description *desc) {
  bool addresses = true, strides = true;
  for (int i = 0; i < set->n; i++) {
    addresses &= is_full_address(&desc->tensors[i], &desc->promises[i]);
    strides &= are_full_strides(&desc->tensors[i], &desc->promises[i], set->rank);
  }
  for (int i = 0; i < set->n; i++) {
    if (!addresses) forget_address(desc, i);
    if (!strides) forget_strides(desc, i);
  }
}

static bool implies(const llrt_promise *kept, const llrt_promise *promise) {
  int64_t multiple = kept->max > 0 && kept->min == kept->max ? kept->max : kept->multiple;
  bool divides = promise->multiple <= 1 || (multiple > 0 && multiple % promise->multiple == 0);
  return divides && kept->min >= promise->min &&
         (promise->max == 0 || (kept->max > 0 && kept->max <= promise->max));
}

static bool index_implies(const llrt_index_promise *kept, const llrt_index_promise *promise) {
  if (!promise->along) return true;
  return kept->along == promise->along && kept->multiple % bits_max(promise->multiple, 1) == 0;
}

bool llrt_promises_imply(const llrt_tensor_promise *kept, const llrt_tensor_promise *promises,
                         int n, int rank) {
  for (int i = 0; i < n; i++) {
    if (promises[i].address.multiple > 1 &&
        kept[i].address.multiple % promises[i].address.multiple != 0)
      return false;
    for (int axis = 0; axis < rank; axis++) {
      if (!implies(&kept[i].shape[axis], &promises[i].shape[axis])) return false;
      int64_t stride = promises[i].stride[axis].multiple;
      if (stride > 1 && kept[i].stride[axis].multiple % stride != 0) return false;
    }
    for (int k = 0; k < LLRT_MAX_INDICES; k++)
      if (!index_implies(&kept[i].index[k], &promises[i].index[k])) return false;
  }
  return true;
}

/* ---- checks ---- */

static bool keeps_multiple(int64_t value, const llrt_promise *promise) {
  return promise->multiple <= 1 || value % promise->multiple == 0;
}

static llrt_status check_strides(const op_call *call, const storage_set *set, int tensor,
                                 const llrt_tensor_promise *promises) {
  const llrt_storage *storage = &set->storage[tensor];
  for (int i = 0; i < storage->n_digits; i++) {
    if (!is_promised(set, tensor, i)) continue;
    int axis = storage->digit[i].axis;
    int64_t stride = call->binding[tensor].stride[i];
    if (keeps_multiple(stride, &promises->stride[axis])) continue;
    return llrt_error(LLRT_OUT_OF_CLASS, "the %s's stride of axis %d is %lld, no multiple of %lld",
                      op_tensor_called(set->roles, tensor), axis, (long long)stride,
                      (long long)promises->stride[axis].multiple);
  }
  return LLRT_OK;
}

/* "16", or "a multiple of 8, at least 16, at most 64". */
static void describe_promise(const llrt_promise *promise, char text[96]) {
  if (promise->min == promise->max && promise->max > 0) {
    snprintf(text, 96, "%lld", (long long)promise->max);
    return;
  }
  int n = 0;
  if (promise->multiple > 1)
    n += snprintf(text, 96, "a multiple of %lld", (long long)promise->multiple);
  if (promise->min > 0)
    n += snprintf(text + n, 96 - (size_t)n, "%sat least %lld", n ? ", " : "",
                  (long long)promise->min);
  if (promise->max > 0)
    snprintf(text + n, 96 - (size_t)n, "%sat most %lld", n ? ", " : "", (long long)promise->max);
}

static llrt_status check_shape(const llrt_tensor *tensor, const char *role,
                               const llrt_tensor_promise *promises) {
  for (int axis = 0; axis < tensor->rank; axis++) {
    const llrt_promise *promise = &promises->shape[axis];
    int64_t extent = tensor->shape[axis];
    bool within = extent >= promise->min && (promise->max == 0 || extent <= promise->max);
    if (within && keeps_multiple(extent, promise)) continue;
    char promised[96];
    describe_promise(promise, promised);
    return llrt_error(LLRT_OUT_OF_CLASS, "the %s's shape[%d] is %lld; promised was %s", role, axis,
                      (long long)extent, promised);
  }
  return LLRT_OK;
}

static llrt_status check_indices(const llrt_tensor *tensor, const char *role,
                                 const llrt_tensor_promise *promises) {
  for (int i = 0; i < tensor->n_indices; i++) {
    const llrt_index_promise *promise = &promises->index[i];
    const llrt_index *index = &tensor->indices[i];
    int64_t bytes = llrt_dtype_bits(index->dtype) / 8, multiple = bits_max(promise->multiple, 1);
    int along = promise->along - 1;
    if (along < 0) continue;
    bool kept = (uintptr_t)index->data % (uintptr_t)multiple == 0;
    if (steps_along(tensor, index, along, -1)) kept &= index->strides[along] == 1;
    for (int axis = 0; axis < tensor->rank; axis++)
      if (steps_along(tensor, index, axis, along))
        kept &= index->strides[axis] * bytes % multiple == 0;
    if (!kept)
      return llrt_error(
          LLRT_OUT_OF_CLASS,
          "the %s's index %d: values were promised to follow each other along axis %d, and "
          "all else to be a multiple of %lld bytes",
          role, i, along, (long long)multiple);
  }
  return LLRT_OK;
}

llrt_status llrt_promises_check(const op_call *call, const storage_set *set,
                                const llrt_tensor_promise *promises) {
  for (int i = 0; i < call->n; i++) {
    const llrt_tensor *tensor = &call->tensor[i];
    const char *role = op_tensor_called(set->roles, i);
    int64_t address = address_multiple(tensor);
    const bool has_elements = call->binding[i].span > 0; /* else none is anywhere */
    if (has_elements && !keeps_multiple(address, &promises[i].address)) {
      return llrt_error(LLRT_OUT_OF_CLASS, "the %s's address 0x%llx is no multiple of %lld bytes",
                        role, (long long)address, (long long)promises[i].address.multiple);
    }
    LLRT_TRY(check_shape(tensor, role, &promises[i]));
    if (has_elements) LLRT_TRY(check_strides(call, set, i, &promises[i]));
    LLRT_TRY(check_indices(tensor, role, &promises[i]));
  }
  return LLRT_OK;
}

/* With data unknown (NULL) nothing is promised about addresses. */
static void forget_unknown_addresses(const op_description *desc, llrt_tensor_promise *promises) {
  for (int i = 0; i < desc->n_tensors; i++) {
    int64_t alignment;
    if (llrt_index_has_pointers(&desc->tensors[i], &alignment)) continue;
    if (!desc->tensors[i].data) promises[i].address.multiple = 0;
  }
}

llrt_status llrt_op_promise_coarse(const llrt_op_desc *given) {
  LLRT_ENTRY();
  op_description own, *desc = &own;
  LLRT_TRY(llrt_description_take(given, desc));
  LLRT_REQUIRE(given->promises, "desc: promises is NULL: there is nowhere to write them");
  size_t bytes = (size_t)desc->n_tensors * sizeof *desc->promises;
  memset(given->promises, 0, bytes);
  memset(desc->promises, 0, bytes);
  LLRT_TRY(llrt_validate_desc(desc));
  storage_set set;
  LLRT_TRY(llrt_storage_set_init(desc->tensors, desc->n_tensors, desc->dot.roles, &set));
  op_call call;
  LLRT_TRY(llrt_validate_shapes(desc, desc->tensors, &set, &call));
  llrt_promises_coarse(&call, &set, desc);
  forget_unknown_addresses(desc, desc->promises);
  if (desc->kind == LLRT_OP_COMPUTE) compute_spread_promises(desc);
  memcpy(given->promises, desc->promises, bytes);
  return LLRT_OK;
}
