/* A plan in the making: what the passes of convert planning hand to each other. Private to jit/plan.
 *
 *   digits.c    storages and promises -> the list of digits, their contributions, kernel arguments
 *   tile.c      digits -> work tile, orders of its bits on both sides, block representatives
 *   assign.c    work tile -> which bits are registers, lanes, warps on either side
 *   exchange.c  one assignment -> the other, as steps
 *   map.c       value maps, before and after the exchange
 *   plan_convert.c runs them */
#ifndef LLRT_JIT_PLAN_DRAFT_H
#define LLRT_JIT_PLAN_DRAFT_H

#include "base/bits.h"
#include "jit/plan/plan.h"
#include "layout/f2.h"

/* The most low bits of a REST digit that a tile may take. */
#define DRAFT_REST_BITS 10

/* What is known of a digit on one tensor's side beyond plan_digit_side. */
typedef struct draft_side {
  int order;       /* place in the storage, minor to major; sorts digits by memory */
  int align;       /* log2 of what divides the stride (STRIDE), or the column of bit 0 */
  int64_t stride;  /* a known stride; -1 where it is an argument */
} draft_side;

typedef struct draft {
  const llrt_op_desc *desc;
  const plan_options *options;
  plan_kernel *kernel;
  int64_t extent[LLRT_MAX_RANK];    /* -1: known at run only */
  int extent_align[LLRT_MAX_RANK];  /* log2 of what divides it */
  int address_align[LLRT_MAX_TENSORS]; /* log2 elements; 0 where only bytes are promised */
  draft_side side[PLAN_MAX_DIGITS][LLRT_MAX_TENSORS];

  /* Vectors of the digits' bits: bit z of a vector is out bit z of `space` before REST digits are cut
   * to what the tile takes. first[d] is digit d's first bit, bits[d] how many it may give. */
  int n_bits;
  int first[PLAN_MAX_DIGITS], bits[PLAN_MAX_DIGITS];
  uint64_t column[LLRT_MAX_TENSORS][LLRT_MAX_BITS]; /* address bits, 0 for STRIDE digits */
  uint64_t column_bits[LLRT_MAX_TENSORS];           /* which bits have their whole effect in column */

  /* The work tile: `order[t]` is a basis of it, contiguous run of tensor t first. */
  int tile_bits;
  uint64_t order[2][LLRT_MAX_BITS];
  int run[2];    /* leading vectors of order[t] with address 1, 2, 4, … */
  int vector[2]; /* log2 elements of one access; <= run */
  int align[2];  /* log2 elements that divide the address of every run */
  int word_elements; /* log2 destination elements that must stay together, because a map acts on 32-bit
                        words of them; 0: none */
  int maps_before;   /* how many of kernel->map come before the exchange */
  int n_grid;
  uint64_t grid[LLRT_MAX_BITS]; /* block representatives of fixed bits */
} draft;

/* log2 bytes of an element of tensor t; -1 where two share a byte. */
static inline int draft_log2_bytes(const draft *d, int t) {
  return bits_log2(d->kernel->tensor_bits[t]) - 3;
}

/* digits.c */
llrt_status draft_digits(draft *d);
/* Appends (or finds) a kernel argument; its number. Errors: UNSUPPORTED past PLAN_MAX_ARGS. */
llrt_status draft_arg(draft *d, plan_arg arg, plan_number *number);

/* tile.c */
llrt_status draft_tile(draft *d);
/* space.c: fills kernel.space, columns, digits' bits and edges, places. */
llrt_status draft_space(draft *d);
/* The number ceil or floor(shape[axis] / 2^shift): known now or an argument. */
llrt_status draft_extent(draft *d, plan_arg_kind kind, int axis, int shift, plan_number *number);
/* Appends a block (or flat index) place with `count` = ceil(shape[axis] / 2^shift) positions. */
llrt_status draft_upper_place(draft *d, int digit, plan_number count, int shift);

/* assign.c: values of both sides and of the masked path; needs space. */
typedef struct draft_values {
  plan_value load, store; /* before and after the exchange */
  plan_value edge;        /* one element a lane and iteration */
  int edge_iterations;    /* log2 */
} draft_values;
llrt_status draft_assign(draft *d, draft_values *values);

/* exchange.c: appends steps that turn value `in` into the layout of *target; *out gets its number. */
llrt_status draft_exchange(draft *d, int in, const plan_value *target, int *out);

/* map.c */

/* Resolves the description's maps into kernel->map. */
llrt_status draft_maps(draft *d);
/* Appends a step for each of the n maps from `first` on; *value becomes the last one's result. */
llrt_status draft_map_steps(draft *d, int first, int n, int *value);
/* Whether words that a map acts on stay whole in every block. Errors: UNSUPPORTED where they do not. */
llrt_status draft_check_words(const draft *d);

/* Appending to the kernel. */
llrt_status draft_step(plan_kernel *kernel, plan_step step);
llrt_status draft_value(plan_kernel *kernel, const plan_value *value, int *number);

/* Threads, shared memory and cost of a kernel whose steps are complete. */
void draft_finish(plan_kernel *kernel);

/* flat.c: the steps and places of the kernel that takes one element after the other. */
llrt_status draft_flat(draft *d);

/* access.c: questions about the map from a value to addresses. */

/* The address columns of one tensor in terms of tile bits: XOR part by tile bit, and whether a tile
 * bit also moves the element through a STRIDE digit. */
typedef struct plan_address_map {
  uint64_t column[LLRT_MAX_BITS]; /* per tile bit */
  uint64_t strided;               /* mask of tile bits that touch STRIDE digits */
} plan_address_map;
void plan_address_of_tensor(const plan_kernel *kernel, int tensor, plan_address_map *map);
void plan_address_of_buffer(const plan_kernel *kernel, int buffer, plan_address_map *map);
/* The repetition of a buffer in which register index `reg` of a value is stored and loaded. */
int plan_repetition(const plan_kernel *kernel, int buffer, const plan_value *value, uint64_t reg);

/* Bytes of an access of 2^vector elements of `bits` each. */
static inline int plan_access_bytes(int bits, int vector) { return (bits << vector) / 8; }

/* The number of a value's register bits, lane bits, …; columns of one in-dim. */
static inline int plan_value_bits(const plan_value *value, plan_dim dim) {
  return value->layout.in[dim].bits;
}
static inline const uint64_t *plan_value_columns(const plan_value *value, plan_dim dim) {
  int first = 0;
  for (int i = 0; i < (int)dim; i++) first += value->layout.in[i].bits;
  return &value->layout.column[first];
}

/* Finds, for each of the `vector` low address bits, the bit of in-dim `dim` that moves the address by
 * exactly that. positions may be NULL. */
bool plan_access_positions(const plan_value *value, const plan_address_map *map, plan_dim dim,
                           int vector, int *positions);

/* Which word and which element of it, in `in`, holds register `index` of `out` after PLAN_REGISTERS. */
typedef struct plan_register_source {
  int word, element;
} plan_register_source;
plan_register_source plan_register_of(const plan_value *in, const plan_value *out, int index);

/* round.c: a PLAN_SHUFFLE as numbers. Register r', lane l' of the result comes from
 *   register  register_of_register(r') ^ drawn * parity(l' & chooser)
 *   lane      lane_of_register(r') ^ lane_of_lane(l')
 * For one shuffle instruction to read every lane once, `sender` is the lane map that it uses: it is
 * lane_of_lane where that is invertible, else (paired) lane_of_lane ^ lane_of_register(e_pair) on lanes
 * whose parity is 1: then results r' and r' ^ e_pair are made together by two shuffles. */
#define PLAN_ROUND_LANES 8
typedef struct plan_round {
  int n_registers, n_lanes;
  uint64_t register_of_register[24], lane_of_register[24];
  uint64_t lane_of_lane[PLAN_ROUND_LANES];
  uint64_t drawn, chooser;
  bool paired; /* results come in pairs along register bit `pair` */
  int pair;
  bool stays; /* the first shuffle of a pair (or the only one) moves nothing between lanes */
  uint64_t sender[PLAN_ROUND_LANES], sender_inverse[PLAN_ROUND_LANES];
} plan_round;
void plan_round_of(const plan_value *in, const plan_value *out, plan_round *round);

/* cost.c */

/* The lanes whose XOR is bit `bit` of a lane's number inside the phase of shared memory that serves it, for
 * accesses of `bytes` bytes. */
uint64_t plan_phase_lane(const plan_target *target, int bytes, bool load, int bit);
/* Brings the addresses of a warp's lanes into the order in which shared memory serves them. */
void plan_order_lanes(const plan_target *target, int bytes, bool load, int64_t *address);
void plan_cost_kernel(plan_kernel *kernel);

#endif
