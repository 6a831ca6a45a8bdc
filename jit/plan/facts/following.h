/* Values of an index that follow each other: where a storage has positions of the axis that it
 * stands for side by side, accesses may then have several of them, though each has a value of its
 * own. */
#ifndef LLRT_JIT_PLAN_FACTS_FOLLOWING_H
#define LLRT_JIT_PLAN_FACTS_FOLLOWING_H

#include "jit/plan/facts/access.h"

/* The index of an output that alone chooses its positions, by values along one axis; NULL: there is
 * none, or another one beside it. */
const plan_index *plan_slots_of(const plan_kernel *kernel, int tensor);

/* The out bits of space of the lowest 2^following positions along the axis of the index's values,
 * as far as the tile has them one by one. */
uint64_t plan_following_bits(const plan_kernel *kernel, const plan_index *index, int following);

/* The map of the tensor where values follow each other from multiples of 2^following on: the lowest
 * positions along their axis move the address as the values' lowest bits do. */
void plan_address_of_following(const plan_kernel *kernel, int tensor, int following,
                               plan_address_map *map);

/* The map by which a LOAD or a STORE moves its accesses. */
void plan_address_of_access(const plan_kernel *kernel, const plan_step *step,
                            plan_address_map *map);

/* Whether the values of the index that the block chooses follow each other, 2^following at a time,
 * from multiples of 2^following on, each in range and none beyond the shape; following 0: whether
 * that of the block's second position, in the shape, is the first one's next. */
bool plan_values_follow(const plan_kernel *kernel, const plan_index *index, int following,
                        uint64_t grid, const int64_t *upper, const uint64_t *args);

#endif
