/* What the files that plan a dot's variants share: the planner, its stages (dot_stages.c), its
 * tiles (dot_tiles.c). */
#ifndef LLRT_JIT_PLAN_DOT_DOT_PLANNER_H
#define LLRT_JIT_PLAN_DOT_DOT_PLANNER_H

#include "jit/plan/cost/trace.h"
#include "jit/plan/dot/dot.h"

#include <stdbool.h>
#include <stdint.h>

/* Regions of the workspace. */
enum { REGION_PARTIAL, REGION_A, REGION_B, REGION_D };

typedef struct dot_planner {
  const op_description *desc;
  const plan_target *target;
  const plan_options *options;
  plan *out;
  dot_job job; /* of one kernel that does everything */
  int rank;
  bool shares;    /* blocks may share K */
  bool invariant; /* results of rows do not depend on how many there are: one tile for all */
  bool grouped;   /* rows, or positions of K, belong to experts */
  bool gathered;  /* grouped, and an index chooses A's rows */
  bool alone;     /* one stage, nothing is copied before or behind: grouped, or lists of pointers */
  int rows;       /* bit i: operand i is row-major in the workspace first */
  bool result_in_workspace; /* D is row-major in the workspace first ... */
  llrt_dtype between;       /* ... of this type: its own, or what is cast to it behind */
  bool warpgroups;          /* large tiles are multiplied by warpgroups */
  bool four_warpgroups; /* of the largest tile: four warpgroups, for sums of turns beside those of
                           all */
  int resident;         /* > 1: of the tile that is being made: dot_shape.resident */
  int copied; /* bit i: operand i is copied for them, as rows of whole lines along K; of the stages
                 that are being made */
  llrt_dtype copy_type[2];
  llrt_storage copy[2];
  llrt_storage row_major, finish_rows;   /* of the operation's axes; of splits, batch.., M, N */
  llrt_storage finish[LLRT_MAX_TENSORS]; /* storages with the finish stage's axes */
} dot_planner;

/* ---- dot_stages.c ---- */

/* Whether operand i is row-major in the workspace first. */
bool dot_is_rows(const dot_planner *p, int i);
/* Blocks wanted of a tile: of warpgroups' kernels, which take a multiprocessor's shared memory, one
 * each. */
int64_t dot_blocks_of(const dot_planner *p, const dot_shape *shape);
/* log2 elements of a type that have 128 bytes: a row of a box then is one line of memory. */
int dot_piece_bits(llrt_dtype type);

/* What multiplies: in tiles of the shape; split: a block's share of K, to the workspace. *divided:
 * nothing was made, for what is multiplied has no common refinement. */
llrt_status dot_multiply_stage(dot_planner *p, const dot_shape *shape, bool split,
                               plan_kernel *kernel, bool *divided);
/* Adds the shares of K, and does what stands on sums. */
llrt_status dot_finish_stage(dot_planner *p, plan_kernel *kernel);
/* Tensor t to a region of the workspace, row-major. */
llrt_status dot_rows_stage(dot_planner *p, int t, int region, plan_kernel *kernel);
/* Operand i as warpgroups read it. UNSUPPORTED: 4-bit elements of which no two lie in a byte. */
llrt_status dot_copy_stage(dot_planner *p, int i, plan_kernel *kernel);
/* The converts before what multiplies, and behind it, as further kernels of the plan. */
llrt_status dot_before_stages(dot_planner *p);
llrt_status dot_behind_stages(dot_planner *p);

/* ---- dot_add.c ---- */

#define NO_SHAPE "no shape that promises allow is in its range"

/* The variant of the kernels from `first` on, and its workspace. */
void dot_close_variant(dot_planner *p, int first, plan_range range, bool split);
/* "tile 128 x 256, turns of 64 along K: blocks share K". */
void dot_name_tile(const dot_planner *p, const dot_shape *shape, const char *how,
                   char what[PLAN_ATTEMPT_NAME]);

/* Adds a variant whose blocks share K: a stage that leaves partial sums, and one that adds them. It
 * is for shapes whose axis `narrow` (0: M, 1: N) is no longer than the tile, or with narrow -1 for
 * those with too few tiles to fill a device. *done: it takes every shape, so no other variant is
 * needed. */
llrt_status dot_add_split(dot_planner *p, const dot_shape *shape, int narrow, bool *done);
/* A variant whose blocks each walk all of K, with the stages that are before and behind it. narrow:
 * it is for shapes of at most `most` positions along this axis of the last three (M, N, K); -1: for
 * all. *done: it takes every promised shape. */
llrt_status dot_add_whole(dot_planner *p, const dot_shape *shape, int narrow, int64_t most,
                          bool *done);

/* Adds the variant for one row of D, in front of all others, where rows of B are no whole pieces of
 * 16 bytes. *done: it takes every promised shape. */
llrt_status dot_add_row(dot_planner *p, bool *done);

/* ---- dot_pitch.c ---- */

/* What operands may be copied as for warpgroups: rows of whole lines along K. */
llrt_status dot_begin_copies(dot_planner *p);
/* Whether an operand may be copied: elements alone, as the type that is multiplied. */
bool dot_can_copy(const dot_planner *p, int operand);
/* Adds to the pace of a kernel that multiplies what rows take that begin inside lines of memory, or
 * that stages in front copy. */
void dot_pace_pitches(const dot_planner *p, plan_kernel *kernel);
/* The operands, bit i, whose rows may begin inside lines of memory where the kernel multiplies, by
 * what is promised of them. */
int dot_torn_operands(const dot_planner *p, const plan_kernel *kernel);

/* ---- dot_groups.c ---- */

/* Adds the kernels by warpgroups, with their paces: a shape takes the one that is done first. */
llrt_status dot_add_groups(dot_planner *p);
/* The one number i of the tiles for few rows of experts, behind a copy of what an index gathers. */
#define DOT_GATHERED_TILES 6
llrt_status dot_add_gathered_tile(dot_planner *p, int i);
/* Adds tiles behind copies of these operands (bit i), as rows of whole lines along K. done: other
 * kernels take what these do not; set where they take every promised shape. */
llrt_status dot_add_copied_tiles(dot_planner *p, int copies, bool *done);

/* ---- dot_tiles.c ---- */

#define DOT_NARROW_BITS 4 /* log2 of the longest M or N of the narrowest tiles */

/* Of warpgroups: each has 64 rows, and the accumulators that a thread has registers for. */
dot_shape dot_warpgroup_tile(const dot_planner *p);
/* For any M and N. */
dot_shape dot_large_tile(const dot_planner *p);
/* For M (`narrow` 0) or N (1) of at most 2^bits. */
dot_shape dot_narrow_tile(const dot_planner *p, int narrow, int bits);

#endif
