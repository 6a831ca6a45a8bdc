/* See turns_case.h. Tensor 0 is what turns have, and where two are copied tensor 2 is the other;
 * tensor 1 is what becomes of it. Digit 0 is what a block has; digits 1 and 2 are walked, digit 3
 * is the block's share of the turns. */
#include "turns_case.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/types/combine.h"

#include <string.h>

enum { OWN = 0, WALKED = 1, FAR = 2, SPLIT = 3 };

typedef struct maker {
  uint64_t seed;
  step_case *c;
  const plan_target *target;
  plan_kernel *kernel;
  step_places places;
  int n, own, walked; /* bits of the tile, of digit 0, of digit 1 */
  int bits, vector;   /* of an element; log2 elements of a copy's access */
  int op;             /* llrt_combiner */
  llrt_dtype type;
  int64_t upper[4], turns, share; /* positions above the bits, by digit */
} maker;

/* ---- coordinates ---- */

static plan_number number(int64_t value) { return (plan_number){.arg = -1, .value = value}; }

static void swap_places(plan_place *a, plan_place *b) {
  plan_place c = *a;
  *a = *b;
  *b = c;
}

static void shuffle_places(maker *m, plan_place *places, int n) {
  for (int i = n - 1; i > 0; i--) swap_places(&places[i], &places[step_below(&m->seed, i + 1)]);
}

static plan_place place_of(const maker *m, int digit) {
  return (plan_place){.digit = (int8_t)digit,
                      .count = number(m->upper[digit]),
                      .magic = {.arg = -1},
                      .magic_shift = {.arg = -1}};
}

/* How far positions above a digit's bits are apart in a tensor. */
static void side_of(maker *m, int tensor, int digit, int64_t stride) {
  plan_digit *d = &m->kernel->digit[digit];
  bool strided = digit == FAR && step_once_in(&m->seed, 2);
  d->side[tensor] =
      (plan_digit_side){.kind = strided ? PLAN_STRIDE : PLAN_COLUMNS, .stride = number(stride)};
}

/* A tensor that has all turns: a digit behind the other; the destination has only those that it
 * stores, and each share's. */
static void lay_out_tensor(maker *m, int tensor, bool all) {
  int kept = all ? m->own + m->walked : m->own;
  int64_t stride = (int64_t)1 << kept;
  for (int z = 0; z < kept; z++) m->kernel->column[tensor][z] = 1ull << z;
  side_of(m, tensor, OWN, stride);
  stride *= m->upper[OWN];
  for (int d = WALKED; d <= FAR; d++) {
    side_of(m, tensor, d, all ? stride : 0);
    if (all) stride *= m->upper[d] + (d == FAR && step_once_in(&m->seed, 3));
  }
  side_of(m, tensor, SPLIT, all ? 0 : stride);
  m->c->tensor[tensor].elements = all ? stride : stride * m->upper[SPLIT];
}

static void make_space(maker *m) {
  plan_kernel *kernel = m->kernel;
  const int bits[] = {m->own, m->walked, 0, 0}, axes[] = {0, 1, 2, -1};
  llrt_layout *space = &kernel->space;
  *space = llrt_layout_empty();
  kernel->n_digits = 4;
  for (int d = 0; d < 4; d++) {
    char name[] = {'d', (char)('0' + d), 0};
    kernel->digit[d] = (plan_digit){.axis = (int8_t)axes[d],
                                    .bits = (uint8_t)bits[d],
                                    .rest = true,
                                    .step = 1,
                                    .upper = number(m->upper[d])};
    llrt_layout_add_out(space, name, bits[d]);
  }
  llrt_layout_add_in(space, "tile", m->n);
  llrt_layout_add_in(space, "grid", m->own - m->n + m->walked);
  step_random_matrix(&m->seed, m->own, m->vector, step_once_in(&m->seed, 2), space->column);
  for (int i = 0; i < m->walked; i++) /* turns may exchange what blocks have */
    space->column[m->own + i] =
        1ull << (m->own + i) | (step_random(&m->seed) & bits_mask(m->own) & ~bits_mask(m->vector));
}

static void make_grid(maker *m) {
  plan_kernel *kernel = m->kernel;
  int grid = m->own - m->n;
  plan_place places[] = {
      {.digit = -1, .bits = (uint8_t)grid}, place_of(m, OWN), place_of(m, SPLIT)};
  shuffle_places(m, places, 3);
  for (int i = 0; i < 3; i++) {
    kernel->place[kernel->n_places++] = places[i];
    int64_t positions = places[i].digit < 0 ? (int64_t)1 << grid : places[i].count.value;
    kernel->launch.grid[kernel->launch.n_grid++] =
        (plan_grid_place){.axis = -1, .factor = positions};
  }
}

static void make_walk(maker *m) {
  plan_turns *walk = &m->kernel->walk;
  walk->n_places = 3;
  walk->place[0] = (plan_place){.digit = -1, .bits = (uint8_t)m->walked};
  walk->place[1] = place_of(m, WALKED);
  walk->place[2] = place_of(m, FAR);
  shuffle_places(m, walk->place, 3);
  walk->grid_bits = (uint8_t)(m->own - m->n);
  walk->split = m->upper[SPLIT] > 1 || step_once_in(&m->seed, 2) ? SPLIT : -1;
  walk->down = step_once_in(&m->seed, 3);
  walk->turns = number(m->turns);
  walk->share = number(m->share);
  m->kernel->launch.walk.axes = 1 << 1 | 1 << 2;
}

/* Turns may pass the end of axis 1, as those of a last block do. */
static bool bound_turns(maker *m) {
  int64_t positions = m->upper[WALKED] << m->walked,
          limit = positions - step_below(&m->seed, (int)positions);
  if (!step_once_in(&m->seed, 3)) return false;
  m->kernel->fill = step_random(&m->seed) & bits_mask(m->bits);
  if (m->op) m->kernel->fill = 0;
  m->kernel->bound[m->kernel->n_bounds++] = (plan_bound){.axis = 1,
                                                         .top = WALKED,
                                                         .tensors = 1 << 0 | 1 << 2,
                                                         .limit = number(limit),
                                                         .full = number(limit >> m->walked)};
  return true;
}

/* All of the kernel but values and steps: n tensors. bare: the destination has a place for every
 * turn. */
static void begin(maker *m, int n, bool bare) {
  m->n = step_place_bits(&m->places);
  m->own = m->n + step_below(&m->seed, 2);
  m->walked = step_below(&m->seed, 3);
  m->upper[OWN] = 1 + step_below(&m->seed, 2);
  m->upper[WALKED] = 1 + step_below(&m->seed, 4);
  m->upper[FAR] = 1 + step_below(&m->seed, 3);
  m->upper[SPLIT] = 1 + step_below(&m->seed, 3);
  m->turns = (m->upper[WALKED] * m->upper[FAR]) << m->walked;
  m->share = (m->turns + m->upper[SPLIT] - 1) / m->upper[SPLIT] + step_below(&m->seed, 2);
  for (int t = 0; t < n; t++) m->c->tensor[t].bits = m->bits;
  step_begin(m->c, m->target, n, &m->places);
  make_space(m);
  for (int t = 0; t < n; t++) lay_out_tensor(m, t, t != STEP_DESTINATION || bare);
  make_grid(m);
  make_walk(m);
}

/* ---- steps ---- */

static plan_step access_of(int tensor, bool load, int value) {
  return (plan_step){.kind = load ? PLAN_LOAD : PLAN_STORE,
                     .tensor = (uint8_t)tensor,
                     .in = (uint8_t)(load ? 0 : value),
                     .out = (uint8_t)(load ? value : 0)};
}

static plan_value whole_value(maker *m, int word, int fixed, bool permutation) {
  uint64_t matrix[LLRT_MAX_BITS];
  step_random_matrix(&m->seed, m->n, fixed, permutation, matrix);
  return step_value(&m->places, matrix, m->bits, word);
}

/* Sums and products are of small whole numbers. */
static void choose_combiner(maker *m, bool pairs) {
  static const uint8_t types[] = {LLRT_I32, LLRT_U32, LLRT_I64, LLRT_U64, LLRT_F32, LLRT_F64};
  m->type = (llrt_dtype)types[step_below(&m->seed, 6)];
  m->op = pairs                       ? LLRT_COMBINE_ARGMIN + step_below(&m->seed, 2)
          : step_once_in(&m->seed, 2) ? COMBINE_AFFINE
                                      : 1 + step_below(&m->seed, LLRT_COMBINE_MAX);
  if (m->op == COMBINE_AFFINE) m->type = LLRT_U32;
  if (m->op == LLRT_COMBINE_PROD && (m->type == LLRT_F32 || m->type == LLRT_F64))
    m->op = LLRT_COMBINE_SUM;
  m->bits = llrt_dtype_bits(m->type);
  for (int t = 0; t < STEP_TENSORS; t++)
    m->c->tensor[t].numbers = m->op == COMBINE_AFFINE ? 0 : (uint8_t)m->type;
}

static plan_step combining(const maker *m, plan_step_kind kind, int in, int out) {
  return (plan_step){.kind = (uint8_t)kind,
                     .combiner = (uint8_t)m->op,
                     .type = (uint8_t)m->type,
                     .in = (uint8_t)in,
                     .out = (uint8_t)out};
}

static int add_like(maker *m, int value) {
  plan_value like = m->kernel->value[value];
  return step_add_value(m->c, &like);
}

/* The walk; `body` is counted when all of it is there. */
static plan_step *walk(maker *m, int in, int out) {
  return step_add(m->c, (plan_step){.kind = PLAN_WALK, .in = (uint8_t)in, .out = (uint8_t)out});
}

static void end_walk(maker *m, plan_step *step) {
  step->body = (uint8_t)(&m->kernel->step[m->kernel->n_steps - 1] - step);
}

/* ---- what is carried ---- */

/* A position for each turn: axis 1 counts single ones, axis 2 all of these. */
static int add_position(maker *m, int like) {
  int value = add_like(m, like);
  m->kernel->position_axes = 1 << 1 | 1 << 2;
  m->kernel->position[1] = number(1);
  m->kernel->position[2] = number(m->upper[WALKED] << m->walked);
  return value;
}

static bool make_carried(maker *m, bool pairs) {
  int word;
  choose_combiner(m, pairs);
  step_random_places(&m->seed, m->target, m->bits, 2, &m->places, &word);
  begin(m, 2, false);
  plan_value value = whole_value(m, 0, 0, step_once_in(&m->seed, 2));
  int first = step_add_value(m->c, &value), loaded = add_like(m, 0), carried = add_like(m, 0),
      made = add_like(m, 0), at[4] = {0};
  bool masked = bound_turns(m), early = !m->target->simd_lanes && step_once_in(&m->seed, 2);
  for (int i = 0; i < 4 && pairs; i++) at[i] = add_position(m, first);
  plan_step *fill = step_add(m->c, combining(m, PLAN_FILL, 0, first));
  fill->pairs = pairs;
  fill->index_out = (uint8_t)at[0];
  plan_step *step = walk(m, first, carried);
  step->pairs = pairs;
  step->index_in = (uint8_t)at[0];
  step->index_out = (uint8_t)at[2];
  step->ahead = early;
  step_add(m->c, access_of(0, true, loaded))->masked = masked;
  if (pairs) step_add(m->c, (plan_step){.kind = PLAN_POSITION, .out = (uint8_t)at[1]});
  plan_step join = combining(m, PLAN_JOIN, carried, made);
  join.with = (uint8_t)loaded;
  join.pairs = pairs;
  join.index_in = (uint8_t)at[2];
  join.index_with = (uint8_t)at[1];
  join.index_out = (uint8_t)at[3];
  step_add(m->c, join);
  end_walk(m, step);
  step_add(m->c, access_of(1, false, pairs && step_once_in(&m->seed, 2) ? at[2] : carried));
  return true;
}

static const int element_widths[] = {8, 16, 32, 64};

static bool make_bare(maker *m) {
  int word;
  m->bits = element_widths[step_below(&m->seed, 4)];
  step_random_places(&m->seed, m->target, m->bits, 2, &m->places, &word);
  begin(m, 2, true);
  plan_value value = whole_value(m, m->target->simd_lanes ? 0 : step_below(&m->seed, word + 1), 0,
                                 step_once_in(&m->seed, 2));
  int loaded = step_add_value(m->c, &value);
  bool masked = bound_turns(m);
  plan_step *step = walk(m, loaded, loaded);
  step->bare = true;
  step->reverse = step_once_in(&m->seed, 2);
  step_add(m->c, access_of(0, true, loaded))->masked = masked;
  step_add(m->c, access_of(1, false, loaded));
  end_walk(m, step);
  return true;
}

/* ---- rings ---- */

static void make_ring(maker *m, int slots, int from) {
  plan_buffer *buffer = &m->kernel->buffer[m->kernel->n_buffers++];
  int bytes = bits_max((m->bits << m->n) / 8, 16);
  *buffer = (plan_buffer){.bits = (uint8_t)m->bits,
                          .bytes = bytes,
                          .slots = (uint8_t)slots,
                          .offset = from,
                          .layout = llrt_layout_empty()};
  llrt_layout_add_out(&buffer->layout, "tile", m->n);
  llrt_layout_add_in(&buffer->layout, "offset", m->n);
  llrt_layout_add_in(&buffer->layout, "repetition", 0);
  llrt_layout_add_in(&buffer->layout, "block", 0);
  step_random_matrix(&m->seed, m->n, m->vector, step_once_in(&m->seed, 3), buffer->layout.column);
}

/* What is copied of each tensor `turns` turns later. */
static void copy_ahead(maker *m, int turns, const int *copied, int n, bool masked) {
  step_add(m->c, (plan_step){.kind = PLAN_AHEAD, .turns = turns, .body = (uint8_t)n});
  for (int i = 0; i < n; i++)
    step_add(m->c, (plan_step){.kind = PLAN_COPY,
                               .tensor = (uint8_t)(2 * i),
                               .buffer = (uint8_t)i,
                               .in = (uint8_t)copied[i],
                               .vector = (uint8_t)m->vector,
                               .masked = masked});
}

/* What a ring's case is made of: n tensors are copied, `lead` turns ahead, to values that loads
 * take from the rings. */
typedef struct ring_case {
  int n, slots, lead;
  bool bare, masked;
  int copied[2], loaded[2];
} ring_case;

static bool choose_ring(maker *m, bool bare, ring_case *x) {
  int word;
  if (!m->target->async_copies) return false;
  x->bare = bare;
  x->n = 1 + (!bare && step_once_in(&m->seed, 2));
  x->slots = 2 + step_below(&m->seed, 3);
  x->lead = x->slots - step_below(&m->seed, 2);
  if (bare) m->bits = element_widths[step_below(&m->seed, 4)];
  else choose_combiner(m, false);
  step_random_places(&m->seed, m->target, m->bits, 3, &m->places, &word);
  m->vector = bits_log2(32 / bits_min(m->bits, 32)) + step_below(&m->seed, 3);
  return m->bits << m->vector <= 128 && m->vector <= m->places.registers;
}

/* Rings, and their values: of both one layout where they are joined. */
static void make_rings(maker *m, ring_case *x) {
  for (int i = 0; i < x->n; i++) {
    plan_value from = whole_value(m, 0, m->vector, step_once_in(&m->seed, 2)),
               to = whole_value(m, 0, 0, step_once_in(&m->seed, 2));
    make_ring(m, x->slots, i ? plan_buffer_end(&m->kernel->buffer[i - 1]) : 0);
    x->copied[i] = step_add_value(m->c, &from);
    if (i) to = m->kernel->value[x->loaded[0]];
    x->loaded[i] = step_add_value(m->c, &to);
  }
}

static void copy_of_ring(maker *m, const ring_case *x, int turns) {
  copy_ahead(m, turns, x->copied, x->n, x->masked);
}

/* Copies begin before the turn's slot is read if that leaves it alone, or behind the barrier that
 * ends its use. */
static void turn_of_ring(maker *m, const ring_case *x) {
  bool late = x->lead == x->slots;
  step_add(m->c, (plan_step){.kind = PLAN_COPIED, .turns = x->lead - 1});
  step_add(m->c, (plan_step){.kind = PLAN_BARRIER});
  if (!late) copy_of_ring(m, x, x->lead);
  for (int i = 0; i < x->n; i++)
    step_add(
        m->c,
        (plan_step){.kind = PLAN_SHARED_LOAD, .out = (uint8_t)x->loaded[i], .buffer = (uint8_t)i});
  if (late) step_add(m->c, (plan_step){.kind = PLAN_BARRIER});
  if (late) copy_of_ring(m, x, x->lead);
}

static void join(maker *m, int in, int with, int out) {
  plan_step step = combining(m, PLAN_JOIN, in, out);
  step.with = (uint8_t)with;
  step_add(m->c, step);
}

/* What is copied is stored turn by turn, or joined, of two tensors with each other before. */
static bool make_copied(maker *m, bool bare) {
  ring_case x = {0};
  if (!choose_ring(m, bare, &x)) return false;
  begin(m, x.n == 2 ? 3 : 2, bare);
  x.masked = bound_turns(m);
  make_rings(m, &x);
  int own = x.loaded[0], first = add_like(m, own), carried = add_like(m, own),
      made = add_like(m, own), both = add_like(m, own);
  if (!bare) step_add(m->c, combining(m, PLAN_FILL, 0, first));
  for (int i = 0; i < x.lead; i++) copy_of_ring(m, &x, i);
  plan_step *step = walk(m, first, carried);
  step->bare = bare;
  turn_of_ring(m, &x);
  if (x.n == 2) join(m, own, x.loaded[1], both);
  if (bare) step_add(m->c, access_of(1, false, own));
  else join(m, carried, x.n == 2 ? both : own, made);
  end_walk(m, step);
  if (!bare) step_add(m->c, access_of(1, false, carried));
  return true;
}

bool turns_case_make(step_case *c, const plan_target *target, turns_way way) {
  maker m = {.seed = c->seed, .c = c, .target = target, .kernel = &c->kernel};
  for (int t = 0; t < STEP_TENSORS; t++) c->tensor[t] = (step_tensor){.bits = 0};
  bool made = way >= TURNS_COPY   ? make_copied(&m, way == TURNS_COPY_BARE)
              : way == TURNS_BARE ? make_bare(&m)
                                  : make_carried(&m, way == TURNS_PAIRS);
  if (made) step_finish(c);
  return made;
}
