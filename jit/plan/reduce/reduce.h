/* Planning of reduces: what its files hand to each other. Private to jit/plan and jit/probe.
 *
 *   reduce_tile.c      digits -> work tile, who holds which of its bits
 *   reduce_block.c     a value -> its combination inside the block, as steps
 *   reduce_kernel.c    a kernel
 *   reduce_variants.c  stages and variants */
#ifndef LLRT_JIT_PLAN_REDUCE_REDUCE_H
#define LLRT_JIT_PLAN_REDUCE_REDUCE_H

#include "jit/plan/block/block.h"
#include "jit/plan/draft/draft.h"

/* plan_make for LLRT_OP_REDUCE. */
llrt_status plan_reduce_make(const op_description *desc, const plan_target *target,
                             const plan_options *options, plan *out);

/* How a reduce kernel is to be laid out. */
typedef struct reduce_shape {
  bool warps_reduce; /* warps rather take reduced bits than kept ones, */
  int kept_warps;    /* but for so many of their bits */
  bool split;        /* blocks share the walk and write a result each */
  bool words;        /* accesses of words to rows that are not aligned, if that is possible */
  bool stretches;    /* threads take stretches of rows that are not aligned, as of others */
  int result_bytes;  /* what a block carries of each result from turn to turn */
} reduce_shape;

/* Chooses the tile of a kernel and fills order[0] (kept bits first, then reduced ones of warps,
 * lanes and registers), tile_bits, grid and warp_bits. Tiles are spanned by bits of digits, so that
 * kept and reduced ones never mix. *load is laid out as the source is read, *clean the same with
 * one bit of a digit a column. *kept: log2 kept elements of the tile. *stretched: a thread has
 * several accesses of a row, which are narrow because rows are not aligned. */
llrt_status reduce_tile(draft *d, const reduce_shape *shape, plan_value *load, plan_value *clean,
                        int *kept, bool *stretched);

/* The position along its axis that a digit's bit counts. */
int64_t reduce_weight(const draft *d, uint64_t bit);

/* Each of n independent vectors (zero: left alone) becomes one bit, which what is left of it has
 * when those seen before are taken away. */
typedef struct reduce_pivots {
  int n;
  uint64_t row[LLRT_MAX_BITS], pivot[LLRT_MAX_BITS];
} reduce_pivots;
void reduce_own_bits(reduce_pivots *pivots, int n, uint64_t *vectors);

/* Turns of a share at least: the in-block reduction and the partial result cost about one. Where a
 * block carries a row of results, its partial result is written and read again: one row for each
 * share. */
#define REDUCE_LEAST_TURNS 2
#define REDUCE_LEAST_TURNS_OF_ROWS 8

/* What a kernel reads and writes. Tensor 0 are elements or keys; 1 the result or positions; 2, of
 * pairs, the keys that are written; 3 the positions that are read. */
typedef struct reduction {
  op_description desc;
  reduce_value value; /* type, index type, op, pairs */
  bool reads_pairs;   /* from tensors 0 and 3 */
  bool writes_keys;   /* to tensor 2 */
  bool clears;        /* what it reads, workspace, is zero afterwards */
  reduce_shape shape;
} reduction;

/* Plans the kernel. *divided: the storages have no common refinement, and there is none. *kept:
 * log2 results of a block. */
llrt_status reduce_plan_kernel(const reduction *r, const plan_target *target,
                               const plan_options *options, plan_kernel *kernel, bool *divided,
                               int *kept);

#endif
