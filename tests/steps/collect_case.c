/* See collect_case.h: COLLECT, around a loop or not, in another loop or not. Digit 0 is an element
 * of a row, digit 1 a row: its lowest bits are those of what is collected at once, the next the
 * outer loop's, then come the grid's. */
#include "collect_case.h"

#include "base/bits.h"

#include <string.h>

typedef struct maker {
  uint64_t seed;
  step_case *c;
  const plan_target *target;
  step_places places;
  int bits, word;               /* of an element; log2 elements of a word */
  int n, inner, outer, grid;    /* bits that a turn of both loops stores; of loops; of the grid */
  int row, rows;                /* log2: positions of digit 0; rows that are collected at once */
  int64_t length, pitch, upper; /* elements of a row; from row to row; digit 1's above its bits */
  int align;                    /* log2 elements that rows begin and end at multiples of */
  bool gapless;                 /* rows follow each other: they are collected as one */
} maker;

static plan_number number(int64_t value) { return (plan_number){.arg = -1, .value = value}; }

/* ---- what is where ---- */

/* So that all rows have a line beside what is none at either end. */
static int64_t least_elements(const maker *m) {
  int64_t line = m->target->sector_bytes * 8 / m->bits;
  return 2 * line - ((int64_t)1 << m->align);
}

static bool choose_rows(maker *m) {
  int64_t unit = (int64_t)1 << m->align, most = (int64_t)1 << m->row;
  m->gapless = step_once_in(&m->seed, 2);
  if (m->gapless) unit = unit >> bits_min(m->rows, m->align);
  m->length = most;
  if (!step_once_in(&m->seed, 3)) m->length -= step_below(&m->seed, (int)most);
  m->length = (m->length + unit - 1) / unit * unit;
  m->pitch = m->length;
  if (!m->gapless) m->pitch += unit * step_below(&m->seed, 6);
  return m->length <= most && (m->gapless ? m->length << m->rows : m->length) >= least_elements(m);
}

static void make_digits(maker *m) {
  plan_kernel *kernel = &m->c->kernel;
  int above = m->rows + m->outer + m->grid, n = m->row + above, tile = n - m->grid;
  kernel->n_digits = 2;
  kernel->digit[0] =
      (plan_digit){.axis = 0, .bits = (uint8_t)m->row, .step = 1, .upper = number(1)};
  kernel->digit[1] = (plan_digit){
      .axis = 1, .bits = (uint8_t)above, .rest = true, .step = 1, .upper = number(m->upper)};
  for (int i = 0; i < 2; i++)
    kernel->digit[i].side[0] =
        (plan_digit_side){.kind = PLAN_COLUMNS, .stride = number((int64_t)1 << n)};
  for (int z = 0; z < n; z++) kernel->column[0][z] = 1ull << z;
  kernel->digit[0].side[1] = (plan_digit_side){.kind = PLAN_COLUMNS, .stride = number(0)};
  for (int z = 0; z < m->row; z++) kernel->column[1][z] = 1ull << z;
  kernel->digit[1].side[1] = (plan_digit_side){.kind = PLAN_STRIDE, .stride = number(m->pitch)};
  kernel->space = llrt_layout_empty();
  llrt_layout_add_out(&kernel->space, "d0", m->row);
  llrt_layout_add_out(&kernel->space, "d1", above);
  llrt_layout_add_in(&kernel->space, "tile", tile);
  llrt_layout_add_in(&kernel->space, "grid", m->grid);
  for (int z = 0; z < n; z++) kernel->space.column[z] = 1ull << z;
  m->c->tensor[0].elements = m->upper << n;
  m->c->tensor[1].elements = ((m->upper << above) - 1) * m->pitch + m->length;
}

static void make_grid(maker *m) {
  plan_kernel *kernel = &m->c->kernel;
  kernel->place[kernel->n_places++] = (plan_place){.digit = -1, .bits = (uint8_t)m->grid};
  kernel->place[kernel->n_places++] = (plan_place){
      .digit = 1, .count = number(m->upper), .magic = {.arg = -1}, .magic_shift = {.arg = -1}};
  kernel->launch.grid[kernel->launch.n_grid++] =
      (plan_grid_place){.axis = -1, .factor = (int64_t)1 << m->grid};
  kernel->launch.grid[kernel->launch.n_grid++] = (plan_grid_place){.axis = -1, .factor = m->upper};
}

/* Elements behind a row's end are none of the destination, and of the source or not. */
static void bound_rows(maker *m) {
  plan_kernel *kernel = &m->c->kernel;
  if (m->length == (int64_t)1 << m->row) return;
  kernel->fill = step_random(&m->seed) & bits_mask(m->bits);
  kernel->bound[kernel->n_bounds++] =
      (plan_bound){.axis = (int8_t)(step_once_in(&m->seed, 2) ? 0 : -1),
                   .top = 0,
                   .tensors = (uint8_t)(2 + step_below(&m->seed, 2)),
                   .limit = number(m->length),
                   .full = number(0)};
}

/* The destination begins where a unit does, in the middle of a line or not. */
static void place_destination(maker *m) {
  int unit = m->bits / 8 << m->align;
  m->c->tensor[0].lead = m->c->tensor[1].lead = 0;
  m->c->tensor[1].lead = unit * step_below(&m->seed, 256 / unit);
}

/* ---- values and steps ---- */

/* The loops' columns lie behind those of places: the inner one's are any, or are those of
 * registers; the outer one's move nothing but bits of their own. */
static plan_value value_of(const maker *m, const uint64_t *matrix, bool unrolled) {
  plan_value value = step_value(&m->places, matrix, m->bits, m->word);
  llrt_layout made = llrt_layout_empty();
  int registers = m->places.registers, inner = unrolled ? 0 : m->inner, at = 0;
  int own = m->places.registers + m->places.lanes;
  llrt_layout_add_out(&made, "tile", m->n + m->inner + m->outer);
  llrt_layout_add_in(&made, "register", registers + m->inner - inner);
  llrt_layout_add_in(&made, "lane", m->places.lanes);
  llrt_layout_add_in(&made, "warp", 0);
  llrt_layout_add_in(&made, "iteration", inner + m->outer);
  for (int i = 0; i < registers; i++) made.column[at++] = value.layout.column[i];
  for (int i = 0; i < m->inner && unrolled; i++) made.column[at++] = matrix[m->n + i];
  for (int i = registers; i < own; i++) made.column[at++] = value.layout.column[i];
  for (int i = 0; i < inner; i++) made.column[at++] = matrix[m->n + i];
  for (int i = 0; i < m->outer; i++) made.column[at++] = 1ull << (m->n + m->inner + i);
  value.layout = made;
  return value;
}

static void add_loop(maker *m, int iterations, int body) {
  if (iterations > 0)
    step_add(
        m->c,
        (plan_step){.kind = PLAN_LOOP, .iterations = (uint8_t)iterations, .body = (uint8_t)body});
}

static void add_steps(maker *m, int moved, int collected) {
  const plan_kernel *kernel = &m->c->kernel;
  int64_t rows = m->gapless ? 1 : (int64_t)1 << m->rows;
  int64_t elements = m->gapless ? m->length << m->rows : m->length;
  int64_t pitch = m->gapless ? elements : m->pitch;
  bool masked = kernel->n_bounds > 0;
  int body = 2 + (m->inner > 0);
  add_loop(m, m->outer, body + 1);
  step_add(m->c, (plan_step){.kind = PLAN_COLLECT,
                             .tensor = 1,
                             .in = (uint8_t)collected,
                             .elements = (int32_t)elements,
                             .rows = (int32_t)rows,
                             .pitch = (int32_t)pitch,
                             .reach = (int32_t)((((int64_t)1 << m->rows) - 1) * m->pitch +
                                                ((int64_t)1 << m->row)),
                             .vector = (uint8_t)m->align,
                             .body = (uint8_t)body});
  add_loop(m, m->inner, 2);
  step_add(m->c, (plan_step){.kind = PLAN_LOAD, .out = (uint8_t)moved, .masked = masked});
  step_add(m->c,
           (plan_step){.kind = PLAN_STORE, .tensor = 1, .in = (uint8_t)moved, .masked = masked});
}

/* Past the caches always, or from so many elements on. */
static void choose_streams(maker *m) {
  plan_kernel *kernel = &m->c->kernel;
  if (step_once_in(&m->seed, 2)) return;
  kernel->streams_from = 1 + step_below(&m->seed, 1 << 12);
  kernel->elements = number(step_below(&m->seed, 1 << 13));
}

bool collect_case_make(step_case *c, const plan_target *target) {
  static const int widths[] = {8, 16, 32, 64};
  maker m = {.seed = c->seed, .c = c, .target = target};
  uint64_t matrix[LLRT_MAX_BITS];
  m.bits = widths[step_below(&m.seed, 4)];
  for (int t = 0; t < STEP_TENSORS; t++) c->tensor[t] = (step_tensor){.bits = t < 2 ? m.bits : 0};
  if (!target->simd_lanes) return false;
  step_random_places(&m.seed, target, m.bits, 3, &m.places, &m.word);
  m.n = step_place_bits(&m.places);
  m.inner = step_below(&m.seed, 4);
  m.outer = step_below(&m.seed, 3);
  m.grid = step_below(&m.seed, 2);
  m.upper = 1 + step_below(&m.seed, 3);
  m.rows = step_below(&m.seed, bits_min(m.n + m.inner, 3) + 1);
  m.row = m.n + m.inner - m.rows;
  m.align = step_below(&m.seed, bits_log2(target->sector_bytes * 8 / m.bits) + 1);
  if (!choose_rows(&m)) return false;
  step_begin(c, target, 2, &m.places);
  make_digits(&m);
  make_grid(&m);
  bound_rows(&m);
  place_destination(&m);
  choose_streams(&m);
  step_random_matrix(&m.seed, m.n + m.inner, 0, step_once_in(&m.seed, 2), matrix);
  plan_value moved = value_of(&m, matrix, false), collected = value_of(&m, matrix, true);
  int number_moved = step_add_value(c, &moved);
  add_steps(&m, number_moved, step_add_value(c, &collected));
  step_finish(c);
  return true;
}
