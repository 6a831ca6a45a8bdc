/* See control_case.h. */
#include "control_case.h"

#include "base/bits.h"
#include "following_case.h"

#include <string.h>

static plan_step access_of(int tensor, bool load, int value) {
  return (plan_step){.kind = load ? PLAN_LOAD : PLAN_STORE,
                     .tensor = (uint8_t)tensor,
                     .in = (uint8_t)(load ? 0 : value),
                     .out = (uint8_t)(load ? value : 0)};
}

/* ---- loops ---- */

/* The last `n` columns are those of iterations. */
static plan_value counted_value(const step_places *places, const uint64_t *columns, int bits,
                                int n) {
  plan_value value = step_value(places, columns, bits, 0);
  int inner = step_place_bits(places), at = llrt_layout_in_bits(&value.layout);
  llrt_layout made = llrt_layout_empty();
  llrt_layout_add_out(&made, "tile", inner + n);
  for (int d = 0; d < 3; d++)
    llrt_layout_add_in(&made, value.layout.in[d].name, value.layout.in[d].bits);
  llrt_layout_add_in(&made, "iteration", n);
  memcpy(made.column, value.layout.column, (size_t)at * sizeof *made.column);
  for (int i = 0; i < n; i++) made.column[at + i] = columns[inner + i];
  value.layout = made;
  return value;
}

/* In two loops, or in one; the host asks for memory ahead. */
static bool make_loop(uint64_t *seed, step_case *c, const plan_target *target) {
  static const int widths[] = {8, 16, 32, 64};
  int bits = widths[step_below(seed, 4)], word, turns = 1 + step_below(seed, 3),
      inner = step_below(seed, turns), body = 2 + target->simd_lanes;
  uint64_t matrix[LLRT_MAX_BITS];
  step_places places;
  step_random_places(seed, target, bits, 2, &places, &word);
  int n = step_place_bits(&places);
  c->tensor[0].bits = c->tensor[1].bits = bits;
  step_begin(c, target, 2, &places);
  step_make_dense(c, seed, n + turns, 0);
  step_random_matrix(seed, n + turns, 0, step_once_in(seed, 2), matrix);
  plan_value value = counted_value(&places, matrix, bits, turns);
  int number = step_add_value(c, &value);
  if (inner > 0)
    step_add(c, (plan_step){.kind = PLAN_LOOP,
                            .iterations = (uint8_t)(turns - inner),
                            .body = (uint8_t)(body + 1)});
  step_add(c, (plan_step){.kind = PLAN_LOOP,
                          .iterations = (uint8_t)(inner ? inner : turns),
                          .body = (uint8_t)body});
  if (target->simd_lanes)
    step_add(c, (plan_step){.kind = PLAN_PREFETCH, .tensor = 0, .in = (uint8_t)number});
  step_add(c, access_of(0, true, number));
  step_add(c, access_of(1, false, number));
  return true;
}

/* A sum that LOOP or REPEAT carries. */
static bool make_sum(uint64_t *seed, step_case *c, const plan_target *target, bool loop) {
  int bits = step_once_in(seed, 2) ? 32 : 64, word, turns = 1 + step_below(seed, 4);
  uint64_t matrix[LLRT_MAX_BITS];
  step_places places;
  step_random_places(seed, target, bits, 2, &places, &word);
  for (int t = 0; t < 3; t++) c->tensor[t].bits = bits;
  step_begin(c, target, 3, &places);
  step_make_dense(c, seed, step_place_bits(&places), 0);
  step_random_matrix(seed, step_place_bits(&places), 0, step_once_in(seed, 2), matrix);
  plan_value value = step_value(&places, matrix, bits, 0);
  int number[4];
  for (int i = 0; i < 4; i++) number[i] = step_add_value(c, &value);
  step_add(c, access_of(0, true, number[0]));
  step_add(c, access_of(2, true, number[1]));
  plan_step carry = {.kind = loop ? PLAN_LOOP : PLAN_REPEAT,
                     .in = (uint8_t)number[0],
                     .out = (uint8_t)number[2],
                     .joins = loop,
                     .body = 1};
  if (loop) carry.iterations = (uint8_t)turns;
  else carry.turns = turns;
  step_add(c, carry);
  step_add(c, (plan_step){.kind = PLAN_JOIN,
                          .combiner = LLRT_COMBINE_SUM,
                          .type = bits == 32 ? LLRT_U32 : LLRT_U64,
                          .in = (uint8_t)number[2],
                          .with = (uint8_t)number[1],
                          .out = (uint8_t)number[3]});
  step_add(c, access_of(1, false, number[loop ? 2 : 3]));
  return true;
}

/* ---- indices ---- */

/* Digit 0 is a row, axis 0; digit 1 chooses it, axis 1: of the indexed tensor by a value of tensor
 * 2, whose low bits are columns and whose rest is one part, or two. */
typedef struct chosen {
  int row, rows, tile; /* log2: elements of a row, fixed bits of digit 1; low bits of a value that
                          are columns */
  int64_t uppers, positions, limit, extent, split, pitch;
  int tensor, vector;
  bool panel; /* 2^vector neighbours of every value are staged */
} chosen;

/* Of a panel the tile's columns behind the neighbours are rows, in any order; what is left of both
 * digits is the grid's. */
static void order_panel(uint64_t *seed, const chosen *x, int tile, uint64_t *column) {
  uint64_t order[LLRT_MAX_BITS];
  int n = x->row + x->rows, at = x->vector;
  step_random_matrix(seed, x->rows, 0, true, order);
  for (int i = 0; i < x->vector; i++) column[i] = 1ull << i;
  for (int i = 0; at < tile; i++) column[at++] = order[i] << x->row;
  for (int i = tile - x->vector; i < x->rows; i++) column[at++] = order[i] << x->row;
  for (int z = x->vector; at < n; z++) column[at++] = 1ull << z;
}

static void make_digits(uint64_t *seed, step_case *c, const chosen *x, int tile) {
  plan_kernel *kernel = &c->kernel;
  llrt_layout *space = &kernel->space;
  int n = x->row + x->rows, grid = n - tile;
  kernel->n_digits = 2;
  kernel->digit[0] =
      (plan_digit){.axis = 0, .bits = (uint8_t)x->row, .step = 1, .upper = {.arg = -1, .value = 1}};
  kernel->digit[1] = (plan_digit){.axis = 1,
                                  .bits = (uint8_t)x->rows,
                                  .rest = true,
                                  .step = 1,
                                  .upper = {.arg = -1, .value = x->uppers}};
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < 2; i++)
      kernel->digit[i].side[t] =
          (plan_digit_side){.kind = PLAN_COLUMNS, .stride = {.arg = -1, .value = 1ll << n}};
  for (int z = 0; z < n; z++) kernel->column[0][z] = kernel->column[1][z] = 1ull << z;
  kernel->digit[1].side[x->tensor].kind = PLAN_INDEXED;
  for (int z = x->row; z < n; z++) kernel->column[x->tensor][z] = 0;
  *space = llrt_layout_empty();
  llrt_layout_add_out(space, "d0", x->row);
  llrt_layout_add_out(space, "d1", x->rows);
  llrt_layout_add_in(space, "tile", tile);
  llrt_layout_add_in(space, "grid", grid);
  if (x->panel) order_panel(seed, x, tile, space->column);
  else step_random_matrix(seed, n, x->vector, true, space->column);
  kernel->place[kernel->n_places++] = (plan_place){.digit = -1, .bits = (uint8_t)grid};
  kernel->place[kernel->n_places++] = (plan_place){.digit = 1,
                                                   .count = kernel->digit[1].upper,
                                                   .magic = {.arg = -1},
                                                   .magic_shift = {.arg = -1}};
  kernel->launch.grid[kernel->launch.n_grid++] =
      (plan_grid_place){.axis = -1, .factor = 1ll << grid};
  kernel->launch.grid[kernel->launch.n_grid++] = (plan_grid_place){.axis = -1, .factor = x->uppers};
}

static void make_index(uint64_t *seed, step_case *c, const chosen *x) {
  plan_kernel *kernel = &c->kernel;
  plan_index *index = &kernel->index[kernel->n_indices++];
  static const uint8_t ranges[] = {LLRT_RANGE_SKIP, LLRT_RANGE_REPORT, LLRT_RANGE_ZERO,
                                   LLRT_RANGE_CLAMP};
  *index = (plan_index){.tensor = (uint8_t)x->tensor,
                        .kind = LLRT_INDEX_COORDINATE,
                        .wide = c->tensor[2].bits == 64,
                        .along = step_once_in(seed, 2) ? 1 : -1,
                        .axes = 2,
                        .data = {.arg = 2},
                        .extent = {.arg = -1, .value = x->extent}};
  index->out_of_range = ranges[step_below(seed, x->tensor ? 2 : 4)];
  for (int a = 0; a < LLRT_MAX_RANK; a++)
    index->stride[a] = index->limit[a] = (plan_number){.arg = -1};
  index->stride[1].value = 1;
  index->limit[1].value = x->limit;
  index->tile_bits = (uint8_t)x->tile;
  for (int i = 0; i < x->tile; i++) index->column[i] = 1ull << (x->row + i);
  index->n_parts = x->split ? 2 : 1;
  index->part[0] = (plan_index_part){.extent = x->split, .stride = {.arg = -1, .value = x->pitch}};
  index->part[1].stride = (plan_number){.arg = -1, .value = x->pitch * (x->split + 1)};
  index->report = (plan_number){.arg = kernel->launch.n_args};
  kernel->launch.arg[kernel->launch.n_args++] = (plan_arg){
      .kind = PLAN_ARG_ADDRESS, .tensor = 2, .factor = x->positions * c->tensor[2].bits / 8};
}

static void place_tensors(step_case *c, const chosen *x) {
  int64_t above = x->extent >> x->tile, n = x->row + x->rows;
  int64_t last = x->split ? above % x->split * x->pitch +
                                above / x->split * x->pitch * (x->split + 1) + x->split * x->pitch
                          : above * x->pitch;
  for (int t = 0; t < 2; t++) c->tensor[t].lead = 0;
  c->tensor[x->tensor].elements = last + (1ll << (x->row + x->tile));
  c->tensor[!x->tensor].elements = x->uppers << n;
  c->tensor[2].elements = x->positions + 2;
  c->tensor[2].lead = 0;
  c->tensor[2].range = x->extent;
  c->tensor[2].counters = x->positions;
}

static void choose(uint64_t *seed, const step_case *c, int tile, int registers, chosen *x) {
  x->uppers = 1 + step_below(seed, 3);
  int n = tile + step_below(seed, 2);
  x->rows = step_below(seed, n + 1);
  x->row = n - x->rows;
  x->vector = step_below(
      seed, bits_min(bits_min(registers, x->row), bits_log2(128 / c->tensor[0].bits)) + 1);
  x->tile = step_below(seed, 3);
  x->positions = x->uppers << x->rows;
  x->limit = x->positions - (step_once_in(seed, 2) ? step_below(seed, (int)x->positions) : 0);
  x->extent = x->positions + 1 + step_below(seed, 9);
  x->split = step_once_in(seed, 2) ? 0 : 2 + step_below(seed, 5);
  x->pitch = (1ll << (x->row + x->tile)) + (step_below(seed, 3) << x->vector);
}

/* The same of a panel: rows that have 2^vector neighbours in a tile, and values one stride apart.
 */
static void choose_panel(uint64_t *seed, const step_case *c, int tile, chosen *x) {
  x->vector = step_below(seed, bits_min(bits_log2(64 / c->tensor[0].bits), tile - 1) + 1);
  int grid = step_below(seed, 3);
  x->row = x->vector + step_below(seed, grid + 1);
  x->rows = tile + grid - x->row;
  x->tile = 0;
  x->split = 0;
  x->positions = x->uppers << x->rows;
  x->limit = x->positions - (step_once_in(seed, 2) ? step_below(seed, (int)x->positions) : 0);
  x->extent = 1 + step_below(seed, 600);
  x->pitch = (1ll << x->row) + (step_below(seed, 3) << x->vector);
}

static void stage_panel(step_case *c, const chosen *x) {
  plan_kernel *kernel = &c->kernel;
  kernel->panel = (plan_panel){.gathered = true, .width = (uint8_t)x->vector, .most = x->extent};
  kernel->launch.shared_bytes = ((int)(x->extent * c->tensor[0].bits / 8 << x->vector) + 15) & -16;
  step_add(c, (plan_step){.kind = PLAN_STAGE});
  step_add(c, (plan_step){.kind = PLAN_BARRIER});
}

static bool make_indexed(uint64_t *seed, step_case *c, const plan_target *target, control_way way) {
  static const int widths[] = {8, 16, 32, 64};
  int bits = widths[step_below(seed, 4)], word;
  uint64_t matrix[LLRT_MAX_BITS];
  step_places places;
  chosen x = {.tensor = way == CONTROL_SCATTER, .panel = way == CONTROL_PANEL};
  step_random_places(seed, target, bits, 2, &places, &word);
  int tile = step_place_bits(&places);
  if (tile > 11 || (x.panel && (target->simd_lanes || tile < 1))) return false;
  c->tensor[0].bits = c->tensor[1].bits = bits;
  c->tensor[2].bits = step_once_in(seed, 2) ? 32 : 64;
  choose(seed, c, tile, target->simd_lanes ? 0 : places.registers, &x);
  if (x.panel) choose_panel(seed, c, tile, &x);
  step_begin(c, target, 3, &places);
  make_digits(seed, c, &x, tile);
  make_index(seed, c, &x);
  place_tensors(c, &x);
  step_random_matrix(seed, tile, x.panel ? 0 : x.vector, true, matrix);
  plan_value value = step_value(&places, matrix, bits, x.panel ? 0 : word);
  int number = step_add_value(c, &value);
  bool masked = x.limit < x.positions,
       reports = c->kernel.index[0].out_of_range == LLRT_RANGE_REPORT;
  c->kernel.index[0].uniform = x.rows == 0;
  c->kernel.fill = step_random(seed) & bits_mask(bits);
  if (masked)
    c->kernel.bound[c->kernel.n_bounds++] =
        (plan_bound){.axis = 1,
                     .top = 1,
                     .tensors = 3,
                     .limit = {.arg = -1, .value = x.limit},
                     .full = {.arg = -1, .value = x.limit >> x.rows}};
  if (reports) step_add(c, (plan_step){.kind = PLAN_REPORT, .in = (uint8_t)number, .index = 0});
  if (x.rows == 0) step_add(c, (plan_step){.kind = PLAN_IF_PRESENT, .body = 2});
  if (x.panel) stage_panel(c, &x);
  for (int s = 0; s < 2; s++) {
    plan_step *step = step_add(c, access_of(s, s == 0, number));
    step->masked = masked;
    step->staged = x.panel && s == 0;
    if (!x.panel) step->vector = s == x.tensor || step_once_in(seed, 2) ? (uint8_t)x.vector : 0;
  }
  return true;
}

bool control_case_make(step_case *c, const plan_target *target, control_way way) {
  uint64_t seed = c->seed;
  bool made;
  for (int t = 0; t < STEP_TENSORS; t++) c->tensor[t] = (step_tensor){.bits = 0};
  if (way == CONTROL_LOOP) made = make_loop(&seed, c, target);
  else if (way <= CONTROL_REPEAT) made = make_sum(&seed, c, target, way == CONTROL_JOIN);
  else if (way == CONTROL_FOLLOW) made = following_case_make(&seed, c, target);
  else made = make_indexed(&seed, c, target, way);
  step_finish(c);
  return made;
}
