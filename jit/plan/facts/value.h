/* Values: as bits of the kernel's tile, reduced along some, cut into iterations; where a bit or an
 * element is. */
#ifndef LLRT_JIT_PLAN_FACTS_VALUE_H
#define LLRT_JIT_PLAN_FACTS_VALUE_H

#include "jit/plan/kernel/plan.h"

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
/* The kernel's tile bits at which an element of the value lies, of its coordinate; those that the
 * value has. */
uint64_t plan_tile_bits_of(const plan_value *value, uint64_t coordinate);
uint64_t plan_tile_bits_in(const plan_kernel *kernel, const plan_value *value);
/* The same without bits that iterations count. */
uint64_t plan_turn_bits_in(const plan_kernel *kernel, const plan_value *value);

/* The value as addresses of tensors see it: over the kernel's whole tile. */
void plan_value_spread(const plan_kernel *kernel, const plan_value *value, plan_value *out);
/* What combining a value along tile bits leaves: registers of these bits are gone, lanes and warps
 * of them hold copies. Precondition: each is one column, in no other. */
void plan_value_reduce(const plan_value *value, uint64_t tile_bits, plan_value *out);
/* The lanes of a value of the host's that hold copies become the last ones. */
void plan_close_lanes(plan_value *value);
/* Register index of the element of `reduced` that stands for register `index` of `value`. */
uint64_t plan_reduced_register(const plan_value *value, const plan_value *reduced, uint64_t index);

/* The same of lanes that closed up (host). */
uint64_t plan_reduced_lane(const plan_value *value, const plan_value *reduced, uint64_t lane);

/* The highest `n` registers become the lowest bits of iterations; the `n` lowest iterations go. */
void plan_iterate_registers(plan_value *value, int n);
void plan_drop_iterations(plan_value *value, int n);

/* In which in-dim a tile bit of the kernel is, and where; false where it is no column of its own.
 */
bool plan_place_of(const plan_value *value, int tile_bit, plan_dim *dim, int *at);

/* How the bits of a scan's order lie in a value: registers and lanes, minor first. */
typedef struct plan_scan_bit {
  bool lane;
  int at; /* which register or lane bit */
} plan_scan_bit;
/* False where a bit is neither, or shares its column. */
bool plan_scan_bits(const plan_kernel *kernel, const plan_step *step, plan_scan_bit *bits);

/* Which word and which element of it, in `in`, holds register `index` of `out` after
 * PLAN_REGISTERS. */
typedef struct plan_register_source {
  int word, element;
} plan_register_source;
plan_register_source plan_register_of(const plan_value *in, const plan_value *out, int index);

/* Of PLAN_APPLY of FLIP: the bits of a register's number that are turned over. */
int plan_flipped_registers(const plan_kernel *kernel, const plan_step *step);

#endif
