/* The launch recipe: how a prepared kernel's arguments and grid follow from bound tensors. It is
 * all that a run needs besides the loaded code, and it is saved with it. Plain integers, fixed
 * size. */
#ifndef LLRT_JIT_PLAN_KERNEL_LAUNCH_H
#define LLRT_JIT_PLAN_KERNEL_LAUNCH_H

#include "jit/plan/kernel/pace.h"
#include "jit/plan/types/description.h"

/* More than any kernel needs: an address and 16 strides of each of 8 tensors; 3 numbers of each
 * place of the grid, 1 of each bound, a dozen of the whole. They take 2 KiB of the 4 that drivers
 * pass. */
#define PLAN_MAX_ARGS 256
#define PLAN_MAX_GRID 20
#define PLAN_MAX_REGIONS 4
#define PLAN_DESTINATION 1 /* the tensor that a convert writes */

/* What a kernel argument is. Every argument is one 64-bit kernel parameter. An *extent* is
 * shape[index] of the tensors, or with `padded` that tensor's binding.padded[index]. */
typedef enum plan_arg_kind {
  /* The tensor's data + factor bytes; index > 0: and + binding.origin elements of `index` bits. */
  PLAN_ARG_ADDRESS = 1,
  PLAN_ARG_STRIDE,       /* binding.stride[index] of tensor * factor, elements */
  PLAN_ARG_CEIL,         /* ceil(extent / factor) */
  PLAN_ARG_FLOOR,        /* floor(extent / factor) */
  PLAN_ARG_MAGIC,        /* plan_magic's multiplier for d = ceil(extent / factor) */
  PLAN_ARG_MAGIC_SHIFT,  /* and its shift */
  PLAN_ARG_POSITIONS,    /* the product of all grid places */
  PLAN_ARG_INDEX_DATA,   /* of index number `index` of the tensor: address of its values */
  PLAN_ARG_INDEX_STRIDE, /* of that index: its stride along axis `factor`, values */
  PLAN_ARG_INDEX_EXTENT, /* of that index: what its values are checked against */
  PLAN_ARG_INDEX_REPORT, /* of that index: address of its counter */
  PLAN_ARG_EXTENT_PTR,   /* the tensor's extent_ptr[index] */
  PLAN_ARG_WORKSPACE,    /* address of the workspace's region `index` + factor bytes */
  PLAN_ARG_TURNS,        /* positions that all blocks of the stage's walk take together */
  PLAN_ARG_SHARE,        /* of these, what one block takes */
  PLAN_ARG_SPLITS,       /* blocks that share a walk */
  PLAN_ARG_PARTIAL,      /* elements of one split's result: binding.span of the tensor */
  PLAN_ARG_BEGIN,        /* address of the tensor's first byte */
  PLAN_ARG_END,          /* address behind its last: binding.span elements of `factor` bits on */
  PLAN_ARG_BLOCKS,       /* blocks of one split */
  PLAN_ARG_EXTENTS,      /* the product of the extents of the axes of `factor` (bit a: axis a) */
  PLAN_ARG_ROUND_UP,     /* extent, rounded up to a multiple of factor */
  PLAN_ARG_ALPHA,        /* the run's alpha, beta: the code of the f32 (factor 0) or f64 (1) */
  PLAN_ARG_BETA,
  PLAN_ARG_SCALAR,      /* the code of the run's number `index` (llrt_run_params.scalars) */
  PLAN_ARG_EXPERT_TILES /* positions of a place of PLAN_AXIS_EXPERTS with this factor */
} plan_arg_kind;

typedef struct plan_arg {
  int64_t factor;
  uint8_t kind; /* plan_arg_kind */
  uint8_t tensor;
  uint8_t index;  /* storage digit (STRIDE), index (INDEX_...) or axis */
  uint8_t padded; /* > 0: the extent is the padded one of the tensor with that number */
} plan_arg;

/* A number known now (arg < 0) or kernel argument `arg`. */
typedef struct plan_number {
  int32_t arg;
  int64_t value;
} plan_number;

#define PLAN_LINE_BYTES 128 /* of memory */

#define PLAN_MAX_BOXES 5
#define PLAN_MAX_TENSOR_MAPS (2 * PLAN_MAX_BOXES)
#define PLAN_BOX_RANK 3

/* A box: a block of a tensor that the device copies into shared memory by itself, row after row
 * (NVIDIA: a tensor map, of which the launch makes one more kernel parameter). Elements of a row,
 * dimension 0, follow each other in memory. A box has one position of dimension 2, which there need
 * not be. What lies outside the tensor's extents is copied as zero. In shared memory the number of
 * each piece of 16 bytes in its row is XORed with address bits 7 .. 7 + swizzle - 1.
 *
 * A box of runs: dimension 0 is memory itself, of which a tensor has a run for each position of
 * dimensions 1 and 2 (jit/plan/facts/runs.h); its elements are 2^packed of the tensor's. */
typedef struct plan_box {
  uint8_t bytes : 2;   /* log2 bytes of an element */
  uint8_t runs : 1;    /* it is a box of runs */
  uint8_t packed : 3;  /* runs: log2 elements of the tensor in one of the box; else 0 */
  uint8_t single : 1;  /* memory's lines are fetched one by one, else two by two */
  uint8_t swizzle : 3; /* how many bits; a row has 16 bytes << swizzle */
  uint8_t rest : 1;    /* a last tile that lacks some of dimension 1 brings what it has by a box of
                          so many positions, of which the launch makes a map of its own: what it
                          lacks nobody reads */
  uint8_t parts : 2;   /* > 0: log2 blocks of a cluster that fetch 2^parts boxes together: each one
                          of them, in the order of dimension 1, to the memory of all */
  uint8_t among : 2;   /* of a block's number in the cluster the lowest of the `parts` bits by which
                          these blocks differ */
  uint16_t size[PLAN_BOX_RANK];          /* positions of a box, at most 256; 0: no such dimension */
  plan_number address;                   /* of the tensor */
  plan_number extent[PLAN_BOX_RANK];     /* of the tensor, positions */
  plan_number stride[PLAN_BOX_RANK - 1]; /* of dimensions 1 and 2, elements; in bytes a multiple of
                                            16 */
} plan_box;

/* How many dimensions a box has: 2 or 3. */
static inline int plan_box_rank(const plan_box *box) { return box->size[2] ? 3 : 2; }
/* The bits of a block's number in its cluster by which blocks that fetch together differ. */
static inline int plan_box_peers(const plan_box *box) {
  return ((1 << box->parts) - 1) << box->among;
}
/* Positions of dimension 1 that a block has of it. */
static inline int plan_box_rows(const plan_box *box) { return box->size[1] << box->parts; }

/* Positions of dimension 1 that the last tile has, where it lacks some; else 0. */
static inline int plan_box_rest(const plan_box *box, int64_t extent) {
  return box->rest ? (int)(extent % box->size[1]) : 0;
}

/* Tensor maps of a launch: one for each box, then, in their order, those of rests. */
static inline int plan_map_count(const plan_box *box, int n_boxes) {
  int n = n_boxes;
  for (int i = 0; i < n_boxes; i++) n += box[i].rest;
  return n;
}

#define PLAN_AXIS_SPLITS (-2) /* where an axis is named: the blocks that share a walk */
/* The same: tiles of `factor` positions of axis 1, each of one expert's, of which axis 0 has the
 * number (grouped products). Only the device knows how many there are: as many as there may be. */
#define PLAN_AXIS_EXPERTS (-3)

/* One place of a mixed-radix number: of the block index, of a flat kernel's element index, of a
 * walk's turns. Fastest first. */
typedef struct plan_grid_place {
  int64_t
      factor;  /* axis >= 0: it has ceil(extent / factor) positions; axis -1: `factor` positions */
  int8_t axis; /* PLAN_AXIS_SPLITS: it has as many positions as blocks share the walk */
  uint8_t padded; /* as plan_arg.padded */
} plan_grid_place;

/* When a variant may run. A maximum of 0 is no bound. Of the variants that may run and have a
 * pace, the one of the least cost runs (plan_launch_cost). */
#define PLAN_RANGE_REUSE 2
typedef struct plan_range {
  int64_t min_extent[LLRT_MAX_RANK], max_extent[LLRT_MAX_RANK]; /* by axis */
  int64_t min_elements, max_elements;                           /* of the shape */
  uint32_t axes;                  /* bit a: axis a is along, else across */
  uint32_t or_empty;              /* bit a: or axis a has no positions, whatever min_extent says */
  int64_t min_along;              /* of the product of the extents along */
  int64_t min_across, max_across; /* of the product of the extents across */
  int64_t max_values; /* > 0: of what the source's first index chooses from; and no more than
                         PLAN_RANGE_REUSE values for each position along */
} plan_range;

/* Positions along some axes that a block walks one after the other, in turns. Where the other axes
 * give few blocks (`others`), several share the turns, in the same way in every run on a shape:
 *
 *   splits = ceil(turns / share)
 *   share  = ceil(turns / min(wanted, turns / least))
 *   wanted = blocks / others, rounded down if that leaves `enough` blocks, else up
 *
 * Where the launch has a pace, that says how many shares take the fewest clocks on `blocks`
 * multiprocessors, of at least `least` turns each. */
typedef struct plan_walk {
  int32_t n;                                /* places; 0: nothing is walked */
  uint32_t axes;                            /* bit a: axis a is walked; its extent may be 0 */
  plan_grid_place place[LLRT_MAX_RANK * 2]; /* of the turns' numbers */
  int64_t blocks;  /* that the whole grid should have; 0: the walk is never shared */
  int64_t enough;  /* blocks that are enough; 0: never */
  int64_t least;   /* turns of a share, at least 1 */
  int64_t results; /* positions of the other axes that a block has, at most; 0: not known */
} plan_walk;

/* What a stage's axes and tensors are, where they are not the operation's. */
typedef struct plan_view {
  bool used;
  int32_t n, rank;                  /* tensors, axes */
  int8_t axis[LLRT_MAX_RANK];       /* the stage's axis a is this one of the operation,
                                       PLAN_AXIS_SPLITS, or -1: it has one position */
  int8_t tensor[LLRT_MAX_TENSORS];  /* the stage's tensor t is this one of the operation, or lies
                                       row-major in workspace region -1 - tensor[t] */
  uint8_t ones[LLRT_MAX_TENSORS];   /* in a region: bit a: it has one position along axis a */
  uint8_t pieces[LLRT_MAX_TENSORS]; /* in a region: rows are whole multiples of 2^pieces elements,
                                       the last of which may be unused */
} plan_view;

/* A workspace region. Its bytes are the sum of the four terms below. */
typedef struct plan_region {
  int64_t fixed;
  int64_t per_block;    /* times the blocks of the first stage */
  int64_t per_partial;  /* times splits, times positions of the axes that are not walked */
  int64_t per_position; /* times positions of the axes of `axes` */
  int64_t axes;         /* bit a: axis a */
  int64_t pieces;       /* positions of the last axis of all count up to a multiple of 2^pieces */
} plan_region;

typedef struct plan_workspace {
  int32_t n;    /* regions */
  uint8_t zero; /* so many regions, the first ones, must be zero when the variant begins */
  bool clear;   /* stages leave something in them: they are zeroed behind the last stage */
  plan_region region[PLAN_MAX_REGIONS];
} plan_workspace;

/* The recipe. */
typedef struct plan_launch {
  int32_t n_args, n_grid;
  plan_arg arg[PLAN_MAX_ARGS];
  plan_grid_place grid[PLAN_MAX_GRID];
  int32_t block_elements; /* > 0: a flat kernel; a block takes this many positions of the element
                             index: blocks = ceil(product of the grid places / block_elements) */
  int32_t threads;        /* of a block; 1 on the host */
  int32_t shared_bytes;   /* of a block; NVIDIA: given at the launch, else part of the code */
  int32_t value_bytes;    /* > 0: of shared_bytes, a launch needs only so many for each value that
                             the source's first index chooses from */
  int32_t cluster;     /* blocks of a cluster, which take one position together; 0: no clusters */
  int32_t most_blocks; /* > 0: a launch has no more blocks; they share the positions of the grid
                          out by themselves */
  int32_t rounds; /* > 0: a launch has no more than so many blocks for each multiprocessor. Block i
                     of n takes positions i, i + n, i + 2 n, … */
  int32_t
      dealt; /* > 0, in rounds: turns are dealt out (plan_deal), so that there may be more blocks
                than positions; no more than so many, and than shares of walk.least turns */
  int32_t block_bytes; /* that a block moves, by which the host decides how many threads are worth
                          while; 0: not known */
  int32_t n_boxes;
  plan_box box[PLAN_MAX_BOXES];
  double alpha, beta; /* of a dot, for runs that bring none */
  int32_t stage;      /* number of the kernel in its variant, from 0 */
  int32_t later;      /* how many stages of the variant follow */
  bool beside; /* the stage neither touches what stages before it write nor writes what they read,
                  and may run beside them */
  plan_range range; /* in the first stage: of the variant */
  plan_pace pace;   /* the same */
  plan_walk walk;
  plan_view view;
  plan_workspace workspace; /* in the first stage: of the variant */
} plan_launch;

#define PLAN_ENTRY_NAME "llrt_kernel"

/* Division by multiplication: n / d = (high 64 bits of 2 n * multiplier) >> shift for 0 <= n <
 * 2^63, d >= 1. */
void plan_magic(int64_t d, uint64_t *multiplier, uint64_t *shift);

/* One run of a variant: what the arguments of its stages are computed from. */
typedef struct plan_run {
  const llrt_tensor *tensors; /* of the operation: shape is the shared logical shape */
  const llrt_storage_binding *bindings;
  int32_t n;
  int64_t turns, share, splits; /* of the first stage's walk; others are not shared */
  const uint64_t *scalars;      /* codes of an expression's numbers; NULL: it has none */
  bool likely; /* tiles of experts count as many as there are likely to be, not as there may be */
  double alpha, beta; /* the recipe's; a caller may set others before plan_run_stage */
  int32_t n_zero;     /* so many regions, the first ones, must be zero when the variant begins */
  int64_t region[PLAN_MAX_REGIONS]; /* offset in the workspace, bytes */
  int64_t zero_bytes; /* of the workspace, from its first on: those of the first n_zero regions */
  int64_t workspace_bytes;             /* needed */
  uintptr_t address[PLAN_MAX_REGIONS]; /* of the regions: plan_run_place, before plan_run_stage */
} plan_run;

/* About how many clocks a run of the variant whose first stage has this recipe takes on tensors of
 * the operation's shape, on a device of `units` multiprocessors. */
int64_t plan_launch_clocks(const plan_launch *first, const llrt_tensor *tensor, int units);
/* What variants are compared by: the clocks; of a batch-invariant product, whose variant is not to
 * depend on its rows, times as long as what is least, over numbers of rows that are typical. */
int64_t plan_launch_cost(const plan_launch *first, const llrt_tensor *tensor, int units);
/* Of a variant's first and last stage the one that says which shapes it takes, and its clocks: the
 * last one where what is before it copies operands, or rows of experts. */
const plan_launch *plan_launch_decides(const plan_launch *first, const plan_launch *last);

/* Bytes of the widest tensor that the tiles of a run cover, or the positions of a flat kernel,
 * those beyond the ends of axes as well: blocks take as long for them. 0 where nothing says it:
 * walks. */
double plan_launch_covered_bytes(const plan_launch *launch, const llrt_tensor *tensors,
                                 const llrt_storage_binding *bindings, int n_tensors);

/* Begins a run of the variant whose first stage has this recipe. Errors: UNSUPPORTED past 2^62
 * bytes. */
llrt_status plan_run_begin(const plan_launch *first, const llrt_tensor *tensors,
                           const llrt_storage_binding *bindings, int n_tensors, plan_run *run);

/* Where the run's workspace is: zero_bytes at `zeroed`, the rest at `rest`, both aligned to
 * LLRT_WORKSPACE_ALIGNMENT; in one piece rest = zeroed + zero_bytes. */
void plan_run_place(plan_run *run, void *zeroed, void *rest);

/* Bytes of workspace that suffice for the variant whose first stage has this recipe on these
 * tensors, or on any with smaller extents. Errors: as plan_run_begin. */
llrt_status plan_workspace_most(const plan_launch *first, const llrt_tensor *tensors,
                                const llrt_storage_binding *bindings, int n_tensors,
                                int64_t *bytes);

/* Computes a stage's arguments and number of blocks. Errors: UNSUPPORTED when the grid passes 2^31
 * - 1 blocks. blocks = 0 for empty tensors. */
llrt_status plan_run_stage(const plan_launch *launch, const plan_run *run,
                           uint64_t args[PLAN_MAX_ARGS], int64_t *blocks);

/* plan_run_begin and plan_run_stage of a variant of one stage without workspace. */
llrt_status plan_launch_bind(const plan_launch *launch, const llrt_tensor *tensors,
                             const llrt_storage_binding *bindings, int n_tensors,
                             uint64_t args[PLAN_MAX_ARGS], int64_t *blocks);

/* A stage's tensors and bindings as its view gives them; both arrays have LLRT_MAX_TENSORS places.
 */
llrt_status plan_view_tensors(const plan_launch *launch, const plan_run *run, llrt_tensor *tensors,
                              llrt_storage_binding *bindings);

/* Whether a shape lies in the range; what indices choose from does not count. */
bool plan_range_contains(const plan_range *range, int rank, const int64_t *shape);
/* Whether the operation's first tensor does, what its first index chooses from included. */
bool plan_range_takes(const plan_range *range, const llrt_tensor *source);
/* The same of the variant whose first stage has this recipe. The rows of a grouped product that
 * count are those that an expert is taken to have. */
bool plan_launch_takes(const plan_launch *first, const llrt_tensor *source);
/* Of shapes whose extents lie from `least` to `most`: those that plan_launch_takes compares with
 * the range, between which it is monotonic. */
void plan_launch_likely(const plan_launch *first, int64_t *least, int64_t *most);

#endif
