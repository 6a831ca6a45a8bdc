/* From a work tile to the kernel's coordinates: `space`, the digits' bits, the block index. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"

#include <assert.h>
#include <stdio.h>

/* How many low bits of digit i the tile and the grid use: all of a fixed digit, of one with an
 * upper part those in the tile, which are its lowest. */
static int used_bits(const draft *d, int i) {
  if (!d->kernel->digit[i].rest) return d->bits[i];
  uint64_t touched = 0;
  for (int j = 0; j < d->tile_bits; j++) touched |= d->order[0][j];
  touched = touched >> d->first[i] & bits_mask(d->bits[i]);
  assert((touched & (touched + 1)) == 0);
  return bits_count(touched);
}

llrt_status draft_digit_count(draft *d, int i, int64_t divisor, plan_number *count) {
  const plan_digit *digit = &d->kernel->digit[i];
  int64_t positions = divisor / digit->step;
  if (d->splits && i == d->split) return draft_arg(d, (plan_arg){.kind = PLAN_ARG_SPLITS}, count);
  if (d->count[i] < 0)
    return draft_number(d, PLAN_ARG_CEIL, digit->axis, d->padder[digit->axis], divisor, count);
  *count = (plan_number){.arg = -1, .value = bits_ceil_div(d->count[i], positions)};
  return LLRT_OK;
}

static llrt_status finish_rest_digit(draft *d, int i) {
  plan_digit *digit = &d->kernel->digit[i];
  LLRT_TRY(draft_digit_count(d, i, digit->step << digit->bits, &digit->upper));
  for (int t = 0; t < d->desc->n_tensors; t++)
    if (digit->side[t].kind == PLAN_COLUMNS) digit->side[t].stride.value <<= digit->bits;
  return LLRT_OK;
}

static llrt_status fill_space(draft *d) {
  plan_kernel *kernel = d->kernel;
  llrt_layout *space = &kernel->space;
  char name[LLRT_NAME_BYTES];
  *space = llrt_layout_empty();
  for (int i = 0; i < kernel->n_digits; i++) {
    snprintf(name, sizeof name, "d%d", i);
    LLRT_TRY(llrt_layout_add_out(space, name, kernel->digit[i].bits));
  }
  LLRT_TRY(llrt_layout_add_in(space, "tile", d->tile_bits));
  LLRT_TRY(llrt_layout_add_in(space, "grid", d->n_grid));
  for (int i = 0; i < d->tile_bits; i++) space->column[i] = draft_repack(d, d->order[0][i]);
  for (int i = 0; i < d->n_grid; i++) space->column[d->tile_bits + i] = draft_repack(d, d->grid[i]);
  for (int t = 0; t < d->desc->n_tensors; t++)
    for (int i = 0; i < kernel->n_digits; i++)
      for (int b = 0, shift = llrt_layout_out_shift(space, i); b < kernel->digit[i].bits; b++)
        kernel->column[t][shift + b] = d->column[t][d->first[i] + b];
  return LLRT_OK;
}

static llrt_status add_place(draft *d, plan_place place, plan_grid_place grid) {
  plan_kernel *kernel = d->kernel;
  if (kernel->n_places == PLAN_MAX_GRID)
    return llrt_error(LLRT_UNSUPPORTED, "the grid is counted by more than %d digits",
                      PLAN_MAX_GRID);
  kernel->place[kernel->n_places++] = place;
  kernel->launch.grid[kernel->launch.n_grid++] = grid;
  return LLRT_OK;
}

static llrt_status add_turn_place(draft *d, plan_place place, plan_grid_place grid) {
  plan_turns *turns = &d->kernel->walk;
  plan_walk *walk = &d->kernel->launch.walk;
  if (turns->n_places == LLRT_MAX_RANK * 2)
    return llrt_error(LLRT_UNSUPPORTED, "a walk along more than %d digits", LLRT_MAX_RANK * 2);
  turns->place[turns->n_places++] = place;
  walk->place[walk->n++] = grid;
  return LLRT_OK;
}

llrt_status draft_digit_place(draft *d, int i, int64_t divisor) {
  plan_place place = {.digit = (int8_t)i};
  plan_grid_place grid = {.axis = -1};
  bool counted;
  if (draft_is_of_experts(d, i)) return LLRT_OK;
  LLRT_TRY(draft_expert_place(d, i, &place, &grid, &counted));
  if (counted) return add_place(d, place, grid);
  bool walked = draft_is_walked(d, d->kernel->digit[i].axis);
  LLRT_TRY(draft_digit_count(d, i, divisor, &place.count));
  if (d->splits && i == d->split)
    return add_place(d, place, (plan_grid_place){.axis = PLAN_AXIS_SPLITS});
  if (place.count.arg < 0) {
    grid.factor = place.count.value;
    return walked ? add_turn_place(d, place, grid) : add_place(d, place, grid);
  }
  plan_arg arg = d->kernel->launch.arg[place.count.arg];
  grid = (plan_grid_place){.axis = (int8_t)arg.index, .padded = arg.padded, .factor = arg.factor};
  arg.kind = PLAN_ARG_MAGIC;
  LLRT_TRY(draft_arg(d, arg, &place.magic));
  arg.kind = PLAN_ARG_MAGIC_SHIFT;
  LLRT_TRY(draft_arg(d, arg, &place.magic_shift));
  return walked ? add_turn_place(d, place, grid) : add_place(d, place, grid);
}

llrt_status draft_tile_digit(draft *d, int bits, int size) {
  plan_kernel *kernel = d->kernel;
  plan_digit *digit = &kernel->digit[0];
  *digit = (plan_digit){.bits = (uint8_t)bits, .rest = true, .step = 1};
  kernel->n_digits = 1;
  d->count[0] = d->shape[0].known = d->written[0].known = -1;
  for (int t = 0; t < kernel->n_tensors; t++) {
    plan_number address;
    LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_ADDRESS, .tensor = (uint8_t)t}, &address));
    digit->side[t].stride = (plan_number){.arg = -1, .value = (int64_t)1 << size};
  }
  return draft_digit_count(d, 0, (int64_t)1 << size, &digit->upper);
}

llrt_status draft_walk_places(draft *d, bool upper) {
  const plan_kernel *kernel = d->kernel;
  int64_t above = 0;
  for (;;) {
    int next = -1;
    for (int i = 0; i < kernel->n_digits; i++)
      if (draft_is_scanned(d, kernel->digit[i].axis) && kernel->digit[i].step > above &&
          (next < 0 || kernel->digit[i].step < kernel->digit[next].step))
        next = i;
    if (next < 0) return LLRT_OK;
    above = kernel->digit[next].step;
    if (upper && !kernel->digit[next].rest) continue;
    LLRT_TRY(draft_digit_place(d, next, above << (upper ? kernel->digit[next].bits : 0)));
  }
}

/* Digits of an extent on the device come last, so that idle blocks are the last ones; those along
 * which an index sends neighbours anywhere first, so that what they read or write stays in the
 * cache meanwhile. */
static int block_order(const draft *d, int i, int side) {
  int axis = d->kernel->digit[i].axis, order = d->side[i][side].order;
  if (axis >= 0 && d->tile_positions[axis] > 0 && d->count[i] == d->tile_positions[axis])
    return 2 * LLRT_MAX_DIGITS - 1; /* one place */
  if (d->splits && i == d->split)
    return 2 * LLRT_MAX_DIGITS - 1; /* what they share, other blocks walk, too */
  /* Blocks of products on the host go along M: the columns of B that they share stay in the cache.
   */
  bool rows = d->roles.tiled && d->kernel->target.simd_lanes && axis == d->first_tiled;
  if (rows && axis >= 0) return -LLRT_MAX_DIGITS - 2;
  if (axis >= 0 && d->top[i] && draft_on_device(d, axis)) return LLRT_MAX_DIGITS + order;
  bool own = d->row_bits > 0 && axis == d->first_tiled &&
             d->tile_positions[axis] > 0; /* bits of the tile are those of the digit below */
  return own || d->walked >> d->first[i] & bits_mask(d->bits[i]) ? order - LLRT_MAX_DIGITS - 1
                                                                 : order;
}

/* The order of the grid's fixed bits: before all upper parts. A convert's on the host have the
 * place of the first of them, so that rows whose ends only a run knows are read one after the
 * other. */
static int fixed_order(const draft *d, int side) {
  const plan_kernel *kernel = d->kernel;
  if (!kernel->target.simd_lanes || !d->roles.moves || d->grid[0] & d->walked)
    return -LLRT_MAX_DIGITS - 2;
  for (int i = 0; i < kernel->n_digits; i++)
    if (d->grid[0] >> d->first[i] & bits_mask(d->bits[i])) return d->side[i][side].order;
  return -LLRT_MAX_DIGITS - 2;
}

static llrt_status add_fixed_place(draft *d, int bits) {
  plan_place place = {.digit = -1, .bits = (uint8_t)bits};
  plan_grid_place grid = {.axis = -1, .factor = (int64_t)1 << bits};
  return bits > 0 ? add_place(d, place, grid) : LLRT_OK;
}

/* Block order: the order of one side's memory, on a GPU the destination's, behind fixed bits
 * (transposes run 3 to 10 % faster), on the host the source's, because stores bypass the caches and
 * loads do not (twice as fast; docs/history/order-of-blocks.md). */
static llrt_status fill_places(draft *d) {
  plan_kernel *kernel = d->kernel;
  int side = kernel->target.simd_lanes ? 0 : 1;
  int own = d->n_grid - d->n_walked;
  bool scan = d->roles.scanned != 0;
  int fixed = fixed_order(d, side);
  if (d->n_walked > 0) {
    plan_place place = {.digit = -1, .bits = (uint8_t)d->n_walked};
    plan_grid_place grid = {.axis = -1, .factor = (int64_t)1 << d->n_walked};
    LLRT_TRY(add_turn_place(d, place, grid));
  }
  for (int order = -LLRT_MAX_DIGITS - 2; order < 2 * LLRT_MAX_DIGITS; order++) {
    if (order == fixed) LLRT_TRY(add_fixed_place(d, own));
    for (int i = 0; i < kernel->n_digits; i++)
      if (kernel->digit[i].rest && !draft_is_scanned(d, kernel->digit[i].axis) &&
          block_order(d, i, draft_is_reduced(d, kernel->digit[i].axis) ? 0 : side) == order)
        LLRT_TRY(draft_digit_place(d, i, kernel->digit[i].step << kernel->digit[i].bits));
  }
  return scan ? draft_walk_places(d, true) : LLRT_OK;
}

/* Blocks in the destination's order read a few columns of all rows of the source at a time. Where
 * those lie far apart, bands of columns are read row by row instead; runs of the destination that
 * are short are better stored one behind the other. */
static void choose_bands(draft *d) {
  plan_kernel *kernel = d->kernel;
  if (kernel->target.far_row_bytes == 0 || !d->roles.moves || kernel->n_places < 2) return;
  if (kernel->place[0].digit < 0 || kernel->place[1].digit < 0) return;
  const plan_digit *rows = &kernel->digit[kernel->place[0].digit],
                   *columns = &kernel->digit[kernel->place[1].digit];
  bool transposes = rows->side[0].kind == PLAN_STRIDE && columns->side[0].kind == PLAN_COLUMNS &&
                    rows->side[1].kind == PLAN_COLUMNS && columns->side[1].kind == PLAN_STRIDE;
  int64_t tile_bytes = ((int64_t)kernel->tensor_bits[0] << columns->bits << kernel->split_128) / 8;
  int64_t stored_bytes = ((int64_t)kernel->tensor_bits[1] << rows->bits << kernel->split_128) / 8;
  if (!transposes || tile_bytes == 0 || tile_bytes >= kernel->target.tuning->band_bytes ||
      stored_bytes < kernel->target.run_bytes)
    return;
  int64_t far = (int64_t)kernel->target.far_row_bytes * 8 / kernel->tensor_bits[0];
  if (rows->side[0].stride.arg < 0 && rows->side[0].stride.value % far != 0) return;
  kernel->band_pitch = rows->side[0].stride;
  kernel->band_from = far;
  kernel->band =
      (int32_t)((kernel->target.tuning->band_bytes << (kernel->tensor_bits[0] == 8)) / tile_bytes);
}

llrt_status draft_space(draft *d) {
  for (int i = 0; i < d->kernel->n_digits; i++) {
    d->kernel->digit[i].bits = (uint8_t)used_bits(d, i);
    if (d->kernel->digit[i].rest) LLRT_TRY(finish_rest_digit(d, i));
  }
  LLRT_TRY(fill_space(d));
  LLRT_TRY(draft_bounds(d));
  if (d->roles.grouped) LLRT_TRY(draft_experts(d));
  LLRT_TRY(fill_places(d));
  choose_bands(d);
  return LLRT_OK;
}
