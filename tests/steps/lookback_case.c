/* See lookback_case.h. Every block publishes something as its total of each level, and stores what
 * it gets of the others' joined. Tensor 0 is what blocks have, tensor 1 what they store, and tensor
 * 2 the ticket's counter and the cells. */
#include "lookback_case.h"

#include "base/bits.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/types/combine.h"

enum { LINE = 1, TURN = 2, CELLS_AT = 256 };

typedef struct maker {
  uint64_t seed;
  step_case *c;
  plan_kernel *kernel;
  step_places places;
  int n, bits, op;
  llrt_dtype type;
  int64_t turns, lines;
} maker;

static plan_number number(int64_t value) { return (plan_number){.arg = -1, .value = value}; }

static void choose(maker *m, const plan_target *target) {
  static const uint8_t types[] = {LLRT_U32, LLRT_I32, LLRT_U64, LLRT_I64};
  int word;
  m->type = (llrt_dtype)types[step_below(&m->seed, 4)];
  m->op = 1 + step_below(&m->seed, LLRT_COMBINE_MAX);
  if (step_once_in(&m->seed, 3)) m->op = COMBINE_AFFINE, m->type = LLRT_U32;
  m->bits = llrt_dtype_bits(m->type);
  step_random_places(&m->seed, target, m->bits, 1, &m->places, &word);
  m->places.registers = step_below(&m->seed, 2);
  m->places.zero_lanes |= step_random(&m->seed) & bits_mask(m->places.lanes);
  m->n = step_place_bits(&m->places);
  m->turns = 1 + step_below(&m->seed, 40);
  m->lines = 1 + step_below(&m->seed, 3);
}

/* Digit 0 is the tile, digits 1 and 2 number blocks: those of one turn follow each other. */
static void make_space(maker *m) {
  plan_kernel *kernel = m->kernel;
  const int64_t upper[] = {1, m->lines, m->turns},
                stride[] = {0, (int64_t)1 << m->n, m->lines << m->n};
  kernel->space = llrt_layout_empty();
  kernel->n_digits = 3;
  for (int d = 0; d < 3; d++) {
    const char *const names[] = {"d0", "d1", "d2"};
    kernel->digit[d] = (plan_digit){.axis = (int8_t)d,
                                    .bits = (uint8_t)(d ? 0 : m->n),
                                    .rest = d > 0,
                                    .step = 1,
                                    .upper = number(upper[d])};
    llrt_layout_add_out(&kernel->space, names[d], d ? 0 : m->n);
    for (int t = 0; t < 2; t++)
      kernel->digit[d].side[t] =
          (plan_digit_side){.kind = PLAN_COLUMNS, .stride = number(stride[d])};
  }
  llrt_layout_add_in(&kernel->space, "tile", m->n);
  llrt_layout_add_in(&kernel->space, "grid", 0);
  step_random_matrix(&m->seed, m->n, 0, step_once_in(&m->seed, 2), kernel->space.column);
  for (int t = 0; t < 2; t++)
    for (int z = 0; z < m->n; z++) kernel->column[t][z] = 1ull << z;
  for (int d = LINE; d <= TURN; d++) {
    kernel->place[kernel->n_places++] = (plan_place){.digit = (int8_t)d,
                                                     .count = number(upper[d]),
                                                     .magic = {.arg = -1},
                                                     .magic_shift = {.arg = -1}};
    kernel->launch.grid[kernel->launch.n_grid++] =
        (plan_grid_place){.axis = -1, .factor = upper[d]};
  }
}

static plan_number address_in_cells(maker *m, int64_t bytes) {
  plan_launch *launch = &m->kernel->launch;
  launch->arg[launch->n_args] = (plan_arg){.kind = PLAN_ARG_ADDRESS, .tensor = 2, .factor = bytes};
  return (plan_number){.arg = launch->n_args++};
}

static void make_lookback(maker *m) {
  plan_lookback *lookback = &m->kernel->lookback;
  int64_t blocks = m->turns * m->lines;
  *lookback = (plan_lookback){.used = true,
                              .lags = step_once_in(&m->seed, 2),
                              .levels = (uint8_t)(2 + step_below(&m->seed, 2))};
  lookback->bits = (uint8_t)(1 + step_below(&m->seed, 3));
  lookback->blocks = number(blocks);
  lookback->lines = number(m->lines);
  lookback->counter = address_in_cells(m, 0);
  lookback->cells = address_in_cells(m, CELLS_AT);
  m->kernel->walk.split = TURN;
  m->c->tensor[0].elements = m->c->tensor[1].elements = blocks << m->n;
  int64_t cells = ((lookback->levels * blocks) << m->n) * m->bits / 32;
  m->c->tensor[2] =
      (step_tensor){.bits = 64, .elements = cells + CELLS_AT / 8, .range = 1}; /* all 0 */
}

/* What the block publishes as its total of a level. */
static int total_of(maker *m, int own, int level) {
  plan_value like = m->kernel->value[own];
  uint8_t type = m->bits == 32 ? LLRT_U32 : LLRT_U64;
  m->kernel->map[m->kernel->n_maps++] =
      (plan_map){.kind = PLAN_MAP_XOR, .from = type, .to = type, .constant = step_random(&m->seed)};
  int made = step_add_value(m->c, &like);
  step_add(m->c, (plan_step){.kind = PLAN_MAP,
                             .map = (uint8_t)(m->kernel->n_maps - 1),
                             .in = (uint8_t)own,
                             .out = (uint8_t)made});
  step_add(m->c, (plan_step){.kind = PLAN_PUBLISH, .in = (uint8_t)made, .level = (uint8_t)level});
  return made;
}

/* The block's value with 2^n places more: in some lanes that hold copies, the others in registers.
 * *lanes: how many of them. */
static plan_value looked_at(maker *m, const plan_value *own, int n, int *lanes) {
  const llrt_layout *from = &own->layout;
  plan_value value = *own;
  uint64_t taken = 0;
  int at = 0, next = m->n, first = from->in[0].bits;
  *lanes = 0;
  for (int i = 0; i < from->in[1].bits && *lanes < n; i++)
    if (from->column[first + i] == 0 && step_once_in(&m->seed, 2)) taken |= 1ull << i, ++*lanes;
  value.layout = llrt_layout_empty();
  llrt_layout_add_out(&value.layout, "tile", m->n + n);
  for (int d = 0; d < 4; d++)
    llrt_layout_add_in(&value.layout, from->in[d].name, from->in[d].bits + (d ? 0 : n - *lanes));
  for (int i = 0; i < first; i++) value.layout.column[at++] = from->column[i];
  for (int i = *lanes; i < n; i++) value.layout.column[at++] = 1ull << (m->n + i);
  for (int i = first; i < llrt_layout_in_bits(from); i++)
    value.layout.column[at++] =
        i - first < from->in[1].bits && taken >> (i - first) & 1 ? 1ull << next++ : from->column[i];
  return value;
}

static bool fold(maker *m, plan_step_kind kind, int tile, int *value) {
  plan_value in = m->kernel->value[*value], out;
  if (in.layout.out[0].bits == tile) return true;
  if (plan_fold_laid_out(m->kernel, &in, tile, m->bits, &out) != LLRT_OK) return false;
  int made = step_add_value(m->c, &out);
  step_add(m->c, (plan_step){.kind = (uint8_t)kind,
                             .combiner = (uint8_t)m->op,
                             .type = (uint8_t)m->type,
                             .in = (uint8_t)*value,
                             .out = (uint8_t)made});
  *value = made;
  return true;
}

/* All that lower levels do not cover, joined; -1: it cannot be. */
static int look(maker *m, const plan_value *own, int level) {
  const plan_lookback *lookback = &m->kernel->lookback;
  int top = lookback->levels - 1, lanes;
  int n = level == top ? 0 : lookback->bits + (lookback->lags && level == top - 1);
  plan_value value = looked_at(m, own, n, &lanes);
  int seen = step_add_value(m->c, &value), got = step_add_value(m->c, &value);
  step_add(m->c, (plan_step){.kind = PLAN_PEEK, .out = (uint8_t)seen, .level = (uint8_t)level});
  step_add(m->c, (plan_step){.kind = PLAN_AWAIT,
                             .in = (uint8_t)seen,
                             .out = (uint8_t)got,
                             .level = (uint8_t)level,
                             .combiner = (uint8_t)m->op,
                             .type = (uint8_t)m->type});
  bool folded = fold(m, PLAN_FOLD, m->n + lanes, &got) && fold(m, PLAN_FOLD_LANES, m->n, &got);
  return folded ? got : -1;
}

static int join(maker *m, const plan_value *like, int in, int with) {
  int made = step_add_value(m->c, like);
  step_add(m->c, (plan_step){.kind = PLAN_JOIN,
                             .combiner = (uint8_t)m->op,
                             .type = (uint8_t)m->type,
                             .in = (uint8_t)in,
                             .with = (uint8_t)with,
                             .out = (uint8_t)made});
  return made;
}

bool lookback_case_make(step_case *c, const plan_target *target) {
  maker m = {.seed = c->seed, .c = c, .kernel = &c->kernel};
  uint64_t matrix[LLRT_MAX_BITS];
  int made = -1;
  if (target->simd_lanes) return false;
  for (int t = 0; t < STEP_TENSORS; t++) c->tensor[t] = (step_tensor){.bits = 0};
  choose(&m, target);
  c->tensor[0].bits = c->tensor[1].bits = m.bits;
  c->tensor[2].bits = 64;
  step_begin(c, target, 3, &m.places);
  make_space(&m);
  make_lookback(&m);
  step_random_matrix(&m.seed, m.n, 0, step_once_in(&m.seed, 2), matrix);
  plan_value value = step_value(&m.places, matrix, m.bits, 0);
  int own = step_add_value(c, &value);
  step_add(c, (plan_step){.kind = PLAN_LOAD, .out = (uint8_t)own});
  for (int level = 0; level < m.kernel->lookback.levels; level++) total_of(&m, own, level);
  for (int level = 0; level < m.kernel->lookback.levels; level++) {
    int got = look(&m, &value, level);
    if (got < 0) return false;
    made = made < 0 ? got : join(&m, &value, made, got);
  }
  step_add(c, (plan_step){.kind = PLAN_STORE, .tensor = STEP_DESTINATION, .in = (uint8_t)made});
  step_finish(c);
  return true;
}
