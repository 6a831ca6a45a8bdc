/* The launch recipe: how a prepared kernel's arguments and grid follow from bound tensors. It is all
 * that a run needs besides the loaded code, and it is saved with it. Plain integers, fixed size. */
#ifndef LLRT_JIT_PLAN_LAUNCH_H
#define LLRT_JIT_PLAN_LAUNCH_H

#include <llrt/op.h>

/* More than any kernel needs: an address and 16 strides of each of 8 tensors; 3 numbers of each place of the grid, 1 of each
 * bound, a dozen of the whole. They take 2 KiB of the 4 that drivers pass. */
#define PLAN_MAX_ARGS 256
#define PLAN_MAX_GRID 20
#define PLAN_MAX_REGIONS 4
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
  PLAN_ARG_EXTENT_PTR,   /* the tensor's extent_ptr[index] */
  PLAN_ARG_WORKSPACE,    /* address of the workspace's region `index` + factor bytes */
  PLAN_ARG_TURNS,        /* positions that all blocks of the stage's walk take together */
  PLAN_ARG_SHARE,        /* of these, what one block takes */
  PLAN_ARG_SPLITS,       /* blocks that share a walk */
  PLAN_ARG_PARTIAL,      /* elements of one split's result: binding.span of the tensor */
  PLAN_ARG_BEGIN,        /* address of the tensor's first byte */
  PLAN_ARG_END,           /* behind the last: binding.span elements of `factor` bits on */
  PLAN_ARG_BLOCKS,       /* blocks of one split */
  PLAN_ARG_EXTENTS,      /* the product of the extents of the axes of `factor` (bit a: axis a) */
  PLAN_ARG_ROUND_UP,     /* extent, rounded up to a multiple of factor */
  PLAN_ARG_ALPHA,        /* the run's alpha, beta: the code of the f32 (factor 0) or f64 (1) */
  PLAN_ARG_BETA
} plan_arg_kind;

typedef struct plan_arg {
  int64_t factor;
  uint8_t kind; /* plan_arg_kind */
  uint8_t tensor;
  uint8_t index;  /* storage digit (STRIDE), index (INDEX_...) or axis */
  uint8_t padded; /* 1: of the destination's padded extent */
} plan_arg;

/* A number known now (arg < 0) or kernel argument `arg`. */
typedef struct plan_number {
  int32_t arg;
  int64_t value;
} plan_number;

#define PLAN_MAX_BOXES 2
#define PLAN_BOX_RANK 3

/* Boxes of a tensor that the device itself copies into shared memory, row after row (NVIDIA: a tensor map, of which the
 * launch makes one more kernel parameter). Elements of a row, dimension 0, follow each other in memory; dimension 2, of
 * which a box has one position, there need not be; what lies outside the extents is zero. Pieces of 16 bytes are XORed
 * with bits 7.. of their address in shared memory, so many bits. */
typedef struct plan_box {
  uint8_t bytes;   /* log2, of an element */
  uint8_t swizzle; /* bits; a row has 16 bytes << swizzle */
  uint16_t size[PLAN_BOX_RANK]; /* of a box, at most 256; 0: there is no such dimension */
  plan_number address, extent[PLAN_BOX_RANK];
  plan_number stride[PLAN_BOX_RANK - 1]; /* of dimensions 1 and 2, elements: whole pieces of 16 bytes */
} plan_box;

static inline int plan_box_rank(const plan_box *box) { return box->size[2] ? 3 : 2; }

#define PLAN_AXIS_SPLITS (-2) /* where an axis is named: the blocks that share a walk */

/* One place of the mixed-radix block index (of the element index of a flat kernel, of a walk), fastest
 * first: `factor` positions, or ceil(extent / factor) where axis >= 0, or the splits. */
typedef struct plan_grid_place {
  int64_t factor;
  int8_t axis;
  uint8_t padded;
} plan_grid_place;

/* When a variant may run: extents and element count within bounds (max 0: no bound); so the product of the
 * extents of `axes` (bit a: axis a) and that of the others; so what the source's first index chooses from: at most
 * max_values values, and no more than PLAN_RANGE_REUSE for each position along `axes`. Of those that may, and say how long they
 * take (turn_clocks > 0), the one that is first done does: plan_launch_clocks. */
#define PLAN_RANGE_REUSE 2
typedef struct plan_range {
  int64_t min_extent[LLRT_MAX_RANK], max_extent[LLRT_MAX_RANK];
  int64_t min_elements, max_elements;
  uint32_t axes;
  int64_t min_along, min_across, max_across;
  int64_t max_values;
  int64_t turn_clocks, tile_clocks, more_clocks; /* of a multiprocessor: a turn, a tile beside its turns; all beside tiles */
} plan_range;

/* Positions along some axes that a block walks one after the other, in turns. Where the blocks that the
 * other axes give are few, several take a share of the turns each, the same for every run on a shape:
 * splits = ceil(turns / share), share = ceil(turns / min(wanted, turns / least)), where wanted = blocks / others, rounded
 * down if that leaves `enough` blocks, else up. */
typedef struct plan_walk {
  int32_t n;      /* places; 0: nothing is walked */
  uint32_t axes;  /* bit a: axis a is walked: its extent may be 0 */
  plan_grid_place place[LLRT_MAX_RANK * 2];
  int64_t blocks; /* wanted of the whole grid; 0: a walk is never shared */
  int64_t enough; /* 0: there are never enough */
  int64_t least;  /* turns of a share, at least 1 */
  int64_t results; /* most positions of the other axes that a block has; 0: not known */
} plan_walk;

/* What a stage's axes and tensors are, where they are not the operation's. */
typedef struct plan_view {
  bool used;
  int32_t n, rank;                 /* tensors, axes */
  int8_t axis[LLRT_MAX_RANK];      /* the stage's axis a is this one of the operation, or PLAN_AXIS_SPLITS */
  int8_t tensor[LLRT_MAX_TENSORS]; /* the stage's tensor t is this one of the operation, or lies in the
                                      workspace's region -1 - tensor[t], row-major */
  uint8_t ones[LLRT_MAX_TENSORS];  /* there bit a: it has one position along axis a */
  uint8_t pieces[LLRT_MAX_TENSORS]; /* there: rows are whole numbers of 2^so many elements, of which the last may be none's */
} plan_view;

/* Part of the workspace: fixed + per_block * blocks of the first stage + per_partial * splits * positions of
 * the axes that are not walked + per_position * positions of the axes of `axes` (bit a: axis a), in bytes; of the last of
 * all axes those count up to a multiple of 2^pieces. */
typedef struct plan_region {
  int64_t fixed, per_block, per_partial, per_position;
  int64_t axes, pieces;
} plan_region;

typedef struct plan_workspace {
  int32_t n; /* regions */
  uint8_t zero; /* so many regions, the first, must be zero when the variant begins */
  bool clear; /* stages leave something in it: it is zeroed behind the last */
  plan_region region[PLAN_MAX_REGIONS];
} plan_workspace;

typedef struct plan_launch {
  int32_t n_args, n_grid;
  plan_arg arg[PLAN_MAX_ARGS];
  plan_grid_place grid[PLAN_MAX_GRID];
  int32_t block_elements; /* > 0: a flat kernel; a block takes this many positions of the element index:
                             blocks = ceil(product of the grid places / block_elements) */
  int32_t threads;        /* of a block; 1 on the host */
  int32_t shared_bytes;   /* of a block; NVIDIA: given at the launch, else part of the code */
  int32_t value_bytes;    /* > 0: of these a launch needs only so many for each value of range.max_values */
  int32_t cluster;        /* blocks of a cluster, which take one position together; 0: each by itself */
  int32_t most_blocks;    /* > 0: no more of them, which share the positions of the grid out by themselves */
  int32_t rounds;         /* > 0: no more of them than so many for each multiprocessor; each takes the position of its number
                             and those that are multiples of the blocks' number behind it */
  int32_t dealt;          /* > 0, in rounds: no more blocks than so many, and than there are shares of walk.least turns; they
                             are dealt turns (plan_deal), so that there may be more of them than positions */
  int32_t block_bytes;    /* what a block moves, as far as the plan knows; 0: not. Host: what is worth a thread */
  int32_t n_boxes;
  plan_box box[PLAN_MAX_BOXES];
  double alpha, beta;     /* of a dot's run that brings none */
  int32_t stage, later;   /* number of the kernel in its variant; how many follow it in the plan's list */
  plan_range range;       /* of the variant; of its first stage */
  plan_walk walk;
  plan_view view;
  plan_workspace workspace; /* of the variant; of its first stage */
} plan_launch;

#define PLAN_ENTRY_NAME "llrt_kernel"

/* Division by multiplication: n / d = (high 64 bits of 2 n * multiplier) >> shift for 0 <= n < 2^63,
 * d >= 1. */
void plan_magic(int64_t d, uint64_t *multiplier, uint64_t *shift);

/* One run of a variant: what the arguments of its stages are computed from. */
typedef struct plan_run {
  const llrt_tensor *tensors; /* of the operation: shape is the shared logical shape */
  const llrt_storage_binding *bindings;
  int32_t n;
  int64_t turns, share, splits; /* of the first stage's walk; others are not shared */
  double alpha, beta; /* the recipe's; a caller may set others before plan_run_stage */
  int32_t n_zero;               /* so many regions, the first, are zero when the variant begins */
  int64_t region[PLAN_MAX_REGIONS]; /* offset in the workspace, bytes */
  int64_t zero_bytes;           /* of the workspace, from its first on: those of the first n_zero regions */
  int64_t workspace_bytes;      /* needed */
  uintptr_t address[PLAN_MAX_REGIONS]; /* of the regions: plan_run_place, before plan_run_stage */
} plan_run;

/* About how many clocks a run of the variant takes on tensors of the operation's shape, on so many multiprocessors. */
int64_t plan_launch_clocks(const plan_launch *first, const llrt_tensor *tensor, int units);

/* Begins a run of the variant whose first stage has this recipe. Errors: UNSUPPORTED past 2^62 bytes. */
llrt_status plan_run_begin(const plan_launch *first, const llrt_tensor *tensors,
                           const llrt_storage_binding *bindings, int n_tensors, plan_run *run);

/* Where the run's workspace is: zero_bytes at `zeroed`, the rest at `rest`, both aligned to LLRT_WORKSPACE_ALIGNMENT; in
 * one piece rest = zeroed + zero_bytes. */
void plan_run_place(plan_run *run, void *zeroed, void *rest);

/* Bytes of workspace that suffice for the variant whose first stage has this recipe on these tensors, or on any with
 * smaller extents. Errors: as plan_run_begin. */
llrt_status plan_workspace_most(const plan_launch *first, const llrt_tensor *tensors,
                                const llrt_storage_binding *bindings, int n_tensors, int64_t *bytes);

/* Computes a stage's arguments and number of blocks. Errors: UNSUPPORTED when the grid passes 2^31 - 1
 * blocks. blocks = 0 for empty tensors. */
llrt_status plan_run_stage(const plan_launch *launch, const plan_run *run,
                           uint64_t args[PLAN_MAX_ARGS], int64_t *blocks);

/* Both for a variant of one stage without workspace. */
llrt_status plan_launch_bind(const plan_launch *launch, const llrt_tensor *tensors,
                             const llrt_storage_binding *bindings, int n_tensors,
                             uint64_t args[PLAN_MAX_ARGS], int64_t *blocks);

/* A stage's tensors as its view gives them. tensors and bindings have LLRT_MAX_TENSORS places. */
llrt_status plan_view_tensors(const plan_launch *launch, const plan_run *run, llrt_tensor *tensors,
                              llrt_storage_binding *bindings);

/* Whether shape lies in the range, what indices choose from left aside. */
bool plan_range_contains(const plan_range *range, int rank, const int64_t *shape);
/* Whether the operation's first tensor does, in all. */
bool plan_range_takes(const plan_range *range, const llrt_tensor *source);

#endif
