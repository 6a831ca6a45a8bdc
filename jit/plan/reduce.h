/* Planning of reduces: what its files hand to each other. Private to jit/plan.
 *
 *   reduce_tile.c    digits -> work tile, who holds which of its bits
 *   reduce_block.c   a value -> its combination inside the block, as steps
 *   reduce_kernel.c  a kernel
 *   plan_reduce.c    stages and variants */
#ifndef LLRT_JIT_PLAN_REDUCE_H
#define LLRT_JIT_PLAN_REDUCE_H

#include "jit/plan/draft.h"

/* plan_make for LLRT_OP_REDUCE. */
llrt_status plan_reduce_make(const llrt_op_desc *desc, const plan_target *target,
                             const plan_options *options, plan *out);

/* How a reduce kernel is to be laid out. */
typedef struct reduce_shape {
  bool warps_reduce; /* warps rather take reduced bits than kept ones, */
  int kept_warps;    /* but for so many of their bits */
  bool split;        /* blocks share the walk and write a result each */
} reduce_shape;

/* Chooses the tile of a kernel and fills order[0] (kept bits first, then reduced ones of warps, lanes and
 * registers), tile_bits, grid and warp_bits. Tiles are spanned by bits of digits, so that kept and reduced
 * ones never mix. *load is laid out as the source is read, *clean the same with one bit of a digit a column.
 * *kept: log2 kept elements of the tile. */
llrt_status reduce_tile(draft *d, const reduce_shape *shape, plan_value *load, plan_value *clean,
                        int *kept);

/* The position along its axis that a digit's bit counts. */
int64_t reduce_weight(const draft *d, uint64_t bit);

/* Each of n independent vectors (zero: left alone) becomes one bit, which what is left of it has when those
 * seen before are taken away. */
typedef struct reduce_pivots {
  int n;
  uint64_t row[LLRT_MAX_BITS], pivot[LLRT_MAX_BITS];
} reduce_pivots;
void reduce_own_bits(reduce_pivots *pivots, int n, uint64_t *vectors);

/* What joins elements, and the value (of pairs: values) that is joined. */
typedef struct reduce_value {
  int op;
  llrt_dtype type;  /* of keys */
  bool pairs;
  llrt_dtype index; /* of positions */
  int key, at;      /* numbers of values; `at`: positions */
} reduce_value;

/* Appends steps that join elements of a thread until the tile has so many bits: PLAN_FOLD. ordered: of pairs,
 * positions rise with coordinates. */
llrt_status reduce_fold(draft *d, reduce_value *value, int tile_bits, bool ordered);

/* Appends the in-block reduction to `kept` tile bits: registers, lanes, then warps through shared memory.
 * Precondition: every column of the value lies in the kept bits or in the others, and of the others those of
 * warps are lowest, then lanes, then registers (as reduce_tile leaves them). spread: warps then hold
 * different elements as far as there are enough; else all those that held partial results hold the same. */
llrt_status reduce_block(draft *d, reduce_value *value, int kept, bool spread);

/* Value laid out as `in` after elements were joined until the tile has so many bits: columns beyond go from
 * the registers, those of lanes (host: the others move up) and warps become 0. */
llrt_status reduce_laid_out(const plan_kernel *kernel, const plan_value *in, int tile_bits, int bits,
                            plan_value *out);

/* The register bits of a value whose columns lie beyond `tile_bits`, lowest column first. */
int plan_fold_bits(const plan_value *in, plan_dim dim, int tile_bits, int bit[LLRT_MAX_BITS]);

/* Whether a PLAN_FOLD_LANES step is one instruction a register (target.fold_lanes): integers of 32 bits across all
 * lanes of a warp, of which some may hold copies where joining these changes nothing. */
bool plan_folds_at_once(const plan_kernel *kernel, const plan_step *step);

/* Turns of a share at least: the in-block reduction and the partial result cost about one. */
#define REDUCE_LEAST_TURNS 2

/* What a kernel reads and writes. Tensor 0 are elements or keys; 1 the result or positions; 2, of pairs, the
 * keys that are written; 3 the positions that are read. */
typedef struct reduction {
  llrt_op_desc desc;
  reduce_value value;   /* type, index type, op, pairs */
  bool reads_pairs;     /* from tensors 0 and 3 */
  bool writes_keys;     /* to tensor 2 */
  bool clears;          /* what it reads, workspace, is zero afterwards */
  reduce_shape shape;
} reduction;

/* Plans the kernel. *divided: the storages have no common refinement, and there is none. *kept: log2 results
 * of a block. */
llrt_status reduce_plan_kernel(const reduction *r, const plan_target *target,
                               const plan_options *options, plan_kernel *kernel, bool *divided, int *kept);

#endif
