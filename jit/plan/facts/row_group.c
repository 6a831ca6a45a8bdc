/* Rows that are not aligned: groups of pieces that overhanging accesses move (plan_step.overhang),
 * what is in order and what may be loose, and which part of memory a block touches by them. */
#include "jit/plan/facts/row_group.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

#define WORD_BYTES 4

/* The bit of space that a column of the value moves, if it moves one and nothing else of the value
 * or of the grid moves that one: then the positions along it are in order. 0: there is none. */
static uint64_t own_bit(const plan_kernel *kernel, const plan_value *value, uint64_t column) {
  const llrt_layout *space = &kernel->space;
  uint64_t bit = f2_apply(space->column, column);
  int moved = 0;
  if (bits_count(bit) != 1) return 0;
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++)
    moved += (f2_apply(space->column, value->layout.column[i]) & bit) != 0;
  for (int i = 0; i < space->in[1].bits; i++)
    moved += (space->column[space->in[0].bits + i] & bit) != 0;
  return moved == 1 ? bit : 0;
}

/* Whether address bit j of the tensor's XOR part depends on exactly one bit of the value (register,
 * lane, warp or iteration), and on no bit of the grid. */
static bool is_own_address(const plan_kernel *kernel, const plan_value *value, int tensor, int j) {
  const llrt_layout *space = &kernel->space;
  int moved = 0;
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++)
    moved +=
        f2_apply(kernel->column[tensor], f2_apply(space->column, value->layout.column[i])) >> j & 1;
  for (int i = 0; i < space->in[1].bits; i++)
    moved += f2_apply(kernel->column[tensor], space->column[space->in[0].bits + i]) >> j & 1;
  return moved == 1;
}

/* How far one bit of space moves what a bound looks at. */
static int64_t bound_step(const plan_kernel *kernel, const plan_bound *bound, uint64_t bit) {
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    uint64_t moved = bit >> llrt_layout_out_shift(&kernel->space, i) & bits_mask(digit->bits);
    if (moved == 0) continue;
    if (bound->axis < 0) return i == bound->top ? (int64_t)moved : 0;
    return digit->axis == bound->axis ? digit->step * (int64_t)moved : 0;
  }
  return 0;
}

/* Whether every bound of the tensor sees bit j of a run, `bit` of space, move 2^j times as far as
 * the run's first bit. */
static bool steps_evenly(const plan_kernel *kernel, int tensor, uint64_t first, uint64_t bit,
                         int j) {
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (bound->tensors >> tensor & 1 &&
        bound_step(kernel, bound, bit) != bound_step(kernel, bound, first) << j)
      return false;
  }
  return true;
}

int plan_memory_vector(const plan_kernel *kernel, const plan_step *step) {
  int bits = kernel->tensor_bits[step->tensor];
  return bits < 8 ? bits_log2(WORD_BYTES) : bits_log2(bits) - 3 + step->vector;
}

int64_t plan_group_step(const plan_kernel *kernel, const plan_bound *bound,
                        const plan_group *group) {
  return bound_step(kernel, bound, group->element);
}

/* The lane bit that moves the address by 2^j; -1: there is none. */
static int lane_of(const plan_value *value, const plan_address_map *map, int j) {
  const uint64_t *lanes = plan_value_columns(value, PLAN_LANE);
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    if (f2_apply(map->column, lanes[i]) == 1ull << j && plan_is_unstrided(map, lanes[i])) return i;
  return -1;
}

/* Whether 2^vector elements are an access of whole 32-bit words; the registers' bits that move its
 * address. */
static bool access_of_words(const plan_kernel *kernel, int tensor, const plan_value *value,
                            int vector, plan_address_map *map, int *positions) {
  plan_address_of_tensor(kernel, tensor, map);
  return vector >= value->word && value->bits << value->word == 32 &&
         plan_access_positions(value, map, PLAN_REGISTER, vector, positions);
}

bool plan_group_of(const plan_kernel *kernel, int tensor, const plan_value *value, int vector,
                   plan_group *out) {
  plan_address_map map;
  int positions[LLRT_MAX_BITS];
  memset(out, 0, sizeof *out);
  if (!access_of_words(kernel, tensor, value, vector, &map, positions)) return false;
  for (int j = 0; j < vector; j++) {
    uint64_t bit = own_bit(kernel, value, plan_value_columns(value, PLAN_REGISTER)[positions[j]]);
    if (j == 0) out->element = bit;
    if (!bit || !is_own_address(kernel, value, tensor, j) ||
        !steps_evenly(kernel, tensor, out->element, bit, j))
      return false;
  }
  if (vector == 0) return false;
  for (int j = vector;; j++) {
    int lane = lane_of(value, &map, j);
    if (lane < 0 || (out->lanes > 0 && lane != out->first_lane + out->lanes)) return true;
    uint64_t bit = own_bit(kernel, value, plan_value_columns(value, PLAN_LANE)[lane]);
    if (!bit || !is_own_address(kernel, value, tensor, j) ||
        !steps_evenly(kernel, tensor, out->element, bit, j))
      return true;
    if (out->lanes == 0) out->first_lane = lane;
    out->lanes++;
  }
}

/* The register bit that moves the address by 2^j; -1: there is none. */
static int register_of(const plan_value *value, const plan_address_map *map, int j) {
  const uint64_t *registers = plan_value_columns(value, PLAN_REGISTER);
  for (int i = 0; i < plan_value_bits(value, PLAN_REGISTER); i++)
    if (f2_apply(map->column, registers[i]) == 1ull << j && plan_is_unstrided(map, registers[i]))
      return i;
  return -1;
}

void plan_run_of(const plan_kernel *kernel, int tensor, const plan_value *value, int vector,
                 const plan_group *group, plan_group_run *out) {
  plan_address_map map;
  *out = (plan_group_run){0};
  if (group->first_lane != 0 || group->lanes != plan_value_bits(value, PLAN_LANE)) return;
  plan_address_of_tensor(kernel, tensor, &map);
  for (int j = vector + group->lanes;; j++) {
    int found = register_of(value, &map, j);
    uint64_t bit =
        found < 0 ? 0 : own_bit(kernel, value, plan_value_columns(value, PLAN_REGISTER)[found]);
    if (!bit || !is_own_address(kernel, value, tensor, j) ||
        !steps_evenly(kernel, tensor, group->element, bit, j))
      return;
    out->bit[out->n++] = found;
  }
}

/* The lanes of a group take what each of them would have in registers, as many as there are. */
static void deal_registers(plan_value *front, const plan_group *group) {
  plan_value dealt = *front;
  llrt_layout *layout = &dealt.layout;
  int registers = plan_value_bits(front, PLAN_REGISTER), n = bits_min(registers, group->lanes),
      at = 0;
  *layout = llrt_layout_empty();
  llrt_layout_add_out(layout, front->layout.out[0].name, front->layout.out[0].bits);
  for (int dim = 0; dim < front->layout.n_in; dim++) {
    const uint64_t *columns = plan_value_columns(front, (plan_dim)dim);
    int skipped = dim == PLAN_REGISTER ? n : 0, bits = front->layout.in[dim].bits - skipped;
    llrt_layout_add_in(layout, front->layout.in[dim].name, bits);
    for (int i = 0; i < bits; i++, at++) {
      int own = dim == PLAN_LANE ? i - group->first_lane : -1;
      layout->column[at] = own >= 0 && own < n ? plan_value_columns(front, PLAN_REGISTER)[own]
                                               : columns[i + skipped];
    }
  }
  *front = dealt;
}

bool plan_front_of(const plan_kernel *kernel, const plan_value *store, int vector,
                   plan_value *front) {
  const uint64_t *registers = plan_value_columns(store, PLAN_REGISTER),
                 *lanes = plan_value_columns(store, PLAN_LANE);
  int positions[LLRT_MAX_BITS];
  uint64_t gone = 0;
  plan_address_map map;
  plan_group group;
  if (!plan_group_of(kernel, PLAN_DESTINATION, store, vector, &group)) return false;
  plan_address_of_tensor(kernel, PLAN_DESTINATION, &map);
  plan_access_positions(store, &map, PLAN_REGISTER, vector, positions);
  for (int j = 0; j < vector; j++) gone |= registers[positions[j]];
  for (int j = 0; j < group.lanes; j++) gone |= lanes[group.first_lane + j];
  for (int i = 0; i < llrt_layout_in_bits(&store->layout); i++)
    if (store->layout.column[i] & gone && bits_count(store->layout.column[i]) > 1) return false;
  *front = *store;
  front->bits = kernel->tensor_bits[0];
  plan_value_reduce(front, gone, front);
  front->word = 0;
  deal_registers(front, &group);
  return true;
}

bool plan_is_ordered(const plan_kernel *kernel, int tensor, const plan_value *value, int vector) {
  plan_address_map map;
  int positions[LLRT_MAX_BITS];
  plan_address_of_tensor(kernel, tensor, &map);
  if (!plan_access_positions(value, &map, PLAN_REGISTER, vector, positions)) return false;
  for (int j = 0; j < vector; j++)
    if (!own_bit(kernel, value, plan_value_columns(value, PLAN_REGISTER)[positions[j]]))
      return false;
  return true;
}

bool plan_may_be_loose(const plan_kernel *kernel, int tensor, const plan_value *value, int vector) {
  plan_address_map map;
  int positions[LLRT_MAX_BITS];
  if (!access_of_words(kernel, tensor, value, vector, &map, positions)) return false;
  for (int j = 0; j < vector; j++) {
    uint64_t bit = own_bit(kernel, value, plan_value_columns(value, PLAN_REGISTER)[positions[j]]);
    if (!bit) return false;
    for (int i = 0; i < kernel->n_bounds; i++) {
      const plan_bound *bound = &kernel->bound[i];
      if (bound->tensors >> tensor & 1 && !(bound->tensors >> PLAN_DESTINATION & 1) &&
          bound_step(kernel, bound, bit) != 0)
        return false;
    }
  }
  return true;
}

/* What tile and grid bits can make of a linear map's image: bits set in all, and in some. */
typedef struct bit_reach {
  uint64_t low, high;
} bit_reach;

static bit_reach reach_of(uint64_t of_grid, uint64_t touched) {
  return (bit_reach){of_grid & ~touched, of_grid | touched};
}

/* Least and greatest offset of a block's tile on a tensor, edges counted as inside. Precondition:
 * no swizzle, no indices. */
static void block_reach(const plan_kernel *kernel, int tensor, uint64_t grid,
                        const int64_t upper[PLAN_MAX_DIGITS], const uint64_t *args, int64_t *low,
                        int64_t *high) {
  const llrt_layout *space = &kernel->space;
  uint64_t fixed = f2_apply(&space->column[space->in[0].bits], grid);
  bit_reach columns =
      reach_of(f2_apply(kernel->column[tensor], fixed), plan_touched_columns(kernel, tensor));
  *low = kernel->origin[tensor] + (int64_t)columns.low;
  *high = kernel->origin[tensor] + (int64_t)columns.high;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    const plan_digit_side *side = &digit->side[tensor];
    int64_t stride = plan_number_value(&side->stride, args, 0), first = upper[i], last = upper[i];
    if (side->kind == PLAN_STRIDE) {
      uint64_t of_grid = fixed >> llrt_layout_out_shift(space, i) & bits_mask(digit->bits);
      bit_reach positions = reach_of(of_grid, plan_touched_positions(kernel, i));
      first = upper[i] << digit->bits | (int64_t)positions.low;
      last = upper[i] << digit->bits | (int64_t)positions.high;
    } else if (!digit->rest) {
      continue;
    }
    *low += stride * (stride < 0 ? last : first);
    *high += stride * (stride < 0 ? first : last);
  }
}

uint64_t plan_touched_columns(const plan_kernel *kernel, int tensor) {
  uint64_t touched = 0;
  for (int b = 0; b < kernel->space.in[0].bits; b++)
    touched |= f2_apply(kernel->column[tensor], kernel->space.column[b]);
  return touched;
}

uint64_t plan_touched_positions(const plan_kernel *kernel, int i) {
  uint64_t touched = 0;
  for (int b = 0; b < kernel->space.in[0].bits; b++) touched |= kernel->space.column[b];
  return touched >> llrt_layout_out_shift(&kernel->space, i) & bits_mask(kernel->digit[i].bits);
}

bool plan_block_within(const plan_kernel *kernel, uint64_t grid,
                       const int64_t upper[PLAN_MAX_DIGITS], const uint64_t *args) {
  const plan_memory *memory = &kernel->memory;
  int64_t low, high, bits = kernel->tensor_bits[0], vector = (int64_t)1 << memory->vector;
  if (!memory->guards) return true;
  block_reach(kernel, 0, grid, upper, args, &low, &high);
  int64_t first = ((int64_t)args[0] + (low * bits >> 3)) & -vector;
  int64_t last = ((int64_t)args[0] + ((high * bits + bits + 7) >> 3) + vector - 1) & -vector;
  return first >= plan_number_value(&memory->begin, args, 0) &&
         last <= plan_number_value(&memory->end, args, 0);
}
