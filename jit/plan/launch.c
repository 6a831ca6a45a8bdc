/* From a launch recipe and bound tensors to arguments and grid: all the arithmetic of a run. */
#include "jit/plan/launch.h"

#include "base/bits.h"
#include "base/status.h"

#include <assert.h>

void plan_magic(int64_t d, uint64_t *multiplier, uint64_t *shift) {
  /* m = ceil(2^(63+s) / d) with s = ceil(log2 d): the error m d - 2^(63+s) is below d <= 2^s, so for
   * n < 2^63 the quotient's error stays below 1/d (Granlund and Montgomery 1994, theorem 4.2). */
  assert(d >= 1);
  int s = d == 1 ? 0 : bits_highest((uint64_t)(d - 1)) + 1;
  unsigned __int128 power = (unsigned __int128)1 << (63 + s);
  *multiplier = (uint64_t)((power + (uint64_t)d - 1) / (uint64_t)d);
  *shift = (uint64_t)s;
}

/* What a launch is computed from. */
typedef struct bound_call {
  const plan_launch *launch;
  const llrt_tensor *tensors;
  const llrt_storage_binding *bindings;
} bound_call;

static int64_t extent_of(const bound_call *call, int axis, bool padded) {
  return padded ? call->bindings[PLAN_DESTINATION].padded[axis] : call->tensors[0].shape[axis];
}

static int64_t place_count(const bound_call *call, const plan_grid_place *place) {
  if (place->axis < 0) return place->factor;
  return bits_ceil_div(extent_of(call, place->axis, place->padded), place->factor);
}

/* The product of all places; -1 past 2^62. */
static int64_t count_positions(const bound_call *call) {
  int64_t positions = 1;
  for (int i = 0; i < call->launch->n_grid; i++) {
    int64_t count = place_count(call, &call->launch->grid[i]);
    if (__builtin_mul_overflow(positions, count, &positions) || positions > INT64_MAX / 2) return -1;
  }
  return positions;
}

/* Whole bytes: planning saw to that. */
static int64_t origin_bytes(const llrt_storage_binding *binding, int bits) {
  return binding->origin[0] / 8 * bits + binding->origin[0] % 8 * bits / 8;
}

static uint64_t arg_value(const bound_call *call, const plan_arg *arg) {
  bool of_index = arg->kind >= PLAN_ARG_INDEX_DATA && arg->kind <= PLAN_ARG_INDEX_REPORT;
  const llrt_index *index = of_index ? &call->tensors[arg->tensor].indices[arg->index] : NULL;
  uint64_t multiplier, shift;
  switch ((plan_arg_kind)arg->kind) {
    case PLAN_ARG_ADDRESS:
      return (uint64_t)(uintptr_t)call->tensors[arg->tensor].data + (uint64_t)arg->factor +
             (uint64_t)(arg->index ? origin_bytes(&call->bindings[arg->tensor], arg->index) : 0);
    case PLAN_ARG_STRIDE:
      return (uint64_t)call->bindings[arg->tensor].stride[arg->index] * (uint64_t)arg->factor;
    case PLAN_ARG_POSITIONS: return (uint64_t)count_positions(call);
    case PLAN_ARG_FLOOR:
      return (uint64_t)(extent_of(call, arg->index, arg->padded) / arg->factor);
    case PLAN_ARG_INDEX_DATA: return (uint64_t)(uintptr_t)index->data;
    case PLAN_ARG_INDEX_STRIDE: return (uint64_t)index->strides[arg->factor];
    case PLAN_ARG_INDEX_EXTENT: return (uint64_t)index->extent;
    case PLAN_ARG_INDEX_REPORT: return (uint64_t)(uintptr_t)index->report;
    case PLAN_ARG_EXTENT_PTR: return (uint64_t)(uintptr_t)call->tensors[arg->tensor].extent_ptr[arg->index];
    case PLAN_ARG_CEIL:
    case PLAN_ARG_MAGIC:
    case PLAN_ARG_MAGIC_SHIFT: break;
  }
  int64_t count = bits_ceil_div(extent_of(call, arg->index, arg->padded), arg->factor);
  if (arg->kind == PLAN_ARG_CEIL) return (uint64_t)count;
  plan_magic(count, &multiplier, &shift);
  return arg->kind == PLAN_ARG_MAGIC ? multiplier : shift;
}

static llrt_status count_blocks(const bound_call *call, int64_t *blocks) {
  int64_t positions = count_positions(call);
  if (call->launch->block_elements > 0 && positions > 0)
    positions = bits_ceil_div(positions, call->launch->block_elements);
  if (positions < 0 || positions > INT32_MAX)
    return llrt_error(LLRT_UNSUPPORTED, "the launch would need more than 2^31 - 1 blocks");
  *blocks = positions;
  return LLRT_OK;
}

llrt_status plan_launch_bind(const plan_launch *launch, const llrt_tensor *tensors,
                             const llrt_storage_binding *bindings, int n_tensors,
                             uint64_t args[PLAN_MAX_ARGS], int64_t *blocks) {
  *blocks = 0;
  assert(n_tensors >= 1);
  (void)n_tensors;
  for (int a = 0; a < tensors[0].rank; a++)
    if (tensors[0].shape[a] == 0) return LLRT_OK;
  const bound_call call = {launch, tensors, bindings};
  LLRT_TRY(count_blocks(&call, blocks));
  for (int i = 0; i < launch->n_args; i++) args[i] = arg_value(&call, &launch->arg[i]);
  return LLRT_OK;
}

bool plan_range_contains(const plan_range *range, int rank, const int64_t *shape) {
  int64_t elements = 1;
  for (int a = 0; a < rank; a++) {
    if (shape[a] < range->min_extent[a]) return false;
    if (range->max_extent[a] > 0 && shape[a] > range->max_extent[a]) return false;
    elements *= shape[a];
  }
  if (elements < range->min_elements) return false;
  return range->max_elements <= 0 || elements <= range->max_elements;
}
