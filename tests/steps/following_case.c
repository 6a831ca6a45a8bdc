/* See following_case.h. */
#include "following_case.h"

#include "base/bits.h"

/* Digit 0 is a row, axis 0; digit 1 chooses it, axis 1, of the destination by a value whose low
 * bits are the lowest of the address. */
typedef struct shape {
  int row, rows, slots, following; /* log2: elements of a row, fixed bits of digit 1, of the value's
                                      low bits, positions of an access */
  int64_t uppers, positions, limit, extent;
} shape;

static void choose(uint64_t *seed, int tile, int most, shape *x) {
  x->uppers = 1 + step_below(seed, 3);
  x->following = 1 + step_below(seed, most);
  x->slots = x->following + step_below(seed, 2);
  x->rows = x->following + step_below(seed, tile - x->following + 1);
  x->row = tile - x->rows + step_below(seed, 2);
  x->positions = x->uppers << x->rows;
  x->limit = x->positions - (step_once_in(seed, 3) ? step_below(seed, (int)x->positions) : 0);
  x->extent = ((x->positions >> x->slots) + 2 + step_below(seed, 3)) << x->slots;
}

static void make_digits(uint64_t *seed, step_case *c, const shape *x, int tile) {
  plan_kernel *kernel = &c->kernel;
  llrt_layout *space = &kernel->space;
  int n = x->row + x->rows, at = x->following;
  uint64_t order[LLRT_MAX_BITS], low = bits_mask(x->following) << x->row;
  kernel->n_digits = 2;
  kernel->digit[0] = (plan_digit){.bits = (uint8_t)x->row, .step = 1, .upper = {-1, 1}};
  kernel->digit[1] = (plan_digit){
      .axis = 1, .bits = (uint8_t)x->rows, .rest = true, .step = 1, .upper = {-1, x->uppers}};
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < 2; i++)
      kernel->digit[i].side[t] = (plan_digit_side){.kind = PLAN_COLUMNS, .stride = {-1, 1ll << n}};
  kernel->digit[1].side[1].kind = PLAN_INDEXED;
  for (int z = 0; z < n; z++) kernel->column[0][z] = 1ull << z;
  for (int z = 0; z < x->row; z++) kernel->column[1][z] = 1ull << (x->slots + z);
  *space = llrt_layout_empty();
  llrt_layout_add_out(space, "d0", x->row);
  llrt_layout_add_out(space, "d1", x->rows);
  llrt_layout_add_in(space, "tile", tile);
  llrt_layout_add_in(space, "grid", n - tile);
  for (int i = 0; i < x->following; i++) space->column[i] = 1ull << (x->row + i);
  step_random_matrix(seed, n, 0, true, order);
  for (int i = 0; i < n; i++)
    if (!(order[i] & low)) space->column[at++] = order[i];
  kernel->place[kernel->n_places++] = (plan_place){.digit = -1, .bits = (uint8_t)(n - tile)};
  kernel->place[kernel->n_places++] = (plan_place){.digit = 1,
                                                   .count = kernel->digit[1].upper,
                                                   .magic = {.arg = -1},
                                                   .magic_shift = {.arg = -1}};
  kernel->launch.grid[kernel->launch.n_grid++] =
      (plan_grid_place){.axis = -1, .factor = 1ll << (n - tile)};
  kernel->launch.grid[kernel->launch.n_grid++] = (plan_grid_place){.axis = -1, .factor = x->uppers};
}

static void make_index(step_case *c, const shape *x) {
  plan_kernel *kernel = &c->kernel;
  plan_index *index = &kernel->index[kernel->n_indices++];
  *index = (plan_index){.tensor = 1,
                        .kind = LLRT_INDEX_COORDINATE,
                        .wide = c->tensor[2].bits == 64,
                        .along = -1,
                        .axes = 2,
                        .out_of_range = PLAN_RANGE_SKIP_ALONE,
                        .data = {.arg = 2},
                        .report = {.arg = -1},
                        .extent = {-1, x->extent},
                        .tile_bits = (uint8_t)x->slots,
                        .n_parts = 1};
  for (int a = 0; a < LLRT_MAX_RANK; a++)
    index->stride[a] = index->limit[a] = (plan_number){.arg = -1};
  index->stride[1].value = 1;
  index->limit[1].value = x->limit;
  for (int i = 0; i < x->slots; i++) index->column[i] = 1ull << i;
  index->part[0].stride = (plan_number){-1, 1ll << (x->row + x->slots)};
}

static void place_tensors(step_case *c, const shape *x) {
  c->tensor[0].elements = x->uppers << (x->row + x->rows);
  c->tensor[1].elements = x->extent << x->row;
  c->tensor[2].elements = x->positions + 2;
  c->tensor[2].range = x->extent;
  c->tensor[2].counters = x->positions;
  c->tensor[2].follow = x->following;
  for (int t = 0; t < 3; t++) c->tensor[t].lead = 0;
}

bool following_case_make(uint64_t *seed, step_case *c, const plan_target *target) {
  static const int widths[] = {8, 16, 32, 64};
  int bits = widths[step_below(seed, 4)], word;
  uint64_t matrix[LLRT_MAX_BITS];
  step_places places;
  shape x;
  step_random_places(seed, target, bits, 3, &places, &word);
  int tile = step_place_bits(&places), most = bits_min(places.registers, bits_log2(128 / bits));
  if (target->simd_lanes || tile > 11 || most < 1) return false;
  c->tensor[0].bits = c->tensor[1].bits = bits;
  c->tensor[2].bits = step_once_in(seed, 2) ? 32 : 64;
  step_begin(c, target, 3, &places);
  choose(seed, tile, most, &x);
  make_digits(seed, c, &x, tile);
  make_index(c, &x);
  place_tensors(c, &x);
  step_random_matrix(seed, tile, x.following, true, matrix);
  plan_value value = step_value(&places, matrix, bits, word);
  uint8_t number = (uint8_t)step_add_value(c, &value), following = (uint8_t)x.following;
  bool masked = x.limit < x.positions;
  if (masked)
    c->kernel.bound[c->kernel.n_bounds++] = (plan_bound){
        .axis = 1, .top = 1, .tensors = 3, .limit = {-1, x.limit}, .full = {-1, x.limit >> x.rows}};
  step_add(c, (plan_step){.kind = PLAN_LOAD, .out = number, .masked = masked});
  if (step_once_in(seed, 3)) { /* only where the first two values follow each other */
    step_add(c, (plan_step){
                    .kind = PLAN_IF_INTERIOR, .by_values = 1, .body = 1, .ignored_bounds = masked});
    step_add(c, (plan_step){.kind = PLAN_STORE, .tensor = 1, .in = number, .masked = masked});
    return true;
  }
  step_add(c, (plan_step){.kind = PLAN_IF_INTERIOR,
                          .by_values = 1,
                          .vector = following,
                          .body = 1,
                          .otherwise = 1});
  step_add(c, (plan_step){.kind = PLAN_STORE,
                          .tensor = 1,
                          .in = number,
                          .vector = following,
                          .following = following,
                          .ignored_bounds = masked});
  step_add(c, (plan_step){.kind = PLAN_STORE, .tensor = 1, .in = number, .masked = masked});
  return true;
}
