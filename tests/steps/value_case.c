/* See value_case.h. Tensor 0 is what the step works on, tensor 2 what else it looks at, and tensor
 * 1 what it makes. */
#include "value_case.h"

#include "base/bits.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/number.h"

#include <string.h>

typedef struct maker {
  uint64_t seed;
  step_case *c;
  const plan_target *target;
  plan_kernel *kernel;
  step_places places;
  int n, bits; /* bits of the tile; of an element of tensor 0 */
} maker;

static llrt_dtype one_of(maker *m, const uint8_t *types, int n) {
  return (llrt_dtype)types[step_below(&m->seed, n)];
}

/* ---- loads and stores ---- */

static int load(maker *m, int tensor, const plan_value *value) {
  int number = step_add_value(m->c, value);
  step_add(m->c, (plan_step){.kind = PLAN_LOAD,
                             .tensor = (uint8_t)tensor,
                             .out = (uint8_t)number,
                             .vector = value->bits == 4});
  return number;
}

static void store(maker *m, int number) {
  step_add(m->c, (plan_step){.kind = PLAN_STORE,
                             .tensor = 1,
                             .in = (uint8_t)number,
                             .vector = m->kernel->value[number].bits == 4});
}

/* Begins a kernel of n tensors of these widths; the first `fixed` bits of the tile are their first
 * ones. */
static void begin(maker *m, int n, const int *bits, int fixed) {
  m->n = step_place_bits(&m->places);
  for (int t = 0; t < n; t++) m->c->tensor[t].bits = bits[t];
  step_begin(m->c, m->target, n, &m->places);
  step_make_dense(m->c, &m->seed, m->n, fixed);
}

/* A value of the whole tile, whose first `fixed` registers are the first bits. */
static plan_value whole_value(maker *m, int bits, int word, int fixed, bool permutation) {
  uint64_t matrix[LLRT_MAX_BITS];
  step_random_matrix(&m->seed, m->n, fixed, permutation, matrix);
  return step_value(&m->places, matrix, bits, word);
}

/* ---- maps ---- */

static int any_word(maker *m, int bits) {
  int full = bits < 32 ? 5 - bits_log2(bits) : 0;
  if (m->target->simd_lanes) return bits == 4;
  return bits == 4 ? full : step_below(&m->seed, full + 1);
}

/* Types of a map and of what it scales by. */
static bool choose_types(maker *m, plan_map *map) {
  static const uint8_t all[] = {LLRT_F32,      LLRT_F16,      LLRT_BF16, LLRT_E4M3, LLRT_E5M2,
                                LLRT_E4M3FNUZ, LLRT_E5M2FNUZ, LLRT_E2M1, LLRT_F64,  LLRT_I8,
                                LLRT_U8,       LLRT_I16,      LLRT_U16,  LLRT_I32,  LLRT_U32,
                                LLRT_I4,       LLRT_U4};
  static const uint8_t scales[] = {LLRT_F32, LLRT_F16, LLRT_BF16, LLRT_E4M3, LLRT_E5M2, LLRT_E8M0};
  static const uint8_t bits[] = {LLRT_U4, LLRT_B8, LLRT_B16, LLRT_B32, LLRT_B64};
  map->kind = (uint8_t)(1 + step_below(&m->seed, PLAN_MAP_WORD_BITS));
  map->from = (uint8_t)one_of(m, all, sizeof all);
  map->to = (uint8_t)one_of(m, all, sizeof all);
  map->scale = (uint8_t)one_of(m, scales, sizeof scales);
  if (map->kind == PLAN_MAP_XOR || map->kind == PLAN_MAP_WORD_BITS)
    map->from = map->to = (uint8_t)one_of(m, bits, sizeof bits);
  if (map->kind >= PLAN_MAP_MULTIPLY && map->kind <= PLAN_MAP_SILU)
    map->from = map->to = step_once_in(&m->seed, 2) ? LLRT_F32 : LLRT_F64;
  if (map->kind == PLAN_MAP_TRUTH) map->to = LLRT_U32;
  if (map->kind == PLAN_MAP_TRUTH && !combine_exists(LLRT_COMBINE_ANY, (llrt_dtype)map->from))
    return false;
  bool casts = map->kind == PLAN_MAP_CAST || map->kind == PLAN_MAP_SCALE;
  return !casts ||
         (map->from != map->to && number_cast_exists((llrt_dtype)map->from, (llrt_dtype)map->to));
}

static void choose_constants(maker *m, plan_map *map) {
  map->constant = step_random(&m->seed) << 8;
  if (map->kind == PLAN_MAP_MULTIPLY)
    map->constant = map->from == LLRT_F32 ? 0x40490FDB : 0x3FE5555555555555;
  for (int i = 0; i < 32; i++) map->perm[i] = (uint8_t)i;
  for (int i = 31; i > 0; i--) {
    int j = step_below(&m->seed, i + 1);
    uint8_t other = map->perm[i];
    map->perm[i] = map->perm[j];
    map->perm[j] = other;
  }
}

/* A value whose bits that are looked at together lie first: of words; on the host, behind a pair's,
 * in lanes. */
static plan_value mapped_value(maker *m, int fixed, int bits, int word, int pair) {
  uint64_t matrix[LLRT_MAX_BITS];
  int order[LLRT_MAX_BITS], n = 0;
  step_random_matrix(&m->seed, m->n, fixed, step_once_in(&m->seed, 2), matrix);
  for (int i = 0; i < fixed; i++)
    order[n++] = m->target->simd_lanes && i >= pair ? m->places.registers + i - pair : i;
  return step_value_in_order(&m->places, order, n, matrix, bits, word);
}

/* Tile bits of one register column alone, which a value can be reduced along; 0: there is none. */
static uint64_t reducible(maker *m, const plan_value *value, int from) {
  uint64_t mask = 0;
  for (int i = from; i < value->layout.in[0].bits; i++) {
    uint64_t x = value->layout.column[i];
    bool own = bits_count(x) == 1;
    for (int k = 0; k < llrt_layout_in_bits(&value->layout); k++)
      own &= k == i || !(value->layout.column[k] & x);
    if (own && step_once_in(&m->seed, 2)) mask |= x;
  }
  return mask;
}

static bool make_map(maker *m) {
  plan_map map = {0};
  if (!choose_types(m, &map)) return false;
  int from = llrt_dtype_bits((llrt_dtype)map.from), to = llrt_dtype_bits((llrt_dtype)map.to), word,
      fixed = from == 4 || to == 4;
  int narrow = bits_min(from, to), widths[] = {from, to, llrt_dtype_bits((llrt_dtype)map.scale)};
  bool scales = map.kind == PLAN_MAP_SCALE, words = map.kind == PLAN_MAP_WORD_BITS;
  step_random_places(&m->seed, m->target, narrow, 2, &m->places, &word);
  if (words && from < 32) fixed = 5 - bits_log2(from);
  if (fixed > step_place_bits(&m->places)) return false;
  if (m->target->simd_lanes && fixed > word + m->places.lanes - bits_count(m->places.zero_lanes))
    return false;
  choose_constants(m, &map);
  begin(m, 2 + scales, widths, fixed);
  int own = any_word(m, from), made = words || map.kind == PLAN_MAP_XOR ? own : any_word(m, to);
  if (m->target->simd_lanes) own = from == 4, made = to == 4;
  if (words && !m->target->simd_lanes) own = made = from < 32 ? 5 - bits_log2(from) : 0;
  if (own > m->places.registers || made > m->places.registers) return false;
  plan_value in = mapped_value(m, fixed, from, own, from == 4 || to == 4), out = in;
  out.bits = (uint8_t)to;
  out.word = (uint8_t)made;
  m->kernel->map[m->kernel->n_maps++] = map;
  plan_step step = {.kind = PLAN_MAP, .in = (uint8_t)load(m, 0, &in), .tensor = scales ? 2 : words};
  if (scales && !m->target->simd_lanes && step_once_in(&m->seed, 2)) {
    plan_value scale = in;
    scale.bits = (uint8_t)widths[2];
    scale.word = 0;
    plan_value_reduce(&scale, reducible(m, &in, bits_max(own, made)), &scale);
    step.second = (uint8_t)load(m, 2, &scale);
    step.by_value = true;
    if (step_once_in(&m->seed, 4)) m->kernel->map[0].subtracts = true;
  }
  step.out = (uint8_t)step_add_value(m->c, &out);
  step_add(m->c, step);
  store(m, step.out);
  m->c->near = map.kind == PLAN_MAP_GELU || map.kind == PLAN_MAP_SILU;
  if (map.kind == PLAN_MAP_MULTIPLY || map.kind == PLAN_MAP_RELU)
    m->c->tensor[0].numbers = map.from; /* a NaN stays some NaN */
  if (m->c->near) m->c->tensor[0].numbers = m->c->tensor[1].numbers = map.to;
  return true;
}

/* ---- combining ---- */

typedef struct combined {
  int op;
  llrt_dtype type;
  int bits;
  bool pairs, positions; /* keys and positions; of which these are stored */
  int position_bits;
} combined;

/* Sums and products are of whole numbers, so that their order says nothing. */
static void choose_combiner(maker *m, bool affine, combined *k) {
  static const uint8_t types[] = {LLRT_I32, LLRT_U32, LLRT_I64, LLRT_U64, LLRT_F32, LLRT_F64};
  k->op = affine && step_once_in(&m->seed, 3) ? COMBINE_AFFINE
                                              : 1 + step_below(&m->seed, LLRT_COMBINE_MAX);
  k->type = one_of(m, types, sizeof types);
  if (!affine && step_once_in(&m->seed, 4)) k->op = LLRT_COMBINE_ANY + step_below(&m->seed, 2);
  if (k->op >= LLRT_COMBINE_ANY) k->type = LLRT_U32;
  k->bits = llrt_dtype_bits(k->type);
  bool whole = (k->type == LLRT_F32 || k->type == LLRT_F64) && k->op != COMBINE_AFFINE;
  for (int t = 0; t < STEP_TENSORS; t++) {
    if (whole) m->c->tensor[t].numbers = (uint8_t)k->type;
  }
}

/* In one of three cases the extreme keys' positions are sought. */
static void choose_pairs(maker *m, combined *k) {
  if (k->op > LLRT_COMBINE_MAX || !step_once_in(&m->seed, 3)) return;
  k->op = LLRT_COMBINE_ARGMIN + step_below(&m->seed, 2);
  k->pairs = true;
  k->positions = step_once_in(&m->seed, 2);
  k->position_bits = m->target->simd_lanes ? k->bits : step_once_in(&m->seed, 2) ? 32 : 64;
  for (int t = 0; t < STEP_TENSORS; t++)
    m->c->tensor[t].numbers = (uint8_t)k->type; /* many are equal */
}

static int stored_bits(const combined *k) { return k->positions ? k->position_bits : k->bits; }

/* Positions of a value's elements, and the same with some of their bits turned. */
static int add_positions(maker *m, const combined *k, const plan_value *value, bool turned) {
  plan_value at = *value;
  at.bits = (uint8_t)k->position_bits;
  m->kernel->position_axes = 1;
  m->kernel->position[0] = (plan_number){.arg = -1, .value = 1};
  int number = step_add_value(m->c, &at);
  step_add(m->c, (plan_step){.kind = PLAN_POSITION, .out = (uint8_t)number});
  if (!turned) return number;
  uint8_t type = k->position_bits == 32 ? LLRT_U32 : LLRT_U64;
  m->kernel->map[m->kernel->n_maps++] = (plan_map){.kind = PLAN_MAP_XOR,
                                                   .from = type,
                                                   .to = type,
                                                   .constant = (uint64_t)step_below(&m->seed, 64)};
  int other = step_add_value(m->c, &at);
  step_add(m->c, (plan_step){.kind = PLAN_MAP, .in = (uint8_t)number, .out = (uint8_t)other});
  return other;
}

static plan_step combining(plan_step_kind kind, const combined *k, int in, int out) {
  return (plan_step){.kind = (uint8_t)kind,
                     .combiner = (uint8_t)k->op,
                     .type = (uint8_t)k->type,
                     .in = (uint8_t)in,
                     .out = (uint8_t)out};
}

static void places_of_one(maker *m, int bits, int most) {
  int word;
  step_random_places(&m->seed, m->target, bits, most, &m->places, &word);
}

static bool make_fill(maker *m) {
  combined k = {0};
  choose_combiner(m, false, &k);
  const int widths[] = {k.bits, k.bits};
  places_of_one(m, k.bits, 2);
  begin(m, 2, widths, 0);
  plan_value value = whole_value(m, k.bits, 0, 0, false);
  int number = step_add_value(m->c, &value);
  plan_step *step = step_add(m->c, combining(PLAN_FILL, &k, 0, number));
  step->exclusive = step_once_in(&m->seed, 2);
  step->element = (uint8_t)k.type;
  store(m, number);
  return true;
}

static bool make_join(maker *m) {
  combined k = {0};
  choose_combiner(m, true, &k);
  choose_pairs(m, &k);
  const int widths[] = {k.bits, stored_bits(&k), k.bits};
  places_of_one(m, k.bits, 2);
  begin(m, 3, widths, 0);
  plan_value value = whole_value(m, k.bits, 0, 0, k.pairs || step_once_in(&m->seed, 2));
  int first = load(m, 0, &value), second = load(m, 2, &value), out = step_add_value(m->c, &value),
      to = out;
  plan_step step = combining(PLAN_JOIN, &k, first, out);
  step.with = (uint8_t)second;
  if (k.pairs) {
    plan_value at = value;
    at.bits = (uint8_t)k.position_bits;
    step.pairs = true;
    step.index_in = (uint8_t)add_positions(m, &k, &value, false);
    step.index_with = (uint8_t)add_positions(m, &k, &value, true);
    step.index_out = (uint8_t)step_add_value(m->c, &at);
    if (k.positions) to = step.index_out;
  }
  step_add(m->c, step);
  store(m, to);
  return true;
}

/* Columns of `dim` beyond bit `tile` are bits of their own; all others lie below. */
static plan_value folded_value(maker *m, int tile, const int *beyond, int n, int bits) {
  uint64_t inner[LLRT_MAX_BITS], columns[LLRT_MAX_BITS];
  int order[LLRT_MAX_BITS], at = 0;
  step_random_matrix(&m->seed, tile, 0, step_once_in(&m->seed, 2), inner);
  for (int i = 0; i < n; i++) order[at++] = beyond[i];
  for (int i = 0; i < n; i++) columns[i] = 1ull << (tile + i);
  memcpy(&columns[n], inner, (size_t)tile * sizeof *inner);
  return step_value_in_order(&m->places, order, n, columns, bits, 0);
}

/* Extremes of 16-bit floats, two in a word. */
static void choose_halves(maker *m, combined *k) {
  k->op = step_once_in(&m->seed, 2) ? LLRT_COMBINE_MIN : LLRT_COMBINE_MAX;
  k->type = step_once_in(&m->seed, 2) ? LLRT_F16 : LLRT_BF16;
  k->bits = 16;
  for (int t = 0; t < STEP_TENSORS; t++) m->c->tensor[t].numbers = (uint8_t)k->type;
}

static bool make_fold(maker *m, bool lanes) {
  combined k = {0};
  bool halves = !lanes && m->target->half_extremes && step_once_in(&m->seed, 3);
  if (halves) {
    choose_halves(m, &k);
  } else {
    choose_combiner(m, false, &k);
    choose_pairs(m, &k);
  }
  const int widths[] = {k.bits, stored_bits(&k)};
  int beyond[LLRT_MAX_BITS], n = 0;
  places_of_one(m, k.bits, 3);
  begin(m, 2, widths, 0);
  int held = m->places.lanes - bits_count(m->places.zero_lanes),
      first = lanes ? m->places.registers : 0;
  for (int i = 0; i < (lanes ? held : m->places.registers); i++)
    if (step_once_in(&m->seed, 2)) beyond[n++] = first + i;
  if (n == 0) return false;
  for (int i = n - 1; i > 0; i--) { /* bits beyond in any order */
    int j = step_below(&m->seed, i + 1), other = beyond[i];
    beyond[i] = beyond[j];
    beyond[j] = other;
  }
  plan_value in = folded_value(m, m->n - n, beyond, n, k.bits), out;
  if (plan_fold_laid_out(m->kernel, &in, m->n - n, k.bits, &out) != LLRT_OK) return false;
  in.word = halves;
  out.word = halves && plan_value_columns(&in, PLAN_REGISTER)[0] >> (m->n - n) == 0;
  int from = load(m, 0, &in), to = step_add_value(m->c, &out);
  plan_step step = combining(lanes ? PLAN_FOLD_LANES : PLAN_FOLD, &k, from, to);
  step.sizes = halves && step_once_in(&m->seed, 2);
  if (k.pairs) {
    plan_value at = out;
    at.bits = (uint8_t)k.position_bits;
    step.pairs = true;
    step.index_in = (uint8_t)add_positions(m, &k, &in, step_once_in(&m->seed, 2));
    step.index_out = (uint8_t)step_add_value(m->c, &at);
    if (k.positions) to = step.index_out;
  }
  step_add(m->c, step);
  store(m, to);
  return true;
}

static bool make_scan(maker *m) {
  combined k = {0};
  choose_combiner(m, true, &k);
  const int widths[] = {k.bits, k.bits};
  int along[LLRT_MAX_BITS], n = 0;
  plan_order *order = &m->kernel->order[0];
  places_of_one(m, k.bits, 3);
  begin(m, 2, widths, 0);
  int held = m->places.lanes - bits_count(m->places.zero_lanes);
  for (int i = 0; i < m->places.registers + held; i++)
    if (step_once_in(&m->seed, 2)) along[n++] = i;
  if (n == 0 || n > 8) return false;
  plan_value in = folded_value(m, m->n - n, along, n, k.bits), total;
  uint64_t mask = 0;
  for (int i = 0; i < n; i++) order->bit[i] = (uint8_t)(m->n - n + i);
  for (int i = n - 1; i > 0; i--) {
    int j = step_below(&m->seed, i + 1);
    uint8_t other = order->bit[i];
    order->bit[i] = order->bit[j];
    order->bit[j] = other;
  }
  order->n = (uint8_t)n;
  m->kernel->n_orders = 1;
  for (int i = 0; i < n; i++) mask |= 1ull << order->bit[i];
  plan_value_reduce(&in, mask, &total);
  int from = load(m, 0, &in), to = step_add_value(m->c, &in), all = step_add_value(m->c, &total);
  plan_step *step = step_add(m->c, combining(PLAN_SCAN, &k, from, to));
  step->total = (uint8_t)all;
  step->exclusive = step_once_in(&m->seed, 2);
  step->reverse = step_once_in(&m->seed, 2);
  store(m, step_once_in(&m->seed, 3) ? all : to);
  return true;
}

static bool make_prefix(maker *m) {
  combined k = {0};
  choose_combiner(m, true, &k);
  const int widths[] = {k.bits, k.bits, k.bits};
  places_of_one(m, k.bits, 3);
  begin(m, 3, widths, 0);
  plan_value value = whole_value(m, k.bits, 0, 0, true), less;
  plan_value_reduce(&value, reducible(m, &value, 0), &less);
  int full = load(m, 0, &value), part = load(m, 2, &less), out = step_add_value(m->c, &value);
  bool first = step_once_in(&m->seed, 2);
  step_add(m->c, combining(PLAN_PREFIX, &k, first ? part : full, out))->second =
      (uint8_t)(first ? full : part);
  store(m, out);
  return true;
}

/* ---- others ---- */

static const int element_widths[] = {8, 16, 32, 64};

/* A warp that held copies has what a register had. */
static bool make_pick(maker *m) {
  int bits = element_widths[step_below(&m->seed, 4)];
  const int widths[] = {bits, bits};
  places_of_one(m, bits, 3);
  if (m->places.warps == 0 || m->places.registers == 0) return false;
  int warp = step_below(&m->seed, m->places.warps),
      given = step_below(&m->seed, m->places.registers), at = 0;
  m->places.zero_warps |= 1ull << warp;
  begin(m, 2, widths, 0);
  plan_value in = whole_value(m, bits, 0, 0, step_once_in(&m->seed, 2)), out = in;
  int registers = m->places.registers, moved = registers + m->places.lanes + warp;
  out.layout = llrt_layout_empty();
  llrt_layout_add_out(&out.layout, "tile", m->n);
  llrt_layout_add_in(&out.layout, "register", registers - 1);
  for (int d = 1; d < 4; d++)
    llrt_layout_add_in(&out.layout, in.layout.in[d].name, in.layout.in[d].bits);
  for (int i = 0; i < llrt_layout_in_bits(&in.layout); i++)
    if (i != given)
      out.layout.column[at++] = i == moved ? in.layout.column[given] : in.layout.column[i];
  int from = load(m, 0, &in), to = step_add_value(m->c, &out);
  step_add(m->c, (plan_step){.kind = PLAN_PICK, .in = (uint8_t)from, .out = (uint8_t)to});
  store(m, to);
  return true;
}

static bool make_opaque(maker *m) {
  static const int all[] = {4, 8, 16, 32, 64};
  int bits = all[step_below(&m->seed, 5)], word;
  const int widths[] = {bits, bits};
  step_random_places(&m->seed, m->target, bits, 2, &m->places, &word);
  begin(m, 2, widths, bits == 4);
  plan_value value = whole_value(m, bits, word, bits == 4, false);
  int from = load(m, 0, &value), to = step_add_value(m->c, &value);
  step_add(m->c, (plan_step){.kind = PLAN_OPAQUE, .in = (uint8_t)from, .out = (uint8_t)to});
  store(m, to);
  return true;
}

/* Positions count one axis; relative ones are those of the thread's first register less, which ADD
 * brings back. */
static bool make_position(maker *m, bool add) {
  int bits = step_once_in(&m->seed, 2) ? 32 : 64;
  const int widths[] = {bits, bits};
  places_of_one(m, bits, 3);
  begin(m, 2, widths, 0);
  plan_value value = whole_value(m, bits, 0, 0, step_once_in(&m->seed, 2));
  m->kernel->position_axes = 1;
  m->kernel->position[0] = (plan_number){.arg = -1, .value = 1 + step_below(&m->seed, 5)};
  int at = step_add_value(m->c, &value), whole = step_add_value(m->c, &value);
  plan_step *step = step_add(m->c, (plan_step){.kind = PLAN_POSITION, .out = (uint8_t)at});
  step->relative = add || step_once_in(&m->seed, 2);
  if (add)
    step_add(m->c, (plan_step){.kind = PLAN_POSITION_ADD,
                               .in = (uint8_t)at,
                               .with = (uint8_t)at,
                               .out = (uint8_t)whole});
  store(m, add ? whole : at);
  return true;
}

/* Elements along an axis of the tile, in the same warp or in a buffer that has the whole tile. */
static bool make_gather(maker *m) {
  int bits = element_widths[step_below(&m->seed, 4)], asked = step_once_in(&m->seed, 2) ? 32 : 64,
      word;
  const int widths[] = {bits, bits, asked};
  bool staged = step_once_in(&m->seed, 2) || m->target->simd_lanes;
  if (m->target->simd_lanes && bits != asked) return false; /* lanes of one width */
  step_random_places(&m->seed, m->target, bits, 2, &m->places, &word);
  if (m->target->simd_lanes) m->places.zero_lanes = 0;
  if (!staged) m->places.warps = 0, m->places.zero_warps = 0;
  begin(m, 3, widths, 0);
  plan_value source =
      whole_value(m, bits, m->target->simd_lanes ? 0 : step_below(&m->seed, word + 1), 0,
                  step_once_in(&m->seed, 2));
  plan_value out = whole_value(m, bits, 0, 0, step_once_in(&m->seed, 2)), wanted = out;
  wanted.bits = (uint8_t)asked;
  plan_step step = {.kind = PLAN_GATHER,
                    .in = (uint8_t)load(m, 0, &source),
                    .second = (uint8_t)load(m, 2, &wanted),
                    .staged = staged};
  step.out = (uint8_t)step_add_value(m->c, &out);
  step.axis = (uint8_t)step_below(&m->seed, m->n + 1);
  step.axis_bits = (uint8_t)step_below(&m->seed, bits_min(m->n - step.axis, 8) + 1);
  if (staged) {
    plan_buffer *buffer = &m->kernel->buffer[m->kernel->n_buffers++];
    *buffer = (plan_buffer){.bits = (uint8_t)bits,
                            .bytes = bits_max((bits << m->n) / 8, 16),
                            .layout = llrt_layout_empty()};
    llrt_layout_add_out(&buffer->layout, "tile", m->n);
    llrt_layout_add_in(&buffer->layout, "offset", m->n);
    llrt_layout_add_in(&buffer->layout, "repetition", 0);
    llrt_layout_add_in(&buffer->layout, "block", 0);
    step_random_matrix(&m->seed, m->n, 0, step_once_in(&m->seed, 2), buffer->layout.column);
    step_add(m->c, (plan_step){.kind = PLAN_SHARED_STORE, .in = step.in});
    step_add(m->c, (plan_step){.kind = PLAN_BARRIER});
  }
  step_add(m->c, step);
  store(m, step.out);
  return true;
}

static bool make_kind(maker *m, plan_step_kind kind) {
  switch (kind) {
  case PLAN_MAP: return make_map(m);
  case PLAN_FILL: return make_fill(m);
  case PLAN_JOIN: return make_join(m);
  case PLAN_FOLD: return make_fold(m, false);
  case PLAN_FOLD_LANES: return make_fold(m, true);
  case PLAN_SCAN: return make_scan(m);
  case PLAN_PREFIX: return make_prefix(m);
  case PLAN_PICK: return make_pick(m);
  case PLAN_OPAQUE: return make_opaque(m);
  case PLAN_POSITION: return make_position(m, false);
  case PLAN_POSITION_ADD: return make_position(m, true);
  case PLAN_GATHER: return make_gather(m);
  default: return false;
  }
}

bool value_case_make(step_case *c, const plan_target *target, plan_step_kind kind) {
  maker m = {.seed = c->seed, .c = c, .target = target, .kernel = &c->kernel};
  for (int t = 0; t < STEP_TENSORS; t++) c->tensor[t].numbers = 0;
  c->near = false;
  if (!make_kind(&m, kind)) return false;
  step_finish(c);
  return true;
}
