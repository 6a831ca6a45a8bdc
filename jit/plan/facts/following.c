/* See following.h. Emitted code must agree (jit/emit/place/emit_following.c). */
#include "jit/plan/facts/following.h"

#include "base/bits.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/index_eval.h"
#include "layout/f2.h"

const plan_index *plan_slots_of(const plan_kernel *kernel, int tensor) {
  const plan_index *found = NULL;
  int n = 0;
  for (int i = 0; i < kernel->n_indices; i++) {
    if (kernel->index[i].tensor != tensor) continue;
    found = &kernel->index[i];
    n++;
  }
  bool alone = n == 1 && found->kind == LLRT_INDEX_COORDINATE && bits_count(found->axes) == 1;
  return alone ? found : NULL;
}

uint64_t plan_following_bits(const plan_kernel *kernel, const plan_index *index, int following) {
  const llrt_layout *space = &kernel->space;
  bool any = following > 0 && index->axes != 0;
  int digit = any ? plan_lowest_digit(kernel, bits_lowest(index->axes)) : -1;
  uint64_t of_tile = 0, bits = 0;
  if (digit < 0) return 0;
  int first = llrt_layout_out_shift(space, digit);
  for (int b = 0; b < space->in[0].bits; b++)
    if (bits_count(space->column[b]) == 1) of_tile |= space->column[b];
  for (int j = 0; j < bits_min(following, space->out[digit].bits); j++) {
    if (!(of_tile >> (first + j) & 1)) break;
    bits |= 1ull << (first + j);
  }
  return bits;
}

void plan_address_of_following(const plan_kernel *kernel, int tensor, int following,
                               plan_address_map *map) {
  const plan_index *index = following > 0 ? plan_slots_of(kernel, tensor) : NULL;
  plan_address_of_tensor(kernel, tensor, map);
  uint64_t own = index ? plan_following_bits(kernel, index, following) : 0;
  for (int b = 0; b < kernel->space.in[0].bits; b++) {
    uint64_t moved = kernel->space.column[b];
    if (bits_count(moved) != 1 || !(moved & own)) continue;
    map->column[b] = index->column[bits_lowest(moved) - bits_lowest(own)];
    map->strided[b] = 0;
  }
}

void plan_address_of_access(const plan_kernel *kernel, const plan_step *step,
                            plan_address_map *map) {
  plan_address_of_following(kernel, step->tensor, step->following, map);
}

/* Whether the value at these positions is so far behind the first of its 2^following, which is a
 * multiple of that many. */
static bool follows(const plan_kernel *kernel, const plan_index *index, int following,
                    int64_t position[PLAN_MAX_DIGITS], const uint64_t *args) {
  int64_t *lowest = &position[plan_lowest_digit(kernel, bits_lowest(index->axes))];
  int64_t mask = (int64_t)bits_mask(following), behind = *lowest & mask, value, first;
  if (plan_index_place(kernel, index, position, args, 0) < 0) return false;
  if (!plan_index_value(kernel, index, position, args, &value)) return false;
  *lowest -= behind;
  plan_index_value(kernel, index, position, args, &first);
  return (first & mask) == 0 && value == first + behind;
}

/* Of the block's first two positions. */
static bool begin_to_follow(const plan_kernel *kernel, const plan_index *index, uint64_t grid,
                            const int64_t *upper, const uint64_t *args) {
  int64_t position[PLAN_MAX_DIGITS], first, second;
  plan_tile_position(kernel, 0, grid, upper, position);
  plan_index_value(kernel, index, position, args, &first);
  position[plan_lowest_digit(kernel, bits_lowest(index->axes))]++;
  if (plan_index_place(kernel, index, position, args, 0) < 0) return false;
  plan_index_value(kernel, index, position, args, &second);
  return second == first + 1;
}

bool plan_values_follow(const plan_kernel *kernel, const plan_index *index, int following,
                        uint64_t grid, const int64_t *upper, const uint64_t *args) {
  if (following == 0) return begin_to_follow(kernel, index, grid, upper, args);
  uint64_t axis = plan_axes_bits(kernel, index->axes);
  bool all = true;
  for (uint64_t tile = 0; all && tile < 1ull << kernel->space.in[0].bits; tile++) {
    int64_t position[PLAN_MAX_DIGITS];
    if (f2_apply(kernel->space.column, tile) & ~axis) continue;
    plan_tile_position(kernel, tile, grid, upper, position);
    all = follows(kernel, index, following, position, args);
  }
  return all;
}
