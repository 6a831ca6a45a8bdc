/* Along bits of a tile, inside a block: scans, gathers, combinations. */
#ifndef LLRT_JIT_PLAN_BLOCK_BLOCK_H
#define LLRT_JIT_PLAN_BLOCK_BLOCK_H

#include "jit/plan/draft/draft.h"

/* A scan of a value along bits of the tile. */
typedef struct draft_scan_spec {
  uint8_t combiner, type; /* of the elements, which have 32 or 64 bits; jit/plan/types/combine.h */
  plan_order order;
  bool exclusive, reverse;
  int carry; /* a value reduced along the order that stands before (reverse: after) everything; -1:
                none */
} draft_scan_spec;
/* Appends steps that make *out, laid out as value `in`, of it; *total (NULL: not wanted) becomes
 * the combination of all positions, without the carry. Any layout whose columns are independent or
 * zero. Uses shared memory where bits of the order are warps. */
llrt_status draft_scan(draft *d, int in, const draft_scan_spec *spec, int *out, int *total);
/* The layout in which a value is scanned: its own, or where its columns are sums of bits, one of
 * unit vectors. */
void draft_scan_layout(const plan_value *value, const plan_order *order, plan_value *out);
/* Appends what stands before (reverse: after) value `at` combined with that; *out is laid out as
 * the one that is reduced less. */
llrt_status draft_join_before(draft *d, const draft_scan_spec *spec, int before, int at, int *out);
/* Appends steps that make *out of value `in`, each element taken at the coordinate along tile bits
 * [axis, axis + axis_bits) that value `coordinates` (integers of 32 or 64 bits) holds, modulo the
 * extent; laid out as the coordinates. Errors: UNSUPPORTED for a tile that shared memory does not
 * hold, and for shuffles where the options force them and there are none. */
llrt_status draft_gather(draft *d, int in, int coordinates, int axis, int axis_bits, int *out);

/* What joins elements, and the value (of pairs: values) that is joined. */
typedef struct reduce_value {
  int op;
  llrt_dtype type; /* of keys */
  bool pairs;
  llrt_dtype index; /* of positions */
  int key, at;      /* numbers of values; `at`: positions */
  bool sizes;       /* of f16 and bf16: of their magnitudes */
} reduce_value;

/* Appends steps that join elements of a thread until the tile has so many bits: PLAN_FOLD. ordered:
 * of pairs, positions rise with coordinates. */
llrt_status reduce_fold(draft *d, reduce_value *value, int tile_bits, bool ordered);

/* The first step of reduce_block: what each thread joins of its own. */
llrt_status reduce_threads(draft *d, reduce_value *value, int kept);

/* Appends the in-block reduction to `kept` tile bits: registers, lanes, then warps through shared
 * memory. Precondition: every column of the value lies in the kept bits or in the others, and of
 * the others those of warps are lowest, then lanes, then registers (as reduce_tile leaves them).
 * spread: warps then hold different elements as far as there are enough; else all those that held
 * partial results hold the same. */
llrt_status reduce_block(draft *d, reduce_value *value, int kept, bool spread);
/* The same of several values, which warps hand on behind one barrier where the draft has their
 * buffers apart. */
llrt_status reduce_blocks(draft *d, reduce_value *const *values, const int *kept, int n,
                          bool spread);

#endif
