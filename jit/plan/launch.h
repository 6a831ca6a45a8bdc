/* The launch recipe: how a prepared kernel's arguments and grid follow from bound tensors. It is all
 * that a run needs besides the loaded code, and it is saved with it. Plain integers, fixed size. */
#ifndef LLRT_JIT_PLAN_LAUNCH_H
#define LLRT_JIT_PLAN_LAUNCH_H

#include <llrt/op.h>

#define PLAN_MAX_ARGS 48
#define PLAN_MAX_GRID 20
#define PLAN_DESTINATION 1 /* the tensor that a convert writes */

/* Every argument is one 64-bit kernel parameter. An *extent* is shape[index], or with `padded` the
 * destination's binding.padded[index]. */
typedef enum plan_arg_kind {
  PLAN_ARG_ADDRESS = 1, /* tensor's data + factor bytes; with index > 0 + binding.origin elements of so many
                           bits */
  PLAN_ARG_STRIDE,      /* binding.stride[index] of tensor * factor, elements */
  PLAN_ARG_CEIL,        /* ceil(extent / factor) */
  PLAN_ARG_FLOOR,       /* floor(extent / factor) */
  PLAN_ARG_MAGIC,       /* plan_magic's multiplier for d = ceil(extent / factor) */
  PLAN_ARG_MAGIC_SHIFT, /* and its shift */
  PLAN_ARG_POSITIONS,   /* the product of all grid places */
  PLAN_ARG_INDEX_DATA,  /* of the tensor's indices number `index`: data */
  PLAN_ARG_INDEX_STRIDE, /* its stride along axis `factor`, values */
  PLAN_ARG_INDEX_EXTENT, /* its extent */
  PLAN_ARG_INDEX_REPORT, /* its counter */
  PLAN_ARG_EXTENT_PTR    /* the tensor's extent_ptr[index] */
} plan_arg_kind;

typedef struct plan_arg {
  int64_t factor;
  uint8_t kind; /* plan_arg_kind */
  uint8_t tensor;
  uint8_t index;  /* storage digit (STRIDE), index (INDEX_...) or axis */
  uint8_t padded; /* 1: of the destination's padded extent */
} plan_arg;

/* One place of the mixed-radix block index (of the element index of a flat kernel), fastest first:
 * `factor` positions, or ceil(extent / factor) where axis >= 0. */
typedef struct plan_grid_place {
  int64_t factor;
  int8_t axis;
  uint8_t padded;
} plan_grid_place;

/* When a variant may run: extents and element count within bounds (max 0: no bound). */
typedef struct plan_range {
  int64_t min_extent[LLRT_MAX_RANK], max_extent[LLRT_MAX_RANK];
  int64_t min_elements, max_elements;
} plan_range;

typedef struct plan_launch {
  int32_t n_args, n_grid;
  plan_arg arg[PLAN_MAX_ARGS];
  plan_grid_place grid[PLAN_MAX_GRID];
  int32_t block_elements; /* > 0: a flat kernel; a block takes this many positions of the element index:
                             blocks = ceil(product of the grid places / block_elements) */
  int32_t threads;        /* of a block; 1 on the host */
  int32_t shared_bytes;   /* of a block; NVIDIA: given at the launch, else part of the code */
  plan_range range;
} plan_launch;

#define PLAN_ENTRY_NAME "llrt_kernel"

/* Division by multiplication: n / d = (high 64 bits of 2 n * multiplier) >> shift for 0 <= n < 2^63,
 * d >= 1. */
void plan_magic(int64_t d, uint64_t *multiplier, uint64_t *shift);

/* Computes the arguments and the number of blocks. shape is the shared logical shape. Errors:
 * UNSUPPORTED when the grid passes 2^31 - 1 blocks. blocks = 0 for empty tensors. */
llrt_status plan_launch_bind(const plan_launch *launch, const llrt_tensor *tensors,
                             const llrt_storage_binding *bindings, int n_tensors,
                             uint64_t args[PLAN_MAX_ARGS], int64_t *blocks);

/* Whether shape lies in the range. */
bool plan_range_contains(const plan_range *range, int rank, const int64_t *shape);

#endif
