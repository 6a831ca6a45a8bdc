/* Questions about a kernel, finished or in the making: how a value's elements lie in an address space, what one access of
 * it is, what a shuffle round or a matrix does, what steps cost. Planning, checks, the interpreter and emission ask them. Private
 * to jit/. */
#ifndef LLRT_JIT_PLAN_ACCESS_H
#define LLRT_JIT_PLAN_ACCESS_H

#include "base/bits.h"
#include "jit/plan/plan.h"
#include "layout/f2.h"

/* ---- access.c ---- */

/* The address columns of one tensor in terms of tile bits: XOR part by tile bit, and the digit bits by which a tile bit also
 * moves the element through a STRIDE digit or an index. */
typedef struct plan_address_map {
  uint64_t column[LLRT_MAX_BITS];  /* per tile bit */
  uint64_t of_grid;                /* the address bits that blocks' numbers move */
  uint64_t strided[LLRT_MAX_BITS]; /* likewise: bits of the space */
} plan_address_map;
/* Whether it moves by the columns alone: several bits' strides may cancel out. */
bool plan_is_unstrided(const plan_address_map *map, uint64_t tile);
void plan_address_of_tensor(const plan_kernel *kernel, int tensor, plan_address_map *map);
void plan_address_of_buffer(const plan_kernel *kernel, int buffer, plan_address_map *map);
/* The repetition of a buffer in which a value's element is stored and loaded: of its register XOR of its
 * warp. `warps`: bits that warps determine, which registers then do not. */
typedef struct plan_repetitions {
  uint64_t of_register[24], of_warp[8], warps;
} plan_repetitions;
void plan_repetitions_of(const plan_kernel *kernel, int buffer, const plan_value *value,
                         plan_repetitions *out);
/* Which block of the cluster holds an element: XOR of of_tile, and of the reader's own block the bits in `own`. */
typedef struct plan_blocks {
  uint64_t of_tile[LLRT_MAX_BITS], own;
} plan_blocks;
void plan_blocks_of_buffer(const plan_kernel *kernel, int buffer, plan_blocks *out);
/* Whether a value in the buffer lies in the own block alone, so that no other's memory is read. */
bool plan_is_local(const plan_kernel *kernel, int buffer, const plan_value *value);
/* log2 parts that the steps of a buffer number. */
static inline int plan_buffer_parts(const plan_buffer *buffer) {
  return buffer->layout.in[1].bits - buffer->iterations;
}
/* Whether register index `reg` takes part in a repetition, in the warps that do. */
bool plan_repetition_has(const plan_repetitions *repetitions, int repetition, uint64_t reg);

/* Bytes of an access of 2^vector elements of `bits` each. */
static inline int plan_access_bytes(int bits, int vector) { return (bits << vector) / 8; }

/* Where a buffer with all its slots ends in shared memory, bytes. */
static inline int32_t plan_buffer_end(const plan_buffer *buffer) {
  return buffer->offset + buffer->bytes * bits_max(buffer->slots, 1);
}

/* The number of a value's register bits, lane bits, …; columns of one in-dim. */
static inline int plan_value_bits(const plan_value *value, plan_dim dim) {
  return value->layout.in[dim].bits;
}
static inline const uint64_t *plan_value_columns(const plan_value *value, plan_dim dim) {
  int first = 0;
  for (int i = 0; i < (int)dim; i++) first += value->layout.in[i].bits;
  return &value->layout.column[first];
}

/* Bits of the kernel's tile as bits of a value's own, which has none that it is reduced along. */
uint64_t plan_value_bits_of(const plan_value *value, uint64_t tile_bits);
/* The kernel's tile bits at which an element of the value lies, of its coordinate; those that the value has. */
uint64_t plan_tile_bits_of(const plan_value *value, uint64_t coordinate);
uint64_t plan_tile_bits_in(const plan_kernel *kernel, const plan_value *value);
/* The same without bits that iterations count. */
uint64_t plan_turn_bits_in(const plan_kernel *kernel, const plan_value *value);

/* The value as addresses of tensors see it: over the kernel's whole tile. */
void plan_value_spread(const plan_kernel *kernel, const plan_value *value, plan_value *out);
/* What combining a value along tile bits leaves: registers of these bits are gone, lanes and warps of them hold
 * copies. Precondition: each is one column, in no other. */
void plan_value_reduce(const plan_value *value, uint64_t tile_bits, plan_value *out);
/* Register index of the element of `reduced` that stands for register `index` of `value`. */
uint64_t plan_reduced_register(const plan_value *value, const plan_value *reduced, uint64_t index);

/* region.c: the highest `n` registers become the lowest bits of iterations; the `n` lowest iterations go. */
void plan_iterate_registers(plan_value *value, int n);
void plan_drop_iterations(plan_value *value, int n);

/* How the bits of a scan's order lie in a value: registers and lanes, minor first. */
typedef struct plan_scan_bit {
  bool lane;
  int at; /* which register or lane bit */
} plan_scan_bit;
/* False where a bit is neither, or shares its column. */
bool plan_scan_bits(const plan_kernel *kernel, const plan_step *step, plan_scan_bit *bits);

/* Finds, for each of the `vector` low address bits, the bit of in-dim `dim` that moves the address by
 * exactly that. positions may be NULL. */
bool plan_access_positions(const plan_value *value, const plan_address_map *map, plan_dim dim,
                           int vector, int *positions);

/* Whether a value has a tensor's 32-bit words whole, their elements in order: in the lowest registers, on the host
 * in those of a lane and the lowest lanes. */
bool plan_keeps_words(const plan_kernel *kernel, const plan_value *value, int tensor);

/* log2 elements of the widest access of a target's by which the value's elements, neighbours in that dim, can be moved:
 * words are formed as memory has them, and all addresses are multiples. */
int plan_access_widest(const plan_kernel *kernel, const plan_value *value, const plan_address_map *map, plan_dim dim);

/* Which word and which element of it, in `in`, holds register `index` of `out` after PLAN_REGISTERS. */
typedef struct plan_register_source {
  int word, element;
} plan_register_source;
plan_register_source plan_register_of(const plan_value *in, const plan_value *out, int index);

/* overhang.c: pieces of a row, each an access of 2^vector elements, that lie next to each other in memory in
 * neighbouring lanes: 2^lanes of them from lane bit first_lane on. */
typedef struct plan_group {
  int lanes, first_lane;
  uint64_t element; /* the space bit that moves a row by one element */
} plan_group;
/* False where an access of the value is not one row of one digit that nothing else moves, or a bound sees it
 * move otherwise than element by element. */
bool plan_group_of(const plan_kernel *kernel, int tensor, const plan_value *value, int vector,
                   plan_group *out);
/* The layout of what lies in front of a store's groups (plan_step.front): the store's, reduced along what a group has, whose lanes
 * each hold some of the group's, in the order of the lowest registers that are left; false where other bits are summed with a
 * group's. */
bool plan_front_of(const plan_kernel *kernel, const plan_value *store, int vector, plan_value *front);
/* Whether the first element of an access is inside every bound of the tensor if any element is, and the
 * destination has the bounds by which others may be outside. */
bool plan_may_be_loose(const plan_kernel *kernel, int tensor, const plan_value *value, int vector);
/* Whether of a GPU's access all elements are inside every bound if its last one is, and none if its first is not. */
bool plan_is_ordered(const plan_kernel *kernel, int tensor, const plan_value *value, int vector);
/* log2 bytes of what an overhanging load takes of memory at once: its vector, of 4-bit elements words. */
int plan_memory_vector(const plan_kernel *kernel, const plan_step *step);
/* What a bound looks at moves so far with each element of a group; 0: not at all. */
int64_t plan_group_step(const plan_kernel *kernel, const plan_bound *bound, const plan_group *group);
/* The bits that tile bits move in tensor t's columns, and in digit i's position. */
uint64_t plan_touched_columns(const plan_kernel *kernel, int tensor);
uint64_t plan_touched_positions(const plan_kernel *kernel, int i);

/* exchange_matrix.c: what a shared step that moves matrices moves at once. */
#define PLAN_MATRIX_LANES 5
#define PLAN_MATRIX_ROW_BYTES 16
typedef struct plan_matrix {
  int row;                /* log2 elements of a row */
  uint64_t inside[8];     /* tile vector that moves an element by 2^j inside its row */
  int count, position[2]; /* log2 matrices of an instruction, the register bits that number them */
  uint64_t lane[PLAN_MATRIX_LANES]; /* what bit i of a lane adds to the row that it gives the address of: rows
                                       first, then matrices; 0 above */
} plan_matrix;
void plan_matrix_of(const plan_kernel *kernel, const plan_step *step, const plan_value *value,
                    plan_matrix *out);
/* The value as addresses see it: with the lanes that give those of rows. */
void plan_matrix_addresses(const plan_value *value, const plan_matrix *matrix, plan_value *out);

/* round.c: a PLAN_SHUFFLE as numbers. Register r', lane l' of the result comes from
 *   register  register_of_register(r') ^ drawn * parity(l' & chooser)
 *   lane      lane_of_register(r') ^ lane_of_lane(l')
 * For one shuffle instruction to read every lane once, `sender` is the lane map that it uses: it is
 * lane_of_lane where that is invertible, else (paired) lane_of_lane ^ lane_of_register(e_pair) on lanes
 * whose parity is 1: then results r' and r' ^ e_pair are made together by two shuffles. A lane that held copies
 * reads its own; one that holds copies afterwards is a chooser with nothing drawn. */
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
/* False where lanes draw from several registers, or are not read once each whatever copies are read: then it is no round. */
bool plan_round_of(const plan_value *in, const plan_value *out, plan_round *round);

/* cost.c */

/* The lanes whose XOR is bit `bit` of a lane's number inside the phase of shared memory that serves it, for
 * accesses of `bytes` bytes. */
uint64_t plan_phase_lane(const plan_target *target, int bytes, bool load, int bit);
/* Brings the addresses of a warp's lanes into the order in which shared memory serves them. */
void plan_order_lanes(const plan_target *target, int bytes, bool load, int64_t *address);
/* index_cost.c: sectors of a tile's loads of values that indices of the tensor choose, for an access by
 * `value`. */
int plan_index_sectors(const plan_kernel *kernel, const plan_value *value, int tensor);
void plan_cost_kernel(plan_kernel *kernel);
/* Adds what steps first to end - 1 cost, bodies once. */
void plan_cost_steps(const plan_kernel *kernel, int first, int end, plan_cost *cost);

#endif
