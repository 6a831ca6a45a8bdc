/* Coordinates and addresses of a plan's kernel: digits, bounds, indices, places of the grid (plan.h says how they go
 * together). */
#ifndef LLRT_JIT_PLAN_PLAN_SPACE_H
#define LLRT_JIT_PLAN_PLAN_SPACE_H

#include "jit/plan/launch.h"

#include <llrt/layout.h>

#define PLAN_MAX_DIGITS LLRT_MAX_OUT_DIMS
#define PLAN_MAX_BOUNDS 32
#define PLAN_MAX_TERMS 24
#define PLAN_TERM_BITS 32
#define PLAN_MAX_INDICES (2 * LLRT_MAX_INDICES) /* of all tensors of a kernel */

typedef enum plan_contribution { PLAN_COLUMNS = 0, PLAN_STRIDE = 1, PLAN_INDEXED = 2 } plan_contribution;

typedef struct plan_digit_side {
  uint8_t kind;       /* plan_contribution */
  plan_number stride; /* STRIDE: of one position of the digit. COLUMNS with rest: of the upper part */
} plan_digit_side;

typedef struct plan_digit {
  int8_t axis;        /* -1: a copy that only some tensors have */
  uint8_t bits;       /* fixed bits, = space.out[digit].bits */
  bool rest;          /* has an upper part */
  int64_t step;       /* the digit's position 1 is `step` positions of the axis */
  plan_number upper;  /* rest: number of upper positions */
  plan_digit_side side[LLRT_MAX_TENSORS];
} plan_digit;

/* What accesses to some tensors must keep: a coordinate of an axis, or a digit's position, < limit. */
typedef struct plan_bound {
  int8_t axis;        /* or -1: of digit `top` alone */
  int8_t top;         /* the axis's outermost digit */
  uint8_t tensors;    /* bit t: of accesses to tensor t */
  plan_number limit;
  plan_number full;   /* upper positions of `top` below this are inside, whatever is below them */
  bool device;        /* limit is the axis's device extent rounded up to `round`, full follows from it */
  int64_t round, group; /* device: group is the positions of the axis that one upper position covers */
} plan_bound;

/* An extent that the kernel reads from device memory: an int32 at the address, taken into 0 .. limit. */
typedef struct plan_device_extent {
  bool used;
  plan_number address, limit;
} plan_device_extent;

/* All digits in the order of the destination's memory, fastest first, and their positions: its elements follow each other without
 * a gap, from offset 0 on, as the digits count. */
typedef struct plan_sequence {
  int32_t n; /* 0: not known, and not asked for */
  int8_t digit[PLAN_MAX_DIGITS];
  plan_number count[PLAN_MAX_DIGITS];
} plan_sequence;

/* A digit of one tensor's storage that the kernel's digits do not refine: the tensor's address gets
 * columns (XORed with all others) or stride times (coordinate of axis / step mod extent). */
typedef struct plan_term {
  int8_t tensor, axis;
  uint8_t bits;       /* > 0: columns of so many bits */
  int64_t step;
  int64_t extent;     /* 0: not reduced */
  plan_number stride;
  uint64_t column[PLAN_TERM_BITS];
} plan_term;

/* One place of the block index (or, with flat decode, of the element index), fastest first. */
typedef struct plan_place {
  int8_t digit;             /* >= 0: upper part of that digit, `count` positions */
  uint8_t bits;             /* digit < 0: all bits of in-dim grid */
  plan_number count, magic, magic_shift; /* digit >= 0; magic only where count is no constant */
} plan_place;

/* One place of an index's value above the tile, minor to major. */
typedef struct plan_index_part {
  int64_t extent;     /* positions; not looked at in the last part, which takes the rest */
  plan_number stride; /* elements */
} plan_index_part;

/* An index: value = data[sum over axes of coordinate * stride], checked, then split as the storage splits
 * that axis's coordinate, or taken as the address of offset 0 (llrt_index). */
typedef struct plan_index {
  uint8_t tensor;
  uint8_t kind, out_of_range; /* llrt_index_kind, llrt_out_of_range */
  bool wide;                  /* values have 64 bits, not 32 */
  bool uniform;               /* one value a block */
  int8_t along;               /* the axis along which values follow each other; -1: not known */
  uint8_t group;              /* log2 values of the widest access that their alignment allows */
  uint8_t axes;               /* bit a: selected by axis a */
  plan_number data, extent, report; /* report: with LLRT_RANGE_REPORT only */
  plan_number stride[LLRT_MAX_RANK]; /* by axis, values */
  plan_number limit[LLRT_MAX_RANK];  /* by axis: its positions; beyond there are no values */
  uint8_t tile_bits;                 /* low bits of the value that the storage's tile takes */
  uint64_t column[LLRT_MAX_BITS];    /* their address columns */
  uint8_t n_parts;
  plan_index_part part[LLRT_MAX_DIGITS];
} plan_index;

#endif
