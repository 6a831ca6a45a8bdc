/* See exchange_case.h: load, the step, store. Where lanes of the result hold copies, half of what
 * each has is stored from it. */
#include "exchange_case.h"

#include "base/bits.h"
#include "layout/f2.h"

#include <string.h>

typedef struct exchange {
  step_places places;
  int bits, word, n,
      fixed;  /* fixed: registers whose tile bits are their own, so that bytes are stored whole */
  int blocks; /* log2, of a cluster: the last warps */
} exchange;

/* ---- inside the warp ---- */

/* Registers of the result are sums of the source's; words may be others. */
static void rename_registers(uint64_t *seed, const plan_target *target, const exchange *x,
                             const plan_value *from, plan_value *to) {
  uint64_t matrix[LLRT_MAX_BITS];
  int n = x->places.registers;
  step_random_matrix(seed, n, x->fixed, step_once_in(seed, 2), matrix);
  for (int i = 0; i < n; i++) to->layout.column[i] = f2_apply(from->layout.column, matrix[i]);
  if (!target->simd_lanes && x->bits >= 8) to->word = (uint8_t)step_below(seed, x->word + 1);
}

static bool is_invertible(const uint64_t *columns, int n) {
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < n; i++)
    if (columns[i] && !f2_basis_insert(&basis, columns[i])) return false;
  return true;
}

/* Register r' and lane l' have what (R r' + parity(l' & chooser) drawn, L r' + M l') has: of
 * registers beyond the word. Then some lanes hold copies instead, and registers what these had. */
static bool shuffle(uint64_t *seed, const exchange *x, const plan_value *from, plan_value *to) {
  int n = x->places.registers, lanes = x->places.lanes, words = n - from->word;
  const uint64_t *registers = from->layout.column, *lane = registers + n;
  uint64_t drawn = words ? step_random(seed) & bits_mask(words) : 0,
           chooser = step_random(seed) & bits_mask(lanes);
  uint64_t own[LLRT_MAX_BITS], other[LLRT_MAX_BITS];
  if (step_once_in(seed, 3)) drawn = 0;
  step_random_matrix(seed, words, 0, step_once_in(seed, 2), own);
  step_random_matrix(seed, lanes, 0, step_once_in(seed, 2), other);
  for (int i = 0; i < words; i++) {
    uint64_t moved = step_once_in(seed, 2)   ? 0
                     : step_once_in(seed, 2) ? 1ull << step_below(seed, lanes)
                                             : step_random(seed) & bits_mask(lanes);
    if (step_once_in(seed, 3)) own[i] = 0; /* of lanes alone */
    to->layout.column[from->word + i] =
        f2_apply(registers + from->word, own[i]) ^ f2_apply(lane, moved);
  }
  for (int i = 0; i < lanes; i++) {
    if (step_once_in(seed, 4)) other[i] = 0;
    to->layout.column[n + i] = f2_apply(lane, other[i]);
    if (chooser >> i & 1) to->layout.column[n + i] ^= f2_apply(registers + from->word, drawn);
  }
  for (int i = 0; i < n + lanes; i++)
    if (i < n && !to->layout.column[i]) return false;
  return is_invertible(to->layout.column, llrt_layout_in_bits(&to->layout)) &&
         llrt_layout_is_surjective(&to->layout);
}

/* One lane of the result holds copies, and a register more what it had. */
static void free_lane(uint64_t *seed, plan_value *value) {
  llrt_layout old = value->layout;
  int n = old.in[0].bits, lanes = old.in[1].bits, lane = step_below(seed, lanes), at = 0;
  if (old.column[n + lane] == 0) return;
  value->layout = llrt_layout_empty();
  llrt_layout_add_out(&value->layout, "tile", old.out[0].bits);
  llrt_layout_add_in(&value->layout, "register", n + 1);
  llrt_layout_add_in(&value->layout, "lane", lanes);
  llrt_layout_add_in(&value->layout, "warp", old.in[2].bits);
  llrt_layout_add_in(&value->layout, "iteration", 0);
  for (int i = 0; i < n; i++) value->layout.column[at++] = old.column[i];
  value->layout.column[at++] = old.column[n + lane];
  for (int i = n; i < n + lanes + old.in[2].bits; i++)
    value->layout.column[at++] = i == n + lane ? 0 : old.column[i];
}

static bool swap_word(uint64_t *seed, const exchange *x, plan_value *to) {
  int at = step_below(seed, bits_max(to->word, 1)),
      lane = x->places.registers + step_below(seed, x->places.lanes);
  uint64_t moved = to->layout.column[at];
  if (to->word == 0 || to->layout.column[lane] == 0) return false;
  to->layout.column[at] = to->layout.column[lane];
  to->layout.column[lane] = moved;
  return true;
}

/* Lanes of the source have a part in the word that those of the result do not have. */
static bool turn_words(uint64_t *seed, const exchange *x, plan_value *from) {
  bool turned = false;
  for (int i = 0; i < x->places.lanes; i++) {
    uint64_t *lane = &from->layout.column[x->places.registers + i],
             part = step_random(seed) & bits_mask(from->word);
    if (*lane == 0) continue;
    *lane ^= f2_apply(from->layout.column, part);
    turned |= part != 0;
  }
  return turned;
}

/* ---- through a buffer ---- */

/* The order in which a side's bits are taken: an access first, those that number parts last; see
 * matrix_order. */
typedef struct side_order {
  int at[LLRT_MAX_BITS], n, vector, matrix;
} side_order;

/* Inside of a matrix's row are registers of the word and the two lowest lanes; transposed all but
 * one of these registers and the three highest lanes. */
static bool matrix_order(uint64_t *seed, const exchange *x, side_order *order) {
  bool transposed = x->word > 0 && step_once_in(seed, 2);
  if (x->places.zero_lanes || x->places.lanes != 5 || x->bits > 32 || x->bits < 8) return false;
  for (int i = 0; i < x->word - transposed; i++) order->at[order->n++] = i;
  for (int i = transposed ? 2 : 0; i < (transposed ? 5 : 2); i++)
    order->at[order->n++] = x->places.registers + i;
  order->vector = order->n;
  order->matrix = transposed ? PLAN_MATRIX_TRANSPOSED : PLAN_MATRIX_ROWS;
  return true;
}

static void access_order(uint64_t *seed, const plan_target *target, const exchange *x,
                         side_order *order) {
  int widest = bits_log2(target->access_bytes * 8 / x->bits), n = x->places.registers;
  if (target->simd_lanes) n = x->word + x->places.lanes - bits_count(x->places.zero_lanes);
  order->vector = step_below(seed, bits_min(widest, n) + 1);
  if (x->bits == 4 && order->vector == 0) order->vector = 1;
  for (int i = 0; i < order->vector; i++)
    order->at[order->n++] =
        target->simd_lanes && i >= x->word ? x->places.registers + i - x->word : i;
}

/* A side of the buffer: its access is offset bits 0, 1, …; behind the offset's bits are those of
 * blocks, which the side that stores has in its own blocks, and those of parts, registers or warps.
 */
static bool side_value(uint64_t *seed, const exchange *x, const side_order *order, int parts,
                       bool stores, plan_value *value) {
  uint64_t matrix[LLRT_MAX_BITS], inner[LLRT_MAX_BITS];
  int all[LLRT_MAX_BITS], n = 0, last[LLRT_MAX_BITS], found = 0;
  int warps = x->places.warps - bits_count(x->places.zero_warps),
      first = x->n - warps; /* slot of the first warp */
  int own = stores ? x->blocks : 0, inside = x->n - parts - own;
  uint64_t free = bits_mask(x->places.registers) | (bits_mask(warps - x->blocks) << first);
  for (int i = 0; i < order->n; i++) free &= ~(1ull << order->at[i]);
  for (int i = 0; i < x->word; i++) free &= ~(1ull << i);
  while (found < parts) { /* registers that no access has, or warps */
    int slot = step_below(seed, x->n);
    if (!free) return false;
    if (!(free >> slot & 1)) continue;
    free &= ~(1ull << slot);
    last[found++] = slot;
  }
  for (int i = 0; i < own; i++) last[parts + i] = x->n - own + i;
  step_random_matrix(seed, inside, order->n, step_once_in(seed, 2), inner);
  memcpy(matrix, inner, sizeof matrix);
  for (int i = 0; i < order->n; i++) all[n++] = order->at[i];
  for (int i = 0; i < x->n; i++) {
    bool used = false;
    for (int k = 0; k < n; k++) used |= all[k] == i;
    for (int k = 0; k < parts + own; k++) used |= last[k] == i;
    if (!used) all[n++] = i;
  }
  for (int k = 0; k < parts + own; k++) {
    matrix[n] = 1ull << (k < parts ? x->n - parts + k : inside + k - parts);
    all[n++] = last[k];
  }
  *value = step_value_in_order(&x->places, all, n, matrix, x->bits, x->word);
  return true;
}

static void make_buffer(uint64_t *seed, step_case *c, const exchange *x, int fixed, int parts) {
  plan_buffer *buffer = &c->kernel.buffer[c->kernel.n_buffers++];
  int offsets = x->n - parts - x->blocks;
  *buffer = (plan_buffer){.bits = (uint8_t)x->bits,
                          .bytes = bits_max((x->bits << offsets) / 8, 16),
                          .layout = llrt_layout_empty()};
  llrt_layout_add_out(&buffer->layout, "tile", x->n);
  llrt_layout_add_in(&buffer->layout, "offset", offsets);
  llrt_layout_add_in(&buffer->layout, "repetition", parts);
  llrt_layout_add_in(&buffer->layout, "block", x->blocks);
  step_random_matrix(seed, offsets, bits_min(fixed, offsets), step_once_in(seed, 3),
                     buffer->layout.column);
  for (int i = 0; i < parts; i++) buffer->layout.column[offsets + i] = 1ull << (x->n - parts + i);
  for (int i = 0; i < x->blocks; i++)
    buffer->layout.column[offsets + parts + i] = 1ull << (offsets + i);
}

static plan_step shared_step(const side_order *order, bool load, int part) {
  return (plan_step){.kind = load ? PLAN_SHARED_LOAD : PLAN_SHARED_STORE,
                     .in = 0,
                     .out = load,
                     .vector = (uint8_t)order->vector,
                     .matrix = (uint8_t)order->matrix,
                     .repetition = (uint8_t)part};
}

/* Values of both sides and the steps between them. */
static bool through_buffer(uint64_t *seed, step_case *c, const plan_target *target,
                           const exchange *x, bool matrices, plan_value pair[2]) {
  side_order order[2] = {{.n = 0}, {.n = 0}};
  int parts = step_once_in(seed, 2) ? 0 : 1 + step_below(seed, 2), which = 1 + step_below(seed, 3);
  for (int s = 0; s < 2; s++) {
    if (matrices && which >> s & 1) {
      if (!matrix_order(seed, x, &order[s])) return false;
    } else {
      access_order(seed, target, x, &order[s]);
    }
    if (order[s].n > x->n - parts - x->blocks ||
        !side_value(seed, x, &order[s], parts, s == 0, &pair[s]))
      return false;
  }
  make_buffer(seed, c, x, bits_max(order[0].vector, order[1].vector), parts);
  for (int part = 0; part < 1 << parts; part++) {
    if (part > 0) step_add(c, (plan_step){.kind = PLAN_BARRIER});
    step_add(c, shared_step(&order[0], false, part));
    step_add(c, (plan_step){.kind = PLAN_BARRIER});
    step_add(c, shared_step(&order[1], true, part));
  }
  if (x->blocks > 0)
    step_add(c, (plan_step){.kind = PLAN_BARRIER}); /* nobody leaves whose memory others read */
  return true;
}

/* ---- the kernel ---- */

static plan_step access_of(int tensor, bool load, int value, int vector) {
  return (plan_step){.kind = load ? PLAN_LOAD : PLAN_STORE,
                     .tensor = (uint8_t)tensor,
                     .in = (uint8_t)(load ? 0 : value),
                     .out = (uint8_t)(load ? value : 0),
                     .vector = (uint8_t)vector};
}

/* A lane with copies, and a register that no word has; -1: there is none. */
static int lane_of_copies(const plan_value *value) {
  for (int i = 0; i < value->layout.in[1].bits; i++)
    if (value->layout.column[value->layout.in[0].bits + i] == 0) return i;
  return -1;
}

/* What lanes with copies have, from each of them: words of one element, of which it then keeps
 * half. */
static int spread_copies(step_case *c, uint64_t *seed, int number) {
  plan_value one = c->kernel.value[number], half;
  int lane = lane_of_copies(&one), n = one.layout.in[0].bits;
  if (c->kernel.target.simd_lanes || one.bits < 8 || lane < 0 || n == 0) return number;
  int given = step_below(seed, n), at = 0;
  one.word = 0;
  half = one;
  half.layout = llrt_layout_empty();
  llrt_layout_add_out(&half.layout, "tile", one.layout.out[0].bits);
  llrt_layout_add_in(&half.layout, "register", n - 1);
  for (int d = 1; d < 4; d++)
    llrt_layout_add_in(&half.layout, one.layout.in[d].name, one.layout.in[d].bits);
  for (int i = 0; i < llrt_layout_in_bits(&one.layout); i++)
    if (i != given)
      half.layout.column[at++] = i == n + lane ? one.layout.column[given] : one.layout.column[i];
  int apart = step_add_value(c, &one), spread = step_add_value(c, &half);
  step_add(c, (plan_step){.kind = PLAN_REGISTERS, .in = (uint8_t)number, .out = (uint8_t)apart});
  step_add(c, (plan_step){.kind = PLAN_SPREAD, .in = (uint8_t)apart, .out = (uint8_t)spread});
  return spread;
}

/* Both values, and the step between them. */
static bool make_step(uint64_t *seed, step_case *c, const plan_target *target, exchange_way way,
                      exchange *x, plan_value pair[2]) {
  uint64_t matrix[LLRT_MAX_BITS];
  if (way >= EXCHANGE_SHARED)
    return through_buffer(seed, c, target, x, way == EXCHANGE_MATRIX, pair);
  if (!target->simd_lanes && step_once_in(seed, 3) && x->bits >= 8)
    x->word = step_below(seed, x->word + 1);
  step_random_matrix(seed, x->n, x->fixed, step_once_in(seed, 2), matrix);
  pair[0] = pair[1] = step_value(&x->places, matrix, x->bits, x->word);
  bool made = true;
  if (way == EXCHANGE_REGISTERS) rename_registers(seed, target, x, &pair[0], &pair[1]);
  if (way == EXCHANGE_SHUFFLE) made = shuffle(seed, x, &pair[0], &pair[1]);
  if (way == EXCHANGE_SWAP) made = swap_word(seed, x, &pair[1]);
  if (way == EXCHANGE_TURN) made = turn_words(seed, x, &pair[0]);
  if (made && way == EXCHANGE_SHUFFLE && !target->simd_lanes && step_once_in(seed, 3))
    free_lane(seed, &pair[step_below(seed, 2)]);
  step_add(c, (plan_step){.kind = way == EXCHANGE_REGISTERS ? PLAN_REGISTERS : PLAN_SHUFFLE,
                          .in = 0,
                          .out = 1});
  return made;
}

bool exchange_case_make(step_case *c, const plan_target *target, exchange_way way) {
  static const int widths[] = {4, 8, 8, 16, 16, 32, 32, 64};
  uint64_t seed = c->seed;
  exchange x = {.bits = widths[step_below(&seed, 8)]};
  plan_value pair[2];
  step_random_places(&seed, target, x.bits, 3, &x.places, &x.word);
  if (way == EXCHANGE_SHUFFLE && target->simd_lanes) x.places.zero_lanes = 0;
  x.n = step_place_bits(&x.places);
  x.fixed = x.bits == 4;
  if (x.bits == 4 && (way == EXCHANGE_SHARED || way == EXCHANGE_MATRIX))
    return false; /* shared memory has whole bytes */
  c->tensor[0].bits = c->tensor[1].bits = x.bits;
  if (way == EXCHANGE_SHARED && target->cluster_bits > 0 && step_once_in(&seed, 2)) {
    x.blocks = bits_min(x.places.warps, 1 + step_below(&seed, 2));
    x.places.zero_warps &= bits_mask(x.places.warps - x.blocks);
    x.n = step_place_bits(&x.places);
  }
  step_begin(c, target, 2, &x.places);
  c->kernel.cluster_bits = x.blocks;
  step_make_dense(c, &seed, x.n, x.fixed);
  step_add(c, access_of(0, true, 0, x.fixed));
  if (!make_step(&seed, c, target, way, &x, pair)) return false;
  for (int s = 0; s < 2; s++) step_add_value(c, &pair[s]);
  int last = spread_copies(c, &seed, 1);
  step_add(c, access_of(1, false, last, x.fixed));
  step_finish(c);
  return true;
}
