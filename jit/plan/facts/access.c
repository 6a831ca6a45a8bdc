/* How a value's elements lie in an address space: shared by planning, verification, the
 * interpreter's cost and emission. */
#include "jit/plan/facts/access.h"

#include "base/bits.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

void plan_address_of_tensor(const plan_kernel *kernel, int tensor, plan_address_map *map) {
  const llrt_layout *space = &kernel->space;
  uint64_t strided = 0;
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].side[tensor].kind != PLAN_COLUMNS)
      strided |= bits_mask(space->out[i].bits) << llrt_layout_out_shift(space, i);
  strided |= plan_selecting_bits(kernel, tensor);
  memset(map, 0, sizeof *map);
  for (int b = 0; b < space->in[0].bits; b++) {
    map->column[b] = f2_apply(kernel->column[tensor], space->column[b]);
    map->strided[b] = space->column[b] & strided;
  }
  for (int b = space->in[0].bits; b < llrt_layout_in_bits(space); b++)
    map->of_grid |= f2_apply(kernel->column[tensor], space->column[b]);
}

bool plan_is_unstrided(const plan_address_map *map, uint64_t tile) {
  return f2_apply(map->strided, tile) == 0;
}

void plan_address_of_buffer(const plan_kernel *kernel, int buffer, plan_address_map *map) {
  llrt_layout inverse;
  memset(map, 0, sizeof *map);
  if (llrt_layout_right_inverse(&kernel->buffer[buffer].layout, &inverse) != LLRT_OK) return;
  memcpy(map->column, inverse.column, sizeof map->column);
  /* The repetition is part of the step, not of the address. */
  for (int b = 0; b < LLRT_MAX_BITS; b++)
    map->column[b] &= bits_mask(kernel->buffer[buffer].layout.in[0].bits);
}

void plan_blocks_of_buffer(const plan_kernel *kernel, int buffer, plan_blocks *out) {
  const llrt_layout *layout = &kernel->buffer[buffer].layout;
  llrt_layout inverse;
  int first = layout->in[0].bits + layout->in[1].bits;
  memset(out, 0, sizeof *out);
  if (kernel->cluster_bits == 0 || llrt_layout_right_inverse(layout, &inverse) != LLRT_OK) return;
  for (int b = 0; b < LLRT_MAX_BITS; b++) out->of_tile[b] = inverse.column[b] >> first;
  for (int i = 0; i < kernel->cluster_bits; i++)
    if (layout->column[first + i] == 0) out->own |= 1ull << i;
}

bool plan_is_local(const plan_kernel *kernel, int buffer, const plan_value *value) {
  int warps = kernel->warp_bits - kernel->cluster_bits,
      first = plan_value_bits(value, PLAN_REGISTER) + plan_value_bits(value, PLAN_LANE);
  plan_blocks blocks;
  plan_blocks_of_buffer(kernel, buffer, &blocks);
  for (int i = 0; i < first + kernel->warp_bits; i++) {
    uint64_t own = i >= first + warps ? 1ull << (i - first - warps) & ~blocks.own : 0;
    if (f2_apply(blocks.of_tile, value->layout.column[i]) != own) return false;
  }
  return true;
}

static uint64_t repetition_of(const plan_buffer *buffer, const llrt_layout *inverse, uint64_t x) {
  return f2_apply(inverse->column, x) >> buffer->layout.in[0].bits &
         bits_mask(plan_buffer_parts(buffer));
}

void plan_repetitions_of(const plan_kernel *kernel, int buffer, const plan_value *value,
                         plan_repetitions *out) {
  const plan_buffer *parted = &kernel->buffer[buffer];
  llrt_layout inverse;
  memset(out, 0, sizeof *out);
  if (plan_buffer_parts(parted) == 0 ||
      llrt_layout_right_inverse(&parted->layout, &inverse) != LLRT_OK)
    return;
  for (int i = 0; i < plan_value_bits(value, PLAN_REGISTER); i++)
    out->of_register[i] =
        repetition_of(parted, &inverse, plan_value_columns(value, PLAN_REGISTER)[i]);
  for (int i = 0; i < plan_value_bits(value, PLAN_WARP); i++) {
    out->of_warp[i] = repetition_of(parted, &inverse, plan_value_columns(value, PLAN_WARP)[i]);
    out->warps |= out->of_warp[i];
  }
}

bool plan_repetition_has(const plan_repetitions *repetitions, int repetition, uint64_t reg) {
  return ((f2_apply(repetitions->of_register, reg) ^ (uint64_t)repetition) & ~repetitions->warps) ==
         0;
}

bool plan_access_positions(const plan_value *value, const plan_address_map *map, plan_dim dim,
                           int vector, int *positions) {
  int n = plan_value_bits(value, dim);
  const uint64_t *columns = plan_value_columns(value, dim);
  for (int j = 0; j < vector; j++) {
    int found = -1;
    for (int i = 0; i < n && found < 0; i++) {
      if (f2_apply(map->column, columns[i]) == 1ull << j && plan_is_unstrided(map, columns[i]))
        found = i;
    }
    if (found < 0) return false;
    if (positions) positions[j] = found;
  }
  return true;
}

bool plan_keeps_words(const plan_kernel *kernel, const plan_value *value, int tensor) {
  int word = 5 - bits_log2(value->bits), inside = kernel->target.simd_lanes ? value->word : word;
  int positions[LLRT_MAX_BITS];
  plan_address_map map;
  plan_value spread;
  if (word <= 0) return true;
  if (inside > word || value->word < inside) return false;
  plan_value_spread(kernel, value, &spread);
  plan_address_of_tensor(kernel, tensor, &map);
  if (!plan_access_positions(&spread, &map, PLAN_REGISTER, inside, positions)) return false;
  for (int j = 0; j < LLRT_MAX_BITS; j++) map.column[j] >>= inside;
  if (!plan_access_positions(&spread, &map, PLAN_LANE, word - inside, positions + inside))
    return false;
  bool whole = true;
  for (int j = 0; j < word; j++) whole &= positions[j] == (j < inside ? j : j - inside);
  return whole;
}

bool plan_access_fits(const plan_value *value, const plan_address_map *map, plan_dim dim,
                      int vector) {
  int positions[LLRT_MAX_BITS];
  uint64_t own = 0;
  bool fits = plan_access_positions(value, map, dim, vector, positions);
  for (int j = 0; fits && j < vector && dim == PLAN_REGISTER; j++) {
    own |= 1ull << positions[j];
    fits &= (j >= value->word && positions[j] >= value->word) || positions[j] == j;
  }
  for (int i = 0; fits && dim == PLAN_REGISTER && i < llrt_layout_in_bits(&value->layout); i++)
    fits &=
        own >> i & 1 || (f2_apply(map->column, value->layout.column[i]) & bits_mask(vector)) == 0;
  return fits;
}

int plan_access_widest(const plan_kernel *kernel, const plan_value *value,
                       const plan_address_map *map, plan_dim dim) {
  int v = bits_log2(kernel->target.access_bytes * 8 / value->bits);
  while (v > 0 && !plan_access_fits(value, map, dim, v)) v--;
  return v > 0 ? v : 0;
}
