/* See dot_case.h. Tensor 0 is the first operand, tensor 2 the second one, tensor 3 what the sums
 * begin with, and tensor 1 the result. Axes are m, n and k: a digit each. */
#include "dot_case.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/dot_shared.h"
#include "layout/f2.h"

#include <string.h>

enum { M = 0, N = 1, K = 2, AXES = 3, SUMS = 3 };

/* An axis: its bits of the tile, and vectors of these that are a basis, the instruction's first. */
typedef struct axis {
  int bits, inner, grid; /* of the tile, of those the instruction's; bits of blocks' numbers */
  bool plain;            /* tile bits are the digit's, in order */
  uint64_t bit[16], vector[16];
} axis;

/* Columns of a value in the making, in bits of the kernel's tile. */
typedef struct place_columns {
  uint64_t registers[24], lanes[8], warps[8];
  int n;
} place_columns;

typedef struct maker {
  uint64_t seed;
  step_case *c;
  const plan_target *target;
  plan_kernel *kernel;
  const dot_instruction *row;
  int number; /* of the instruction */
  dot_way way;
  dot_operand operand[3];
  axis axis[AXES];
  int tile, lanes, warps;
  uint64_t lane[8], warp[8]; /* what threads have of the result beyond the instruction */
  bool shared[2];            /* operands that the instruction reads in shared memory */
  bool along[2];             /* whose rows go along positions there */
  int64_t turns;
} maker;

static plan_number number(int64_t value) { return (plan_number){.arg = -1, .value = value}; }
static bool is_group(const maker *m) { return m->row->family == DOT_WGMMA; }
static int type_of(const maker *m, int o) {
  return o == DOT_A ? m->row->a : o == DOT_B ? m->row->b : m->row->acc;
}
static int bits_of(const maker *m, int o) { return llrt_dtype_bits((llrt_dtype)type_of(m, o)); }

/* ---- axes ---- */

static uint64_t mask_of(const maker *m, int which) {
  uint64_t mask = 0;
  for (int i = 0; i < m->axis[which].bits; i++) mask |= m->axis[which].bit[i];
  return mask;
}

/* The tile bits that an operand has: not n, not m, not k. */
static uint64_t kept_of(const maker *m, int o) {
  static const int without[] = {N, M, K};
  return bits_mask(m->tile) & ~mask_of(m, without[o]);
}

static uint64_t own_bits(uint64_t x, uint64_t kept) {
  uint64_t own = 0;
  for (int i = 0; kept; kept &= kept - 1) own |= (x >> bits_lowest(kept) & 1) << i++;
  return own;
}

/* Tile bits are shared out among the axes in any order. */
static void place_axes(maker *m) {
  int left[AXES], at[AXES] = {0};
  m->tile = 0;
  for (int a = 0; a < AXES; a++) m->tile += left[a] = m->axis[a].bits;
  for (int i = 0; i < m->tile; i++) {
    int a = step_below(&m->seed, AXES);
    while (left[a] == 0) a = (a + 1) % AXES;
    left[a]--;
    m->axis[a].bit[at[a]++] = 1ull << i;
  }
  for (int a = 0; a < AXES; a++) {
    uint64_t matrix[LLRT_MAX_BITS];
    axis *x = &m->axis[a];
    step_random_matrix(&m->seed, x->bits, x->plain ? x->bits : 0, step_once_in(&m->seed, 2),
                       matrix);
    for (int i = 0; i < x->bits; i++) x->vector[i] = f2_apply(x->bit, matrix[i]);
  }
}

/* The tile vector of a coordinate bit of the instruction. */
static uint64_t image(const maker *m, uint32_t coordinate) {
  int c = bits_lowest(coordinate);
  if (c < m->row->m) return m->axis[M].vector[c];
  if (c < m->row->m + m->row->n) return m->axis[N].vector[c - m->row->m];
  return m->axis[K].vector[c - m->row->m - m->row->n];
}

/* ---- threads ---- */

/* What warps, and lanes of multiply-adds, have of the result: 0, or one more vector of m or n.
 * Sizes of the axes follow. On the host all lanes go along one of both. */
static void choose_threads(maker *m) {
  bool host = m->target->simd_lanes, lanes = m->operand[DOT_ACC].lanes == 0;
  int n = m->axis[M].inner, columns = m->axis[N].inner, side = step_below(&m->seed, 2), which[16],
      count = 0;
  int first = m->operand[DOT_ACC].warps;
  for (int i = 0; lanes && i < m->lanes; i++)
    which[count++] = host ? side : step_once_in(&m->seed, 6) ? -1 : step_below(&m->seed, 2);
  for (int i = first; i < m->warps; i++)
    which[count++] = step_once_in(&m->seed, 5) ? -1 : step_below(&m->seed, 2);
  int taken[2] = {0, 0};
  for (int i = 0; i < count; i++)
    if (which[i] >= 0) taken[which[i]]++;
  int more = is_group(m)
                 ? m->row->n > 5 ? 1 : 2
                 : 3; /* instructions of a thread along an axis: log2 of them are less than that */
  m->axis[M].bits = n + taken[M] + step_below(&m->seed, more);
  m->axis[N].bits = columns + taken[N] + step_below(&m->seed, more);
  m->axis[K].bits = m->row->k + step_below(&m->seed, bits_max(more, 2));
  place_axes(m);
  int at[2] = {n, columns}, next = 0;
  for (int i = 0; lanes && i < m->lanes; i++, next++)
    m->lane[i] = which[next] < 0 ? 0 : m->axis[which[next]].vector[at[which[next]]++];
  for (int i = first; i < m->warps; i++, next++)
    m->warp[i] = which[next] < 0 ? 0 : m->axis[which[next]].vector[at[which[next]]++];
  for (int a = M; a <= N; a++) m->axis[a].inner = at[a]; /* what lies behind are registers */
  m->axis[K].inner = m->row->k;
}

/* ---- values ---- */

/* The operand's part in the instruction, and in threads beyond. */
static void begin_columns(const maker *m, int o, place_columns *out) {
  const dot_operand *x = &m->operand[o];
  uint64_t kept = kept_of(m, o);
  *out = (place_columns){.n = x->registers};
  for (int i = 0; i < x->registers; i++) out->registers[i] = image(m, x->column[i]);
  for (int i = 0; i < m->lanes; i++)
    out->lanes[i] = x->lanes ? image(m, x->column[x->registers + i]) : m->lane[i] & kept;
  for (int i = 0; i < m->warps; i++)
    out->warps[i] =
        i < x->warps ? image(m, x->column[x->registers + x->lanes + i]) : m->warp[i] & kept;
}

/* More registers: an invertible recombination of what is left of an axis. */
static void add_registers(maker *m, const uint64_t *vectors, int n, place_columns *out) {
  uint64_t matrix[LLRT_MAX_BITS];
  step_random_matrix(&m->seed, n, 0, step_once_in(&m->seed, 2), matrix);
  for (int i = 0; i < n; i++) out->registers[out->n++] = f2_apply(vectors, matrix[i]);
}

static void mix_registers(maker *m, int from, place_columns *out) {
  for (int i = out->n - 1; i > from; i--) {
    int j = from + step_below(&m->seed, i - from + 1);
    uint64_t other = out->registers[i];
    out->registers[i] = out->registers[j];
    out->registers[j] = other;
  }
}

static plan_value value_of(const maker *m, int o, const place_columns *x, int word) {
  uint64_t kept = kept_of(m, o);
  plan_value value = {
      .bits = (uint8_t)bits_of(m, o), .word = (uint8_t)word, .reduced = bits_mask(m->tile) & ~kept};
  llrt_layout *layout = &value.layout;
  int at = 0;
  *layout = llrt_layout_empty();
  llrt_layout_add_out(layout, "tile", bits_count(kept));
  llrt_layout_add_in(layout, "register", x->n);
  llrt_layout_add_in(layout, "lane", m->lanes);
  llrt_layout_add_in(layout, "warp", m->warps);
  llrt_layout_add_in(layout, "iteration", 0);
  for (int i = 0; i < x->n; i++) layout->column[at++] = own_bits(x->registers[i], kept);
  for (int i = 0; i < m->lanes; i++) layout->column[at++] = own_bits(x->lanes[i], kept);
  for (int i = 0; i < m->warps; i++) layout->column[at++] = own_bits(x->warps[i], kept);
  return value;
}

/* An operand, or the sums, in the registers that the instruction takes them from: whole words. */
static plan_value held_value(maker *m, int o) {
  place_columns x;
  const axis *own = &m->axis[o == DOT_B ? N : M], *other = &m->axis[o == DOT_ACC ? N : K];
  uint64_t left[32];
  int n = 0, inside = m->operand[o].registers;
  begin_columns(m, o, &x);
  for (int i = own->inner; i < own->bits; i++) left[n++] = own->vector[i];
  if (o != DOT_ACC) add_registers(m, left, n, &x), n = 0;
  for (int i = other->inner; i < other->bits; i++) left[n++] = other->vector[i];
  add_registers(m, left, n, &x);
  mix_registers(m, inside, &x);
  return value_of(m, o, &x,
                  bits_min(bits_of(m, o) < 32 ? 5 - bits_log2(bits_of(m, o)) : 0, inside));
}

/* The same operand as it may be loaded and stored to shared memory, or copied: its first `fixed`
 * registers are the first vectors of the axis along which rows go. */
static plan_value moved_value(maker *m, int o, int fixed) {
  place_columns x = {.n = 0};
  uint64_t all[32], matrix[LLRT_MAX_BITS], *threads[16];
  const axis *first = &m->axis[m->along[o] ? (o == DOT_A ? M : N) : K],
             *second = &m->axis[m->along[o]  ? K
                                : o == DOT_A ? M
                                             : N];
  int n = 0, count = 0;
  for (int i = 0; i < first->bits; i++) all[n++] = first->vector[i];
  for (int i = 0; i < second->bits; i++) all[n++] = second->vector[i];
  step_random_matrix(&m->seed, n, fixed, step_once_in(&m->seed, 2), matrix);
  for (int i = 0; i < m->lanes; i++) threads[count++] = &x.lanes[i];
  for (int i = 0; i < m->warps; i++) threads[count++] = &x.warps[i];
  int registers = bits_max(n - count, fixed), at = 0;
  for (int i = 0; i < registers; i++) x.registers[x.n++] = f2_apply(all, matrix[at++]);
  for (int i = 0; i < count && at < n; i++) *threads[i] = f2_apply(all, matrix[at++]);
  return value_of(m, o, &x, 0);
}

/* ---- memory ---- */

static const int tensor_of[] = {0, 2, SUMS};

/* A tensor has the positions of two axes, in any order of address bits; rows of those that are
 * copied begin with the axis along which they go in shared memory. */
static void place_tensor(maker *m, int tensor, int o) {
  static const int without[] = {N, M, K};
  plan_kernel *kernel = m->kernel;
  uint64_t order[LLRT_MAX_BITS];
  int n = 0, fixed = 0, at = 0, row = o == DOT_ACC ? -1 : m->along[o] ? (o == DOT_A ? M : N) : K;
  for (int a = 0; a < AXES; a++)
    if (a != without[o]) n += m->axis[a].bits + m->axis[a].grid;
  if (m->way == DOT_ROLES && row >= 0) fixed = m->axis[row].bits;
  step_random_matrix(&m->seed, n, fixed, true, order);
  int next = fixed, along = 0;
  for (int a = 0; a < AXES; a++)
    for (int i = 0; i < m->axis[a].bits + m->axis[a].grid; i++, at++) {
      bool first = fixed && a == row && along < fixed;
      kernel->column[tensor][at] = a == without[o] ? 0 : order[first ? along++ : next++];
    }
  bool walks = o != DOT_ACC;
  for (int a = 0; a < AXES; a++)
    kernel->digit[a].side[tensor] = (plan_digit_side){
        .kind = PLAN_COLUMNS, .stride = number(a == K && walks ? (int64_t)1 << n : 0)};
  m->c->tensor[tensor].bits = bits_of(m, o);
  m->c->tensor[tensor].elements = (walks ? m->turns : 1) << n;
  m->c->tensor[tensor].lead = 0;
  bool floats = type_of(m, DOT_ACC) == LLRT_F32 || type_of(m, DOT_ACC) == LLRT_F64;
  m->c->tensor[tensor].numbers = floats ? (uint8_t)type_of(m, o) : 0;
  m->c->tensor[tensor].fuzz = floats && m->row->tf32 && o != DOT_ACC ? 13 : 0;
  kernel->tensor_bits[tensor] = (uint8_t)m->c->tensor[tensor].bits;
}

static void make_space(maker *m) {
  plan_kernel *kernel = m->kernel;
  llrt_layout *space = &kernel->space;
  int first = 0, grid = 0, blocks = m->axis[M].grid + m->axis[N].grid;
  *space = llrt_layout_empty();
  kernel->n_digits = AXES;
  for (int a = 0; a < AXES; a++) {
    const char *const names[] = {"d0", "d1", "d2"};
    int bits = m->axis[a].bits + m->axis[a].grid;
    bool walked = a == K && m->way == DOT_ROLES;
    kernel->digit[a] = (plan_digit){.axis = (int8_t)a,
                                    .bits = (uint8_t)bits,
                                    .rest = walked,
                                    .step = 1,
                                    .upper = number(walked ? m->turns : 1)};
    llrt_layout_add_out(space, names[a], bits);
  }
  llrt_layout_add_in(space, "tile", m->tile);
  llrt_layout_add_in(space, "grid", blocks);
  for (int a = 0; a < AXES; a++) {
    const axis *x = &m->axis[a];
    uint64_t matrix[LLRT_MAX_BITS];
    step_random_matrix(&m->seed, x->bits + x->grid, x->plain ? x->bits : 0,
                       step_once_in(&m->seed, 2), matrix);
    for (int i = 0; i < x->bits; i++) space->column[bits_lowest(x->bit[i])] = matrix[i] << first;
    for (int i = 0; i < x->grid; i++)
      space->column[m->tile + grid++] = matrix[x->bits + i] << first;
    first += x->bits + x->grid;
  }
  kernel->place[kernel->n_places++] = (plan_place){.digit = -1, .bits = (uint8_t)blocks};
  kernel->launch.grid[kernel->launch.n_grid++] =
      (plan_grid_place){.axis = -1, .factor = (int64_t)1 << blocks};
}

/* ---- steps ---- */

static int add(maker *m, plan_value value) { return step_add_value(m->c, &value); }
static int add_like(maker *m, int value) { return add(m, m->kernel->value[value]); }

static void load(maker *m, int tensor, int value) {
  step_add(m->c, (plan_step){.kind = PLAN_LOAD, .tensor = (uint8_t)tensor, .out = (uint8_t)value});
}

static void barrier(maker *m) { step_add(m->c, (plan_step){.kind = PLAN_BARRIER}); }

static void store_shared(maker *m, int value, int buffer) {
  step_add(m->c,
           (plan_step){.kind = PLAN_SHARED_STORE, .in = (uint8_t)value, .buffer = (uint8_t)buffer});
}

static plan_step *multiply(maker *m, const int operand[2], const int buffer[2], int with, int out) {
  plan_step step = {.kind = PLAN_DOT,
                    .instruction = (uint8_t)m->number,
                    .in = (uint8_t)operand[0],
                    .second = (uint8_t)operand[1],
                    .with = (uint8_t)with,
                    .out = (uint8_t)out};
  for (int o = 0; o < 2; o++) {
    step.shared |= (uint8_t)(m->shared[o] << o);
    step.from[o] = (uint8_t)buffer[o];
  }
  return step_add(m->c, step);
}

static void await(maker *m, int turns, int in, int out) {
  step_add(
      m->c,
      (plan_step){.kind = PLAN_MULTIPLIED, .turns = turns, .in = (uint8_t)in, .out = (uint8_t)out});
}

/* A buffer as a warpgroup takes the operand from it; -1: there is none for these sizes. */
static int make_buffer(maker *m, int o, int slots) {
  plan_kernel *kernel = m->kernel;
  int which = kernel->n_buffers;
  plan_buffer *buffer = &kernel->buffer[which];
  const axis *position = &m->axis[o == DOT_A ? M : N], *k = &m->axis[K];
  uint64_t kept = kept_of(m, o), positions[16], sums[16];
  for (int i = 0; i < position->bits; i++) positions[i] = own_bits(position->vector[i], kept);
  for (int i = 0; i < k->bits; i++) sums[i] = own_bits(k->vector[i], kept);
  *buffer = (plan_buffer){.bits = (uint8_t)bits_of(m, o), .slots = (uint8_t)slots};
  if (dot_shared_layout(positions, position->bits, sums, k->bits, buffer->bits, m->along[o],
                        bits_count(kept), &buffer->layout) != LLRT_OK)
    return -1;
  int bytes = (buffer->bits << bits_count(kept)) / 8;
  buffer->bytes = (bytes + DOT_SHARED_ALIGNMENT - 1) / DOT_SHARED_ALIGNMENT * DOT_SHARED_ALIGNMENT;
  buffer->offset = which ? plan_buffer_end(&kernel->buffer[which - 1]) : 0;
  kernel->n_buffers++;
  return which;
}

/* The operand in registers. Lanes of the host are loaded an element each. */
static int hold_operand(maker *m, int o) {
  plan_value value = held_value(m, o), loaded = value;
  int held = add(m, value), from = held;
  loaded.word = 0;
  if (m->target->simd_lanes && value.word > 0) from = add(m, loaded);
  load(m, tensor_of[o], from);
  if (from != held)
    step_add(m->c, (plan_step){.kind = PLAN_REGISTERS, .in = (uint8_t)from, .out = (uint8_t)held});
  return held;
}

/* The operand where the instruction wants it: its value, and its buffer. */
static bool bring_operand(maker *m, int o, int *value, int *buffer) {
  *buffer = 0;
  if (!m->shared[o]) {
    *value = hold_operand(m, o);
    return true;
  }
  int moved = add(m, moved_value(m, o, 0));
  *value = add_like(m, moved);
  *buffer = make_buffer(m, o, 0);
  if (*buffer < 0) return false;
  load(m, tensor_of[o], moved);
  store_shared(m, moved, *buffer);
  return true;
}

static void store_result(maker *m, int value) {
  step_add(m->c, (plan_step){.kind = PLAN_STORE, .tensor = STEP_DESTINATION, .in = (uint8_t)value});
}

static void choose_options(maker *m, plan_step *step) {
  step->parts = is_group(m) && !m->shared[DOT_A] && step_once_in(&m->seed, 3);
  step->fresh_sums =
      is_group(m) && !step->parts && m->row->acc == LLRT_F32 && step_once_in(&m->seed, 3);
}

static bool multiply_alone(maker *m) {
  int operand[2], buffer[2], sums = add(m, held_value(m, DOT_ACC)), out = add_like(m, sums);
  load(m, SUMS, sums);
  for (int o = 0; o < 2; o++)
    if (!bring_operand(m, o, &operand[o], &buffer[o])) return false;
  if (is_group(m)) barrier(m);
  choose_options(m, multiply(m, operand, buffer, sums, out));
  if (is_group(m)) {
    int made = out;
    out = add_like(m, sums);
    await(m, 0, made, out);
  }
  store_result(m, out);
  return true;
}

/* The second operand with another sign, in registers. */
static int other_operand(maker *m, int value) {
  plan_map *map = &m->kernel->map[m->kernel->n_maps];
  *map = (plan_map){
      .kind = PLAN_MAP_XOR, .from = (uint8_t)type_of(m, DOT_B), .to = (uint8_t)type_of(m, DOT_B)};
  map->constant = 1ull << (bits_of(m, DOT_B) - 1);
  int other = add_like(m, value);
  step_add(m->c, (plan_step){.kind = PLAN_MAP,
                             .map = (uint8_t)m->kernel->n_maps++,
                             .in = (uint8_t)value,
                             .out = (uint8_t)other});
  return other;
}

/* Two products under way, of which the first is awaited; then its operand is written anew. */
static bool multiply_chain(maker *m) {
  int operand[2], buffer[2], sums[5], moved;
  sums[0] = add(m, held_value(m, DOT_ACC));
  for (int i = 1; i < 5; i++) sums[i] = add_like(m, sums[0]);
  load(m, SUMS, sums[0]);
  for (int o = 0; o < 2; o++)
    if (!bring_operand(m, o, &operand[o], &buffer[o])) return false;
  moved = m->kernel->step[m->kernel->n_steps - 1].in;
  int other = other_operand(m, moved), others[2] = {buffer[DOT_A], make_buffer(m, DOT_B, 0)};
  store_shared(m, other, others[DOT_B]);
  barrier(m);
  multiply(m, operand, buffer, sums[0], sums[1]);
  multiply(m, operand, others, sums[1], sums[2]);
  await(m, 1, 0, 0);
  barrier(m);
  store_shared(m, other, buffer[DOT_B]);
  barrier(m);
  multiply(m, operand, buffer, sums[2], sums[3]);
  await(m, 0, sums[3], sums[4]);
  store_result(m, sums[4]);
  return true;
}

/* ---- roles ---- */

static plan_step copy_of(maker *m, int o, int value, int buffer) {
  int bits = bits_of(m, o), least = bits_log2(32 / bits_min(bits, 32));
  int most = bits_log2(128 / bits), vector = least + step_below(&m->seed, most - least + 1);
  m->kernel->value[value] = moved_value(m, o, vector);
  return (plan_step){.kind = PLAN_COPY,
                     .tensor = (uint8_t)tensor_of[o],
                     .in = (uint8_t)value,
                     .buffer = (uint8_t)buffer,
                     .vector = (uint8_t)vector};
}

/* Producers, and the walk whose turns' slots they fill. */
static void make_roles(maker *m, int slots) {
  plan_kernel *kernel = m->kernel;
  kernel->slots = (uint8_t)slots;
  kernel->producers = (uint8_t)(1 << step_below(&m->seed, 3));
  kernel->walk = (plan_turns){
      .n_places = 1, .split = -1, .turns = number(m->turns), .share = number(m->turns)};
  kernel->walk.grid_bits = (uint8_t)(m->axis[M].grid + m->axis[N].grid);
  kernel->walk.place[0] = (plan_place){
      .digit = K, .count = number(m->turns), .magic = {.arg = -1}, .magic_shift = {.arg = -1}};
  kernel->walk.down = step_once_in(&m->seed, 3);
  kernel->launch.walk.axes = 1 << K;
}

/* An operand that others hold is loaded when the products that read the one before are done. */
static bool multiply_turns(maker *m) {
  int operand[2], buffer[2] = {0, 0}, sums[4], slots = 2 + step_below(&m->seed, 3), n = 0;
  plan_step copies[2];
  sums[0] = add(m, held_value(m, DOT_ACC));
  for (int i = 1; i < 4; i++) sums[i] = add_like(m, sums[0]);
  for (int o = 0; o < 2; o++) {
    operand[o] = m->shared[o] ? add_like(m, sums[0]) : add(m, held_value(m, o));
    if (!m->shared[o]) continue;
    if ((buffer[o] = make_buffer(m, o, slots)) < 0) return false;
    copies[n++] = copy_of(m, o, operand[o], buffer[o]);
  }
  make_roles(m, slots);
  load(m, SUMS, sums[0]);
  step_add(m->c, (plan_step){.kind = PLAN_ROLES});
  plan_step *walk = step_add(
      m->c, (plan_step){.kind = PLAN_WALK, .in = (uint8_t)sums[0], .out = (uint8_t)sums[1]});
  step_add(m->c, (plan_step){.kind = PLAN_PRODUCE, .body = (uint8_t)n});
  for (int i = 0; i < n; i++) step_add(m->c, copies[i]);
  if (!m->shared[DOT_A]) load(m, tensor_of[DOT_A], operand[DOT_A]);
  step_add(m->c, (plan_step){.kind = PLAN_FILLED});
  multiply(m, operand, buffer, sums[1], sums[2]);
  int behind = m->shared[DOT_A] ? step_below(&m->seed, 2) : 0, made = behind ? sums[2] : sums[3];
  await(m, behind, sums[2], behind ? 0 : sums[3]);
  step_add(m->c, (plan_step){.kind = PLAN_RELEASE, .turns = behind, .out = (uint8_t)made});
  walk->body = (uint8_t)(&m->kernel->step[m->kernel->n_steps - 1] - walk);
  int last = add_like(m, sums[0]);
  await(m, 0, sums[1], last);
  store_result(m, last);
  return true;
}

/* ---- the kernel ---- */

static void choose(maker *m) {
  bool host = m->target->simd_lanes;
  for (int o = 0; o < 3; o++) dot_instruction_operand(m->row, o, &m->operand[o]);
  m->lanes =
      host ? bits_log2(m->target->vector_bytes * 8 / bits_of(m, DOT_ACC)) : m->target->lane_bits;
  m->warps = host ? 0 : is_group(m) ? 2 + step_below(&m->seed, 2) : step_below(&m->seed, 3);
  m->axis[M].inner = m->row->m;
  m->axis[N].inner = m->row->n;
  for (int a = M; a <= N; a++) m->axis[a].grid = step_below(&m->seed, 2);
  m->shared[DOT_B] = is_group(m);
  m->shared[DOT_A] = is_group(m) && step_once_in(&m->seed, 2);
  for (int o = 0; o < 2; o++)
    m->along[o] = is_group(m) && bits_of(m, o) == 16 && step_once_in(&m->seed, 2);
  m->turns = m->way == DOT_ROLES ? 1 + step_below(&m->seed, 6) : 1;
  m->axis[K].plain = m->shared[DOT_A] || m->way == DOT_ROLES;
  for (int o = 0; o < 2; o++) m->axis[o == DOT_A ? M : N].plain = m->way == DOT_ROLES;
}

bool dot_case_make(step_case *c, const plan_target *target, const dot_instruction *row, int number,
                   dot_way way) {
  maker m = {.seed = c->seed,
             .c = c,
             .target = target,
             .kernel = &c->kernel,
             .row = row,
             .number = number,
             .way = way};
  for (int t = 0; t < STEP_TENSORS; t++) c->tensor[t] = (step_tensor){.bits = 0};
  choose(&m);
  choose_threads(&m);
  step_places places = {.lanes = m.lanes, .warps = m.warps};
  step_begin(c, target, 4, &places);
  make_space(&m);
  for (int o = 0; o < 2; o++) place_tensor(&m, tensor_of[o], o);
  place_tensor(&m, SUMS, DOT_ACC);
  place_tensor(&m, STEP_DESTINATION, DOT_ACC);
  bool made = way == DOT_ALONE   ? multiply_alone(&m)
              : way == DOT_CHAIN ? multiply_chain(&m)
                                 : multiply_turns(&m);
  if (made) step_finish(c);
  return made;
}
