/* SCAN, PREFIX and PICK on numbers, and what verification asks of them. Positions are combined one after the
 * other: kernels join them in a tree, so floats may differ in their last bits. */
#include "jit/plan/scan_eval.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/combine.h"
#include "jit/plan/access.h"
#include "jit/plan/eval.h"
#include "jit/plan/verify.h"

#include <stdlib.h>

static int64_t place_count(const plan_kernel *kernel, const plan_value *value) {
  return (int64_t)1 << (plan_value_bits(value, PLAN_REGISTER) + kernel->lane_bits + kernel->warp_bits);
}

/* ---- scans ---- */

/* The tile coordinate that position k along the order adds. */
static uint64_t along(const plan_value *value, const plan_order *order, uint64_t k) {
  uint64_t x = 0;
  for (int i = 0; i < order->n; i++)
    if (k >> i & 1) x |= plan_value_bits_of(value, 1ull << order->bit[i]);
  return x;
}

/* One group: the elements from `first` on, in order, become their scan; returns the total. */
static uint64_t scan_group(const plan_step *step, const plan_value *value, const plan_order *order,
                           uint64_t first, uint64_t *elements) {
  uint64_t n = 1ull << order->n, so_far = combine_identity(step->combiner, (llrt_dtype)step->type);
  for (uint64_t k = 0; k < n; k++) {
    uint64_t *element = &elements[first | along(value, order, step->reverse ? n - 1 - k : k)];
    uint64_t own = *element, before = so_far;
    so_far = step->reverse ? combine_two(step->combiner, (llrt_dtype)step->type, own, so_far)
                           : combine_two(step->combiner, (llrt_dtype)step->type, so_far, own);
    *element = step->exclusive ? before : so_far;
  }
  return so_far;
}

llrt_status plan_eval_scan(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values) {
  const plan_value *value = &kernel->value[step->in], *total = &kernel->value[step->total];
  const plan_order *order = &kernel->order[step->order];
  uint64_t n = 1ull << value->layout.out[0].bits, mask = along(value, order, bits_mask(order->n));
  uint64_t *elements = calloc(n, sizeof *elements), *totals = calloc(n, sizeof *totals);
  if (elements && totals) {
    for (int64_t at = 0; at < place_count(kernel, value); at++)
      elements[f2_apply(value->layout.column, (uint64_t)at)] = values[step->in][at];
    for (uint64_t x = 0, at = 0; x < n; x++)
      if (!(x & mask)) totals[at++] = scan_group(step, value, order, x, elements);
    for (int64_t at = 0; at < place_count(kernel, value); at++)
      values[step->out][at] = elements[f2_apply(value->layout.column, (uint64_t)at)];
    for (int64_t at = 0; at < place_count(kernel, total); at++)
      values[step->total][at] = totals[f2_apply(total->layout.column, (uint64_t)at)];
  }
  bool made = elements && totals;
  free(elements);
  free(totals);
  return made ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "the plan interpreter's memory");
}

llrt_status plan_verify_scan(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  plan_scan_bit bits[LLRT_MAX_BITS];
  plan_value reduced;
  uint64_t mask = 0;
  CHECK(step->total < kernel->n_values && step->order < kernel->n_orders, "step %d: no such value", at);
  CHECK(in->word == 0 && in->bits == llrt_dtype_bits((llrt_dtype)step->type),
        "step %d: elements of %d bits", at, in->bits);
  CHECK(in->bits == out->bits && out->word == 0 && in->reduced == out->reduced &&
            llrt_layout_equal(&in->layout, &out->layout),
        "step %d: a scan moves elements", at);
  CHECK(plan_scan_bits(kernel, step, bits), "step %d: an order outside registers and lanes", at);
  for (int i = 0; i < kernel->order[step->order].n; i++) mask |= 1ull << kernel->order[step->order].bit[i];
  plan_value_reduce(in, mask, &reduced);
  const plan_value *total = &kernel->value[step->total];
  reduced.reduced &= bits_mask(kernel->space.in[0].bits);
  /* Bits above the kernel's tile number other blocks, of which one total is left. */
  CHECK(((total->reduced ^ reduced.reduced) & bits_mask(kernel->space.in[0].bits)) == 0 && total->bits == in->bits && total->word == 0 &&
            llrt_layout_equal(&total->layout, &reduced.layout),
        "step %d: the total is not laid out as what is left", at);
  return LLRT_OK;
}

/* ---- elementwise ---- */

void plan_eval_prefix(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values) {
  const plan_value *out = &kernel->value[step->out];
  const int operand[2] = {step->in, step->second};
  int registers = plan_value_bits(out, PLAN_REGISTER);
  for (int64_t at = 0; at < place_count(kernel, out); at++) {
    uint64_t x[2], thread = (uint64_t)at >> registers, index = (uint64_t)at & bits_mask(registers);
    for (int i = 0; i < 2; i++) {
      const plan_value *value = &kernel->value[operand[i]];
      uint64_t own = plan_reduced_register(out, value, index);
      x[i] = values[operand[i]][thread << plan_value_bits(value, PLAN_REGISTER) | own];
    }
    values[step->out][at] = combine_two(step->combiner, (llrt_dtype)step->type, x[0], x[1]);
  }
}

llrt_status plan_verify_prefix(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *out = &kernel->value[step->out];
  const int operand[2] = {step->in, step->second};
  uint64_t reduced = UINT64_MAX;
  CHECK(step->second < kernel->n_values, "step %d: value %d", at, step->second);
  for (int i = 0; i < 2; i++) {
    const plan_value *value = &kernel->value[operand[i]];
    plan_value expected;
    plan_value_reduce(out, value->reduced & ~out->reduced, &expected);
    CHECK(value->word == 0 && value->bits == llrt_dtype_bits((llrt_dtype)step->type),
          "step %d: elements of %d bits", at, value->bits);
    CHECK(value->reduced == expected.reduced && llrt_layout_equal(&value->layout, &expected.layout),
          "step %d: v%d is not laid out as v%d", at, operand[i], step->out);
    reduced &= value->reduced;
  }
  CHECK(out->word == 0 && out->bits == kernel->value[step->in].bits && out->reduced == reduced,
        "step %d: v%d is no combination", at, step->out);
  return LLRT_OK;
}

/* ---- picks ---- */

bool plan_pick_of(const plan_value *in, const plan_value *out, plan_pick *pick) {
  f2_basis span;
  f2_basis_init(&span);
  for (int i = 0; i < plan_value_bits(in, PLAN_REGISTER); i++)
    f2_basis_insert_as(&span, plan_value_columns(in, PLAN_REGISTER)[i], 1ull << i);
  pick->n_registers = plan_value_bits(out, PLAN_REGISTER);
  pick->n_warps = plan_value_bits(out, PLAN_WARP);
  for (int i = 0; i < pick->n_registers; i++)
    if (!f2_basis_coordinates(&span, plan_value_columns(out, PLAN_REGISTER)[i], &pick->of_register[i]))
      return false;
  for (int i = 0; i < pick->n_warps; i++) {
    uint64_t moved = plan_value_columns(out, PLAN_WARP)[i] ^ plan_value_columns(in, PLAN_WARP)[i];
    pick->of_warp[i] = 0;
    if (moved && !f2_basis_coordinates(&span, moved, &pick->of_warp[i])) return false;
  }
  for (int i = 0; i < plan_value_bits(out, PLAN_LANE); i++)
    if (plan_value_columns(out, PLAN_LANE)[i] != plan_value_columns(in, PLAN_LANE)[i]) return false;
  return true;
}

void plan_eval_pick(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values) {
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  int registers = plan_value_bits(out, PLAN_REGISTER);
  plan_pick pick;
  plan_pick_of(in, out, &pick);
  for (int64_t at = 0; at < place_count(kernel, out); at++) {
    uint64_t thread = (uint64_t)at >> registers;
    uint64_t index = f2_apply(pick.of_register, (uint64_t)at & bits_mask(registers)) ^
                     f2_apply(pick.of_warp, thread >> kernel->lane_bits);
    values[step->out][at] = values[step->in][thread << plan_value_bits(in, PLAN_REGISTER) | index];
  }
}

llrt_status plan_verify_pick(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  plan_pick pick;
  CHECK(in->bits == out->bits && in->word == 0 && out->word == 0 && in->reduced == out->reduced,
        "step %d: elements change", at);
  CHECK(plan_pick_of(in, out, &pick), "step %d: elements that the thread does not have", at);
  return LLRT_OK;
}

/* ---- between blocks ---- */

int plan_lookback_places(const plan_lookback *lookback, int level) {
  int last = lookback->levels - 1;
  return level < last ? lookback->bits + (lookback->lags && level == last - 1) : 0;
}

int64_t plan_lookback_distance(const plan_lookback *lookback, int level, int64_t turn, int64_t k) {
  int low = lookback->bits * level, high = low + lookback->bits, top = lookback->levels - 1;
  int64_t group = turn >> low << low, first = turn >> high << high;
  if (lookback->lags && level == top) group -= (int64_t)1 << low;
  if (lookback->lags && level == top - 1) first -= (int64_t)1 << high;
  if (level == top) return group > 0 ? turn - group + 1 : 0;
  int64_t last = first + (k << low) + (int64_t)bits_mask(low);
  return last >= 0 && last < group ? turn - last : 0;
}

bool plan_lookback_publishes(const plan_lookback *lookback, int level, int64_t turn) {
  return ((uint64_t)(turn + 1) & bits_mask(lookback->bits * level)) == 0;
}

/* A step on one block's cells. */
typedef struct cell_step {
  const plan_kernel *kernel;
  const plan_step *step;
  const uint64_t *args;
  int64_t block, turn, lines;
  int kept, parts; /* log2 elements of a total, cells of one */
} cell_step;

/* The cells of an element of the block `before` turns ago. */
static uint64_t *cells_of(const cell_step *s, int64_t before, uint64_t element) {
  const plan_lookback *lookback = &s->kernel->lookback;
  int64_t blocks = plan_number_value(&lookback->blocks, s->args, 1), block = s->block - before * s->lines;
  uint64_t *cells = (uint64_t *)(uintptr_t)plan_number_value(&lookback->cells, s->args, 0);
  return &cells[(((s->step->level * blocks + block) << s->kept) + (int64_t)element) * s->parts];
}

static void publish(const cell_step *s, uint64_t y, uint64_t element) {
  uint64_t *cell = cells_of(s, 0, y);
  for (int p = 0; p < s->parts; p++) cell[p] = (element >> (32 * p)) << 32 | 1;
}

static llrt_status await(const cell_step *s, uint64_t y, uint64_t *element) {
  int64_t before = plan_lookback_distance(&s->kernel->lookback, s->step->level, s->turn, (int64_t)(y >> s->kept));
  uint64_t *cell = cells_of(s, before, y & bits_mask(s->kept));
  *element = before ? 0 : combine_identity(s->step->combiner, (llrt_dtype)s->step->type);
  for (int p = 0; before && p < s->parts; p++) {
    if (!(cell[p] & 1)) return llrt_error(LLRT_INTERNAL, "block %lld would wait", (long long)s->block);
    *element |= cell[p] >> 32 << (32 * p);
  }
  return LLRT_OK;
}

static int kept_bits(const plan_kernel *kernel, const plan_step *step, const plan_value *value) {
  return value->layout.out[0].bits -
         (step->kind == PLAN_AWAIT ? plan_lookback_places(&kernel->lookback, step->level) : 0);
}

llrt_status plan_eval_lookback(const plan_kernel *kernel, const plan_step *step, int64_t block,
                               const int64_t upper[PLAN_MAX_DIGITS], const uint64_t *args,
                               uint64_t *const *values) {
  int number = step->kind == PLAN_PUBLISH ? step->in : step->out;
  const plan_value *value = &kernel->value[number];
  cell_step s = {kernel, step, args, block, upper[kernel->walk.split],
                 plan_number_value(&kernel->lookback.lines, args, 1), kept_bits(kernel, step, value),
                 value->bits / 32};
  if (step->kind == PLAN_PUBLISH && !plan_lookback_publishes(&kernel->lookback, step->level, s.turn)) return LLRT_OK;
  for (int64_t at = 0; at < place_count(kernel, value); at++) {
    uint64_t y = f2_apply(value->layout.column, (uint64_t)at), *element = &values[number][at];
    if (step->kind == PLAN_PEEK) *element = 0;
    else if (step->kind == PLAN_PUBLISH) publish(&s, y, *element);
    else LLRT_TRY(await(&s, y, element));
  }
  return LLRT_OK;
}

/* Barriers stand before and behind the first step that finds the next ticket. */
llrt_status plan_verify_queue(const plan_kernel *kernel, int walk) {
  const plan_step *step = &kernel->step[walk];
  bool barrier = false, finds = false;
  CHECK(kernel->lookback.used && step->bare && kernel->launch.most_blocks > 0, "step %d: no queue", walk);
  for (int i = 0; i < walk; i += 1 + kernel->step[i].body + kernel->step[i].otherwise)
    CHECK(kernel->step[i].kind != PLAN_AHEAD || kernel->step[i].turns == 0, "step %d: no ticket", i);
  for (int i = 1; i <= step->body; i += 1 + step[i].body + step[i].otherwise) {
    bool first = step[i].kind == PLAN_AHEAD && !finds;
    CHECK(step[i].kind != PLAN_AHEAD || (step[i].turns == 1 && (!first || barrier)), "step %d: no ticket", walk + i);
    finds |= first;
    barrier = step[i].kind == PLAN_BARRIER || (barrier && !first);
  }
  CHECK(barrier && finds, "step %d: a turn without a next", walk);
  for (int i = 0; i < kernel->n_buffers; i++)
    CHECK(kernel->buffer[i].slots == 0 && (kernel->buffer[i].offset >= kernel->lookback.place + 4 ||
                                           plan_buffer_end(&kernel->buffer[i]) <= kernel->lookback.place),
          "buffer %d lies where the ticket is", i);
  return LLRT_OK;
}

llrt_status plan_verify_lookback(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *value = &kernel->value[step->kind == PLAN_PUBLISH ? step->in : step->out];
  const plan_lookback *lookback = &kernel->lookback;
  CHECK(lookback->used && kernel->walk.split >= 0, "step %d: blocks that do not look back", at);
  CHECK(lookback->levels >= 2 && lookback->levels <= PLAN_LOOKBACK_LEVELS && lookback->bits > 0,
        "%d levels of %d bits", lookback->levels, lookback->bits);
  CHECK(step->level < lookback->levels, "step %d: level %d", at, step->level);
  CHECK(value->word == 0 && (value->bits == 32 || value->bits == 64), "step %d: elements of %d bits", at,
        value->bits);
  CHECK(kept_bits(kernel, step, value) >= 0, "step %d: fewer tile bits than blocks have", at);
  CHECK(step->kind != PLAN_AWAIT || llrt_layout_equal(&value->layout, &kernel->value[step->in].layout),
        "step %d: another layout than what was looked at", at);
  return LLRT_OK;
}
