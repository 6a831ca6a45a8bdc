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

static int64_t ceil_shift(int64_t x, int shift) {
  return (x >> shift) + ((x & (int64_t)bits_mask(shift)) != 0);
}

static uint64_t arg_value(const plan_arg *arg, const llrt_tensor *tensors,
                          const llrt_storage_binding *bindings) {
  const int64_t *shape = tensors[0].shape;
  uint64_t multiplier, shift;
  switch ((plan_arg_kind)arg->kind) {
    case PLAN_ARG_ADDRESS: return (uint64_t)(uintptr_t)tensors[arg->tensor].data;
    case PLAN_ARG_STRIDE: return (uint64_t)bindings[arg->tensor].stride[arg->index] << arg->shift;
    case PLAN_ARG_CEIL: return (uint64_t)ceil_shift(shape[arg->index], arg->shift);
    case PLAN_ARG_FLOOR: return (uint64_t)(shape[arg->index] >> arg->shift);
    case PLAN_ARG_MAGIC:
    case PLAN_ARG_MAGIC_SHIFT:
      plan_magic(ceil_shift(shape[arg->index], arg->shift), &multiplier, &shift);
      return arg->kind == PLAN_ARG_MAGIC ? multiplier : shift;
    case PLAN_ARG_ELEMENTS: break;
  }
  int64_t elements = 1;
  for (int a = 0; a < tensors[0].rank; a++) elements *= shape[a];
  return (uint64_t)elements << arg->shift;
}

/* Multiplies *blocks by n, or says no past 2^31 - 1. */
static llrt_status grow_grid(int64_t *blocks, int64_t n) {
  if (n != 0 && *blocks > INT32_MAX / n)
    return llrt_error(LLRT_UNSUPPORTED, "the launch would need more than 2^31 - 1 blocks");
  *blocks *= n;
  return LLRT_OK;
}

static llrt_status count_blocks(const plan_launch *launch, const llrt_tensor *tensors,
                                int64_t *blocks) {
  *blocks = 1;
  if (launch->block_elements > 0) {
    int64_t elements = 1;
    for (int a = 0; a < tensors[0].rank; a++) elements *= tensors[0].shape[a];
    return grow_grid(blocks, bits_ceil_div(elements, launch->block_elements));
  }
  for (int i = 0; i < launch->n_grid; i++) {
    const plan_grid_place *place = &launch->grid[i];
    int64_t count = place->axis >= 0 ? ceil_shift(tensors[0].shape[place->axis], place->shift)
                                     : (int64_t)1 << place->bits;
    LLRT_TRY(grow_grid(blocks, count));
  }
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
  LLRT_TRY(count_blocks(launch, tensors, blocks));
  for (int i = 0; i < launch->n_args; i++)
    args[i] = arg_value(&launch->arg[i], tensors, bindings);
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
