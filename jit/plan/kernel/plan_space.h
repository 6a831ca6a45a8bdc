/* Coordinates and addresses of a plan's kernel: digits, bounds, indices, places of the grid (plan.h
 * says how they go together). */
#ifndef LLRT_JIT_PLAN_KERNEL_PLAN_SPACE_H
#define LLRT_JIT_PLAN_KERNEL_PLAN_SPACE_H

#include "jit/plan/kernel/launch.h"

#include <llrt/layout.h>

#define PLAN_MAX_DIGITS LLRT_MAX_OUT_DIMS
#define PLAN_MAX_BOUNDS 32
#define PLAN_MAX_TERMS 24
#define PLAN_TERM_BITS 32
#define PLAN_MAX_INDICES (2 * LLRT_MAX_INDICES) /* of all tensors of a kernel */

/* What a digit's position does to the address of one tensor (plan.h). */
typedef enum plan_contribution {
  PLAN_COLUMNS = 0, /* its fixed bits XOR columns, its upper part adds a stride */
  PLAN_STRIDE = 1,  /* it adds a stride */
  PLAN_INDEXED = 2  /* nothing by itself: an index reads a value at it */
} plan_contribution;

typedef struct plan_digit_side {
  uint8_t kind; /* plan_contribution */
  plan_number
      stride; /* STRIDE: of one position of the digit. COLUMNS with rest: of the upper part */
} plan_digit_side;

typedef struct plan_digit {
  int8_t axis;       /* -1: a copy that only some tensors have */
  uint8_t bits;      /* fixed bits, = space.out[digit].bits */
  bool rest;         /* has an upper part */
  int64_t step;      /* the digit's position 1 is `step` positions of the axis */
  plan_number upper; /* rest: number of upper positions */
  plan_digit_side side[LLRT_MAX_TENSORS];
} plan_digit;

/* What accesses to some tensors must keep: a number below a limit. */
typedef struct plan_bound {
  int8_t axis; /* the number is the coordinate along this axis; -1: the position of digit `top` */
  int8_t top;  /* axis >= 0: the axis's outermost digit */
  uint16_t tensors;  /* bit t: accesses to tensor t keep it */
  plan_number limit; /* positions of the axis, or of the digit */
  plan_number full;  /* upper parts of `top` below this are inside, whatever is below them */
  bool device;   /* the limit is the axis's device extent, rounded up to a multiple of `round`, and
                    `full` follows from it */
  int64_t round; /* device: positions of the axis */
  int64_t covered; /* device: positions of the axis that one step of the upper part covers */
} plan_bound;
_Static_assert(LLRT_MAX_TENSORS <= 16, "plan_bound.tensors has a bit for each");

/* An extent that the kernel reads from device memory: an int32 at the address, taken into 0 ..
 * limit. */
typedef struct plan_device_extent {
  bool used;
  plan_number address, limit;
} plan_device_extent;

/* A grouped product: positions along `axis` belong to experts, whose cumulative ends are int32 in
 * device memory. The axis has one digit, of which a block's counts from its expert's first position
 * on: tensors of `tensors` begin there, and the axis's device extent is the expert's positions. */
typedef struct plan_experts {
  bool used;
  /* The place of `digit` in the grid counts the tiles of all experts, and which expert's a tile is
   * follows from the ends; else `of` is a place of its own, and the axis is walked. */
  bool shared;
  int8_t axis;
  uint8_t digit;     /* the axis's */
  uint8_t of;        /* the digit that numbers experts */
  uint8_t ends;      /* tensor */
  bool sorted;       /* it has each position's expert, and the kernel looks for the ends there */
  int64_t tile;      /* shared: positions of a tile */
  int32_t table;     /* shared, GPU: where the table of tiles lies in shared memory, bytes; sorted:
                        behind it that of ends */
  plan_number count; /* experts */
  plan_number limit; /* positions of the axis, of all experts */
  plan_number most;  /* shared: tiles that there may be */
  uint16_t tensors;  /* bit t: tensor t */
  plan_number stride[LLRT_MAX_TENSORS]; /* of one position of the axis, elements */
} plan_experts;
#define PLAN_EXPERT_ENTRIES 4 /* of the table, for each lane of a warp; 4 bytes each */

/* All digits in the order of the destination's memory, fastest first, and their positions: its
 * elements follow each other without a gap, from offset 0 on, as the digits count. */
typedef struct plan_sequence {
  int32_t n; /* 0: not known, and not asked for */
  int8_t digit[PLAN_MAX_DIGITS];
  plan_number count[PLAN_MAX_DIGITS];
} plan_sequence;

/* A digit of one tensor's storage that the kernel's digits do not refine. Its position is
 * (coordinate along `axis` / step) mod extent, and it adds stride * position to the tensor's
 * address, or XORs the columns of the position's bits into it. */
typedef struct plan_term {
  int8_t tensor, axis;
  uint8_t bits;       /* > 0: it has columns, of so many bits; 0: a stride */
  int64_t step;       /* positions of the axis */
  int64_t extent;     /* 0: no mod */
  plan_number stride; /* elements */
  uint64_t column[PLAN_TERM_BITS];
} plan_term;

/* One place of the block index, of a flat kernel's element index, or of a walk; fastest first. */
typedef struct plan_place {
  int8_t digit; /* >= 0: the upper part of that digit (flat: its whole position); -1: grid bits */
  uint8_t bits; /* digit -1: how many grid bits, which are all of in-dim grid */
  plan_number count;              /* digit >= 0: positions */
  plan_number magic, magic_shift; /* where count is no constant: plan_magic of it */
} plan_place;

/* One place of an index's value above the storage's tile, minor to major. */
typedef struct plan_index_part {
  int64_t extent;     /* positions; ignored in the last part, which takes what is left */
  plan_number stride; /* elements of the tensor */
} plan_index_part;

/* Beside llrt_out_of_range: not moved, but the block goes on, as it has more results than this one.
 */
#define PLAN_RANGE_SKIP_ALONE 4

/* An index: value = data[sum over axes of coordinate * stride], checked, then split as the storage
 * splits that axis's coordinate, or taken as the address of offset 0 (llrt_index). */
typedef struct plan_index {
  uint8_t tensor;
  uint8_t kind, out_of_range; /* llrt_index_kind; llrt_out_of_range, PLAN_RANGE_SKIP_ALONE */
  bool wide;                  /* values have 64 bits, not 32 */
  bool uniform;               /* a block has one value */
  int8_t along;               /* the axis along which values follow each other; -1: not known */
  uint8_t vector;             /* log2 values of the widest access that their alignment allows */
  uint8_t axes;               /* bit a: selected by axis a */
  plan_number data;           /* address of the values */
  plan_number extent;         /* what values are checked against */
  plan_number report;         /* address of the counter of values out of range; .arg < 0: none */
  plan_number stride[LLRT_MAX_RANK]; /* by axis, values */
  plan_number limit[LLRT_MAX_RANK];  /* by axis: its positions; beyond there are no values */
  uint8_t tile_bits;                 /* low bits of the value that the storage's tile takes */
  uint64_t column[LLRT_MAX_BITS];    /* their address columns */
  uint8_t n_parts;
  plan_index_part part[LLRT_MAX_DIGITS];
} plan_index;

#endif
