/* Rows that are not aligned: the groups of pieces that overhanging accesses move, and what a block
 * touches by them. */
#ifndef LLRT_JIT_PLAN_FACTS_ROW_GROUP_H
#define LLRT_JIT_PLAN_FACTS_ROW_GROUP_H

#include "jit/plan/kernel/plan.h"

/* Pieces of a row, each an access of 2^vector elements, that lie next to each other in memory in
 * neighbouring lanes: 2^lanes of them from lane bit first_lane on. */
typedef struct plan_group {
  int lanes, first_lane;
  uint64_t element; /* the space bit that moves a row by one element */
} plan_group;
/* False where an access of the value is not one row of one digit that nothing else moves, or a
 * bound sees it move otherwise than element by element. */
bool plan_group_of(const plan_kernel *kernel, int tensor, const plan_value *value, int vector,
                   plan_group *out);
/* Registers behind a group of all lanes, whose pieces go on where the group ends: bits of a
 * register index, from the one that moves the address least on. */
typedef struct plan_group_run {
  int n, bit[LLRT_MAX_BITS];
} plan_group_run;
/* Those of the group of an access of 2^vector elements; none where the group has not all lanes. */
void plan_run_of(const plan_kernel *kernel, int tensor, const plan_value *value, int vector,
                 const plan_group *group, plan_group_run *out);
/* The layout of what lies in front of a store's groups (plan_step.front): the store's, reduced
 * along what a group has, whose lanes each hold some of the group's, in the order of the lowest
 * registers that are left; false where other bits are summed with a group's. */
bool plan_front_of(const plan_kernel *kernel, const plan_value *store, int vector,
                   plan_value *front);
/* Whether the first element of an access is inside every bound of the tensor if any element is, and
 * the destination has the bounds by which others may be outside. */
bool plan_may_be_loose(const plan_kernel *kernel, int tensor, const plan_value *value, int vector);
/* Whether of a GPU's access all elements are inside every bound if its last one is, and none if its
 * first is not. */
bool plan_is_ordered(const plan_kernel *kernel, int tensor, const plan_value *value, int vector);
/* log2 bytes of what an overhanging load takes of memory at once: its vector, of 4-bit elements
 * words. */
int plan_memory_vector(const plan_kernel *kernel, const plan_step *step);
/* How far the bound's coordinate advances from one element of the group to the next, in positions;
 * 0 where the bound does not depend on it. */
int64_t plan_group_step(const plan_kernel *kernel, const plan_bound *bound,
                        const plan_group *group);
/* The bits that tile bits move in tensor t's columns, and in digit i's position. */
uint64_t plan_touched_columns(const plan_kernel *kernel, int tensor);
uint64_t plan_touched_positions(const plan_kernel *kernel, int i);

/* Whether tensor 0's memory has all of the vectors that the block's rows overhang, where that
 * guards the interior. */
bool plan_block_within(const plan_kernel *kernel, uint64_t grid,
                       const int64_t upper[PLAN_MAX_DIGITS], const uint64_t *args);

#endif
