/* A conversion between two given distributed layouts, or a scan in one, as a kernel of its own: for
 * tests of what other kernels are made of, and for measuring it. */
#ifndef LLRT_JIT_PROBE_PLAN_TILE_H
#define LLRT_JIT_PROBE_PLAN_TILE_H

#include "jit/plan/kernel/plan.h"

/* Elements are of `type`, whose bits are element_bits. */
typedef struct plan_tile_scan {
  int combiner; /* jit/plan/types/combine.h */
  llrt_dtype type;
  int axis; /* out-dim */
  bool exclusive, reverse;
} plan_tile_scan;
/* Coordinates along an axis, by which elements are gathered: integers of 32 bits in tensor 2, a
 * tile of them for each of the elements, laid out as b, of which the low bits count. */
typedef struct plan_tile_gather {
  int axis; /* out-dim */
} plan_tile_gather;

typedef struct plan_tile_reduce {
  int combiner; /* no arg combiner */
  llrt_dtype type;
  int axis; /* out-dim */
} plan_tile_reduce;

/* Elements become those of another type on the way to b and become the former ones on the way back;
 * what moves between threads is the narrower. */
typedef struct plan_tile_cast {
  llrt_dtype from, to; /* of 8 to 64 bits; from has element_bits */
} plan_tile_cast;

typedef struct plan_tile {
  const llrt_layout *a,
      *b;           /* register, lane, warp, block (each may be absent) -> the same out-dims */
  int element_bits; /* 8, 16, 32 or 64 */
  int turns;        /* how often a block goes there and back, at least 1 */
  const plan_tile_scan *scan;     /* or NULL; once, turns is not looked at */
  const plan_tile_reduce *reduce; /* or NULL; then b is not looked at, either */
  const plan_tile_gather *gather; /* or NULL: a turn is then a gather of what lies in a, whose
                                     result in b goes back to a */
  const plan_tile_cast *cast;     /* or NULL; with none of the others */
} plan_tile;

/* Plans: load a tile in layout a, `turns` times a -> b -> a (with a scan: a -> b, scan, b -> a),
 * store. Tensors are one-dimensional, of any number of tiles (a reduction stores its results where
 * the axis's coordinate is 0, and all threads that held elements of a result hold it in the end),
 * each in the order of its flattened coordinates; blocks take one tile each (2^block bits of them,
 * if the layouts have an in-dim block). What both layouts hold several times is one value: copies
 * in registers are renamings, copies in lanes and warps are stored once, copies in blocks by each
 * block, which reads its own. Blocks between which elements move are a cluster, and where the
 * target has none, or none so large, or scans, warps of a larger block. On the host, lanes and
 * warps are redistributed over the lanes and registers that there are.
 *
 * options->exchange forces shared memory or shuffles. Errors: INVALID_ARGUMENT for layouts that are
 * no pair of distributed layouts of one tile; UNSUPPORTED for more lanes or warps than the target
 * has, too many blocks between which elements move, elements that are combined between blocks,
 * values too large for a thread. */
llrt_status plan_tile_make(const plan_tile *tile, const plan_target *target,
                           const plan_options *options, plan_kernel *out);

#endif
